//! What a file is to the conversations beside it: a session, something that belongs to one, or nothing of theirs.

use crate::claude::session_of_workflow;
use crate::opencode::{Stored, stored};
use crate::{Dialect, Unreadable, read};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRole {
    Session(Dialect),
    /// Says something about sessions, and is read together with its owner.
    SideFileOf(String),
    /// With the reason, for a person.
    NotASession(String),
}

/// What a file is, from its path and its bytes. The first bytes do, if they hold a line that tells.
pub fn classify(path: &str, first_bytes: &[u8]) -> FileRole {
    let path = path.replace('\\', "/");
    if let Some(owner) = owner_by_name(&path) {
        return FileRole::SideFileOf(owner);
    }
    if first_bytes.starts_with(b"SQLite format 3\0") {
        return FileRole::NotASession("a SQLite database".to_owned());
    }
    match Some(&path).filter(|path| path.ends_with(".json")).and_then(|path| stored(path, first_bytes)) {
        Some(Stored::Session { .. }) => return FileRole::Session(Dialect::OpenCode),
        Some(Stored::Message { session, .. }) => return FileRole::SideFileOf(named("session", session)),
        Some(Stored::Part { message, .. }) => return FileRole::SideFileOf(named("message", message)),
        None => {}
    }
    match dialect_of(&path, first_bytes) {
        Ok(dialect) => FileRole::Session(dialect),
        Err(reason) => FileRole::NotASession(reason.to_string()),
    }
}

/// So many bytes, up to the end of their last line, mostly tell the dialect of a file.
const ENOUGH: usize = 64 * 1024;

fn dialect_of(path: &str, bytes: &[u8]) -> Result<Dialect, Unreadable> {
    let lines_end = bytes.get(ENOUGH..).and_then(|rest| memchr::memchr(b'\n', rest));
    let beginning = lines_end.and_then(|end| bytes.get(..ENOUGH + end + 1)).unwrap_or(bytes);
    let told = read(Some(path), beginning).map(|transcript| transcript.dialect);
    told.or_else(|reason| {
        if beginning.len() == bytes.len() {
            return Err(reason);
        }
        read(Some(path), bytes).map(|transcript| transcript.dialect)
    })
}

fn named(kind: &str, id: Option<String>) -> String {
    match id {
        Some(id) => format!("{kind} `{id}`"),
        None => format!("a {kind} it does not name"),
    }
}

/// Files whose name says what they are.
fn owner_by_name(path: &str) -> Option<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let folder_name = folder.rsplit('/').next().unwrap_or_default();
    if let Some(stem) = name.strip_suffix(".meta.json") {
        return Some(format!("`{stem}.jsonl`"));
    }
    match name {
        "session_index.jsonl" => return Some("the Codex sessions beside it (their names)".to_owned()),
        "sessions-index.json" => return Some("the Claude Code sessions beside it (their index)".to_owned()),
        "history.jsonl" => return Some("the program's input line (its history)".to_owned()),
        "projects.json" => return Some("the Gemini CLI sessions (the folders of their projects)".to_owned()),
        "logs.json" => return Some("the Gemini CLI sessions beside it (their prompts)".to_owned()),
        "MANIFEST.md" | "MANIFEST.json" | "manifest.json" => {
            return Some("the files beside it (their manifest)".to_owned());
        }
        _ => {}
    }
    if let Some(session) = session_of_workflow(path).filter(|_| name == "journal.jsonl") {
        return Some(format!("session `{session}` (the journal of a workflow run)"));
    }
    let stem = name.strip_suffix(".json")?;
    match folder_name {
        "session_diff" | "session_share" | "todo" => Some(format!("session `{stem}`")),
        "project" | "migration" if folder.contains("storage") => Some("the opencode storage".to_owned()),
        _ => None,
    }
}
