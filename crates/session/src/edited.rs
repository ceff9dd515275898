//! Which messages can be edited, and which were. [`crate::plan::edit_message`] plans an edit.

use std::collections::HashSet;

use crate::{Block, Body, CustomMessage, EntryId, Record, Reply, SessionTree, Stop, System, ToolResult};

/// The text of a prompt or of another message that can be edited. Returns `None` if the entry has no text or is not a
/// message, so that there is nothing to edit.
pub fn text_to_edit(tree: &SessionTree, at: &EntryId) -> Option<String> {
    let body = &tree.entry(at)?.body;
    let text = body.text();
    let is_editable = body.is_prompt() || (with_text(body, &text).is_some() && !text.trim().is_empty());
    is_editable.then_some(text)
}

/// Messages that a person wrote in the place of an agent's: they belong to a step of this session and to no turn.
pub fn edited_messages(tree: &SessionTree) -> HashSet<&EntryId> {
    let in_steps = tree.log().filter(|record| record.operation.is_some()).filter_map(Record::as_entry);
    let outside_turns = in_steps.filter(|entry| entry.turn.is_none() && with_text(&entry.body, "").is_some());
    outside_turns.map(|entry| &entry.id).filter(|id| tree.contains(id)).collect()
}

/// Returns `None` for prompts, which are edited as versions, and for what is not a message.
pub(crate) fn with_text(body: &Body, text: &str) -> Option<Body> {
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
        | Body::ContextEdit(_)
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
        signatures: Vec::new(),
    }
}

/// The new text where the old text began; all other blocks stay in their order.
pub(crate) fn with_new_text(blocks: &[Block], text: &str) -> Vec<Block> {
    let first_text = blocks.iter().position(|block| matches!(block, Block::Text(_))).unwrap_or(0);
    let mut blocks: Vec<Block> =
        blocks.iter().filter(|block| !matches!(block, Block::Text(_))).cloned().collect();
    blocks.insert(first_text.min(blocks.len()), Block::Text(text.to_owned()));
    blocks
}
