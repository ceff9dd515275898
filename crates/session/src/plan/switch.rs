//! Going somewhere: a head moves, nothing is written below it, and nothing that was left is lost.
//!
//! Switching, rewinding and forking inside the tree are the same move under names of their own, so that the list
//! of steps says what the person meant.

use thiserror::Error;

use super::Plan;
use crate::{EntryId, HeadName, SessionTree, Stamps};

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SwitchRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
}

/// The head goes exactly there. `to` says `None` to stand before the first entry, so that the next prompt begins
/// a tree of its own. The answer is `None` where the head is there already.
pub fn plan_switch(
    tree: &SessionTree,
    head: &HeadName,
    to: Option<&EntryId>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, SwitchRefused> {
    relocate("switch", tree, head, to, stamps)
}

/// The conversation as it was at `to`. What came after stays in the tree as a branch.
pub fn plan_rewind_conversation(
    tree: &SessionTree,
    head: &HeadName,
    to: Option<&EntryId>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, SwitchRefused> {
    relocate("rewind", tree, head, to, stamps)
}

/// The next prompt begins a branch below `at`; `None` is before the first entry.
pub fn plan_fork(
    tree: &SessionTree,
    head: &HeadName,
    at: Option<&EntryId>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, SwitchRefused> {
    relocate("fork", tree, head, at, stamps)
}

/// The same for a head that a script or an agent works on.
pub fn plan_move_head(
    tree: &SessionTree,
    name: &HeadName,
    to: Option<&EntryId>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, SwitchRefused> {
    relocate("move head", tree, name, to, stamps)
}

fn relocate(
    name: &str,
    tree: &SessionTree,
    head: &HeadName,
    to: Option<&EntryId>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, SwitchRefused> {
    require_place(tree, head, to)?;
    if tree.head(head) == to {
        return Ok(None);
    }
    let mut plan = Plan::named(name, stamps);
    plan.move_head(tree, head, to.cloned(), stamps);
    Ok(Some(plan))
}

/// There is such a head, and such a place for it.
pub(super) fn require_place(
    tree: &SessionTree,
    head: &HeadName,
    to: Option<&EntryId>,
) -> Result<(), SwitchRefused> {
    if !tree.has_head(head) {
        return Err(SwitchRefused::UnknownHead(head.clone()));
    }
    match to {
        Some(to) if !tree.contains(to) => Err(SwitchRefused::NotFound(to.clone())),
        Some(_) | None => Ok(()),
    }
}
