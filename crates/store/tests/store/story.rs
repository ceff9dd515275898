//! One story that every store tells.

use crate::support::{SimDisk, every_kind, header, moved, prompt, reply, store_in, store_on};
use offshoot_session::{Change, Record, Rejected, SessionId};
use offshoot_store::{AppendError, CreateError, Finding, MemoryStore, SessionStore, WriteError, write};
use offshoot_testkit::{draw, drawn};

#[test]
fn a_store_in_memory_tells_it() {
    let store = MemoryStore::new();
    story(&store, &store);
}

#[test]
fn a_store_on_disk_tells_it() {
    let folder = tempfile::tempdir().unwrap();
    story(&store_in(folder.path()), &store_in(folder.path()));
}

#[test]
fn a_store_on_a_simulated_disk_tells_it() {
    let disk = SimDisk::new();
    story(&store_on(disk.clone()), &store_on(disk));
}

/// `other` is the same store, seen by somebody else.
fn story(store: &dyn SessionStore, other: &dyn SessionStore) {
    let session = SessionId::from("drawn");
    let drawing = |store: &dyn SessionStore| draw(&store.read(&session).unwrap().unwrap().tree);

    // Nothing is there, and asking makes nothing.
    assert_eq!(store.list().unwrap(), []);
    assert!(store.read(&session).unwrap().is_none());
    assert!(matches!(
        store.append(&session, &mut |_| Some(vec![])),
        Err(AppendError::NotFound(id)) if id == session
    ));

    // A session begins with its header, under a name that can be one, and only once.
    assert!(matches!(store.create(&[]), Err(CreateError::NoHeader)));
    assert!(matches!(store.create(&drawn("u1")[1..]), Err(CreateError::NoHeader)));
    for bad in ["", "../up", "a/b", ".hidden", "a b"] {
        assert!(matches!(store.create(&[header(bad)]), Err(CreateError::BadId(_))), "{bad}");
        assert!(store.read(&bad.into()).unwrap().is_none());
    }
    let records = drawn("u1 - a1*");
    assert_eq!(store.create(&records).unwrap().records, records.len());
    assert!(matches!(store.create(&records), Err(CreateError::Exists(id)) if id == session));
    assert_eq!(drawing(other), "u1 - a1*\n");

    // A plan sees the session as it is, whoever wrote it, and what it writes is seen by all.
    let (a1, u2) = ("a1".into(), "u2".into());
    let appended = write(store, &session, |tree| {
        assert_eq!(draw(tree), "u1 - a1*\n");
        Ok::<_, ()>(vec![prompt("u2", Some(&a1)), moved(Some(&a1), Some(&u2))])
    });
    assert_eq!(appended.unwrap().records, 2);
    write(other, &session, |tree| {
        assert_eq!(tree.main_head(), Some(&u2));
        Ok::<_, ()>(vec![reply("a2", Some(&u2))])
    })
    .unwrap();
    let two = "u1 - a1 - u2\"what is u2?\"* - a2\"a2 is this.\"\n";
    assert_eq!((drawing(store).as_str(), drawing(other).as_str()), (two, two));

    // All or nothing: one record that does not fit, and none is taken.
    let stale = write(store, &session, |_| {
        Ok::<_, ()>(vec![prompt("u3", Some(&a1)), moved(Some(&a1), Some(&"u3".into()))])
    });
    assert!(matches!(stale, Err(WriteError::Failed(AppendError::Rejected(Rejected::StaleHead { .. })))));
    assert!(matches!(write(store, &session, |_| Err("rather not")), Err(WriteError::Declined("rather not"))));
    assert_eq!(write(store, &session, |_| Ok::<_, ()>(vec![])).unwrap().records, 0);
    assert_eq!(drawing(other), two);

    // Every kind of record comes back as it was.
    let steps = every_kind("all-kinds");
    store.create(&steps[0]).unwrap();
    for step in &steps[1..] {
        write(store, &"all-kinds".into(), |_| Ok::<_, ()>(step.clone())).unwrap();
    }
    let loaded = other.read(&"all-kinds".into()).unwrap().unwrap();
    assert_eq!(loaded.findings, []);
    assert!(loaded.tree.log().eq(steps.iter().flatten()));

    // What was odd in another program's file may be kept, and is told.
    let mut odd = vec![header("odd")];
    odd.push(prompt("u1", Some(&"nobody".into())));
    store.create(&odd).unwrap();
    let findings = other.read(&"odd".into()).unwrap().unwrap().findings;
    assert!(matches!(&findings[..], [Finding::Odd(_)]), "{findings:?}");
    assert_eq!(store.list().unwrap(), ["all-kinds", "drawn", "odd"].map(SessionId::from));

    // A session that was just created can be taken back, once something was written to it no more.
    let begun = drawn("u1").into_iter().map(|record| match record.change {
        Change::Opened(_) => header("brief"),
        _ => record,
    });
    let begun: Vec<Record> = begun.collect();
    store.create(&begun).unwrap();
    assert!(store.remove_created(&begun).unwrap());
    assert!(other.read(&"brief".into()).unwrap().is_none());
    assert_eq!(store.list().unwrap().len(), 3);
    assert!(store.remove_created(&begun).unwrap(), "it is not there, as it shall be");
    store.create(&begun).unwrap();
    write(other, &"brief".into(), |_| Ok::<_, ()>(vec![prompt("u2", None)])).unwrap();
    assert!(!store.remove_created(&begun).unwrap());
    assert_eq!(store.read(&"brief".into()).unwrap().unwrap().tree.entries().count(), 2);

    // Bytes are kept under their hash.
    let name = store.put_blob(b"picture").unwrap();
    assert_eq!(store.put_blob(b"picture").unwrap(), name);
    assert_eq!(other.blob(&name).unwrap().as_deref(), Some(&b"picture"[..]));
    assert_eq!(other.blob(&offshoot_session::format::BlobName::of(b"other")).unwrap(), None);
}
