//! A rollout that begins inside others, read with the past that it took over from them.

use offshoot_session::{AgentSessionId, Change, Fact, Mark, Record};
use serde_json::Value;

use super::family::{HistoryBase, RolloutFile, belongs, resolve};
use super::read::read;
use crate::Transcript;
use crate::lines::{Content, lines};

/// Reads a rollout with the rollouts it continues, given in any order. Of those only what it shares with them is
/// read: what came later is a branch of theirs, and not of this thread.
pub fn read_with_bases(file: RolloutFile<'_>, bases: &[RolloutFile<'_>]) -> Transcript {
    let alone = || read(Some(file.name), file.bytes);
    let Some(own) = belongs(Some(file.name), file.bytes) else { return alone() };
    let mut files = vec![file];
    let mut base = own.base;
    while let Some(HistoryBase { rollout, end }) = base.take() {
        let known = bases.iter().find_map(|one| {
            let belongs = belongs(Some(one.name), one.bytes)?;
            (belongs.rollout == rollout).then_some((one, belongs))
        });
        let Some((found, belongs)) = known.filter(|(one, _)| files.iter().all(|file| file.name != one.name))
        else {
            break;
        };
        files.push(RolloutFile { name: found.name, bytes: shared(found.bytes, end) });
        base = belongs.base;
    }
    if files.len() == 1 {
        return alone();
    }
    let mut transcript = resolve(&own.thread, &files);
    let header = alone().records.into_iter().find(|record| matches!(record.change, Change::Opened(_)));
    let opened = transcript.records.iter_mut().find(|record| matches!(record.change, Change::Opened(_)));
    if let (Some(header), Some(opened)) = (header, opened) {
        opened.change = header.change;
    }
    let thread = AgentSessionId::from(own.thread);
    transcript.records.retain(|record| !is_bound_to_another(record, &thread));
    transcript
}

/// The lines up to the first with this ordinal, and the header in any case.
fn shared(bytes: &[u8], end: u64) -> &[u8] {
    let mut length = 0;
    for line in lines(bytes) {
        let ordinal = match &line.content {
            Content::Object(map) => map.get("ordinal").and_then(Value::as_u64),
            Content::Blank | Content::Unreadable(_) | Content::Torn => None,
        };
        if length > 0 && ordinal.is_some_and(|ordinal| ordinal >= end) {
            break;
        }
        length += line.raw.bytes().len();
    }
    bytes.get(..length).unwrap_or(bytes)
}

fn is_bound_to_another(record: &Record, thread: &AgentSessionId) -> bool {
    match &record.change {
        Change::Marked(Mark { fact: Fact::Bound { agent_session, .. }, .. }) => {
            agent_session.as_ref() != Some(thread)
        }
        Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => {
            false
        }
    }
}
