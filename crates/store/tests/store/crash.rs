//! The power fails at any moment. What was acknowledged is there, and nothing is there by halves.

use std::collections::BTreeMap;

use crate::support::{Dice, SimDisk, assert_clean, header, moved, prompt, reply, rounds, step, store_on};
use offshoot_session::context::Message;
use offshoot_session::format::{Flaw, encode_batch};
use offshoot_session::{Block, Body, Change, EntryId, Fact, Record, SessionId, SessionTree};
use offshoot_store::lazy::{OpenError, UseIndex};
use offshoot_store::{Finding, Journal, JournalStore, SessionStore};
use offshoot_testkit::FixedStamps;

/// What was asked for, in order; each is acknowledged before the next begins.
struct Asked {
    session: SessionId,
    records: Vec<Record>,
}

#[test]
fn ten_thousand_power_cuts() {
    let wanted = rounds(3_000, 10_000);
    let (mut done, mut seed) = (0, 0);
    while done < wanted {
        seed += 1;
        let mut dice = Dice::seeded(seed);
        let disk = SimDisk::new();
        disk.record_moments(dice.clone());
        let asked = work(&disk, &mut dice);
        for moment in disk.take_moments() {
            let after = moment.crash(&mut dice);
            let lazily = done % rounds(5, 1) == 0;
            check(&after, &asked, moment.told, lazily, &format!("seed {seed}, cut {done}"));
            done += 1;
        }
    }
}

/// A mixed day's work of two handles per session.
fn work(disk: &SimDisk, dice: &mut Dice) -> Vec<Asked> {
    let store = store_on(disk.clone());
    let mut asked: Vec<Asked> = Vec::new();
    let mut journals: Vec<Vec<Journal>> = Vec::new();
    for number in 0..8 {
        if journals.is_empty() || dice.chance(15) {
            let id = format!("s{}", journals.len());
            let records = vec![header(&id), prompt("first", None)];
            asked.push(Asked { session: id.as_str().into(), records: records.clone() });
            let one = store.begin(&records).unwrap().0;
            journals.push(vec![one, store.journal(&id.into()).unwrap().unwrap()]);
        } else {
            let session = dice.roll(journals.len());
            let hand = dice.roll(2);
            let journal = &mut journals[session][hand];
            if dice.chance(20) {
                journal.refresh().unwrap();
            }
            if dice.chance(20) {
                tear(disk, journal, dice);
            }
            let written = journal.write(|tree| {
                let records = plan(tree, number, dice);
                asked.push(Asked { session: tree.header().unwrap().id.clone(), records: records.clone() });
                Ok::<_, ()>(records)
            });
            written.unwrap();
            if dice.chance(30) {
                // An index that the power may cut short, and that later steps make old.
                if let Ok(Some(lazy)) = store.lazy(journals[session][hand].id(), UseIndex::Yes) {
                    lazy.save_index().unwrap();
                }
            }
        }
        disk.tell(asked.len());
    }
    asked
}

/// Somebody crashed here before and left a part of a batch, or the last newline is lost.
fn tear(disk: &SimDisk, journal: &Journal, dice: &mut Dice) {
    let mut bytes = disk.read(&journal.path());
    if dice.chance(40) {
        bytes.pop();
        return disk.overwrite(&journal.path(), bytes);
    }
    let torn = encode_batch(&step("torn", None, None)).unwrap().bytes;
    bytes.extend_from_slice(&torn[..dice.roll(torn.len() - 1)]);
    disk.overwrite(&journal.path(), bytes);
}

fn plan(tree: &SessionTree, number: usize, dice: &mut Dice) -> Vec<Record> {
    let entries: Vec<EntryId> = tree.entries().map(|entry| entry.id.clone()).collect();
    let some = entries[dice.roll(entries.len())].clone();
    let head = tree.main_head();
    let name = number.to_string();
    match dice.roll(6) {
        0 => step(&name, head, head),
        1 => step(&name, Some(&some), head),
        2 => vec![moved(head, Some(&some))],
        3 => {
            let fact = Fact::Label { target: some, label: Some(name) };
            vec![Record::marked(FixedStamps::start(), fact)]
        }
        4 => {
            let mut long = reply(&format!("long-{name}"), Some(&some));
            if let Change::Entry(entry) = &long.change {
                let mut entry = offshoot_session::Entry::clone(entry);
                entry.body = Body::reply(name.repeat(70_000));
                long = Record::entry(entry);
            }
            assert!(matches!(long.as_entry().unwrap().body.blocks(), [Block::Text(_)]));
            vec![long, moved(head, Some(&format!("long-{name}").into()))]
        }
        _ => {
            let answer = EntryId::from(format!("a-{name}"));
            [step(&name, head, head), step(&format!("{name}b"), Some(&answer), Some(&answer))].concat()
        }
    }
}

/// With whatever index there is, the shape and the end are what the whole reading says.
fn check_lazily(store: &JournalStore, id: &SessionId, when: &str) {
    let mut lazy = match store.lazy(id, UseIndex::Yes) {
        Ok(Some(lazy)) => lazy,
        Ok(None) | Err(OpenError::Unusual { .. }) => return,
        Err(error) => panic!("{when}: {error}"),
    };
    let tree = store.read(id).unwrap().unwrap().tree;
    let ids = (0..lazy.skeleton().len() as u32).filter_map(|node| lazy.skeleton().id(node));
    assert!(ids.eq(tree.entries().map(|entry| entry.id.clone())), "{when}: {id}");
    let said = lazy.last_messages(None, 3).unwrap();
    let path = tree.path_to(tree.main_head());
    let whole: Vec<Message> = path.into_iter().filter_map(Message::from_entry).collect();
    assert_eq!(said, whole[whole.len().saturating_sub(3)..], "{when}: {id}");
}

/// Each session is what was acknowledged, and perhaps all of what was under way.
fn check(disk: &SimDisk, asked: &[Asked], acknowledged: usize, lazily: bool, when: &str) {
    let store = store_on(disk.clone());
    let mut sessions: BTreeMap<&SessionId, (Vec<Record>, Vec<Record>)> = BTreeMap::new();
    for (number, asked) in asked.iter().enumerate().take(acknowledged + 1) {
        let (safe, with_it) = sessions.entry(&asked.session).or_default();
        with_it.extend(asked.records.iter().cloned());
        if number < acknowledged {
            safe.extend(asked.records.iter().cloned());
        }
    }
    for (id, (safe, with_it)) in &sessions {
        let (found, findings) = match store.read(id).unwrap() {
            Some(loaded) => (loaded.tree.log().cloned().collect(), loaded.findings),
            None => (Vec::new(), Vec::new()),
        };
        assert!(found == *safe || found == *with_it, "{when}: {id} is {found:#?}");
        for finding in findings {
            let is_harmless = match &finding {
                Finding::TornTail(_) => true,
                Finding::Flaw(found) => found.flaw == Flaw::LostNewline,
                Finding::Odd(_) | Finding::Theirs(_) | Finding::Source(_) => false,
            };
            assert!(is_harmless, "{when}: {finding}");
        }
        if lazily {
            check_lazily(&store, id, when);
        }
        let next = prompt("after", None);
        if found.is_empty() {
            store.create(&[header(id.as_str())]).unwrap();
        } else {
            store.append(id, &mut |_| Some(vec![next.clone()])).unwrap();
        }
    }
    assert_clean(&store, when);
}
