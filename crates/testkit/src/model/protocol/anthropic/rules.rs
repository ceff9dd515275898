//! The rules of Anthropic's Messages that the real server answers with status 400. Fields that are not named here are not
//! checked: a later version may know them.

use std::collections::HashSet;

use serde_json::Value;

use crate::model::asked::{list, text};
use crate::model::http::Head;

/// The real server counts the marks in the tools, the instructions and the messages together.
const MOST_CACHE_MARKS: usize = 4;

const FEWEST_BUDGET_TOKENS: u64 = 1024;

const IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

pub(crate) fn check(head: &Head, body: &Value) -> Result<(), String> {
    if head.header("anthropic-version").is_none() {
        return Err("anthropic-version: header is required".to_owned());
    }
    if text(body, "model").is_empty() {
        return Err("model: Field required".to_owned());
    }
    let max_tokens = body.get("max_tokens").and_then(Value::as_u64).filter(|tokens| *tokens > 0);
    let max_tokens = max_tokens.ok_or("max_tokens: Field required")?;
    let may_exceed = head.header("anthropic-beta").is_some_and(|beta| beta.contains("interleaved-thinking"));
    check_thinking(&body["thinking"], max_tokens, may_exceed)?;
    check_tools(list(body, "tools"))?;
    for (at, block) in list(body, "system").iter().enumerate() {
        check_text(&format!("system.{at}"), block)?;
    }
    let marks = ["system", "tools", "messages"].map(|key| cache_marks(&body[key]));
    let marks: usize = marks.into_iter().sum();
    if marks > MOST_CACHE_MARKS {
        let most = MOST_CACHE_MARKS;
        return Err(format!("A maximum of {most} blocks with cache_control may be provided. Found {marks}."));
    }
    check_messages(list(body, "messages"))
}

fn check_thinking(thinking: &Value, max_tokens: u64, may_exceed: bool) -> Result<(), String> {
    match text(thinking, "type") {
        "enabled" => {
            let budget = thinking.get("budget_tokens").and_then(Value::as_u64);
            let budget = budget.ok_or("thinking.enabled.budget_tokens: Field required")?;
            if budget < FEWEST_BUDGET_TOKENS {
                return Err("thinking.enabled.budget_tokens: Input should be at least 1024".to_owned());
            }
            if budget >= max_tokens && !may_exceed {
                return Err("`max_tokens` must be greater than `thinking.budget_tokens`".to_owned());
            }
            Ok(())
        }
        "" if !thinking.is_null() => Err("thinking.type: Field required".to_owned()),
        _ => Ok(()),
    }
}

fn check_tools(tools: &[Value]) -> Result<(), String> {
    let mut names = HashSet::new();
    for tool in tools {
        let name = text(tool, "name");
        if !is_plain(name, 128) {
            return Err(format!("tools: `{name}` should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"));
        }
        if !names.insert(name) {
            return Err("tools: Tool names must be unique.".to_owned());
        }
    }
    Ok(())
}

fn check_messages(messages: &[Value]) -> Result<(), String> {
    if messages.is_empty() {
        return Err("messages: at least one message is required".to_owned());
    }
    let mut ids = HashSet::new();
    // Calls of the message above that have no result yet.
    let mut open: Vec<&str> = Vec::new();
    for (at, (role, content)) in merged(messages).into_iter().enumerate() {
        if !matches!(role, "user" | "assistant" | "system") {
            return Err(format!("messages.{at}.role: Unexpected role `{role}`"));
        }
        if at == 0 && role == "assistant" {
            return Err("messages: first message must use the \"user\" role".to_owned());
        }
        if content.is_empty() {
            return Err(format!("messages.{at}: all messages must have non-empty content"));
        }
        let mut is_behind_results = false;
        for (number, part) in content.iter().enumerate() {
            let place = format!("messages.{at}.content.{number}");
            let Part::Block(block) = part else { continue };
            check_block(&place, role, block)?;
            match text(block, "type") {
                "tool_result" => {
                    let id = text(block, "tool_use_id");
                    if is_behind_results && !open.is_empty() {
                        return Err(without_results(at.saturating_sub(1), &open));
                    }
                    let Some(answered) = open.iter().position(|call| *call == id) else {
                        return Err(format!(
                            "{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                             `tool_result` block must have a corresponding `tool_use` block in the previous message."
                        ));
                    };
                    open.remove(answered);
                }
                _ => is_behind_results = true,
            }
        }
        if !open.is_empty() {
            return Err(without_results(at.saturating_sub(1), &open));
        }
        for part in &content {
            let Part::Block(block) = part else { continue };
            if text(block, "type") == "tool_use" {
                open.push(text(block, "id"));
                if !ids.insert(text(block, "id")) {
                    return Err(format!("messages.{at}: `tool_use` ids must be unique"));
                }
            }
        }
        let last = content.last().map(Part::kind).unwrap_or_default();
        if role == "assistant" && matches!(last, "thinking" | "redacted_thinking") {
            return Err(format!(
                "messages.{at}: The final block in an assistant message cannot be `thinking`."
            ));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(without_results(messages.len() - 1, &open)) }
}

fn without_results(at: usize, calls: &[&str]) -> String {
    format!(
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` \
         block must have a corresponding `tool_result` block in the next message.",
        calls.join(", ")
    )
}

/// A content that is a string is one text.
enum Part<'b> {
    Text,
    Block(&'b Value),
}

impl Part<'_> {
    fn kind(&self) -> &str {
        match self {
            Self::Text => "text",
            Self::Block(block) => text(block, "type"),
        }
    }
}

/// Messages of one role in a row are one message.
fn merged(messages: &[Value]) -> Vec<(&str, Vec<Part<'_>>)> {
    let mut merged: Vec<(&str, Vec<Part<'_>>)> = Vec::new();
    for message in messages {
        let parts: Vec<Part<'_>> = match &message["content"] {
            Value::String(text) if !text.is_empty() => vec![Part::Text],
            Value::Array(blocks) => blocks.iter().map(Part::Block).collect(),
            _ => Vec::new(),
        };
        let role = text(message, "role");
        match merged.last_mut().filter(|(last, _)| *last == role) {
            Some((_, all)) if !parts.is_empty() => all.extend(parts),
            Some(_) | None => merged.push((role, parts)),
        }
    }
    merged
}

fn check_block(place: &str, role: &str, block: &Value) -> Result<(), String> {
    let required = |key: &str| {
        let is_there = !text(block, key).is_empty();
        if is_there { Ok(()) } else { Err(format!("{place}.{}.{key}: Field required", text(block, "type"))) }
    };
    let only_in = |wanted: &str| {
        let kind = text(block, "type");
        if role == wanted {
            Ok(())
        } else {
            Err(format!("{place}: `{kind}` blocks are only allowed in {wanted} messages"))
        }
    };
    match text(block, "type") {
        "" => Err(format!("{place}.type: Field required")),
        "text" => check_text(place, block),
        "image" => check_image(place, block),
        "thinking" => {
            required("signature")?;
            only_in("assistant")
        }
        "redacted_thinking" => {
            required("data")?;
            only_in("assistant")
        }
        "tool_use" => {
            only_in("assistant")?;
            if !is_plain(text(block, "id"), usize::MAX) {
                return Err(format!("{place}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"));
            }
            if !is_plain(text(block, "name"), 200) {
                return Err(format!("{place}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]+$'"));
            }
            if block["input"].is_object() {
                Ok(())
            } else {
                Err(format!("{place}.tool_use.input: Input should be a valid dictionary"))
            }
        }
        "tool_result" => {
            required("tool_use_id")?;
            only_in("user")?;
            let images = list(block, "content").iter().filter(|inner| text(inner, "type") == "image");
            images.enumerate().try_for_each(|(number, image)| {
                check_image(&format!("{place}.tool_result.content.{number}"), image)
            })
        }
        _ => Ok(()), // documents, searches and what later versions know
    }
}

fn check_text(place: &str, block: &Value) -> Result<(), String> {
    if text(block, "type") == "text" && text(block, "text").trim().is_empty() {
        return Err(format!("{place}: text content blocks must contain non-whitespace text"));
    }
    Ok(())
}

fn check_image(place: &str, block: &Value) -> Result<(), String> {
    let source = &block["source"];
    if text(source, "type") != "base64" {
        return Ok(());
    }
    if !IMAGE_TYPES.contains(&text(source, "media_type")) {
        let known = IMAGE_TYPES.map(|kind| format!("'{kind}'")).join(", ");
        return Err(format!("{place}.image.source.base64.media_type: Input should be {known}"));
    }
    if text(source, "data").is_empty() {
        return Err(format!("{place}.image.source.base64: image cannot be empty"));
    }
    Ok(())
}

fn is_plain(name: &str, longest: usize) -> bool {
    let is_plain_char = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    (1..=longest).contains(&name.len()) && name.chars().all(is_plain_char)
}

fn cache_marks(value: &Value) -> usize {
    match value {
        Value::Object(object) => {
            let own = usize::from(object.get("cache_control").is_some_and(|mark| !mark.is_null()));
            // The input of a call and a schema are data of others.
            let below = object.iter().filter(|(key, _)| !matches!(key.as_str(), "input" | "input_schema"));
            own + below.map(|(_, value)| cache_marks(value)).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(cache_marks).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
