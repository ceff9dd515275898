//! Turns that a crash has cut off.
//!
//! A turn that has begun and not ended is given the end of one that was interrupted: what had arrived of its reply, and
//! an entry that says so. A prompt that nobody has begun to answer is none of these: it can still be answered.

use std::collections::BTreeMap;

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

/// Turns that have begun and not ended. `left` is what drafts have kept.
pub fn unfinished_turns(tree: &SessionTree, left: &[Entry]) -> Vec<Unfinished> {
    let mut open: BTreeMap<TurnId, (Unfinished, bool)> = BTreeMap::new();
    for entry in tree.entries() {
        let Some(turn) = entry.turn.as_ref().filter(|turn| !tree.turn_ended(turn)) else { continue };
        let is_sub_agent = matches!(&entry.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
        let has_begun = is_sub_agent || tree.binding(&entry.id).is_some() || drafted(left, turn);
        let first = Unfinished { turn: turn.clone(), tip: entry.id.clone(), is_sub_agent };
        let known = open.entry(turn.clone()).or_insert((first, has_begun));
        if known.0.tip != entry.id {
            known.0.tip = entry.id.clone();
            known.1 = true;
        }
    }
    open.into_values().filter(|(_, has_begun)| *has_begun).map(|(unfinished, _)| unfinished).collect()
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

fn drafted(left: &[Entry], turn: &TurnId) -> bool {
    left.iter().any(|draft| draft.turn.as_ref() == Some(turn))
}
