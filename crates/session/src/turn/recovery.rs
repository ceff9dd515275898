//! Turns that a crash has cut off.
//!
//! A turn that has begun and not ended is given the end of one that was interrupted: what had arrived of its reply, and
//! an entry that says so. A prompt that nobody has begun to answer is none of these: it can still be answered. Neither is
//! what nobody has answered here: a turn that another program has not ended may be going on there, and one that was
//! copied or imported has its end elsewhere.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;

use crate::skeleton::Skeleton;
use crate::{Body, Entry, EntryId, Fact, Interruption, Note, Record, SessionTree, Stamps, TurnId};

/// A turn without an end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfinished {
    pub turn: TurnId,
    /// The last entry it wrote.
    pub tip: EntryId,
    /// It is the turn of a sub-agent.
    pub is_sub_agent: bool,
}

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
        open.insert(turn.clone(), Unfinished { turn: turn.clone(), tip: entry.id.clone(), is_sub_agent });
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

/// The records that end them, to be appended when a session is opened to be written; empty where none is unfinished.
/// Drafts of turns that the tree does not know are given up.
pub fn plan_recovery(tree: &SessionTree, left: &[Entry], stamps: &mut dyn Stamps) -> Vec<Record> {
    end_turns(tree, unfinished_turns(tree, left), left, stamps)
}

/// The records that end some turns that have begun and not ended.
pub fn end_turns(
    tree: &SessionTree,
    unfinished: Vec<Unfinished>,
    left: &[Entry],
    stamps: &mut dyn Stamps,
) -> Vec<Record> {
    let mut records = Vec::new();
    for Unfinished { turn, mut tip, is_sub_agent } in unfinished {
        records.extend(arrived(tree, &turn, &mut tip, left));
        // One interruption is told once, on the branch of the person.
        if !is_sub_agent {
            let (id, written_at) = (stamps.entry_id(), stamps.now());
            let (parent, turn) = (Some(tip), Some(turn.clone()));
            let body = Body::Interrupted(Interruption::Crash);
            records.push(Record::entry(Entry { id, parent, written_at, turn, body }));
        }
        records.push(Record::marked(stamps.now(), Fact::TurnEnded { turn }));
    }
    records
}

/// What has arrived of turns that somebody still writes, for whoever looks on. Nothing of it is to be appended.
pub fn arrived_so_far(tree: &SessionTree, unfinished: Vec<Unfinished>, left: &[Entry]) -> Vec<Record> {
    let of_one = |Unfinished { turn, mut tip, .. }| arrived(tree, &turn, &mut tip, left);
    unfinished.into_iter().flat_map(of_one).collect()
}

/// The drafts of a turn below its last entry, and each other.
fn arrived(tree: &SessionTree, turn: &TurnId, tip: &mut EntryId, left: &[Entry]) -> Vec<Record> {
    let drafts = left.iter().filter(|draft| draft.turn.as_ref() == Some(turn));
    let below = |draft: &Entry| {
        let parent = Some(std::mem::replace(tip, draft.id.clone()));
        Record::entry(Entry { parent, ..draft.clone() })
    };
    drafts.filter(|draft| !tree.contains(&draft.id)).map(below).collect()
}
