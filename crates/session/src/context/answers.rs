//! Replies that cannot be read again as they are: failed ones, and calls that nothing answered.

use std::collections::HashSet;

use super::{ContextOptions, FailedTurns, Message, View};
use crate::{Block, Body, CustomMessage, Reply, ToolCallId};

/// oh-my-pi keeps the thinking of an interrupted reply in a message of this kind right behind it. The pair is
/// read as one, so the reply stays.
const INTERRUPTED_THINKING: &str = "interrupted-thinking";

/// What these rules ask of a message. Whoever has not read all of a message can tell this much.
pub trait Spoken {
    fn reply(&self) -> Option<&Reply>;

    /// The call it is the result of.
    fn answered_call(&self) -> Option<&ToolCallId>;

    fn custom(&self) -> Option<&CustomMessage>;

    fn strip(&mut self, calls: Vec<ToolCallId>);

    fn stripped(&self) -> &[ToolCallId];
}

/// Whether [`settled`] looks at replies and at what answers them.
pub fn looks_at_answers(options: &ContextOptions) -> bool {
    options.failed_turns == FailedTurns::Dropped || options.strips_unanswered_calls()
}

/// The messages that can be read again, less what cannot.
pub fn settled<M: Spoken>(mut messages: Vec<M>, options: &ContextOptions) -> Vec<M> {
    if options.failed_turns == FailedTurns::Dropped {
        messages = without_failed_turns(messages);
    }
    if options.strips_unanswered_calls() {
        messages = without_unanswered_calls(messages, options.view);
    }
    messages
}

/// Leaves out replies that were cut off or failed, and the results of their calls: providers refuse a result
/// without its call.
fn without_failed_turns<M: Spoken>(messages: Vec<M>) -> Vec<M> {
    let mut kept = Vec::with_capacity(messages.len());
    let mut dropped_calls: HashSet<ToolCallId> = HashSet::new();
    let mut messages = messages.into_iter().peekable();
    while let Some(message) = messages.next() {
        if let Some(reply) = message.reply() {
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
        if message.answered_call().is_some_and(|call| dropped_calls.contains(call)) {
            continue;
        }
        kept.push(message);
    }
    kept
}

fn without_unanswered_calls<M: Spoken>(mut messages: Vec<M>, view: View) -> Vec<M> {
    let answered: HashSet<ToolCallId> =
        messages.iter().filter_map(|message| message.answered_call().cloned()).collect();
    for message in &mut messages {
        let Some(reply) = message.reply() else { continue };
        let stripped = reply.tool_uses().filter(|call| !answered.contains(&call.id));
        let stripped = stripped.map(|call| call.id.clone()).collect();
        message.strip(stripped);
    }
    if view == View::Model {
        messages.retain(|message| message.stripped().is_empty() || still_speaks(message));
    }
    messages
}

/// Removes the results of calls that only these replies make: providers refuse a result without its call.
pub fn remove_results_of<'b, M: Spoken>(messages: &mut Vec<M>, omitted: impl Iterator<Item = &'b Body>) {
    let calls_of = |body: &'b Body| match body {
        Body::Reply(reply) => reply.tool_uses().map(|call| &call.id).collect(),
        _ => Vec::new(),
    };
    let mut calls: HashSet<&ToolCallId> = omitted.flat_map(calls_of).collect();
    for reply in messages.iter().filter_map(Spoken::reply) {
        for call in reply.tool_uses() {
            calls.remove(&call.id);
        }
    }
    messages.retain(|message| message.answered_call().is_none_or(|call| !calls.contains(call)));
}

fn carries_thinking_on<M: Spoken>(message: &M) -> bool {
    message.custom().is_some_and(|custom| custom.kind == INTERRUPTED_THINKING)
}

/// Blocks we do not know (encrypted thinking and the like) are no reason to keep a reply.
fn still_speaks<M: Spoken>(message: &M) -> bool {
    let blocks = message.reply().map(|reply| reply.blocks.as_slice()).unwrap_or_default();
    blocks.iter().any(|block| match block {
        Block::ToolUse(tool_use) => !message.stripped().contains(&tool_use.id),
        Block::Text(_) | Block::Thinking(_) | Block::Image { .. } => true,
        Block::Other { .. } => false,
    })
}

impl Spoken for Message {
    fn reply(&self) -> Option<&Reply> {
        self.as_reply()
    }

    fn answered_call(&self) -> Option<&ToolCallId> {
        if let Body::ToolResult(result) = &self.entry.body { Some(&result.call) } else { None }
    }

    fn custom(&self) -> Option<&CustomMessage> {
        if let Body::CustomMessage(custom) = &self.entry.body { Some(custom) } else { None }
    }

    fn strip(&mut self, calls: Vec<ToolCallId>) {
        self.stripped = calls;
    }

    fn stripped(&self) -> &[ToolCallId] {
        &self.stripped
    }
}
