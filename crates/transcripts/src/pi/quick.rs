//! A message of pi read straight into our vocabulary, without a tree of JSON between.
//!
//! Only what pi itself writes is understood here; anything else is `None`, and the line is read the patient way.
//! Both ways give the same entry.

use std::borrow::Cow;

use offshoot_session::quick_json;
use offshoot_session::skeleton::Moment;
use offshoot_session::{
    Block, Body, EntryId, ImageData, Model, Prompt, Reply, Shell, Stop, ToolResult, ToolUse, Usage,
};
use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::{Number, Value};

use super::skim::LineEntry;
use crate::json::{Map, timestamp};

#[derive(Deserialize)]
struct Line<'l> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'l, str>,
    #[serde(borrow)]
    id: Cow<'l, str>,
    #[serde(borrow, rename = "parentId")]
    parent: Option<Cow<'l, str>>,
    #[serde(borrow)]
    timestamp: Cow<'l, str>,
    #[serde(borrow)]
    message: Message<'l>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message<'l> {
    #[serde(borrow)]
    role: Cow<'l, str>,
    #[serde(default)]
    content: Content,
    timestamp: Option<Number>,
    attachments: Option<IgnoredAny>,
    provider: Option<String>,
    model: Option<String>,
    usage: Option<UsageWords>,
    #[serde(borrow)]
    stop_reason: Option<Cow<'l, str>>,
    error_message: Option<String>,
    tool_call_id: Option<String>,
    tool_name: Option<String>,
    is_error: Option<bool>,
    command: Option<String>,
    output: Option<String>,
    exit_code: Option<i64>,
    cancelled: Option<bool>,
    truncated: Option<bool>,
    full_output_path: Option<String>,
    exclude_from_context: Option<bool>,
}

#[derive(Default)]
struct Content(Vec<Block>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Item<'l> {
    #[serde(borrow, rename = "type")]
    kind: Option<Cow<'l, str>>,
    text: Option<String>,
    thinking: Option<String>,
    mime_type: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UsageWords {
    input: Option<i64>,
    output: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
    total_tokens: Option<i64>,
    cost: Option<Cost>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    total: Option<f64>,
    input: Option<f64>,
    output: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

pub(super) fn entry(line: &[u8]) -> Option<LineEntry> {
    // Other kinds are rare; not even beginning with them is quicker than giving up in the middle.
    if !line.starts_with(br#"{"type":"message""#) {
        return None;
    }
    let line: Line<'_> = quick_json::from_slice(line).ok()?;
    if line.kind != "message" || line.id.is_empty() || line.message.attachments.is_some() {
        return None;
    }
    let written_at = Moment::read(&line.timestamp)?.timestamp();
    let parent = line.parent.filter(|parent| !parent.is_empty());
    Some(LineEntry {
        id: line.id.as_ref().into(),
        parent: parent.map(|parent| EntryId::from(parent.as_ref())),
        written_at: Some(written_at),
        body: body(line.message)?,
    })
}

fn body(message: Message<'_>) -> Option<Body> {
    let said_at = message.timestamp.and_then(|number| timestamp(&Value::Number(number)));
    let blocks = message.content.0;
    Some(match message.role.as_ref() {
        "user" => Body::Prompt(Prompt { blocks, attachments: Vec::new(), said_at }),
        "assistant" => Body::Reply(Reply {
            blocks,
            model: message.model.map(|name| Model { provider: message.provider.unwrap_or_default(), name }),
            usage: message.usage.map(usage),
            stop: message.stop_reason.map(|reason| match reason.as_ref() {
                "stop" => Stop::EndTurn,
                "toolUse" => Stop::ToolUse,
                "length" => Stop::Length,
                "aborted" => Stop::Aborted,
                "error" => Stop::Error(message.error_message.unwrap_or_default()),
                other => Stop::Other(other.to_owned()),
            }),
            said_at,
            signatures: Vec::new(),
        }),
        "toolResult" => Body::ToolResult(ToolResult {
            call: message.tool_call_id.unwrap_or_default().into(),
            tool: message.tool_name.unwrap_or_default(),
            blocks,
            failed: message.is_error.unwrap_or(false),
            usage: message.usage.map(|words| Box::new(usage(words))),
            changed_input: None,
        }),
        "bashExecution" => Body::Shell(Shell {
            command: message.command.unwrap_or_default(),
            output: message.output.unwrap_or_default(),
            exit_code: message.exit_code,
            cancelled: message.cancelled.unwrap_or(false),
            full_output: message.full_output_path.filter(|_| message.truncated != Some(false)),
            private: message.exclude_from_context.unwrap_or(false),
        }),
        _ => return None,
    })
}

fn block(item: Item<'_>) -> Block {
    match item.kind.as_deref() {
        Some("text") => Block::Text(item.text.unwrap_or_default()),
        Some("thinking") => Block::Thinking(item.thinking.unwrap_or_default()),
        Some("image") => {
            let data = item.data.unwrap_or_default();
            let data = match data.strip_prefix("blob:") {
                Some(name) => ImageData::Blob(name.to_owned()),
                None => ImageData::Inline(data),
            };
            Block::Image { media_type: item.mime_type.unwrap_or_default(), data }
        }
        Some("toolCall") => Block::ToolUse(ToolUse {
            id: item.id.unwrap_or_default().into(),
            name: item.name.unwrap_or_default(),
            input: item.arguments.unwrap_or_else(|| Value::Object(Map::new())),
        }),
        kind => Block::Other { kind: kind.unwrap_or("unknown").to_owned() },
    }
}

fn usage(usage: UsageWords) -> Usage {
    let cost = usage.cost.map_or(0.0, |cost| {
        let parts = [cost.input, cost.output, cost.cache_read, cost.cache_write];
        cost.total.unwrap_or_else(|| parts.into_iter().flatten().sum())
    });
    Usage {
        input: usage.input.unwrap_or(0),
        output: usage.output.unwrap_or(0),
        cache_read: usage.cache_read.unwrap_or(0),
        cache_write: usage.cache_write.unwrap_or(0),
        total: usage.total_tokens.unwrap_or(0),
        cost_micros: (cost * 1e6).round() as i64,
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringOrItems;

        impl<'de> Visitor<'de> for StringOrItems {
            type Value = Content;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string or a list of blocks")
            }

            fn visit_str<E>(self, words: &str) -> Result<Content, E> {
                Ok(Content(vec![Block::Text(words.to_owned())]))
            }

            fn visit_string<E>(self, words: String) -> Result<Content, E> {
                Ok(Content(vec![Block::Text(words)]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Content, A::Error> {
                let mut blocks = Vec::new();
                while let Some(item) = items.next_element::<Item<'de>>()? {
                    blocks.push(block(item));
                }
                Ok(Content(blocks))
            }
        }

        deserializer.deserialize_any(StringOrItems)
    }
}
