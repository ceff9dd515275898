//! Several writers at once: everything is there, in the order each of them wrote it.

use std::time::Duration;

use crate::support::{assert_clean, header, prompt, rounds, store_in};
use offshoot_session::{EntryId, SessionId};
use offshoot_store::{AppendError, Home, Journal, JournalStore, LockError, Locking, SessionStore};

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

/// Long appends of one process do not keep another from its own, as long as they come to something.
#[test]
fn a_writer_that_makes_progress_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let locking = Locking { wait: Duration::from_millis(400), ..Locking::by("test") };
    let store = JournalStore::at(Home::at(folder.path()), locking);
    let id = SessionId::from("s");
    store.create(&[header("s")]).unwrap();
    let mut busy = store.journal(&id).unwrap().unwrap();
    busy.hold().unwrap();
    let waiting = std::thread::spawn({
        let store = store.clone();
        move || store.append(&"s".into(), &mut |_| Some(vec![prompt("mine", None)]))
    });
    // Three times as long as the other one would wait for a writer that is stuck.
    for number in 0..24 {
        busy.write(|_| Ok::<_, ()>(vec![prompt(&format!("busy{number}"), None)])).unwrap();
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(!waiting.is_finished());
    busy.release();
    waiting.join().unwrap().unwrap();

    busy.hold().unwrap();
    let stuck = store.append(&id, &mut |_| Some(vec![prompt("never", None)])).unwrap_err();
    assert!(matches!(stuck, AppendError::Locked(LockError::Held { pid: Some(_), .. })), "{stuck:?}");
}
