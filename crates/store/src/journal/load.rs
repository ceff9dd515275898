//! From the file to the tree, all of it or what is new.

use std::io;

use offshoot_session::foreign::joined;
use offshoot_session::format::{Flaw, NewerFormat, Position, SEAL_LENGTH, Scanned, scan_short_lines};
use offshoot_session::long_lines::ShortLines;
use offshoot_session::{Change, Record, SessionTree, Watch};

use super::room::Room;
use super::{Journal, Refreshed, Seen, Writer};
use crate::blobs::StoredBlobs;
use crate::files::{About, FileError, Open, OpenFile, Stat, read_exactly};
use crate::foreign::ForeignReading;
use crate::short_lines::{Between, read_short_lines};
use crate::store::{AppendError, Finding, ReadError};

/// Somebody may be cutting off a torn tail while the file is read without a lock. Then the bytes make no sense,
/// and make sense the next time.
const READINGS: usize = 3;

/// What catching up does with a foreign file that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Foreign {
    Read,
    Leave,
}

impl Journal {
    /// Reads the whole file. Says whether there is a session in it; if not, the tree stays as it is.
    pub(super) fn load(&mut self) -> Result<bool, ReadError> {
        let path = self.path();
        let file = match self.files.open(&path, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            file => file.about("open", &path)?,
        };
        let identity = file.stat().about("read", &path)?.identity;
        let scanned = self.read(file.as_ref(), Position::default())?;
        let seal = seal_before(file.as_ref(), scanned.end.offset).about("read", &path)?;
        self.tail = scanned.tail;
        self.seen = Seen { identity, end: scanned.end, seal };
        if scanned.end.offset == 0 {
            return Ok(false);
        }
        self.findings = scanned.found.into_iter().map(Finding::Flaw).collect();
        self.fold(scanned.records);
        Ok(true)
    }

    /// The tree of these lines; where they go on with another program's session, of both.
    pub(super) fn fold(&mut self, records: Vec<Record>) {
        self.own_records = records.len();
        self.theirs = None;
        let source = records.first().and_then(|record| match &record.change {
            Change::Opened(header) => header.foreign.as_deref().cloned(),
            Change::Entry(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
        });
        let records = match self.others.as_ref().zip(source) {
            None => records,
            Some((others, source)) => {
                // Theirs stands in the place of the header.
                self.own_records = self.own_records.saturating_sub(1);
                let ForeignReading { records: theirs, oddities, trouble, stamp } =
                    others.read_below(&source, &records);
                self.findings.extend(trouble.map(Finding::Source));
                self.findings.extend(oddities.into_iter().map(Finding::Theirs));
                self.theirs = Some((source, stamp));
                joined(theirs, records)
            }
        };
        let (tree, oddities) = SessionTree::replay(records);
        self.tree = tree;
        self.generation = self.generation.next();
        self.findings.extend(oddities.into_iter().map(Finding::Odd));
    }

    /// Whether the session that it goes on with may have changed since it was read.
    pub(super) fn is_theirs_changed(&self) -> bool {
        let theirs = self.others.as_ref().zip(self.theirs.as_ref());
        theirs.is_some_and(|(others, (source, stamp))| others.stamp(source) != *stamp)
    }

    pub(super) fn catch_up(&mut self) -> Result<Refreshed, ReadError> {
        let file = self.there(self.files.open(&self.path(), Open::Read), "open")?;
        let stat = file.stat().about("read", &self.path())?;
        self.catch_up_with(file.as_ref(), &stat, Foreign::Read)
    }

    /// Of a journal whose file does not exist yet. Another process may have made it since.
    pub(super) fn catch_up_unwritten(&mut self, foreign: Foreign) -> Result<Refreshed, ReadError> {
        if self.load()? {
            self.unwritten = None;
            return Ok(Refreshed::Reloaded);
        }
        match self.unwritten.clone() {
            Some(header) if foreign == Foreign::Read && self.is_theirs_changed() => {
                self.begin_with(header);
                Ok(Refreshed::Reloaded)
            }
            Some(_) | None => Ok(Refreshed::Nothing),
        }
    }

    /// Under the lock. The file stays open to append to.
    pub(super) fn catch_up_to_write(&mut self, foreign: Foreign) -> Result<Refreshed, AppendError> {
        let (writer, stat) = self.named_writer()?;
        let refreshed = self.catch_up_with(writer.file.as_ref(), &stat, foreign)?;
        self.writer = Some(writer);
        Ok(refreshed)
    }

    /// The file that has the name now: the one that is open, or another that took its place.
    fn named_writer(&mut self) -> Result<(Writer, Stat), AppendError> {
        let path = self.path();
        if let Some(writer) = self.writer.take() {
            let named = self.there(self.files.stat(&path), "read")?;
            if writer.identity == named.identity {
                return Ok((writer, named));
            }
        }
        let file = match self.files.open(&path, Open::Append) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ReadError::Gone { path }.into());
            }
            file => file.about("open", &path)?,
        };
        let stat = file.stat().about("read", &path)?;
        Ok((Writer { file, identity: stat.identity, room: Room::default() }, stat))
    }

    fn there<T>(&self, found: io::Result<T>, doing: &'static str) -> Result<T, ReadError> {
        match found {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(ReadError::Gone { path: self.path() })
            }
            found => Ok(found.about(doing, &self.path())?),
        }
    }

    /// `stat` is of this file, a moment ago.
    fn catch_up_with(
        &mut self,
        file: &dyn OpenFile,
        stat: &Stat,
        foreign: Foreign,
    ) -> Result<Refreshed, ReadError> {
        let path = self.path();
        let is_theirs_changed = foreign == Foreign::Read && self.is_theirs_changed();
        if is_theirs_changed || !self.continues(file, stat).about("read", &path)? {
            return match self.load()? {
                true => Ok(Refreshed::Reloaded),
                false => Err(ReadError::Gone { path }),
            };
        }
        if stat.length == self.seen.end.offset {
            self.tail = None;
            return Ok(Refreshed::Nothing);
        }
        let scanned = self.read(file, self.seen.end)?;
        self.tail = scanned.tail;
        if scanned.end == self.seen.end {
            return Ok(Refreshed::Nothing);
        }
        self.seen.seal = seal_before(file, scanned.end.offset).about("read", &path)?;
        self.seen.end = scanned.end;
        self.findings.extend(scanned.found.into_iter().map(Finding::Flaw));
        let count = scanned.records.len();
        self.absorb(scanned.records);
        Ok(if count == 0 { Refreshed::Nothing } else { Refreshed::More(count) })
    }

    /// Whether the file still begins with what was read.
    fn continues(&self, file: &dyn OpenFile, stat: &Stat) -> io::Result<bool> {
        let Seen { identity, end, seal } = &self.seen;
        if stat.identity != *identity || stat.length < end.offset {
            return Ok(false);
        }
        let mut found = vec![0; seal.len()];
        let count = file.read_at(end.offset - seal.len() as u64, &mut found)?;
        Ok(count == seal.len() && found == *seal)
    }

    fn read(&self, file: &dyn OpenFile, from: Position) -> Result<Scanned, ReadError> {
        let path = self.path();
        let blobs = StoredBlobs { files: self.files.as_ref(), home: &self.home };
        let newer = |source: NewerFormat| ReadError::Newer { path: path.clone(), source };
        let again = |file: &dyn OpenFile| -> Result<ShortLines, FileError> {
            let to = file.stat().about("read", &path)?.length;
            let length = to.saturating_sub(from.offset);
            read_short_lines(Between { file, from: from.offset, to }, length).about("read", &path)
        };
        let mut lines = again(file)?;
        let mut scanned = scan_short_lines(&lines, from, &blobs, &self.watch).map_err(newer)?;
        for _ in 1..READINGS {
            if !scanned.found.iter().any(|found| matches!(found.flaw, Flaw::Damaged { .. })) {
                break;
            }
            let now = again(file)?;
            if now == lines {
                break;
            }
            scanned = scan_short_lines(&now, from, &blobs, &Watch::nobody()).map_err(newer)?;
            lines = now;
        }
        Ok(scanned)
    }

    /// Others check what they write; where their records are odd all the same, all of it is folded again.
    fn absorb(&mut self, records: Vec<Record>) {
        self.own_records += records.len();
        self.generation = self.generation.next();
        if let Ok(tree) = self.tree.extended(&records) {
            self.tree = tree;
            return;
        }
        let log: Vec<Record> = self.tree.log().cloned().chain(records).collect();
        let (tree, oddities) = SessionTree::replay(log);
        self.tree = tree;
        self.findings.retain(|finding| !matches!(finding, Finding::Odd(_)));
        self.findings.extend(oddities.into_iter().map(Finding::Odd));
    }
}

/// The last bytes before `end`: another history would have others.
fn seal_before(file: &dyn OpenFile, end: u64) -> io::Result<Vec<u8>> {
    let length = end.min(SEAL_LENGTH as u64 + 1);
    let mut seal = vec![0; length as usize];
    // A file that became shorter meanwhile is read again the next time: no seal fits it.
    read_exactly(file, end - length, &mut seal)?;
    Ok(seal)
}
