//! A message as pi writes it, in our vocabulary.

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, BranchSummary, Compaction, CustomMessage, EntryId, FileLists, Foreign, ImageData, Model,
    Prompt, Reply, Shell, Stop, System, ToolResult, ToolUse, Usage, text_of,
};
use serde_json::Value;

use crate::content;
use crate::json::{Map, file_lists, flag, given, integer, string, strings, text, timestamp};

/// What somebody said. A role this version does not know is kept by name.
pub fn body_of_message(message: &Value) -> Body {
    let Value::Object(message) = message else {
        return Body::Foreign(Foreign { kind: "message".to_owned(), text: None });
    };
    let blocks = || blocks(message.get("content"));
    match text(message, "role") {
        Some("user") => {
            let attachments = strings(message, "attachments");
            Body::Prompt(Prompt { blocks: blocks(), attachments, said_at: said_at(message) })
        }
        Some("assistant") => Body::Reply(Reply {
            blocks: blocks(),
            model: text(message, "model")
                .map(|name| Model { provider: string(message, "provider"), name: name.to_owned() }),
            usage: message.get("usage").and_then(usage_of),
            stop: stop_of(message),
            said_at: said_at(message),
            signatures: Vec::new(),
        }),
        Some("toolResult") => Body::ToolResult(ToolResult {
            call: string(message, "toolCallId").into(),
            tool: string(message, "toolName"),
            blocks: blocks(),
            failed: flag(message, "isError"),
            usage: spent_on(message),
            changed_input: None,
        }),
        Some("bashExecution") => Body::Shell(shell_of(message)),
        Some("custom" | "hookMessage") => Body::CustomMessage(custom_message_of(message)),
        Some("system" | "developer") => Body::System(System { text: system_text(message) }),
        Some("branchSummary") => Body::BranchSummary(branch_summary_of(message)),
        Some("compactionSummary") => Body::Compaction(compaction_of(message)),
        role => Body::Foreign(Foreign {
            kind: role.unwrap_or("message").to_owned(),
            text: Some(text_of(&blocks())).filter(|text| !text.is_empty()),
        }),
    }
}

/// When a message began; its line is written when it has ended.
fn said_at(message: &Map) -> Option<Timestamp> {
    message.get("timestamp").and_then(timestamp)
}

/// What a message or a line that is not a reply reports as used.
fn spent_on(line: &Map) -> Option<Box<Usage>> {
    line.get("usage").and_then(usage_of).map(Box::new)
}

/// Tokens and money; `None` where it is not an object.
pub fn usage_of(usage: &Value) -> Option<Usage> {
    let usage = usage.as_object()?;
    let count = |key| integer(usage, key).unwrap_or(0);
    Some(Usage {
        input: count("input"),
        output: count("output"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
        total: count("totalTokens"),
        cost_micros: usage.get("cost").map_or(0, micro_dollars),
    })
}

fn micro_dollars(cost: &Value) -> i64 {
    let dollars = match cost {
        Value::Object(parts) => parts.get("total").and_then(Value::as_f64).unwrap_or_else(|| {
            let parts = ["input", "output", "cacheRead", "cacheWrite"];
            parts.iter().filter_map(|part| cost.get(*part).and_then(Value::as_f64)).sum()
        }),
        Value::Number(number) => number.as_f64().unwrap_or(0.0),
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => 0.0,
    };
    (dollars * 1e6).round() as i64
}

/// `content` as one string or as a list of blocks.
pub(crate) fn blocks(content: Option<&Value>) -> Vec<Block> {
    content::blocks(content, block)
}

fn block(item: &Map) -> Block {
    match text(item, "type") {
        Some("text") => Block::Text(string(item, "text")),
        Some("thinking") => Block::Thinking(string(item, "thinking")),
        Some("image") => Block::Image {
            media_type: string(item, "mimeType"),
            data: image_data(text(item, "data").unwrap_or_default()),
        },
        Some("toolCall") => Block::ToolUse(ToolUse {
            id: string(item, "id").into(),
            name: string(item, "name"),
            input: item.get("arguments").cloned().unwrap_or_else(|| Value::Object(Map::new())),
        }),
        kind => Block::Other { kind: kind.unwrap_or("unknown").to_owned() },
    }
}

fn image_data(data: &str) -> ImageData {
    match data.strip_prefix("blob:") {
        Some(name) => ImageData::Blob(name.to_owned()),
        None => ImageData::Inline(data.to_owned()),
    }
}

fn stop_of(message: &Map) -> Option<Stop> {
    Some(match text(message, "stopReason")? {
        "stop" => Stop::EndTurn,
        "toolUse" => Stop::ToolUse,
        "length" => Stop::Length,
        "aborted" => Stop::Aborted,
        "error" => Stop::Error(string(message, "errorMessage")),
        other => Stop::Other(other.to_owned()),
    })
}

fn shell_of(message: &Map) -> Shell {
    let is_whole = message.get("truncated").and_then(Value::as_bool) == Some(false);
    Shell {
        command: string(message, "command"),
        output: string(message, "output"),
        exit_code: integer(message, "exitCode"),
        cancelled: flag(message, "cancelled"),
        full_output: text(message, "fullOutputPath").filter(|_| !is_whole).map(str::to_owned),
        private: flag(message, "excludeFromContext"),
    }
}

pub(super) fn custom_message_of(message: &Map) -> CustomMessage {
    CustomMessage {
        kind: string(message, "customType"),
        blocks: blocks(message.get("content")),
        display: message.get("display").and_then(Value::as_bool).unwrap_or(true),
        attribution: text(message, "attribution").map(str::to_owned),
    }
}

/// Newer versions keep the instructions in named sections beside an empty content.
fn system_text(message: &Map) -> String {
    let words = text_of(&blocks(message.get("content")));
    match message.get("sections").and_then(Value::as_object) {
        Some(sections) if words.is_empty() => {
            sections.values().filter_map(Value::as_str).collect::<Vec<_>>().join("\n\n")
        }
        Some(_) | None => words,
    }
}

pub(super) fn branch_summary_of(line: &Map) -> BranchSummary {
    let from_extension = from_extension(line);
    BranchSummary {
        summary: string(line, "summary"),
        from: text(line, "fromId").filter(|from| *from != "root").map(EntryId::from),
        left: text(line, "abandonedLeafId").map(EntryId::from),
        files: files_of(line, from_extension),
        details: given(line, "details").cloned(),
        from_extension,
        usage: spent_on(line),
    }
}

pub(super) fn compaction_of(line: &Map) -> Compaction {
    let from_extension = from_extension(line);
    Compaction {
        summary: string(line, "summary"),
        first_kept: text(line, "firstKeptEntryId").map(EntryId::from),
        tokens_before: integer(line, "tokensBefore").unwrap_or(0),
        files: files_of(line, from_extension),
        details: given(line, "details").cloned(),
        from_extension,
        usage: spent_on(line),
        system: line.get("systemMessage").and_then(Value::as_object).map(|system| system_text(system).into()),
    }
}

fn from_extension(line: &Map) -> bool {
    flag(line, "fromHook") || flag(line, "fromExtension")
}

/// What an extension attached may only look like lists of files.
fn files_of(line: &Map, from_extension: bool) -> FileLists {
    match given(line, "details") {
        Some(details) if !from_extension => file_lists(details),
        Some(_) | None => FileLists::default(),
    }
}
