//! One write path: only the engine plans changes and appends them to journals.

use std::path::Path;

use crate::metadata::root;
use crate::purity::{Token, is_test, offences_in, paths, rust_files, tokens, uses};

/// Whoever uses one of these decides what a session becomes, or writes it.
const WRITING: &[&str] = &["offshoot_session::plan", "offshoot_store::write", "stored::create"];

/// Methods that write a session, or hold it to be written.
const METHODS: &[&str] = &[
    "append",
    "append_planned",
    "begin",
    "create",
    "draft",
    "hold",
    "keep_waiting",
    "put_blob",
    "remove_created",
    "write",
];

/// Whoever names one of these may have a session in hand that has such methods: other types have methods of the same names.
const SESSIONS: &[&str] =
    &["Book", "Journal", "JournalStore", "SessionStore", "Shelf", "stored::journal", "store"];

/// Files that may, with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    (
        "crates/cli/src/commands/import.rs",
        "imports are read here until reading sessions belongs to the engine",
    ),
    ("crates/cli/src/stored.rs", "writes what an import has read"),
    ("crates/cli/src/commands/forget.rs", "holds the archive of other programs' sessions, and no session"),
    ("crates/api/src/error.rs", "turns the refusals of plans into codes; makes no plan"),
];

#[test]
fn only_the_engine_plans_and_writes() {
    let mut excused = vec![false; EXCEPTIONS.len()];
    for folder in ["cli", "api", "agents", "store", "transcripts"] {
        let package = root().join("crates").join(folder);
        let mut offences = offences_in(&package, WRITING).unwrap();
        // The store has the methods itself.
        if folder != "store" {
            offences.extend(calls_in(&package).unwrap());
        }
        for offence in offences {
            let exception = EXCEPTIONS.iter().position(|(file, _)| offence.starts_with(file));
            let Some(exception) = exception else { panic!("{offence} belongs into the engine") };
            excused[exception] = true;
        }
    }
    for ((file, _), is_needed) in EXCEPTIONS.iter().zip(excused) {
        assert!(is_needed, "`{file}` does not need its exception any more");
    }
}

#[test]
fn a_write_is_found_however_it_is_called() {
    assert_eq!(calls("use offshoot_store::Journal;\nfn f() { journal.write(plan) }"), [(2, "write")]);
    assert_eq!(
        calls("use offshoot_engine::{Book, Shelf};\nbook\n    .append(basis, records)"),
        [(3, "append")]
    );
    assert_eq!(calls("use x::SessionStore;\nstore.remove_created(&records)"), [(2, "remove_created")]);
    assert_eq!(calls("here.store()?.create(&records)"), [(1, "create")]);
    assert_eq!(calls("let mut it = stored::journal(here, id)?;\nit.hold()"), [(2, "hold")]);
    assert!(calls("let mut notes = Vec::new(); notes.append(&mut more)").is_empty());
    assert!(calls("use offshoot_store::Journal; // journal.write(plan)").is_empty());
    assert!(
        calls("use offshoot_store::Journal; fn f() { self.write(line) }").is_empty(),
        "a method of its own"
    );
}

fn calls_in(package: &Path) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    for file in rust_files(&package.join("src"))?.iter().filter(|file| !is_test(file)) {
        let source = std::fs::read_to_string(file)?;
        let shown = file.strip_prefix(root()).unwrap_or(file).display().to_string();
        found.extend(calls(&source).into_iter().map(|(line, method)| format!("{shown}:{line}: .{method}(")));
    }
    Ok(found)
}

/// Lines, from 1, where a file that has sessions in hand calls a method that writes one.
fn calls(source: &str) -> Vec<(usize, &str)> {
    let tokens = tokens(source);
    let has_sessions = paths(&tokens).iter().any(|(_, path)| SESSIONS.iter().any(|name| uses(path, name)));
    if !has_sessions {
        return Vec::new();
    }
    let call = |window: &[(usize, Token<'_>)]| match window {
        [(_, of), (_, Token::Other('.')), (line, Token::Word(method)), (_, Token::Other('('))]
            if *of != Token::Word("self") =>
        {
            METHODS.iter().find(|name| *name == method).map(|name| (*line, *name))
        }
        _ => None,
    };
    tokens.windows(4).filter_map(call).collect()
}
