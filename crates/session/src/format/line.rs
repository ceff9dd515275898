//! One record as one line, and back.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::blob::{Blob, BlobName, BlobTrouble, Blobs, NoBlobs};
use super::from_disk::{Beyond, Incoming, Said};
use super::seal::{self, Damage};
use super::to_disk::Outgoing;
use super::{VERSION, words};
use crate::quick_json::NotQuick;
use crate::{Body, Change, Entry, Foreign, OperationId, RawLine, Record, quick_json};

/// Room for a line that says what people and agents usually say at once.
pub(super) const USUAL_LENGTH: usize = 2048;

/// Where a line stands among those appended with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InBatch {
    /// Further lines belong to it: without them it does not count.
    MoreFollow,
    Last,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Whole, with its newline.
    pub line: Vec<u8>,
    /// What the line refers to; it must be safe before the line is written.
    pub blobs: Vec<Blob>,
}

/// Why a record has no form on disk.
#[derive(Debug, Error)]
pub enum Unwritable {
    #[error("a value is nested {0} levels deep")]
    TooDeep(usize),
    #[error("no JSON can be made of it")]
    NotJson(#[from] serde_json::Error),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub record: Record,
    pub in_batch: InBatch,
    pub notes: Vec<Note>,
}

/// What was forgiven about a line that can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The text in its place says that it is missing.
    Blob { name: BlobName, trouble: BlobTrouble },
    /// A kind of line, entry or fact that this version does not know. The record keeps the line.
    UnknownKind(String),
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Undecodable {
    #[error(transparent)]
    Damaged(#[from] Damage),
    #[error("format {0} is newer than this program knows")]
    Newer(u64),
}

pub fn encode(record: &Record, in_batch: InBatch) -> Result<Encoded, Unwritable> {
    let mut line = Vec::with_capacity(USUAL_LENGTH);
    let blobs = write(record, in_batch, &mut line)?;
    Ok(Encoded { line, blobs })
}

/// Puts the line of a record behind others, and says what it refers to.
pub(super) fn write(
    record: &Record,
    in_batch: InBatch,
    lines: &mut Vec<u8>,
) -> Result<Vec<Blob>, Unwritable> {
    let more = in_batch == InBatch::MoreFollow;
    if let Some(line) = own_line(record, more) {
        lines.extend_from_slice(&line);
        lines.push(b'\n');
        return Ok(Vec::new());
    }
    let mut outgoing = Outgoing::default();
    let (op, source) = (record.operation.as_ref(), record.source.as_ref());
    let more = more.then_some(1);
    let start = lines.len();
    match &record.change {
        Change::Opened(header) => put(&words::OpenLine { more, ..outgoing.open(header, op, source)? }, lines),
        Change::Entry(entry) => put(&words::EntryLine { more, ..outgoing.entry(entry, op, source)? }, lines),
        Change::HeadMoved(head_move) => {
            put(&words::HeadLine { more, ..outgoing.head(head_move, op, source) }, lines)
        }
        Change::Marked(mark) => put(&words::MarkLine { more, ..outgoing.mark(mark, op, source) }, lines),
        Change::Unknown => put(&words::KeptLine { more, ..outgoing.kept(op, source) }, lines),
    }?;
    seal::close(lines, start);
    lines.push(b'\n');
    Ok(outgoing.blobs)
}

pub(super) fn put<L: Serialize>(line: &L, lines: &mut Vec<u8>) -> Result<(), serde_json::Error> {
    match quick_json::to_vec(line, lines) {
        Ok(()) => Ok(()),
        Err(NotQuick) => serde_json::to_writer(lines, line),
    }
}

/// Reads one line without its newline.
pub fn decode(line: &[u8], blobs: &dyn Blobs) -> Result<Decoded, Undecodable> {
    seal::check(line)?;
    let frame = seal::frame(line);
    let mut incoming = Incoming { blobs, troubles: Vec::new(), unknown_kind: None };
    let understood = match frame.map(|frame| frame.kind) {
        Some("open") => {
            refuse_newer(text_of(line)?)?;
            understand(line, &mut incoming, Incoming::open)
        }
        Some("entry") => understand(line, &mut incoming, Incoming::entry),
        Some("head") => understand(line, &mut incoming, Incoming::head),
        Some("mark") => understand(line, &mut incoming, Incoming::mark),
        Some("line") => understand(line, &mut incoming, Incoming::kept),
        Some(_) | None => None,
    };
    let (said, is_whole) = match understood {
        Some(understood) => understood,
        None => {
            let kind = frame.map_or("", |frame| frame.kind);
            (beyond_this_version(text_of(line)?, kind, &mut incoming)?, false)
        }
    };
    let keeps_line = !is_whole || !incoming.troubles.is_empty() || incoming.unknown_kind.is_some();
    let own = keeps_line.then(|| frame.map_or_else(|| line.to_vec(), |frame| frame.line(false)));
    let source = said.source.or_else(|| own.map(|own| RawLine::new(with_newline(own))));
    let mut notes: Vec<Note> =
        incoming.troubles.into_iter().map(|(name, trouble)| Note::Blob { name, trouble }).collect();
    notes.extend(incoming.unknown_kind.map(Note::UnknownKind));
    Ok(Decoded {
        record: Record { change: said.change, operation: said.operation, source },
        in_batch: match frame {
            Some(frame) if frame.more => InBatch::MoreFollow,
            Some(_) | None => InBatch::Last,
        },
        notes,
    })
}

/// The line that a record was read from and still says, when it says more than this version understands.
fn own_line(record: &Record, more: bool) -> Option<Vec<u8>> {
    let line = record.source.as_ref()?.content();
    if !line.starts_with(seal::KIND) {
        return None;
    }
    let decoded = decode(line, &NoBlobs).ok()?;
    (decoded.record == *record && decoded.in_batch == InBatch::Last)
        .then(|| seal::frame(line).map(|frame| frame.line(more)))
        .flatten()
}

/// What the line says, and whether that is all of it. `None`: it is beyond this version.
fn understand<'l, 'b, L: Deserialize<'l>>(
    line: &'l [u8],
    incoming: &mut Incoming<'b>,
    say: impl FnOnce(&mut Incoming<'b>, L) -> Result<Said, Beyond>,
) -> Option<(Said, bool)> {
    let (words, is_whole): (L, bool) = quickly(line).or_else(|| patiently(text_of(line).ok()?))?;
    let said = say(incoming, words).ok()?;
    Some((said, is_whole))
}

/// What this understands is UTF-8: nobody has to look before.
fn quickly<'l, L: Deserialize<'l>>(line: &'l [u8]) -> Option<(L, bool)> {
    let mut is_whole = true;
    let mut json = quick_json::Reader::new(line);
    let line = serde_ignored::deserialize(&mut json, |_| is_whole = false).ok()?;
    json.end().ok()?;
    Some((line, is_whole))
}

/// The same for what is seldom written.
fn patiently<'l, L: Deserialize<'l>>(text: &'l str) -> Option<(L, bool)> {
    let mut is_whole = true;
    let mut json = serde_json::Deserializer::from_str(text);
    let line = serde_ignored::deserialize(&mut json, |_| is_whole = false).ok()?;
    json.end().ok()?;
    Some((line, is_whole))
}

fn text_of(line: &[u8]) -> Result<&str, Damage> {
    std::str::from_utf8(line).map_err(|error| Damage::NotJson(error.to_string()))
}

/// An entry keeps its place in the tree; of anything else only the step it belongs to is known.
fn beyond_this_version(text: &str, kind: &str, incoming: &mut Incoming<'_>) -> Result<Said, Damage> {
    incoming.troubles.clear();
    let step: words::Step<'_> =
        serde_json::from_str(text).map_err(|error| Damage::NotJson(error.to_string()))?;
    let operation = step.op.map(|op| OperationId::from(op.into_owned()));
    let unknown = incoming.unknown_kind.get_or_insert_with(|| kind.to_owned());
    let place: Option<words::Place<'_>> =
        (kind == "entry").then(|| serde_json::from_str(text).ok()).flatten();
    let change = match place {
        Some(place) => Change::Entry(
            Entry {
                id: place.id.into_owned().into(),
                parent: place.parent.map(|parent| parent.into_owned().into()),
                written_at: place.at.0,
                turn: place.turn.map(|turn| turn.into_owned().into()),
                body: Body::Foreign(Foreign { kind: unknown.clone(), text: None }),
            }
            .into(),
        ),
        None => Change::Unknown,
    };
    Ok(Said { change, operation, source: None })
}

fn refuse_newer(text: &str) -> Result<(), Undecodable> {
    #[derive(Deserialize)]
    struct Version {
        v: u64,
    }
    match serde_json::from_str::<Version>(text) {
        Ok(Version { v }) if v > VERSION => Err(Undecodable::Newer(v)),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn with_newline(mut line: Vec<u8>) -> Vec<u8> {
    line.push(b'\n');
    line
}
