//! One journal among several writers, and after a crash.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use crate::support::{
    FaultyDisk, SimDisk, assert_clean, every_kind, header, log_of, moved, prompt, step, store_in, store_on,
};
use offshoot_session::format::{Flaw, InBatch, encode, encode_batch};
use offshoot_session::long_lines::LONGEST_LINE;
use offshoot_session::{Change, EntryId, HeadMove, Record, SessionId};
use offshoot_store::fsck::MOST_IN_FILE;
use offshoot_store::{
    AppendError, CreateError, Finding, Home, Journal, JournalStore, LockError, Locking, ReadError, Refreshed,
    SessionStore, WriteError, fsck, write,
};
use offshoot_testkit::{draw, drawn};

fn session() -> SessionId {
    "s".into()
}

fn add(journal: &mut Journal, records: Vec<Record>) {
    journal.write(|_| Ok::<_, ()>(records)).unwrap();
}

fn begun(store: &JournalStore) -> Journal {
    store.begin(&[header("s")]).unwrap().0
}

/// Every byte of the last line, and of a last batch of three.
#[test]
fn a_torn_tail_loses_only_what_was_never_acknowledged() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let path = store.home().journal(&session());
    let mut journal = begun(&store);
    add(&mut journal, step("1", None, None));
    for last in
        [vec![prompt("u-2", Some(&"a-1".into()))], step("3", Some(&"a-1".into()), Some(&"a-1".into()))]
    {
        let before = log_of(&store, &session());
        let kept = disk.read(&path).len();
        add(&mut journal, last.clone());
        let whole = disk.read(&path);
        for cut in kept..=whole.len() {
            let disk = SimDisk::new();
            let store = store_on(disk.clone());
            begun(&store);
            disk.overwrite(&path, whole[..cut].to_vec());
            let expected: Vec<Record> = if cut + 1 < whole.len() {
                before.clone()
            } else {
                before.iter().chain(&last).cloned().collect()
            };
            let loaded = store.read(&session()).unwrap().unwrap();
            assert!(loaded.tree.log().eq(&expected), "cut at {cut}");
            let tells = cut > kept && cut < whole.len();
            assert_eq!(loaded.findings.len(), usize::from(tells), "cut at {cut}: {:?}", loaded.findings);

            let next = prompt("u-9", Some(&"u-1".into()));
            let appended = write(&store, &session(), |_| Ok::<_, ()>(vec![next.clone()])).unwrap();
            let expected: Vec<Record> = expected.into_iter().chain([next]).collect();
            assert_eq!(log_of(&store, &session()), expected, "cut at {cut}");
            assert_clean(&store, &format!("cut at {cut}"));
            let is_torn = tells && cut + 1 < whole.len();
            assert_eq!(appended.repaired.is_some(), is_torn);
            if let Some(repaired) = appended.repaired {
                assert_eq!(disk.read(&repaired.kept_in), whole[kept..cut]);
                assert_eq!(repaired.kept_in, store.home().torn(&session(), 1));
            }
        }
    }
}

#[test]
fn torn_tails_are_kept_one_after_the_other() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let path = store.home().journal(&session());
    let mut journal = begun(&store);
    for number in 1..=3 {
        let mut bytes = disk.read(&path);
        bytes.extend(format!("torn {number}").bytes());
        disk.overwrite(&path, bytes);
        add(&mut journal, vec![prompt(&format!("u{number}"), None)]);
        let kept = disk.read(&store.home().torn(&session(), number));
        assert_eq!(kept, format!("torn {number}").into_bytes());
    }
    assert_eq!(fsck(&store, &mut |_| {}).unwrap().torn_copies, 3);
}

/// Only a crash leaves a torn tail. A whole line that is wrong was written whole, so it may have been
/// acknowledged: it stays where it is for ever.
#[test]
fn damage_is_never_cut_away() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let path = store.home().journal(&session());
    let mut journal = begun(&store);
    add(&mut journal, vec![prompt("u1", None)]);
    let mut bytes = disk.read(&path);
    let at = bytes.len() - 40;
    bytes[at] ^= 1;
    disk.overwrite(&path, bytes.clone());

    let loaded = store.read(&session()).unwrap().unwrap();
    assert!(loaded.tree.is_empty());
    assert!(matches!(
        &loaded.findings[..],
        [Finding::Flaw(found)] if found.line == 2 && matches!(found.flaw, Flaw::Damaged { .. })
    ));
    write(&store, &session(), |_| Ok::<_, ()>(vec![prompt("u2", None)])).unwrap();
    assert!(disk.read(&path).starts_with(&bytes));
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.entries, 1);
}

/// D14: a line that is too long to be held is damage that costs no memory. What is behind it is read, and what is written
/// next is behind all of it.
#[test]
fn a_line_that_is_too_long_is_damage_between_sound_lines() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let path = store.home().journal(&session());
    let mut journal = begun(&store);
    add(&mut journal, vec![prompt("u1", None)]);
    let begun = disk.read(&path).len() as u64;
    let mut bytes = disk.read(&path);
    bytes.extend(vec![b'x'; LONGEST_LINE + 1]);
    disk.overwrite(&path, bytes.clone());
    let tail = store.journal(&session()).unwrap().unwrap().findings();
    assert!(
        matches!(&tail[..], [Finding::TornTail(tail)] if tail.bytes == LONGEST_LINE as u64 + 1),
        "without a newline it is an unfinished line: {tail:?}"
    );

    bytes.push(b'\n');
    disk.overwrite(&path, bytes.clone());
    for id in ["u2", "u3"] {
        write(&store, &session(), |_| Ok::<_, ()>(vec![prompt(id, None)])).unwrap();
    }
    assert!(disk.read(&path).starts_with(&bytes), "damage is never cut away");
    let loaded = store.read(&session()).unwrap().unwrap();
    assert_eq!(loaded.tree.len(), 3);
    let [Finding::Flaw(found)] = &loaded.findings[..] else { panic!("{:?}", loaded.findings) };
    assert_eq!((found.line, found.offset), (3, begun));
    assert_eq!(found.flaw.to_string(), "67108865 bytes are damaged (longer than a line can be); set aside");
}

/// D14: a million bad lines are counted, and the first of them are listed.
#[test]
fn many_problems_are_counted_and_some_are_listed() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let path = store.home().journal(&session());
    drop(begun(&store));
    let mut bytes = disk.read(&path);
    bytes.extend(b"?\n".repeat(5_000));
    disk.overwrite(&path, bytes);
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!((report.problem_count, report.problems.len()), (5_000, MOST_IN_FILE));
    assert!(!report.is_clean());
}

/// D14: `fsck` of a million bad lines needed half a gigabyte. Behind the first thousand, lines that follow each other share a
/// record, which has all their bytes.
#[test]
fn a_run_of_bad_lines_is_one_record_and_keeps_its_bytes() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let path = store.home().journal(&session());
    drop(begun(&store));
    let bad: Vec<u8> = (0..20_000).flat_map(|number| format!("bad {number}\n").into_bytes()).collect();
    let mut bytes = disk.read(&path);
    bytes.extend(&bad);
    disk.overwrite(&path, bytes);
    // What is written behind them is read, and the lines behind it are a run of their own.
    let mut journal = store.journal(&session()).unwrap().unwrap();
    add(&mut journal, step("1", None, None));
    let mut bytes = disk.read(&path);
    bytes.extend(b"x\ny\nz\n");
    disk.overwrite(&path, bytes);
    let loaded = store.read(&session()).unwrap().unwrap();
    assert_eq!(loaded.tree.len(), 2);
    let unknown = |record: &&Record| record.change == Change::Unknown;
    let kept: Vec<&Record> = loaded.tree.log().filter(unknown).collect();
    assert_eq!(kept.len(), 1_000 + 1 + 1, "one by one, then two runs");
    let content = |record: &&Record| record.source.as_ref().unwrap().bytes().to_vec();
    let all: Vec<u8> = kept.iter().flat_map(content).collect();
    assert!(all == [&bad[..], b"x\ny\nz\n"].concat(), "no byte is lost");
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!((report.problem_count, report.records), (20_003, 1_000 + 2 + 1 + 3));
    let Some(Finding::Flaw(last)) = loaded.findings.last() else { panic!("{:?}", loaded.findings.last()) };
    assert_eq!(last.flaw.lines(), 3);
    assert!(last.flaw.to_string().starts_with("3 lines, 5 bytes, are damaged"), "{}", last.flaw);
}

#[test]
fn a_handle_catches_up_with_the_others() {
    let store = store_on(SimDisk::new());
    let (mut one, mut other) = (begun(&store), store.journal(&session()).unwrap().unwrap());
    add(&mut one, step("1", None, None));
    assert_eq!(other.tree().len(), 0);
    assert_eq!(other.refresh().unwrap(), Refreshed::More(3));
    assert_eq!(draw(other.tree()), draw(one.tree()));
    assert_eq!(other.refresh().unwrap(), Refreshed::Nothing);

    // A plan made by a handle that is behind sees what it has not read yet.
    add(&mut one, step("2", Some(&"a-1".into()), Some(&"a-1".into())));
    let head = other.write(|tree| {
        let head = tree.main_head().cloned();
        Ok::<_, ()>(step("3", head.as_ref(), head.as_ref()))
    });
    assert!(head.is_ok());
    assert_eq!(one.refresh().unwrap(), Refreshed::More(3));
    assert_eq!(
        draw(one.tree()).replace(['"', '?', '.'], ""),
        "u-1what is u-1 - a-1a-1 is this - u-2what is u-2 - a-2a-2 is this - u-3what is u-3 - a-3a-3 is this*\n"
    );
    assert_eq!(one.findings(), []);
}

#[test]
fn a_file_that_is_not_what_it_was_is_read_again() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let path = store.home().journal(&session());
    let mut journal = begun(&store);
    let short = disk.read(&path);
    add(&mut journal, step("1", None, None));

    disk.overwrite(&path, short.clone());
    assert_eq!(journal.refresh().unwrap(), Refreshed::Reloaded);
    assert!(journal.tree().is_empty());

    // As long as before, and another history.
    add(&mut journal, vec![prompt("u1", None)]);
    let other = encode(&prompt("u2", None), InBatch::Last).unwrap().line;
    disk.overwrite(&path, [short, other].concat());
    assert_eq!(journal.refresh().unwrap(), Refreshed::Reloaded);
    assert_eq!(draw(journal.tree()), "u2\"what is u2?\"\n");
}

/// Several steps handed over together cost one write and one sync, and count together.
#[test]
fn a_step_is_one_write_and_one_sync() {
    let disk = FaultyDisk::over(SimDisk::new());
    let store = store_on(disk.clone());
    let mut journal = begun(&store);
    let calls_of = |journal: &mut Journal, records: Vec<Record>| {
        let before = disk.calls();
        add(journal, records);
        disk.calls() - before
    };
    // Who writes often has room set aside; from then on it is there.
    add(&mut journal, vec![prompt("u-a", None)]);
    add(&mut journal, vec![prompt("u-b", None)]);
    let one = calls_of(&mut journal, step("1", None, None));
    let at = EntryId::from("a-1");
    let many = (2..50).flat_map(|n| step(&n.to_string(), Some(&at), None)).filter(|r| r.as_entry().is_some());
    let many = calls_of(&mut journal, many.collect());
    assert_eq!(one, many);
}

/// What a person does by one key costs the same in a long session as in a short one.
#[test]
fn a_step_writes_the_same_few_bytes_whatever_the_size_of_the_session() {
    let written = |entries: usize| -> Vec<u64> {
        let store = store_on(SimDisk::new());
        let mut journal = begun(&store);
        let id = |number: usize| EntryId::from(format!("u-{number:08}"));
        let parent = |number: usize| number.checked_sub(1).map(id);
        let long = (0..entries).map(|number| prompt(id(number).as_str(), parent(number).as_ref()));
        add(&mut journal, long.collect());
        let (tip, old) = (id(entries - 1), id(3));
        let edited = EntryId::from("u-edit");
        let edit = vec![prompt("u-edit", Some(&old)), moved(None, Some(&edited))];
        let steps = [edit, vec![moved(Some(&edited), Some(&tip))], vec![moved(Some(&tip), Some(&old))]];
        steps.into_iter().map(|step| journal.write(|_| Ok::<_, ()>(step)).unwrap().bytes).collect()
    };
    let short = written(10);
    assert_eq!(short, written(20_000));
    assert!(short.iter().all(|bytes| *bytes < 4096), "{short:?}");
}

#[test]
fn a_second_writer_waits_and_then_names_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = store_in(folder.path()).begin(&[header("s")]).unwrap().0;
    let locking = Locking { wait: Duration::from_millis(50), ..Locking::by("second") };
    let hasty = JournalStore::at(Home::at(folder.path().join("home")), locking);
    let mut second = hasty.journal(&session()).unwrap().unwrap();

    first.hold().unwrap();
    add(&mut first, vec![prompt("u1", None)]);
    let refused = second.write(|_| Ok::<_, ()>(vec![prompt("u2", None)])).unwrap_err();
    let WriteError::Failed(AppendError::Locked(LockError::Held { path, holder, .. })) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(path, hasty.home().lock(&session()));
    assert!(holder.starts_with(&format!("test (process {}) since 20", std::process::id())), "{holder}");
    assert_eq!(second.refresh().unwrap(), Refreshed::More(1), "reading needs no lock");

    let release = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        first.release();
        first
    });
    let patient = store_in(folder.path());
    write(&patient, &session(), |_| Ok::<_, ()>(vec![prompt("u2", None)])).unwrap();
    release.join().unwrap();
    assert_eq!(
        draw(&patient.read(&session()).unwrap().unwrap().tree),
        "u1\"what is u1?\"\nu2\"what is u2?\"\n"
    );
}

#[test]
fn a_newer_format_is_refused_and_left_alone() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    begun(&store);
    let path = store.home().journal(&session());
    let newer = include_bytes!("../../testdata/newer.jsonl").to_vec();
    disk.overwrite(&path, newer.clone());

    let refused = store.read(&session()).unwrap_err();
    assert!(matches!(&refused, ReadError::Newer { source, .. } if source.version == 3));
    let words = std::error::Error::source(&refused).unwrap().to_string();
    assert_eq!(words, "format 3 is newer than this program knows (2)");
    let refused = store.append(&session(), &mut |_| Some(vec![prompt("u1", None)]));
    assert!(matches!(refused, Err(AppendError::Read(ReadError::Newer { .. }))));
    assert!(matches!(store.create(&[header("s")]), Err(CreateError::Failed(_))));
    assert_eq!(disk.read(&path), newer);
    assert_eq!(fsck(&store, &mut |_| {}).unwrap().problems.len(), 1);
}

#[test]
fn a_session_that_was_never_born_can_still_be() {
    let disk = SimDisk::new();
    let store = store_on(disk.clone());
    let path = store.home().journal(&session());
    let first_batch = encode_batch(&drawn("u1 - a1")).unwrap().bytes;
    for rest in [0, 20, first_batch.len() - 40] {
        begun(&store);
        disk.overwrite(&path, first_batch[..rest].to_vec());
        assert!(store.read(&session()).unwrap().is_none());
        assert_clean(&store, "unborn");
        assert_eq!(fsck(&store, &mut |_| {}).unwrap().unborn, 1);
        store.create(&[header("s")]).unwrap();
        assert_eq!(log_of(&store, &session()), [header("s")]);
        offshoot_store::Files::remove(&disk, &path).unwrap();
    }
}

#[test]
fn the_home_is_for_its_user_alone() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let steps = every_kind("s");
    store.create(&steps.concat()).unwrap();
    write(&store, &session(), |_| Ok::<_, ()>(vec![prompt("more", None)])).unwrap();
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let home = store.home();
    for folder in [home.root(), &home.sessions(), &home.blobs()] {
        assert_eq!(mode(folder), 0o700, "{folder:?}");
    }
    for file in [home.journal(&session()), home.lock(&session())] {
        assert_eq!(mode(&file), 0o600, "{file:?}");
    }
    for folder in std::fs::read_dir(home.blobs()).unwrap() {
        let folder = folder.unwrap().path();
        assert_eq!(mode(&folder), 0o700);
        for blob in std::fs::read_dir(folder).unwrap() {
            assert_eq!(mode(&blob.unwrap().path()), 0o600);
        }
    }
}

#[test]
fn fsck_finds_what_is_wrong_with_blobs() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    store.create(&every_kind("s").concat()).unwrap();
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert!(report.is_clean());
    assert_eq!((report.sessions, report.blobs), (1, 1));

    let inner = std::fs::read_dir(store.home().blobs()).unwrap().next().unwrap().unwrap().path();
    let blob = std::fs::read_dir(inner).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&blob).unwrap();
    let mut flipped = bytes.clone();
    flipped[100] ^= 1;
    std::fs::write(&blob, flipped).unwrap();
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!(report.problems.len(), 2, "the blob, and the line that names it");

    std::fs::remove_file(&blob).unwrap();
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!(report.problems.len(), 1);
    let loaded = store.read(&session()).unwrap().unwrap();
    assert_eq!(loaded.tree.len(), 23, "the rest is there");

    store.put_blob(&bytes).unwrap();
    assert_clean(&store, "the blob is back");
}

/// A file of another program may be odd; that is not our damage. What we wrote ourselves may not.
#[test]
fn what_came_odd_is_told_apart_from_what_became_so() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let line = |text: &str| offshoot_session::RawLine::new(format!("{text}\n").into_bytes());
    let lost_parent = |id: &str| prompt(id, Some(&"gone".into()));
    store.create(&[header("s"), lost_parent("u1").from_line(line("{\"id\":\"u1\"}"))]).unwrap();
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!((report.is_clean(), report.came_odd), (true, 1));

    store.create(&[header("ours"), lost_parent("u1")]).unwrap();
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!((report.is_clean(), report.came_odd), (false, 1));
}

/// D16: a `leaf` line of pi that names a missing entry came with the file, so it is not damage.
#[test]
fn a_head_that_came_to_a_missing_entry_is_not_damage() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let at = jiff::Timestamp::UNIX_EPOCH;
    let to_missing = || {
        let head = offshoot_session::HeadName::main();
        Record::head_moved(HeadMove { head, moved_at: at, from: None, to: Some("gone".into()) })
    };
    let line = offshoot_session::RawLine::new(&b"{\"type\":\"leaf\",\"targetId\":\"gone\"}\n"[..]);
    store.create(&[header("s"), prompt("u1", None), to_missing().from_line(line)]).unwrap();
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!((report.is_clean(), report.came_odd), (true, 1));
    store.create(&[header("ours"), prompt("u1", None), to_missing()]).unwrap();
    let report = fsck(&store, &mut |_| {}).unwrap();
    assert_eq!((report.is_clean(), report.came_odd), (false, 1));
}

/// How much of the disk a file takes beyond its length.
fn spare(path: &std::path::Path) -> u64 {
    let about = std::fs::metadata(path).unwrap();
    (about.blocks() * 512).saturating_sub(about.len())
}

#[test]
fn room_is_set_aside_while_somebody_writes_and_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let path = store.home().journal(&session());
    let mut journal = begun(&store);
    add(&mut journal, vec![prompt("u-1", None)]);
    assert!(spare(&path) < 64 << 10, "nothing for those who write once or twice");
    for number in 2..6 {
        add(&mut journal, vec![prompt(&format!("u-{number}"), None)]);
    }
    if spare(&path) < 64 << 10 {
        println!(
            "skipped: room_is_set_aside_while_somebody_writes_and_given_back: this disk sets no room aside"
        );
        return;
    }
    // Another one writes behind what the first one knows, and then the first one closes.
    let mut other = store.journal(&session()).unwrap().unwrap();
    add(&mut other, vec![prompt("u-6", None)]);
    drop(other);
    let (content, modified) = (std::fs::read(&path).unwrap(), path.metadata().unwrap().modified().unwrap());
    drop(journal);
    assert!(spare(&path) < 64 << 10, "{} bytes are left", spare(&path));
    assert_eq!(std::fs::read(&path).unwrap(), content);
    assert_eq!(path.metadata().unwrap().modified().unwrap(), modified);
    assert_clean(&store, "after room was given back");
}

#[test]
fn room_is_given_back_only_under_the_lock() {
    let folder = tempfile::tempdir().unwrap();
    let store = store_in(folder.path());
    let path = store.home().journal(&session());
    let mut journal = begun(&store);
    for number in 1..6 {
        add(&mut journal, vec![prompt(&format!("u-{number}"), None)]);
    }
    let spare_before = spare(&path);
    let mut other = store.journal(&session()).unwrap().unwrap();
    other.hold().unwrap();
    drop(journal);
    assert_eq!(spare(&path), spare_before, "somebody else may be writing behind the end");
}
