//! Reads the bytes of a journal: every record that can be trusted, and what is wrong with the rest.
//!
//! Three things look alike and are not. A *torn tail* is a batch that never became whole; it was never
//! acknowledged and does not count. *Damage* is a whole line that says something else than was written; it is
//! set aside with its bytes and never cut away. A *lost newline* costs nothing: the checksum shows where a line
//! ends.
//!
//! After a power cut the last batch may have holes, because disks write its pages in any order. They read as
//! zeros, which no line contains, so a last batch with a hole is a torn tail too.

use std::fmt;

use memchr::{memchr, memmem};
use thiserror::Error;

use super::blob::{BlobName, BlobTrouble, Blobs};
use super::line::{Decoded, InBatch, Note, Undecodable, decode};
use super::seal::{self, Damage, SEAL_LENGTH};
use crate::long_lines::{ShortLines, SkippedLine};
use crate::{RawLine, Record, Watch};

/// So many damaged lines are kept one by one. Behind that each run of damaged lines is one record, so that a journal of
/// a million bad lines does not need memory for a million records.
const KEPT_SINGLY: u64 = 1_000;

/// Disks write in sectors; fewer zeros may have another reason.
const SMALLEST_HOLE: usize = 8;

/// A place between two batches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    pub offset: u64,
    /// Lines before it.
    pub lines: u64,
    /// The line before it has no newline yet; the next writer begins with one.
    pub owes_newline: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Scanned {
    /// Those of whole batches, damaged lines among them as [`crate::Change::Unknown`].
    pub records: Vec<Record>,
    pub found: Vec<Found>,
    /// Behind the last whole batch.
    pub end: Position,
    pub tail: Option<Tail>,
}

/// Bytes behind the last whole batch: being written just now, or left by a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    pub bytes: u64,
    pub torn_by: TornBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TornBy {
    /// The last line is not whole.
    UnfinishedLine,
    /// The lines are whole; the end of their batch is not there.
    UnfinishedBatch,
    /// The last batch has holes.
    Hole,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// From 1.
    pub line: u64,
    /// Of the line's first byte.
    pub offset: u64,
    pub flaw: Flaw,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// The line is set aside, with as many lines behind it as are damaged too. `bytes` leaves out the last newline.
    Damaged {
        damage: Damage,
        bytes: u64,
        lines: u64,
    },
    /// Two lines without a newline between; both were read.
    JoinedLines,
    /// The last line has no newline, or something else in its place; it was read.
    LostNewline,
    Blob {
        name: BlobName,
        trouble: BlobTrouble,
    },
    UnknownKind(String),
}

/// The journal is left alone: this program could only damage it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("format {version} is newer than this program knows ({})", super::VERSION)]
pub struct NewerFormat {
    pub version: u64,
}

/// Reads what follows `from`, to the end of the journal.
pub fn scan(bytes: &[u8], from: Position, blobs: &dyn Blobs) -> Result<Scanned, NewerFormat> {
    scan_watched(bytes, &[], from, blobs, &Watch::nobody())
}

/// Scans a journal without its longest lines, and reports to `watch` how many bytes were read.
pub fn scan_short_lines(
    lines: &ShortLines,
    from: Position,
    blobs: &dyn Blobs,
    watch: &Watch,
) -> Result<Scanned, NewerFormat> {
    scan_watched(&lines.bytes, &lines.skipped, from, blobs, watch)
}

fn scan_watched(
    bytes: &[u8],
    skipped: &[SkippedLine],
    from: Position,
    blobs: &dyn Blobs,
    watch: &Watch,
) -> Result<Scanned, NewerFormat> {
    let mut scan = Scan {
        scanned: Scanned { records: Vec::new(), found: Vec::new(), end: from, tail: None },
        batch: Batch::default(),
        damaged: 0,
        run: None,
        blobs,
        watch,
    };
    scan.run(bytes, skipped, from)?;
    scan.end_run();
    Ok(scan.scanned)
}

struct Scan<'b> {
    scanned: Scanned,
    batch: Batch,
    /// Damaged lines so far.
    damaged: u64,
    /// The bytes of the damaged lines that the last record stands for, if more may follow.
    run: Option<Vec<u8>>,
    blobs: &'b dyn Blobs,
    watch: &'b Watch,
}

/// Lines whose batch is not whole yet.
#[derive(Default)]
struct Batch {
    records: Vec<Record>,
    found: Vec<Found>,
}

/// What stands between two newlines: usually one line.
struct Segment<'s> {
    bytes: &'s [u8],
    offset: u64,
    line: u64,
    has_newline: bool,
    /// All that follows.
    behind: &'s [u8],
}

impl Scan<'_> {
    fn run(&mut self, bytes: &[u8], skipped: &[SkippedLine], from: Position) -> Result<(), NewerFormat> {
        let mut at = 0;
        let mut skipped_lines = skipped.iter().peekable();
        // how many bytes of skipped lines lie before `at` in the file
        let mut left_out = 0;
        let mut line = from.lines + 1;
        let mut torn_by = TornBy::UnfinishedBatch;
        if from.owes_newline && bytes.first() == Some(&b'\n') {
            at = 1;
            self.scanned.end = Position { offset: from.offset + 1, lines: from.lines, owes_newline: false };
        }
        while at < bytes.len() {
            let rest = bytes.get(at..).unwrap_or_default();
            let newline = memchr(b'\n', rest);
            let length = newline.unwrap_or(rest.len());
            let segment = Segment {
                bytes: rest.get(..length).unwrap_or_default(),
                offset: from.offset + at as u64 + left_out,
                line,
                has_newline: newline.is_some(),
                behind: rest.get(length + 1..).unwrap_or_default(),
            };
            if let Some(skipped) = skipped_lines.next_if(|skipped| skipped.at == at) {
                if !segment.has_newline {
                    torn_by = TornBy::UnfinishedLine;
                    break;
                }
                left_out += skipped.left_out();
                self.take_skipped(&segment, skipped.length);
            } else if let Some(torn) = self.take_segment(&segment)? {
                torn_by = torn;
                break;
            }
            let passed = length + usize::from(newline.is_some());
            self.watch.passed(passed);
            at += passed;
            line += 1;
        }
        let left_out: u64 = skipped.iter().map(SkippedLine::left_out).sum();
        let end = from.offset + bytes.len() as u64 + left_out;
        let left = end - self.scanned.end.offset;
        if left > 0 {
            self.scanned.tail = Some(Tail { bytes: left, torn_by });
        }
        Ok(())
    }

    /// Says by what the rest is torn, if it is.
    fn take_segment(&mut self, segment: &Segment<'_>) -> Result<Option<TornBy>, NewerFormat> {
        match decode(segment.bytes, self.blobs) {
            Ok(decoded) => {
                let whole = Piece { start: 0, end: segment.bytes.len(), next: segment.bytes.len() };
                self.take_line(decoded, segment, whole, true);
                Ok(None)
            }
            Err(Undecodable::Newer(version)) => Err(NewerFormat { version }),
            Err(Undecodable::Damaged(_)) if self.is_torn_by_hole(segment) => Ok(Some(TornBy::Hole)),
            Err(Undecodable::Damaged(_)) => self.take_pieces(segment),
        }
    }

    /// A line that was too long to be read. It may have been the last of its batch, like any damaged line.
    fn take_skipped(&mut self, note: &Segment<'_>, length: u64) {
        self.end_run();
        let flaw = Flaw::Damaged { damage: Damage::TooLong, bytes: length, lines: 1 };
        self.batch.found.push(Found { line: note.line, offset: note.offset, flaw });
        self.batch.records.push(Record::unknown(RawLine::new([note.bytes, b"\n"].concat())));
        let offset = note.offset + length + 1;
        self.close_batch(Position { offset, lines: note.line, owes_newline: false });
    }

    /// Only the last batch can have been under way when the power went; a hole further up is damage.
    fn is_torn_by_hole(&self, segment: &Segment<'_>) -> bool {
        let begins_batch = segment.offset == self.scanned.end.offset;
        has_hole(segment.bytes, begins_batch) && is_rest_of_batch(segment.behind)
    }

    fn take_pieces(&mut self, segment: &Segment<'_>) -> Result<Option<TornBy>, NewerFormat> {
        let pieces = pieces(segment.bytes);
        let last = pieces.len().saturating_sub(1);
        for (index, piece) in pieces.into_iter().enumerate() {
            let is_last = index == last;
            let bytes = segment.bytes.get(piece.start..piece.end).unwrap_or_default();
            match decode(bytes, self.blobs) {
                Ok(decoded) => self.take_line(decoded, segment, piece, is_last),
                Err(Undecodable::Newer(version)) => return Err(NewerFormat { version }),
                Err(Undecodable::Damaged(_)) if is_last && !segment.has_newline => {
                    return Ok(Some(TornBy::UnfinishedLine));
                }
                Err(Undecodable::Damaged(damage)) => {
                    let flaw = Flaw::Damaged { damage, bytes: bytes.len() as u64, lines: 1 };
                    self.set_aside(bytes, segment.found(piece, flaw));
                    // It may have been the last of its batch: what was acknowledged must not wait for more.
                    self.close_batch(segment.behind(piece, is_last));
                }
            }
        }
        Ok(None)
    }

    /// A damaged line becomes a record of its own, or part of the record of the damaged lines before it.
    fn set_aside(&mut self, line: &[u8], found: Found) {
        self.damaged += 1;
        let before = self.scanned.found.last_mut().map(|found| &mut found.flaw);
        if let (Some(run), Some(Flaw::Damaged { bytes, lines, .. })) = (&mut self.run, before)
            && self.batch.records.is_empty()
        {
            run.extend_from_slice(line);
            run.push(b'\n');
            *bytes += line.len() as u64 + 1;
            *lines += 1;
            return;
        }
        self.end_run();
        let kept = [line, b"\n"].concat();
        self.run = (self.damaged > KEPT_SINGLY).then(|| kept.clone());
        self.batch.found.push(found);
        self.batch.records.push(Record::unknown(RawLine::new(kept)));
    }

    /// What follows is not damaged, so the last record stands for all damaged lines before it.
    fn end_run(&mut self) {
        if let (Some(run), Some(record)) = (self.run.take(), self.scanned.records.last_mut()) {
            *record = Record::unknown(RawLine::new(run));
        }
    }

    fn take_line(&mut self, decoded: Decoded, segment: &Segment<'_>, piece: Piece, is_last: bool) {
        self.end_run();
        if !is_last {
            self.batch.found.push(segment.found(piece, Flaw::JoinedLines));
        } else if !segment.has_newline || piece.next > piece.end {
            self.batch.found.push(segment.found(piece, Flaw::LostNewline));
        }
        for note in decoded.notes {
            let flaw = match note {
                Note::Blob { name, trouble } => Flaw::Blob { name, trouble },
                Note::UnknownKind(kind) => Flaw::UnknownKind(kind),
            };
            self.batch.found.push(segment.found(piece, flaw));
        }
        self.batch.records.push(decoded.record);
        if decoded.in_batch == InBatch::Last {
            self.close_batch(segment.behind(piece, is_last));
        }
    }

    fn close_batch(&mut self, end: Position) {
        self.scanned.records.append(&mut self.batch.records);
        self.scanned.found.append(&mut self.batch.found);
        self.scanned.end = end;
    }
}

impl Flaw {
    /// How many lines it is about.
    pub fn lines(&self) -> u64 {
        match self {
            Self::Damaged { lines, .. } => *lines,
            Self::JoinedLines | Self::LostNewline | Self::Blob { .. } | Self::UnknownKind(_) => 1,
        }
    }
}

impl Segment<'_> {
    fn found(&self, piece: Piece, flaw: Flaw) -> Found {
        Found { line: self.line, offset: self.offset + piece.start as u64, flaw }
    }

    /// The position behind a piece, the newline included where there is one.
    fn behind(&self, piece: Piece, is_last: bool) -> Position {
        let has_newline = is_last && self.has_newline;
        Position {
            offset: self.offset + piece.next as u64 + u64::from(has_newline),
            lines: self.line,
            owes_newline: !has_newline,
        }
    }
}

/// A part of a segment; `next` is where the following one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    start: usize,
    end: usize,
    next: usize,
}

/// Finds the lines in a segment. A sound line is one piece; where a newline was lost, a seal in the middle
/// followed by the beginning of a line, or by one last byte, shows where to cut. Quotes inside of strings are
/// escaped, so a seal cannot be mistaken.
fn pieces(segment: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for at in memmem::find_iter(segment, seal::SUM) {
        let end = at + SEAL_LENGTH;
        if at < start || !segment.get(at..).is_some_and(seal::is_seal) {
            continue;
        }
        let behind = segment.get(end..).unwrap_or_default();
        let gap = match behind {
            [] => continue,
            [_] => 1,
            _ if behind.starts_with(seal::KIND) => 0,
            [_, rest @ ..] if rest.starts_with(seal::KIND) => 1,
            _ => continue,
        };
        pieces.push(Piece { start, end, next: end + gap });
        start = end + gap;
    }
    if start < segment.len() || pieces.is_empty() {
        pieces.push(Piece { start, end: segment.len(), next: segment.len() });
    }
    pieces
}

/// A flipped bit makes at most one zero, and none of the brace that begins a batch.
fn has_hole(segment: &[u8], begins_batch: bool) -> bool {
    (begins_batch && segment.first() == Some(&0)) || memmem::find(segment, &[0; SMALLEST_HOLE]).is_some()
}

/// Whether nothing follows the end of the first batch in these lines.
fn is_rest_of_batch(lines: &[u8]) -> bool {
    let mut rest = lines;
    while let Some(newline) = memchr(b'\n', rest) {
        let (line, behind) = rest.split_at(newline);
        rest = behind.get(1..).unwrap_or_default();
        if seal::check(line).is_ok() && seal::frame(line).is_some_and(|frame| !frame.more) {
            return rest.is_empty();
        }
    }
    true
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} (byte {}): {}", self.line, self.offset, self.flaw)
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { damage, bytes, lines: 1 } => {
                write!(f, "{bytes} bytes are damaged ({damage}); set aside")
            }
            Self::Damaged { damage, bytes, lines } => {
                write!(f, "{lines} lines, {bytes} bytes, are damaged ({damage} first); set aside")
            }
            Self::JoinedLines => f.write_str("the newline behind it is lost; both lines were read"),
            Self::LostNewline => f.write_str("its newline is lost; it was read"),
            Self::Blob { name, trouble } => write!(f, "blob `{name}`: {trouble}"),
            Self::UnknownKind(kind) => write!(f, "unknown kind `{kind}`; kept as it is"),
        }
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.torn_by {
            TornBy::UnfinishedLine => write!(f, "an unfinished line at the end ({} bytes)", self.bytes),
            TornBy::UnfinishedBatch => write!(f, "an unfinished batch at the end ({} bytes)", self.bytes),
            TornBy::Hole => write!(f, "a batch with holes at the end ({} bytes)", self.bytes),
        }
    }
}
