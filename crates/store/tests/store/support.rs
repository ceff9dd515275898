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
    Locking { program: "test".into(), wait: Duration::from_secs(60) }
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
