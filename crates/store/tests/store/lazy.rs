//! What is read as far as it is looked at is what the whole reading says.

use std::fs;
use std::path::Path;

use jiff::SignedDuration;
use offshoot_session::context::{ContextOptions, Message, Role, context_of};
use offshoot_session::format::encode_batch;
use offshoot_session::skeleton::Skeleton;
use offshoot_session::turn::{has_unfinished_turn, unfinished_turns};
use offshoot_session::{
    Block, Body, Compaction, ContextEdit, Entry, EntryId, Fact, FileLists, HeadMove, HeadName, Interruption,
    Missing, Model, Provenance, Record, Reply, SessionId, SessionTree, Setting, System, TitleSource,
    ToolResult, ToolUse,
};
use offshoot_store::lazy::{Format, OpenError, UseIndex};
use offshoot_store::{Home, JournalStore, LazyContext, LazyError, LazySession, SessionStore};
use offshoot_testkit::FixedStamps;
use tempfile::tempdir;

use crate::support::{Dice, every_kind, header, rounds, store_in};

#[test]
fn a_journal_is_seen_as_the_whole_reading_sees_it() {
    for round in 0..rounds(80, 5_000) {
        let mut dice = Dice::seeded(round as u64);
        let folder = tempdir().unwrap();
        let store = store_in(folder.path());
        let id = SessionId::from("s");
        store.create(&[header("s")]).unwrap();
        let records = random_records(&mut dice);
        append_raw(&store, &id, &records, &mut dice);
        let tree = store.read(&id).unwrap().unwrap().tree;
        let mut lazy = match store.lazy(&id, UseIndex::Yes) {
            Ok(lazy) => lazy.unwrap(),
            Err(OpenError::Unusual { .. }) => continue,
            Err(error) => panic!("round {round}: {error}"),
        };
        assert_same(&tree, &mut lazy, &ContextOptions::default(), round);
        lazy.save_index().unwrap();
        let mut lazy = store.lazy(&id, UseIndex::Yes).unwrap().unwrap();
        assert!(!lazy.wants_index(), "round {round}: the index was not used");
        assert_same(&tree, &mut lazy, &ContextOptions::transcript(), round);
        // More is written behind the index, and behind what is open.
        append_raw(&store, &id, &random_records(&mut dice), &mut dice);
        let tree = store.read(&id).unwrap().unwrap().tree;
        if lazy.refresh().is_ok() {
            assert_same(&tree, &mut lazy, &ContextOptions::default(), round);
        }
        if let Ok(Some(mut lazy)) = store.lazy(&id, UseIndex::Yes) {
            assert_same(&tree, &mut lazy, &ContextOptions::pi(), round);
        }
    }
}

#[test]
fn most_journals_are_usual() {
    let usual = (0..200).filter(|round| {
        let mut dice = Dice::seeded(*round);
        let folder = tempdir().unwrap();
        let store = store_in(folder.path());
        store.create(&[header("s")]).unwrap();
        append_raw(&store, &"s".into(), &random_records(&mut dice), &mut dice);
        store.lazy(&"s".into(), UseIndex::No).is_ok()
    });
    assert!(usual.count() > 100);
}

#[test]
fn every_kind_of_record_is_seen() {
    let folder = tempdir().unwrap();
    let store = store_in(folder.path());
    let mut steps = every_kind("s").into_iter();
    store.create(&steps.next().unwrap()).unwrap();
    for step in steps {
        store.append(&"s".into(), &mut |_| Some(step.clone())).unwrap();
    }
    let tree = store.read(&"s".into()).unwrap().unwrap().tree;
    let mut lazy = store.lazy(&"s".into(), UseIndex::No).unwrap().unwrap();
    assert_same(&tree, &mut lazy, &ContextOptions::default(), 0);
    for entry in tree.entries() {
        let node = lazy.skeleton().node(&entry.id).unwrap();
        assert_eq!(lazy.entry(node).unwrap(), *entry);
    }
}

#[test]
fn a_file_of_pi_is_seen_as_the_whole_reading_sees_it() {
    for round in 0..rounds(80, 5_000) {
        let mut dice = Dice::seeded(round as u64 ^ 0x91);
        let folder = tempdir().unwrap();
        let home = Home::at(folder.path().join("home"));
        let path = folder.path().join("session.jsonl");
        let mut text = random_pi(&mut dice, 0, true);
        fs::write(&path, &text).unwrap();
        let tree = whole_pi(&path);
        let mut lazy = match LazySession::of_file(&path, Format::Pi, Some(&home), UseIndex::Yes) {
            Ok(lazy) => lazy.unwrap(),
            Err(OpenError::Unusual { .. }) => continue,
            Err(error) => panic!("round {round}: {error}"),
        };
        assert_same(&tree, &mut lazy, &ContextOptions::pi(), round);
        lazy.save_index().unwrap();
        let mut lazy = LazySession::of_file(&path, Format::Pi, Some(&home), UseIndex::Yes).unwrap().unwrap();
        assert!(!lazy.wants_index() || !text.ends_with('\n'), "round {round}: the index was not used");
        assert_same(&tree, &mut lazy, &ContextOptions::default(), round);
        text.push_str(&random_pi(&mut dice, 100, false));
        fs::write(&path, &text).unwrap();
        let tree = whole_pi(&path);
        if lazy.refresh().is_ok() {
            assert_same(&tree, &mut lazy, &ContextOptions::default(), round);
        }
        if let Ok(Some(mut lazy)) = LazySession::of_file(&path, Format::Pi, Some(&home), UseIndex::Yes) {
            assert_same(&tree, &mut lazy, &ContextOptions::pi(), round);
        }
    }
}

/// Longer than the chunks it is read in, with lines that are longer too.
#[test]
fn a_long_file_is_seen_as_the_whole_reading_sees_it() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let mut text = random_pi(&mut Dice::seeded(5), 0, true);
    let mut parent = "null".to_owned();
    for number in 0..40 {
        let said = "so it went on ".repeat(if number % 4 == 0 { 80_000 } else { 3_000 + number });
        text.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"long{number}\",\"parentId\":{parent},\"timestamp\":\"2025-01-02T00:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{said}\"}}}}\n",
        ));
        parent = format!("\"long{number}\"");
    }
    assert!(text.len() > 9 << 20);
    fs::write(&path, &text).unwrap();
    let mut lazy = LazySession::of_file(&path, Format::Pi, None, UseIndex::No).unwrap().unwrap();
    assert_same(&whole_pi(&path), &mut lazy, &ContextOptions::pi(), 0);
}

#[test]
fn an_index_with_any_byte_changed_gives_no_other_answer() {
    let folder = tempdir().unwrap();
    let store = store_in(folder.path());
    let id = SessionId::from("s");
    store.create(&[header("s")]).unwrap();
    let mut dice = Dice::seeded(7);
    let records: Vec<Record> =
        (0..6).flat_map(|n| crate::support::step(&n.to_string(), None, None)).collect();
    append_raw(&store, &id, &records, &mut dice);
    let tree = store.read(&id).unwrap().unwrap().tree;
    store.lazy(&id, UseIndex::No).unwrap().unwrap().save_index().unwrap();
    let path = store.home().journal_index(&id);
    let sound = fs::read(&path).unwrap();
    for at in (0..sound.len()).step_by(rounds(5, 1)) {
        let mut bytes = sound.clone();
        bytes[at] ^= 1 << dice.roll(8);
        assert_index_is_harmless(&store, &id, &tree, &bytes, at);
        // The same by somebody who knows the checksum.
        let end = bytes.len() - 4;
        let sum = crc32fast::hash(&bytes[..end]).to_le_bytes();
        bytes[end..].copy_from_slice(&sum);
        let _ = fs::write(&path, &bytes);
        let mut lazy = store.lazy(&id, UseIndex::Yes).unwrap().unwrap();
        for entry in tree.entries() {
            match lazy.last_messages(Some(&entry.id), 3) {
                Ok(messages) => {
                    let said = |message: &Message| tree.entry(&message.entry.id) == Some(&message.entry);
                    assert!(messages.iter().all(said), "byte {at}");
                }
                Err(LazyError::NotFound(_)) => {}
                Err(error) => panic!("byte {at}: {error}"),
            }
            let context = lazy.context_at(Some(&entry.id), &ContextOptions::pi());
            match context.and_then(LazyContext::read) {
                Ok(context) => {
                    let said = |message: &Message| tree.entry(&message.entry.id) == Some(&message.entry);
                    assert!(context.messages.iter().all(said), "byte {at}");
                }
                Err(LazyError::NotFound(_)) => {}
                Err(error) => panic!("byte {at}: {error}"),
            }
        }
    }
    for length in (0..sound.len()).step_by(rounds(9, 1)) {
        assert_index_is_harmless(&store, &id, &tree, &sound[..length], length);
    }
}

#[test]
fn a_log_that_shrinks_or_is_replaced_is_read_again() {
    let folder = tempdir().unwrap();
    let store = store_in(folder.path());
    let id = SessionId::from("s");
    store.create(&[header("s")]).unwrap();
    let mut dice = Dice::seeded(3);
    append_raw(&store, &id, &crate::support::step("1", None, None), &mut dice);
    let short = fs::read(store.home().journal(&id)).unwrap();
    append_raw(&store, &id, &crate::support::step("2", None, None), &mut dice);
    let long = fs::read(store.home().journal(&id)).unwrap();
    let mut lazy = store.lazy(&id, UseIndex::Yes).unwrap().unwrap();
    lazy.save_index().unwrap();
    assert_eq!(lazy.skeleton().len(), 4);
    // Cut in place: the open file is shorter now.
    let file = fs::OpenOptions::new().write(true).open(store.home().journal(&id)).unwrap();
    file.set_len(short.len() as u64).unwrap();
    let messages = lazy.last_messages(None, 10).unwrap();
    assert_eq!(messages.iter().map(|message| message.entry.id.as_str()).collect::<Vec<_>>(), ["u-1", "a-1"]);
    assert_eq!(store.lazy(&id, UseIndex::Yes).unwrap().unwrap().skeleton().len(), 2);
    // Another file under the same name.
    fs::remove_file(store.home().journal(&id)).unwrap();
    fs::write(store.home().journal(&id), &long).unwrap();
    lazy.refresh().unwrap();
    assert_eq!(lazy.skeleton().len(), 4);
}

#[test]
fn a_torn_end_is_left_out_and_named() {
    let folder = tempdir().unwrap();
    let store = store_in(folder.path());
    let id = SessionId::from("s");
    store.create(&[header("s")]).unwrap();
    append_raw(&store, &id, &crate::support::step("1", None, None), &mut Dice::seeded(1));
    let whole = fs::read(store.home().journal(&id)).unwrap();
    for length in 1..whole.len() {
        fs::write(store.home().journal(&id), &whole[..length]).unwrap();
        let loaded = store.read(&id).unwrap();
        let lazy = match store.lazy(&id, UseIndex::Yes) {
            Ok(lazy) => lazy,
            Err(OpenError::Unusual { .. }) => continue,
            Err(error) => panic!("{length} bytes: {error}"),
        };
        assert_eq!(lazy.is_some(), loaded.is_some(), "{length} bytes");
        if let (Some(mut lazy), Some(loaded)) = (lazy, loaded) {
            assert_same(&loaded.tree, &mut lazy, &ContextOptions::default(), length);
        }
    }
}

#[test]
fn a_damaged_body_is_named_when_it_is_read() {
    let folder = tempdir().unwrap();
    let store = store_in(folder.path());
    let id = SessionId::from("s");
    store.create(&[header("s")]).unwrap();
    for name in ["1", "2"] {
        append_raw(&store, &id, &crate::support::step(name, None, None), &mut Dice::seeded(1));
    }
    let path = store.home().journal(&id);
    let bytes = String::from_utf8(fs::read(&path).unwrap()).unwrap().replace("what is u-1", "what is u-2");
    fs::write(&path, bytes).unwrap();
    let mut lazy = store.lazy(&id, UseIndex::No).unwrap().unwrap();
    assert_eq!(lazy.last_messages(None, 2).unwrap().len(), 2);
    let damaged = lazy.last_messages(Some(&"u-1".into()), 1);
    assert!(matches!(damaged, Err(LazyError::Damaged { .. })), "{damaged:?}");
}

/// Nobody reads what is damaged before somebody asks for it, and all that is not is read.
#[test]
fn a_context_names_damage_when_its_message_is_read() {
    for index in [UseIndex::No, UseIndex::Yes] {
        let folder = tempdir().unwrap();
        let store = store_in(folder.path());
        let id = SessionId::from("s");
        three_steps(&store, &id);
        if index == UseIndex::Yes {
            store.lazy(&id, UseIndex::No).unwrap().unwrap().save_index().unwrap();
        }
        let path = store.home().journal(&id);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        // In place, and so that the index still is of this file.
        let bytes = String::from_utf8(fs::read(&path).unwrap()).unwrap();
        fs::write(&path, bytes.replace("what is u-2", "what is u-9")).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        let mut lazy = store.lazy(&id, index).unwrap().unwrap();
        let context = lazy.context_at(None, &ContextOptions::pi()).unwrap();
        let seen: Vec<(String, Role, bool)> = context
            .messages()
            .map(|message| {
                let read = match message.read() {
                    Ok(read) => read.entry.id == message.id().unwrap(),
                    Err(LazyError::Damaged { .. }) => false,
                    Err(error) => panic!("{error}"),
                };
                (message.id().unwrap().to_string(), message.role(), read)
            })
            .collect();
        let seen: Vec<(&str, Role, bool)> =
            seen.iter().map(|(id, role, read)| (id.as_str(), *role, *read)).collect();
        use Role::{Assistant, User};
        assert_eq!(
            seen,
            [
                ("u-1", User, true),
                ("a-1", Assistant, true),
                ("u-2", User, false),
                ("a-2", Assistant, true),
                ("u-3", User, true),
                ("a-3", Assistant, true)
            ]
        );
        assert!(matches!(context.read(), Err(LazyError::Damaged { .. })));
        let end = lazy.context_at(None, &ContextOptions::pi()).unwrap().read_last(3).unwrap();
        assert_eq!(end.messages.len(), 3);
    }
}

#[test]
fn a_context_of_a_file_that_is_replaced_says_what_it_said() {
    let folder = tempdir().unwrap();
    let store = store_in(folder.path());
    let id = SessionId::from("s");
    three_steps(&store, &id);
    let tree = store.read(&id).unwrap().unwrap().tree;
    let path = store.home().journal(&id);
    let mut lazy = store.lazy(&id, UseIndex::No).unwrap().unwrap();
    let context = lazy.context_at(None, &ContextOptions::pi()).unwrap();
    let other = path.with_extension("other");
    fs::write(&other, "another file").unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(context.read().unwrap(), context_of(&tree, tree.main_head(), &ContextOptions::pi()));
}

#[test]
fn a_context_of_a_file_that_is_cut_says_that_it_was_changed() {
    let folder = tempdir().unwrap();
    let store = store_in(folder.path());
    let id = SessionId::from("s");
    three_steps(&store, &id);
    let whole = fs::read(store.home().journal(&id)).unwrap();
    let mut lazy = store.lazy(&id, UseIndex::No).unwrap().unwrap();
    let context = lazy.context_at(None, &ContextOptions::pi()).unwrap();
    let file = fs::OpenOptions::new().write(true).open(store.home().journal(&id)).unwrap();
    let first_step = whole.split(|byte| *byte == b'\n').take(4).map(|line| line.len() + 1).sum::<usize>();
    file.set_len(first_step as u64).unwrap();
    let first = context.messages().next().unwrap().read().unwrap();
    assert_eq!(first.entry.id.as_str(), "u-1");
    let last = context.messages().rev().nth(1).unwrap().read();
    assert!(matches!(last, Err(LazyError::Changed { .. })), "{last:?}");
    // Whoever asks again is told what the file says now.
    let tree = store.read(&id).unwrap().unwrap().tree;
    let context = lazy.context_at(Some(&"a-1".into()), &ContextOptions::default()).unwrap().read().unwrap();
    assert_eq!(context, context_of(&tree, Some(&"a-1".into()), &ContextOptions::default()));
}

/// Enough for several threads. Whoever reads which part, all come in their order, and of the lines that are damaged the
/// first in the file is told.
#[test]
fn many_messages_are_read_as_by_one_thread() {
    let folder = tempdir().unwrap();
    let store = store_in(folder.path());
    let id = SessionId::from("s");
    let words =
        |number: usize| format!("message {number}: {}", "né \"and\"\tso on\n".repeat(number % 7 * 80));
    let entry = |number: usize| {
        let parent = number.checked_sub(1).map(|above| EntryId::from(format!("e-{above}")));
        let (id, written_at) = (EntryId::from(format!("e-{number}")), FixedStamps::start());
        Record::entry(Entry { id, parent, written_at, turn: None, body: Body::prompt(words(number)) })
    };
    let records: Vec<Record> = [header("s")].into_iter().chain((0..600).map(entry)).collect();
    store.create(&records).unwrap();
    // The last batch is checked when the file is opened; what is damaged lies before it.
    store.append(&id, &mut |_| Some(vec![entry(600)])).unwrap();
    let path = store.home().journal(&id);
    let sound = fs::read(&path).unwrap();
    assert!(sound.len() > 2 << 20, "one thread would do for {}", sound.len());
    let tree = store.read(&id).unwrap().unwrap().tree;
    let leaf = EntryId::from("e-600");
    for round in 0..rounds(10, 200) {
        let mut lazy = store.lazy(&id, UseIndex::No).unwrap().unwrap();
        let context = lazy.read_context_at(Some(&leaf), &ContextOptions::pi()).unwrap();
        assert_eq!(context, context_of(&tree, Some(&leaf), &ContextOptions::pi()), "round {round}");
    }
    let ends = sound.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    let starts: Vec<usize> = [0].into_iter().chain(ends).collect();
    // The header has a line of its own.
    let place_of = |number: usize| {
        let (line, named) = (starts[number + 1], b"message ");
        line + sound[line..].windows(named.len()).position(|window| window == named).unwrap()
    };
    let mut dice = Dice::seeded(5);
    for round in 0..rounds(10, 200) {
        let (one, two) = (dice.roll(600), dice.roll(600));
        let mut damaged = sound.clone();
        for number in [one, two] {
            damaged[place_of(number)] = b'M';
        }
        fs::write(&path, &damaged).unwrap();
        let mut lazy = store.lazy(&id, UseIndex::No).unwrap().unwrap();
        let told = lazy.read_context_at(Some(&leaf), &ContextOptions::pi());
        let Err(LazyError::Damaged { offset, .. }) = told else { panic!("round {round}: {told:?}") };
        assert_eq!(offset, starts[one.min(two) + 1] as u64, "round {round}");
    }
}

/// A prompt and its reply, three times in one line.
fn three_steps(store: &JournalStore, id: &SessionId) {
    store.create(&[header("s")]).unwrap();
    let mut journal = store.journal(id).unwrap().unwrap();
    for name in ["1", "2", "3"] {
        let step =
            |tree: &SessionTree| Ok::<_, ()>(crate::support::step(name, tree.main_head(), tree.main_head()));
        journal.write(step).unwrap();
    }
}

#[test]
fn an_unfinished_turn_is_seen_without_reading_it() {
    for round in 0..rounds(50, 2_000) {
        let mut dice = Dice::seeded(round as u64 ^ 0xf0);
        let folder = tempdir().unwrap();
        let store = store_in(folder.path());
        let id = SessionId::from("s");
        store.create(&[header("s")]).unwrap();
        append_raw(&store, &id, &random_records(&mut dice), &mut dice);
        let tree = store.read(&id).unwrap().unwrap().tree;
        let Ok(Some(lazy)) = store.lazy(&id, UseIndex::No) else { continue };
        let is_unfinished = unfinished_turns(&tree, &[]).iter().any(|turn| !turn.is_sub_agent);
        assert_eq!(has_unfinished_turn(lazy.skeleton()), is_unfinished, "round {round}");
    }
}

fn assert_index_is_harmless(
    store: &JournalStore,
    id: &SessionId,
    tree: &SessionTree,
    index: &[u8],
    round: usize,
) {
    fs::write(store.home().journal_index(id), index).unwrap();
    let mut lazy = store.lazy(id, UseIndex::Yes).unwrap().unwrap();
    assert_same(tree, &mut lazy, &ContextOptions::default(), round);
}

pub(crate) fn assert_same(
    tree: &SessionTree,
    lazy: &mut LazySession,
    options: &ContextOptions,
    round: usize,
) {
    let skeleton = lazy.skeleton().clone();
    let ids = |nodes: Vec<u32>| -> Vec<EntryId> { nodes.iter().map(|node| id(&skeleton, *node)).collect() };
    let whole = |entries: Vec<&std::sync::Arc<Entry>>| -> Vec<EntryId> {
        entries.into_iter().map(|entry| entry.id.clone()).collect()
    };
    assert_eq!(skeleton.header(), tree.header(), "round {round}");
    assert_eq!(ids((0..skeleton.len() as u32).collect()), whole(tree.entries().collect()), "round {round}");
    assert_eq!(ids(skeleton.walk()), whole(tree.walk()), "round {round}");
    assert_eq!(ids(skeleton.leaves()), whole(tree.leaves()), "round {round}");
    assert_eq!(ids(skeleton.children(None)), whole(tree.roots()), "round {round}");
    assert_eq!(
        skeleton.remembered_child(None).map(|node| id(&skeleton, node)),
        tree.remembered_child(None).map(|entry| entry.id.clone()),
        "round {round}"
    );
    let heads: Vec<(HeadName, Option<EntryId>)> =
        skeleton.heads().into_iter().map(|(name, at)| (name, at.map(|node| id(&skeleton, node)))).collect();
    let whole_heads: Vec<(HeadName, Option<EntryId>)> =
        tree.heads().into_iter().map(|(name, at)| (name, at.cloned())).collect();
    assert_eq!(heads, whole_heads, "round {round}");
    assert_eq!(skeleton.labels().collect::<Vec<_>>(), tree.labels(), "round {round}");
    assert_eq!(skeleton.branch_names().collect::<Vec<_>>(), tree.branch_names(), "round {round}");
    assert_eq!(skeleton.title(), tree.title(), "round {round}");
    let mut rows: Vec<u32> = lazy.rows().iter().map(|row| row.node).collect();
    rows.sort_unstable();
    assert_eq!(rows, (0..skeleton.len() as u32).collect::<Vec<_>>(), "round {round}");
    for entry in tree.entries() {
        let node = skeleton.node(&entry.id).unwrap();
        assert_eq!(
            lazy.path_ids(Some(&entry.id)).unwrap(),
            whole(tree.path_to(Some(&entry.id))),
            "round {round}"
        );
        assert_eq!(
            ids(skeleton.children(Some(node))),
            whole(tree.children(Some(&entry.id))),
            "round {round}"
        );
        assert_eq!(skeleton.depth(node).map(|depth| depth as usize), tree.depth(&entry.id), "round {round}");
        assert_eq!(
            skeleton.remembered_child(Some(node)).map(|node| id(&skeleton, node)),
            tree.remembered_child(Some(&entry.id)).map(|entry| entry.id.clone()),
            "round {round}: below {}",
            entry.id
        );
        let context = lazy.context_at(Some(&entry.id), options).unwrap();
        let at_a_glance: Vec<(Option<EntryId>, Role)> =
            context.messages().map(|message| (message.id(), message.role())).collect();
        let one_by_one: Vec<Message> = context.messages().map(|message| message.read().unwrap()).collect();
        let context = context.read().unwrap();
        assert_eq!(lazy.read_context_at(Some(&entry.id), options).unwrap(), context, "round {round}");
        let seen = context.messages.iter().map(|message| (Some(message.entry.id.clone()), message.role()));
        assert_eq!(at_a_glance, seen.collect::<Vec<_>>(), "round {round}: at {}", entry.id);
        assert_eq!(one_by_one, context.messages, "round {round}: at {}", entry.id);
        assert_eq!(context, context_of(tree, Some(&entry.id), options), "round {round}: at {}", entry.id);
        let messages = lazy.last_messages(Some(&entry.id), 3).unwrap();
        let path = tree.path_to(Some(&entry.id));
        let spoken: Vec<Message> = path.into_iter().filter_map(Message::from_entry).collect();
        assert_eq!(messages, spoken[spoken.len().saturating_sub(3)..], "round {round}");
        assert_eq!(lazy.entry(node).unwrap(), *entry, "round {round}");
    }
}

fn id(skeleton: &Skeleton, node: u32) -> EntryId {
    skeleton.id(node).unwrap()
}

/// Lines as they are, sound or odd: what the store itself would refuse too.
pub(crate) fn append_raw(store: &JournalStore, id: &SessionId, records: &[Record], dice: &mut Dice) {
    let mut bytes = fs::read(store.home().journal(id)).unwrap();
    let mut rest = records;
    while !rest.is_empty() {
        let (batch, behind) = rest.split_at(1 + dice.roll(rest.len().min(4)));
        bytes.extend(encode_batch(batch).unwrap().bytes);
        rest = behind;
    }
    fs::write(store.home().journal(id), bytes).unwrap();
}

pub(crate) fn random_records(dice: &mut Dice) -> Vec<Record> {
    let count = 2 + dice.roll(30);
    let salt = dice.roll(3);
    let mut records = Vec::new();
    let name = |number: usize| EntryId::from(format!("e{salt}-{number}"));
    let mut seconds = 0;
    for number in 0..count {
        seconds += dice.roll(3) as i64;
        let at = FixedStamps::start() + SignedDuration::from_secs(seconds - dice.roll(2) as i64);
        let known = name(dice.roll(number.max(1)));
        let record = match dice.roll(22) {
            0 => Record::marked(at, Fact::Label { target: known, label: Some(format!("l{number}")) }),
            1 => Record::marked(at, Fact::Label { target: known, label: None }),
            2..=4 => {
                let head = if dice.roll(4) == 0 { HeadName::from("other") } else { HeadName::main() };
                let to = if dice.roll(9) == 0 { None } else { Some(known) };
                Record::head_moved(HeadMove { head, moved_at: at, from: None, to })
            }
            5 => Record::marked(
                at,
                Fact::Title { title: Some(format!("t{number}")), source: TitleSource::User },
            ),
            6 => Record::marked(at, Fact::Operation { name: "step".into() }),
            7 => Record::marked(at, Fact::Undone { operation: format!("op{}", dice.roll(4)).into() }),
            8 => Record::marked(at, Fact::Redone { operation: format!("op{}", dice.roll(4)).into() }),
            9 => Record::marked(at, Fact::BranchName { at: known, name: Some("side".into()) }),
            10 => Record::marked(at, Fact::TurnEnded { turn: format!("turn{}", dice.roll(3)).into() }),
            11 => Record::marked(
                at,
                Fact::Bound {
                    at: known,
                    agent_session: (dice.roll(4) > 0).then(|| format!("own{number}").into()),
                    provenance: Provenance::Continued,
                    last_message: Some(format!("m{number}")),
                    agent: (dice.roll(4) > 0).then(|| "some".to_owned()),
                    missing: Missing::default(),
                    inherited: dice.roll(4) == 0,
                    model: None,
                },
            ),
            _ => {
                let parent = match dice.roll(12) {
                    0 => None,
                    1 if dice.roll(6) == 0 => Some(EntryId::from("nowhere")),
                    2..=5 => Some(known.clone()),
                    _ => number.checked_sub(1).map(name),
                };
                let own = if dice.roll(25) == 0 { known.clone() } else { name(number) };
                let turn = (dice.roll(2) == 0).then(|| format!("turn{}", dice.roll(3)).into());
                Record::entry(Entry { id: own, parent, written_at: at, turn, body: random_body(dice, known) })
            }
        };
        let in_operation = dice.roll(4) == 0;
        let operation = format!("op{}", dice.roll(4)).into();
        records.push(if in_operation { record.in_operation(operation) } else { record });
    }
    records
}

fn random_body(dice: &mut Dice, known: EntryId) -> Body {
    let model = Model { provider: "test".into(), name: format!("m{}", dice.roll(4)) };
    let call = format!("call{}", dice.roll(3));
    match dice.roll(20) {
        16 => Body::ContextEdit(ContextEdit { target: known, replacement: None }),
        17 => {
            let replacement = Some(vec![Block::Text("edited".into())]);
            Body::ContextEdit(ContextEdit { target: known, replacement })
        }
        18 => Body::System(System { text: "be kind".into() }),
        0 => Body::Compaction(Compaction {
            summary: "short".into(),
            first_kept: (dice.roll(3) > 0).then_some(known),
            tokens_before: 1,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: (dice.roll(3) == 0).then(|| "be brief".into()),
        }),
        1 => Body::Cleared,
        2 => Body::Setting(Setting::Model { role: None, model }),
        3 => Body::Setting(Setting::Model { role: Some("small".into()), model }),
        4 => Body::Setting(Setting::Thinking(Some("high".into()))),
        5 => Body::Setting(Setting::Tools(vec!["read".into()])),
        6 => Body::Interrupted(Interruption::Wanted),
        7 => Body::ToolResult(ToolResult {
            call: call.into(),
            tool: "read".into(),
            blocks: vec![Block::Text("lines\nof \"text\"".into())],
            failed: false,
            usage: None,
            changed_input: None,
        }),
        8..=11 => {
            let mut reply = Reply { blocks: vec![Block::Text("so".into())], ..Reply::default() };
            reply.model = (dice.roll(3) == 0).then_some(model);
            if dice.roll(3) == 0 {
                let input = serde_json::json!({"path": "a"});
                reply.blocks.push(Block::ToolUse(ToolUse { id: call.into(), name: "read".into(), input }));
            }
            Body::Reply(reply)
        }
        _ => Body::prompt("what?"),
    }
}

pub(crate) fn whole_pi(path: &Path) -> SessionTree {
    let bytes = fs::read(path).unwrap();
    let transcript = offshoot_transcripts::pi::read(Some("session.jsonl"), &bytes);
    SessionTree::replay(transcript.records).0
}

/// Lines of pi, with labels in the chain, names, moves and things that do not belong there.
pub(crate) fn random_pi(dice: &mut Dice, from: usize, has_header: bool) -> String {
    let mut text = String::new();
    if has_header {
        text.push_str("{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/p\"}\n");
    }
    let mut ids: Vec<String> = (0..from).map(|number| format!("{number:08x}")).collect();
    for number in from..from + 2 + dice.roll(25) {
        let id = format!("{number:08x}");
        let parent = match dice.roll(10) {
            0 => "null".to_owned(),
            1..=3 if !ids.is_empty() => format!("\"{}\"", ids[dice.roll(ids.len())]),
            4 if dice.roll(8) == 0 => "\"nowhere\"".to_owned(),
            _ => ids.last().map_or("null".to_owned(), |last| format!("\"{last}\"")),
        };
        let target = ids.get(dice.roll(ids.len().max(1))).cloned().unwrap_or_default();
        let time = format!("2025-01-01T00:{:02}:{:02}.{:03}Z", number / 60 % 60, number % 60, dice.roll(999));
        let (kind, rest) = match dice.roll(20) {
            18 => ("context_edit", format!("\"targetId\":\"{target}\",\"replacement\":null")),
            19 => (
                "context_edit",
                format!("\"targetId\":\"{target}\",\"replacement\":{{\"content\":\"edited\"}}"),
            ),
            0 | 1 => ("label", format!("\"targetId\":\"{target}\",\"label\":\"l{number}\"")),
            2 => ("session_info", "\"name\":\"a name\"".to_owned()),
            3 => ("compaction", format!("\"summary\":\"short\",\"firstKeptEntryId\":\"{target}\",\"tokensBefore\":5")),
            4 => ("model_change", "\"provider\":\"p\",\"modelId\":\"m\"".to_owned()),
            5 => ("thinking_level_change", "\"thinkingLevel\":\"high\"".to_owned()),
            6 => ("branch_summary", format!("\"fromId\":\"{target}\",\"summary\":\"went\"")),
            7 => ("custom", "\"customType\":\"x\",\"data\":{\"a\":1}".to_owned()),
            8 if dice.roll(3) == 0 => ("leaf", format!("\"targetId\":\"{target}\"")),
            9 if dice.roll(3) == 0 => ("from_tomorrow", "\"text\":\"hm\"".to_owned()),
            10..=12 => (
                "message",
                "\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"so \\\"it\\\" is\"}],\"provider\":\"p\",\"model\":\"m\",\"stopReason\":\"stop\"}".to_owned(),
            ),
            13 if dice.roll(2) == 0 => ("ttsr_injection", format!("\"injectedRules\":[\"r{number}\",\"r1\"]")),
            13 => (
                "message",
                "\"message\":{\"content\":[],\"role\":\"toolResult\",\"toolCallId\":\"c\",\"toolName\":\"t\"}".to_owned(),
            ),
            _ => ("message", "\"message\":{\"role\":\"user\",\"content\":\"what?\"}".to_owned()),
        };
        let line = if dice.roll(20) == 0 {
            format!(
                "{{\"id\":\"{id}\",\"parentId\":{parent},\"type\":\"{kind}\",\"timestamp\":\"{time}\",{rest}}}"
            )
        } else {
            format!(
                "{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"{time}\",{rest}}}"
            )
        };
        text.push_str(&line);
        text.push('\n');
        if dice.roll(30) == 0 {
            text.push_str("\nthis is no line\n");
        }
        ids.push(id);
    }
    text
}
