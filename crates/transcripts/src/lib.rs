//! Session files of other programs, read into records and written back: bytes in, bytes out.
//!
//! Reading is lenient and loses nothing: every line becomes a record that keeps the line itself
//! ([`Record::source`]), and what was forgiven is listed. The bytes of all sources, one after the other, are the
//! bytes that were read.
//!
//! Writing gives lines back as they were read, makes new ones for what was never a line, and says in words what
//! the format has no place for ([`Lost`]).

mod carry;
pub mod claude;
pub mod codex;
mod content;
mod dialect;
mod document;
mod family;
pub mod gemini;
pub mod gist;
mod heads;
mod ids;
mod images;
mod json;
pub mod light;
mod lines;
mod lost;
mod nested;
mod noted;
pub mod opencode;
mod patch;
pub mod pi;
pub mod rollouts;

use std::collections::BTreeMap;

use offshoot_session::{Oddity, Record};
use thiserror::Error;

pub use carry::{Destination, Fate, HandedOver, Report, Target, ToolFate};
pub use family::{FileRole, classify};
pub use lines::{Watched, is_joined};
pub use lost::{Loss, Lost};

/// A file, understood.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub dialect: Dialect,
    /// A header, entries in the order of the file, marks where they stood, and at last the head.
    pub records: Vec<Record>,
    pub oddities: Vec<Oddity>,
    /// How often each type of line occurs that this version does not know.
    pub unknown_types: BTreeMap<String, u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// Codex, rollouts of any generation.
    Codex,
    /// Gemini CLI, as a document or as lines.
    Gemini,
    /// opencode: an export, files of its older storage, or rows of its database.
    OpenCode,
    /// pi, versions 1 to 3; the number is the one in the file.
    Pi { version: u32 },
    /// pi's format with oh-my-pi's additions.
    OhMyPi { version: u32 },
    /// One file per branch.
    Rollouts,
    /// Claude Code, a tree by `uuid` and `parentUuid`.
    ClaudeCode,
}

/// Nothing in the file can be read as a session.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unreadable {
    #[error("the file is empty")]
    Empty,
    #[error("this is not a session file: {0}")]
    NotASession(String),
}

/// Reads a session file of any dialect. `file_name` helps where the content alone does not tell.
pub fn read<'b>(file_name: Option<&str>, bytes: impl Into<Watched<'b>>) -> Result<Transcript, Unreadable> {
    let bytes = bytes.into();
    match dialect::family_of(file_name, bytes.bytes)? {
        dialect::Family::Codex => Ok(codex::read(file_name, bytes)),
        dialect::Family::Gemini => Ok(gemini::read(file_name, bytes)),
        dialect::Family::OpenCode => opencode::read(bytes.bytes),
        dialect::Family::Pi => Ok(pi::read(file_name, bytes)),
        dialect::Family::Rollouts => Ok(rollouts::read(file_name, bytes)),
        dialect::Family::Claude => Ok(claude::read(file_name, bytes)),
    }
}

impl Transcript {
    /// The bytes that were read.
    pub fn source_bytes(&self) -> Vec<u8> {
        let sources = self.records.iter().filter_map(|record| record.source.as_ref());
        sources.flat_map(|source| source.bytes()).copied().collect()
    }
}

impl Dialect {
    /// The word people use for it.
    pub fn name(self) -> String {
        match self {
            Self::Codex => "codex".to_owned(),
            Self::Gemini => "gemini".to_owned(),
            Self::OpenCode => "opencode".to_owned(),
            Self::Pi { version } => format!("pi v{version}"),
            Self::OhMyPi { version } => format!("oh-my-pi v{version}"),
            Self::Rollouts => "rollouts".to_owned(),
            Self::ClaudeCode => "claude code".to_owned(),
        }
    }
}
