//! Anthropic's Messages.

use offshoot_session::{Stop, Usage};
use serde_json::{Map, Value, json};

use super::piece::{Piece, Refusal, RefusalKind};
use super::thinking::Thinking;
use super::{ModelRequest, SseEvent, json_of, thinking};
use crate::llm::conversation::{AnswerPart, Message, UserPart, wire_id, wire_name};

/// So many user messages at the end are marked: the next request finds what the last one has cached.
const MARKED_MESSAGES: usize = 2;

pub(super) fn body(request: &ModelRequest<'_>) -> Value {
    let model = request.model;
    let mut body = json!({ "model": model, "max_tokens": longest_answer(model), "stream": true });
    if let Some(object) = body.as_object_mut() {
        think(object, request);
        let system = json!([marked(json!({ "type": "text", "text": request.conversation.system }))]);
        object.insert("system".to_owned(), system);
        if !request.tools.is_empty() {
            object.insert("tools".to_owned(), tools(request));
        }
        object.insert("messages".to_owned(), messages(&request.conversation.messages));
    }
    body
}

/// In tokens; servers want to be told. Old models refuse more.
fn longest_answer(model: &str) -> u32 {
    match model {
        _ if ["claude-3-opus", "claude-3-haiku", "claude-3-sonnet"]
            .iter()
            .any(|old| model.starts_with(old)) =>
        {
            4096
        }
        _ if model.starts_with("claude-3-5") => 8192,
        _ if model.starts_with("claude-") => 32_000,
        _ => 16_000,
    }
}

fn think(body: &mut Map<String, Value>, request: &ModelRequest<'_>) {
    let Some(level) = request.thinking else { return };
    let (mode, effort) = match thinking::of_claude(request.model, level) {
        Thinking::Default => return,
        Thinking::Budget(_) if !may_think(&request.conversation.messages) => return,
        Thinking::Budget(tokens) => (json!({ "type": "enabled", "budget_tokens": tokens }), None),
        Thinking::Adaptive { effort, is_hidden: true } => {
            (json!({ "type": "adaptive", "display": "summarized" }), Some(effort))
        }
        Thinking::Adaptive { effort, is_hidden: false } => (json!({ "type": "adaptive" }), Some(effort)),
        Thinking::Disabled => (json!({ "type": "disabled" }), None),
    };
    body.insert("thinking".to_owned(), mode);
    if let Some(effort) = effort {
        body.insert("output_config".to_owned(), json!({ "effort": effort }));
    }
}

/// These models refuse to think where the last calls were made without: by another model, or before thinking was set.
fn may_think(messages: &[Message]) -> bool {
    let last = messages.iter().rev().find_map(|message| match message {
        Message::Answer(parts) => Some(parts),
        Message::User(_) => None,
    });
    let calls = |parts: &Vec<AnswerPart>| parts.iter().any(|part| matches!(part, AnswerPart::Call { .. }));
    let thinks = |parts: &Vec<AnswerPart>| {
        matches!(parts.first(), Some(AnswerPart::Thinking { .. } | AnswerPart::RedactedThinking(_)))
    };
    last.is_none_or(|parts| !calls(parts) || thinks(parts))
}

/// The server may keep everything up to here.
fn marked(mut value: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
    value
}

fn tools(request: &ModelRequest<'_>) -> Value {
    let last = request.tools.len().saturating_sub(1);
    let tools = request.tools.iter().enumerate().map(|(at, tool)| {
        let tool = json!({ "name": tool.name, "description": tool.description, "input_schema": tool.schema });
        if at == last { marked(tool) } else { tool }
    });
    tools.collect()
}

fn messages(messages: &[Message]) -> Value {
    let mut rendered: Vec<Value> = messages.iter().map(message).collect();
    let users = rendered.iter_mut().rev().filter(|message| message.get("role") == Some(&json!("user")));
    for message in users.take(MARKED_MESSAGES) {
        let content = message.get_mut("content").and_then(Value::as_array_mut);
        if let Some(last) = content.and_then(|content| content.last_mut()) {
            *last = marked(last.take());
        }
    }
    Value::Array(rendered)
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(parts) => {
            json!({ "role": "user", "content": parts.iter().map(user_part).collect::<Vec<_>>() })
        }
        Message::Answer(parts) => {
            json!({ "role": "assistant", "content": parts.iter().map(answer_part).collect::<Vec<_>>() })
        }
    }
}

fn user_part(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) => json!({ "type": "text", "text": text }),
        UserPart::Image { media_type, base64 } => image(media_type, base64),
        UserPart::Result { call, text, images, failed } => {
            let mut content = Vec::new();
            // Servers refuse a text of spaces.
            if !text.trim().is_empty() {
                content.push(json!({ "type": "text", "text": text }));
            }
            content.extend(images.iter().map(|(media_type, base64)| image(media_type, base64)));
            let mut result =
                json!({ "type": "tool_result", "tool_use_id": wire_id(call), "content": content });
            if let (true, Some(object)) = (*failed, result.as_object_mut()) {
                object.insert("is_error".to_owned(), Value::Bool(true));
            }
            result
        }
    }
}

fn image(media_type: &str, base64: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": base64 } })
}

fn answer_part(part: &AnswerPart) -> Value {
    match part {
        AnswerPart::Text(text) => json!({ "type": "text", "text": text }),
        AnswerPart::Thinking { text, signature } => {
            json!({ "type": "thinking", "thinking": text, "signature": signature })
        }
        AnswerPart::RedactedThinking(data) => json!({ "type": "redacted_thinking", "data": data }),
        AnswerPart::Call { id, name, input } => {
            json!({ "type": "tool_use", "id": wire_id(id), "name": wire_name(name), "input": input })
        }
    }
}

/// Blocks of this protocol have numbers of their own, so nothing is kept between events.
#[derive(Debug)]
pub(super) struct Decoder;

impl Decoder {
    pub(super) fn read(&mut self, event: &SseEvent) -> Vec<Piece> {
        let data = match json_of(event) {
            Ok(Some(data)) => data,
            Ok(None) => return Vec::new(),
            Err(unreadable) => return vec![unreadable],
        };
        let kind = text(&data, "type");
        let block = data.get("index").and_then(Value::as_u64).and_then(|at| u32::try_from(at).ok());
        let block = block.unwrap_or_default();
        match kind {
            "message_start" => usage(data.pointer("/message/usage")),
            "content_block_start" => block_start(block, data.get("content_block").unwrap_or(&Value::Null)),
            "content_block_delta" => delta(block, data.get("delta").unwrap_or(&Value::Null)),
            "content_block_stop" => vec![Piece::BlockEnded { block }],
            "message_delta" => {
                let mut pieces = usage(data.get("usage"));
                let reason = data.pointer("/delta/stop_reason").and_then(Value::as_str);
                pieces.extend(reason.map(|reason| Piece::Stop(stop(reason))));
                pieces
            }
            "message_stop" => vec![Piece::End],
            "error" => vec![Piece::Error(refusal(data.get("error").unwrap_or(&Value::Null)))],
            _ => Vec::new(), // pings, and kinds of later versions
        }
    }
}

fn block_start(block: u32, content: &Value) -> Vec<Piece> {
    match text(content, "type") {
        "text" => some_text(block, text(content, "text")),
        "thinking" => {
            let mut pieces = some_thinking(block, text(content, "thinking"));
            pieces.extend(signature(block, text(content, "signature")));
            pieces
        }
        "redacted_thinking" => {
            vec![Piece::RedactedThinking { block, data: text(content, "data").to_owned() }]
        }
        "tool_use" => {
            let id = Some(text(content, "id")).filter(|id| !id.is_empty()).map(str::to_owned);
            let mut pieces = vec![Piece::CallStarted { block, id, name: text(content, "name").to_owned() }];
            let input = content.get("input").and_then(Value::as_object).filter(|input| !input.is_empty());
            pieces.extend(input.map(|input| {
                let json = Value::Object(input.clone()).to_string();
                Piece::CallInput { block, json }
            }));
            pieces
        }
        _ => Vec::new(),
    }
}

fn delta(block: u32, delta: &Value) -> Vec<Piece> {
    match text(delta, "type") {
        "text_delta" => some_text(block, text(delta, "text")),
        "thinking_delta" => some_thinking(block, text(delta, "thinking")),
        "signature_delta" => signature(block, text(delta, "signature")).into_iter().collect(),
        "input_json_delta" => {
            let json = text(delta, "partial_json");
            if json.is_empty() { Vec::new() } else { vec![Piece::CallInput { block, json: json.to_owned() }] }
        }
        _ => Vec::new(),
    }
}

fn some_text(block: u32, text: &str) -> Vec<Piece> {
    if text.is_empty() { Vec::new() } else { vec![Piece::Text { block, text: text.to_owned() }] }
}

fn some_thinking(block: u32, text: &str) -> Vec<Piece> {
    if text.is_empty() { Vec::new() } else { vec![Piece::Thinking { block, text: text.to_owned() }] }
}

fn signature(block: u32, data: &str) -> Option<Piece> {
    (!data.is_empty()).then(|| Piece::Signature { block, data: data.to_owned() })
}

fn usage(usage: Option<&Value>) -> Vec<Piece> {
    let Some(usage) = usage else { return Vec::new() };
    let count = |key: &str| usage.get(key).and_then(Value::as_i64).unwrap_or_default();
    let usage = Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cache_read: count("cache_read_input_tokens"),
        cache_write: count("cache_creation_input_tokens"),
        ..Usage::default()
    };
    vec![Piece::Usage(usage)]
}

fn stop(reason: &str) -> Stop {
    match reason {
        "end_turn" | "stop_sequence" => Stop::EndTurn,
        "tool_use" => Stop::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => Stop::Length,
        other => Stop::Other(other.to_owned()),
    }
}

/// The `error` of an event or of the body of a refusal.
pub(super) fn refusal(error: &Value) -> Refusal {
    let message = text(error, "message");
    let kind = match text(error, "type") {
        "authentication_error" | "permission_error" => RefusalKind::SignIn,
        "rate_limit_error" => RefusalKind::RateLimited,
        "overloaded_error" => RefusalKind::Overloaded,
        "request_too_large" => RefusalKind::ContextFull,
        "invalid_request_error" if Refusal::says_too_long(message) => RefusalKind::ContextFull,
        "invalid_request_error" | "not_found_error" => RefusalKind::Invalid,
        _ => RefusalKind::Server,
    };
    Refusal::new(kind, message)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
