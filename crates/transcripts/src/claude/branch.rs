//! The branches of a session file: which one is active, where a message is among them, and one branch as a file.
//!
//! Everything is decided on the tree that the reader makes, so that compaction boundaries, calls made in parallel and
//! forked lines mean the same here as everywhere else. The price is that a long file is read to its end; what is held of
//! it are the entries of the conversation, and one chunk of its bytes.
//!
//! The active branch ends at the last `last-prompt` line, unless something was written behind it; then it ends with the
//! last line of the conversation. Sub-agents are on no branch.

mod extract;

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use offshoot_session::long_lines::LongLines;
use offshoot_session::turn::{CaughtUp, CaughtUpEntry};
use offshoot_session::{Body, Change, Entry, EntryId, Note, Record, Reply, SessionTree, Stop};

pub use self::extract::extract;
use super::Reading;
use crate::lines::{Line, Sources, lines};

/// Where a message is in a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// On the active branch, after its last compaction: Claude Code can resume there.
    Active,
    /// On another branch.
    OtherBranch,
    /// On the active branch, before its last compaction.
    BeforeCompaction,
    /// No line of the conversation has this id.
    Missing,
}

/// The branches of a session file, read without keeping its lines.
#[derive(Debug)]
pub struct Branches {
    tree: SessionTree,
    /// Entries whose id a line has. Other ids were made up by the reader.
    in_file: HashSet<EntryId>,
}

/// Reads the branches of a file that comes chunk by chunk.
pub struct BranchReading {
    reading: Reading,
    /// The line that is not complete yet.
    open: LongLines,
    /// How many lines were read.
    lines: u64,
}

impl fmt::Debug for BranchReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BranchReading").field("lines", &self.lines).finish_non_exhaustive()
    }
}

impl Default for BranchReading {
    fn default() -> Self {
        let reading = Reading::keeping(Sources::counted());
        Self { reading, open: LongLines::default(), lines: 0 }
    }
}

impl BranchReading {
    /// Takes the next bytes of the file.
    pub fn push(&mut self, chunk: &[u8]) {
        let complete = memchr::memrchr(b'\n', chunk).map_or(0, |newline| newline + 1);
        let (complete, open) = chunk.split_at(complete);
        if !complete.is_empty() {
            self.open.push(complete);
            self.take_lines();
        }
        self.open.push(open);
    }

    /// `file_name` as for [`super::read`]: ids that the reader makes up depend on it.
    pub fn finish(mut self, file_name: Option<&str>) -> Branches {
        self.take_lines();
        Branches::of(self.reading.finish(file_name).records)
    }

    fn take_lines(&mut self) {
        let bytes = std::mem::take(&mut self.open).finish().bytes;
        let before = self.lines;
        for line in lines(&bytes) {
            self.lines = before + line.number;
            self.reading.take(Line { number: self.lines, ..line });
        }
    }
}

impl Branches {
    /// The same for a file that is in memory.
    pub fn read(file_name: Option<&str>, bytes: &[u8]) -> Self {
        let mut reading = BranchReading::default();
        reading.push(bytes);
        reading.finish(file_name)
    }

    fn of(records: Vec<Record>) -> Self {
        let has_line = records.iter().filter(|record| record.source.is_some());
        let in_file = has_line.filter_map(|record| match &record.change {
            Change::Entry(entry) if !matches!(entry.body, Body::Setting(_)) => Some(entry.id.clone()),
            Change::Entry(_)
            | Change::Opened(_)
            | Change::HeadMoved(_)
            | Change::Marked(_)
            | Change::Unknown => None,
        });
        let in_file = in_file.collect();
        let (tree, _) = SessionTree::replay_to_look(&records);
        Self { tree, in_file }
    }

    /// The active branch, root first.
    pub fn active(&self) -> Vec<&Arc<Entry>> {
        self.tree.main_head().and_then(|head| self.path_to(head)).unwrap_or_default()
    }

    /// The branch that ends with a message, root first. `None`: the file has no line with this id, or a sub-agent wrote it.
    pub fn path_to(&self, at: &EntryId) -> Option<Vec<&Arc<Entry>>> {
        let path = self.tree.path_to(Some(at).filter(|at| self.in_file.contains(*at)));
        let is_sub_agent =
            |root: &&Arc<Entry>| matches!(&root.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
        Some(path).filter(|path| path.first().is_some_and(|root| !is_sub_agent(root)))
    }

    pub fn point(&self, at: &EntryId) -> Point {
        if self.path_to(at).is_none() {
            return Point::Missing;
        }
        let active = self.active();
        let Some(place) = active.iter().position(|entry| entry.id == *at) else { return Point::OtherBranch };
        let boundary = active.iter().rposition(|entry| is_boundary(entry));
        let boundary = boundary.or_else(|| active.iter().rposition(|entry| is_compaction(entry)));
        match boundary {
            Some(boundary) if place < boundary => Point::BeforeCompaction,
            Some(_) | None => Point::Active,
        }
    }

    /// The entries behind `after` on the active branch; `None` is before the first one. Notes and settings are left out,
    /// and so is hidden context that no message follows yet. Empty where the active branch does not have `after`.
    pub fn behind(&self, after: Option<&EntryId>) -> CaughtUp {
        let active = self.active();
        let start = match after {
            None => Some(0),
            Some(after) => active.iter().position(|entry| entry.id == *after).map(|place| place + 1),
        };
        let Some(start) = start else { return CaughtUp::default() };
        let is_complete =
            active.iter().rfind(|entry| is_message(&entry.body)).is_some_and(|last| is_end(&last.body));
        let mut behind: Vec<&Arc<Entry>> =
            active.into_iter().skip(start).filter(|entry| is_of_conversation(&entry.body)).collect();
        while behind.last().is_some_and(|last| !is_message(&last.body)) {
            behind.pop();
        }
        let entries = behind.into_iter().map(|entry| {
            let Entry { id, written_at, body, .. } = Entry::clone(entry);
            CaughtUpEntry { id, written_at, body }
        });
        CaughtUp { entries: entries.collect(), is_complete, is_running: false }
    }
}

fn is_boundary(entry: &Entry) -> bool {
    matches!(&entry.body, Body::Note(note) if note.kind == "compact_boundary")
}

fn is_compaction(entry: &Entry) -> bool {
    matches!(entry.body, Body::Compaction(_))
}

fn is_of_conversation(body: &Body) -> bool {
    !matches!(body, Body::Note(_) | Body::Setting(_) | Body::Foreign(_))
}

/// Hidden context is none: the program adds it around messages.
pub(super) fn is_message(body: &Body) -> bool {
    match body {
        Body::CustomMessage(message) => message.display,
        body => is_of_conversation(body),
    }
}

/// Whether nothing more of the answer follows.
fn is_end(body: &Body) -> bool {
    match body {
        Body::Reply(reply) => is_whole(reply),
        Body::Interrupted(_) => true,
        _ => false,
    }
}

fn is_whole(reply: &Reply) -> bool {
    let may_end = !matches!(reply.stop, None | Some(Stop::ToolUse));
    may_end && reply.tool_uses().next().is_none()
}
