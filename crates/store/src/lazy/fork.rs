//! A branch as a file of its own. Lines that stay as they are, are copied as bytes, neighbours together.

use std::collections::HashSet;
use std::path::Path;

use offshoot_session::format::{InBatch, encode};
use offshoot_session::plan::inherited_binding;
use offshoot_session::skeleton::{Kind, Name};
use offshoot_session::{
    BranchReason, Entry, EntryId, Fact, HeadMove, HeadName, Lineage, Record, SessionHeader, SessionId,
    Stamps, TitleSource, TurnId,
};
use offshoot_transcripts::pi;
use serde_json::json;

use super::{Format, LazyError, LazySession};
use crate::files::{About, Open, OpenFile, Pages, append_all, read_exactly};
use crate::journal_store::JournalStore;

const CHUNK: u64 = 512 << 10;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedFile {
    pub id: SessionId,
    pub entries: usize,
    pub bytes: u64,
}

/// A file in the making.
enum Part {
    Bytes(Vec<u8>),
    /// From the file that is forked.
    Lines {
        offset: u64,
        length: u64,
    },
}

#[derive(Default)]
struct Parts(Vec<Part>);

impl Parts {
    fn bytes(&mut self, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Part::Bytes(last)) => last.extend_from_slice(bytes),
            Some(Part::Lines { .. }) | None => self.0.push(Part::Bytes(bytes.to_vec())),
        }
    }

    /// Whole lines, newline included.
    fn lines(&mut self, offset: u64, length: u64) {
        match self.0.last_mut() {
            Some(Part::Lines { offset: start, length: before }) if *start + *before == offset => {
                *before += length;
            }
            Some(_) | None => self.0.push(Part::Lines { offset, length }),
        }
    }
}

impl LazySession {
    /// The way to an entry as a new journal: what [`offshoot_session::plan::fork::branched_session`] makes, safe
    /// when this returns.
    pub fn fork_to(
        &mut self,
        store: &JournalStore,
        at: Option<&EntryId>,
        stamps: &mut dyn Stamps,
    ) -> Result<ForkedFile, LazyError> {
        let (id, now) = (stamps.session_id(), stamps.now());
        let (mut parts, path) = self.once_more(|session| {
            let leaf = session.node_at(at)?;
            let path = session.skeleton.path_to(leaf);
            let header = session.forked_header(leaf, SessionHeader::new(id.clone(), now));
            Ok((session.journal_parts(header, &path)?, path))
        })?;
        for fact in self.facts_on(&path) {
            parts.bytes(&encode(&Record::marked(stamps.now(), fact), InBatch::Last)?.line);
        }
        let to = path.last().and_then(|leaf| self.skeleton.id(*leaf));
        if to.is_some() {
            let head_move = HeadMove { head: HeadName::main(), moved_at: stamps.now(), from: None, to };
            parts.bytes(&encode(&Record::head_moved(head_move), InBatch::Last)?.line);
        }
        store.home().prepare(self.files.as_ref())?;
        let target = store.home().journal(&id);
        let temporary = target.with_extension("forking");
        let bytes = self.write_parts(&parts, &temporary, Durable::Yes)?;
        self.files.rename(&temporary, &target).about("rename", &temporary)?;
        let folder = store.home().sessions();
        self.files.sync_folder(&folder).about("sync the folder", &folder)?;
        Ok(ForkedFile { id, entries: path.len(), bytes })
    }

    /// The way to an entry as a new file of pi, with the labels on it and the title.
    pub fn fork_to_pi(
        &mut self,
        target: &Path,
        at: Option<&EntryId>,
        stamps: &mut dyn Stamps,
    ) -> Result<ForkedFile, LazyError> {
        let (id, now) = (stamps.session_id(), stamps.now());
        let (lines, path) = self.once_more(|session| {
            let path = session.skeleton.path_to(session.node_at(at)?);
            Ok((session.pi_parts(&path)?, path))
        })?;
        let mut parts = Parts::default();
        let time = |at: jiff::Timestamp| at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string();
        let project = self.skeleton.header().and_then(|header| header.project.clone());
        let header = json!({
            "type": "session", "version": 3, "id": id.as_str(), "timestamp": time(now),
            "cwd": project.unwrap_or_default(), "parentSession": self.path.to_string_lossy(),
        });
        parts.bytes(format!("{header}\n").as_bytes());
        parts.0.extend(lines.0);
        let mut tip = path.last().and_then(|leaf| self.skeleton.id(*leaf));
        for fact in self.facts_on(&path) {
            let id = stamps.entry_id();
            let mut line = json!({
                "type": "label", "id": id.as_str(), "parentId": tip.as_ref().map(EntryId::as_str),
                "timestamp": time(now),
            });
            match fact {
                Fact::Label { target, label } => {
                    line["targetId"] = target.as_str().into();
                    line["label"] = label.into();
                }
                Fact::Title { title, .. } => {
                    line["type"] = "session_info".into();
                    line["name"] = title.into();
                }
                _ => continue, // pi has no words for it
            }
            parts.bytes(format!("{line}\n").as_bytes());
            tip = Some(id);
        }
        let bytes = self.write_parts(&parts, target, Durable::No)?;
        Ok(ForkedFile { id, entries: path.len(), bytes })
    }

    fn forked_header(&self, leaf: Option<u32>, mut header: SessionHeader) -> SessionHeader {
        if let Some(origin) = self.skeleton.header() {
            let said = |node: &u32| self.skeleton.kind(*node).is_some_and(Kind::is_said);
            let messages = self.skeleton.ancestors(leaf).filter(said).count() as u64;
            header.project = origin.project.clone();
            header.agent = origin.agent.clone();
            header.model = origin.model.clone();
            header.lineage = Some(Lineage {
                parent: origin.id.to_string(),
                at: leaf.and_then(|leaf| self.skeleton.id(leaf)),
                message_index: messages.checked_sub(1),
                reason: Some(BranchReason::Fork),
                metadata: None,
            });
        }
        header
    }

    /// A line that belongs to an operation, or names a parent that is missing, is written anew.
    fn journal_parts(&self, header: SessionHeader, path: &[u32]) -> Result<Parts, LazyError> {
        let mut parts = Parts::default();
        parts.bytes(&encode(&Record::opened(header), InBatch::Last)?.line);
        for node in path {
            let Some(envelope) = self.skeleton.envelope(*node) else { return Err(self.changed()) };
            let is_root = self.skeleton.parent(*node).is_none();
            let end = envelope.offset + u64::from(envelope.length);
            let keeps_its_line = self.format == Format::Journal
                && end < self.extent.stat.length
                && envelope.operation().is_none()
                && !(is_root && envelope.parent().is_some());
            if keeps_its_line {
                parts.lines(envelope.offset, u64::from(envelope.length) + 1);
            } else {
                let entry = self.entry(*node)?;
                let parent = self.skeleton.parent(*node).and_then(|parent| self.skeleton.id(parent));
                let encoded = encode(&Record::entry(Entry { parent, ..(*entry).clone() }), InBatch::Last)?;
                parts.bytes(&encoded.line);
            }
        }
        Ok(parts)
    }

    /// A line that names a fact, which the new file does not have, names an entry there.
    fn pi_parts(&self, path: &[u32]) -> Result<Parts, LazyError> {
        let mut parts = Parts::default();
        for node in path {
            let Some(envelope) = self.skeleton.envelope(*node) else { return Err(self.changed()) };
            let (offset, length) = (envelope.offset, u64::from(envelope.length));
            let is_root = self.skeleton.parent(*node).is_none();
            let names_entries = matches!(envelope.kind, Kind::Compaction | Kind::BranchSummary);
            if self.skeleton.hangs_below_fact(*node)
                || names_entries && self.skeleton.has_facts_in_chain()
                || is_root && envelope.parent().is_some()
            {
                let parent = self.skeleton.parent(*node).and_then(|parent| self.skeleton.id(parent));
                let (line, entry) = (self.line(offset, length)?, self.entry(*node)?);
                let line = pi::skim::renamed(&line, parent.as_ref(), &entry.body);
                parts.bytes(&line.ok_or_else(|| self.changed())?);
                parts.bytes(b"\n");
            } else if offset + length < self.extent.stat.length {
                parts.lines(offset, length + 1);
            } else {
                parts.bytes(&self.line(offset, length)?);
                parts.bytes(b"\n");
            }
        }
        Ok(parts)
    }

    fn facts_on(&self, path: &[u32]) -> Vec<Fact> {
        let skeleton = &self.skeleton;
        let mut is_on_path = vec![false; skeleton.len()];
        for node in path {
            if let Some(on_path) = is_on_path.get_mut(*node as usize) {
                *on_path = true;
            }
        }
        let kept = |id: &EntryId| {
            skeleton.node(id).is_some_and(|node| is_on_path.get(node as usize).copied().unwrap_or(false))
        };
        let mut facts = Vec::new();
        if let Some(title) = skeleton.title() {
            let source = if skeleton.title_is_by_user() { TitleSource::User } else { TitleSource::Auto };
            facts.push(Fact::Title { title: Some(title.to_owned()), source });
        }
        for (target, label) in skeleton.labels().filter(|(target, _)| kept(target)) {
            facts.push(Fact::Label { target: target.clone(), label: Some(label.to_owned()) });
        }
        for (at, name) in skeleton.branch_names().filter(|(at, _)| kept(at)) {
            facts.push(Fact::BranchName { at: at.clone(), name: Some(name.to_owned()) });
        }
        for (at, snapshot) in skeleton.checkpoints().filter(|(at, _)| kept(at)) {
            facts.push(Fact::Checkpoint { at: at.clone(), snapshot: snapshot.to_owned() });
        }
        for target in skeleton.archived().filter(|target| kept(target)) {
            facts.push(Fact::Archived { target: target.clone(), archived: true });
        }
        let turn_of = |node: u32| skeleton.envelope(node)?.turn();
        let nodes = 0..skeleton.len() as u32;
        let left = nodes.filter(|node| !is_on_path.get(*node as usize).copied().unwrap_or(false));
        let cut: HashSet<Name> = left.filter_map(turn_of).collect();
        let is_whole = |turn: Name| {
            let name = skeleton.text(turn).map(TurnId::from);
            !cut.contains(&turn) && name.is_some_and(|turn| skeleton.turn_ended(&turn))
        };
        let bound = skeleton.bindings().filter(|(at, _)| kept(at));
        let whole = bound.filter(|(at, _)| skeleton.node(at).and_then(turn_of).is_some_and(is_whole));
        facts.extend(whole.filter_map(|(at, binding)| inherited_binding(at, binding)));
        let mut turns: Vec<_> = path.iter().copied().filter_map(turn_of).collect();
        turns.dedup();
        for turn in turns.into_iter().filter_map(|turn| skeleton.text(turn)).map(TurnId::from) {
            if skeleton.turn_ended(&turn) {
                facts.push(Fact::TurnEnded { turn });
            }
        }
        facts
    }

    fn line(&self, offset: u64, length: u64) -> Result<Vec<u8>, LazyError> {
        let mut line = vec![0; usize::try_from(length).map_err(|_| self.changed())?];
        match read_exactly(self.file.as_ref(), offset, &mut line).about("read", &self.path)? {
            true => Ok(line),
            false => Err(self.changed()),
        }
    }

    fn write_parts(&self, parts: &Parts, target: &Path, durable: Durable) -> Result<u64, LazyError> {
        let mut file = self.files.open(target, Open::CreateNew).about("create", target)?;
        let written = self.copy(parts, file.as_mut(), target).and_then(|bytes| {
            if durable == Durable::Yes {
                file.sync().about("sync", target)?;
            }
            Ok(bytes)
        });
        if written.is_err() {
            let _ = self.files.remove(target);
        }
        written
    }

    fn copy(&self, parts: &Parts, to: &mut dyn OpenFile, target: &Path) -> Result<u64, LazyError> {
        let mut total = 0;
        let mut pages = Pages::default();
        for part in &parts.0 {
            match part {
                Part::Bytes(bytes) => {
                    append_all(to, bytes).about("write", target)?;
                    total += bytes.len() as u64;
                }
                Part::Lines { offset, length } => {
                    let (mut from, end) = (*offset, *offset + *length);
                    while from < end {
                        let until = ((from / CHUNK + 1) * CHUNK).min(end);
                        let buffer = pages.room((until - from) as usize);
                        if !read_exactly(self.file.as_ref(), from, buffer).about("read", &self.path)? {
                            return Err(self.changed());
                        }
                        append_all(to, buffer).about("write", target)?;
                        from = until;
                    }
                    total += *length;
                }
            }
        }
        Ok(total)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durable {
    Yes,
    No,
}
