//! One write path: only the engine plans changes and appends them to journals.

use crate::metadata::root;
use crate::purity::offences_in;

/// Whoever uses one of these decides what a session becomes, or writes it.
const WRITING: &[&str] = &[
    "offshoot_session::plan",
    "offshoot_store::write",
    "SessionStore::append",
    "Journal::write",
    "stored::create",
];

/// Files that may, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "crates/cli/src/commands/import.rs",
        "imports are read here until reading sessions belongs to the engine",
    ),
    ("crates/api/src/error.rs", "turns the refusals of plans into codes; makes no plan"),
];

#[test]
fn only_the_engine_plans_and_writes() {
    let mut excused = vec![false; EXCEPTIONS.len()];
    for folder in ["cli", "api", "agents", "store", "transcripts"] {
        for offence in offences_in(&root().join("crates").join(folder), WRITING).unwrap() {
            let exception = EXCEPTIONS.iter().position(|(file, _)| offence.starts_with(file));
            let Some(exception) = exception else { panic!("{offence} belongs into the engine") };
            excused[exception] = true;
        }
    }
    for ((file, _), is_needed) in EXCEPTIONS.iter().zip(excused) {
        assert!(is_needed, "`{file}` does not need its exception any more");
    }
}
