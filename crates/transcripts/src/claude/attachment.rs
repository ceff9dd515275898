//! What the program put beside the words of the person: files, reminders, output of hooks.

use offshoot_session::{Block, Body, CustomMessage, Note, Prompt};
use serde_json::Value;

use super::message::{blocks, speaker};
use crate::json::{Map, text};

/// Kinds that the model never reads, whatever words they hold.
const KEPT_FROM_THE_MODEL: &[&str] = &[
    "hook_cancelled",
    "hook_error_during_execution",
    "hook_non_blocking_error",
    "hook_system_message",
    "prompt_snapshot",
];

pub(super) fn attachment_of(line: &Map) -> Body {
    let Some(attachment) = line.get("attachment").and_then(Value::as_object) else {
        return Body::Note(Note { kind: "attachment".to_owned(), data: None });
    };
    let kind = text(attachment, "type").unwrap_or("attachment");
    if kind == "queued_command" {
        return queued(attachment);
    }
    let rendered = line.get("rendered").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut words: Vec<Block> =
        rendered.iter().flat_map(|part| blocks(part.get("content"))).filter(says_something).collect();
    if words.is_empty() && !KEPT_FROM_THE_MODEL.contains(&kind) {
        words = words_in(attachment);
    }
    if words.is_empty() {
        let data = kind.starts_with("hook_").then(|| Value::Object(attachment.clone()));
        return Body::Note(Note { kind: kind.to_owned(), data });
    }
    Body::CustomMessage(CustomMessage {
        kind: kind.to_owned(),
        blocks: words,
        display: false,
        attribution: None,
    })
}

/// What was said while the agent was at work, and given to it between two steps.
fn queued(attachment: &Map) -> Body {
    let blocks = blocks(attachment.get("prompt"));
    let mode = text(attachment, "commandMode").filter(|mode| *mode != "prompt");
    match speaker(attachment).or(mode) {
        None => Body::Prompt(Prompt { blocks, ..Prompt::default() }),
        Some(kind) => Body::CustomMessage(CustomMessage {
            kind: kind.to_owned(),
            blocks,
            display: true,
            attribution: None,
        }),
    }
}

/// Older versions do not say how they told the model; the words stand in one of these places.
fn words_in(attachment: &Map) -> Vec<Block> {
    let nested = |outer: &str, inner: &str| attachment.get(outer).and_then(|value| value.get(inner));
    let file = || nested("content", "file").and_then(|file| file.get("content"));
    let places = [
        attachment.get("content").filter(|content| !content.is_object()),
        file(),
        nested("blockingError", "blockingError"),
        attachment.get("snippet"),
        attachment.get("text"),
    ];
    let mut words = places.into_iter().flatten().map(|place| blocks(Some(place)));
    words.find(|words| words.iter().any(says_something)).unwrap_or_default()
}

fn says_something(block: &Block) -> bool {
    match block {
        Block::Text(words) => !words.trim().is_empty(),
        Block::Image { .. } => true,
        Block::Thinking(_) | Block::ToolUse(_) | Block::Other { .. } => false,
    }
}
