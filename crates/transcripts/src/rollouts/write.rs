//! From a branch of a tree to a file of its own.
//!
//! The branch that always goes down by the oldest child carries the session's id. Any other is named after its
//! first entry of its own, and its parent is the branch that this entry leaves.

use std::collections::HashSet;
use std::mem::discriminant;
use std::sync::Arc;

use offshoot_session::{
    Block, Body, BranchReason, Change, Entry, EntryId, Fact, Lineage, Model, Record, SessionHeader,
    SessionId, SessionTree, Setting,
};
use serde_json::{Value, json};

use super::branch::file_name;
use super::read::{body_of_line, model_of_config};
use crate::json::{Map, rfc3339, text};
use crate::lines::{Content, Line};
use crate::lost::Losses;
use crate::{Loss, Lost};

#[derive(Clone, Debug, PartialEq)]
pub struct RolloutFile {
    pub file_name: String,
    pub bytes: Vec<u8>,
    pub lost: Vec<Lost>,
}

/// The way to `leaf` as one file. What [`super::read`] made of a file gives that file back byte for byte.
pub fn write(tree: &SessionTree, leaf: &EntryId) -> RolloutFile {
    let path = tree.path_to(Some(leaf));
    let mut writer = Writer::new(tree, &path);
    let mut is_past = false;
    let ends_the_log = tree.log().filter_map(Record::as_entry).last().is_some_and(|last| last.id == *leaf);
    for record in tree.log() {
        match &record.change {
            Change::Opened(header) => writer.header(header, record),
            Change::Entry(entry) if writer.on_path.contains(&entry.id) => {
                writer.entry(entry, record);
                is_past |= entry.id == *leaf;
            }
            Change::Unknown if !is_past || ends_the_log => writer.unknown_line(record),
            Change::Marked(mark) => writer.fact(&mark.fact),
            Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => {}
        }
    }
    writer.finish()
}

/// One file for each branch, the oldest first.
pub fn write_all(tree: &SessionTree) -> Vec<RolloutFile> {
    tree.leaves().into_iter().map(|leaf| write(tree, &leaf.id)).collect()
}

pub(super) fn header_line(header: &SessionHeader) -> Map {
    let lineage = header.lineage.as_ref();
    let fields = json!({
        "type": "session",
        "id": header.id.as_str(),
        "timestamp": rfc3339(header.opened_at),
        "cwd": header.project.as_deref().unwrap_or_default(),
        "provider": header.model.as_ref().map_or("", |model| model.provider.as_str()),
        "model": header.model.as_ref().map_or("", |model| model.name.as_str()),
        "parent_id": lineage.map(|lineage| &lineage.parent),
        "branch_point": lineage.and_then(|lineage| lineage.message_index),
        "branch_reason": lineage.and_then(|lineage| lineage.reason.as_ref()).map(reason_word),
        "branch_metadata": lineage.and_then(|lineage| lineage.metadata.as_ref()),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

struct Writer {
    on_path: HashSet<EntryId>,
    id: SessionId,
    /// Until it is written.
    header: Option<SessionHeader>,
    are_sources_from_rollouts: bool,
    /// The branch is the one that carries the session's own header.
    is_trunk: bool,
    model: Option<Model>,
    bytes: Vec<u8>,
    losses: Losses,
}

impl Writer {
    fn new(tree: &SessionTree, path: &[&Arc<Entry>]) -> Self {
        let header = branch_header(tree, path);
        let mut losses = Losses::default();
        for _ in tree.leaves().iter().skip(1) {
            losses.add(Loss::Branches);
        }
        let mut writer = Self {
            id: header.id.clone(),
            are_sources_from_rollouts: came_from_rollouts(tree),
            on_path: path.iter().map(|entry| entry.id.clone()).collect(),
            is_trunk: branch_start(tree, path).is_none(),
            model: header.model.clone(),
            header: Some(header),
            bytes: Vec::new(),
            losses,
        };
        if tree.header().is_none() {
            writer.new_header();
        }
        writer
    }

    fn header(&mut self, header: &SessionHeader, record: &Record) {
        let Some(branch) = &self.header else { return };
        match &record.source {
            Some(source) if self.is_trunk && own_line(record).is_some() && branch.id == header.id => {
                self.header = None;
                self.raw(source.bytes());
            }
            Some(_) | None => self.new_header(),
        }
    }

    fn new_header(&mut self) {
        if let Some(header) = self.header.take() {
            self.line(header_line(&header));
        }
    }

    fn entry(&mut self, entry: &Entry, record: &Record) {
        match &record.source {
            Some(source) if own_line(record).is_some() => self.raw(source.bytes()),
            Some(_) | None => self.new_entry(entry),
        }
        if let Some(model) = model_of(&entry.body) {
            self.model = Some(model);
        }
    }

    fn new_entry(&mut self, entry: &Entry) {
        let message = |role: &str, blocks: &[Block]| json!({ "role": role, "content": content_json(blocks) });
        let words = |text: &str| json!({ "role": "user", "content": text });
        let (line, loss) = match &entry.body {
            Body::Prompt(prompt) => (message("user", &prompt.blocks), None),
            Body::Reply(reply) => {
                let mut line = message("assistant", &reply.blocks);
                if let (Value::Object(line), Some(model)) = (&mut line, &reply.model) {
                    line.insert("provider".into(), model.provider.as_str().into());
                    line.insert("model".into(), model.name.as_str().into());
                }
                (line, reply.usage.map(|_| Loss::Costs))
            }
            Body::ToolResult(result) => {
                let line = json!({
                    "role": "tool", "content": content_json(&result.blocks),
                    "tool_call_id": result.call.as_str(), "tool_name": result.tool, "is_error": result.failed,
                });
                (line, None)
            }
            Body::System(system) => (json!({ "role": "system", "content": system.text }), None),
            Body::Setting(setting) => return self.new_setting(entry, setting),
            Body::BranchSummary(summary) => (words(&summary.summary), Some(Loss::PlainMessages)),
            Body::Compaction(compaction) => (words(&compaction.summary), Some(Loss::PlainMessages)),
            Body::Shell(shell) if !shell.private => {
                let ran = format!("$ {}\n{}", shell.command, shell.output);
                (words(&ran), Some(Loss::PlainMessages))
            }
            Body::CustomMessage(said) => (message("user", &said.blocks), Some(Loss::PlainMessages)),
            Body::Merge(merge) => match &merge.summary {
                Some(summary) => (words(summary), Some(Loss::MergeSides)),
                None => return self.losses.add_at(Loss::MergeSides, &entry.id),
            },
            Body::Shell(_) | Body::Note(_) => return self.losses.add_at(Loss::Notes, &entry.id),
            Body::Interrupted(_) => return self.losses.add_at(Loss::Interruptions, &entry.id),
            Body::Cleared => return self.losses.add_at(Loss::Clearings, &entry.id),
            Body::Foreign(_) => return self.losses.add_at(Loss::ForeignEntries, &entry.id),
        };
        if let Some(loss) = loss {
            self.losses.add_at(loss, &entry.id);
        }
        self.chain_line("message", line, entry);
    }

    /// The header says the model at the start; a later one is a change of the configuration.
    fn new_setting(&mut self, entry: &Entry, setting: &Setting) {
        match setting {
            Setting::Model { role: None, model } if self.model.as_ref() == Some(model) => {}
            Setting::Model { role: None, model } => {
                let line = json!({ "endpoint": { "provider": model.provider, "model": model.name } });
                self.chain_line("config_change", line, entry);
            }
            Setting::Config(config) => self.chain_line("config_change", config.clone(), entry),
            Setting::Model { .. }
            | Setting::Agent(_)
            | Setting::Thinking(_)
            | Setting::Tools(_)
            | Setting::PermissionMode(_)
            | Setting::Mode { .. }
            | Setting::ServiceTier(_) => self.losses.add_at(Loss::Settings, &entry.id),
        }
    }

    fn chain_line(&mut self, kind: &str, fields: Value, entry: &Entry) {
        let mut line = Map::new();
        line.insert("type".into(), kind.into());
        if let Value::Object(fields) = fields {
            line.extend(fields);
        }
        line.insert("timestamp".into(), rfc3339(entry.written_at).into());
        self.losses.add_at(Loss::EntryIds, &entry.id);
        self.line(line);
    }

    fn unknown_line(&mut self, record: &Record) {
        match &record.source {
            Some(source) if self.is_trunk && self.are_sources_from_rollouts => self.raw(source.bytes()),
            Some(source) if !source.content().trim_ascii().is_empty() => self.losses.add(Loss::UnreadLines),
            Some(_) | None => {}
        }
    }

    fn fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Label { target, .. } if !self.on_path.contains(target) => {}
            Fact::Label { target, .. } => self.losses.add_at(Loss::Labels, target),
            Fact::Title { .. } => self.losses.add(Loss::Titles),
            Fact::BranchName { at, .. } => self.losses.add_at(Loss::BranchNames, at),
            Fact::Checkpoint { at, .. } => self.losses.add_at(Loss::Checkpoints, at),
            Fact::Bound { at, .. } => self.losses.add_at(Loss::Bindings, at),
            Fact::Archived { target, .. } => self.losses.add_at(Loss::Archived, target),
            Fact::TurnEnded { .. } => self.losses.add(Loss::Turns),
            Fact::Spent { .. } => self.losses.add(Loss::Costs),
            Fact::Began { .. } | Fact::Forked { .. } => {} // between our sessions
            Fact::Operation { .. } | Fact::Undone { .. } | Fact::Redone { .. } => {
                self.losses.add(Loss::Steps)
            }
        }
    }

    fn line(&mut self, line: Map) {
        self.raw(format!("{}\n", Value::Object(line)).as_bytes());
    }

    /// A line never begins behind an unfinished one.
    fn raw(&mut self, bytes: &[u8]) {
        if self.bytes.last().is_some_and(|last| *last != b'\n') {
            self.bytes.push(b'\n');
        }
        self.bytes.extend_from_slice(bytes);
    }

    fn finish(self) -> RolloutFile {
        RolloutFile { file_name: file_name(&self.id), bytes: self.bytes, lost: self.losses.into_list() }
    }
}

fn came_from_rollouts(tree: &SessionTree) -> bool {
    let mut understood = tree.log().filter(|record| !matches!(record.change, Change::Unknown));
    understood.find(|record| record.source.is_some()).is_none_or(|record| own_line(record).is_some())
}

/// The line a record was read from, if rollouts wrote it.
fn own_line(record: &Record) -> Option<Map> {
    let Content::Object(map) = Line::new(1, record.source.clone()?).content else { return None };
    if ["parentId", "message", "version", "uuid"].iter().any(|key| map.contains_key(*key)) {
        return None;
    }
    let kind = text(&map, "type")?;
    let agrees = match &record.change {
        Change::Opened(_) => kind == "session",
        Change::Entry(entry) => discriminant(&entry.body) == discriminant(&body_of_line(kind, &map)),
        Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => false,
    };
    agrees.then_some(map)
}

/// Where on the path the branch leaves the one before it: its last entry that is not its parent's oldest child.
fn branch_start(tree: &SessionTree, path: &[&Arc<Entry>]) -> Option<usize> {
    (0..path.len()).rev().find(|at| {
        let parent = at.checked_sub(1).and_then(|above| path.get(above)).map(|parent| &parent.id);
        let oldest = tree.children(parent).first().map(|entry| &entry.id);
        oldest != path.get(*at).map(|entry| &entry.id)
    })
}

fn branch_id(tree: &SessionTree, path: &[&Arc<Entry>]) -> SessionId {
    let session = tree.header().map_or("rollout", |header| header.id.as_str());
    match branch_start(tree, path).and_then(|start| path.get(start)) {
        Some(first) => format!("{session}_{}", first.id).into(),
        None => session.into(),
    }
}

fn branch_header(tree: &SessionTree, path: &[&Arc<Entry>]) -> SessionHeader {
    let first_time = path.first().map_or(jiff::Timestamp::UNIX_EPOCH, |entry| entry.written_at);
    let mut header =
        tree.header().cloned().unwrap_or_else(|| SessionHeader::new("rollout".into(), first_time));
    header.model = header.model.or_else(|| path.iter().find_map(|entry| model_of(&entry.body)));
    let Some(start) = branch_start(tree, path) else { return header };
    let (shared, own) = path.split_at_checked(start).unwrap_or((path, &[]));
    if let Some(first) = own.first() {
        header.id = branch_id(tree, path);
        header.opened_at = first.written_at;
        header.lineage = Some(lineage(tree, shared, first));
        if let Some(model) = model_of(&first.body) {
            header.model = Some(model);
        }
    }
    header
}

fn lineage(tree: &SessionTree, shared: &[&Arc<Entry>], first: &Entry) -> Lineage {
    let parent = shared.last().map(|entry| &entry.id);
    let oldest = tree.children(parent).first().map(|entry| entry.body.clone());
    let messages = shared.iter().filter(|entry| is_message(&entry.body)).count() as u64;
    let (reason, message_index) = match (&first.body, oldest) {
        (Body::Prompt(_), Some(Body::Prompt(_))) => (BranchReason::MessageEdit, Some(messages)),
        (Body::Reply(_), Some(Body::Reply(_))) => (BranchReason::Retry, messages.checked_sub(1)),
        (Body::Setting(_), _) => (BranchReason::ConfigChange, messages.checked_sub(1)),
        _ => (BranchReason::Fork, messages.checked_sub(1)),
    };
    Lineage {
        parent: branch_id(tree, shared).to_string(),
        at: None,
        message_index,
        reason: Some(reason),
        metadata: None,
    }
}

/// Headers count messages: what becomes a line of that type.
fn is_message(body: &Body) -> bool {
    match body {
        Body::Prompt(_)
        | Body::Reply(_)
        | Body::ToolResult(_)
        | Body::System(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::CustomMessage(_) => true,
        Body::Shell(shell) => !shell.private,
        Body::Merge(merge) => merge.summary.is_some(),
        Body::Interrupted(_) | Body::Setting(_) | Body::Note(_) | Body::Cleared | Body::Foreign(_) => false,
    }
}

fn model_of(body: &Body) -> Option<Model> {
    match body {
        Body::Reply(reply) => reply.model.clone(),
        Body::Setting(Setting::Model { role: None, model }) => Some(model.clone()),
        Body::Setting(Setting::Config(config)) => model_of_config(config),
        _ => None,
    }
}

/// One text as it is, anything else in blocks.
fn content_json(blocks: &[Block]) -> Value {
    match blocks {
        [Block::Text(words)] => Value::from(words.as_str()),
        _ => crate::pi::blocks_json(blocks),
    }
}

fn reason_word(reason: &BranchReason) -> &str {
    match reason {
        BranchReason::ConfigChange => "config_change",
        BranchReason::MessageEdit => "message_edit",
        BranchReason::Retry => "retry",
        BranchReason::Fork => "fork",
        BranchReason::Other(word) => word,
    }
}
