//! One file, read for its gist.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::FileExt;
use std::path::Path;

use offshoot_session::SessionTree;
use offshoot_session::cost::Charge;
use offshoot_session::format::Flaw;
use offshoot_session::long_lines::{LONGEST_LINE, ShortLines};
use offshoot_transcripts::Watched;
use offshoot_transcripts::gist::{Follow, Gist, Lines, Said, Unusual, charges_of_tree, lines_of, of_tree};

use super::visit::{Known, Visit};
use super::walk::{Kind, Seen, Stamp};
use crate::archive::{Archive, Kept, Part, transcript_of};
use crate::beside;
use crate::files::Pages;
use crate::journal_store::JournalStore;
use crate::opencode_database::OpencodeDatabase;
use crate::opencode_storage::{self, Messages};
use crate::short_lines::read_short_lines;
use crate::store::{Finding, ReadError, SessionStore};
use crate::titles_beside::{TitleBeside, titles_in};

/// What reading brought.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) outcome: Outcome,
    /// As the file was when it was opened.
    pub(super) stamp: Stamp,
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) enum Outcome {
    /// What is known of it is still right.
    Same,
    /// More was said, behind what was said before.
    More(Box<Told>),
    All(Box<Told>),
    /// No session, but what some sessions are called.
    Titles(Vec<TitleBeside>),
    /// Nothing that a list shows; remembered, so that it is not read again.
    NoSession,
    Unreadable(String),
    /// It went while it was looked at.
    Gone,
}

#[derive(Debug)]
pub(super) struct Told {
    pub(super) gist: Gist,
    pub(super) said: Vec<Said>,
    pub(super) charges: Vec<Charge>,
    /// So many records could not be read.
    pub(super) damaged: u64,
    pub(super) follow: Option<Follow>,
    pub(super) ends: Ends,
}

/// How far a file was read, and what stands at both ends of that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) read_to: u64,
    pub(super) head: u32,
    pub(super) tail: u32,
}

impl Known {
    fn ends(&self) -> Ends {
        Ends { read_to: self.read_to, head: self.head, tail: self.tail }
    }
}

/// So many bytes at each end tell whether a file is still the one that was read.
pub(super) const HEAD: u64 = 512;
pub(super) const TAIL: u64 = 128;

/// A file is taken in pieces of this size.
const PIECE: usize = 1 << 20;

/// A file whose first lines are longer than this tells nothing about itself soon enough.
const BEGINNING: usize = 64 << 10;

/// Reads one file after the other. Memory that was used once is cheaper than new memory, so a thread has one of these
/// for all its files.
pub(super) struct Reader<'s> {
    store: &'s JournalStore,
    archive: Archive,
    bytes: u64,
    room: Pages,
}

impl<'s> Reader<'s> {
    pub(super) fn of(store: &'s JournalStore) -> Self {
        Self { store, archive: Archive::of(store.home()), bytes: 0, room: Pages::default() }
    }

    pub(super) fn read(
        &mut self,
        seen: &Seen,
        visit: Visit,
        known: Option<&Known>,
        kept: Option<&[u8]>,
    ) -> Read {
        self.bytes = 0;
        let (outcome, stamp) = match self.outcome(seen, visit, known, kept) {
            Ok(answer) => answer,
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Outcome::Gone, seen.stamp),
            Err(error) => (Outcome::Unreadable(error.to_string()), seen.stamp),
        };
        Read { outcome, stamp, bytes: self.bytes }
    }

    fn outcome(
        &mut self,
        seen: &Seen,
        visit: Visit,
        known: Option<&Known>,
        kept: Option<&[u8]>,
    ) -> io::Result<(Outcome, Stamp)> {
        if let Kind::Kept(kept) = &seen.kind {
            return self.kept(kept);
        }
        let file = crate::private::open_foreign(&seen.path)?;
        let stamp = Stamp::of(&file.metadata()?);
        let known = known.filter(|_| matches!(visit, Visit::Closer | Visit::ReadOn));
        if let Some(known) = known
            && self.ends(&file, known.read_to)? == known.ends()
        {
            if visit == Visit::Closer && stamp == seen.stamp {
                return Ok((Outcome::Same, stamp));
            }
            if let Some(follow) = kept.and_then(Follow::resume)
                && let Ok(told) =
                    self.follow(&file, &stamp, known.read_to, follow, &seen.path.to_string_lossy())?
            {
                return Ok((Outcome::More(Box::new(told)), stamp));
            }
        }
        let outcome = match &seen.kind {
            Kind::Journal(id) => match self.follow(
                &file,
                &stamp,
                0,
                Follow::begin(Lines::Journal, None),
                &seen.path.to_string_lossy(),
            )? {
                Ok(told) => Outcome::All(Box::new(told)),
                Err(Unusual) => {
                    self.bytes = stamp.length as u64;
                    journal(self.store, id)
                }
            },
            Kind::File => self.whole(&file, &stamp, &seen.path, Messages::ThatAreThere)?,
            Kind::Index => {
                let ShortLines { bytes, length, .. } = read_short_lines(
                    Part { file: &file, at: 0, end: stamp.length as u64 },
                    stamp.length as u64,
                )?;
                self.bytes += length;
                Outcome::Titles(titles_in(&seen.path, &bytes))
            }
            Kind::Database | Kind::Kept(_) => Outcome::NoSession,
        };
        Ok((self.with_ends(outcome, &file, &stamp)?, stamp))
    }

    /// A kept file is read whole, under the name it had. Its stamp is that of the file it is kept in.
    fn kept(&mut self, kept: &Kept) -> io::Result<(Outcome, Stamp)> {
        let stamp = Stamp::of(&std::fs::metadata(&kept.path)?);
        let file = kept.content()?;
        let content = Stamp { length: file.metadata()?.len() as i64, ..stamp };
        let outcome = self.whole(&file, &content, &kept.original, Messages::ThatWereThere)?;
        Ok((self.with_ends(outcome, &file, &content)?, stamp))
    }

    /// Journals and documents are read by others, and know their ends all the same.
    fn with_ends(&mut self, outcome: Outcome, file: &File, stamp: &Stamp) -> io::Result<Outcome> {
        Ok(match outcome {
            Outcome::All(mut told) if told.ends == Ends::default() => {
                told.ends = self.ends(file, stamp.length as u64)?;
                Outcome::All(told)
            }
            outcome => outcome,
        })
    }

    fn whole(&mut self, file: &File, stamp: &Stamp, path: &Path, messages: Messages) -> io::Result<Outcome> {
        let name = path.to_string_lossy();
        if let Some(lines) = self.lines_of(file, &name)?
            && let Ok(mut told) = self.follow(file, stamp, 0, Follow::begin(lines, Some(&name)), &name)?
        {
            if lines == Lines::Codex
                && let Some(charges) = self.charges_with_history(file, stamp, path, messages)?
            {
                told.charges = charges;
            }
            return Ok(Outcome::All(Box::new(told)));
        }
        let ShortLines { bytes, length, .. } =
            read_short_lines(Part { file, at: 0, end: stamp.length as u64 }, stamp.length as u64)?;
        self.bytes += length;
        let in_storage = opencode_storage::read(path, &bytes, messages, &self.archive);
        let Some(transcript) = in_storage.or_else(|| transcript_of(&name, &bytes).ok()) else {
            return Ok(Outcome::NoSession);
        };
        drop(bytes);
        let (tree, _) = SessionTree::replay(transcript.records);
        Ok(Outcome::All(Box::new(told_by(&tree, 0))))
    }

    /// What a rollout of Codex has used together with the rollouts that it continues by reference, as `cost` counts it. `None`
    /// for a rollout that is complete in itself, which is told by its first line. A file that grows adds what is new to this; a
    /// base that comes later counts when the file is read from its beginning again.
    fn charges_with_history(
        &mut self,
        file: &File,
        stamp: &Stamp,
        path: &Path,
        messages: Messages,
    ) -> io::Result<Option<Vec<Charge>>> {
        let whole = Part { file, at: 0, end: stamp.length as u64 };
        let mut first = Vec::new();
        BufReader::new(whole).take(LONGEST_LINE as u64).read_until(b'\n', &mut first)?;
        if !beside::has_base(&first) {
            return Ok(None);
        }
        let whole = Part { file, at: 0, end: stamp.length as u64 };
        let ShortLines { bytes, length, .. } = read_short_lines(whole, stamp.length as u64)?;
        self.bytes += length;
        let transcript = beside::read(path, Watched::from(bytes.as_slice()), Some(&self.archive), messages);
        Ok(transcript.ok().map(|transcript| charges_of_tree(&SessionTree::replay(transcript.records).0)))
    }

    /// What kind of lines these are, told by the first of them, or by all there is.
    fn lines_of(&mut self, file: &File, name: &str) -> io::Result<Option<Lines>> {
        let mut room = std::mem::take(&mut self.room);
        let length = self.read_at(file, 0, room.room(BEGINNING))?;
        self.bytes -= length as u64; // the same bytes are read again
        let mut beginning = room.filled(length);
        if length == BEGINNING
            && let Some(end) = memchr::memrchr(b'\n', beginning)
        {
            beginning = beginning.get(..=end).unwrap_or_default();
        }
        let lines = lines_of(Some(name), beginning);
        self.room = room;
        Ok(lines)
    }

    /// Takes the lines from `from` to the end of the file as it was when it was opened.
    fn follow(
        &mut self,
        file: &File,
        stamp: &Stamp,
        from: u64,
        follow: Follow,
        name: &str,
    ) -> io::Result<Result<Told, Unusual>> {
        let mut room = std::mem::take(&mut self.room);
        let told = self.follow_in(&mut room, file, stamp.length as u64, from, follow, name);
        // a line that is longer than others made it larger than the next file needs
        self.room = if room.size() > 4 * PIECE { Pages::default() } else { room };
        told
    }

    /// ```text
    /// |      begun line|a piece of the file                 |
    ///                  front, where a page begins
    /// ```
    fn follow_in(
        &mut self,
        room: &mut Pages,
        file: &File,
        end: u64,
        from: u64,
        mut follow: Follow,
        name: &str,
    ) -> io::Result<Result<Told, Unusual>> {
        let mut said = Vec::new();
        let (mut front, mut begun) = (PIECE, 0_usize);
        let mut at = from;
        loop {
            let next = at + begun as u64;
            let piece = PIECE.max(begun.next_multiple_of(PIECE));
            let wanted = usize::try_from(end.saturating_sub(next)).unwrap_or(piece).min(piece);
            let buffer = room.room(front + piece);
            let count =
                self.read_at(file, next, buffer.get_mut(front..front + wanted).unwrap_or_default())?;
            let is_last = count < wanted || next + count as u64 >= end;
            let mut lines = buffer.get(front - begun..front + count).unwrap_or_default();
            while let Some(length) = memchr::memchr(b'\n', lines) {
                let (line, rest) = lines.split_at(length);
                let taken = match length > LONGEST_LINE {
                    true => follow.skip(),
                    false => follow.take(line, at, &mut said),
                };
                if taken.is_err() {
                    return Ok(Err(Unusual));
                }
                lines = rest.get(1..).unwrap_or_default();
                at += length as u64 + 1;
            }
            if is_last {
                // a last line that has no newline yet counts if it is whole
                if lines.len() <= LONGEST_LINE {
                    let Ok(taken) = follow.take_end(lines, at, &mut said) else { return Ok(Err(Unusual)) };
                    at += taken as u64;
                }
                break;
            }
            begun = lines.len();
            if begun > LONGEST_LINE {
                let Some(behind) = self.behind_line(file, at + begun as u64, end)? else { break };
                if follow.skip().is_err() {
                    return Ok(Err(Unusual));
                }
                (at, begun, front) = (behind, 0, PIECE);
                *room = Pages::default();
            } else if begun <= front {
                buffer.copy_within(front + count - begun..front + count, front - begun);
            } else {
                // one line is longer than all before it
                let mut larger = Pages::default();
                front = begun.next_multiple_of(PIECE);
                let place = larger.room(front * 2).get_mut(front - begun..front);
                place.unwrap_or_default().copy_from_slice(lines);
                *room = larger;
            }
        }
        let Ok(gist) = follow.gist(Some(name)) else { return Ok(Err(Unusual)) };
        let ends = self.ends(file, at)?;
        let charges = follow.take_charges();
        Ok(Ok(Told { gist, said, charges, damaged: 0, follow: Some(follow), ends }))
    }

    /// Where the line ends that goes on at `from`, its newline included; `None` if it has no newline before `end`.
    fn behind_line(&mut self, file: &File, mut from: u64, end: u64) -> io::Result<Option<u64>> {
        let mut piece = vec![0; PIECE];
        while from < end {
            let count = self.read_at(file, from, &mut piece)?;
            let read = piece.get(..count).unwrap_or_default();
            if let Some(newline) = memchr::memchr(b'\n', read) {
                return Ok(Some(from + newline as u64 + 1));
            }
            if count == 0 {
                break;
            }
            from += count as u64;
        }
        Ok(None)
    }

    fn ends(&mut self, file: &File, read_to: u64) -> io::Result<Ends> {
        let mut hash = |offset: u64, length: u64| -> io::Result<u32> {
            let mut bytes = vec![0; length as usize];
            let length = self.read_at(file, offset, &mut bytes)?;
            Ok(crc32fast::hash(bytes.get(..length).unwrap_or_default()))
        };
        let head = hash(0, HEAD.min(read_to))?;
        let tail = TAIL.min(read_to);
        Ok(Ends { read_to, head, tail: hash(read_to - tail, tail)? })
    }

    /// As much as there is.
    fn read_at(&mut self, file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match file.read_at(rest, offset + filled as u64) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes += filled as u64;
        Ok(filled)
    }
}

fn journal(store: &JournalStore, id: &offshoot_session::SessionId) -> Outcome {
    match store.read(id) {
        // A crash stopped it from being born; nobody was told that it exists.
        Ok(None) => Outcome::NoSession,
        Ok(Some(loaded)) if loaded.tree.is_taken_back() => Outcome::NoSession,
        Ok(Some(loaded)) => {
            let damaged = loaded.findings.iter().map(damaged_lines).sum();
            Outcome::All(Box::new(told_by(&loaded.tree, damaged)))
        }
        Err(ReadError::Newer { source, .. }) => Outcome::Unreadable(source.to_string()),
        Err(ReadError::File(error)) => Outcome::Unreadable(error.source.to_string()),
        Err(ReadError::Gone { .. }) => Outcome::Gone,
    }
}

/// How many lines of the journal cannot be read, and are not only odd.
fn damaged_lines(finding: &Finding) -> u64 {
    match finding {
        Finding::Flaw(found) if matches!(found.flaw, Flaw::Damaged { .. } | Flaw::Blob { .. }) => {
            found.flaw.lines()
        }
        Finding::Flaw(_)
        | Finding::TornTail(_)
        | Finding::Odd(_)
        | Finding::Theirs(_)
        | Finding::Source(_) => 0,
    }
}

fn told_by(tree: &SessionTree, damaged: u64) -> Told {
    let (gist, said) = of_tree(tree);
    let charges = charges_of_tree(tree);
    Told { gist, said, charges, damaged, follow: None, ends: Ends::default() }
}

/// A session of a database, with what changes when it does.
pub(super) struct InDatabase {
    pub(super) id: String,
    pub(super) stamp: Stamp,
}

/// The sessions of a database, and the database to read them from.
pub(super) fn database(path: &Path, scratch: &Path) -> Result<(OpencodeDatabase, Vec<InDatabase>), String> {
    let mut database = OpencodeDatabase::open(path, scratch).map_err(|error| error.to_string())?;
    let sessions = database.sessions().map_err(|error| error.to_string())?;
    let listed = sessions
        .into_iter()
        .map(|session| InDatabase {
            stamp: Stamp {
                length: i64::from(session.messages),
                modified: session.updated_at.map_or(0, |at| at.as_microsecond()),
                ..Stamp::default()
            },
            id: session.id,
        })
        .collect();
    Ok((database, listed))
}

pub(super) fn session_in_database(database: &mut OpencodeDatabase, id: &str) -> Outcome {
    match database.read(id) {
        Ok(Some(transcript)) => {
            let (tree, _) = SessionTree::replay(transcript.records);
            Outcome::All(Box::new(told_by(&tree, 0)))
        }
        Ok(None) => Outcome::Gone,
        Err(error) => Outcome::Unreadable(error.to_string()),
    }
}

/// Formats that are followed, as the catalog numbers them.
pub(super) fn lines_number(lines: Lines) -> i64 {
    match lines {
        Lines::Pi => 0,
        Lines::Claude => 1,
        Lines::Codex => 2,
        Lines::Rollouts => 3,
        Lines::Journal => 4,
    }
}

pub(super) fn lines_numbered(number: Option<i64>) -> Option<Lines> {
    match number {
        Some(0) => Some(Lines::Pi),
        Some(1) => Some(Lines::Claude),
        Some(2) => Some(Lines::Codex),
        Some(3) => Some(Lines::Rollouts),
        Some(4) => Some(Lines::Journal),
        Some(_) | None => None,
    }
}
