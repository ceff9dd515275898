//! A path cut into turns: each prompt with all that answers it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::{Body, Entry, EntryId, Interruption, SessionTree, Stop};

#[derive(Clone, Debug)]
pub struct Turn<'t> {
    /// From 1, counting prompts from the root; 0 for what stands before the first prompt.
    pub number: usize,
    pub entries: Vec<&'t Arc<Entry>>,
}

/// How a turn ended, where it did not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnd {
    Interrupted(Interruption),
    Failed,
}

impl<'t> Turn<'t> {
    pub fn prompt(&self) -> Option<&'t Arc<Entry>> {
        self.entries.first().copied().filter(|entry| entry.body.is_prompt())
    }

    pub fn contains(&self, id: &EntryId) -> bool {
        self.entries.iter().any(|entry| entry.id == *id)
    }

    pub fn end(&self) -> Option<TurnEnd> {
        self.entries.iter().rev().find_map(|entry| end_of(&entry.body)).flatten()
    }
}

/// `None` where the entry says nothing about how the turn ended.
pub(super) fn end_of(body: &Body) -> Option<Option<TurnEnd>> {
    match body {
        Body::Interrupted(why) => Some(Some(TurnEnd::Interrupted(*why))),
        Body::Reply(reply) => Some(match &reply.stop {
            Some(Stop::Aborted) => Some(TurnEnd::Interrupted(Interruption::Wanted)),
            Some(Stop::Error(_)) => Some(TurnEnd::Failed),
            Some(Stop::EndTurn | Stop::ToolUse | Stop::Length | Stop::Other(_)) | None => None,
        }),
        _ => None,
    }
}

/// The turns of the path to this entry, the last one as far as the path goes.
pub fn turns_of<'t>(tree: &'t SessionTree, at: Option<&EntryId>) -> Vec<Turn<'t>> {
    divided(tree.path_to(at), 0)
}

/// Entries in the order of a path, cut into turns. So many prompts stand above them.
fn divided<'t>(path: impl IntoIterator<Item = &'t Arc<Entry>>, mut number: usize) -> Vec<Turn<'t>> {
    let mut turns: Vec<Turn<'t>> = Vec::new();
    for entry in path {
        if entry.body.is_prompt() {
            number += 1;
            turns.push(Turn { number, entries: vec![entry] });
        } else if let Some(turn) = turns.last_mut() {
            turn.entries.push(entry);
        } else {
            turns.push(Turn { number, entries: vec![entry] });
        }
    }
    turns
}

/// The turns of the branch that runs through this entry: down to the head if it is on the way, else to the place
/// last visited below it.
pub fn turns_through<'t>(tree: &'t SessionTree, through: &EntryId) -> Vec<Turn<'t>> {
    let head = tree.main_head().filter(|head| tree.is_ancestor(through, head));
    let tip = head.or_else(|| tree.remembered_leaf(through).map(|leaf| &leaf.id));
    turns_of(tree, tip)
}

/// For each of several prompts at one place, the turns of [`turns_through`] from it on. What is above them is walked
/// once.
pub fn turns_below<'t>(tree: &'t SessionTree, prompts: &[&'t Arc<Entry>]) -> Vec<Vec<Turn<'t>>> {
    let above = prompts.first().map(|prompt| tree.path_to(Some(&prompt.id))).unwrap_or_default();
    let number = above.iter().rev().skip(1).filter(|entry| entry.body.is_prompt()).count();
    let to_head: HashSet<&EntryId> =
        tree.path_to(tree.main_head()).into_iter().map(|entry| &entry.id).collect();
    let turns = |prompt: &&'t Arc<Entry>| {
        let tip = match to_head.contains(&prompt.id) {
            true => tree.main_head().and_then(|head| tree.entry(head)),
            false => tree.remembered_leaf(&prompt.id),
        };
        let mut path: Vec<&'t Arc<Entry>> = Vec::new();
        let mut at = tip;
        while let Some(entry) = at {
            path.push(entry);
            at = tree.parent(&entry.id).filter(|_| entry.id != prompt.id);
        }
        divided(path.into_iter().rev(), number)
    };
    prompts.iter().map(turns).collect()
}
