//! A story as pi writes it.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::Result;
use serde_json::{Value, json};

use super::chance::short_id;
use super::story::{Told, What, time};
use super::{Pen, Session, line};

pub(crate) struct PiPen {
    out: BufWriter<File>,
    /// Labels are entries here: whatever comes next hangs below the last one.
    label_on_tip: Option<(usize, String)>,
    labels: usize,
}

impl PiPen {
    pub(crate) fn new(out: BufWriter<File>) -> Self {
        Self { out, label_on_tip: None, labels: 0 }
    }
}

impl Pen for PiPen {
    fn open(&mut self, session: &Session) -> Result<()> {
        let header = json!({
            "type": "session", "version": 3, "id": session.id(),
            "timestamp": time(session.opened_ms), "cwd": session.project,
        });
        line(&mut self.out, &header)
    }

    fn write(&mut self, told: &Told<'_>) -> Result<()> {
        let parent = told.parent.map(|parent| match &self.label_on_tip {
            Some((tip, label)) if *tip == parent => label.clone(),
            _ => short_id(parent),
        });
        let (kind, fields) = fields(told);
        let is_label = matches!(told.what, What::Label { .. });
        let id = if is_label {
            self.labels += 1;
            format!("{:08x}-l", self.labels)
        } else {
            short_id(told.number)
        };
        let mut entry = json!({"type": kind, "id": id, "parentId": parent, "timestamp": time(told.at_ms)});
        if let (Value::Object(entry), Value::Object(fields)) = (&mut entry, fields) {
            entry.extend(fields);
        }
        self.label_on_tip = told.parent.filter(|_| is_label).map(|parent| (parent, id));
        line(&mut self.out, &entry)
    }

    fn close(&mut self) -> Result<()> {
        Ok(self.out.flush()?)
    }
}

fn fields(told: &Told<'_>) -> (&'static str, Value) {
    let ms = told.at_ms;
    let picture = |image: &Option<String>| {
        image.as_ref().map(|data| json!({"type": "image", "data": data, "mimeType": "image/png"}))
    };
    match &told.what {
        What::Prompt { text, image } => {
            let mut content = vec![json!({"type": "text", "text": text})];
            content.extend(picture(image));
            ("message", json!({"message": {"role": "user", "content": content, "timestamp": ms}}))
        }
        What::Reply { thinking, text, call, tokens } => {
            let mut content = Vec::new();
            content.extend(thinking.map(|thinking| json!({"type": "thinking", "thinking": thinking})));
            content.push(json!({"type": "text", "text": text}));
            content.extend(call.as_ref().map(|call| {
                json!({
                    "type": "toolCall", "id": format!("call_{}", told.number), "name": call.tool,
                    "arguments": {call.key: call.value},
                })
            }));
            let stop = if call.is_some() { "toolUse" } else { "stop" };
            let total = tokens.input + tokens.output + tokens.cached;
            let cost = total as f64 * 1e-6;
            (
                "message",
                json!({"message": {
                    "role": "assistant", "content": content, "api": "anthropic-messages", "provider": "anthropic",
                    "model": "claude-sonnet-4-5",
                    "usage": {
                        "input": tokens.input, "output": tokens.output, "cacheRead": tokens.cached, "cacheWrite": 0,
                        "totalTokens": total,
                        "cost": {"input": 0.0, "output": 0.0, "cacheRead": 0.0, "cacheWrite": 0.0, "total": cost},
                    },
                    "stopReason": stop, "timestamp": ms,
                }}),
            )
        }
        What::Result { call, tool, text, image, failed } => {
            let mut content = vec![json!({"type": "text", "text": text})];
            content.extend(picture(image));
            (
                "message",
                json!({"message": {
                    "role": "toolResult", "toolCallId": format!("call_{call}"), "toolName": tool, "content": content,
                    "isError": failed, "timestamp": ms,
                }}),
            )
        }
        What::Compaction { summary, first_kept, tokens } => (
            "compaction",
            json!({"summary": summary, "firstKeptEntryId": short_id(*first_kept), "tokensBefore": tokens}),
        ),
        What::BranchSummary { summary, left } => {
            ("branch_summary", json!({"fromId": short_id(told.parent.unwrap_or(*left)), "summary": summary}))
        }
        What::Label { target, label } => ("label", json!({"targetId": short_id(*target), "label": label})),
        What::Model => (
            "model_change",
            json!({
                "provider": "anthropic", "modelId": "claude-opus-4-5", "model": "anthropic/claude-opus-4-5",
            }),
        ),
        What::Thinking => ("thinking_level_change", json!({"thinkingLevel": "high"})),
    }
}
