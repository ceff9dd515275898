//! Several writers at once: everything is there, in the order each of them wrote it.

use crate::support::{assert_clean, header, prompt, rounds, store_in};
use offshoot_session::{EntryId, SessionId};
use offshoot_store::{Journal, SessionStore};

const WRITERS: usize = 8;

/// Appends a chain of entries, each below the one before.
fn write_chain(mut journal: Journal, writer: usize, length: usize) {
    let mut last: Option<EntryId> = None;
    for number in 0..length {
        let id = format!("w{writer}-{number}");
        journal.write(|_| Ok::<_, ()>(vec![prompt(&id, last.as_ref())])).unwrap();
        assert!(journal.tree().contains(&id.as_str().into()));
        last = Some(id.into());
    }
}

fn run(session_of: impl Fn(usize) -> SessionId + Sync) {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let length = rounds(200, 2_000);
    for writer in 0..WRITERS {
        let _ = store.create(&[header(session_of(writer).as_str())]);
    }
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let journal = store.journal(&session_of(writer)).unwrap().unwrap();
            scope.spawn(move || write_chain(journal, writer, length));
        }
    });
    for writer in 0..WRITERS {
        let tree = store.read(&session_of(writer)).unwrap().unwrap().tree;
        let tip = EntryId::from(format!("w{writer}-{}", length - 1));
        let path: Vec<String> = tree.path_to(Some(&tip)).iter().map(|entry| entry.id.to_string()).collect();
        let expected: Vec<String> = (0..length).map(|number| format!("w{writer}-{number}")).collect();
        assert_eq!(path, expected);
    }
    assert_clean(&store, "after all writers");
}

#[test]
fn eight_writers_on_one_session() {
    run(|_| "shared".into());
}

#[test]
fn eight_writers_on_eight_sessions() {
    run(|writer| format!("s{writer}").into());
}

/// Whoever asks leaves the lock as it was, words and all.
#[test]
fn who_only_looks_knows_whether_it_is_being_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let id = SessionId::from("s");
    assert!(!store.is_being_written(&id), "there is none");
    store.create(&[header("s")]).unwrap();
    let said = || std::fs::read(store.home().lock(&id)).ok();
    let before = said();
    assert!(!store.is_being_written(&id));
    assert_eq!(said(), before);
    let mut journal = store.journal(&id).unwrap().unwrap();
    journal.hold().unwrap();
    let before = said();
    assert!(before.is_some() && store.is_being_written(&id));
    journal.release();
    assert!(!store.is_being_written(&id));
    assert_eq!(said(), before);
}
