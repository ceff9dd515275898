//! Small files of Claude Code, written as a person would note them down.

use offshoot_session::{Body, SessionTree};
use offshoot_testkit::draw;
use offshoot_transcripts::{Transcript, claude, read};
use serde_json::{Value, json};

pub(crate) fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A line of the chain, one second after the other by the digits of the id.
pub(crate) fn chained(kind: &str, id: &str, parent: Option<&str>, fields: Value) -> Value {
    let second =
        id.bytes().filter(u8::is_ascii_digit).fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    let line = json!({
        "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": id, "sessionId": "s1", "cwd": "/work",
        "timestamp": format!("2025-01-01T00:{:02}:{:02}.000Z", second / 60 % 60, second % 60),
    });
    with(line, fields)
}

pub(crate) fn with(mut line: Value, fields: Value) -> Value {
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields);
    }
    line
}

/// What somebody said: replies begin with `a`, everything else is of the user.
pub(crate) fn said(id: &str, parent: Option<&str>) -> Value {
    if id.starts_with('a') {
        reply(id, parent, &format!("m-{id}"), json!({ "type": "text", "text": id }))
    } else {
        user(id, parent, json!(id))
    }
}

pub(crate) fn user(id: &str, parent: Option<&str>, content: Value) -> Value {
    chained("user", id, parent, json!({ "message": { "role": "user", "content": content } }))
}

/// One line of a message: one block.
pub(crate) fn reply(id: &str, parent: Option<&str>, message: &str, block: Value) -> Value {
    let message = json!({ "id": message, "role": "assistant", "model": "claude-x", "content": [block] });
    chained("assistant", id, parent, json!({ "message": message }))
}

/// A line that calls the tool `Read`, or another one.
pub(crate) fn call(id: &str, parent: Option<&str>, message: &str, call: &str) -> Value {
    reply(id, parent, message, json!({ "type": "tool_use", "id": call, "name": "Read", "input": {} }))
}

pub(crate) fn answer(id: &str, parent: Option<&str>, call: &str) -> Value {
    user(id, parent, json!([{ "type": "tool_result", "tool_use_id": call, "content": "found" }]))
}

pub(crate) fn leaf(id: &str) -> Value {
    json!({ "type": "last-prompt", "leafUuid": id, "sessionId": "s1" })
}

/// Reads a file, makes sure that no byte of it is lost, and gives the transcript.
pub(crate) fn load(text: &str) -> Transcript {
    let transcript = read(None, text.as_bytes()).expect("a session file");
    assert_eq!(String::from_utf8_lossy(&transcript.source_bytes()), text, "every byte is kept");
    transcript
}

pub(crate) fn tree_of(transcript: &Transcript) -> SessionTree {
    SessionTree::replay(transcript.records.clone()).0
}

pub(crate) fn tree(file: &[Value]) -> SessionTree {
    tree_of(&load(&lines(file)))
}

pub(crate) fn drawing(file: &[Value]) -> String {
    draw(&tree(file))
}

/// The body of a single line.
pub(crate) fn body(line: Value) -> Body {
    let transcript = claude::read(None, format!("{line}\n").as_bytes());
    let entry = transcript.records.iter().filter_map(|record| record.as_entry()).next_back();
    entry.expect("an entry").body.clone()
}

/// What was forgiven, in the words a person reads.
pub(crate) fn forgiven(transcript: &Transcript) -> Vec<String> {
    let (_, by_tree) = SessionTree::replay(transcript.records.clone());
    transcript.oddities.iter().chain(&by_tree).map(ToString::to_string).collect()
}
