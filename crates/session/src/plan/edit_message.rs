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
use super::edit::{EditRefused, with_new_text};
use crate::{
    Block, Body, CustomMessage, EntryId, HeadName, Record, Reply, SessionTree, Stamps, Stop, System,
    ToolResult,
};

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
    let old_text = text_to_edit(tree, at)?;
    let old = tree.entry(at).ok_or_else(|| EditRefused::NotFound(at.clone()))?;
    let edited = with_text(&old.body, text).ok_or_else(|| EditRefused::NoText(at.clone()))?;
    if text.trim().is_empty() {
        return Err(EditRefused::Blank);
    }
    if old_text == text {
        return Err(EditRefused::Unchanged(at.clone()));
    }
    Ok(edited)
}

/// The text of a prompt or of another message that can be edited. Refused if the entry has no text, because then there is
/// nothing to edit.
pub fn text_to_edit(tree: &SessionTree, at: &EntryId) -> Result<String, EditRefused> {
    let body = &tree.entry(at).ok_or_else(|| EditRefused::NotFound(at.clone()))?.body;
    let text = body.text();
    let is_editable = body.is_prompt() || (with_text(body, &text).is_some() && !text.trim().is_empty());
    if is_editable { Ok(text) } else { Err(EditRefused::NoText(at.clone())) }
}

/// Whether a person wrote the message in the place of an agent's: it belongs to a step of this session and to no turn.
pub fn is_edited_message(tree: &SessionTree, message: &EntryId) -> bool {
    let is_outside_turns =
        tree.entry(message).is_some_and(|entry| entry.turn.is_none() && with_text(&entry.body, "").is_some());
    let is_it = |record: &&Record| record.as_entry().is_some_and(|entry| entry.id == *message);
    is_outside_turns && tree.log().find(is_it).is_some_and(|record| record.operation.is_some())
}

/// Returns `None` for prompts, which are edited as versions, and for what is not a message.
fn with_text(body: &Body, text: &str) -> Option<Body> {
    match body {
        Body::Reply(reply) => Some(Body::Reply(edited_reply(reply, text))),
        Body::ToolResult(result) => {
            let blocks = with_new_text(&result.blocks, text);
            Some(Body::ToolResult(ToolResult { blocks, ..result.clone() }))
        }
        Body::CustomMessage(message) => {
            let blocks = with_new_text(&message.blocks, text);
            Some(Body::CustomMessage(CustomMessage { blocks, ..message.clone() }))
        }
        Body::System(_) => Some(Body::System(System { text: text.to_owned() })),
        Body::Prompt(_)
        | Body::Shell(_)
        | Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Setting(_)
        | Body::Merge(_)
        | Body::Note(_)
        | Body::Cleared
        | Body::Foreign(_) => None,
    }
}

/// The model stays, so that the branch keeps its configuration. Thinking led to the old text, calls have their results
/// behind the old reply, and the usage was counted there.
fn edited_reply(reply: &Reply, text: &str) -> Reply {
    let is_kept = |block: &&Block| !matches!(block, Block::Thinking(_) | Block::ToolUse(_));
    let kept: Vec<Block> = reply.blocks.iter().filter(is_kept).cloned().collect();
    Reply {
        blocks: with_new_text(&kept, text),
        model: reply.model.clone(),
        usage: None,
        stop: Some(Stop::EndTurn),
        said_at: None,
    }
}
