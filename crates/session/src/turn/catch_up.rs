//! Entries that an agent's own transcript has and the session does not.
//!
//! The session records what an agent reports while it is connected. Its transcript may have more: the end of a turn
//! during which the engine died, or turns that were held in the agent's own program.

use jiff::Timestamp;

use crate::{
    AgentSessionId, Body, Entry, EntryId, Fact, HeadMove, HeadName, Missing, Provenance, Record, SessionTree,
    Stamps, TurnId,
};

/// A part of an agent's transcript, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaughtUp {
    pub entries: Vec<CaughtUpEntry>,
    /// The last answer is complete.
    pub is_complete: bool,
    /// Another process writes it now, so it has no end yet.
    pub is_running: bool,
}

/// `id` is the agent's own.
#[derive(Clone, Debug, PartialEq)]
pub struct CaughtUpEntry {
    pub id: EntryId,
    pub written_at: Timestamp,
    pub body: Body,
}

/// The session of an agent that a transcript belongs to.
#[derive(Clone, Copy, Debug)]
pub struct TranscriptOf<'a> {
    pub agent: &'a str,
    pub session: &'a AgentSessionId,
}

impl CaughtUp {
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries as a part of one turn below its tip, which moves along. Entries that the tree has are skipped.
    pub(super) fn below(&self, tree: &SessionTree, tip: &mut EntryId, turn: &TurnId) -> Vec<Entry> {
        let new = self.entries.iter().filter(|entry| !tree.is_id_taken(&entry.id));
        let below = |entry: &CaughtUpEntry| Entry {
            id: entry.id.clone(),
            parent: Some(std::mem::replace(tip, entry.id.clone())),
            written_at: entry.written_at,
            turn: Some(turn.clone()),
            body: entry.body.clone(),
        };
        new.map(below).collect()
    }
}

/// Turns that were held in the agent's own program behind the end of a branch: each prompt begins a turn that is bound to
/// the same session. A head that is at the end of the branch follows.
pub fn plan_catch_up(
    tree: &SessionTree,
    below: &EntryId,
    caught_up: &CaughtUp,
    of: TranscriptOf<'_>,
    stamps: &mut dyn Stamps,
) -> Vec<Record> {
    let new = caught_up.entries.iter().filter(|entry| !tree.is_id_taken(&entry.id));
    // The turn above has its end already.
    let new = new.skip_while(|entry| matches!(entry.body, Body::Interrupted(_)));
    let turn_above = tree.entry(below).and_then(|entry| entry.turn.clone());
    let (mut records, mut tip, mut open) = (Vec::new(), below.clone(), None);
    for CaughtUpEntry { id, written_at, body } in new {
        if body.is_prompt() {
            records.extend(open.replace(stamps.turn_id()).map(|turn| ended(turn, *written_at)));
        }
        let parent = Some(std::mem::replace(&mut tip, id.clone()));
        // What comes before a prompt belongs to the turn above, such as what the agent said by itself when a task ended.
        let (turn, is_prompt) = (open.clone().or_else(|| turn_above.clone()), body.is_prompt());
        let entry = Entry { id: id.clone(), parent, written_at: *written_at, turn, body: body.clone() };
        records.push(Record::entry(entry));
        if is_prompt {
            records.push(Record::marked(*written_at, bound(id, of)));
        }
    }
    let Some(last_at) = caught_up.entries.last().map(|entry| entry.written_at).filter(|_| tip != *below)
    else {
        return records;
    };
    records.extend(open.map(|turn| ended(turn, last_at)));
    let head = HeadName::main();
    // The head follows the turn above by itself.
    let of_turn_above =
        records.iter().filter_map(Record::as_entry).take_while(|entry| entry.turn == turn_above);
    let followed = of_turn_above.filter(|entry| entry.turn.is_some()).last();
    let from = followed.map_or_else(|| below.clone(), |entry| entry.id.clone());
    if tree.head(&head) == Some(below) && from != tip {
        let (from, to) = (Some(from), Some(tip));
        records.push(Record::head_moved(HeadMove { head, moved_at: stamps.now(), from, to }));
    }
    records
}

fn bound(prompt: &EntryId, of: TranscriptOf<'_>) -> Fact {
    Fact::Bound {
        at: prompt.clone(),
        agent_session: Some(of.session.clone()),
        provenance: Provenance::Continued,
        last_message: None,
        agent: Some(of.agent.to_owned()),
        missing: Missing::default(),
        inherited: false,
        model: None,
    }
}

fn ended(turn: TurnId, at: Timestamp) -> Record {
    Record::marked(at, Fact::TurnEnded { turn })
}
