//! Every call to the disk fails once, in every way. The caller hears of it, nothing is there by halves, and the
//! next append works.

use std::io::ErrorKind;

use crate::support::{
    Fault, FaultyDisk, SimDisk, assert_clean, header, moved, prompt, reply, step, store_on,
};
use offshoot_session::{Body, Change, EntryId, Record, SessionId};
use offshoot_store::store::Left;
use offshoot_store::{AppendError, CreateError, Journal, SessionStore, WriteError};

const FAULTS: [Fault; 7] = [
    Fault::Once(ErrorKind::StorageFull),
    Fault::Once(ErrorKind::PermissionDenied),
    Fault::Once(ErrorKind::Other),
    Fault::Half(ErrorKind::StorageFull),
    Fault::Half(ErrorKind::Other),
    Fault::Full,
    Fault::Dead,
];

/// What went through, and what did not.
#[derive(Default)]
struct Outcome {
    written: Vec<Record>,
    failed: Option<Failed>,
    /// The hand that wrote, whatever happened to it.
    hand: Option<Journal>,
}

struct Failed {
    records: Vec<Record>,
    left: Left,
    words: String,
}

#[test]
fn every_call_fails_in_every_way() {
    let calls = {
        let disk = FaultyDisk::over(SimDisk::new());
        run(&disk);
        disk.calls()
    };
    assert!(calls > 50, "{calls}");
    let mut strikes = 0;
    for fault in FAULTS {
        for call in 0..calls {
            let disk = FaultyDisk::over(SimDisk::new());
            disk.fail_at(call, fault);
            let outcome = run(&disk);
            strikes += usize::from(disk.has_struck());
            disk.heal();
            check(disk, outcome, &format!("call {call}, {fault:?}"));
        }
    }
    assert!(strikes > calls * 4, "{strikes}");
}

fn session() -> SessionId {
    "s".into()
}

/// Begins a session, leaves a torn tail, writes steps, a blob among them; stops at the first failure.
fn run(disk: &FaultyDisk<SimDisk>) -> Outcome {
    let store = store_on(disk.clone());
    let mut outcome = Outcome::default();
    let begin = vec![header("s"), prompt("first", None)];
    let mut journal = match store.begin(&begin) {
        Ok((journal, _)) => journal,
        Err(CreateError::Failed(error)) => {
            outcome.failed = Some(failed(begin, error));
            return outcome;
        }
        Err(error) => panic!("{error}"),
    };
    outcome.written.extend(begin);
    let first = EntryId::from("first");
    let last = EntryId::from("a-1");
    for step in [
        step("1", Some(&first), None),
        vec![long("big", &first), moved(Some(&last), Some(&"big".into()))],
        vec![prompt("end", Some(&first))],
    ] {
        match journal.write(|_| Ok::<_, ()>(step.clone())) {
            Ok(_) => outcome.written.extend(step),
            Err(WriteError::Failed(error)) => {
                let before: Vec<Record> = journal.tree().log().cloned().collect();
                assert_eq!(before, outcome.written, "what failed is not visible here");
                outcome.failed = Some(failed(step, error));
                outcome.hand = Some(journal);
                return outcome;
            }
            Err(WriteError::Declined(())) => panic!("nobody declined"),
        }
        tear(&journal, disk);
    }
    outcome.hand = Some(journal);
    outcome
}

/// A crash of somebody else left half a line at the end.
fn tear(journal: &Journal, disk: &FaultyDisk<SimDisk>) {
    let mut bytes = disk.disk().read(&journal.path());
    bytes.extend_from_slice(b"{\"k\":\"entry\",\"id\":\"half");
    disk.disk().overwrite(&journal.path(), bytes);
}

fn long(id: &str, parent: &EntryId) -> Record {
    match reply(id, Some(parent)).change {
        Change::Entry(entry) => {
            let mut entry = offshoot_session::Entry::clone(&entry);
            entry.body = Body::reply("x".repeat(70_000));
            Record::entry(entry)
        }
        other => panic!("{other:?}"),
    }
}

fn failed(records: Vec<Record>, error: AppendError) -> Failed {
    let left = match &error {
        AppendError::NotSaved { left, .. } => *left,
        _ => Left::Nothing,
    };
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(next) = cause {
        words.push_str(&format!(": {next}"));
        cause = next.source();
    }
    Failed { records, left, words }
}

fn check(disk: FaultyDisk<SimDisk>, outcome: Outcome, when: &str) {
    let store = store_on(disk);
    let found: Vec<Record> = match store.read(&session()).unwrap() {
        Some(loaded) => loaded.tree.log().cloned().collect(),
        None => Vec::new(),
    };
    let mut expected = outcome.written;
    if let Some(failed) = outcome.failed {
        assert!(failed.words.contains("`/"), "{when}: the path is told: {}", failed.words);
        assert!(failed.words.contains(": "), "{when}: the cause is told: {}", failed.words);
        let with_it: Vec<Record> = expected.iter().chain(&failed.records).cloned().collect();
        if failed.left == Left::Perhaps && found == with_it {
            expected = with_it;
        }
    }
    assert_eq!(found, expected, "{when}");
    if found.is_empty() {
        store.create(&[header("s")]).unwrap();
    } else {
        store.append(&session(), &mut |_| Some(vec![prompt("again", None)])).unwrap();
        expected.push(prompt("again", None));
    }
    if let Some(mut hand) = outcome.hand {
        hand.write(|tree| {
            assert!(tree.log().eq(&expected), "{when}: the hand sees what is there");
            Ok::<_, ()>(vec![prompt("same hand", None)])
        })
        .unwrap();
    }
    assert_clean(&store, when);
}
