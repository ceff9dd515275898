//! What lines say, parsed when it is asked for. Many lines are parsed by several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, PoisonError};

use offshoot_session::format::{NoBlobs, Undecodable, decode};
use offshoot_session::skeleton::{Kind, Moment};
use offshoot_session::{Change, Entry, EntryId};
use offshoot_transcripts::pi::skim::entry_of_line;

use super::lines::Run;
use super::{Format, LazyError, LazySession};
use crate::blobs::StoredBlobs;

/// Less than this is not worth another thread: to wake a core costs as much.
const WORTH_A_THREAD: u64 = 512 << 10;

/// What the entries of one run say, with the place of the run among all.
type Reading = (usize, Result<Vec<(u32, Arc<Entry>)>, LazyError>);

/// How many threads shall parse these runs.
fn threads(runs: &[Run<'_>], bytes: u64) -> usize {
    static CORES: OnceLock<usize> = OnceLock::new(); // asking takes longer than a short context
    match bytes / WORTH_A_THREAD {
        0 => 1,
        worth => {
            let cores = CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from));
            (*cores).min(4).min(runs.len()).min(worth as usize + 1)
        }
    }
}

/// What a thread takes from its allocator grows by a few pages at a time, and each time the kernel stops all threads
/// that want memory too. So it is asked for beforehand, in the largest pieces that come from there. Nothing is touched.
fn ask_for_memory(bytes: u64) {
    const PIECE: usize = 120 << 10;
    let pieces = (bytes / PIECE as u64).min(64);
    let asked: Vec<Vec<u8>> = (0..pieces).map(|_| Vec::with_capacity(PIECE)).collect();
    drop(std::hint::black_box(asked));
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

    /// Whoever is free takes the next run. So runs are begun in their order, and the first trouble in the file is the
    /// one that is told, whoever met it.
    fn read_all(&self, nodes: &[u32]) -> Result<Vec<(u32, Arc<Entry>)>, LazyError> {
        let runs = self.runs(nodes)?;
        let next = AtomicUsize::new(0);
        let bytes: u64 = runs.iter().map(|run| run.length).sum();
        let threads = threads(&runs, bytes);
        let share = bytes / threads as u64;
        let read_some = || self.read_some(&runs, &next);
        let mut readings = std::thread::scope(|scope| {
            // Where there is no thread to be had, this one does it all.
            let read_some_too = || {
                ask_for_memory(share);
                read_some()
            };
            let another = |_| std::thread::Builder::new().spawn_scoped(scope, read_some_too).ok();
            let others: Vec<_> = (1..threads).filter_map(another).collect();
            let mut readings = read_some();
            for other in others {
                readings.extend(other.join().map_err(|_| self.changed())?);
            }
            Ok::<_, LazyError>(readings)
        })?;
        readings.sort_unstable_by_key(|(run, _)| *run);
        let mut entries = Vec::with_capacity(nodes.len());
        for (_, read) in readings {
            entries.extend(read?);
        }
        Ok(entries)
    }

    fn read_some(&self, runs: &[Run<'_>], next: &AtomicUsize) -> Vec<Reading> {
        let mut readings = Vec::new();
        self.with_pages(|pages| {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(run) = runs.get(at) else { break };
                let mut entries = Vec::with_capacity(run.nodes.len());
                let read = self.each_line(run, pages, |node, line| {
                    entries.push((node, self.parse(node, line)?));
                    Ok(())
                });
                if read.is_err() {
                    next.store(runs.len(), Ordering::Relaxed); // what lies behind is of no use
                }
                readings.push((at, read.map(|()| entries)));
            }
        });
        readings
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
