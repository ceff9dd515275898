//! From a tree to files, one for each [`Trajectory`].
//!
//! A file that was read and not changed is written as it was, changes of the configuration included. In all others the
//! header carries the configuration, and what changed is in the header of the child.

use std::collections::HashMap;
use std::mem::discriminant;

use offshoot_session::lineage::name_and_value;
use offshoot_session::{
    Block, Body, BranchReason, Change, Entry, EntryId, Fact, Record, SessionHeader, SessionId, SessionTree,
    Setting,
};
use serde_json::{Value, json};

use super::read::{body_of_line, model_of_config};
use super::trajectory::{Trajectory, trajectories, trajectory_to, undivided};
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

/// The trajectory that ends with `leaf` as one file, complete with what it shares with its parents. What
/// [`super::read`] made of a file gives that file back byte for byte.
pub fn write(tree: &SessionTree, leaf: &EntryId) -> RolloutFile {
    let log = Log::of(tree);
    if is_unchanged(tree) {
        return log.written(undivided(tree, leaf), Verbatim::Yes);
    }
    log.written(trajectory_to(tree, leaf), Verbatim::No)
}

/// One file for each trajectory of the tree.
pub fn write_all(tree: &SessionTree) -> Vec<RolloutFile> {
    let log = Log::of(tree);
    if is_unchanged(tree) {
        let leaves = tree.leaves().into_iter();
        return leaves.map(|leaf| log.written(undivided(tree, &leaf.id), Verbatim::Yes)).collect();
    }
    let files = trajectories(tree).into_iter();
    files.map(|trajectory| log.written(trajectory, Verbatim::No)).collect()
}

/// Whether lines that change the configuration are written as they were read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verbatim {
    Yes,
    No,
}

/// The records of a tree by what a file takes of them, so that a file costs what it holds and not the whole log.
struct Log<'t> {
    /// By entry, with their places in the log.
    entries: HashMap<&'t EntryId, Vec<(usize, &'t Record)>>,
    /// By entry: the places of its labels.
    labels: HashMap<&'t EntryId, Vec<usize>>,
    /// Headers and unknown lines, which every file looks at.
    others: Vec<(usize, &'t Record)>,
    /// The last entry of the log.
    last: Option<&'t EntryId>,
    has_header: bool,
    are_sources_from_rollouts: bool,
    /// What is lost in every file.
    losses: Losses,
}

impl<'t> Log<'t> {
    fn of(tree: &'t SessionTree) -> Self {
        let mut log = Self {
            entries: HashMap::new(),
            labels: HashMap::new(),
            others: Vec::new(),
            last: None,
            has_header: tree.header().is_some(),
            are_sources_from_rollouts: came_from_rollouts(tree),
            losses: Losses::default(),
        };
        for _ in tree.leaves().iter().skip(1) {
            log.losses.add(Loss::Branches);
        }
        for (at, record) in tree.log().enumerate() {
            log.losses.go_to(at);
            match &record.change {
                Change::Entry(entry) => {
                    log.last = Some(&entry.id);
                    log.entries.entry(&entry.id).or_default().push((at, record));
                }
                Change::Marked(mark) => log.fact(at, &mark.fact),
                Change::Opened(_) | Change::Unknown => log.others.push((at, record)),
                Change::HeadMoved(_) => {}
            }
        }
        log
    }

    fn fact(&mut self, at: usize, fact: &'t Fact) {
        match fact {
            Fact::Label { target, .. } => self.labels.entry(target).or_default().push(at),
            Fact::Title { .. } => self.losses.add(Loss::Titles),
            Fact::BranchName { at, .. } => self.losses.add_at(Loss::BranchNames, at),
            Fact::Checkpoint { at, .. } => self.losses.add_at(Loss::Checkpoints, at),
            Fact::Bound { at, .. } => self.losses.add_at(Loss::Bindings, at),
            Fact::Archived { target, .. } => self.losses.add_at(Loss::Archived, target),
            Fact::Delivered { prompt, .. } => self.losses.add_at(Loss::Bindings, prompt),
            Fact::TurnEnded { .. } => self.losses.add(Loss::Turns),
            Fact::Spent { .. } => self.losses.add(Loss::Costs),
            Fact::Began { .. } | Fact::Forked { .. } => {} // between our sessions
            Fact::Operation { .. } | Fact::Undone { .. } | Fact::Redone { .. } => {
                self.losses.add(Loss::Steps)
            }
        }
    }

    fn written(&self, trajectory: Trajectory<'_>, verbatim: Verbatim) -> RolloutFile {
        let leaf = trajectory.path.last().map(|entry| &entry.id);
        let ends_the_log = self.last.is_some() && self.last == leaf;
        let mut records = self.others.clone();
        for entry in &trajectory.path {
            records.extend(self.entries.get(&entry.id).into_iter().flatten());
        }
        records.sort_unstable_by_key(|(at, _)| *at);
        let mut writer = Writer::new(self, &trajectory, verbatim);
        let mut is_past = false;
        for (at, record) in records {
            writer.losses.go_to(at);
            match &record.change {
                Change::Opened(header) => writer.header(header, record),
                Change::Entry(entry) => {
                    writer.entry(entry, record);
                    is_past |= Some(&entry.id) == leaf;
                }
                Change::Unknown if !is_past || ends_the_log => writer.unknown_line(record),
                Change::Marked(_) | Change::HeadMoved(_) | Change::Unknown => {}
            }
        }
        writer.finish()
    }
}

fn header_line(header: &SessionHeader) -> Map {
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
        "branch_reason": lineage.and_then(|lineage| lineage.reason.as_ref()).map(BranchReason::word),
        "branch_metadata": lineage.and_then(|lineage| lineage.metadata.as_ref()),
    });
    match fields {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

struct Writer {
    file_name: String,
    header: SessionHeader,
    has_header: bool,
    verbatim: Verbatim,
    are_sources_from_rollouts: bool,
    /// The trajectory is the one that carries the session's own id.
    is_trunk: bool,
    bytes: Vec<u8>,
    losses: Losses,
}

impl Writer {
    fn new(log: &Log<'_>, trajectory: &Trajectory<'_>, verbatim: Verbatim) -> Self {
        let Trajectory { header, path, is_trunk } = trajectory;
        let mut losses = log.losses.clone();
        for entry in path {
            for at in log.labels.get(&entry.id).into_iter().flatten() {
                losses.go_to(*at);
                losses.add_at(Loss::Labels, &entry.id);
            }
        }
        let mut writer = Self {
            file_name: file_name(&header.id),
            header: header.clone(),
            has_header: false,
            verbatim,
            are_sources_from_rollouts: log.are_sources_from_rollouts,
            is_trunk: *is_trunk,
            bytes: Vec::new(),
            losses,
        };
        if !log.has_header {
            writer.new_header();
        }
        writer
    }

    fn header(&mut self, header: &SessionHeader, record: &Record) {
        match &record.source {
            _ if self.has_header => {}
            Some(source) if own_line(record).is_some() && self.header == *header => {
                self.has_header = true;
                self.raw(source.bytes());
            }
            Some(_) | None => self.new_header(),
        }
    }

    fn new_header(&mut self) {
        self.has_header = true;
        self.line(header_line(&self.header));
    }

    fn entry(&mut self, entry: &Entry, record: &Record) {
        match (&record.source, &entry.body) {
            (_, Body::Setting(setting)) if self.verbatim == Verbatim::No => self.setting(entry, setting),
            (Some(source), _) if own_line(record).is_some() => self.raw(source.bytes()),
            (Some(_) | None, _) => self.new_entry(entry),
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
            Body::Setting(_) => return, // read from the line of the entry above
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
            Body::ContextEdit(_) => return self.losses.add_at(Loss::ContextEdits, &entry.id),
            Body::Foreign(_) => return self.losses.add_at(Loss::ForeignEntries, &entry.id),
        };
        if let Some(loss) = loss {
            self.losses.add_at(loss, &entry.id);
        }
        self.chain_line("message", line, entry);
    }

    /// The header carries the model, and the metadata of its lineage what differs from the parent. Other settings have
    /// no place in a file.
    fn setting(&mut self, entry: &Entry, setting: &Setting) {
        let metadata = self.header.lineage.as_ref().and_then(|lineage| lineage.metadata.as_ref());
        let is_in =
            |name: &str| metadata.is_some_and(|metadata| metadata.get(format!("new_{name}")).is_some());
        let is_written = match setting {
            Setting::Model { role: None, .. } => true,
            other => !self.is_trunk || is_in(&name_and_value(other).0),
        };
        if !is_written {
            self.losses.add_at(Loss::Settings, &entry.id);
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
        RolloutFile { file_name: self.file_name, bytes: self.bytes, lost: self.losses.into_list() }
    }
}

/// Every entry is a line of rollouts as it was read.
fn is_unchanged(tree: &SessionTree) -> bool {
    let entries = tree.log().filter_map(|record| Some((record, record.as_entry()?)));
    let mut read = entries.filter(|(_, entry)| tree.contains(&entry.id));
    came_from_rollouts(tree)
        && read.all(|(record, entry)| own_line(record).is_some() || is_model_of_line(tree, entry))
}

/// A line that changes the configuration is read as two entries, the second one for its model.
fn is_model_of_line(tree: &SessionTree, entry: &Entry) -> bool {
    let line = tree.parent(&entry.id).map(|above| &above.body);
    match (&entry.body, line) {
        (
            Body::Setting(Setting::Model { role: None, model }),
            Some(Body::Setting(Setting::Config(config))),
        ) => model_of_config(config).as_ref() == Some(model),
        _ => false,
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

fn file_name(id: &SessionId) -> String {
    format!("session_{}.jsonl", offshoot_session::file_name::file_name(id.as_str()))
}

/// One text as it is, anything else in blocks.
fn content_json(blocks: &[Block]) -> Value {
    match blocks {
        [Block::Text(words)] => Value::from(words.as_str()),
        _ => crate::pi::blocks_json(blocks),
    }
}
