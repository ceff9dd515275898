//! The older storage: `session/<project>/<session>.json`, `message/<session>/<message>.json` and
//! `part/<message>/<part>.json`.

use std::collections::BTreeMap;

use offshoot_session::RawLine;
use serde_json::Value;

use super::rows::{Row, Rows};
use super::tree::read_rows;
use crate::json::{Map, id_text, text};
use crate::nested::object;
use crate::{Transcript, document};

/// What a file of the storage is, and what it belongs to, where it or its folder says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stored {
    Session { id: String },
    Message { id: String, session: Option<String> },
    Part { message: Option<String>, session: Option<String> },
}

/// Sessions put together from files.
#[derive(Debug, Default)]
pub struct Storage {
    /// By the id of the session.
    pub sessions: BTreeMap<String, Transcript>,
    /// Places of files that belong to no session here.
    pub left: Vec<usize>,
}

/// `None` where the file is nothing of the three.
pub fn stored(path: &str, bytes: &[u8]) -> Option<Stored> {
    stored_json(path, &document::whole(bytes)?)
}

fn stored_json(path: &str, json: &Map) -> Option<Stored> {
    let mut folders = path.rsplit(['/', '\\']).skip(1);
    let (folder, above) = (folders.next(), folders.next());
    let id = |key: &str| json.get(key).and_then(id_text);
    let is_in = |kind| above == Some(kind);
    let named_by_folder = |kind| folder.filter(|_| is_in(kind)).map(str::to_owned);
    if super::is_session(json) {
        return Some(Stored::Session { id: id("id")? });
    }
    let has_role = matches!(text(json, "role"), Some("user" | "assistant"));
    if has_role && (is_in("message") || (id("sessionID").is_some() && object(json, "time").is_some())) {
        return Some(Stored::Message {
            id: id("id")?,
            session: id("sessionID").or(named_by_folder("message")),
        });
    }
    let is_part = is_in("part") || folder == Some("part") || id("messageID").is_some();
    if is_part && text(json, "type").is_some() && id("id").is_some() {
        return Some(Stored::Part {
            message: id("messageID").or_else(|| named_by_folder("part")),
            session: id("sessionID"),
        });
    }
    None
}

/// Puts the sessions of a storage together. Files may come in any order.
pub fn read_storage(files: &[(&str, &[u8])]) -> Storage {
    let mut storage = Storage::default();
    let mut rows: BTreeMap<String, Rows> = BTreeMap::new();
    let mut sessions_of_messages: BTreeMap<String, String> = BTreeMap::new();
    let mut parts: Vec<(usize, Row, Option<String>, Option<String>)> = Vec::new();
    let mut in_order: Vec<usize> = (0..files.len()).collect();
    in_order.sort_by_key(|at| files.get(*at).map(|(path, _)| *path));
    for at in in_order {
        let Some((path, bytes)) = files.get(at) else { continue };
        let known = document::whole(bytes).and_then(|json| Some((stored_json(path, &json)?, json)));
        let Some((what, json)) = known else {
            storage.left.push(at);
            continue;
        };
        let mut row = Row { json, source: Some(RawLine::new(*bytes)) };
        match what {
            Stored::Session { id } => match &mut rows.entry(id).or_default().session {
                empty @ None => *empty = Some(row),
                Some(_) => storage.left.push(at), // a copy under another name
            },
            Stored::Message { id, session: Some(session) } => {
                sessions_of_messages.insert(id, session.clone());
                rows.entry(session).or_default().messages.push(row);
            }
            Stored::Part { message, session } => {
                if let Some(message) = &message {
                    row.json.entry("messageID").or_insert_with(|| Value::from(message.clone()));
                }
                parts.push((at, row, message, session));
            }
            Stored::Message { session: None, .. } => storage.left.push(at),
        }
    }
    for (at, row, message, session) in parts {
        let of_message = message.and_then(|message| sessions_of_messages.get(&message).cloned());
        match of_message.or(session) {
            Some(session) => rows.entry(session).or_default().parts.push(row),
            None => storage.left.push(at),
        }
    }
    storage.left.sort_unstable();
    storage.sessions = rows.into_iter().map(|(id, rows)| (id, read_rows(rows))).collect();
    storage
}
