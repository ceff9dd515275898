//! A conversation as one text, for a model that is to summarise it. As messages, the model would go on with the
//! conversation instead.

use serde_json::Value;

use super::{ModelMessage, ModelRole, for_model};
use crate::context::Message;
use crate::{Block, ToolUse};

/// Where the result of a tool is cut, in UTF-16 code units: a summary needs its beginning at most.
const RESULT_LIMIT: usize = 2000;

pub fn serialize_for_summary(messages: &[Message]) -> String {
    let mut parts = Vec::new();
    for message in for_model(messages) {
        match message.role {
            ModelRole::User => push_named(&mut parts, "User", message.text()),
            ModelRole::Assistant => push_reply(&mut parts, &message),
            ModelRole::ToolResult { .. } => push_named(&mut parts, "Tool result", shortened(message.text())),
            ModelRole::System => {} // how to work, not what was done
        }
    }
    parts.join("\n\n")
}

fn push_named(parts: &mut Vec<String>, who: &str, text: String) {
    if !text.is_empty() {
        parts.push(format!("[{who}]: {text}"));
    }
}

fn push_reply(parts: &mut Vec<String>, message: &ModelMessage) {
    let mut thinking = Vec::new();
    let mut words = Vec::new();
    let mut calls = Vec::new();
    for block in &message.blocks {
        match block {
            Block::Thinking(text) => thinking.push(text.clone()),
            Block::Text(text) => words.push(text.clone()),
            Block::ToolUse(call) => calls.push(call_text(call)),
            Block::Image { .. } | Block::Other { .. } => {}
        }
    }
    push_joined(parts, "Assistant thinking", &thinking, "\n");
    push_joined(parts, "Assistant", &words, "\n");
    push_joined(parts, "Assistant tool calls", &calls, "; ");
}

fn push_joined(parts: &mut Vec<String>, who: &str, pieces: &[String], between: &str) {
    if !pieces.is_empty() {
        parts.push(format!("[{who}]: {}", pieces.join(between)));
    }
}

fn call_text(call: &ToolUse) -> String {
    let arguments = match &call.input {
        Value::Null => String::new(),
        Value::Object(arguments) => {
            let named = arguments.iter().map(|(name, value)| format!("{name}={value}"));
            named.collect::<Vec<_>>().join(", ")
        }
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => other.to_string(),
    };
    format!("{}({arguments})", call.name)
}

fn shortened(text: String) -> String {
    let total: usize = text.chars().map(char::len_utf16).sum();
    if total <= RESULT_LIMIT {
        return text;
    }
    let mut kept = String::new();
    let mut units = 0;
    for character in text.chars() {
        if units + character.len_utf16() > RESULT_LIMIT {
            break;
        }
        units += character.len_utf16();
        kept.push(character);
    }
    format!("{kept}\n\n[... {} more characters truncated]", total - units)
}
