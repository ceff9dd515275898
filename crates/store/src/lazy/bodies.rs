//! Bodies, read when they are asked for and kept while there is room.
//!
//! Neighbours in the file are read together, and many of them are parsed by several threads: a context without a
//! compaction can be the whole file.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use offshoot_session::format::{NoBlobs, Undecodable, decode};
use offshoot_session::skeleton::{Kind, Moment};
use offshoot_session::{Change, Entry, EntryId};
use offshoot_transcripts::pi::skim::entry_of_line;

use super::{Format, LazyError, LazySession};
use crate::blobs::StoredBlobs;
use crate::files::{About, PAGE, Pages, read_exactly};

/// Lines that lie closer than this are read at once.
const GAP: u64 = 16 << 10;
/// At most so much is read at once: it stays in a core's own cache until it is parsed.
const RUN: u64 = 128 << 10;
/// Less than this is not worth a thread: waking another core, and memory of its own for it, cost as much.
const WORTH_A_THREAD: u64 = 4 << 20;

/// Parsed entries by the place of their line. When room is short, one goes that was not asked for since the last look.
#[derive(Debug)]
pub(super) struct Bodies {
    slots: Vec<Option<Slot>>,
    order: VecDeque<u32>,
    bytes: u64,
    limit: u64,
}

#[derive(Debug)]
struct Slot {
    entry: Arc<Entry>,
    bytes: u64,
    was_asked_for: bool,
}

impl Bodies {
    pub(super) fn new(limit: u64) -> Self {
        Self { slots: Vec::new(), order: VecDeque::new(), bytes: 0, limit }
    }

    fn get(&mut self, line: u32) -> Option<Arc<Entry>> {
        let slot = self.slots.get_mut(line as usize)?.as_mut()?;
        slot.was_asked_for = true;
        Some(slot.entry.clone())
    }

    fn put(&mut self, line: u32, entry: &Arc<Entry>, bytes: u64) {
        let at = line as usize;
        if self.slots.len() <= at {
            self.slots.resize_with(at + 1, || None);
        }
        let Some(slot) = self.slots.get_mut(at) else { return };
        if slot.is_none() {
            *slot = Some(Slot { entry: entry.clone(), bytes, was_asked_for: false });
            self.order.push_back(line);
            self.bytes += bytes;
        }
        while self.bytes > self.limit {
            let Some(oldest) = self.order.pop_front() else { break };
            let Some(slot) = self.slots.get_mut(oldest as usize) else { continue };
            match slot {
                Some(kept) if kept.was_asked_for => {
                    kept.was_asked_for = false;
                    self.order.push_back(oldest);
                }
                Some(gone) => {
                    self.bytes -= gone.bytes;
                    *slot = None;
                }
                None => {}
            }
        }
    }
}

/// Entries that lie near each other.
struct Run<'n> {
    nodes: &'n [u32],
    offset: u64,
    length: u64,
}

/// The runs in as many parts as there are cores to parse them, of about the same number of bytes.
fn shares<'r, 'n>(runs: &'r [Run<'n>]) -> Vec<&'r [Run<'n>]> {
    let bytes: u64 = runs.iter().map(|run| run.length).sum();
    let threads = match bytes / WORTH_A_THREAD {
        0 => 1,
        worth => std::thread::available_parallelism().map_or(1, usize::from).min(4).min(worth as usize + 1),
    };
    let fair = bytes.div_ceil(threads as u64).max(1);
    let mut shares = Vec::with_capacity(threads);
    let (mut start, mut taken) = (0, 0);
    for (at, run) in runs.iter().enumerate() {
        taken += run.length;
        if taken >= fair || at + 1 == runs.len() {
            shares.extend(runs.get(start..=at));
            (start, taken) = (at + 1, 0);
        }
    }
    shares
}

impl LazySession {
    pub fn entry(&self, node: u32) -> Result<Arc<Entry>, LazyError> {
        let mut entries = self.entries(&[node])?;
        entries.pop().ok_or_else(|| self.changed())
    }

    /// These entries, in this order.
    pub fn entries(&self, nodes: &[u32]) -> Result<Vec<Arc<Entry>>, LazyError> {
        let mut found: Vec<Option<Arc<Entry>>> = {
            let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
            nodes.iter().map(|node| bodies.get(self.skeleton.envelope_number(*node)?)).collect()
        };
        let missing: Vec<u32> =
            nodes.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(node, _)| *node).collect();
        if !missing.is_empty() {
            let read = self.read_all(&missing)?;
            let mut bodies = self.bodies.lock().unwrap_or_else(PoisonError::into_inner);
            for (node, entry) in missing.iter().zip(&read) {
                let bytes = self.skeleton.envelope(*node).map_or(0, |envelope| u64::from(envelope.length));
                if let Some(line) = self.skeleton.envelope_number(*node) {
                    bodies.put(line, entry, bytes);
                }
            }
            let holes = found.iter_mut().filter(|found| found.is_none());
            holes.zip(read).for_each(|(hole, entry)| *hole = Some(entry));
        }
        Ok(found.into_iter().flatten().collect())
    }

    fn read_all(&self, nodes: &[u32]) -> Result<Vec<Arc<Entry>>, LazyError> {
        let runs = self.runs(nodes)?;
        let shares = shares(&runs);
        let Some((own, others)) = shares.split_first() else { return Ok(Vec::new()) };
        std::thread::scope(|scope| {
            let others: Vec<_> = others
                .iter()
                .map(|share| scope.spawn(|| self.read_runs(share, &mut Pages::default())))
                .collect();
            let mut entries = {
                let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
                self.read_runs(own, &mut pages)?
            };
            for other in others {
                entries.extend(other.join().map_err(|_| self.changed())??);
            }
            Ok(entries)
        })
    }

    fn runs<'n>(&self, nodes: &'n [u32]) -> Result<Vec<Run<'n>>, LazyError> {
        let mut runs: Vec<Run<'n>> = Vec::new();
        let mut start = 0;
        for (at, node) in nodes.iter().enumerate() {
            let Some(envelope) = self.skeleton.envelope(*node) else { return Err(self.changed()) };
            let (offset, length) = (envelope.offset, u64::from(envelope.length));
            if let Some(run) = runs.last_mut() {
                let end = run.offset + run.length;
                let grown = (offset + length).saturating_sub(run.offset);
                if offset >= end && offset - end <= GAP && grown <= RUN {
                    run.length = grown;
                    run.nodes = nodes.get(start..=at).unwrap_or_default();
                    continue;
                }
            }
            start = at;
            runs.push(Run { nodes: nodes.get(at..=at).unwrap_or_default(), offset, length });
        }
        Ok(runs)
    }

    fn read_runs(&self, runs: &[Run<'_>], pages: &mut Pages) -> Result<Vec<Arc<Entry>>, LazyError> {
        let mut entries = Vec::new();
        for run in runs {
            let begin = run.offset - run.offset % PAGE;
            let length = usize::try_from(run.offset - begin + run.length).map_err(|_| self.changed())?;
            // An index may lie about where a line ends: no more is read than there is.
            if run.offset.saturating_add(run.length) > self.extent.stat.length {
                return Err(self.changed());
            }
            let buffer = pages.room(length);
            if !read_exactly(self.file.as_ref(), begin, buffer).about("read", &self.path)? {
                return Err(self.changed());
            }
            for node in run.nodes {
                let Some(envelope) = self.skeleton.envelope(*node) else { return Err(self.changed()) };
                let from = usize::try_from(envelope.offset - begin).map_err(|_| self.changed())?;
                let line = buffer.get(from..from + envelope.length as usize).unwrap_or_default();
                entries.push(self.parse(*node, line, envelope.offset)?);
            }
        }
        Ok(entries)
    }

    /// Reads the body of a line and checks that it is the line that was skimmed.
    fn parse(&self, node: u32, line: &[u8], offset: u64) -> Result<Arc<Entry>, LazyError> {
        let damaged = || LazyError::Damaged { path: self.path.clone(), offset };
        let Some(envelope) = self.skeleton.envelope(node) else { return Err(self.changed()) };
        let (entry, named, at) = match self.format {
            Format::Journal => {
                let decoded = match &self.home {
                    Some(home) => decode(line, &StoredBlobs { files: self.files.as_ref(), home }),
                    None => decode(line, &NoBlobs),
                };
                let entry = match decoded.map(|decoded| decoded.record.change) {
                    Ok(Change::Entry(entry)) => entry,
                    Ok(_) | Err(Undecodable::Newer(_)) => return Err(self.changed()),
                    Err(Undecodable::Damaged(_)) => return Err(self.not_sound(damaged())),
                };
                let (named, at) = (entry.parent.clone(), entry.written_at);
                (entry, named, at)
            }
            Format::Pi => {
                let Some(read) = entry_of_line(line) else { return Err(self.not_sound(damaged())) };
                let parent = self.skeleton.named_parent(node).and_then(|parent| self.skeleton.text(parent));
                let written_at = envelope.at.timestamp();
                let body = self.skeleton.anchored(read.body, node);
                let parent = parent.map(EntryId::from);
                let entry = Entry { id: read.id, parent, written_at, turn: None, body };
                (Arc::new(entry), read.parent, read.written_at.unwrap_or(written_at))
            }
        };
        let name_of = |name| self.skeleton.text(name);
        let is_it = self.skeleton.id_text(node) == Some(entry.id.as_str())
            && envelope.parent().and_then(name_of) == named.as_ref().map(EntryId::as_str)
            && envelope.at == Moment::of(at)
            && envelope.kind == Kind::of(&entry.body);
        if is_it { Ok(entry) } else { Err(self.changed()) }
    }

    /// With an index, a line that makes no sense may only be looked for at the wrong place.
    fn not_sound(&self, damaged: LazyError) -> LazyError {
        if self.extent.from_index > 0 { self.changed() } else { damaged }
    }

    pub(super) fn changed(&self) -> LazyError {
        LazyError::Changed { path: self.path.clone() }
    }
}
