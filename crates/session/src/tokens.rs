//! How much of a model's window messages take, estimated.
//!
//! Four characters are a token, rounded up: no tokenizer is needed, any model is served alike, and the error is on
//! the safe side for English. Characters are UTF-16 code units, as agents written in JavaScript count them, so
//! that our figures agree with theirs. Where a reply carries the provider's own count, that count is used.

mod window;

use std::collections::HashSet;
use std::sync::Arc;

pub use window::context_window;

use crate::context::{ContextOptions, Message, Reach, context_of_path};
use crate::{Block, Body, Entry, EntryId};

const CHARS_PER_TOKEN: i64 = 4;

/// What an image counts for, whatever its size.
const IMAGE_CHARS: i64 = 4800;

/// How full the window is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextTokens {
    pub tokens: i64,
    /// As counted by the provider up to the last reply that says so.
    pub usage_tokens: i64,
    /// Estimated, for what came behind that reply.
    pub trailing_tokens: i64,
    pub last_usage_index: Option<usize>,
}

pub fn estimate(message: &Message) -> i64 {
    let chars = match &message.entry.body {
        Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_) | Body::CustomMessage(_) => {
            message.blocks().map(block_chars).sum()
        }
        Body::Shell(shell) => chars(&shell.command) + chars(&shell.output),
        Body::BranchSummary(summary) => chars(&summary.summary),
        Body::Compaction(compaction) => chars(&compaction.summary),
        Body::Merge(merge) => merge.summary.as_deref().map_or(0, chars),
        Body::Interrupted(_)
        | Body::Setting(_)
        | Body::Note(_)
        | Body::System(_)
        | Body::Cleared
        | Body::ContextEdit(_)
        | Body::Foreign(_) => 0,
    };
    (chars + CHARS_PER_TOKEN - 1) / CHARS_PER_TOKEN
}

/// Of a text that is told as it is.
pub fn estimate_text(text: &str) -> i64 {
    (chars(text) + CHARS_PER_TOKEN - 1) / CHARS_PER_TOKEN
}

pub fn context_tokens(messages: &[Message]) -> ContextTokens {
    counted(messages, |_| true)
}

/// How full the window is at the end of a path. A reply that a compaction kept was counted together with what the summary
/// has replaced, so its count says nothing any more.
pub fn context_tokens_of_path(path: &[&Arc<Entry>]) -> ContextTokens {
    let messages = context_of_path(path, &ContextOptions::default()).messages;
    let compaction = Reach::of(path).compaction.unwrap_or_default();
    let behind: HashSet<&EntryId> = path.iter().skip(compaction).map(|entry| &entry.id).collect();
    counted(&messages, |message| behind.contains(&message.entry.id))
}

fn counted(messages: &[Message], is_valid: impl Fn(&Message) -> bool) -> ContextTokens {
    let counted = messages.iter().enumerate().rev().find_map(|(index, message)| {
        let reply = message.as_reply().filter(|reply| !reply.failed() && is_valid(message))?;
        reply.usage.map(|usage| (index, usage.context_tokens()))
    });
    let behind = counted.map_or(0, |(index, _)| index + 1);
    let trailing_tokens = messages.iter().skip(behind).map(estimate).sum();
    let usage_tokens = counted.map_or(0, |(_, tokens)| tokens);
    ContextTokens {
        tokens: usage_tokens.saturating_add(trailing_tokens),
        usage_tokens,
        trailing_tokens,
        last_usage_index: counted.map(|(index, _)| index),
    }
}

fn block_chars(block: &Block) -> i64 {
    match block {
        Block::Text(text) | Block::Thinking(text) => chars(text),
        Block::Image { .. } => IMAGE_CHARS,
        Block::ToolUse(call) => chars(&call.name) + chars(&call.input.to_string()),
        Block::Other { .. } => 0,
    }
}

fn chars(text: &str) -> i64 {
    text.encode_utf16().count() as i64
}
