//! Lines of Claude Code that records keep: they go back as they were.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offshoot_session::{Entry, EntryId, RawLine, SessionId, SessionTree};
use serde_json::Value;

use super::line::Maker;
use crate::json::{Map, entry_id, flag, text};
use crate::lines::json_text;
use crate::{Destination, patch};

/// A version that reads all that is made here, where no line names one.
const VERSION: &str = "2.1.197";

#[derive(Default)]
pub(super) struct OwnLines {
    lines: HashMap<EntryId, OwnLine>,
    version: Option<String>,
    git_branch: Option<String>,
}

pub(super) struct OwnLine {
    text: String,
    /// Lines without an id are facts beside the chain.
    pub(super) is_in_chain: bool,
    /// Names what is above elsewhere, and begins a chain of its own.
    begins_anew: bool,
    is_sidechain: bool,
    /// Calls that it answers.
    pub(super) answers: Vec<String>,
    /// Something stands beside the answers.
    pub(super) has_words: bool,
}

impl OwnLines {
    pub(super) fn of(tree: &SessionTree, path: &[&Arc<Entry>]) -> Self {
        let on_path: HashSet<&EntryId> = path.iter().map(|entry| &entry.id).collect();
        let mut own = Self::default();
        for record in tree.log() {
            let (Some(entry), Some(source)) = (record.as_entry(), &record.source) else { continue };
            if !on_path.contains(&entry.id) || own.lines.contains_key(&entry.id) {
                continue;
            }
            if let Some((line, map)) = own_line(entry, source) {
                own.version = text(&map, "version").map(str::to_owned).or(own.version);
                own.git_branch = text(&map, "gitBranch").map(str::to_owned).or(own.git_branch);
                own.lines.insert(entry.id.clone(), line);
            }
        }
        own
    }

    pub(super) fn get(&self, entry: &EntryId) -> Option<&OwnLine> {
        self.lines.get(entry)
    }

    /// New lines look as if the program that wrote the last own one had written them.
    pub(super) fn maker(&self, to: &Destination) -> Maker {
        Maker {
            session: to.id.clone(),
            project: to.project.clone(),
            version: self.version.clone().unwrap_or_else(|| VERSION.to_owned()),
            git_branch: self.git_branch.clone(),
        }
    }
}

fn own_line(entry: &Entry, source: &RawLine) -> Option<(OwnLine, Map)> {
    let json = std::str::from_utf8(json_text(source.content())).ok()?;
    let Ok(Value::Object(map)) = serde_json::from_str(json) else { return None };
    let kind = text(&map, "type")?;
    let is_in_chain = matches!(kind, "assistant" | "attachment" | "system" | "user")
        && entry_id(&map, "uuid").as_ref() == Some(&entry.id);
    let is_fact = matches!(kind, "mode" | "permission-mode") && map.contains_key("sessionId");
    if !is_in_chain && !is_fact {
        return None;
    }
    let items = map.get("message").and_then(|message| message.get("content")).and_then(Value::as_array);
    let items = items.map(Vec::as_slice).unwrap_or_default();
    let answered = |item: &Value| {
        let is_result = item.get("type").and_then(Value::as_str) == Some("tool_result");
        item.get("tool_use_id").and_then(Value::as_str).filter(|_| is_result).map(str::to_owned)
    };
    let answers: Vec<String> = items.iter().filter_map(answered).collect();
    let line = OwnLine {
        text: json.to_owned(),
        is_in_chain,
        begins_anew: map.contains_key("logicalParentUuid"),
        is_sidechain: flag(&map, "isSidechain"),
        has_words: answers.len() < items.len(),
        answers,
    };
    Some((line, map))
}

impl OwnLine {
    /// The line as part of another session: every byte as it was, but for the session and the line above.
    pub(super) fn in_session(&self, session: &SessionId, above: Option<&str>) -> String {
        let above = Value::from(above).to_string();
        let mut line = patch::set(&self.text, "sessionId", &Value::from(session.as_str()).to_string());
        if self.begins_anew {
            line = patch::set(&line, "logicalParentUuid", &above);
        } else if self.is_in_chain {
            line = patch::set(&line, "parentUuid", &above);
        }
        if self.is_sidechain { patch::set(&line, "isSidechain", "false") } else { line }
    }
}
