//! Left and right: the head goes to another version of a prompt, to the place last visited below it.

use thiserror::Error;

use super::Plan;
use crate::versions::versions_of;
use crate::{EntryId, HeadName, SessionTree, Stamps};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionStep {
    Previous,
    Next,
    /// Counted from 0, oldest first.
    To(usize),
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum VersionRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("entry `{0}` is not a prompt")]
    NotAPrompt(EntryId),
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
}

/// Steps away from the version `at`. There is nothing beyond the ends: `None` there, and where the head stands
/// below the version already.
pub fn plan_version(
    tree: &SessionTree,
    head: &HeadName,
    at: &EntryId,
    step: VersionStep,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, VersionRefused> {
    if !tree.contains(at) {
        return Err(VersionRefused::NotFound(at.clone()));
    }
    if !tree.has_head(head) {
        return Err(VersionRefused::UnknownHead(head.clone()));
    }
    let versions = versions_of(tree, at);
    let index = versions
        .iter()
        .position(|version| version.id == *at)
        .ok_or_else(|| VersionRefused::NotAPrompt(at.clone()))?;
    let wanted = match step {
        VersionStep::Previous => index.checked_sub(1),
        VersionStep::Next => Some(index + 1).filter(|next| *next < versions.len()),
        VersionStep::To(wanted) => Some(wanted.min(versions.len() - 1)),
    };
    let Some(version) = wanted.and_then(|wanted| versions.get(wanted)) else { return Ok(None) };
    if tree.head(head).is_some_and(|at| tree.is_ancestor(&version.id, at)) {
        return Ok(None);
    }
    let leaf = tree.remembered_leaf(&version.id).unwrap_or(version);
    let mut plan = Plan::named("switch version", stamps);
    plan.move_head(tree, head, Some(leaf.id.clone()), stamps);
    Ok(Some(plan))
}
