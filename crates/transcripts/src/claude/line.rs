//! One line of a session, read by itself: for callers that receive lines one by one while they are written.

use std::collections::HashSet;

use offshoot_session::{Body, EntryId};
use serde_json::{Map, Value};

use super::draft::{Draft, What};
use crate::ids::fresh_id;

/// The entries of a line. [`super::read`] gives them the same ids, and the same bodies except for what other lines tell:
/// the names of tools, and which line of a message counts its tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct LineEntries {
    /// The message of which a reply is a part.
    pub message: Option<String>,
    /// The last one has the id of the line.
    pub entries: Vec<(EntryId, Body)>,
}

/// `None` where the line has no id or tells nothing of the conversation. `session` is the name of the file without its
/// ending.
pub fn entries_of_line(session: &str, line: &Map<String, Value>) -> Option<LineEntries> {
    let draft = Draft::new(line);
    let id = draft.id?;
    let What::Entry { results, body } = draft.what else { return None };
    let own = |nth: usize| {
        let seed = [id.as_str().as_bytes(), &nth.to_le_bytes()].concat();
        fresh_id(&[session.as_bytes(), &seed], &mut HashSet::new())
    };
    let results = results.into_iter().enumerate().map(|(nth, result)| (own(nth), Body::ToolResult(result)));
    let mut entries: Vec<_> = results.collect();
    entries.push((id.clone(), body));
    Some(LineEntries { message: draft.message.map(|message| message.to_string()), entries })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claude::read;

    #[test]
    fn a_line_by_itself_has_the_entries_that_a_file_has() {
        let session = "11111111-1111-4111-8111-111111111111";
        let line = json!({
            "type": "user", "uuid": "22222222-2222-4222-8222-222222222222", "parentUuid": null,
            "sessionId": session, "timestamp": "2026-11-15T19:06:47.571Z",
            "message": { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "one", "content": "1" },
                { "type": "tool_result", "tool_use_id": "two", "content": "2", "is_error": true },
            ] },
        });
        let file = read(Some(&format!("{session}.jsonl")), line.to_string().as_bytes());
        let in_file: Vec<_> = file.records.iter().filter_map(|record| record.as_entry()).collect();
        let alone = line.as_object().and_then(|line| entries_of_line(session, line)).expect("entries");
        let in_file: Vec<_> = in_file.iter().map(|entry| (entry.id.clone(), entry.body.clone())).collect();
        assert_eq!(alone.entries, in_file);
        assert_eq!(alone.entries.len(), 2);
    }
}
