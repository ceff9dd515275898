//! Lines of a file, looked over where they were read. Neighbours in the file are read together.
//!
//! One decision: the bytes of a line are not kept. To read them again out of the page cache, into a buffer that a core
//! has at hand, takes a fraction of what the kernel needs to make pages of memory for them.

use std::sync::PoisonError;

use offshoot_session::format::skim::head as journal_head;
use offshoot_session::skeleton::LineHead;
use offshoot_transcripts::pi::skim::head as pi_head;

use super::{Format, LazyError, LazySession};
use crate::files::{About, PAGE, Pages, read_exactly};

/// Lines that lie closer than this are read at once.
const GAP: u64 = 16 << 10;
/// At most so much is read at once: it stays in a core's own cache until it is looked at.
const RUN: u64 = 64 << 10;

/// Entries that lie near each other.
pub(super) struct Run<'n> {
    pub(super) nodes: &'n [u32],
    pub(super) offset: u64,
    pub(super) length: u64,
}

impl LazySession {
    /// Makes sure that the lines of these entries, which come in the order of the file, are those that were skimmed.
    /// What does not tell it by its beginning is parsed.
    pub(super) fn check(&self, nodes: &[u32]) -> Result<(), LazyError> {
        let unchecked: Vec<u32> = {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let is_checked =
                |node: &u32| self.skeleton.envelope_number(*node).is_some_and(|line| kept.is_checked(line));
            nodes.iter().copied().filter(|node| !is_checked(node)).collect()
        };
        let mut parsed = Vec::new();
        self.look_over(&unchecked, |node, line| {
            match self.head(line) {
                Some(head) if self.is_line_of(node, line, &head) => {}
                Some(_) => return Err(self.changed()),
                None => parsed.push((node, self.parse(node, line)?)),
            }
            Ok(())
        })?;
        self.keep(&parsed);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        unchecked
            .iter()
            .filter_map(|node| self.skeleton.envelope_number(*node))
            .for_each(|line| kept.set_checked(line));
        Ok(())
    }

    /// Reads the lines of these entries one after the other.
    pub(super) fn look_over(
        &self,
        nodes: &[u32],
        mut look: impl FnMut(u32, &[u8]) -> Result<(), LazyError>,
    ) -> Result<(), LazyError> {
        let runs = self.runs(nodes)?;
        self.with_pages(|pages| runs.iter().try_for_each(|run| self.each_line(run, pages, &mut look)))
    }

    /// Lends a buffer to one thread. It comes back warm for the next, unless a line made it large.
    pub(super) fn with_pages<T>(&self, read: impl FnOnce(&mut Pages) -> T) -> T {
        let all = || self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pages = all().pop().unwrap_or_default();
        let told = read(&mut pages);
        if pages.size() as u64 <= 2 * RUN {
            all().push(pages);
        }
        told
    }

    pub(super) fn each_line(
        &self,
        run: &Run<'_>,
        pages: &mut Pages,
        mut look: impl FnMut(u32, &[u8]) -> Result<(), LazyError>,
    ) -> Result<(), LazyError> {
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
            look(*node, buffer.get(from..from + envelope.length as usize).unwrap_or_default())?;
        }
        Ok(())
    }

    pub(super) fn runs<'n>(&self, nodes: &'n [u32]) -> Result<Vec<Run<'n>>, LazyError> {
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

    /// How a line begins, if it is one of the long kinds and begins as its program writes it.
    pub(super) fn head<'l>(&self, line: &'l [u8]) -> Option<LineHead<'l>> {
        match self.format {
            Format::Journal => journal_head(line),
            Format::Pi => pi_head(line),
        }
    }

    fn is_line_of(&self, node: u32, line: &[u8], head: &LineHead<'_>) -> bool {
        let Some(envelope) = self.skeleton.envelope(node) else { return false };
        let fields = &head.fields;
        let name_of = |name| self.skeleton.text(name);
        envelope.at == fields.at
            && envelope.kind == fields.kind
            && self.skeleton.id_text(node) == Some(fields.id)
            && envelope.parent().and_then(name_of) == fields.parent
            // Only an index can be wrong about where a line ends.
            && (self.extent.from_index == 0 || self.is_whole_line(envelope.offset, line))
    }

    fn is_whole_line(&self, offset: u64, line: &[u8]) -> bool {
        let mut next = [0];
        memchr::memchr(b'\n', line).is_none()
            && match read_exactly(self.file.as_ref(), offset + line.len() as u64, &mut next) {
                Ok(is_there) => !is_there || next == *b"\n",
                Err(_) => false,
            }
    }
}
