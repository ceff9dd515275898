//! Asking the same again: a new version with the same words, for another answer.

use thiserror::Error;

use super::Sent;
use super::send::say;
use crate::versions::turn_prompt;
use crate::{Body, EntryId, HeadName, SessionTree, Stamps};

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
