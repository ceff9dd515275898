//! Heads beside the main one, for scripts and agents that work in the same tree.

use thiserror::Error;

use super::Plan;
use crate::{Body, EntryId, HeadName, SessionTree, Stamps};

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NewHeadRefused {
    /// Also the main head, which every session has.
    #[error("head `{0}` exists already")]
    Exists(HeadName),
    #[error("the name of a head is blank")]
    Blank,
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AppendRefused {
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
}

/// What was written below a head.
#[derive(Clone, Debug, PartialEq)]
pub struct Appended {
    pub plan: Plan,
    pub entry: EntryId,
}

/// A name is given once; only undo frees it.
pub fn plan_new_head(
    tree: &SessionTree,
    name: &HeadName,
    at: Option<&EntryId>,
    stamps: &mut dyn Stamps,
) -> Result<Plan, NewHeadRefused> {
    if name.as_str().trim().is_empty() {
        return Err(NewHeadRefused::Blank);
    }
    if tree.has_head(name) {
        return Err(NewHeadRefused::Exists(name.clone()));
    }
    if let Some(at) = at.filter(|at| !tree.contains(at)) {
        return Err(NewHeadRefused::NotFound(at.clone()));
    }
    let mut plan = Plan::named("new head", stamps);
    plan.move_head(tree, name, at.cloned(), stamps);
    Ok(plan)
}

/// One entry below a head, and the head upon it.
pub fn append_at_head(
    tree: &SessionTree,
    head: &HeadName,
    body: Body,
    stamps: &mut dyn Stamps,
) -> Result<Appended, AppendRefused> {
    if !tree.has_head(head) {
        return Err(AppendRefused::UnknownHead(head.clone()));
    }
    let mut plan = Plan::named("append", stamps);
    let entry = plan.write(tree.head(head).cloned(), None, body, stamps);
    plan.move_head(tree, head, Some(entry.clone()), stamps);
    Ok(Appended { plan, entry })
}
