//! Putting a branch out of sight. It stays in the tree, and comes back when asked.

use thiserror::Error;

use super::Plan;
use crate::{EntryId, Fact, HeadName, Record, SessionTree, Stamps};

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ArchiveRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("head `{head}` stands at or below entry `{target}`")]
    HeadBelow { target: EntryId, head: HeadName },
}

/// Archives the entry with all below it, or brings back whatever hides it: it may lie below an archived entry.
pub fn plan_archive(
    tree: &SessionTree,
    target: &EntryId,
    archived: bool,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, ArchiveRefused> {
    if !tree.contains(target) {
        return Err(ArchiveRefused::NotFound(target.clone()));
    }
    let hidden_by = hidden_by(tree, target);
    if !archived {
        return Ok(marks("bring back", hidden_by, false, stamps));
    }
    if !hidden_by.is_empty() {
        return Ok(None);
    }
    for (head, at) in tree.heads() {
        if at.is_some_and(|at| tree.is_ancestor(target, at)) {
            return Err(ArchiveRefused::HeadBelow { target: target.clone(), head });
        }
    }
    Ok(marks("archive", vec![target.clone()], true, stamps))
}

/// One mark for each; nothing to mark is no step.
pub(super) fn marks(
    step: &str,
    targets: Vec<EntryId>,
    archived: bool,
    stamps: &mut dyn Stamps,
) -> Option<Plan> {
    if targets.is_empty() {
        return None;
    }
    let mut plan = Plan::named(step, stamps);
    for target in targets {
        plan.push(Record::marked(stamps.now(), Fact::Archived { target, archived }));
    }
    Some(plan)
}

/// The archived entries at or above this one.
fn hidden_by(tree: &SessionTree, id: &EntryId) -> Vec<EntryId> {
    let path = tree.path_to(Some(id));
    path.into_iter().filter(|entry| tree.is_archived(&entry.id)).map(|entry| entry.id.clone()).collect()
}
