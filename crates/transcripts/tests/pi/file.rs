//! Small files of pi, written as a person would note them down.

use offshoot_session::SessionTree;
use offshoot_testkit::draw;
use offshoot_transcripts::{Transcript, read};
use serde_json::{Value, json};

pub(crate) const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s1","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/work"}"#;

/// Lines of a file of version 3, the header in front.
pub(crate) fn v3(lines: &[Value]) -> String {
    let lines = lines.iter().map(|line| format!("{line}\n"));
    format!("{HEADER}\n{}", lines.collect::<String>())
}

/// What somebody said, one second after the other by the digits of the id.
pub(crate) fn said(id: &str, parent: Option<&str>) -> Value {
    let role = if id.starts_with('a') { "assistant" } else { "user" };
    chained("message", id, parent, json!({ "message": { "role": role, "content": id } }))
}

pub(crate) fn chained(kind: &str, id: &str, parent: Option<&str>, fields: Value) -> Value {
    let second =
        id.bytes().filter(u8::is_ascii_digit).fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'));
    let mut line = json!({
        "type": kind, "id": id, "parentId": parent,
        "timestamp": format!("2025-01-01T00:{:02}:{:02}.000Z", second / 60 % 60, second % 60),
    });
    if let (Value::Object(line), Value::Object(fields)) = (&mut line, fields) {
        line.extend(fields);
    }
    line
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

pub(crate) fn drawing(text: &str) -> String {
    draw(&tree_of(&load(text)))
}

/// What was forgiven, in the words a person reads.
pub(crate) fn forgiven(transcript: &Transcript) -> Vec<String> {
    transcript.oddities.iter().map(ToString::to_string).collect()
}
