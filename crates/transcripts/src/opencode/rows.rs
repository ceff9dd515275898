//! A session, its messages and their parts, as JSON, wherever they were found.

use offshoot_session::RawLine;
use serde_json::Value;

use crate::json::{Map, id_text};
use crate::nested::{object, objects};

/// A JSON object of opencode and the bytes it was read from, if it had a file of its own.
#[derive(Clone, Debug)]
pub struct Row {
    pub json: serde_json::Map<String, Value>,
    pub source: Option<RawLine>,
}

/// Everything that is known of one session. Parts keep their order; messages are put in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    pub session: Option<Row>,
    pub messages: Vec<Row>,
    pub parts: Vec<Row>,
}

impl Row {
    pub fn new(json: Map) -> Self {
        Self { json, source: None }
    }

    /// A row of the database: `data` as it is stored, and the columns beside it under the names that exports give
    /// them (`id`, `sessionID`, `messageID`, …). What `data` says itself counts more.
    pub fn from_columns(data: Value, columns: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let mut json = match data {
            Value::Object(json) => json,
            _ => Map::new(),
        };
        for (name, value) in columns {
            json.entry(name).or_insert(value);
        }
        Self::new(json)
    }

    pub(super) fn id(&self, key: &str) -> Option<String> {
        self.json.get(key).and_then(id_text)
    }
}

pub(super) fn of_export(document: &Map) -> Rows {
    let mut rows =
        Rows { session: object(document, "info").map(|info| Row::new(info.clone())), ..Rows::default() };
    for message in objects(document, "messages") {
        let Some(info) = object(message, "info") else { continue };
        let id = info.get("id").cloned().unwrap_or_default();
        rows.messages.push(Row::new(info.clone()));
        let parts = objects(message, "parts")
            .map(|part| Row::from_columns(Value::Object(part.clone()), [("messageID", id.clone())]));
        rows.parts.extend(parts);
    }
    rows
}

pub(super) fn of_session(document: Map) -> Rows {
    Rows { session: Some(Row::new(document)), ..Rows::default() }
}
