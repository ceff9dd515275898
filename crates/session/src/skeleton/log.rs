//! The lines of a file without their words, in the order of the file.

use super::{Kind, Moment, NONE, Name, Names, Unusual};
use crate::{Entry, EntryId};

#[derive(Clone, Debug, Default)]
pub struct Log {
    pub names: Names,
    envelopes: Vec<Envelope>,
    small: Vec<Small>,
    small_bytes: Vec<u8>,
}

/// One entry, and where its line lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Envelope {
    pub offset: u64,
    pub at: Moment,
    /// Without the newline.
    pub length: u32,
    pub id: Name,
    parent: u32,
    turn: u32,
    operation: u32,
    pub kind: Kind,
}

/// A line that is short and needed as a whole: a header, a head's move, a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallLine<'l> {
    /// How many envelopes stand before it.
    pub before: u32,
    pub offset: u64,
    pub line: &'l [u8],
}

#[derive(Clone, Copy, Debug)]
struct Small {
    before: u32,
    end: u32,
    offset: u64,
}

/// How much of a log counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Length {
    envelopes: usize,
    small: usize,
    small_bytes: usize,
}

/// An entry's envelope as it stands in a line.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'l> {
    pub id: &'l str,
    pub parent: Option<&'l str>,
    pub at: Moment,
    pub turn: Option<&'l str>,
    pub operation: Option<&'l str>,
    pub kind: Kind,
}

/// The beginning of an entry's line, as far as it tells something without what follows.
#[derive(Clone, Copy, Debug)]
pub struct LineHead<'l> {
    pub fields: Fields<'l>,
    /// The call that a tool answers, where the line says it first.
    pub answered_call: Option<&'l str>,
}

impl Log {
    /// An empty log that has numbered these names already.
    pub fn with_names(names: Names) -> Self {
        Self { names, ..Self::default() }
    }

    pub fn push_entry(&mut self, fields: &Fields<'_>, offset: u64, length: usize) -> Result<(), Unusual> {
        let length = u32::try_from(length).map_err(|_| Unusual::TooLarge)?;
        if self.envelopes.len() >= NONE as usize {
            return Err(Unusual::TooLarge);
        }
        // Most lines hang below the line before.
        let before = self.envelopes.last().map(|envelope| envelope.id);
        let parent = match (fields.parent, before) {
            (Some(parent), Some(before)) if self.names.text(before) == Some(parent) => Some(before.0),
            (Some(parent), _) => Some(self.names.number(parent).ok_or(Unusual::TooLarge)?.0),
            (None, _) => None,
        };
        let names = &mut self.names;
        let mut number = |id: &str| names.number(id).ok_or(Unusual::TooLarge);
        let envelope = Envelope {
            offset,
            length,
            at: fields.at,
            id: number(fields.id)?,
            parent: parent.unwrap_or(NONE),
            turn: fields.turn.map_or(Ok(NONE), |id| number(id).map(|name| name.0))?,
            operation: fields.operation.map_or(Ok(NONE), |id| number(id).map(|name| name.0))?,
            kind: fields.kind,
        };
        self.envelopes.push(envelope);
        Ok(())
    }

    pub fn push_small(&mut self, line: &[u8], offset: u64) -> Result<(), Unusual> {
        let before = self.envelopes.len() as u32;
        let end = u32::try_from(self.small_bytes.len() + line.len()).map_err(|_| Unusual::TooLarge)?;
        self.small_bytes.extend_from_slice(line);
        self.small.push(Small { before, end, offset });
        Ok(())
    }

    /// Puts an envelope back that was read from an index. Says whether its names are names of this log.
    #[inline]
    pub fn push_known(&mut self, envelope: Envelope) -> bool {
        let known = self.names.len() as u32;
        let is_known = |name: u32| name < known || name == NONE;
        let is_sound = envelope.id.0 < known
            && is_known(envelope.parent)
            && is_known(envelope.turn)
            && is_known(envelope.operation)
            && self.envelopes.len() < NONE as usize;
        if is_sound {
            self.envelopes.push(envelope);
        }
        is_sound
    }

    /// Makes room for so many more entries.
    pub fn reserve(&mut self, entries: usize) {
        self.envelopes.reserve_exact(entries);
    }

    /// The same for entries that bring names of their own.
    pub fn expect(&mut self, entries: usize) {
        self.envelopes.reserve(entries);
        self.names.reserve(entries);
    }

    pub fn envelopes(&self) -> &[Envelope] {
        &self.envelopes
    }

    pub fn small_lines(&self) -> impl Iterator<Item = SmallLine<'_>> {
        let mut start = 0;
        self.small.iter().map(move |small| {
            let line = self.small_bytes.get(start..small.end as usize).unwrap_or_default();
            start = small.end as usize;
            SmallLine { before: small.before, offset: small.offset, line }
        })
    }

    pub fn length(&self) -> Length {
        Length {
            envelopes: self.envelopes.len(),
            small: self.small.len(),
            small_bytes: self.small_bytes.len(),
        }
    }

    /// Forgets what was added behind this length.
    pub fn truncate(&mut self, length: Length) {
        self.envelopes.truncate(length.envelopes);
        self.small.truncate(length.small);
        self.small_bytes.truncate(length.small_bytes);
    }
}

impl Envelope {
    pub fn parent(&self) -> Option<Name> {
        name(self.parent)
    }

    pub fn turn(&self) -> Option<Name> {
        name(self.turn)
    }

    pub fn operation(&self) -> Option<Name> {
        name(self.operation)
    }

    /// For an index: the numbers as they are.
    #[inline]
    pub fn to_numbers(self) -> ([u64; 2], [u32; 6], u8) {
        let Self { offset, at, length, id, parent, turn, operation, kind } = self;
        let words = [length, at.nanoseconds, id.0, parent, turn, operation];
        ([offset, at.seconds as u64], words, kind as u8)
    }

    #[inline]
    pub fn from_numbers(longs: [u64; 2], words: [u32; 6], kind: u8) -> Option<Self> {
        let [offset, seconds] = longs;
        let [length, nanoseconds, id, parent, turn, operation] = words;
        let at = Moment { seconds: seconds as i64, nanoseconds };
        Some(Self { offset, at, length, id: Name(id), parent, turn, operation, kind: Kind::numbered(kind)? })
    }
}

impl<'l> Fields<'l> {
    /// What the envelope of an entry is that had to be read as a whole.
    pub fn of(entry: &'l Entry, operation: Option<&'l str>) -> Self {
        Self {
            id: entry.id.as_str(),
            parent: entry.parent.as_ref().map(EntryId::as_str),
            at: Moment::of(entry.written_at),
            turn: entry.turn.as_ref().map(|turn| turn.as_str()),
            operation,
            kind: Kind::of(&entry.body),
        }
    }
}

fn name(number: u32) -> Option<Name> {
    (number != NONE).then_some(Name(number))
}
