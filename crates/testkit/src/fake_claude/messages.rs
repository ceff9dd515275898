//! What the model of a session sees, read from the session's file.

use std::io;
use std::path::Path;

use serde_json::Value;

use super::session_file;
use super::transcript::{Transcript, is_of_person, texts};

#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Prompt(String),
    Reply(String),
    Call { id: String, name: String, input: Value },
    Result { call: String, text: String, failed: bool },
}

/// The messages of the active branch. Thoughts, errors of the API and notes of the program itself are left out.
///
/// # Errors
///
/// When there is no such file or it cannot be read.
pub fn messages_of(folder: &Path, session: &str) -> io::Result<Vec<Message>> {
    let file = session_file(folder, session).ok_or(io::ErrorKind::NotFound)?;
    let transcript = Transcript::read(session, file)?;
    Ok(transcript.chain().into_iter().flat_map(messages).collect())
}

fn messages(line: &Value) -> Vec<Message> {
    let content = &line["message"]["content"];
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    if line["type"] == "assistant" && line["isApiErrorMessage"] != true {
        return blocks.iter().filter_map(said).collect();
    }
    if line["type"] != "user" || line["isMeta"] == true {
        return Vec::new();
    }
    let prompts = texts(content).into_iter().filter(|text| is_of_person(text));
    let prompts = prompts.map(|text| Message::Prompt(text.to_owned()));
    blocks.iter().filter_map(result).chain(prompts).collect()
}

fn said(block: &Value) -> Option<Message> {
    let text = |field: &str| block[field].as_str().unwrap_or_default().to_owned();
    match block["type"].as_str()? {
        "text" => Some(Message::Reply(text("text"))),
        "tool_use" => {
            Some(Message::Call { id: text("id"), name: text("name"), input: block["input"].clone() })
        }
        _ => None,
    }
}

fn result(block: &Value) -> Option<Message> {
    (block["type"] == "tool_result").then(|| Message::Result {
        call: block["tool_use_id"].as_str().unwrap_or_default().to_owned(),
        text: block["content"].as_str().unwrap_or_default().to_owned(),
        failed: block["is_error"] == true,
    })
}
