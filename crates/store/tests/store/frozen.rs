//! A store made by the first version. Every later one reads it: the same tree, and every record.

use std::path::{Path, PathBuf};

use crate::support::{every_kind, patient, store_in, vote};
use offshoot_session::{Record, SessionId};
use offshoot_store::files::{DiskFiles, Files, Open};
use offshoot_store::{Home, JournalStore, SessionStore, fsck};
use offshoot_testkit::draw;

fn frozen() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/frozen-1")
}

fn steps() -> Vec<Vec<Record>> {
    let mut steps = every_kind("every-kind");
    steps.push(vec![vote()]);
    steps
}

const DRAWING: &str = r#"
e1"Grüße, 世界! \u{202e}\0"[start] - e2 - e3 - e4 - e5
e1 - e6 - e7 - e8 - e9 - e10 - e11 - e12 - e13 - e14 - e15 - e16 - e17 - e18 - e19 - e20 - e21 - e22"what is e22?" - e23"e23 is this."*
"#;

#[test]
fn the_frozen_store_is_read() {
    let store = JournalStore::at(Home::at(frozen()), patient());
    let session = SessionId::from("every-kind");
    assert_eq!(store.list().unwrap(), [SessionId::from("every-kind")]);
    let loaded = store.read(&session).unwrap().unwrap();
    assert_eq!(draw(&loaded.tree), DRAWING.trim_start());
    let records: Vec<&Record> = loaded.tree.log().collect();
    let expected = steps().concat();
    assert_eq!(records.len(), expected.len());
    for (record, expected) in records.into_iter().zip(&expected) {
        assert_eq!(record, expected);
    }
    assert_eq!(loaded.tree.title(), Some("All kinds"));
    let undone: Vec<(String, bool)> =
        loaded.tree.operations().map(|operation| (operation.name.clone(), operation.undone)).collect();
    assert_eq!(undone, [("edit".to_owned(), true)]);
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!((report.sessions, report.blobs, report.problems.len()), (1, 1, 1));
}

/// This version still writes what the first one wrote. A new field may change that: then this test is changed,
/// and the frozen store is not.
#[test]
fn the_frozen_store_would_be_written_the_same_way() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    write(&store);
    let id = "every-kind".into();
    let now = std::fs::read(store.home().journal(&id)).unwrap();
    let then = std::fs::read(Home::at(frozen()).journal(&id)).unwrap();
    assert_eq!(String::from_utf8_lossy(&now), String::from_utf8_lossy(&then));
}

/// Made the frozen store, once.
#[test]
#[ignore = "the store is frozen; a new format gets a folder of its own"]
fn freeze() {
    assert!(DiskFiles.open(&frozen(), Open::Read).is_err(), "it is frozen already");
    write(&JournalStore::at(Home::at(frozen()), patient()));
    std::fs::remove_file(Home::at(frozen()).lock(&"every-kind".into())).unwrap();
}

fn write(store: &JournalStore) {
    let steps = steps();
    store.create(&steps[0]).unwrap();
    for step in &steps[1..] {
        store.append(&"every-kind".into(), &mut |_| Some(step.clone())).unwrap();
    }
}
