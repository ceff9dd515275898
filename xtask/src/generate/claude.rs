//! A story as Claude Code writes it: the message stands before the id, so a reader has to step over it.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::Result;
use serde_json::{Value, json};

use super::chance::uuid;
use super::story::{Told, What, time};
use super::{Pen, Session, line};

pub(crate) struct ClaudePen {
    out: BufWriter<File>,
    session: String,
    project: String,
    /// Ids of different sessions differ.
    salt: u64,
}

impl ClaudePen {
    pub(crate) fn new(out: BufWriter<File>) -> Self {
        Self { out, session: String::new(), project: String::new(), salt: 0 }
    }

    fn id(&self, number: usize) -> String {
        uuid(self.salt.wrapping_add(number as u64))
    }
}

impl Pen for ClaudePen {
    fn open(&mut self, session: &Session) -> Result<()> {
        self.session = session.id();
        self.project = session.project.clone();
        self.salt = session.number << 32;
        Ok(())
    }

    fn write(&mut self, told: &Told<'_>) -> Result<()> {
        let parent = told.parent.map(|parent| self.id(parent));
        let id = self.id(told.number);
        let mut entry = json!({
            "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": self.project,
            "sessionId": self.session, "version": "2.1.0", "gitBranch": "main",
        });
        let body = match &told.what {
            What::Label { .. } | What::Model | What::Thinking => {
                json!({"type": "system", "subtype": "informational", "content": "/model", "level": "info"})
            }
            What::BranchSummary { summary, .. } => {
                json!({"type": "system", "subtype": "informational", "content": summary, "level": "info"})
            }
            What::Compaction { summary, tokens, .. } => {
                entry["parentUuid"] = Value::Null;
                json!({
                    "type": "system", "subtype": "compact_boundary", "content": summary,
                    "logicalParentUuid": parent, "compactMetadata": {"trigger": "auto", "preTokens": tokens},
                })
            }
            What::Prompt { text, image } => json!({
                "type": "user", "message": {"role": "user", "content": content(text, image)},
            }),
            What::Reply { .. } => reply(told),
            What::Result { call, text, image, failed, .. } => json!({
                "type": "user",
                "message": {"role": "user", "content": [{
                    "tool_use_id": format!("toolu_{call}"), "type": "tool_result", "content": content(text, image),
                    "is_error": failed,
                }]},
            }),
        };
        let is_label = matches!(told.what, What::Label { .. });
        if is_label {
            return Ok(()); // there are no labels in this format, and they take no number
        }
        if let (Value::Object(entry), Value::Object(body)) = (&mut entry, body) {
            entry.extend(body);
        }
        entry["uuid"] = json!(id);
        entry["timestamp"] = json!(time(told.at_ms));
        line(&mut self.out, &entry)
    }

    fn close(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

fn content(text: &str, image: &Option<String>) -> Value {
    match image {
        None => json!([{"type": "text", "text": text}]),
        Some(data) => json!([
            {"type": "text", "text": text},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}},
        ]),
    }
}

fn reply(told: &Told<'_>) -> Value {
    let What::Reply { thinking, text, call, tokens } = &told.what else { return Value::Null };
    let mut content = Vec::new();
    content
        .extend(thinking.map(|thinking| json!({"type": "thinking", "thinking": thinking, "signature": ""})));
    content.push(json!({"type": "text", "text": text}));
    content.extend(call.as_ref().map(|call| {
        json!({
            "type": "tool_use", "id": format!("toolu_{}", told.number), "name": call.tool,
            "input": {call.key: call.value},
        })
    }));
    let stop = if call.is_some() { "tool_use" } else { "end_turn" };
    json!({
        "message": {
            "model": "claude-sonnet-4-5", "id": format!("msg_{}", told.number), "type": "message",
            "role": "assistant", "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {
                "input_tokens": tokens.input, "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": tokens.cached, "output_tokens": tokens.output,
            },
        },
        "requestId": format!("req_{}", told.number),
        "type": "assistant",
    })
}
