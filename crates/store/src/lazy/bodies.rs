//! What lines say, parsed when it is asked for. Many lines are parsed by several threads: a context without a
//! compaction can be the whole file.

use std::sync::{Arc, PoisonError};

use offshoot_session::format::{NoBlobs, Undecodable, decode};
use offshoot_session::skeleton::{Kind, Moment};
use offshoot_session::{Change, Entry, EntryId};
use offshoot_transcripts::pi::skim::entry_of_line;

use super::lines::Run;
use super::{Format, LazyError, LazySession};
use crate::blobs::StoredBlobs;
use crate::files::Pages;

/// Less than this is not worth a thread: waking another core, and memory of its own for it, cost as much.
const WORTH_A_THREAD: u64 = 4 << 20;

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
        let mut found = self.kept_of(nodes);
        let missing: Vec<u32> =
            nodes.iter().zip(&found).filter(|(_, found)| found.is_none()).map(|(node, _)| *node).collect();
        if !missing.is_empty() {
            let read = self.read_all(&missing)?;
            self.keep(&read);
            let holes = found.iter_mut().filter(|found| found.is_none());
            holes.zip(read).for_each(|(hole, (_, entry))| *hole = Some(entry));
        }
        Ok(found.into_iter().flatten().collect())
    }

    /// Those of these entries that were read before.
    pub(super) fn kept_of(&self, nodes: &[u32]) -> Vec<Option<Arc<Entry>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.iter().map(|node| kept.get(self.skeleton.envelope_number(*node)?)).collect()
    }

    pub(super) fn keep(&self, read: &[(u32, Arc<Entry>)]) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for (node, entry) in read {
            let bytes = self.skeleton.envelope(*node).map_or(0, |envelope| u64::from(envelope.length));
            if let Some(line) = self.skeleton.envelope_number(*node) {
                kept.put(line, entry, bytes);
            }
        }
    }

    fn read_all(&self, nodes: &[u32]) -> Result<Vec<(u32, Arc<Entry>)>, LazyError> {
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

    fn read_runs(&self, runs: &[Run<'_>], pages: &mut Pages) -> Result<Vec<(u32, Arc<Entry>)>, LazyError> {
        let mut entries = Vec::new();
        for run in runs {
            self.each_line(run, pages, |node, line| {
                entries.push((node, self.parse(node, line)?));
                Ok(())
            })?;
        }
        Ok(entries)
    }

    /// With an index, a line that makes no sense may only be looked for at the wrong place; but not one that was
    /// found at its place before.
    pub(super) fn parse(&self, node: u32, line: &[u8]) -> Result<Arc<Entry>, LazyError> {
        self.parsed(node, line).map_err(|error| match error {
            LazyError::Damaged { .. } if self.extent.from_index > 0 && !self.is_checked(node) => {
                self.changed()
            }
            error => error,
        })
    }

    fn is_checked(&self, node: u32) -> bool {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        self.skeleton.envelope_number(node).is_some_and(|line| kept.is_checked(line))
    }

    /// Reads the body of a line and checks that it is the line that was skimmed.
    fn parsed(&self, node: u32, line: &[u8]) -> Result<Arc<Entry>, LazyError> {
        let Some(envelope) = self.skeleton.envelope(node) else { return Err(self.changed()) };
        let damaged = || LazyError::Damaged { path: self.path.clone(), offset: envelope.offset };
        let (entry, named, at) = match self.format {
            Format::Journal => {
                let decoded = match &self.home {
                    Some(home) => decode(line, &StoredBlobs { files: self.files.as_ref(), home }),
                    None => decode(line, &NoBlobs),
                };
                let entry = match decoded.map(|decoded| decoded.record.change) {
                    Ok(Change::Entry(entry)) => entry,
                    Ok(_) | Err(Undecodable::Newer(_)) => return Err(self.changed()),
                    Err(Undecodable::Damaged(_)) => return Err(damaged()),
                };
                let (named, at) = (entry.parent.clone(), entry.written_at);
                (entry, named, at)
            }
            Format::Pi => {
                let Some(read) = entry_of_line(line) else { return Err(damaged()) };
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

    pub(super) fn changed(&self) -> LazyError {
        LazyError::Changed { path: self.path.clone() }
    }
}
