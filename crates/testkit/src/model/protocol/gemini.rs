//! Gemini, with its keys.

use serde_json::{Value, json};

use super::{Answer, Event, Kind, Voice, tokens};
use crate::model::asked::{Asked, Turn, list, person_or_between, text};
use crate::model::script::Part;

/// The model and whether it streams stand in the path.
pub(super) fn asked(body: &Value) -> Asked {
    let turns = list(body, "contents").iter().map(|content| match text(content, "role") {
        "model" => Turn::Model,
        _ => {
            let parts = list(content, "parts");
            person_or_between(parts.iter().filter_map(|part| part.get("text")?.as_str()))
        }
    });
    let config = body.get("generationConfig");
    let schema = config.and_then(|config| config.get("responseJsonSchema").or(config.get("responseSchema")));
    Asked {
        model: String::new(),
        is_streamed: false,
        turns: turns.collect(),
        offers_tools: !list(body, "tools").is_empty(),
        schema: schema.cloned(),
        wants_usage: true,
    }
}

pub(super) struct Gemini {
    answer: Answer,
    open: Open,
    calls: usize,
    said: usize,
}

/// A call is said in one piece, so its input is gathered first.
enum Open {
    Text,
    Thinking,
    Call { name: String, input: String },
}

impl Gemini {
    pub(super) fn new(answer: Answer) -> Self {
        Self { answer, open: Open::Text, calls: 0, said: 0 }
    }

    fn chunk(&self, parts: Value, finish: Option<&str>) -> Value {
        let mut candidate = json!({"content": {"role": "model", "parts": parts}, "index": 0});
        if let Some(finish) = finish {
            candidate["finishReason"] = finish.into();
        }
        let (input, output) = (self.answer.input_tokens, tokens(self.said));
        json!({
            "candidates": [candidate], "modelVersion": self.answer.model,
            "responseId": format!("scripted-{}", self.answer.number),
            "usageMetadata": {"promptTokenCount": input, "candidatesTokenCount": output,
                "totalTokenCount": input + output},
        })
    }

    fn part(&self, part: Value) -> Vec<Event> {
        vec![Event::plain(self.chunk(json!([part]), None))]
    }

    fn call(&mut self, name: &str, input: &Value) -> Value {
        self.calls += 1;
        let id = format!("call_{}_{}", self.answer.number, self.calls);
        json!({"functionCall": {"id": id, "name": name, "args": input}})
    }
}

impl Voice for Gemini {
    fn begin(&mut self) -> Vec<Event> {
        Vec::new()
    }

    fn open(&mut self, kind: Kind<'_>) -> Vec<Event> {
        self.open = match kind {
            Kind::Text => Open::Text,
            Kind::Thinking => Open::Thinking,
            Kind::Call { name } => Open::Call { name: name.to_owned(), input: String::new() },
        };
        Vec::new()
    }

    fn piece(&mut self, piece: &str) -> Vec<Event> {
        self.said += piece.len();
        match &mut self.open {
            Open::Text => self.part(json!({"text": piece})),
            Open::Thinking => self.part(json!({"text": piece, "thought": true})),
            Open::Call { input, .. } => {
                input.push_str(piece);
                Vec::new()
            }
        }
    }

    fn close(&mut self) -> Vec<Event> {
        match std::mem::replace(&mut self.open, Open::Text) {
            Open::Text | Open::Thinking => Vec::new(),
            Open::Call { name, input } => {
                let input = serde_json::from_str(&input).unwrap_or_default();
                let call = self.call(&name, &input);
                self.part(call)
            }
        }
    }

    fn end(&mut self) -> Vec<Event> {
        vec![Event::plain(self.chunk(json!([{"text": ""}]), Some("STOP")))]
    }

    fn error(&mut self) -> Vec<Event> {
        let error = json!({"code": 503, "message": "scripted failure", "status": "UNAVAILABLE"});
        vec![Event::plain(json!({"error": error}))]
    }

    fn whole(&mut self, parts: &[Part]) -> Value {
        let mut said = Vec::new();
        for part in parts {
            said.push(match part {
                Part::Text(words) => json!({"text": words.text}),
                Part::Thinking(words) => json!({"text": words.text, "thought": true}),
                Part::Call { name, input } => self.call(name, input),
                Part::Wait(_) | Part::Gate(_) | Part::Fail(_) | Part::Used(_) | Part::Stop(_) => continue,
            });
        }
        let said = Value::from(said);
        self.said = said.to_string().len();
        self.chunk(said, Some("STOP"))
    }
}
