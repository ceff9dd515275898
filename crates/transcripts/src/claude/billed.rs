//! Under which name a reply was counted by its provider. Copies of a history have lines with other ids, and the same
//! message and request in them.

use offshoot_session::RawLine;
use serde_json::Value;

use crate::json::{Map, id_text, text};
use crate::lines::json_text;

/// `None` where the line is no reply of Claude Code, or one that it made itself.
pub fn billed_as(line: &RawLine) -> Option<String> {
    let json = json_text(line.content());
    memchr::memmem::find(json, b"\"assistant\"")?; // most lines of other programs are not worth parsing
    let Ok(Value::Object(line)) = serde_json::from_slice(json) else { return None };
    let message = line.get("message")?.as_object()?;
    if text(&line, "type") != Some("assistant") || !line.contains_key("uuid") {
        return None;
    }
    let id = message.get("id").and_then(id_text)?;
    Some(billed(&id, &line))
}

/// The name of a message that a line of it tells. Every line of a message counts the whole of it.
pub(super) fn billed(message: &str, line: &Map) -> String {
    let request = line.get("requestId").and_then(id_text).unwrap_or_default();
    format!("anthropic:{message}:{request}")
}
