//! OpenAI's Chat Completions, as OpenAI, Ollama, llama.cpp, vLLM and many gateways speak it.
//!
//! They differ in small things, all of which are read: reasoning is called `reasoning_content` or `reasoning`, the usage comes
//! with the last choice or in a chunk of its own behind it, calls have ids or none, and some servers send a call whole.

use std::collections::BTreeMap;

use offshoot_session::{Stop, Usage};
use serde_json::{Map, Value, json};

use super::piece::{Piece, Refusal, RefusalKind};
use super::{ModelRequest, SseEvent, json_of, thinking};
use crate::llm::conversation::{AnswerPart, Message, UserPart, wire_id, wire_name};

pub(super) fn body(request: &ModelRequest<'_>) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.into());
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    if let Some(effort) = request.thinking.and_then(|level| thinking::openai_effort(request.model, level)) {
        body.insert("reasoning_effort".to_owned(), effort.into());
    }
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|tool| {
            let function =
                json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema });
            json!({ "type": "function", "function": function })
        });
        body.insert("tools".to_owned(), tools.collect());
    }
    let mut messages = vec![json!({ "role": "system", "content": request.conversation.system })];
    for message in &request.conversation.messages {
        match message {
            Message::User(parts) => messages.extend(user_messages(parts)),
            Message::Answer(parts) => messages.push(answer_message(parts)),
        }
    }
    body.insert("messages".to_owned(), messages.into());
    Value::Object(body)
}

/// Results are messages of their own, before everything else. They have no images, so a user message behind them has those.
fn user_messages(parts: &[UserPart]) -> Vec<Value> {
    let (mut messages, mut content) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            UserPart::Text(text) => content.push(json!({ "type": "text", "text": text })),
            UserPart::Image { media_type, base64 } => content.push(image(media_type, base64)),
            UserPart::Result { call, text, images, .. } => {
                messages.push(json!({ "role": "tool", "tool_call_id": wire_id(call), "content": text }));
                content.extend(images.iter().map(|(media_type, base64)| image(media_type, base64)));
            }
        }
    }
    match content.as_slice() {
        [] => {}
        // Small servers read only this form.
        [only] if only.get("text").is_some() => {
            messages.push(json!({ "role": "user", "content": only.get("text") }));
        }
        _ => messages.push(json!({ "role": "user", "content": content })),
    }
    messages
}

fn image(media_type: &str, base64: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{media_type};base64,{base64}") } })
}

/// Thinking stays here: no server of this protocol reads it again.
fn answer_message(parts: &[AnswerPart]) -> Value {
    let (mut words, mut calls) = (Vec::new(), Vec::new());
    for part in parts {
        match part {
            AnswerPart::Text(text) => words.push(text.as_str()),
            AnswerPart::Call { id, name, input } => calls.push(json!({
                "id": wire_id(id), "type": "function",
                "function": { "name": wire_name(name), "arguments": input.to_string() },
            })),
            AnswerPart::Thinking { .. } | AnswerPart::RedactedThinking(_) => {}
        }
    }
    let content = if words.is_empty() { Value::Null } else { words.join("\n\n").into() };
    let mut message = json!({ "role": "assistant", "content": content });
    if let (false, Some(object)) = (calls.is_empty(), message.as_object_mut()) {
        object.insert("tool_calls".to_owned(), calls.into());
    }
    message
}

/// Text, thinking and each call become a block when they begin.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    blocks: u32,
    open: Option<(Field, u32)>,
    /// The block and the id of each call by its number in the stream.
    calls: BTreeMap<u64, (u32, Option<String>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Text,
    Thinking,
    Call,
}

impl Decoder {
    pub(super) fn read(&mut self, event: &SseEvent) -> Vec<Piece> {
        if event.data.trim() == "[DONE]" {
            return vec![Piece::End];
        }
        let chunk = match json_of(event) {
            Ok(Some(chunk)) => chunk,
            Ok(None) => return Vec::new(),
            Err(unreadable) => return vec![unreadable],
        };
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return vec![Piece::Error(refusal(error))];
        }
        let mut pieces = Vec::new();
        let choice = chunk.pointer("/choices/0");
        // Some servers do not stream, and answer with a whole message.
        let delta = choice.and_then(|choice| choice.get("delta").or_else(|| choice.get("message")));
        if let Some(delta) = delta {
            let reasoning = ["reasoning_content", "reasoning"].map(|name| text(delta, name));
            let reasoning = reasoning.into_iter().find(|words| !words.is_empty()).unwrap_or_default();
            pieces.extend(self.words(Field::Thinking, reasoning));
            pieces.extend(self.words(Field::Text, text(delta, "content")));
            pieces.extend(self.words(Field::Text, text(delta, "refusal")));
            let calls = delta.get("tool_calls").and_then(Value::as_array);
            for call in calls.into_iter().flatten() {
                pieces.extend(self.call(call));
            }
        }
        let reason = choice.and_then(|choice| choice.get("finish_reason")).and_then(Value::as_str);
        pieces.extend(usage(chunk.get("usage")));
        pieces.extend(reason.map(|reason| Piece::Stop(self.stop(reason))));
        pieces
    }

    fn words(&mut self, field: Field, words: &str) -> Option<Piece> {
        if words.is_empty() {
            return None;
        }
        let block = match self.open {
            Some((open, block)) if open == field => block,
            Some(_) | None => self.next_block(field),
        };
        let text = words.to_owned();
        Some(if field == Field::Thinking {
            Piece::Thinking { block, text }
        } else {
            Piece::Text { block, text }
        })
    }

    /// A call is named when it begins. Some servers give calls no numbers, and some the same number but other ids.
    fn call(&mut self, call: &Value) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let id = Some(text(call, "id")).filter(|id| !id.is_empty()).map(str::to_owned);
        let function = call.get("function").unwrap_or(&Value::Null);
        let name = text(function, "name");
        let known = self.calls.len() as u64;
        let number = call.get("index").and_then(Value::as_u64);
        let number = number.unwrap_or(if name.is_empty() { known.saturating_sub(1) } else { known });
        let is_same = |begun: &&(u32, Option<String>)| name.is_empty() || id.is_none() || begun.1 == id;
        let block = match self.calls.get(&number).filter(is_same) {
            Some((block, _)) => *block,
            None => {
                let block = self.next_block(Field::Call);
                self.calls.insert(number, (block, id.clone()));
                pieces.push(Piece::CallStarted { block, id, name: name.to_owned() });
                block
            }
        };
        // Some servers send the input as an object.
        let input = match function.get("arguments") {
            Some(Value::String(json)) => json.clone(),
            Some(Value::Object(input)) => Value::Object(input.clone()).to_string(),
            _ => String::new(),
        };
        if !input.is_empty() {
            pieces.push(Piece::CallInput { block, json: input });
        }
        pieces
    }

    fn next_block(&mut self, field: Field) -> u32 {
        let block = self.blocks;
        self.blocks += 1;
        self.open = Some((field, block));
        block
    }

    /// Some servers say `stop` behind calls.
    fn stop(&self, reason: &str) -> Stop {
        match reason {
            "tool_calls" | "function_call" => Stop::ToolUse,
            "stop" if !self.calls.is_empty() => Stop::ToolUse,
            "stop" => Stop::EndTurn,
            "length" => Stop::Length,
            other => Stop::Other(other.to_owned()),
        }
    }
}

/// The input that was read from the cache is counted in the whole input, too.
fn usage(usage: Option<&Value>) -> Option<Piece> {
    let usage = usage.filter(|usage| usage.is_object())?;
    let count = |pointer: &str| usage.pointer(pointer).and_then(Value::as_i64).unwrap_or_default();
    let cache_read = count("/prompt_tokens_details/cached_tokens");
    Some(Piece::Usage(Usage {
        input: count("/prompt_tokens").saturating_sub(cache_read),
        output: count("/completion_tokens"),
        cache_read,
        ..Usage::default()
    }))
}

/// The `error` of a chunk or of the body of a refusal: an object, or only text.
pub(super) fn refusal(error: &Value) -> Refusal {
    let message = error.as_str().unwrap_or_else(|| text(error, "message"));
    let words = [text(error, "code"), text(error, "type")];
    let says = |word: &str| words.iter().any(|said| said.contains(word));
    let kind = match () {
        () if says("context_length") || says("exceed_context") || Refusal::says_too_long(message) => {
            RefusalKind::ContextFull
        }
        () if says("invalid_api_key") || says("authentication") || says("permission") => RefusalKind::SignIn,
        () if says("insufficient_quota") => RefusalKind::Invalid,
        () if says("rate_limit") => RefusalKind::RateLimited,
        () if says("overloaded") => RefusalKind::Overloaded,
        () if says("invalid_request") || says("not_found") => RefusalKind::Invalid,
        () => RefusalKind::Server,
    };
    Refusal::new(kind, message)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
