//! Versions of a prompt: the prompts below the same parent, oldest first.
//!
//! Nothing records that two prompts are versions of each other. To edit is to ask again at the same place, so the
//! place alone decides; two unrelated questions at one place count as versions too.

use std::sync::Arc;

use crate::{Entry, EntryId, HeadName, SessionTree};

/// All versions of this prompt, itself among them; empty for anything that is not a prompt. Archived ones are left
/// out, unless one of them is asked for.
pub fn versions_of<'t>(tree: &'t SessionTree, id: &EntryId) -> Vec<&'t Arc<Entry>> {
    if !tree.entry(id).is_some_and(|entry| entry.body.is_prompt()) {
        return Vec::new();
    }
    let parent = tree.parent(id).map(|parent| &parent.id);
    tree.children(parent)
        .into_iter()
        .filter(|entry| entry.body.is_prompt())
        .filter(|entry| entry.id == *id || !tree.is_archived(&entry.id))
        .collect()
}

/// The version that is shown: the one above the head; where the head is elsewhere, the one last visited, and
/// where nobody has been, the newest.
pub fn active_version<'t>(tree: &'t SessionTree, head: &HeadName, id: &EntryId) -> Option<&'t Arc<Entry>> {
    let versions = versions_of(tree, id);
    let is_version = |entry: &Arc<Entry>| versions.iter().any(|version| version.id == entry.id);
    let parent = tree.parent(id).map(|parent| &parent.id);
    let depth = tree.depth(id)?;
    tree.path_to(tree.head(head))
        .get(depth)
        .copied()
        .filter(|entry| is_version(entry))
        .or_else(|| tree.remembered_child(parent).filter(|entry| is_version(entry)))
        .or_else(|| versions.last().copied())
}

/// The prompt of the turn an entry belongs to: the nearest one at or above it.
pub fn turn_prompt<'t>(tree: &'t SessionTree, entry: &EntryId) -> Option<&'t Arc<Entry>> {
    std::iter::successors(tree.entry(entry), |entry| tree.parent(&entry.id))
        .find(|entry| entry.body.is_prompt())
}

/// The prompt nearest to the head, on the way to it, that was said in more than one way.
pub fn last_with_versions(tree: &SessionTree) -> Option<EntryId> {
    let path = tree.path_to(tree.main_head());
    let prompts = path.iter().rev().filter(|entry| entry.body.is_prompt());
    prompts.map(|entry| &entry.id).find(|id| versions_of(tree, id).len() > 1).cloned()
}
