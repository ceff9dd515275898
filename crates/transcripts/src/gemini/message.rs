//! A message of Gemini CLI, in our vocabulary.

use std::collections::HashSet;

use offshoot_session::{
    Block, Body, Foreign, ImageData, Model, Note, Prompt, Reply, System, ToolCallId, ToolResult, ToolUse,
    Usage, text_of,
};
use serde_json::Value;

use crate::images::image_at;
use crate::json::{Map, id_text, integer, string, text};
use crate::nested::{array, object, objects};

/// `None` for a type this version does not know.
pub(super) fn body_of(message: &Map) -> Option<Body> {
    let blocks = || parts_of(message.get("content"));
    Some(match text(message, "type")? {
        "user" => {
            let blocks = blocks();
            let words = text_of(&blocks);
            if words.trim_start().starts_with("<session_context>") {
                Body::System(System { text: words })
            } else {
                Body::Prompt(Prompt { blocks, ..Prompt::default() })
            }
        }
        "gemini" => Body::Reply(reply_of(message, blocks())),
        kind @ ("info" | "error" | "warning") => {
            Body::Note(Note { kind: kind.to_owned(), data: Some(Value::from(text_of(&blocks()))) })
        }
        _ => return None,
    })
}

pub(super) fn foreign(message: &Map) -> Body {
    let words = text_of(&parts_of(message.get("content")));
    Body::Foreign(Foreign {
        kind: text(message, "type").unwrap_or("message").to_owned(),
        text: Some(words).filter(|words| !words.is_empty()),
    })
}

fn reply_of(message: &Map, said: Vec<Block>) -> Reply {
    let mut blocks: Vec<Block> = objects(message, "thoughts").map(thought).collect();
    let calls: Vec<ToolUse> = objects(message, "toolCalls").map(call).collect();
    let told: HashSet<ToolCallId> = calls.iter().map(|call| call.id.clone()).collect();
    blocks.extend(said.into_iter().filter(|block| match block {
        Block::ToolUse(call) => !told.contains(&call.id),
        Block::Text(_) | Block::Thinking(_) | Block::Image { .. } | Block::Other { .. } => true,
    }));
    blocks.extend(calls.into_iter().map(Block::ToolUse));
    Reply {
        blocks,
        model: text(message, "model")
            .map(|name| Model { provider: "google".to_owned(), name: name.to_owned() }),
        usage: object(message, "tokens").map(usage_of),
        ..Reply::default()
    }
}

fn thought(thought: &Map) -> Block {
    let parts = [text(thought, "subject"), text(thought, "description")];
    let words: Vec<&str> = parts.into_iter().flatten().filter(|words| !words.is_empty()).collect();
    Block::Thinking(words.join("\n"))
}

fn call(call: &Map) -> ToolUse {
    ToolUse {
        id: call_id(call).into(),
        name: string(call, "name"),
        input: call.get("args").cloned().unwrap_or_else(|| Value::Object(Map::new())),
    }
}

fn call_id(call: &Map) -> String {
    call.get("id").and_then(id_text).unwrap_or_default()
}

/// What Gemini calls input holds the cached part; thoughts are counted apart from the output.
fn usage_of(tokens: &Map) -> Usage {
    let count = |key| integer(tokens, key).unwrap_or(0);
    Usage {
        input: count("input").saturating_add(count("tool")).saturating_sub(count("cached")),
        output: count("output").saturating_add(count("thoughts")),
        cache_read: count("cached"),
        cache_write: 0,
        total: count("total"),
        cost_micros: 0,
    }
}

fn parts_of(content: Option<&Value>) -> Vec<Block> {
    match content {
        Some(Value::String(words)) if words.is_empty() => Vec::new(),
        Some(Value::String(words)) => vec![Block::Text(words.clone())],
        Some(Value::Array(parts)) => parts.iter().map(part).collect(),
        Some(part_alone @ Value::Object(_)) => vec![part(part_alone)],
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => Vec::new(),
    }
}

fn part(part: &Value) -> Block {
    let part = match part {
        Value::String(words) => return Block::Text(words.clone()),
        Value::Object(part) => part,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            return Block::Other { kind: "unknown".to_owned() };
        }
    };
    if let Some(words) = text(part, "text") {
        let is_thought = part.get("thought").and_then(Value::as_bool) == Some(true);
        return if is_thought { Block::Thinking(words.to_owned()) } else { Block::Text(words.to_owned()) };
    }
    if let Some(image) = object(part, "inlineData") {
        let data = ImageData::Inline(string(image, "data"));
        return Block::Image { media_type: string(image, "mimeType"), data };
    }
    if let Some(file) = object(part, "fileData") {
        return image_at(text(file, "fileUri").unwrap_or_default());
    }
    if let Some(told) = object(part, "functionCall") {
        return Block::ToolUse(call(told));
    }
    Block::Other { kind: part.keys().next().map_or("unknown", String::as_str).to_owned() }
}

/// Results that a reply carries beside its calls, of calls that have ended.
pub(super) fn results_of_reply(message: &Map) -> Vec<ToolResult> {
    objects(message, "toolCalls").filter_map(result_of_call).collect()
}

/// Calls that have an end in the reply itself.
pub(super) fn ended_calls(message: &Map) -> impl Iterator<Item = String> {
    objects(message, "toolCalls").filter(|call| has_ended(call)).map(call_id)
}

fn has_ended(call: &Map) -> bool {
    matches!(text(call, "status"), Some("success" | "error" | "cancelled"))
        || !array(call, "result").is_empty()
}

fn result_of_call(call: &Map) -> Option<ToolResult> {
    has_ended(call).then_some(())?;
    let mut blocks: Vec<Block> = objects(call, "result")
        .filter_map(|part| object(part, "functionResponse"))
        .flat_map(response)
        .collect();
    if blocks.is_empty() {
        blocks.extend(text(call, "resultDisplay").map(|words| Block::Text(words.to_owned())));
    }
    Some(ToolResult {
        call: call_id(call).into(),
        tool: string(call, "name"),
        blocks,
        failed: matches!(text(call, "status"), Some("error" | "cancelled")),
        usage: None,
        changed_input: None,
    })
}

/// Results in a message of their own; `None` where the message says anything else.
pub(super) fn results_alone(message: &Map) -> Option<Vec<ToolResult>> {
    let parts = array(message, "content");
    let responses: Vec<&Map> =
        parts.iter().filter_map(|part| object(part.as_object()?, "functionResponse")).collect();
    (!parts.is_empty() && responses.len() == parts.len()).then(|| {
        responses
            .into_iter()
            .map(|told| ToolResult {
                call: call_id(told).into(),
                tool: string(told, "name"),
                blocks: response(told),
                failed: object(told, "response").is_some_and(|response| response.contains_key("error")),
                usage: None,
                changed_input: None,
            })
            .collect()
    })
}

fn response(told: &Map) -> Vec<Block> {
    let Some(response) = object(told, "response") else { return Vec::new() };
    let words = text(response, "output").or_else(|| text(response, "error")).map(str::to_owned);
    let words = words.unwrap_or_else(|| Value::Object(response.clone()).to_string());
    let images = array(told, "parts").iter().map(part);
    std::iter::once(Block::Text(words)).chain(images).collect()
}
