//! Disks for tests, and sessions to put on them.

pub(crate) mod claude_files;
mod dice;
mod faulty_disk;
mod samples;
mod sim_disk;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use offshoot_session::{Record, SessionId};
use offshoot_store::{Files, Home, JournalStore, Locking, SessionStore};
use offshoot_testkit::{NO_REAL_FILES, real_files};

pub(crate) use dice::Dice;
pub(crate) use faulty_disk::{Fault, FaultyDisk};
pub(crate) use samples::{every_kind, header, moved, prompt, reply, step, vote};
pub(crate) use sim_disk::SimDisk;

/// Proofs are short by default and long when `OFFSHOOT_PROOFS=full`.
pub(crate) fn rounds(short: usize, full: usize) -> usize {
    if std::env::var("OFFSHOOT_PROOFS").is_ok_and(|proofs| proofs == "full") { full } else { short }
}

pub(crate) fn store_on(files: impl Files + 'static) -> JournalStore {
    JournalStore::on(Arc::new(files), Home::at("/home/offshoot"), patient())
}

pub(crate) fn store_in(folder: &Path) -> JournalStore {
    JournalStore::at(Home::at(folder.join("home")), patient())
}

pub(crate) fn patient() -> Locking {
    Locking { wait: Duration::from_secs(60), ..Locking::by("test") }
}

pub(crate) fn log_of(store: &JournalStore, id: &SessionId) -> Vec<Record> {
    store.read(id).unwrap().map(|loaded| loaded.tree.log().cloned().collect()).unwrap_or_default()
}

/// Clean, or the reasons why not.
pub(crate) fn assert_clean(store: &JournalStore, when: &str) {
    let report = offshoot_store::fsck(store, &mut |_| {}).unwrap();
    let problems: Vec<String> = report.problems.iter().map(ToString::to_string).collect();
    assert!(report.is_clean(), "{when}: {problems:#?}");
}

/// Sessions that these programs have written; a test without any says that it is skipped.
#[expect(clippy::print_stdout, reason = "a test that cannot run says so by name")]
pub(crate) fn real_files_of(test: &str, programs: &[&str]) -> Vec<std::path::PathBuf> {
    let shared = || std::env::var_os("OFFSHOOT_SHARED");
    let places = ["fixtures", "fixtures/generated"];
    let parts: Vec<String> = places
        .iter()
        .flat_map(|place| programs.iter().map(move |program| format!("{place}/{program}")))
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let files = real_files(shared(), env!("CARGO_MANIFEST_DIR"), &parts, ".jsonl");
    if files.is_empty() {
        println!("skipped: {test} ({NO_REAL_FILES})");
    }
    files
}
