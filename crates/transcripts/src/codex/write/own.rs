//! Items of Codex that records keep: they go back as they were, without the number that their old file gave them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offshoot_session::{Body, Entry, EntryId, RawLine, SessionTree};
use serde_json::Value;

use crate::json::text;
use crate::lines::json_text;
use crate::patch;

#[derive(Default)]
pub(super) struct OwnLines {
    lines: HashMap<EntryId, String>,
}

impl OwnLines {
    pub(super) fn of(tree: &SessionTree, path: &[&Arc<Entry>]) -> Self {
        let on_path: HashSet<&EntryId> = path.iter().map(|entry| &entry.id).collect();
        let mut own = Self::default();
        for record in tree.log() {
            let (Some(entry), Some(source)) = (record.as_entry(), &record.source) else { continue };
            // Codex tells the model about itself anew whenever a thread is resumed.
            if on_path.contains(&entry.id)
                && !matches!(entry.body, Body::System(_))
                && !own.lines.contains_key(&entry.id)
                && let Some(line) = own_line(source)
            {
                own.lines.insert(entry.id.clone(), line);
            }
        }
        own
    }

    pub(super) fn get(&self, entry: &EntryId) -> Option<&str> {
        self.lines.get(entry).map(String::as_str)
    }
}

/// Of the second and third generation; events and older lines are made anew.
fn own_line(source: &RawLine) -> Option<String> {
    let json = std::str::from_utf8(json_text(source.content())).ok()?;
    let Ok(Value::Object(map)) = serde_json::from_str(json) else { return None };
    let is_kept = matches!(text(&map, "type")?, "response_item" | "compacted" | "turn_context");
    (is_kept && map.get("payload").is_some_and(Value::is_object)).then(|| patch::remove(json, "ordinal"))
}
