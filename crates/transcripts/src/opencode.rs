//! Sessions of opencode: exports, the older storage of one JSON file for each session, message and part, and rows
//! that somebody else has read from its database.
//!
//! All three are the same rows in other clothes, so [`read_rows`] does the work. Messages of the person stand one
//! after the other in time; an answer names the message it answers, and several answers to one message follow
//! each other. What a revert hides is a branch, and the head stands before it; opencode itself deletes it with the
//! next prompt.

mod columns;
mod message;
mod rows;
mod storage;
mod tree;

pub use columns::Table;
pub use rows::{Row, Rows};
pub use storage::{Storage, Stored, read_storage, stored};
pub use tree::read_rows;

use offshoot_session::{RawLine, Record};

use crate::json::Map;
use crate::nested::object;
use crate::noted::oddity_of_document;
use crate::{Transcript, Unreadable, document};

/// Reads an export, or the file of a session alone.
pub(crate) fn read(bytes: &[u8]) -> Result<Transcript, Unreadable> {
    let Some(document) = document::whole(bytes) else {
        return Err(Unreadable::NotASession(
            "its JSON breaks off or is followed by something else".to_owned(),
        ));
    };
    let rows = if is_export(&document) { rows::of_export(&document) } else { rows::of_session(document) };
    let mut transcript = read_rows(rows);
    transcript.oddities.extend(oddity_of_document(bytes));
    let source = RawLine::new(bytes);
    match transcript.records.first_mut() {
        Some(opened) => opened.source = Some(source),
        None => transcript.records.push(Record::unknown(source)),
    }
    Ok(transcript)
}

pub(crate) fn is_document(document: &Map) -> bool {
    is_export(document) || is_session(document)
}

fn is_export(document: &Map) -> bool {
    object(document, "info").is_some() && document.get("messages").is_some_and(|messages| messages.is_array())
}

fn is_session(document: &Map) -> bool {
    document.contains_key("id")
        && document.contains_key("projectID")
        && document.contains_key("directory")
        && object(document, "time").is_some()
}
