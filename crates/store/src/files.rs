//! Every touch of the disk. Tests put another disk under the store: one that fails, or one that forgets what
//! was not synced.
//!
//! The calls are as small as those of the operating system and promise no more: an append may be short, and
//! nothing is safe before its file and, for a new name, its folder are synced.

mod disk;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

pub use disk::DiskFiles;

pub trait Files: fmt::Debug + Send + Sync {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn OpenFile>>;

    /// The file that has this name now.
    fn stat(&self, path: &Path) -> io::Result<Stat>;

    /// Names in a folder, in no order.
    fn names(&self, folder: &Path) -> io::Result<Vec<String>>;

    /// Makes a folder and those above it, for the user alone. One that exists stays as it is.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;

    /// Replaces what has the new name.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder safe.
    fn sync_folder(&self, folder: &Path) -> io::Result<()>;

    /// Takes the lock that this file stands for, without waiting, and writes the holder's words into it.
    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<TryLock>;
}

/// A file that stays the same file whatever happens to its name.
pub trait OpenFile: fmt::Debug + Send + Sync {
    fn stat(&self) -> io::Result<Stat>;

    /// Zero at the end.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;

    /// Writes some of the bytes at the end and says how many.
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize>;

    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes the content and the length safe.
    fn sync(&mut self) -> io::Result<()>;

    /// Sets room aside behind `from`. The length stays; not every disk can.
    fn reserve(&mut self, from: u64, room: u64) -> io::Result<()>;

    /// Gives back what was set aside behind the end, which has to be at `length`. The time of the last change stays.
    fn give_back(&mut self, length: u64) -> io::Result<()>;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// A file of the home, which is not reached through a symbolic link.
    Read,
    /// A file of another program, to which links may lead.
    ReadForeign,
    Append,
    /// A new file to append to, readable by the user alone. Fails where the name is taken.
    CreateNew,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub length: u64,
    pub identity: Identity,
    /// When the content last changed, in nanoseconds since 1970.
    pub modified: i128,
}

/// Tells a file from another that took its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub device: u64,
    pub inode: u64,
}

#[derive(Debug)]
pub enum TryLock {
    /// Ours until it is dropped or the process ends.
    Taken(Box<dyn Held>),
    /// What the holder wrote about itself; empty when it has not yet.
    HeldBy(String),
}

/// A lock that is held.
pub trait Held: fmt::Debug + Send + Sync {}

/// What the disk did not do, and where.
#[derive(Debug, Error)]
#[error("could not {doing} `{}`", path.display())]
pub struct FileError {
    pub doing: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

/// Adds to an error of the disk what it was about.
pub(crate) trait About<T> {
    fn about(self, doing: &'static str, path: &Path) -> Result<T, FileError>;
}

impl<T> About<T> for io::Result<T> {
    fn about(self, doing: &'static str, path: &Path) -> Result<T, FileError> {
        self.map_err(|source| FileError { doing, path: path.to_owned(), source })
    }
}

/// Everything from `offset` to where the file ends now. What is appended meanwhile is read another time, and a
/// device that never ends cannot fill the memory.
pub(crate) fn read_from(file: &dyn OpenFile, offset: u64) -> io::Result<Vec<u8>> {
    let expected = file.stat()?.length.saturating_sub(offset);
    let mut bytes = vec![0; usize::try_from(expected).unwrap_or(usize::MAX)];
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = bytes.get_mut(filled..).unwrap_or_default();
        match file.read_at(offset + filled as u64, rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Room for bytes that begins at a page. The kernel copies a page of a file to the beginning of a page several
/// times faster than to any other place, so whoever reads much reads whole pages into this.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    bytes: Vec<u8>,
}

pub(crate) const PAGE: u64 = 4096;

impl Pages {
    pub(crate) fn room(&mut self, length: usize) -> &mut [u8] {
        if self.bytes.len() < length + PAGE as usize {
            self.bytes = vec![0; length + PAGE as usize];
        }
        let start = self.start();
        self.bytes.get_mut(start..start.saturating_add(length)).unwrap_or_default()
    }

    /// How much memory it takes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }

    /// What was put into the room, as long as no other was asked for.
    pub(crate) fn filled(&self, length: usize) -> &[u8] {
        let start = self.start();
        self.bytes.get(start..start.saturating_add(length)).unwrap_or_default()
    }

    fn start(&self) -> usize {
        self.bytes.as_ptr().align_offset(PAGE as usize)
    }
}

/// Fills the buffer from `offset`; `false` where the file ends before that.
pub(crate) fn read_exactly(file: &dyn OpenFile, offset: u64, buffer: &mut [u8]) -> io::Result<bool> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read_at(offset + filled as u64, rest) {
            Ok(0) => return Ok(false),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Appends all of the bytes, in as few writes as the disk allows.
pub(crate) fn append_all(file: &mut dyn OpenFile, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.append(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
