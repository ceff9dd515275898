//! A whole file of another program, which may be writing it just now.
//!
//! A session file only grows: what is there when reading begins is read, and what comes meanwhile is told of. A file
//! that became shorter or was written anew under its reader is read again; if it never holds still, what was read
//! last is given with a word about it.

use std::fmt;
use std::io;
use std::path::Path;

use offshoot_session::long_lines::ShortLines;

use crate::files::{About, FileError, Files, Open};
use crate::short_lines::{Between, read_short_lines};

const TRIES: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steady {
    /// Without the longest lines.
    pub bytes: Vec<u8>,
    pub changed: Option<Changed>,
}

/// What happened to a file while it was read, as far as it matters for what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    Grew { by: u64 },
    Shrank { by: u64 },
    Rewritten,
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Grew { by } => {
                write!(f, "the file grew while it was read; {by} bytes at its end are not in here yet")
            }
            Self::Shrank { by } => write!(f, "the file shrank by {by} bytes while it was read"),
            Self::Rewritten => f.write_str("the file was written anew while it was read"),
        }
    }
}

pub fn read_steadily(files: &dyn Files, path: &Path) -> Result<Steady, FileError> {
    let mut steady = read_once(files, path).about("read", path)?;
    for _ in 1..TRIES {
        match steady.changed {
            None | Some(Changed::Grew { .. }) => break,
            Some(Changed::Shrank { .. } | Changed::Rewritten) => {
                steady = read_once(files, path).about("read", path)?;
            }
        }
    }
    Ok(steady)
}

fn read_once(files: &dyn Files, path: &Path) -> io::Result<Steady> {
    let file = files.open(path, Open::ReadForeign)?;
    let before = file.stat()?;
    let content = Between { file: file.as_ref(), from: 0, to: before.length };
    let ShortLines { bytes, length: read, .. } = read_short_lines(content, before.length)?;
    let after = file.stat()?;
    let changed = if read.min(after.length) < before.length {
        Some(Changed::Shrank { by: before.length - read.min(after.length) })
    } else if after.length > read.min(before.length) {
        Some(Changed::Grew { by: after.length - before.length })
    } else {
        (after.modified != before.modified).then_some(Changed::Rewritten)
    };
    Ok(Steady { bytes, changed })
}
