//! Lines for the CLI: control requests, answers to its own, and messages of the user.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Act;

/// What a control request of ours was for. Its answer names only the id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Initialize,
    Interrupt,
    StopTask,
    /// `what` as people call it, and the value that was asked for.
    Set {
        what: &'static str,
        value: String,
    },
    Rename,
}

/// Requests that have no answer yet. Ids are counted.
#[derive(Debug, Default)]
pub(super) struct Requests {
    sent: u64,
    open: BTreeMap<String, Purpose>,
}

impl Requests {
    pub(super) fn send(&mut self, purpose: Purpose, request: &Value) -> Act {
        self.sent += 1;
        let id = format!("offshoot-{}", self.sent);
        self.open.insert(id.clone(), purpose);
        write(&json!({ "type": "control_request", "request_id": id, "request": request }))
    }

    /// A setting is on its way: the CLI takes a prompt that comes before its answer with the old value.
    pub(super) fn has_setting(&self) -> bool {
        self.open.values().any(|purpose| matches!(purpose, Purpose::Set { .. }))
    }

    pub(super) fn answered(&mut self, id: &str) -> Option<Purpose> {
        self.open.remove(id)
    }
}

/// The answer to a request of the CLI.
pub(super) fn respond(request: &str, response: &Value) -> Act {
    let response = json!({ "subtype": "success", "request_id": request, "response": response });
    write(&json!({ "type": "control_response", "response": response }))
}

/// A request of the CLI that we cannot serve: it continues without.
pub(super) fn refuse(request: &str, subtype: &str) -> Act {
    let error = format!("Unsupported control request subtype: {subtype}");
    let response = json!({
        "subtype": "error", "request_id": request, "error": error, "error_code": "unsupported_request",
    });
    write(&json!({ "type": "control_response", "response": response }))
}

pub(super) fn user_line(uuid: &str, content: &Value, is_question: bool) -> Vec<u8> {
    let mut line = json!({
        "type": "user",
        "message": { "role": "user", "content": content },
        "parent_tool_use_id": null,
        "session_id": "",
        "uuid": uuid,
    });
    if let (false, Some(line)) = (is_question, line.as_object_mut()) {
        line.insert("shouldQuery".to_owned(), Value::Bool(false));
    }
    bytes(&line)
}

fn write(line: &Value) -> Act {
    Act::Write(bytes(line))
}

fn bytes(line: &Value) -> Vec<u8> {
    let mut bytes = line.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}
