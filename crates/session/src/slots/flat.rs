//! A plain list of messages as a session.

use crate::{Body, Entry, EntryId, HeadMove, HeadName, Record, Stamps, TurnId};

/// One branch: each prompt hangs below the last answer of the one before, and the head stands at the end. What was
/// said before the first prompt answers nobody and is left out; without a prompt there is nothing to record.
pub fn import_flat(messages: impl IntoIterator<Item = Body>, stamps: &mut dyn Stamps) -> Vec<Record> {
    let mut records = Vec::new();
    let mut tip: Option<(EntryId, TurnId)> = None;
    for body in messages {
        let turn = match &tip {
            _ if body.is_prompt() => stamps.turn_id(),
            Some((_, turn)) => turn.clone(),
            None => continue,
        };
        let id = stamps.entry_id();
        records.push(Record::entry(Entry {
            id: id.clone(),
            parent: tip.map(|(parent, _)| parent),
            written_at: stamps.now(),
            turn: Some(turn.clone()),
            body,
        }));
        tip = Some((id, turn));
    }
    if let Some((to, _)) = tip {
        records.push(Record::head_moved(HeadMove {
            head: HeadName::main(),
            moved_at: stamps.now(),
            from: None,
            to: Some(to),
        }));
    }
    records
}
