//! OpenAI's Responses, as Codex speaks it.

use serde_json::{Value, json};

use super::{Answer, Event, Kind, Voice, tokens};
use crate::model::asked::{Asked, Turn, flag, list, person_or_between, text, texts};
use crate::model::script::Part;

pub(super) fn asked(body: &Value) -> Asked {
    let turns = match body.get("input") {
        Some(Value::String(prompt)) => vec![Turn::Person(prompt.clone())],
        Some(_) | None => list(body, "input").iter().map(turn).collect(),
    };
    Asked {
        model: text(body, "model").to_owned(),
        is_streamed: flag(body, "stream"),
        turns,
        offers_tools: !list(body, "tools").is_empty(),
        schema: body.pointer("/text/format/schema").cloned(),
        wants_usage: true,
    }
}

fn turn(item: &Value) -> Turn {
    match (text(item, "type"), text(item, "role")) {
        (_, "assistant") | ("reasoning" | "function_call" | "custom_tool_call" | "local_shell_call", _) => {
            Turn::Model
        }
        (_, "user") => person_or_between(texts(&item["content"], &["input_text", "text"]).into_iter()),
        _ => Turn::Between,
    }
}

pub(super) struct Responses {
    answer: Answer,
    sequence: usize,
    output: Vec<Value>,
    open: Option<Open>,
    said: usize,
}

/// The item that is being said: its text comes last.
struct Open {
    kind: OpenKind,
    item: Value,
    text: String,
}

#[derive(Clone, Copy)]
enum OpenKind {
    Message,
    Reasoning,
    Call,
}

impl Responses {
    pub(super) fn new(answer: Answer) -> Self {
        Self { answer, sequence: 0, output: Vec::new(), open: None, said: 0 }
    }

    fn event(&mut self, name: &'static str, mut data: Value) -> Event {
        data["type"] = name.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        Event::named(name, data)
    }

    fn response(&self, status: &str) -> Value {
        json!({
            "id": format!("resp_{}", self.answer.number), "object": "response", "created_at": 0,
            "status": status, "model": self.answer.model, "output": self.output, "error": null,
            "usage": null,
        })
    }

    fn usage(&self) -> Value {
        let (input, output) = (self.answer.input_tokens, tokens(self.said));
        json!({
            "input_tokens": input, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input + output,
        })
    }

    fn completed(&self) -> Value {
        let mut response = self.response("completed");
        response["usage"] = self.usage();
        response
    }

    fn new_item(&self, kind: &Kind<'_>) -> (OpenKind, Value) {
        let place = format!("{}_{}", self.answer.number, self.output.len());
        match kind {
            Kind::Text => (
                OpenKind::Message,
                json!({"type": "message", "id": format!("msg_{place}"), "role": "assistant",
                    "status": "in_progress", "content": []}),
            ),
            Kind::Thinking => (
                OpenKind::Reasoning,
                json!({"type": "reasoning", "id": format!("rs_{place}"), "summary": []}),
            ),
            Kind::Call { name } => {
                let mut item = json!({"type": "function_call", "id": format!("fc_{place}"),
                    "status": "in_progress", "call_id": format!("call_{place}"), "name": name,
                    "arguments": ""});
                if let Some((namespace, name)) = name.split_once('.') {
                    item["name"] = name.into();
                    item["namespace"] = namespace.into();
                }
                (OpenKind::Call, item)
            }
        }
    }
}

/// The item with all that was said in it.
fn finished(mut open: Open) -> Value {
    match open.kind {
        OpenKind::Message => {
            open.item["status"] = "completed".into();
            open.item["content"] = json!([{"type": "output_text", "text": open.text, "annotations": []}]);
        }
        OpenKind::Reasoning => open.item["summary"] = json!([{"type": "summary_text", "text": open.text}]),
        OpenKind::Call => {
            open.item["status"] = "completed".into();
            open.item["arguments"] = open.text.into();
        }
    }
    open.item
}

impl Voice for Responses {
    fn begin(&mut self) -> Vec<Event> {
        let response = self.response("in_progress");
        vec![
            self.event("response.created", json!({"response": response})),
            self.event("response.in_progress", json!({"response": response})),
        ]
    }

    fn open(&mut self, kind: Kind<'_>) -> Vec<Event> {
        let (kind, item) = self.new_item(&kind);
        let (index, id) = (self.output.len(), item["id"].clone());
        let mut events =
            vec![self.event("response.output_item.added", json!({"output_index": index, "item": item}))];
        match kind {
            OpenKind::Message => {
                let part = json!({"type": "output_text", "text": "", "annotations": []});
                let data = json!({"item_id": id, "output_index": index, "content_index": 0, "part": part});
                events.push(self.event("response.content_part.added", data));
            }
            OpenKind::Reasoning => {
                let part = json!({"type": "summary_text", "text": ""});
                let data = json!({"item_id": id, "output_index": index, "summary_index": 0, "part": part});
                events.push(self.event("response.reasoning_summary_part.added", data));
            }
            OpenKind::Call => {}
        }
        self.open = Some(Open { kind, item, text: String::new() });
        events
    }

    fn piece(&mut self, piece: &str) -> Vec<Event> {
        self.said += piece.len();
        let index = self.output.len();
        let Some(open) = &mut self.open else { return Vec::new() };
        open.text.push_str(piece);
        let mut data = json!({"item_id": open.item["id"], "output_index": index, "delta": piece});
        let name = match open.kind {
            OpenKind::Message => {
                data["content_index"] = 0.into();
                "response.output_text.delta"
            }
            OpenKind::Reasoning => {
                data["summary_index"] = 0.into();
                "response.reasoning_summary_text.delta"
            }
            OpenKind::Call => "response.function_call_arguments.delta",
        };
        vec![self.event(name, data)]
    }

    fn close(&mut self) -> Vec<Event> {
        let Some(open) = self.open.take() else { return Vec::new() };
        let index = self.output.len();
        let mut data = json!({"item_id": open.item["id"], "output_index": index});
        let name = match open.kind {
            OpenKind::Message => {
                data["content_index"] = 0.into();
                data["text"] = open.text.as_str().into();
                "response.output_text.done"
            }
            OpenKind::Reasoning => {
                data["summary_index"] = 0.into();
                data["text"] = open.text.as_str().into();
                "response.reasoning_summary_text.done"
            }
            OpenKind::Call => {
                data["arguments"] = open.text.as_str().into();
                "response.function_call_arguments.done"
            }
        };
        let item = finished(open);
        self.output.push(item.clone());
        vec![
            self.event(name, data),
            self.event("response.output_item.done", json!({"output_index": index, "item": item})),
        ]
    }

    fn end(&mut self) -> Vec<Event> {
        let response = self.completed();
        vec![self.event("response.completed", json!({"response": response}))]
    }

    fn error(&mut self) -> Vec<Event> {
        let mut response = self.response("failed");
        response["error"] = json!({"code": "server_error", "message": "scripted failure"});
        vec![self.event("response.failed", json!({"response": response}))]
    }

    fn whole(&mut self, parts: &[Part]) -> Value {
        for part in parts {
            let (kind, text) = match part {
                Part::Text(said) => (Kind::Text, said.text.clone()),
                Part::Thinking(said) => (Kind::Thinking, said.text.clone()),
                Part::Call { name, input } => (Kind::Call { name }, input.to_string()),
                Part::Wait(_) | Part::Gate(_) | Part::Fail(_) | Part::Used(_) | Part::Stop(_) => continue,
            };
            self.said += text.len();
            let (kind, item) = self.new_item(&kind);
            self.output.push(finished(Open { kind, item, text }));
        }
        self.completed()
    }
}
