//! From records to a file of version 3.
//!
//! A line that came from pi goes back as it was; only a parent that would be missing is put right. Everything
//! else becomes a new line, and what pi has no line for is told.

use std::collections::{HashMap, HashSet};

use offshoot_session::{
    Change, Entry, EntryId, Fact, HeadName, Mark, OperationId, RawLine, Record, SessionHeader, SessionTree,
    TitleSource,
};
use serde_json::Value;
use thiserror::Error;

use super::draft::{Draft, What};
use super::migrate::Migration;
use super::passes::Passes;
use super::read::{read, title_of};
use super::render::{chain_line, entry_line, fact_fields, header_line};
use super::sources::{Sources, json_of};
use crate::ids::fresh_id;
use crate::json::Map;
use crate::lines::with_json_text;
use crate::lost::Losses;
use crate::{Dialect, Loss, Lost, patch};

#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub bytes: Vec<u8>,
    pub lost: Vec<Lost>,
}

/// Lines with ids cannot follow lines without: the file has to be written anew.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("a file of version {version} cannot be added to")]
pub struct TooOld {
    pub version: u32,
}

/// A whole file. Records that [`read`] made of a file of version 3 give that file back byte for byte.
pub fn write(records: &[Record]) -> Written {
    let (tree, _) = SessionTree::replay(records.iter().cloned());
    let sources = Sources::of(records);
    let mut writer = Writer::new(&tree, records, &sources);
    let first = writer.header(records, &sources);
    for (at, (record, source)) in records.iter().zip(&sources.drafts).enumerate() {
        if Some(at) != first {
            writer.record(record, source.as_ref());
        }
    }
    let moves_head = records.iter().any(moves_main_head);
    writer.finish(&[], moves_head)
}

/// The way to one entry as a session of its own, with the labels on it and the title.
pub fn write_branch(tree: &SessionTree, leaf: &EntryId, header: SessionHeader) -> Written {
    let path = tree.path_to(Some(leaf));
    let on_path: HashSet<&EntryId> = path.iter().map(|entry| &entry.id).collect();
    let mut records = vec![Record::opened(header)];
    let is_on_path = |record: &&Record| record.as_entry().is_some_and(|entry| on_path.contains(&entry.id));
    records.extend(tree.log().filter(is_on_path).cloned().map(without_operation));
    let now = path.last().map_or(jiff::Timestamp::UNIX_EPOCH, |entry| entry.written_at);
    for (target, label) in tree.labels() {
        if on_path.contains(target) {
            let fact = Fact::Label { target: target.clone(), label: Some(label.to_owned()) };
            records.push(Record::marked(now, fact));
        }
    }
    if let Some(title) = tree.title() {
        let source = if tree.title_is_by_user() { TitleSource::User } else { TitleSource::Auto };
        records.push(Record::marked(now, Fact::Title { title: Some(title.to_owned()), source }));
    }
    write(&records)
}

/// The bytes to put behind `existing`, which may end in the middle of a line: the torn line stays a line of its
/// own and is never glued to the next.
pub fn append(existing: &[u8], records: &[Record]) -> Result<Written, TooOld> {
    if existing.is_empty() {
        return Ok(write(records));
    }
    let before = read(None, existing);
    match before.dialect {
        Dialect::Pi { version } | Dialect::OhMyPi { version } if version < 3 => {
            return Err(TooOld { version });
        }
        Dialect::Pi { .. } | Dialect::OhMyPi { .. } | Dialect::Rollouts | Dialect::ClaudeCode => {}
        Dialect::Codex | Dialect::Gemini | Dialect::OpenCode => {}
    }
    let all: Vec<Record> = before.records.iter().chain(records).cloned().collect();
    let (tree, _) = SessionTree::replay(all.iter().cloned());
    let sources = Sources::of(&before.records);
    let mut writer = Writer::new(&tree, &all, &sources);
    for (record, draft) in before.records.iter().zip(&sources.drafts) {
        writer.has_seen(record, draft.as_ref());
    }
    if !existing.ends_with(b"\n") {
        writer.bytes.push(b'\n');
    }
    for record in records.iter().filter(|record| !matches!(record.change, Change::Opened(_))) {
        writer.record(&Record { source: None, ..record.clone() }, None);
    }
    Ok(writer.finish(existing, records.iter().any(moves_main_head)))
}

struct Writer<'t> {
    tree: &'t SessionTree,
    undone: HashSet<OperationId>,
    bytes: Vec<u8>,
    migration: Migration,
    are_sources_from_pi: bool,
    passes: Passes,
    /// Everything so far stands where it stood when it was read.
    is_untouched: bool,
    taken: HashSet<EntryId>,
    /// The last line of the chain.
    tip: Option<EntryId>,
    labels: HashMap<EntryId, String>,
    title: Option<String>,
    /// Facts that wait for the place where pi would write them.
    waiting: Vec<Mark>,
    losses: Losses,
}

impl<'t> Writer<'t> {
    fn new(tree: &'t SessionTree, records: &[Record], sources: &Sources) -> Self {
        let mut passes = Passes::default();
        let mut taken = HashSet::new();
        let mut previous = None;
        for (at, record) in records.iter().enumerate() {
            let draft = sources.drafts.get(at).and_then(Option::as_ref);
            let (id, is_entry) = match &record.change {
                Change::Entry(entry) => (Some(&entry.id), true),
                Change::Marked(mark) => (mark.id.as_ref(), false),
                Change::Unknown if !draft.is_some_and(|draft| matches!(draft.what, What::Silent)) => continue,
                Change::HeadMoved(_) | Change::Unknown => (draft.and_then(|draft| draft.id.as_ref()), false),
                Change::Opened(_) => continue,
            };
            let Some(id) = id else { continue };
            let is_new = taken.insert(id.clone());
            if let Some(draft) = draft.filter(|_| is_new && !is_entry) {
                passes.add(id.clone(), draft.parent_behind(previous.as_ref(), sources.version));
            }
            previous = Some(id.clone());
        }
        Self {
            tree,
            undone: undone_operations(records),
            bytes: Vec::new(),
            migration: Migration::from_version(sources.version),
            are_sources_from_pi: sources.are_from_pi,
            passes,
            is_untouched: true,
            taken,
            tip: None,
            labels: HashMap::new(),
            title: None,
            waiting: Vec::new(),
            losses: Losses::default(),
        }
    }

    /// Writes the header in front where it would not be the first to be read, and says which record it was.
    fn header(&mut self, records: &[Record], sources: &Sources) -> Option<usize> {
        let at = records.iter().position(|record| matches!(record.change, Change::Opened(_)));
        let Some(at) = at else {
            let first = records.iter().find_map(Record::as_entry);
            let opened_at = first.map_or(jiff::Timestamp::UNIX_EPOCH, |entry| entry.written_at);
            let seed = first.map_or("", |entry| entry.id.as_str());
            let id = fresh_id(&[seed.as_bytes()], &mut HashSet::new());
            self.line(&header_line(&SessionHeader::new(id.as_str().into(), opened_at)));
            return None;
        };
        let is_late = sources.drafts.iter().take(at).flatten().any(Draft::is_content);
        let is_new = sources.drafts.get(at).is_none_or(Option::is_none);
        if !is_late && !is_new {
            return None;
        }
        self.is_untouched = false;
        self.record(records.get(at)?, sources.drafts.get(at)?.as_ref());
        Some(at)
    }

    fn record(&mut self, record: &Record, draft: Option<&Draft>) {
        if self.is_hidden(record) {
            self.losses.add(Loss::UndoneSteps);
            return;
        }
        match (&record.source, draft) {
            (Some(source), Some(draft)) if self.are_sources_from_pi => self.known_line(record, source, draft),
            _ => self.new_line(record),
        }
    }

    /// A line that came from pi.
    fn known_line(&mut self, record: &Record, source: &RawLine, draft: &Draft) {
        if matches!(record.change, Change::Entry(_)) {
            self.write_waiting(None);
        }
        let previous = self.tip.clone();
        self.has_seen(record, Some(draft));
        let needs_id = matches!(&draft.what, What::Header(header) if header.id.is_none());
        let mut text = None;
        if self.migration.is_needed() || (needs_id && matches!(record.change, Change::Opened(_))) {
            text = Some(self.migration.line(record, source, draft));
        }
        if let Change::Entry(entry) = &record.change {
            let raw = draft.parent_behind(previous.as_ref(), self.migration.version());
            let is_placed = draft.id.is_some() || self.migration.is_needed() || self.is_untouched;
            if self.passes.entry_above(raw) != entry.parent || !is_placed {
                let line = text.take().unwrap_or_else(|| json_of(source));
                let line = patch::set(&line, "id", &Value::from(entry.id.as_str()).to_string());
                let parent = entry.parent.as_ref().map(EntryId::as_str);
                text = Some(patch::set(&line, "parentId", &Value::from(parent).to_string()));
            }
        }
        match text.filter(|text| *text != json_of(source)) {
            Some(text) => {
                self.is_untouched = false;
                self.raw(&with_json_text(source, &text));
            }
            None => self.raw(source.bytes()),
        }
    }

    /// Takes note of a line that is or will be in the file.
    fn has_seen(&mut self, record: &Record, draft: Option<&Draft>) {
        match &record.change {
            Change::Entry(entry) => self.tip = Some(entry.id.clone()),
            Change::Marked(mark) => {
                self.remember(&mark.fact);
                self.tip = mark.id.clone().or(self.tip.take());
            }
            Change::Opened(_) | Change::HeadMoved(_) | Change::Unknown => {}
        }
        if let Some(Draft { what: What::Header(header), .. }) = draft
            && let Some(title) = &header.title
        {
            self.remember(title);
        }
    }

    fn new_line(&mut self, record: &Record) {
        match &record.change {
            Change::Opened(header) if self.bytes.is_empty() => {
                self.line(&header_line(header));
                let lineage = header.lineage.as_ref();
                if lineage.is_some_and(|from| {
                    from.at.is_some() || from.message_index.is_some() || from.reason.is_some()
                }) {
                    self.losses.add(Loss::Lineage);
                }
            }
            Change::Opened(_) => {}
            Change::Entry(entry) => self.new_entry(entry),
            Change::HeadMoved(head_move) => {
                if head_move.head != HeadName::main() {
                    self.losses.add(Loss::OtherHeads);
                }
            }
            Change::Marked(mark) => self.new_fact(mark),
            Change::Unknown => match &record.source {
                Some(source) if self.are_sources_from_pi => self.raw(source.bytes()),
                Some(source) if !source.content().trim_ascii().is_empty() => {
                    self.losses.add(Loss::UnreadLines)
                }
                Some(_) | None => {}
            },
        }
    }

    fn new_entry(&mut self, entry: &Entry) {
        self.write_waiting(None);
        let (line, loss) = entry_line(entry);
        self.line(&line);
        self.tip = Some(entry.id.clone());
        if let Some(loss) = loss {
            self.losses.add_at(loss, &entry.id);
        }
        if entry.turn.is_some() {
            self.losses.add_at(Loss::Turns, &entry.id);
        }
    }

    fn new_fact(&mut self, mark: &Mark) {
        match &mark.fact {
            Fact::Label { target, .. } if !self.tree.contains(target) => {
                self.losses.add_at(Loss::Labels, target)
            }
            Fact::Title { source: TitleSource::Auto, .. } if self.tree.title_is_by_user() => {}
            Fact::Label { .. } | Fact::Title { .. } | Fact::Spent { .. } => self.waiting.push(mark.clone()),
            Fact::BranchName { at, .. } => self.losses.add_at(Loss::BranchNames, at),
            Fact::Checkpoint { at, .. } => self.losses.add_at(Loss::Checkpoints, at),
            Fact::Bound { at, .. } => self.losses.add_at(Loss::Bindings, at),
            Fact::Archived { target, .. } => self.losses.add_at(Loss::Archived, target),
            Fact::Delivered { prompt, .. } => self.losses.add_at(Loss::Bindings, prompt),
            Fact::TurnEnded { .. } => self.losses.add(Loss::Turns),
            Fact::Began { .. } | Fact::Forked { .. } => {} // between our sessions
            Fact::Operation { .. } | Fact::Undone { .. } | Fact::Redone { .. } => {
                self.losses.add(Loss::Steps)
            }
        }
    }

    /// Facts hang below the tip, as pi writes them; at the end of the file below the head, so that pi resumes there.
    fn write_waiting(&mut self, head: Option<&EntryId>) {
        let mut parent = head.or(self.tip.as_ref()).cloned();
        for mark in std::mem::take(&mut self.waiting) {
            if !self.says_something_new(&mark.fact) {
                continue;
            }
            let Some((kind, fields)) = fact_fields(&mark.fact) else { continue };
            let id = mark.id.clone().unwrap_or_else(|| {
                fresh_id(&[kind.as_bytes(), fields.to_string().as_bytes()], &mut self.taken)
            });
            self.line(&chain_line(kind, &id, parent.as_ref(), mark.marked_at, fields));
            self.remember(&mark.fact);
            match &mark.fact {
                Fact::Title { title: None, .. } => self.losses.add(Loss::ClearedTitle),
                Fact::Title { source: TitleSource::Auto, .. } => self.losses.add(Loss::AutomaticTitle),
                _ => {}
            }
            parent = Some(id.clone());
            self.tip = Some(id);
        }
    }

    fn says_something_new(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Label { target, label } => {
                let label = label.as_deref().filter(|label| !label.trim().is_empty());
                self.labels.get(target).map(String::as_str) != label
            }
            Fact::Title { .. } => self.title.as_deref() != title_of(fact),
            _ => true,
        }
    }

    fn remember(&mut self, fact: &Fact) {
        match fact {
            Fact::Label { target, label: Some(label) } if !label.trim().is_empty() => {
                self.labels.insert(target.clone(), label.clone());
            }
            Fact::Label { target, .. } => {
                self.labels.remove(target);
            }
            Fact::Title { .. } => self.title = title_of(fact).map(str::to_owned),
            _ => {}
        }
    }

    fn is_hidden(&self, record: &Record) -> bool {
        if record.operation.as_ref().is_some_and(|operation| self.undone.contains(operation)) {
            return true;
        }
        // below an undone entry; a line of pi's own is written whatever it says
        record.source.is_none() && record.as_entry().is_some_and(|entry| !self.tree.contains(&entry.id))
    }

    fn line(&mut self, line: &Map) {
        self.is_untouched = false;
        let mut text = Value::Object(line.clone()).to_string();
        text.push('\n');
        self.raw(text.as_bytes());
    }

    /// A line never begins behind an unfinished one.
    fn raw(&mut self, bytes: &[u8]) {
        if self.bytes.last().is_some_and(|last| *last != b'\n') {
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(mut self, behind: &[u8], moves_head: bool) -> Written {
        let head = self.tree.main_head();
        self.write_waiting(head);
        if moves_head {
            let mut file = behind.to_vec();
            file.extend_from_slice(&self.bytes);
            let (again, _) = SessionTree::replay(read(None, &file).records);
            match head {
                Some(head) if again.main_head() != Some(head) => self.losses.add_at(Loss::Head, head),
                None if again.main_head().is_some() => self.losses.add(Loss::Head),
                Some(_) | None => {}
            }
        }
        Written { bytes: self.bytes, lost: self.losses.into_list() }
    }
}

fn without_operation(record: Record) -> Record {
    Record { operation: None, ..record }
}

fn moves_main_head(record: &Record) -> bool {
    matches!(&record.change, Change::HeadMoved(head_move) if head_move.head == HeadName::main())
}

fn undone_operations(records: &[Record]) -> HashSet<OperationId> {
    let mut undone = HashSet::new();
    for record in records {
        let Change::Marked(mark) = &record.change else { continue };
        match &mark.fact {
            Fact::Undone { operation } => {
                undone.insert(operation.clone());
            }
            Fact::Redone { operation } => {
                undone.remove(operation);
            }
            _ => {}
        }
    }
    undone
}
