//! OpenAI's Chat Completions, as many others speak it too.

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
    Asked {
        model: text(body, "model").to_owned(),
        is_streamed: flag(body, "stream"),
        turns: turns.collect(),
        offers_tools: !list(body, "tools").is_empty(),
        schema: body.pointer("/response_format/json_schema/schema").cloned(),
        wants_usage: body.get("stream_options").is_some_and(|options| flag(options, "include_usage")),
    }
}

pub(super) struct Chat {
    answer: Answer,
    open: Open,
    calls: usize,
    said: usize,
}

#[derive(Clone, Copy)]
enum Open {
    Text,
    Thinking,
    Call,
}

impl Chat {
    pub(super) fn new(answer: Answer) -> Self {
        Self { answer, open: Open::Text, calls: 0, said: 0 }
    }

    fn chunk(&self, choices: Value) -> Value {
        json!({
            "id": self.id(), "object": "chat.completion.chunk", "created": 0, "model": self.answer.model,
            "choices": choices,
        })
    }

    fn delta(&self, delta: Value) -> Vec<Event> {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": null});
        vec![Event::plain(self.chunk(json!([choice])))]
    }

    fn id(&self) -> String {
        format!("chatcmpl-{}", self.answer.number)
    }

    fn call_id(&self) -> String {
        format!("call_{}_{}", self.answer.number, self.calls)
    }

    fn usage(&self, output: usize) -> Value {
        let counted = Tokens { input: self.answer.input_tokens, output, ..Tokens::default() };
        let used = self.answer.used.unwrap_or(counted);
        let (input, output) = (used.input + used.cache_read, used.output);
        json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_tokens_details": {"cached_tokens": used.cache_read},
        })
    }

    fn finish(&self) -> &str {
        let usual = if self.calls > 0 { "tool_calls" } else { "stop" };
        self.answer.stop.as_deref().unwrap_or(usual)
    }
}

impl Voice for Chat {
    fn begin(&mut self) -> Vec<Event> {
        self.delta(json!({"role": "assistant", "content": ""}))
    }

    fn open(&mut self, kind: Kind<'_>) -> Vec<Event> {
        self.open = match kind {
            Kind::Text => Open::Text,
            Kind::Thinking => Open::Thinking,
            Kind::Call { name } => {
                self.open = Open::Call;
                self.calls += 1;
                let call = json!({
                    "index": self.calls - 1, "id": self.call_id(), "type": "function",
                    "function": {"name": name, "arguments": ""},
                });
                return self.delta(json!({"tool_calls": [call]}));
            }
        };
        Vec::new()
    }

    fn piece(&mut self, piece: &str) -> Vec<Event> {
        self.said += piece.len();
        match self.open {
            Open::Text => self.delta(json!({"content": piece})),
            Open::Thinking => self.delta(json!({"reasoning_content": piece})),
            Open::Call => {
                let call = json!({"index": self.calls.saturating_sub(1), "function": {"arguments": piece}});
                self.delta(json!({"tool_calls": [call]}))
            }
        }
    }

    fn close(&mut self) -> Vec<Event> {
        Vec::new()
    }

    fn end(&mut self) -> Vec<Event> {
        let last = json!({"index": 0, "delta": {}, "finish_reason": self.finish()});
        let mut events = vec![Event::plain(self.chunk(json!([last])))];
        if self.answer.wants_usage {
            let mut chunk = self.chunk(json!([]));
            chunk["usage"] = self.usage(tokens(self.said));
            events.push(Event::plain(chunk));
        }
        events.push(Event { name: None, data: "[DONE]".to_owned() });
        events
    }

    fn error(&mut self) -> Vec<Event> {
        let error = json!({"message": "scripted failure", "type": "server_error", "code": null});
        vec![Event::plain(json!({"error": error}))]
    }

    fn whole(&mut self, parts: &[Part]) -> Value {
        let (mut words, mut thoughts, mut calls) = (String::new(), String::new(), Vec::new());
        for part in parts {
            match part {
                Part::Text(said) => words.push_str(&said.text),
                Part::Thinking(said) => thoughts.push_str(&said.text),
                Part::Call { name, input } => {
                    self.calls += 1;
                    calls.push(json!({
                        "id": self.call_id(), "type": "function",
                        "function": {"name": name, "arguments": input.to_string()},
                    }));
                }
                Part::Wait(_) | Part::Gate(_) | Part::Fail(_) | Part::Used(_) | Part::Stop(_) => {}
            }
        }
        let output = tokens(words.len() + thoughts.len());
        let mut message = json!({"role": "assistant", "content": words});
        if !thoughts.is_empty() {
            message["reasoning_content"] = thoughts.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        json!({
            "id": self.id(), "object": "chat.completion", "created": 0, "model": self.answer.model,
            "choices": [{"index": 0, "message": message, "finish_reason": self.finish()}],
            "usage": self.usage(output),
        })
    }
}
