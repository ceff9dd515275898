//! Rows of opencode's database, as its tables hold them. Exports call the same things by other names.

use offshoot_session::RawLine;
use serde_json::Value;

use super::rows::Row;
use crate::json::Map;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Session,
    Message,
    Part,
}

impl Table {
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Message => "message",
            Self::Part => "part",
        }
    }
}

impl Row {
    /// A row by its columns, whatever columns there are. All of them stay in its source, which is one line.
    pub fn of_table(table: Table, columns: Map) -> Self {
        let source = source_of(table, &columns);
        let mut json = match columns.get("data") {
            Some(Value::String(data)) => parsed(data).unwrap_or_default(),
            Some(Value::Object(data)) => data.clone(),
            Some(_) | None => Map::new(),
        };
        for (name, value) in columns {
            if name != "data" && !value.is_null() {
                add(&mut json, &name, value);
            }
        }
        Self { json, source: Some(source) }
    }
}

fn source_of(table: Table, columns: &Map) -> RawLine {
    let mut line = Map::new();
    line.insert("table".to_owned(), table.name().into());
    line.insert("row".to_owned(), Value::Object(columns.clone()));
    let mut bytes = Value::Object(line).to_string().into_bytes();
    bytes.push(b'\n');
    RawLine::new(bytes)
}

/// What `data` says itself counts more than the columns beside it.
fn add(json: &mut Map, column: &str, value: Value) {
    if let Some(of_time) = column.strip_prefix("time_") {
        let time = json.entry("time").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(time) = time {
            time.entry(of_time).or_insert(value);
        }
        return;
    }
    let name = match column.strip_suffix("_id") {
        Some(of) => format!("{of}ID"),
        None => column.to_owned(),
    };
    let value = match &value {
        Value::String(text) if text.starts_with('{') => parsed(text).map_or(value, Value::Object),
        _ => value,
    };
    json.entry(name).or_insert(value);
}

fn parsed(text: &str) -> Option<Map> {
    serde_json::from_str(text).ok()
}
