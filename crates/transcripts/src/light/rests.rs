//! What was left out of a line, and how it comes back into an entry.

use std::collections::{HashMap, HashSet};

use offshoot_session::{Block, Body, Entry, ImageData, Stop};
use serde_json::Value;

use super::lighten::{Piece, each_piece, unescaped};
use super::marks::{MARK, Marks};

/// What [`super::lighten`] takes out of a line.
#[derive(Debug)]
pub struct Rests {
    marks: Marks,
    by_mark: HashMap<String, String>,
}

impl Rests {
    /// None yet.
    pub fn new(marks: Marks) -> Self {
        Self { marks, by_mark: HashMap::new() }
    }

    /// Those rests of another line that have one of these marks.
    pub fn add_marked(&mut self, line: &[u8], marks: &HashSet<String>) {
        self.add_where(line, |mark| marks.contains(mark));
    }

    /// The rests of another line too.
    pub fn add(&mut self, line: &[u8]) {
        self.add_where(line, |_| true);
    }

    fn add_where(&mut self, line: &[u8], is_wanted: impl Fn(&str) -> bool) {
        each_piece(line, |piece| {
            let Piece::Rest(rest) = piece else { return };
            if let Ok(mark) = std::str::from_utf8(&self.marks.of(rest))
                && is_wanted(mark)
                && let Some(said) = unescaped(rest)
            {
                self.by_mark.insert(mark.to_owned(), said.into_owned());
            }
        });
    }

    /// The entry as it would have been read from whole lines; `None` where a rest is not among these.
    pub fn restored(&self, entry: &Entry) -> Option<Entry> {
        let mut restorer = Restorer { rests: self, missing: HashSet::new() };
        let mut entry = entry.clone();
        restorer.body(&mut entry.body);
        restorer.missing.is_empty().then_some(entry)
    }

    /// The marks in an entry whose rests are not among these.
    pub fn missing_for(&self, entry: &Entry) -> HashSet<String> {
        let mut restorer = Restorer { rests: self, missing: HashSet::new() };
        restorer.body(&mut entry.body.clone());
        restorer.missing
    }
}

struct Restorer<'r> {
    rests: &'r Rests,
    /// Marks whose rests are not there.
    missing: HashSet<String>,
}

impl Restorer<'_> {
    fn body(&mut self, body: &mut Body) {
        match body {
            Body::Prompt(prompt) => {
                self.blocks(&mut prompt.blocks);
                prompt.attachments.iter_mut().for_each(|name| self.text(name));
            }
            Body::Reply(reply) => {
                self.blocks(&mut reply.blocks);
                if let Some(Stop::Error(words) | Stop::Other(words)) = &mut reply.stop {
                    self.text(words);
                }
            }
            Body::ToolResult(result) => self.blocks(&mut result.blocks),
            Body::Shell(shell) => {
                self.text(&mut shell.command);
                self.text(&mut shell.output);
            }
            Body::Compaction(compaction) => {
                self.text(&mut compaction.summary);
                compaction.details.iter_mut().for_each(|details| self.json(details));
                if let Some(system) = &mut compaction.system {
                    let mut text = system.to_string();
                    self.text(&mut text);
                    *system = text.into();
                }
            }
            Body::BranchSummary(summary) => self.text(&mut summary.summary),
            Body::CustomMessage(message) => self.blocks(&mut message.blocks),
            Body::System(system) => self.text(&mut system.text),
            Body::Note(note) => note.data.iter_mut().for_each(|data| self.json(data)),
            Body::Foreign(foreign) => foreign.text.iter_mut().for_each(|text| self.text(text)),
            Body::ContextEdit(edit) => edit.replacement.iter_mut().for_each(|blocks| self.blocks(blocks)),
            // Short words, by their nature.
            Body::Setting(_) | Body::Interrupted(_) | Body::Merge(_) | Body::Cleared => {}
        }
    }

    fn blocks(&mut self, blocks: &mut [Block]) {
        for block in blocks {
            match block {
                Block::Text(text) | Block::Thinking(text) => self.text(text),
                Block::ToolUse(call) => self.json(&mut call.input),
                Block::Image { data, .. } => match data {
                    ImageData::Inline(text) | ImageData::Blob(text) => {
                        self.text(text);
                    }
                },
                Block::Other { kind } => self.text(kind),
            }
        }
    }

    fn json(&mut self, value: &mut Value) {
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            match value {
                Value::String(text) => self.text(text),
                Value::Array(items) => open.extend(items),
                Value::Object(map) => open.extend(map.values_mut()),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
    }

    fn text(&mut self, text: &mut String) {
        let mut whole = String::new();
        let mut rest = text.as_str();
        while let Some(start) = rest.find(MARK) {
            let (before, marked) = rest.split_at(start);
            whole.push_str(before);
            // The character may stand there by itself.
            let Some(mark) = self.rests.marks.first_in(marked) else {
                whole.push(MARK);
                rest = marked.get(MARK.len_utf8()..).unwrap_or_default();
                continue;
            };
            match self.rests.by_mark.get(mark) {
                Some(taken) => whole.push_str(taken),
                None => drop(self.missing.insert(mark.to_owned())),
            }
            rest = marked.get(mark.len()..).unwrap_or_default();
        }
        whole.push_str(rest);
        *text = whole;
    }
}
