//! Saying it differently: a new version beside the old prompt. The old one, and all that answered it, stays.

use thiserror::Error;

use super::Sent;
use super::send::say;
use crate::edited::with_new_text;
use crate::versions::{active_version, versions_of};
use crate::{Body, EntryId, HeadName, Prompt, SessionTree, Stamps, text_of};

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EditRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    /// Such as a tool call, a setting or a reply that only calls tools.
    #[error("entry `{0}` has no text to edit")]
    NoText(EntryId),
    /// Not a prompt: it is written, but no agent can answer it.
    #[error("entry `{0}` is not a prompt, so no agent can answer it")]
    NotAPrompt(EntryId),
    /// Not a prompt: agent, model and files belong to prompts.
    #[error("entry `{0}` is not a prompt: only its text can be edited")]
    OnlyText(EntryId),
    #[error("a message needs some text")]
    Blank,
    #[error("entry `{0}` has this text already")]
    Unchanged(EntryId),
    /// Counted from 1, as a person reads it.
    #[error("this is the same text as version {version}")]
    SameText { version: usize },
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
}

/// The new text is refused where it equals the version it edits or the one that is shown. Images and attachments
/// of the old version come along.
pub fn plan_edit(
    tree: &SessionTree,
    head: &HeadName,
    at: &EntryId,
    text: &str,
    stamps: &mut dyn Stamps,
) -> Result<Sent, EditRefused> {
    let is_same = |version: &Prompt| text_of(&version.blocks) == text;
    let old = prompt_to_edit(tree, head, at, text, is_same)?;
    Ok(beside(tree, head, at, prompt_with_new_text(old, text), stamps))
}

/// A version with images and attachments of its own; nothing of the old one comes along. The same words with other
/// files are something else.
pub fn plan_edit_with_files(
    tree: &SessionTree,
    head: &HeadName,
    at: &EntryId,
    prompt: Prompt,
    stamps: &mut dyn Stamps,
) -> Result<Sent, EditRefused> {
    let is_same =
        |version: &Prompt| version.blocks == prompt.blocks && version.attachments == prompt.attachments;
    prompt_to_edit(tree, head, at, &text_of(&prompt.blocks), is_same)?;
    Ok(beside(tree, head, at, prompt, stamps))
}

fn prompt_to_edit<'t>(
    tree: &'t SessionTree,
    head: &HeadName,
    at: &EntryId,
    text: &str,
    is_same: impl Fn(&Prompt) -> bool,
) -> Result<&'t Prompt, EditRefused> {
    let original = tree.entry(at).ok_or_else(|| EditRefused::NotFound(at.clone()))?;
    let Body::Prompt(prompt) = &original.body else {
        return Err(EditRefused::NotAPrompt(at.clone()));
    };
    if text.trim().is_empty() {
        return Err(EditRefused::Blank);
    }
    if !tree.has_head(head) {
        return Err(EditRefused::UnknownHead(head.clone()));
    }
    match same_version(tree, head, at, is_same) {
        Some(version) => Err(EditRefused::SameText { version }),
        None => Ok(prompt),
    }
}

fn beside(
    tree: &SessionTree,
    head: &HeadName,
    at: &EntryId,
    prompt: Prompt,
    stamps: &mut dyn Stamps,
) -> Sent {
    let parent = tree.parent(at).map(|parent| parent.id.clone());
    say("edit", tree, head, parent, prompt, stamps)
}

/// Number of the version that says the same already: the one edited before the one shown.
fn same_version(
    tree: &SessionTree,
    head: &HeadName,
    at: &EntryId,
    is_same: impl Fn(&Prompt) -> bool,
) -> Option<usize> {
    let versions = versions_of(tree, at);
    let shown = active_version(tree, head, at).map(|version| &version.id);
    let says_so = |id: &EntryId| {
        let index = versions.iter().position(|version| version.id == *id)?;
        match &versions.get(index)?.body {
            Body::Prompt(version) => is_same(version).then_some(index + 1),
            _ => None,
        }
    };
    says_so(at).or_else(|| shown.and_then(says_so))
}

/// The prompt with its images and attachments and another text.
pub fn prompt_with_new_text(prompt: &Prompt, text: &str) -> Prompt {
    let blocks = with_new_text(&prompt.blocks, text);
    Prompt { blocks, attachments: prompt.attachments.clone(), said_at: None }
}
