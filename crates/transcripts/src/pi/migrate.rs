//! Lines of versions 1 and 2 as lines of version 3. Only the fields in question change.

use offshoot_session::{Body, Change, EntryId, RawLine, Record};
use serde_json::Value;

use super::draft::{Draft, ParentField, Version, What};
use super::render::header_line;
use crate::lines::json_text;
use crate::{Dialect, Transcript, patch};

/// The file as version 3 has it. Newer files stay as they are; lines that are not JSON are left out.
pub fn migrate_lines(transcript: &Transcript) -> Vec<Value> {
    let version = match transcript.dialect {
        Dialect::Pi { version } | Dialect::OhMyPi { version } => version,
        Dialect::Rollouts | Dialect::ClaudeCode | Dialect::Codex | Dialect::Gemini | Dialect::OpenCode => {
            return Vec::new();
        }
    };
    let mut migration = Migration::from_version(version);
    let mut lines = Vec::new();
    for record in &transcript.records {
        match (&record.source, &record.change) {
            (Some(source), _) => {
                let Some(draft) = Draft::of_source(source) else { continue };
                let text = migration.line(record, source, &draft);
                lines.extend(serde_json::from_str::<Value>(&text));
            }
            (None, Change::Opened(header)) => lines.push(Value::Object(header_line(header))),
            (None, _) => {}
        }
    }
    lines
}

/// One walk through the lines of a file.
pub(super) struct Migration {
    version: u32,
    /// The last line of the chain, which is the parent of the next in version 1.
    previous: Option<EntryId>,
}

impl Migration {
    pub(super) fn from_version(version: u32) -> Self {
        Self { version, previous: None }
    }

    pub(super) fn version(&self) -> u32 {
        self.version
    }

    pub(super) fn is_needed(&self) -> bool {
        self.version < 3
    }

    /// The JSON text of a line as version 3 has it.
    pub(super) fn line(&mut self, record: &Record, source: &RawLine, draft: &Draft) -> String {
        let text = String::from_utf8_lossy(json_text(source.content())).into_owned();
        let text = match (&record.change, &draft.what) {
            (Change::Opened(header), What::Header(old)) => {
                self.header(text, header.id.as_str(), old.id.is_none())
            }
            (_, What::Header(old)) if self.is_needed() && old.version != Version::Number(3) => {
                patch::set(&text, "version", "3")
            }
            _ if self.is_needed() => self.chain_line(text, record, draft),
            _ => text,
        };
        if let Some(id) = id_of(record) {
            self.previous = Some(id.clone());
        }
        text
    }

    /// pi takes a file whose header has no id for no session at all.
    fn header(&self, text: String, id: &str, needs_id: bool) -> String {
        let text = if needs_id { patch::set(&text, "id", &Value::from(id).to_string()) } else { text };
        if self.is_needed() { patch::set(&text, "version", "3") } else { text }
    }

    fn chain_line(&self, mut text: String, record: &Record, draft: &Draft) -> String {
        if let Some(id) = id_of(record).filter(|_| self.version < 2) {
            if draft.id.is_none() {
                text = patch::set(&text, "id", &Value::from(id.as_str()).to_string());
            }
            if draft.parent == ParentField::Absent {
                let parent = self.previous.as_ref().map(EntryId::as_str);
                text = patch::set(&text, "parentId", &Value::from(parent).to_string());
            }
        }
        if self.version < 2
            && draft.kept_index.is_some()
            && let Some(Body::Compaction(compaction)) = record.as_entry().map(|entry| &entry.body)
        {
            if let Some(kept) = &compaction.first_kept {
                text = patch::set(&text, "firstKeptEntryId", &Value::from(kept.as_str()).to_string());
            }
            text = patch::remove(&text, "firstKeptEntryIndex");
        }
        if text.contains("hookMessage") && matches!(draft.what, What::Entry(Body::CustomMessage(_))) {
            text = patch::change(&text, "message", |message| patch::set(message, "role", "\"custom\""));
        }
        text
    }
}

fn id_of(record: &Record) -> Option<&EntryId> {
    match &record.change {
        Change::Entry(entry) => Some(&entry.id),
        Change::Marked(mark) => mark.id.as_ref(),
        Change::Opened(_) | Change::HeadMoved(_) | Change::Unknown => None,
    }
}
