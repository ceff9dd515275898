//! `sessions-index.json`, the list of sessions that some versions keep in the folder of a project.

use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use crate::json::{Map, flag, given, integer, text as text_of, timestamp};
use crate::patch;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexRecord {
    pub session: String,
    /// Where the file of the session lies.
    pub full_path: Option<String>,
    pub custom_title: Option<String>,
    pub summary: Option<String>,
    pub first_prompt: Option<String>,
    pub messages: Option<i64>,
    pub opened_at: Option<Timestamp>,
    pub modified_at: Option<Timestamp>,
    pub git_branch: Option<String>,
    pub project: Option<String>,
    pub is_sidechain: bool,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("this is not a `sessions-index.json`: {0}")]
pub struct NotAnIndex(String);

/// The records in the order of the file. One without a session says nothing and is left out.
pub fn read_index(bytes: &[u8]) -> Result<Vec<IndexRecord>, NotAnIndex> {
    let file: Value = serde_json::from_slice(bytes).map_err(|error| NotAnIndex(error.to_string()))?;
    let entries = file.get("entries").unwrap_or(&file).as_array();
    let entries = entries.ok_or_else(|| NotAnIndex("it has no list of `entries`".to_owned()))?;
    Ok(entries.iter().filter_map(Value::as_object).filter_map(record).collect())
}

/// The list with another title for a session, every other byte as it was. An empty title removes the one that was
/// given. `None` if nothing changes: the list is not one, does not know the session, or has this title.
pub fn retitled_index(bytes: &[u8], session: &str, title: &str) -> Option<Vec<u8>> {
    read_index(bytes).ok()?;
    let text = std::str::from_utf8(bytes).ok()?;
    let retitled = |record: &str| match serde_json::from_str::<Value>(record) {
        Ok(Value::Object(fields)) if text_of(&fields, "sessionId") == Some(session) => {
            match text_of(&fields, "customTitle").unwrap_or_default() == title {
                true => record.to_owned(),
                false if title.is_empty() => patch::remove(record, "customTitle"),
                false => patch::set(record, "customTitle", &Value::from(title).to_string()),
            }
        }
        Ok(_) | Err(_) => record.to_owned(),
    };
    let changed = match text.trim_start().starts_with('[') {
        true => patch::change_each(text, retitled),
        false => patch::change(text, "entries", |entries| patch::change_each(entries, retitled)),
    };
    (changed != text).then(|| changed.into_bytes())
}

fn record(entry: &Map) -> Option<IndexRecord> {
    let field = |key: &str| text_of(entry, key).filter(|value| !value.is_empty()).map(str::to_owned);
    let moment = |key: &str| given(entry, key).and_then(timestamp);
    Some(IndexRecord {
        session: field("sessionId")?,
        full_path: field("fullPath"),
        custom_title: field("customTitle"),
        summary: field("summary"),
        first_prompt: field("firstPrompt"),
        messages: integer(entry, "messageCount"),
        opened_at: moment("created"),
        modified_at: moment("modified").or_else(|| moment("fileMtime")),
        git_branch: field("gitBranch"),
        project: field("projectPath"),
        is_sidechain: flag(entry, "isSidechain"),
    })
}
