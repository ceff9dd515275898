//! Turns that a crash has cut off.
//!
//! A turn that has begun and not ended is given the end of one that was interrupted: what had arrived of its reply, and
//! an entry that says so. A prompt that nobody has begun to answer is none of these: it can still be answered. Neither is
//! what nobody has answered here: a turn that another program has not ended may be going on there, and one that was
//! copied or imported has its end elsewhere.
//!
//! An agent with a transcript of its own may have written more than it reported: what it has of the turn is appended
//! ([`CaughtUp`]), and a turn whose answer is complete there is no longer cut off.
//!
//! The records of such an end follow from the turn alone: the entry is named after the turn (its id and `-end`), and its
//! time is that of the last thing the turn wrote. So a reader, who writes nothing, shows exactly what the next writer
//! will append.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use super::CaughtUp;
use crate::skeleton::Skeleton;
use crate::{Block, Body, Entry, EntryId, Fact, Interruption, Note, Record, SessionTree, TurnId};

/// A turn without an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub turn: TurnId,
    /// The last entry it wrote.
    pub tip: EntryId,
    /// When it wrote last.
    pub last_at: Timestamp,
    /// It is the turn of a sub-agent.
    pub is_sub_agent: bool,
}

/// What the transcripts of agents have of unfinished turns, by turn.
pub type CaughtUpTurns = BTreeMap<TurnId, CaughtUp>;

/// Turns that an agent has begun to answer here and that have not ended, by whoever opens the session to write and by
/// whoever looks. `left` is what drafts have kept.
pub fn unfinished_turns(tree: &SessionTree, left: &[Entry]) -> Vec<Unfinished> {
    let bound = tree.bindings().filter(|(_, binding)| binding.was_made_here());
    let bound = bound.filter_map(|(at, _)| tree.entry(at)?.turn.as_ref());
    let answered: HashSet<&TurnId> =
        bound.chain(left.iter().filter_map(|draft| draft.turn.as_ref())).collect();
    let sub_agents = sub_agents_of(tree, &answered);
    let is_open =
        |turn: &&TurnId| !tree.turn_ended(turn) && (answered.contains(turn) || sub_agents.contains(turn));
    if !answered.iter().chain(&sub_agents).any(is_open) {
        return Vec::new();
    }
    let mut open: BTreeMap<TurnId, Unfinished> = BTreeMap::new();
    for entry in tree.entries() {
        let Some(turn) = entry.turn.as_ref().filter(is_open) else { continue };
        let is_sub_agent = sub_agents.contains(turn);
        let before = open.get(turn).map_or(entry.written_at, |known| known.last_at);
        let (turn, tip, last_at) = (turn.clone(), entry.id.clone(), before.max(entry.written_at));
        open.insert(turn.clone(), Unfinished { turn, tip, last_at, is_sub_agent });
    }
    open.into_values().collect()
}

/// Whether a long session, of which only the shape was read, has a turn without an end. Sub-agents have none of their own:
/// they end with the turn that started them.
pub fn has_unfinished_turn(shape: &Skeleton) -> bool {
    let made_here = shape.bindings().filter(|(_, binding)| binding.was_made_here());
    let turns = made_here.filter_map(|(at, _)| shape.text(shape.envelope(shape.node(at)?)?.turn()?));
    turns.into_iter().any(|turn| !shape.turn_ended(&TurnId::from(turn)))
}

/// Turns of sub-agents that were started in these.
fn sub_agents_of<'t>(tree: &'t SessionTree, turns: &HashSet<&TurnId>) -> HashSet<&'t TurnId> {
    let roots = tree.children(None).into_iter();
    let started = roots.filter_map(|root| {
        let Body::Note(Note { kind, data: Some(data) }) = &root.body else { return None };
        let call = data.get("entry").and_then(Value::as_str).filter(|_| kind == Note::SUB_AGENT)?;
        let starter = tree.entry(&EntryId::from(call))?.turn.as_ref()?;
        root.turn.as_ref().filter(|_| turns.contains(starter))
    });
    started.collect()
}

/// Whether the process that writes a session is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    Alive,
    Gone,
}

/// What a reader sees below turns without an end: what has arrived so far, and if nobody writes it any more, the end that
/// the next writer will append.
pub fn shown_of_unfinished(
    tree: &SessionTree,
    left: &[Entry],
    caught_up: &CaughtUpTurns,
    writer: Writer,
) -> Vec<Record> {
    match writer {
        Writer::Alive => arrived_so_far(tree, unfinished_turns(tree, left), left),
        Writer::Gone => plan_recovery(tree, left, caught_up),
    }
}

/// The records that end them, to be appended before a session is changed; empty where none is unfinished. Drafts of turns
/// that the tree does not know are given up.
pub fn plan_recovery(tree: &SessionTree, left: &[Entry], caught_up: &CaughtUpTurns) -> Vec<Record> {
    let mut records = Vec::new();
    for Unfinished { turn, mut tip, last_at, is_sub_agent } in unfinished_turns(tree, left) {
        let caught_up = caught_up.get(&turn);
        if caught_up.is_some_and(|caught_up| caught_up.is_running) {
            continue;
        }
        let in_transcript = caught_up.map(|caught_up| caught_up.below(tree, &mut tip, &turn));
        let in_transcript = in_transcript.unwrap_or_default();
        let drafts = arrived(tree, &turn, &mut tip, left, &in_transcript);
        let arrived = in_transcript.into_iter().chain(drafts);
        let before = records.len();
        records.extend(arrived.map(Record::entry));
        let new = records.iter().skip(before).filter_map(Record::as_entry).map(|entry| entry.written_at);
        let at = new.max().map_or(last_at, |arrived_at| arrived_at.max(last_at));
        let is_cut_off = !caught_up.is_some_and(|caught_up| caught_up.is_complete);
        // One interruption is told once, on the branch of the person.
        if !is_sub_agent && is_cut_off {
            let (id, parent) = (end_of_turn_id(tree, &turn), Some(tip));
            let body = Body::Interrupted(Interruption::Crash);
            records.push(Record::entry(Entry { id, parent, written_at: at, turn: Some(turn.clone()), body }));
        }
        records.push(Record::marked(at, Fact::TurnEnded { turn }));
    }
    records
}

/// The id of the entry that ends a turn after a crash: the id of the turn and `-end`, where that is taken with the
/// smallest number from 2 on behind it (`-end-2`).
fn end_of_turn_id(tree: &SessionTree, turn: &TurnId) -> EntryId {
    let plain = EntryId::from(format!("{turn}-end"));
    let numbered = (2_usize..).map(|number| EntryId::from(format!("{turn}-end-{number}")));
    std::iter::once(plain.clone()).chain(numbered).find(|id| !tree.is_id_taken(id)).unwrap_or(plain)
}

/// What has arrived of turns that somebody still writes, for whoever looks on. Nothing of it is to be appended.
fn arrived_so_far(tree: &SessionTree, unfinished: Vec<Unfinished>, left: &[Entry]) -> Vec<Record> {
    let of_one = |Unfinished { turn, mut tip, .. }| arrived(tree, &turn, &mut tip, left, &[]);
    unfinished.into_iter().flat_map(of_one).map(Record::entry).collect()
}

/// The drafts of a turn below its last entry, and each other. `caught_up` are entries that the turn gets besides.
fn arrived(
    tree: &SessionTree,
    turn: &TurnId,
    tip: &mut EntryId,
    left: &[Entry],
    caught_up: &[Entry],
) -> Vec<Entry> {
    let drafts = left.iter().filter(|draft| draft.turn.as_ref() == Some(turn));
    let below = |draft: &Entry| {
        let parent = Some(std::mem::replace(tip, draft.id.clone()));
        Entry { parent, ..draft.clone() }
    };
    let is_lost = |draft: &&Entry| {
        let is_new = !tree.contains(&draft.id) && shows_something(draft);
        is_new && !is_written(tree, draft) && !caught_up.iter().any(|entry| replaces(entry, draft))
    };
    drafts.filter(is_lost).map(below).collect()
}

/// Live text that was discarded leaves an empty draft.
fn shows_something(draft: &Entry) -> bool {
    match &draft.body {
        Body::Reply(reply) => reply.shows_something(),
        _ => true,
    }
}

/// Whether a reply of the same turn begins with the text of the draft: an agent with ids of its own writes live text
/// under another id. A draft that began after the reply is another text.
fn is_written(tree: &SessionTree, draft: &Entry) -> bool {
    let replaces = |entry: &&Arc<Entry>| {
        entry.turn == draft.turn && entry.written_at >= draft.written_at && replaces(entry, draft)
    };
    tree.entries().any(|entry| replaces(&entry))
}

fn replaces(entry: &Entry, draft: &Entry) -> bool {
    let text = text_and_thinking(&draft.body);
    !text.is_empty()
        && matches!(entry.body, Body::Reply(_))
        && text_and_thinking(&entry.body).starts_with(&text)
}

fn text_and_thinking(body: &Body) -> String {
    let texts = body.blocks().iter().filter_map(|block| match block {
        Block::Text(text) | Block::Thinking(text) => Some(text.as_str()),
        Block::Image { .. } | Block::ToolUse(_) | Block::Other { .. } => None,
    });
    texts.collect()
}
