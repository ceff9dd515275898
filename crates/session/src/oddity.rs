//! What loading forgave. Loading is lenient and says what it let pass; writing is strict.

use std::fmt;

use crate::{EntryId, HeadName};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// Number of the line, from 1, where the source has lines.
    pub line: Option<u64>,
    pub what: Odd,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Odd {
    /// A second entry or mark under an id that is taken; the first one counts.
    DuplicateId(EntryId),
    /// The parent is nowhere in the session; the entry begins a tree of its own.
    MissingParent {
        entry: EntryId,
        parent: EntryId,
    },
    /// Following parents from here never ends; the entry begins a tree of its own.
    Cycle(EntryId),
    /// A head was sent to an entry that does not exist; it stayed.
    HeadToMissing {
        head: HeadName,
        to: EntryId,
    },
    /// A fact about an entry that does not exist.
    MarkOnMissing(EntryId),
    SecondHeader,
    MissingHeader,
    /// Not JSON, or not an object.
    UnreadableLine(String),
    /// The file ends in the middle of a line.
    TornTail {
        bytes: u64,
    },
    /// A line of a kind this version does not know; it is kept.
    UnknownType(String),
    /// Made by a newer version of the program than we know.
    NewerVersion(u64),
    /// A field we rely on is absent or of another kind; what was done instead.
    Repaired(String),
}

impl Oddity {
    pub fn new(what: Odd) -> Self {
        Self { line: None, what }
    }

    pub fn at_line(line: u64, what: Odd) -> Self {
        Self { line: Some(line), what }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        match &self.what {
            Odd::DuplicateId(id) => write!(f, "id `{id}` is used twice; the first one counts"),
            Odd::MissingParent { entry, parent } => {
                write!(
                    f,
                    "`{entry}` has the parent `{parent}`, which is missing; it begins a tree of its own"
                )
            }
            Odd::Cycle(id) => write!(f, "`{id}` is its own ancestor; it begins a tree of its own"),
            Odd::HeadToMissing { head, to } => {
                write!(f, "head `{head}` was sent to `{to}`, which is missing")
            }
            Odd::MarkOnMissing(id) => write!(f, "a fact about `{id}`, which is missing"),
            Odd::SecondHeader => f.write_str("a second header; the first one counts"),
            Odd::MissingHeader => f.write_str("the header is missing"),
            Odd::UnreadableLine(reason) => write!(f, "not readable: {reason}"),
            Odd::TornTail { bytes } => write!(f, "the last line is unfinished ({bytes} bytes)"),
            Odd::UnknownType(kind) => write!(f, "unknown type `{kind}`"),
            Odd::NewerVersion(version) => write!(f, "version {version} is newer than this program knows"),
            Odd::Repaired(what) => f.write_str(what),
        }
    }
}
