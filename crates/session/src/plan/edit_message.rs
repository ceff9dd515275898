//! Editing a message that is not a prompt: a reply, a tool result, instructions, a message of an extension.
//!
//! The new message is written next to the old one, in the same role, and the head moves to it. What followed the old
//! message stays with it, and no agent is asked: an agent answers prompts only.
//!
//! ```text
//! u1 - a1 - u2 - a2      a1 is edited:   u1 - a1 - u2 - a2
//!                                        u1 - a9*
//! ```
//! An edited reply is another answer to the same prompt, so it is a branch inside the turn and not a version of the prompt
//! (docs/decisions/0011).

use super::Plan;
use super::edit::EditRefused;
use crate::edited::{text_to_edit, with_text};
use crate::{Body, EntryId, HeadName, SessionTree, Stamps};

/// A message that is about to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct EditedMessage {
    pub plan: Plan,
    pub entry: EntryId,
}

pub fn plan_edit_message(
    tree: &SessionTree,
    head: &HeadName,
    at: &EntryId,
    text: &str,
    stamps: &mut dyn Stamps,
) -> Result<EditedMessage, EditRefused> {
    if !tree.has_head(head) {
        return Err(EditRefused::UnknownHead(head.clone()));
    }
    let body = edited_message(tree, at, text)?;
    let parent = tree.parent(at).map(|parent| parent.id.clone());
    let mut plan = Plan::named("edit", stamps);
    let entry = plan.write(parent, None, body, stamps);
    plan.move_head(tree, head, Some(entry.clone()), stamps);
    Ok(EditedMessage { plan, entry })
}

/// The message with another text.
pub fn edited_message(tree: &SessionTree, at: &EntryId, text: &str) -> Result<Body, EditRefused> {
    let old = tree.entry(at).ok_or_else(|| EditRefused::NotFound(at.clone()))?;
    let no_text = || EditRefused::NoText(at.clone());
    let old_text = text_to_edit(tree, at).ok_or_else(no_text)?;
    let edited = with_text(&old.body, text).ok_or_else(no_text)?;
    if text.trim().is_empty() {
        return Err(EditRefused::Blank);
    }
    if old_text == text {
        return Err(EditRefused::Unchanged(at.clone()));
    }
    Ok(edited)
}
