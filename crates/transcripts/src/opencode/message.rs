//! Messages and parts of opencode, in our vocabulary.

use offshoot_session::{
    Block, Body, Compaction, FileLists, Model, Prompt, Reply, Stop, System, ToolResult, ToolUse, Usage,
    text_of,
};
use serde_json::Value;

use crate::images::image_at;
use crate::json::{Map, flag, id_text, integer, string, text};
use crate::nested::{array, object};

/// An entry in the making, with the part that it stands for where it is not the message itself.
pub(super) struct Piece {
    pub(super) part: Option<usize>,
    pub(super) body: Body,
}

/// What a message of the person says, then what opencode added in its name.
pub(super) fn of_user<'p>(parts: impl Iterator<Item = (usize, &'p Map)>) -> Vec<Piece> {
    let mut prompt = Prompt::default();
    let mut added = Vec::new();
    for (at, part) in parts {
        match text(part, "type") {
            Some("text") if flag(part, "synthetic") => added
                .push(Piece { part: Some(at), body: Body::System(System { text: string(part, "text") }) }),
            Some("file") => match file(part) {
                image @ Block::Image { .. } => prompt.blocks.push(image),
                Block::Text(_) | Block::Thinking(_) | Block::ToolUse(_) | Block::Other { .. } => {
                    prompt.attachments.push(file_name(part));
                }
            },
            _ => prompt.blocks.extend(block(part)),
        }
    }
    let mut pieces = vec![Piece { part: None, body: Body::Prompt(prompt) }];
    pieces.append(&mut added);
    pieces
}

/// What an answer says and calls, then the results of its calls.
pub(super) fn of_assistant<'p>(message: &Map, parts: impl Iterator<Item = (usize, &'p Map)>) -> Vec<Piece> {
    let mut blocks = Vec::new();
    let mut results = Vec::new();
    for (at, part) in parts {
        blocks.extend(block(part));
        results
            .extend(result_of(part).map(|result| Piece { part: Some(at), body: Body::ToolResult(result) }));
    }
    let body = if flag(message, "summary") {
        Body::Compaction(Compaction {
            summary: text_of(&blocks),
            first_kept: None,
            tokens_before: 0,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: None,
        })
    } else {
        Body::Reply(Reply {
            blocks,
            model: model_of(message),
            usage: usage_of(message),
            stop: stop_of(message),
            said_at: None,
            signatures: Vec::new(),
        })
    };
    let mut pieces = vec![Piece { part: None, body }];
    pieces.append(&mut results);
    pieces
}

/// Kinds of parts this version knows.
pub(super) fn is_known_part(kind: &str) -> bool {
    matches!(
        kind,
        "text"
            | "reasoning"
            | "tool"
            | "file"
            | "step-start"
            | "step-finish"
            | "snapshot"
            | "patch"
            | "agent"
            | "subtask"
            | "compaction"
            | "retry"
    )
}

fn block(part: &Map) -> Option<Block> {
    Some(match text(part, "type")? {
        "text" => Block::Text(string(part, "text")),
        "reasoning" => Block::Thinking(string(part, "text")),
        "tool" => Block::ToolUse(ToolUse {
            id: call_id(part).into(),
            name: string(part, "tool"),
            input: object(part, "state").and_then(|state| state.get("input")).cloned().unwrap_or_default(),
        }),
        "file" => file(part),
        "step-start" | "step-finish" | "snapshot" => return None,
        kind => Block::Other { kind: kind.to_owned() },
    })
}

fn call_id(part: &Map) -> String {
    let id = |key| part.get(key).and_then(id_text);
    id("callID").or_else(|| id("id")).unwrap_or_default()
}

fn file(part: &Map) -> Block {
    let is_image = text(part, "mime").is_some_and(|mime| mime.starts_with("image/"));
    match text(part, "url").filter(|_| is_image) {
        Some(address) => image_at(address),
        None => Block::Other { kind: "file".to_owned() },
    }
}

fn file_name(part: &Map) -> String {
    text(part, "filename").or_else(|| text(part, "url")).unwrap_or("file").to_owned()
}

/// Only a call that has ended has a result.
fn result_of(part: &Map) -> Option<ToolResult> {
    let state = object(part, "state").filter(|_| text(part, "type") == Some("tool"))?;
    let (words, failed) = match text(state, "status")? {
        "completed" | "success" => (string(state, "output"), false),
        "error" => {
            (text(state, "error").or_else(|| text(state, "output")).unwrap_or_default().to_owned(), true)
        }
        _ => return None,
    };
    let exit = object(state, "metadata").and_then(|metadata| integer(metadata, "exit"));
    let attached = array(state, "attachments").iter().filter_map(Value::as_object).map(file);
    Some(ToolResult {
        call: call_id(part).into(),
        tool: string(part, "tool"),
        blocks: std::iter::once(Block::Text(words)).chain(attached).collect(),
        failed: failed || exit.is_some_and(|code| code != 0),
        usage: None,
        changed_input: None,
    })
}

/// Answers name provider and model side by side, prompts in an object.
pub(super) fn model_of(message: &Map) -> Option<Model> {
    let told = object(message, "model").unwrap_or(message);
    let name =
        text(told, "modelID").or_else(|| text(told, "id").filter(|_| told.contains_key("providerID")))?;
    Some(Model { provider: string(told, "providerID"), name: name.to_owned() })
}

fn usage_of(message: &Map) -> Option<Usage> {
    let tokens = object(message, "tokens")?;
    let count = |key| integer(tokens, key).unwrap_or(0);
    let cached = |key| object(tokens, "cache").and_then(|cache| integer(cache, key)).unwrap_or(0);
    let dollars = message.get("cost").and_then(Value::as_f64).unwrap_or(0.0);
    Some(Usage {
        input: count("input"),
        output: count("output").saturating_add(count("reasoning")),
        cache_read: cached("read"),
        cache_write: cached("write"),
        total: count("total"),
        cost_micros: (dollars * 1e6).round() as i64,
    })
}

fn stop_of(message: &Map) -> Option<Stop> {
    if let Some(error) = object(message, "error") {
        let name = string(error, "name");
        let words = object(error, "data").and_then(|data| text(data, "message")).map(str::to_owned);
        return Some(match name.as_str() {
            "MessageAbortedError" => Stop::Aborted,
            "MessageOutputLengthError" => Stop::Length,
            _ => Stop::Error(words.unwrap_or(name)),
        });
    }
    Some(match text(message, "finish")? {
        "stop" => Stop::EndTurn,
        "tool-calls" => Stop::ToolUse,
        "length" => Stop::Length,
        other => Stop::Other(other.to_owned()),
    })
}
