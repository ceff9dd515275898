//! What somebody said, in our vocabulary.
//!
//! Much of what stands in a file as words of the user was never typed by a person: answers of tools, output of
//! commands, reminders, notices. Only what a person said becomes a prompt.

use offshoot_session::{
    Block, Body, CustomMessage, Foreign, ImageData, Interruption, Model, Note, Prompt, Reply, Shell, Stop,
    ToolResult, ToolUse, Usage, text_of,
};
use serde_json::{Value, json};

use crate::content;
use crate::json::{Map, flag, given, integer, string, text};

/// The model of replies that the program made itself.
const NO_MODEL: &str = "<synthetic>";

/// A line of the user: answers of tools, and whatever stands beside them.
pub(super) struct Said {
    pub(super) results: Vec<ToolResult>,
    pub(super) body: Option<Body>,
}

pub(super) fn said_by_user(line: &Map) -> Said {
    let Some(message) = line.get("message").and_then(Value::as_object) else {
        return Said { results: Vec::new(), body: Some(foreign("user")) };
    };
    let content = message.get("content");
    let items = content.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let (answers, words): (Vec<&Value>, Vec<&Value>) = items.iter().partition(is_tool_result);
    let results: Vec<ToolResult> = answers.into_iter().filter_map(tool_result).collect();
    let words = match content {
        Some(Value::String(words)) => vec![Block::Text(words.clone())],
        _ => words.into_iter().map(|item| content::one(item, block)).collect(),
    };
    let body = (results.is_empty() || !words.is_empty()).then(|| words_of_user(line, words, items));
    Said { results, body }
}

fn words_of_user(line: &Map, blocks: Vec<Block>, items: &[Value]) -> Body {
    let words = text_of(&blocks);
    let words = words.trim();
    let custom = |kind: &str, display: bool, blocks: Vec<Block>| {
        Body::CustomMessage(CustomMessage { kind: kind.to_owned(), blocks, display, attribution: None })
    };
    if words.starts_with("[Request interrupted by user") && words.ends_with(']') {
        return Body::Interrupted(Interruption::Wanted);
    }
    if flag(line, "isMeta") {
        return custom("meta", false, blocks);
    }
    if flag(line, "isVisibleInTranscriptOnly") {
        return Body::Note(Note {
            kind: "transcript-only".to_owned(),
            data: Some(json!({ "content": words })),
        });
    }
    match leading_tag(words) {
        Some("command-name" | "command-message" | "command-args") => return custom("command", true, blocks),
        Some("local-command-stdout" | "local-command-stderr") => {
            return custom("command-output", true, blocks);
        }
        Some("local-command-caveat" | "system-reminder") => return custom("meta", false, blocks),
        Some("bash-input") => {
            let command = inside(words, "bash-input").unwrap_or_default().to_owned();
            return Body::Shell(Shell { command, ..Shell::default() });
        }
        Some(kind @ ("task-notification" | "teammate-message" | "bash-stdout" | "bash-stderr")) => {
            return custom(kind, true, blocks);
        }
        Some(_) | None => {}
    }
    match speaker(line) {
        Some(other) => custom(other, true, blocks),
        None => Body::Prompt(Prompt { attachments: documents(items), blocks, said_at: None }),
    }
}

/// Who speaks where it is not a person.
pub(super) fn speaker(line: &Map) -> Option<&str> {
    let origin = line.get("origin").and_then(Value::as_object).and_then(|origin| text(origin, "kind"));
    origin
        .or_else(|| text(line, "promptSource").filter(|source| *source == "system"))
        .filter(|kind| *kind != "human")
}

/// The output of a command that the person ran, from the line behind it.
pub(super) fn shell_output(body: &Body) -> Option<String> {
    let Body::CustomMessage(message) = body else { return None };
    if message.kind != "bash-stdout" && message.kind != "bash-stderr" {
        return None;
    }
    let words = text_of(&message.blocks);
    let parts = ["bash-stdout", "bash-stderr"].into_iter().filter_map(|tag| inside(&words, tag));
    Some(parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n"))
}

pub(super) fn reply_of(line: &Map) -> Body {
    let Some(message) = line.get("message").and_then(Value::as_object) else { return foreign("assistant") };
    let blocks = blocks(message.get("content"));
    let stop = stop_of(line, message, &blocks);
    let model = text(message, "model").filter(|model| *model != NO_MODEL);
    let usage = message.get("usage").and_then(Value::as_object).map(|usage| Usage {
        input: integer(usage, "input_tokens").unwrap_or(0),
        output: integer(usage, "output_tokens").unwrap_or(0),
        cache_read: integer(usage, "cache_read_input_tokens").unwrap_or(0),
        cache_write: integer(usage, "cache_creation_input_tokens").unwrap_or(0),
        total: 0,
        cost_micros: line.get("costUSD").and_then(micro_dollars).unwrap_or(0),
    });
    Body::Reply(Reply {
        blocks,
        model: model.map(|name| Model { provider: "anthropic".to_owned(), name: name.to_owned() }),
        usage,
        stop,
        said_at: None,
        signatures: Vec::new(),
    })
}

pub(super) fn micro_dollars(dollars: &Value) -> Option<i64> {
    dollars.as_f64().map(|dollars| (dollars * 1e6).round() as i64)
}

fn stop_of(line: &Map, message: &Map, blocks: &[Block]) -> Option<Stop> {
    if flag(line, "isApiErrorMessage") {
        return Some(Stop::Error(text_of(blocks)));
    }
    if flag(line, "aborted") {
        return Some(Stop::Aborted);
    }
    Some(match text(message, "stop_reason")? {
        "end_turn" => Stop::EndTurn,
        "tool_use" => Stop::ToolUse,
        "max_tokens" => Stop::Length,
        other => Stop::Other(other.to_owned()),
    })
}

/// `content` as one string or as a list of blocks.
pub(super) fn blocks(content: Option<&Value>) -> Vec<Block> {
    content::blocks(content, block)
}

fn block(item: &Map) -> Block {
    match text(item, "type") {
        Some("text") => Block::Text(string(item, "text")),
        Some("thinking") => Block::Thinking(string(item, "thinking")),
        Some("tool_use") => Block::ToolUse(ToolUse {
            id: string(item, "id").into(),
            name: string(item, "name"),
            input: item.get("input").cloned().unwrap_or_else(|| Value::Object(Map::new())),
        }),
        Some("image") => image(item).unwrap_or_else(|| Block::Other { kind: "image".to_owned() }),
        kind => Block::Other { kind: kind.unwrap_or("unknown").to_owned() },
    }
}

fn image(item: &Map) -> Option<Block> {
    let source = item.get("source")?.as_object()?;
    let data = match text(source, "data") {
        Some(data) => ImageData::Inline(data.to_owned()),
        None => ImageData::Blob(text(source, "url").or_else(|| text(source, "file_id"))?.to_owned()),
    };
    Some(Block::Image { media_type: string(source, "media_type"), data })
}

fn is_tool_result(item: &&Value) -> bool {
    item.get("type").and_then(Value::as_str) == Some("tool_result")
}

/// The name of the tool stands with the call, in another line.
fn tool_result(item: &Value) -> Option<ToolResult> {
    let item = item.as_object()?;
    Some(ToolResult {
        call: string(item, "tool_use_id").into(),
        tool: String::new(),
        blocks: blocks(item.get("content")),
        failed: flag(item, "is_error"),
        usage: None,
        changed_input: None,
    })
}

fn documents(items: &[Value]) -> Vec<String> {
    let documents = items.iter().filter_map(Value::as_object);
    let documents = documents.filter(|item| text(item, "type") == Some("document"));
    documents.filter_map(|item| given(item, "title")?.as_str()).map(str::to_owned).collect()
}

/// The name in `<name>` or `<name …>` at the start.
fn leading_tag(words: &str) -> Option<&str> {
    let inside = words.strip_prefix('<')?;
    let end = inside.find(|letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '_'))?;
    inside.get(..end).filter(|name| !name.is_empty())
}

fn inside<'w>(words: &'w str, tag: &str) -> Option<&'w str> {
    let (_, rest) = words.split_once(&format!("<{tag}>"))?;
    Some(rest.split_once(&format!("</{tag}>")).map_or(rest, |(inside, _)| inside))
}

fn foreign(kind: &str) -> Body {
    Body::Foreign(Foreign { kind: kind.to_owned(), text: None })
}
