//! The real disk.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, fallocate};

use super::{Files, Held, Identity, Open, OpenFile, Stat, TryLock};
use crate::private;

/// Files of this machine. What it makes is for the user alone (0700, 0600).
#[derive(Clone, Copy, Debug, Default)]
pub struct DiskFiles;

impl Files for DiskFiles {
    fn open(&self, path: &Path, how: Open) -> io::Result<Box<dyn OpenFile>> {
        let mut options = OpenOptions::new();
        let file = match how {
            Open::ReadForeign => private::open_foreign(path)?,
            Open::Read => private::open(path, options.read(true))?,
            Open::Append => private::open(path, options.read(true).append(true))?,
            Open::CreateNew => private::open(path, options.read(true).append(true).create_new(true))?,
        };
        Ok(Box::new(DiskFile(file)))
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        std::fs::metadata(path).map(|metadata| stat_of(&metadata))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            // A name that is not text is none of ours.
            if let Ok(name) = entry?.file_name().into_string() {
                names.push(name);
            }
        }
        Ok(names)
    }

    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        private::create_directory(folder)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        std::fs::remove_file(path)
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn try_lock(&self, path: &Path, holder: &str) -> io::Result<TryLock> {
        let file = private::open_lock(path)?;
        match file.try_lock() {
            Ok(()) => {
                // The words only help a waiting program; the lock holds without them, so a failed write is ignored.
                let words = words_in(&file);
                if who(&words) != who(holder) {
                    let _ = overwrite(&file, words.len(), holder);
                }
                Ok(TryLock::Taken(Box::new(DiskLock { _file: file })))
            }
            Err(TryLockError::WouldBlock) => Ok(TryLock::HeldBy(words_in(&file))),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

fn stat_of(metadata: &Metadata) -> Stat {
    let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
    let modified = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Stat { length: metadata.len(), identity, modified }
}

/// What is written in a lock file.
fn words_in(file: &File) -> String {
    let mut words = [0; 1024];
    let count = file.read_at(&mut words, 0).unwrap_or(0);
    String::from_utf8_lossy(words.get(..count).unwrap_or_default()).into_owned()
}

/// Replaces the words of a lock file in place. Truncating it first would free its block and allocate another one, which
/// the sync of the journal that follows would have to wait for.
fn overwrite(file: &File, old_length: usize, words: &str) -> io::Result<()> {
    file.write_all_at(words.as_bytes(), 0)?;
    match old_length > words.len() {
        true => file.set_len(words.len() as u64),
        false => Ok(()),
    }
}

/// Without the moment the lock was taken.
fn who(holder: &str) -> &str {
    holder.split_once(" since ").map_or(holder, |(who, _)| who)
}

#[derive(Debug)]
struct DiskFile(File);

impl OpenFile for DiskFile {
    fn stat(&self) -> io::Result<Stat> {
        self.0.metadata().map(|metadata| stat_of(&metadata))
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn reserve(&mut self, from: u64, room: u64) -> io::Result<()> {
        Ok(fallocate(&self.0, FallocateFlags::KEEP_SIZE, from, room)?)
    }

    /// To cut a file where it ends frees what lies behind, and counts as a change.
    fn give_back(&mut self, length: u64) -> io::Result<()> {
        let modified = self.0.metadata()?.modified()?;
        self.0.set_len(length)?;
        self.0.set_modified(modified)
    }
}

/// The lock goes with the open file.
#[derive(Debug)]
struct DiskLock {
    _file: File,
}

impl Held for DiskLock {}
