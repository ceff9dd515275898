//! Asking the same again: a new version with the same words, for another answer.
//!
//! A prompt without an answer is not worth a version: the new prompt replaces it. It is archived in the same step and its
//! label and branch name go to the new one, so undo restores it and the tree shows the prompt once.

use thiserror::Error;

use super::Sent;
use super::send::say;
use crate::versions::turn_prompt;
use crate::{Body, EntryId, Fact, HeadName, Record, SessionTree, Stamps};

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RetryRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("there is no prompt above entry `{0}`")]
    NoPrompt(EntryId),
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
}

/// From any entry of a turn: its prompt is what is asked again.
pub fn plan_retry(
    tree: &SessionTree,
    head: &HeadName,
    at: &EntryId,
    stamps: &mut dyn Stamps,
) -> Result<Sent, RetryRefused> {
    if !tree.contains(at) {
        return Err(RetryRefused::NotFound(at.clone()));
    }
    if !tree.has_head(head) {
        return Err(RetryRefused::UnknownHead(head.clone()));
    }
    let original = turn_prompt(tree, at).ok_or_else(|| RetryRefused::NoPrompt(at.clone()))?;
    let Body::Prompt(prompt) = &original.body else {
        return Err(RetryRefused::NoPrompt(at.clone()));
    };
    let parent = tree.parent(&original.id).map(|parent| parent.id.clone());
    Ok(say("retry", tree, head, parent, prompt.clone(), stamps))
}

/// Lets `sent`, which moves `head` onto a prompt with the same words, replace the prompt `old`. Nothing is added if `old`
/// has an answer, was written by another program, which may still answer it, or if another head is at or below it. Whether
/// an agent is about to answer it is for the caller to know.
pub fn replace_unanswered(
    tree: &SessionTree,
    head: &HeadName,
    old: &EntryId,
    mut sent: Sent,
    stamps: &mut dyn Stamps,
) -> Sent {
    let is_below = |at: Option<&EntryId>| at.is_some_and(|at| tree.is_ancestor(old, at));
    let is_in_use = tree.heads().into_iter().any(|(other, at)| other != *head && is_below(at));
    if is_in_use || !has_no_answer(tree, old) || !was_written_here(tree, old) {
        return sent;
    }
    let (now, new) = (stamps.now(), &sent.prompt);
    let mut facts = vec![Fact::Archived { target: old.clone(), archived: true }];
    if let Some(label) = tree.label(old).map(str::to_owned) {
        facts.push(Fact::Label { target: old.clone(), label: None });
        facts.push(Fact::Label { target: new.clone(), label: Some(label) });
    }
    if let Some(name) = tree.branch_name(old).map(str::to_owned) {
        facts.push(Fact::BranchName { at: old.clone(), name: None });
        facts.push(Fact::BranchName { at: new.clone(), name: Some(name) });
    }
    for fact in facts {
        sent.plan.push(Record::marked(now, fact));
    }
    sent
}

/// Whether nothing but settings is below the prompt and its turn has not ended.
fn has_no_answer(tree: &SessionTree, prompt: &EntryId) -> bool {
    let Some(entry) = tree.entry(prompt) else { return false };
    if entry.turn.as_ref().is_some_and(|turn| tree.turn_ended(turn)) {
        return false;
    }
    let mut open = tree.children(Some(prompt));
    while let Some(entry) = open.pop() {
        if !matches!(entry.body, Body::Setting(_)) {
            return false;
        }
        open.extend(tree.children(Some(&entry.id)));
    }
    true
}

/// Entries of another program belong to no turn and to no operation.
fn was_written_here(tree: &SessionTree, prompt: &EntryId) -> bool {
    let is_it = |record: &&Record| record.as_entry().is_some_and(|entry| entry.id == *prompt);
    tree.entry(prompt).is_some_and(|entry| entry.turn.is_some())
        || tree.log().find(is_it).is_some_and(|record| record.operation.is_some())
}
