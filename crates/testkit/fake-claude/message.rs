//! Messages of the model: deltas on the wire, one line per block, and the file when the message ends.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::claude::{Claude, Stop};
use super::result::Tokens;

/// A message that is being streamed.
pub(super) struct Message {
    id: String,
    /// Blocks that are complete, with their uuids.
    blocks: Vec<(String, Value)>,
    /// Text of a block that is not.
    partial: String,
    spoken: u64,
}

/// Who speaks: the main loop, or a sub-agent.
#[derive(Clone, Default)]
pub(super) struct Speaker {
    /// The call that started the sub-agent, and its id.
    pub(super) agent: Option<(String, String)>,
}

impl Speaker {
    /// Adds what tells a sub-agent's line from those of the main loop.
    pub(super) fn mark(&self, line: &mut Value) {
        match &self.agent {
            Some((call, agent)) => {
                line["parent_tool_use_id"] = json!(call);
                line["agent_id"] = json!(agent);
            }
            None => line["parent_tool_use_id"] = Value::Null,
        }
    }
}

const PIECE: usize = 12;

fn field_of(kind: &str) -> &'static str {
    if kind == "thinking" { "thinking" } else { "text" }
}

impl Claude {
    pub(super) fn begin_message(&mut self) -> io::Result<()> {
        let id = self.ids.short("msg_01");
        let usage = self.prompt_tokens().usage();
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model, "content": [], "stop_reason": null,
            "stop_sequence": null, "usage": usage,
        });
        self.message = Some(Message { id, blocks: Vec::new(), partial: String::new(), spoken: 0 });
        self.stream(json!({"type": "message_start", "message": message}))
    }

    /// A text or a thought: its deltas, and the line that confirms them.
    pub(super) fn speak(&mut self, kind: &'static str, text: &str, between: Duration) -> Result<(), Stop> {
        let index = self.stream_text(kind, text, between)?;
        let mut block = json!({"type": kind});
        block[field_of(kind)] = json!(text);
        if kind == "thinking" {
            block["signature"] = json!("signature");
        }
        self.end_block(index, block)?;
        Ok(())
    }

    /// A text in one delta.
    pub(super) fn speak_in_one_piece(&mut self, text: &str) -> io::Result<()> {
        let index = self.message.as_ref().map_or(0, |message| message.blocks.len());
        let delta = json!({"type": "text_delta", "text": text});
        self.stream(json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
        self.end_block(index, json!({"type": "text", "text": text})).map(drop)
    }

    /// A text in one line, without deltas.
    pub(super) fn speak_at_once(&mut self, text: String) -> io::Result<()> {
        let index = self.message.as_ref().map_or(0, |message| message.blocks.len());
        self.end_block(index, json!({"type": "text", "text": text})).map(drop)
    }

    /// Streams deltas. An interrupt leaves what has been said so far in `partial`.
    pub(super) fn stream_text(
        &mut self,
        kind: &'static str,
        text: &str,
        between: Duration,
    ) -> Result<usize, Stop> {
        let index = self.message.as_ref().map_or(0, |message| message.blocks.len());
        let field = field_of(kind);
        let delta = if kind == "thinking" { "thinking_delta" } else { "text_delta" };
        self.stream(json!({"type": "content_block_start", "index": index, "content_block": {"type": kind, field: ""}}))?;
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(PIECE.max(letters.len() / 5000)) {
            self.pause(between)?;
            self.listen(Duration::ZERO)?;
            let piece: String = piece.iter().collect();
            if let Some(message) = &mut self.message {
                message.partial.push_str(&piece);
            }
            let delta = json!({"type": delta, field: piece});
            self.stream(json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
        }
        Ok(index)
    }

    /// Streams a call of a tool; its uuid comes back.
    pub(super) fn speak_call(&mut self, id: &str, name: &str, input: &Value) -> io::Result<String> {
        let index = self.message.as_ref().map_or(0, |message| message.blocks.len());
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        self.stream(json!({"type": "content_block_start", "index": index, "content_block": block}))?;
        let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
        self.stream(json!({"type": "content_block_delta", "index": index, "delta": delta}))?;
        self.end_block(index, json!({"type": "tool_use", "id": id, "name": name, "input": input}))
    }

    fn end_block(&mut self, index: usize, block: Value) -> io::Result<String> {
        let uuid = self.ids.uuid();
        let line = self.assistant_line(&uuid, &block);
        self.wire.send(&line)?;
        if let Some(message) = &mut self.message {
            message.spoken += block["text"].as_str().map_or(20, str::len) as u64 / 4;
            message.partial.clear();
            message.blocks.push((uuid.clone(), block));
        }
        self.stream(json!({"type": "content_block_stop", "index": index}))?;
        Ok(uuid)
    }

    fn assistant_line(&self, uuid: &str, block: &Value) -> Value {
        let id = self.message.as_ref().map_or("", |message| message.id.as_str());
        let mut line = json!({
            "type": "assistant", "message": self.message_of(id, block, None), "session_id": self.transcript.session,
            "uuid": uuid, "timestamp": self.transcript.time(), "request_id": "req_fake",
        });
        Speaker::default().mark(&mut line);
        line
    }

    pub(super) fn message_of(&self, id: &str, block: &Value, stop: Option<&str>) -> Value {
        json!({
            "id": id, "type": "message", "role": "assistant", "model": self.model, "content": [block],
            "stop_reason": stop, "stop_sequence": null, "usage": self.prompt_tokens().usage(),
        })
    }

    pub(super) fn end_message(&mut self, stop: &str) -> io::Result<()> {
        let Some(message) = self.message.take() else { return Ok(()) };
        let tokens = Tokens { output: message.spoken.max(1), ..self.prompt_tokens() };
        let delta = json!({"stop_reason": stop, "stop_sequence": null});
        self.stream_of(
            &message.id,
            json!({"type": "message_delta", "delta": delta, "usage": tokens.usage()}),
        )?;
        self.write_message(&message, Some(stop))?;
        self.stream_of(&message.id, json!({"type": "message_stop"}))?;
        let model = self.model.clone();
        self.spent.add(&model, tokens, true);
        Ok(())
    }

    /// What was said before an interrupt stays.
    pub(super) fn abort_message(&mut self) -> io::Result<()> {
        if self.message.as_ref().is_none_or(|message| message.partial.is_empty()) {
            if let Some(message) = self.message.take() {
                self.write_message(&message, None)?;
            }
            return Ok(());
        }
        let partial = self.message.as_mut().map(|message| std::mem::take(&mut message.partial));
        let (uuid, block) = (self.ids.uuid(), json!({"type": "text", "text": partial}));
        let mut line = self.assistant_line(&uuid, &block);
        line["aborted"] = json!(true);
        if let Some(mut message) = self.message.take() {
            message.blocks.push((uuid, block));
            self.write_message(&message, None)?;
        }
        self.wire.send(&line)
    }

    /// The text that was streamed counts for nothing, and no line says so.
    pub(super) fn void_message(&mut self) {
        self.message = None;
    }

    fn write_message(&mut self, message: &Message, stop: Option<&str>) -> io::Result<()> {
        for (uuid, block) in &message.blocks {
            let content = self.message_of(&message.id, block, stop);
            self.write_node(uuid, json!({"type": "assistant", "message": content, "requestId": "req_fake"}))?;
        }
        Ok(())
    }

    /// The model reads the whole context: a token for four bytes.
    pub(super) fn prompt_tokens(&self) -> Tokens {
        let bytes: usize = self.transcript.prompts().iter().map(String::len).sum();
        Tokens { input: 10_000 + bytes as u64 / 4, output: 1 }
    }

    fn stream(&mut self, event: Value) -> io::Result<()> {
        let id = self.message.as_ref().map(|message| message.id.clone()).unwrap_or_default();
        self.stream_of(&id, event)
    }

    fn stream_of(&mut self, message: &str, event: Value) -> io::Result<()> {
        if !self.options.partial_messages {
            return Ok(());
        }
        self.tell(json!({"type": "stream_event", "event": event, "parent_tool_use_id": null, "api_message_id": message}))
    }
}
