//! From a file to its skeleton, in large reads.

use std::io;
use std::path::Path;

use offshoot_session::format::skim::{Skim as JournalSkim, Stopped, is_sound, told as journal_told};
use offshoot_session::format::{Position, Tail};
use offshoot_session::long_lines::LONGEST_LINE;
use offshoot_session::skeleton::{Log, Skeleton, Unusual};
use offshoot_transcripts::pi::skim::{Skim as PiSkim, told as pi_told};

use super::chunks::each_chunk;
use super::{Format, OpenError};
use crate::files::{About, FileError, Files, Open, OpenFile, Stat};

/// So many lines tell how long lines are in this file.
const SAMPLE: u64 = 256;
/// No entry is much shorter: many short lines are something else.
const SHORTEST: u64 = 128;

/// How much of which file a skeleton stands for.
#[derive(Clone, Debug)]
pub(super) struct Extent {
    pub(super) stat: Stat,
    /// Behind the last whole batch, or the last whole line.
    pub(super) end: Position,
    pub(super) last_batch: Position,
    pub(super) tail: Option<Tail>,
    pub(super) is_oh_my_pi: bool,
    /// Hashes of the first and last bytes before `end`: another history would have others.
    pub(super) ends: Option<(Vec<u8>, Vec<u8>)>,
    /// How far an index had reached.
    pub(super) from_index: u64,
    /// The last line of a file of pi has no newline yet: the log reaches over the end.
    pub(super) is_open_ended: bool,
}

/// What an index knows of a file.
pub(super) struct Known {
    pub(super) log: Log,
    pub(super) end: u64,
    pub(super) last_batch: u64,
    pub(super) is_oh_my_pi: bool,
}

pub(super) type Opened = (Box<dyn OpenFile>, Stat);

pub(super) fn open(files: &dyn Files, path: &Path) -> Result<Option<Opened>, FileError> {
    let file = match files.open(path, Open::ReadForeign) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.about("open", path)?,
    };
    let stat = stat(file.as_ref(), path)?;
    Ok(Some((file, stat)))
}

pub(super) fn stat(file: &dyn OpenFile, path: &Path) -> Result<Stat, FileError> {
    file.stat().about("read", path)
}

pub(super) fn skeleton(
    file: &dyn OpenFile,
    path: &Path,
    format: Format,
    stat: &Stat,
    known: Option<Known>,
) -> Result<(Skeleton, Extent), OpenError> {
    let read = match format {
        Format::Journal => journal(file, path, stat, known),
        Format::Pi => pi(file, path, stat, known),
    };
    read.map_err(|trouble| match trouble {
        Trouble::Unusual(source) => OpenError::Unusual { path: path.to_owned(), source },
        Trouble::Stopped(Stopped::Unusual(source)) => OpenError::Unusual { path: path.to_owned(), source },
        Trouble::Stopped(Stopped::Newer(source)) => OpenError::Newer { path: path.to_owned(), source },
        Trouble::File(error) => error.into(),
    })
}

enum Trouble {
    Unusual(Unusual),
    Stopped(Stopped),
    File(FileError),
}

fn journal(
    file: &dyn OpenFile,
    path: &Path,
    stat: &Stat,
    known: Option<Known>,
) -> Result<(Skeleton, Extent), Trouble> {
    let from_index = known.as_ref().map_or(0, |known| known.end);
    let at = |offset| Position { offset, lines: 0, owes_newline: false };
    let mut skim = match known {
        Some(known) => JournalSkim::behind(known.log, at(known.end), at(known.last_batch)),
        None => JournalSkim::default(),
    };
    let mut lines = 0;
    each_line(file, from_index, stat.length, path, |line| {
        lines += 1;
        if lines == SAMPLE {
            skim.expect(about(line.offset - from_index, stat.length - from_index));
        }
        skim.take(line.bytes, line.offset, line.has_newline).map_err(Trouble::Stopped)
    })?;
    let skimmed = skim.finish();
    if skimmed.end.offset > from_index {
        require_sound(file, path, skimmed.last_batch.offset, skimmed.end.offset)?;
    }
    let told = journal_told(&skimmed.log);
    let skeleton = Skeleton::fold(skimmed.log, told).map_err(Trouble::Unusual)?;
    if skeleton.oddities() > 0 && from_index < skimmed.end.offset {
        // Imported oddities, or damage that took a parent away? The checksums tell.
        require_sound(file, path, 0, skimmed.end.offset)?;
    }
    let extent = Extent {
        stat: *stat,
        end: skimmed.end,
        last_batch: skimmed.last_batch,
        tail: skimmed.tail,
        is_oh_my_pi: false,
        ends: super::index::ends(file, skimmed.end.offset),
        from_index,
        is_open_ended: skimmed.end.owes_newline,
    };
    Ok((skeleton, extent))
}

fn pi(
    file: &dyn OpenFile,
    path: &Path,
    stat: &Stat,
    known: Option<Known>,
) -> Result<(Skeleton, Extent), Trouble> {
    let from_index = known.as_ref().map_or(0, |known| known.end);
    let mut skim =
        known.map(|known| PiSkim { log: known.log, is_oh_my_pi: known.is_oh_my_pi }).unwrap_or_default();
    let mut end = from_index;
    let mut is_open_ended = false;
    let mut lines = 0;
    each_line(file, from_index, stat.length, path, |line| {
        lines += 1;
        if lines == SAMPLE {
            skim.log.expect(about(line.offset - from_index, stat.length - from_index));
        }
        match line.has_newline {
            true => end = line.offset + line.bytes.len() as u64 + 1,
            false => is_open_ended = true,
        }
        skim.take(line.bytes, line.offset).map_err(Trouble::Unusual)
    })?;
    let is_oh_my_pi = skim.is_oh_my_pi;
    let told = pi_told(&mut skim.log, is_oh_my_pi).map_err(Trouble::Unusual)?;
    let skeleton = Skeleton::fold(skim.log, told).map_err(Trouble::Unusual)?;
    let end = Position { offset: end, lines: 0, owes_newline: false };
    let extent = Extent {
        stat: *stat,
        end,
        last_batch: end,
        tail: None,
        is_oh_my_pi,
        ends: super::index::ends(file, end.offset),
        from_index,
        is_open_ended,
    };
    Ok((skeleton, extent))
}

/// How many entries come, if all are as long as the first ones, and some more.
fn about(sample: u64, length: u64) -> usize {
    let lines = length / (sample / SAMPLE).max(SHORTEST);
    (lines + lines / 8) as usize
}

/// A line that cannot be trusted is for the whole reading, which tells a torn end from damage.
fn require_sound(file: &dyn OpenFile, path: &Path, from: u64, to: u64) -> Result<(), Trouble> {
    each_line(file, from, to, path, |line| match is_sound(line.bytes) {
        true => Ok(()),
        false => Err(Trouble::Unusual(Unusual::Shape)),
    })
}

struct Line<'b> {
    /// Without the newline.
    bytes: &'b [u8],
    offset: u64,
    has_newline: bool,
}

/// Lines between two offsets. A line that goes over the end of a chunk is put together; all others are looked at
/// where they were read.
fn each_line(
    file: &dyn OpenFile,
    from: u64,
    to: u64,
    path: &Path,
    mut take: impl FnMut(Line<'_>) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    let mut begun: Vec<u8> = Vec::new();
    let mut offset = from;
    let read = each_chunk(file, from, to, |chunk| {
        let bytes = chunk.bytes();
        let mut start = 0;
        for newline in &chunk.newlines {
            let line = bytes.get(start..*newline).unwrap_or_default();
            start = newline + 1;
            let length = if begun.is_empty() {
                take(Line { bytes: line, offset, has_newline: true })?;
                line.len()
            } else {
                begun.extend_from_slice(line);
                take(Line { bytes: &begun, offset, has_newline: true })?;
                let length = begun.len();
                begun.clear();
                length
            };
            offset += length as u64 + 1;
        }
        begun.extend_from_slice(bytes.get(start..).unwrap_or_default());
        if begun.len() > LONGEST_LINE {
            return Err(Trouble::Unusual(Unusual::TooLarge).into());
        }
        Ok(())
    });
    read.map_err(|halted| match halted {
        Halted::Trouble(trouble) => trouble,
        Halted::Unread(source) => Trouble::File(FileError { doing: "read", path: path.to_owned(), source }),
    })?;
    if begun.is_empty() { Ok(()) } else { take(Line { bytes: &begun, offset, has_newline: false }) }
}

/// Why a reading ended early.
enum Halted {
    Trouble(Trouble),
    Unread(io::Error),
}

impl From<Trouble> for Halted {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

impl From<io::Error> for Halted {
    fn from(error: io::Error) -> Self {
        Self::Unread(error)
    }
}
