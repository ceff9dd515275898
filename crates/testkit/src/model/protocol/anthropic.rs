//! Anthropic's Messages.

pub(super) mod rules;

use serde_json::{Value, json};

use super::{Answer, Event, Kind, Voice, tokens};
use crate::model::asked::{Asked, Turn, flag, list, person_or_between, text, texts};
use crate::model::script::{Part, Tokens};

pub(super) fn asked(body: &Value) -> Asked {
    let turns = list(body, "messages").iter().map(|message| match text(message, "role") {
        "assistant" => Turn::Model,
        "user" => person_or_between(texts(&message["content"], &["text"]).into_iter()),
        _ => Turn::Between,
    });
    let format = body.pointer("/output_config/format").or_else(|| body.get("output_format"));
    Asked {
        model: text(body, "model").to_owned(),
        is_streamed: flag(body, "stream"),
        turns: turns.collect(),
        offers_tools: !list(body, "tools").is_empty(),
        schema: format.and_then(|format| format.get("schema")).cloned(),
        wants_usage: true,
    }
}

pub(super) struct Messages {
    answer: Answer,
    index: usize,
    open: Option<&'static str>,
    said: usize,
    calls: usize,
}

impl Messages {
    pub(super) fn new(answer: Answer) -> Self {
        Self { answer, index: 0, open: None, said: 0, calls: 0 }
    }

    fn message(&self, content: Value, stop: Option<&str>, output_tokens: usize) -> Value {
        json!({
            "id": format!("msg_{:022}", self.answer.number), "type": "message", "role": "assistant",
            "model": self.answer.model, "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": self.usage(output_tokens),
        })
    }

    fn usage(&self, output_tokens: usize) -> Value {
        let counted = Tokens { input: self.answer.input_tokens, output: output_tokens, ..Tokens::default() };
        let used = self.answer.used.unwrap_or(counted);
        json!({
            "input_tokens": used.input, "output_tokens": used.output,
            "cache_creation_input_tokens": used.cache_write, "cache_read_input_tokens": used.cache_read,
        })
    }

    fn call_id(&mut self) -> String {
        self.calls += 1;
        format!("toolu_{:018}_{:03}", self.answer.number, self.calls)
    }

    fn stop(&self) -> &str {
        let usual = if self.calls > 0 { "tool_use" } else { "end_turn" };
        self.answer.stop.as_deref().unwrap_or(usual)
    }

    fn delta(&self, delta: Value) -> Event {
        event(json!({"type": "content_block_delta", "index": self.index, "delta": delta}))
    }
}

/// The name of an event stands in its data too.
fn event(data: Value) -> Event {
    const NAMES: [&str; 7] = [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "error",
    ];
    let name = NAMES.into_iter().find(|name| *name == text(&data, "type"));
    Event::named(name.unwrap_or("ping"), data)
}

impl Voice for Messages {
    fn begin(&mut self) -> Vec<Event> {
        let start = json!({"type": "message_start", "message": self.message(json!([]), None, 1)});
        vec![event(start), event(json!({"type": "ping"}))]
    }

    fn open(&mut self, kind: Kind<'_>) -> Vec<Event> {
        let (field, block) = match kind {
            Kind::Text => ("text", json!({"type": "text", "text": ""})),
            Kind::Thinking => ("thinking", json!({"type": "thinking", "thinking": "", "signature": ""})),
            Kind::Call { name } => {
                ("partial_json", json!({"type": "tool_use", "id": self.call_id(), "name": name, "input": {}}))
            }
        };
        self.open = Some(field);
        vec![event(json!({"type": "content_block_start", "index": self.index, "content_block": block}))]
    }

    fn piece(&mut self, piece: &str) -> Vec<Event> {
        self.said += piece.len();
        let delta = match self.open {
            Some("thinking") => json!({"type": "thinking_delta", "thinking": piece}),
            Some("partial_json") => json!({"type": "input_json_delta", "partial_json": piece}),
            Some(_) | None => json!({"type": "text_delta", "text": piece}),
        };
        vec![self.delta(delta)]
    }

    fn close(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.open.take() == Some("thinking") {
            events.push(self.delta(json!({"type": "signature_delta", "signature": "c2NyaXB0ZWQ="})));
        }
        events.push(event(json!({"type": "content_block_stop", "index": self.index})));
        self.index += 1;
        events
    }

    fn end(&mut self) -> Vec<Event> {
        let delta = json!({"stop_reason": self.stop(), "stop_sequence": null});
        let usage = self.usage(tokens(self.said));
        vec![
            event(json!({"type": "message_delta", "delta": delta, "usage": usage})),
            event(json!({"type": "message_stop"})),
        ]
    }

    fn error(&mut self) -> Vec<Event> {
        let error = json!({"type": "overloaded_error", "message": "scripted failure"});
        vec![event(json!({"type": "error", "error": error}))]
    }

    fn whole(&mut self, parts: &[Part]) -> Value {
        let mut content = Vec::new();
        for part in parts {
            content.push(match part {
                Part::Text(said) => json!({"type": "text", "text": said.text}),
                Part::Thinking(said) => {
                    json!({"type": "thinking", "thinking": said.text, "signature": "c2NyaXB0ZWQ="})
                }
                Part::Call { name, input } => {
                    json!({"type": "tool_use", "id": self.call_id(), "name": name, "input": input})
                }
                Part::Wait(_) | Part::Gate(_) | Part::Fail(_) | Part::Used(_) | Part::Stop(_) => continue,
            });
        }
        let content = Value::from(content);
        let said = tokens(content.to_string().len());
        self.message(content, Some(self.stop()), said)
    }
}
