//! Lines of the stream as entries. They are read as lines of the transcript are, so that an entry that was reported live
//! equals the one that is read from the file.

use offshoot_transcripts::claude::{LineEntries, entries_of_line};
use serde_json::Value;

use super::json::{Map, flag, object, text};

/// The model of replies that the CLI made itself.
const NO_MODEL: &str = "<synthetic>";

pub(super) fn entries(session: &str, line: &Map) -> Option<LineEntries> {
    if !flag(line, "isSynthetic") {
        return entries_of_line(session, line);
    }
    // The transcript calls it `isMeta`.
    let mut line = line.clone();
    line.insert("isMeta".to_owned(), Value::Bool(true));
    entries_of_line(session, &line)
}

pub(super) fn is_synthetic_reply(line: &Map) -> bool {
    object(line, "message").and_then(|message| text(message, "model")) == Some(NO_MODEL)
}
