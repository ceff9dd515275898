//! Entries that a script brings: each below the head, or where it says, and the head upon it.

use thiserror::Error;

use super::Plan;
use crate::address::{AddressError, Point, Want, resolve_point};
use crate::said::Said;
use crate::{Entry, EntryId, HeadMove, HeadName, Record, Rejected, SessionTree, Stamps};

/// What undo takes back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendSteps {
    /// Each entry is a step.
    Each,
    /// All of them are one.
    One,
}

/// Entries that can be written together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ManyAppended {
    pub records: Vec<Record>,
    /// In the order in which they were said.
    pub entries: Vec<EntryId>,
}

/// One of them does not fit.
#[derive(Clone, Debug, Error, PartialEq)]
#[error("{why}")]
pub struct NotAppended {
    pub why: WhyNotAppended,
    /// Steps before it, which could be taken without it.
    pub before: Box<ManyAppended>,
    /// Which of them it is, from 0.
    pub index: usize,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum WhyNotAppended {
    #[error(transparent)]
    Nowhere(#[from] AddressError),
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

/// All of them, or the reason why one of them does not fit.
pub fn plan_append(
    tree: &SessionTree,
    said: impl IntoIterator<Item = Said>,
    steps: AppendSteps,
    stamps: &mut dyn Stamps,
) -> Result<ManyAppended, NotAppended> {
    let mut tree = tree.clone();
    let mut appended = ManyAppended::default();
    let mut step = OpenStep::default();
    for (index, said) in said.into_iter().enumerate() {
        let plan = step.plan.get_or_insert_with(|| Plan::named("append", stamps));
        match append_one(&mut tree, said, plan, stamps) {
            Ok(entry) => step.entries.push(entry),
            Err(why) => return Err(NotAppended { why, before: Box::new(appended), index }),
        }
        if steps == AppendSteps::Each {
            appended.take(&mut step);
        }
    }
    appended.take(&mut step);
    Ok(appended)
}

/// A step to which more may be added.
#[derive(Default)]
struct OpenStep {
    plan: Option<Plan>,
    entries: Vec<EntryId>,
}

impl ManyAppended {
    fn take(&mut self, step: &mut OpenStep) {
        self.records.extend(step.plan.take().into_iter().flat_map(|plan| plan.records));
        self.entries.append(&mut step.entries);
    }
}

/// Into the plan, and into the tree, so that the next one finds it there.
fn append_one(
    tree: &mut SessionTree,
    said: Said,
    plan: &mut Plan,
    stamps: &mut dyn Stamps,
) -> Result<EntryId, WhyNotAppended> {
    let head = tree.main_head().cloned();
    let parent = match said.parent {
        None => head.clone(),
        // An id is taken as it is, also where it looks like a number.
        Some(parent) if tree.contains(&parent.as_str().into()) => Some(parent.into()),
        Some(parent) => Some(resolve_point(tree, &Point::Text(parent), Want::End)?),
    };
    let id = said.id.map_or_else(|| stamps.entry_id(), EntryId::from);
    let now = stamps.now();
    let written_at = said.written_at.unwrap_or(now);
    let before = plan.records.len();
    plan.push(Record::entry(Entry { id: id.clone(), parent, written_at, turn: None, body: said.body }));
    let to = Some(id.clone());
    plan.push(Record::head_moved(HeadMove { head: HeadName::main(), moved_at: now, from: head, to }));
    // In place: a tree that was refused something is not used any more.
    plan.records.iter().skip(before).try_for_each(|record| tree.apply(record))?;
    Ok(id)
}
