//! The envelopes of a journal, read without its bodies.
//!
//! [`Skim`] takes lines one after the other and keeps what the shape of the tree needs. It looks at the first
//! hundred bytes of an entry and at the shape of its seal; the checksum is checked when the body is read. Whatever
//! it is not sure of is [`Unusual`], and the journal is then read whole by [`super::scan()`].

use memchr::memmem;

use super::blob::NoBlobs;
use super::line::{Decoded, InBatch, Undecodable, decode};
use super::scan::{NewerFormat, Position, Tail, TornBy};
use super::seal::{self, SEAL_LENGTH};
use crate::skeleton::{Cursor, Fields, Kind, Length, LineHead, Log, Told, Unusual};
use crate::{Change, OperationId};

#[derive(Clone, Debug, Default)]
pub struct Skim {
    log: Log,
    end: Position,
    /// Where the last whole batch begins.
    batch: Position,
    /// What of the log stands before `end`.
    whole: Length,
    torn_by: Option<TornBy>,
    read_to: u64,
}

/// Why skimming stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    Unusual(Unusual),
    Newer(NewerFormat),
}

/// The envelopes of all whole batches.
#[derive(Clone, Debug)]
pub struct Skimmed {
    pub log: Log,
    pub end: Position,
    pub last_batch: Position,
    pub tail: Option<Tail>,
}

impl Skim {
    /// Goes on behind what is known already.
    pub fn behind(log: Log, end: Position, last_batch: Position) -> Self {
        let whole = log.length();
        Self { log, end, batch: last_batch, whole, torn_by: None, read_to: end.offset }
    }

    /// About so many lines come: room is made once.
    pub fn expect(&mut self, lines: usize) {
        self.log.expect(lines);
    }

    /// Reads one line, without its newline.
    pub fn take(&mut self, line: &[u8], offset: u64, has_newline: bool) -> Result<(), Stopped> {
        self.read_to = offset + line.len() as u64 + u64::from(has_newline);
        if !has_newline {
            return self.take_last(line, offset);
        }
        let more = self.add(line, offset)?;
        if !more {
            self.close_batch(true);
        }
        Ok(())
    }

    pub fn finish(mut self) -> Skimmed {
        self.log.truncate(self.whole);
        let bytes = self.read_to - self.end.offset;
        let torn_by = self.torn_by.unwrap_or(TornBy::UnfinishedBatch);
        let tail = (bytes > 0).then_some(Tail { bytes, torn_by });
        Skimmed { log: self.log, end: self.end, last_batch: self.batch, tail }
    }

    /// A last line without a newline counts if its checksum is right.
    fn take_last(&mut self, line: &[u8], offset: u64) -> Result<(), Stopped> {
        match decode(line, &NoBlobs) {
            Ok(_) => {
                let more = self.add(line, offset)?;
                if !more {
                    self.close_batch(false);
                }
                Ok(())
            }
            Err(Undecodable::Newer(version)) => Err(Stopped::Newer(NewerFormat { version })),
            Err(Undecodable::Damaged(_)) => {
                let has_seal = |at: usize| line.get(at..).is_some_and(seal::is_seal);
                if memmem::find_iter(line, seal::SUM).any(has_seal) {
                    return Err(Stopped::Unusual(Unusual::Shape)); // perhaps two lines in one
                }
                self.torn_by = Some(TornBy::UnfinishedLine);
                Ok(())
            }
        }
    }

    /// Says whether more lines belong to the batch.
    fn add(&mut self, line: &[u8], offset: u64) -> Result<bool, Stopped> {
        let has_seal =
            line.len().checked_sub(SEAL_LENGTH).and_then(|at| line.get(at..)).is_some_and(seal::is_seal);
        if !has_seal {
            return Err(Stopped::Unusual(Unusual::Shape));
        }
        if let Some((fields, more, _)) = begun(line) {
            self.log.push_entry(&fields, offset, line.len()).map_err(Stopped::Unusual)?;
            return Ok(more);
        }
        let Decoded { record, in_batch, .. } = match decode(line, &NoBlobs) {
            Ok(decoded) => decoded,
            Err(Undecodable::Newer(version)) => return Err(Stopped::Newer(NewerFormat { version })),
            Err(Undecodable::Damaged(_)) => return Err(Stopped::Unusual(Unusual::Shape)),
        };
        let pushed = match &record.change {
            Change::Entry(entry) => {
                let operation = record.operation.as_ref().map(OperationId::as_str);
                self.log.push_entry(&Fields::of(entry, operation), offset, line.len())
            }
            Change::Opened(_) | Change::HeadMoved(_) | Change::Marked(_) => self.log.push_small(line, offset),
            Change::Unknown => Ok(()),
        };
        pushed.map_err(Stopped::Unusual)?;
        Ok(in_batch == InBatch::MoreFollow)
    }

    fn close_batch(&mut self, has_newline: bool) {
        self.batch = self.end;
        self.end = Position { offset: self.read_to, lines: 0, owes_newline: !has_newline };
        self.whole = self.log.length();
    }
}

/// What the small lines of a log say.
pub fn told(log: &Log) -> Told {
    let records = log.small_lines().filter_map(|small| {
        let decoded = decode(small.line, &NoBlobs).ok()?;
        Some((small.before, decoded.record))
    });
    Told { records: records.collect(), ..Told::default() }
}

/// Whether the checksum of a line is right.
pub fn is_sound(line: &[u8]) -> bool {
    seal::check(line).is_ok()
}

/// The beginning of an entry's line that this program wrote; `None` where it is not one of the long ones.
pub fn head(line: &[u8]) -> Option<LineHead<'_>> {
    let (fields, _, mut rest) = begun(line)?;
    let answered_call = match fields.kind {
        Kind::ToolResult => rest.skip(r#""call":"#).and_then(|()| rest.string()),
        _ => None,
    };
    Some(LineHead { fields, answered_call })
}

/// The envelope of an entry, if the line begins the way this program writes one, whether more lines belong to its
/// batch, and what follows.
#[inline]
fn begun(line: &[u8]) -> Option<(Fields<'_>, bool, Cursor<'_>)> {
    let mut cursor = Cursor::new(line);
    cursor.skip(r#"{"k":"entry""#)?;
    let more = cursor.skip(r#","more":1"#).is_some();
    cursor.skip(r#","id":"#)?;
    let id = cursor.string()?;
    cursor.skip(r#","parent":"#)?;
    let parent = cursor.string_or_null()?;
    cursor.skip(r#","at":"#)?;
    let at = cursor.moment()?;
    let turn = match cursor.skip(r#","turn":"#) {
        Some(()) => Some(cursor.string()?),
        None => None,
    };
    let operation = match cursor.skip(r#","op":"#) {
        Some(()) => Some(cursor.string()?),
        None => None,
    };
    cursor.skip(r#","body":{"#)?;
    let kind = match cursor.word()? {
        b"prompt" => Kind::Prompt,
        b"reply" => Kind::Reply,
        b"tool_result" => Kind::ToolResult,
        b"shell" => Kind::Shell,
        b"branch_summary" => Kind::BranchSummary,
        b"compaction" => Kind::Compaction,
        b"custom_message" => Kind::CustomMessage,
        _ => return None, // rare and short: read whole
    };
    cursor.skip(":{")?;
    Some((Fields { id, parent, at, turn, operation, kind }, more, cursor))
}
