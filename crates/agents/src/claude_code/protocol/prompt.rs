//! Prompts and injected entries as content of a user message.

use offshoot_session::{Block, Body, Entry, ImageData, Prompt, text_of};
use serde_json::{Value, json};

use super::TITLE;

/// What a slash command does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slash {
    /// An ordinary prompt.
    No,
    /// The CLI runs it.
    Passes,
    /// It would change sessions behind our back; `instead` does it here.
    Refused { instead: &'static str },
}

pub(crate) fn is_command(prompt: &Prompt) -> bool {
    slash_of(prompt) != Slash::No
}

/// Why the CLI does not get a command.
pub(crate) fn refusal(text: &str) -> Option<String> {
    let Slash::Refused { instead } = slash_in(text) else { return None };
    let command = text.split_whitespace().next().unwrap_or_default();
    Some(format!("`{command}` is not sent to {TITLE}: use `{instead}`"))
}

pub(super) fn slash_of(prompt: &Prompt) -> Slash {
    slash_in(&text_of(&prompt.blocks))
}

fn slash_in(text: &str) -> Slash {
    let Some(rest) = text.trim_start().strip_prefix('/') else { return Slash::No };
    let name = rest.split_whitespace().next().unwrap_or_default();
    match name {
        "clear" | "new" | "reset" => Slash::Refused { instead: "offshoot new" },
        "resume" | "continue" => Slash::Refused { instead: "offshoot switch" },
        "rewind" | "checkpoint" => Slash::Refused { instead: "offshoot rewind" },
        "branch" | "fork" => Slash::Refused { instead: "offshoot fork" },
        "exit" | "quit" => Slash::Refused { instead: "offshoot abort" },
        // A path such as `/usr/bin` is no command.
        name if name.contains('/') || name.is_empty() => Slash::No,
        _ => Slash::Passes,
    }
}

/// One text as a string, as the CLI writes it itself; otherwise blocks.
pub(super) fn content(prompt: &Prompt) -> Value {
    let mentions = prompt.attachments.iter().map(|name| format!("@{name}"));
    let mentions = mentions.collect::<Vec<_>>().join(" ");
    if let ([Block::Text(text)], true) = (prompt.blocks.as_slice(), mentions.is_empty()) {
        return Value::String(text.clone());
    }
    let mut blocks: Vec<Value> = prompt.blocks.iter().filter_map(block).collect();
    if !mentions.is_empty() {
        blocks.push(json!({ "type": "text", "text": mentions }));
    }
    Value::Array(blocks)
}

fn block(block: &Block) -> Option<Value> {
    match block {
        Block::Text(text) if text.is_empty() => None, // the API refuses empty text
        Block::Text(text) => Some(json!({ "type": "text", "text": text })),
        Block::Image { media_type, data: ImageData::Inline(data) } => Some(json!({
            "type": "image",
            "source": { "type": "base64", "media_type": media_type, "data": data },
        })),
        Block::Image { data: ImageData::Blob(_), .. } => {
            Some(json!({ "type": "text", "text": "[an image that is not available]" }))
        }
        Block::Thinking(_) | Block::ToolUse(_) | Block::Other { .. } => None,
    }
}

/// An entry that the CLI has not seen; `None` where it says nothing.
pub(super) fn injected(entry: &Entry) -> Option<Value> {
    let text = match &entry.body {
        // The CLI would run a command.
        Body::Prompt(prompt) if slash_of(prompt) != Slash::No => labelled("The user said", &entry.body),
        Body::Prompt(prompt) => return Some(content(prompt)).filter(says_something),
        Body::Reply(_) => labelled("Another agent answered", &entry.body),
        Body::Shell(shell) if shell.private => return None,
        Body::Shell(shell) => format!("I ran `{}`:\n{}", shell.command, shell.output),
        Body::BranchSummary(_) => labelled("Summary of another branch", &entry.body),
        Body::Compaction(_) => labelled("Summary of the conversation so far", &entry.body),
        Body::Merge(_) => labelled("Merged from another branch", &entry.body),
        Body::CustomMessage(_) | Body::System(_) => entry.body.text(),
        Body::ToolResult(_)
        | Body::Interrupted(_)
        | Body::Setting(_)
        | Body::Note(_)
        | Body::Cleared
        | Body::ContextEdit(_)
        | Body::Foreign(_) => return None,
    };
    Some(Value::String(text)).filter(says_something)
}

fn labelled(label: &str, body: &Body) -> String {
    match body.text() {
        text if text.trim().is_empty() => String::new(),
        text => format!("[{label}]\n{text}"),
    }
}

fn says_something(content: &Value) -> bool {
    match content {
        Value::String(text) => !text.trim().is_empty(),
        content => content.as_array().is_some_and(|blocks| !blocks.is_empty()),
    }
}
