//! Words that are streamed survive the end of the process, up to the last batch.

use std::path::Path;

use offshoot_session::live::{Delta, LiveReplies};
use offshoot_session::{Block, Body, Entry, EntryId, Record, Reply, Stamps, TurnId};
use offshoot_store::{Drafts, SessionStore};
use offshoot_testkit::FixedStamps;

use crate::support::{Dice, SimDisk, assert_clean, header, prompt, rounds, store_on};

/// A turn that is streamed into memory and beside the journal.
pub(crate) struct Streamed {
    pub(crate) live: LiveReplies,
    pub(crate) turn: TurnId,
    pub(crate) entry: Entry,
    stamps: FixedStamps,
}

impl Streamed {
    pub(crate) fn begin(drafts: &mut Drafts, number: usize) -> Self {
        let mut stamps = FixedStamps::after(number as i64);
        let turn = TurnId::from(format!("turn{number}"));
        let mut live = LiveReplies::default();
        live.begin(turn.clone(), "first".into());
        let body = Body::Reply(Reply::default());
        let entry = Entry {
            id: EntryId::from(format!("reply{number}")),
            parent: Some("first".into()),
            written_at: stamps.now(),
            turn: Some(turn.clone()),
            body,
        };
        drafts.note(&entry).unwrap();
        Self { live, turn, entry, stamps }
    }

    pub(crate) fn add(&mut self, drafts: &mut Drafts, delta: Delta<'_>) {
        drafts.extend(&self.entry.id, &delta).unwrap();
        self.live.extend(&self.turn, delta, &mut self.stamps).unwrap();
    }

    pub(crate) fn blocks(&self) -> Vec<Block> {
        self.live.responses(&self.turn).first().map(|entry| entry.body.blocks().to_vec()).unwrap_or_default()
    }
}

fn words_in(blocks: &[Block]) -> String {
    let words = blocks.iter().map(|block| match block {
        Block::Text(text) => format!("\u{1}{text}"),
        Block::Thinking(text) => format!("\u{2}{text}"),
        other => panic!("{other:?}"),
    });
    words.collect()
}

fn random_delta(dice: &mut Dice) -> String {
    let words = ["word ", "and\n", "\"so\" ", "né ", "→", "\u{1b}[0m"];
    words[dice.roll(words.len())].repeat(1 + dice.roll(40))
}

#[test]
fn what_was_streamed_is_left_after_any_cut() {
    let mut cuts = 0;
    for seed in 0..rounds(6, 200) as u64 {
        let mut dice = Dice::seeded(seed + 1);
        let disk = SimDisk::new();
        let store = store_on(disk.clone());
        store.create(&[header("s"), prompt("first", None)]).unwrap();
        let tree = store.read(&"s".into()).unwrap().unwrap().tree;
        let mut drafts = store.drafts(&"s".into());
        let mut streamed = Streamed::begin(&mut drafts, 0);
        // How long the file was when so much was safe.
        let mut safe: Vec<(usize, String)> = Vec::new();
        let path = store.home().drafts(&"s".into());
        for _ in 0..60 {
            let text = random_delta(&mut dice);
            let delta = if dice.chance(20) { Delta::Thinking(&text) } else { Delta::Words(&text) };
            streamed.add(&mut drafts, delta);
            if dice.chance(30) {
                drafts.flush().unwrap();
                safe.push((disk.read(&path).len(), words_in(&streamed.blocks())));
            }
        }
        drafts.flush().unwrap();
        let all = words_in(&streamed.blocks());
        let left = store.drafts(&"s".into()).left(&tree).unwrap();
        assert_eq!(
            left,
            streamed
                .live
                .responses(&streamed.turn)
                .into_iter()
                .map(|entry| Entry {
                    id: streamed.entry.id.clone(),
                    written_at: streamed.entry.written_at,
                    ..entry
                })
                .collect::<Vec<_>>()
        );
        let whole = disk.read(&path);
        for _ in 0..40 {
            let length = dice.roll(whole.len() + 1);
            let mut cut = whole[..length].to_vec();
            if dice.chance(30) && length > 0 {
                let at = dice.roll(length);
                cut[at] ^= 1 << dice.roll(8);
            } else {
                let at_least = safe.iter().rev().find(|(at, _)| *at <= length);
                disk.overwrite(&path, cut.clone());
                let left = store.drafts(&"s".into()).left(&tree).unwrap();
                let said = left.first().map(|entry| words_in(entry.body.blocks())).unwrap_or_default();
                if let Some((_, words)) = at_least {
                    assert!(said.starts_with(words.as_str()), "seed {seed}: {length} bytes lost a batch");
                }
            }
            disk.overwrite(&path, cut);
            let left = store.drafts(&"s".into()).left(&tree).unwrap();
            let said = left.first().map(|entry| words_in(entry.body.blocks())).unwrap_or_default();
            assert!(all.starts_with(&said), "seed {seed}: {said:?} was never said");
            // Whoever goes on is heard, torn or not.
            let mut drafts = store.drafts(&"s".into());
            let next = Streamed::begin(&mut drafts, 1);
            let left = store.drafts(&"s".into()).left(&tree).unwrap();
            assert!(left.iter().all(|entry| entry.id != next.entry.id), "nothing was said yet");
            drafts.clear().unwrap();
            assert_eq!(store.drafts(&"s".into()).left(&tree).unwrap(), []);
            recreate(&path, &disk, &whole);
            cuts += 1;
        }
    }
    assert!(cuts >= 200);
}

/// The file is there again, for the next cut.
fn recreate(path: &Path, disk: &SimDisk, bytes: &[u8]) {
    use offshoot_store::files::{Files, Open};
    let mut file = disk.open(path, Open::CreateNew).unwrap();
    file.append(bytes).unwrap();
}

#[test]
fn what_is_in_the_journal_is_no_draft_any_more() {
    let store = store_on(SimDisk::new());
    store.create(&[header("s"), prompt("first", None)]).unwrap();
    let mut drafts = store.drafts(&"s".into());
    let mut one = Streamed::begin(&mut drafts, 1);
    one.add(&mut drafts, Delta::Words("done"));
    let mut two = Streamed::begin(&mut drafts, 2);
    two.add(&mut drafts, Delta::Words("half of "));
    drafts.flush().unwrap();
    // The first became final; then the process ended before the drafts were cleared.
    let done = Entry { body: Body::reply("done"), ..one.entry.clone() };
    store.append(&"s".into(), &mut |_| Some(vec![Record::entry(done.clone())])).unwrap();
    let tree = store.read(&"s".into()).unwrap().unwrap().tree;
    let left = store.drafts(&"s".into()).left(&tree).unwrap();
    assert_eq!(left, [Entry { body: Body::reply("half of "), ..two.entry.clone() }]);
    let records: Vec<Record> = left.into_iter().map(Record::entry).collect();
    store.append(&"s".into(), &mut |_| Some(records.clone())).unwrap();
    store.drafts(&"s".into()).clear().unwrap();
    let tree = store.read(&"s".into()).unwrap().unwrap().tree;
    assert_eq!(tree.entry(&two.entry.id).unwrap().body, Body::reply("half of "));
    assert_clean(&store, "after");
}
