//! Rollouts that share a past.
//!
//! ```text
//! T          A - B - C
//! T_r            B - C2          base T, up to B
//! F                  C2 - D      base r, forked from T
//! ```
//! A fork or revert copies nothing: its first line names the rollout it continues and the ordinal where it leaves
//! it. Codex itself cannot get back to what a revert left; here it is a branch like any other.

use std::collections::HashMap;

use jiff::Timestamp;
use offshoot_session::{AgentSessionId, Fact, Missing, Provenance, Record, SessionHeader};

use super::names::rollout_id_from_file_name;
use super::read::{Opening, Reader, Reading, Rollout, State};
use super::said::{What, said};
use crate::Transcript;
use crate::lines::{Content, lines};

/// Where a rollout leaves the one it continues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryBase {
    /// The id of a rollout, although Codex calls it a thread.
    pub rollout: String,
    /// The first ordinal that is not shared.
    pub end: u64,
}

/// What a rollout says about its family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Belongs {
    pub rollout: String,
    pub thread: String,
    pub opened_at: Option<Timestamp>,
    pub base: Option<HistoryBase>,
    pub forked_from: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct RolloutFile<'f> {
    pub name: &'f str,
    pub bytes: &'f [u8],
}

/// Reads no further than the header; `None` where there is none.
pub fn belongs(file_name: Option<&str>, bytes: &[u8]) -> Option<Belongs> {
    let meta = lines(bytes).find_map(|line| match line.content {
        Content::Object(map) => match said(&map).what {
            What::Header(meta) => Some(meta),
            _ => None,
        },
        Content::Blank | Content::Unreadable(_) | Content::Torn => None,
    })?;
    let named = file_name.and_then(rollout_id_from_file_name).map(str::to_owned);
    let rollout = named.or_else(|| meta.thread.clone())?;
    Some(Belongs {
        thread: meta.thread.unwrap_or_else(|| rollout.clone()),
        rollout,
        opened_at: meta.opened_at,
        base: meta.base,
        forked_from: meta.forked_from,
    })
}

/// Which of these share a past, as places in the list, in its order.
pub fn families(all: &[Belongs]) -> Vec<Vec<usize>> {
    let mut joined: Vec<usize> = (0..all.len()).collect();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for (at, one) in all.iter().enumerate() {
        let base = one.base.as_ref().map(|base| base.rollout.as_str());
        for name in [Some(one.rollout.as_str()), Some(one.thread.as_str()), base].into_iter().flatten() {
            match by_name.get(name) {
                Some(other) => join(&mut joined, *other, at),
                None => drop(by_name.insert(name, at)),
            }
        }
    }
    let mut families: Vec<Vec<usize>> = Vec::new();
    let mut places: HashMap<usize, usize> = HashMap::new();
    for at in 0..all.len() {
        let first = first_of(&mut joined, at);
        let place = *places.entry(first).or_insert_with(|| {
            families.push(Vec::new());
            families.len() - 1
        });
        if let Some(family) = families.get_mut(place) {
            family.push(at);
        }
    }
    families
}

fn first_of(joined: &mut [usize], at: usize) -> usize {
    let mut at = at;
    while let Some(&above) = joined.get(at)
        && above != at
    {
        let further = joined.get(above).copied().unwrap_or(above);
        if let Some(link) = joined.get_mut(at) {
            *link = further;
        }
        at = above;
    }
    at
}

fn join(joined: &mut [usize], one: usize, other: usize) {
    let (one, other) = (first_of(joined, one), first_of(joined, other));
    if let Some(link) = joined.get_mut(one.max(other)) {
        *link = one.min(other);
    }
}

/// One tree of the files of a family. The head stands at the tip of the newest rollout of `thread`; branches that
/// were left are there too, and each thread is bound to its tip. Files are told in the order of their pasts, so
/// the bytes of all sources are those of the files, one file after the other.
pub fn resolve(thread: &str, files: &[RolloutFile<'_>]) -> Transcript {
    let mut reader = Reader::default();
    let rollouts = rollouts_of(files, &mut reader);
    let by_id: HashMap<String, usize> =
        rollouts.iter().enumerate().map(|(at, rollout)| (rollout.id.clone(), at)).collect();
    let newest = newest_of_threads(&rollouts);
    let current = newest.iter().find(|(name, _)| name == thread).map(|(_, at)| *at);
    let current = current.unwrap_or_else(|| rollouts.len().saturating_sub(1));
    if let Some(header) = header_of(&rollouts, &by_id, current) {
        reader.records.push(Record::opened(header));
    }
    let readings = read_in_order(rollouts, &by_id, &mut reader);
    for (name, at) in &newest {
        let Some(reading) = readings.get(*at).and_then(Option::as_ref) else { continue };
        if let Some(tip) = reading.end.tip.as_ref().filter(|_| reading.has_entries) {
            let fact = Fact::Bound {
                at: tip.id.clone(),
                agent_session: Some(AgentSessionId::from(name.as_str())),
                provenance: Provenance::Continued,
                last_message: None,
                agent: None,
                missing: Missing::default(),
                inherited: false,
                model: None,
            };
            let now = reader.now();
            reader.records.push(Record::marked(now, fact));
        }
    }
    let tip = readings.get(current).and_then(Option::as_ref).and_then(|reading| reading.end.tip.clone());
    reader.finish(tip)
}

/// In the order in which they were opened. A rollout that is given twice counts once.
fn rollouts_of(files: &[RolloutFile<'_>], reader: &mut Reader) -> Vec<Rollout> {
    let mut rollouts: Vec<Rollout> = Vec::with_capacity(files.len());
    let mut known: HashMap<String, ()> = HashMap::new();
    for file in files {
        let rollout = Rollout::new(Some(file.name), file.bytes, &mut reader.noted);
        if known.insert(rollout.id.clone(), ()).is_some() {
            reader.noted.remark(format!("rollout `{}` is given twice; the first one counts", rollout.id));
        } else {
            rollouts.push(rollout);
        }
    }
    rollouts.sort_by(|one, other| (one.opened_at, &one.id).cmp(&(other.opened_at, &other.id)));
    rollouts
}

/// Each thread with the place of its newest rollout, in the order of those.
fn newest_of_threads(rollouts: &[Rollout]) -> Vec<(String, usize)> {
    let mut newest: HashMap<&str, usize> = HashMap::new();
    for (at, rollout) in rollouts.iter().enumerate() {
        newest.insert(&rollout.thread, at);
    }
    let mut newest: Vec<(String, usize)> =
        newest.into_iter().map(|(thread, at)| (thread.to_owned(), at)).collect();
    newest.sort_by_key(|(_, at)| *at);
    newest
}

/// The header of the newest rollout, with the lineage of the oldest: what lies between is in the tree.
fn header_of(rollouts: &[Rollout], by_id: &HashMap<String, usize>, current: usize) -> Option<SessionHeader> {
    let mut header = rollouts.get(current)?.header();
    let mut at = current;
    for _ in 0..rollouts.len() {
        match base_place(rollouts, by_id, at) {
            Some(base) => at = base,
            None => break,
        }
    }
    header.lineage = rollouts.get(at)?.header().lineage;
    Some(header)
}

fn base_place(rollouts: &[Rollout], by_id: &HashMap<String, usize>, at: usize) -> Option<usize> {
    let base = rollouts.get(at)?.meta.as_ref()?.base.as_ref()?;
    by_id.get(&base.rollout).copied()
}

/// Every base before what continues it. A base that is missing, or that continues its own continuation, is
/// said and left out.
fn read_in_order(
    rollouts: Vec<Rollout>,
    by_id: &HashMap<String, usize>,
    reader: &mut Reader,
) -> Vec<Option<Reading>> {
    let order = bases_first(&rollouts, by_id);
    let bases: Vec<Option<usize>> = (0..rollouts.len()).map(|at| base_place(&rollouts, by_id, at)).collect();
    let mut waiting: Vec<Option<Rollout>> = rollouts.into_iter().map(Some).collect();
    let mut readings: Vec<Option<Reading>> = waiting.iter().map(|_| None).collect();
    for at in order {
        let Some(rollout) = waiting.get_mut(at).and_then(Option::take) else { continue };
        let end = rollout.meta.as_ref().and_then(|meta| meta.base.as_ref()).map(|base| base.end);
        let state = match end.and_then(|end| Some((end, base_reaching(end, at, &bases, &readings)?))) {
            Some((end, reading)) => {
                let (state, reaches) = reading.before(end);
                if !reaches {
                    let what =
                        format!("`{}` leaves its base at ordinal {end}, which is not there", rollout.id);
                    reader.noted.remark(what);
                }
                state
            }
            None => {
                reader.noted.oddities.extend(rollout.missing_base());
                State::default()
            }
        };
        let reading = reader.take(rollout, state, Opening::None);
        if let Some(slot) = readings.get_mut(at) {
            *slot = Some(reading);
        }
    }
    readings
}

/// The base that has a line before `end` of its own: where a base is left before it begins, that is its base.
fn base_reaching<'r>(
    end: u64,
    of: usize,
    bases: &[Option<usize>],
    readings: &'r [Option<Reading>],
) -> Option<&'r Reading> {
    let mut at = of;
    for _ in 0..bases.len() {
        at = bases.get(at).copied().flatten()?;
        let reading = readings.get(at)?.as_ref()?;
        if reading.begins_before(end) || bases.get(at).copied().flatten().is_none() {
            return Some(reading);
        }
    }
    None
}

fn bases_first(rollouts: &[Rollout], by_id: &HashMap<String, usize>) -> Vec<usize> {
    let mut order = Vec::with_capacity(rollouts.len());
    let mut seen = vec![false; rollouts.len()];
    for start in 0..rollouts.len() {
        let mut chain = Vec::new();
        let mut next = Some(start);
        while let Some(at) = next
            && let Some(is_seen) = seen.get_mut(at)
            && !std::mem::replace(is_seen, true)
        {
            chain.push(at);
            next = base_place(rollouts, by_id, at);
        }
        order.extend(chain.into_iter().rev());
    }
    order
}
