//! Replies that cannot be read again as they are: failed ones, and calls that nothing answered.

use std::collections::HashSet;

use super::{Message, View};
use crate::{Block, Body, ToolCallId};

/// oh-my-pi keeps the thinking of an interrupted reply in a message of this kind right behind it. The pair is
/// read as one, so the reply stays.
const INTERRUPTED_THINKING: &str = "interrupted-thinking";

/// Leaves out replies that were cut off or failed, and the results of their calls: providers refuse a result
/// without its call.
pub(super) fn without_failed_turns(messages: Vec<Message>) -> Vec<Message> {
    let mut kept = Vec::with_capacity(messages.len());
    let mut dropped_calls: HashSet<ToolCallId> = HashSet::new();
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        if let Some(reply) = message.as_reply() {
            let dropped = reply.failed() && !messages.peek().is_some_and(carries_thinking_on);
            for call in reply.tool_uses() {
                if dropped {
                    dropped_calls.insert(call.id.clone());
                } else {
                    dropped_calls.remove(&call.id); // a retry may use the id again
                }
            }
            if dropped {
                continue;
            }
        }
        if message.as_tool_result().is_some_and(|result| dropped_calls.contains(&result.call)) {
            continue;
        }
        kept.push(message);
    }
    kept
}

pub(super) fn without_unanswered_calls(mut messages: Vec<Message>, view: View) -> Vec<Message> {
    let answered: HashSet<ToolCallId> = messages
        .iter()
        .filter_map(|message| message.as_tool_result().map(|result| result.call.clone()))
        .collect();
    for message in &mut messages {
        let Some(reply) = message.as_reply() else { continue };
        let stripped = reply.tool_uses().filter(|call| !answered.contains(&call.id));
        message.stripped = stripped.map(|call| call.id.clone()).collect();
    }
    if view == View::Model {
        messages.retain(|message| message.stripped.is_empty() || still_speaks(message));
    }
    messages
}

fn carries_thinking_on(message: &Message) -> bool {
    matches!(&message.entry.body, Body::CustomMessage(custom) if custom.kind == INTERRUPTED_THINKING)
}

/// Blocks we do not know (encrypted thinking and the like) are no reason to keep a reply.
fn still_speaks(message: &Message) -> bool {
    message.blocks().any(|block| match block {
        Block::Text(_) | Block::Thinking(_) | Block::Image { .. } | Block::ToolUse(_) => true,
        Block::Other { .. } => false,
    })
}
