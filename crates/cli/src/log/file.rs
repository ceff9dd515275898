//! The file of the log, and those before it: never more than so many, never much longer than so long.
//!
//! Several processes write at once. A line is one write at the end of the file, so lines are never torn. Who finds the
//! file full sets it aside under a lock; who still has it open writes on there until it sees, at its next line, that the
//! name belongs to another file.

use std::collections::VecDeque;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use offshoot_store::private;

const LONGEST: u64 = 2_000_000;
const FILES: usize = 5;
const NAME: &str = "offshoot.log";

/// So much of the end of a file is read for its last lines.
const END: u64 = 256 * 1024;

#[derive(Debug)]
pub(super) struct LogFile {
    home: PathBuf,
    longest: u64,
    files: usize,
    /// Nobody waits for anything but the disk while holding it.
    open: Mutex<Option<File>>,
}

impl LogFile {
    pub(super) fn in_home(home: &Path) -> Self {
        Self { home: home.to_owned(), longest: LONGEST, files: FILES, open: Mutex::default() }
    }

    /// Adds a line. A home is not made for the sake of its log: before there is one, nothing is kept.
    pub(super) fn add(&self, line: &str) -> io::Result<()> {
        // A file that is open stays whole, whoever panicked while holding it.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match open.take() {
            Some(file) if self.is_current(&file) => file,
            _ => self.opened()?,
        };
        let mut file = if file.metadata()?.len() + line.len() as u64 > self.longest {
            drop(file);
            self.set_aside(line.len() as u64)?;
            self.opened()?
        } else {
            file
        };
        file.write_all(line.as_bytes())?;
        *open = Some(file);
        Ok(())
    }

    pub(super) fn last_lines(&self, count: usize) -> Vec<String> {
        let mut lines: VecDeque<String> = VecDeque::new();
        for number in 0..self.files {
            let Ok(text) = end_of(&self.path(number)) else { break };
            for line in text.lines().rev().take(count - lines.len()) {
                lines.push_front(line.to_owned());
            }
            if lines.len() >= count {
                break;
            }
        }
        lines.into()
    }

    fn folder(&self) -> PathBuf {
        self.home.join("log")
    }

    /// The newest is 0.
    fn path(&self, number: usize) -> PathBuf {
        match number {
            0 => self.folder().join(NAME),
            number => self.folder().join(format!("{NAME}.{number}")),
        }
    }

    fn opened(&self) -> io::Result<File> {
        match private::open_append(&self.path(0)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                match DirBuilder::new().mode(0o700).create(self.folder()) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => private::open_append(&self.path(0)),
                }
            }
            opened => opened,
        }
    }

    fn is_current(&self, file: &File) -> bool {
        let place = |found: std::fs::Metadata| (found.dev(), found.ino());
        let there = std::fs::metadata(self.path(0)).map(place);
        matches!((there, file.metadata().map(place)), (Ok(there), Ok(here)) if there == here)
    }

    /// Makes room for a new file, unless another process has just done so.
    fn set_aside(&self, more: u64) -> io::Result<()> {
        let lock = private::open_lock(&self.folder().join("lock"))?;
        lock.lock()?;
        let is_full = std::fs::metadata(self.path(0)).is_ok_and(|file| file.len() + more > self.longest);
        if is_full {
            for number in (1..self.files).rev() {
                // The oldest is replaced by the one after it; one that is not there yet is no gap.
                let _ = std::fs::rename(self.path(number - 1), self.path(number));
            }
        }
        Ok(())
    }
}

/// Whole lines from the end of a file.
fn end_of(path: &Path) -> io::Result<String> {
    let mut file = private::open(path, OpenOptions::new().read(true))?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(END);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(match text.split_once('\n') {
        Some((_, whole)) if start > 0 => whole.to_owned(),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn small(home: &Path, files: usize) -> LogFile {
        LogFile { longest: 4_000, files, ..LogFile::in_home(home) }
    }

    fn files_in(home: &Path) -> Vec<PathBuf> {
        let names = std::fs::read_dir(home.join("log")).unwrap().map(|name| name.unwrap().path());
        let mut logs: Vec<PathBuf> = names.filter(|path| !path.ends_with("lock")).collect();
        logs.sort();
        logs
    }

    #[test]
    fn no_home_is_made_for_a_log() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("home");
        assert!(LogFile::in_home(&home).add("a line\n").is_err());
        assert!(!home.exists());
        assert!(LogFile::in_home(&home).last_lines(3).is_empty());
    }

    #[test]
    fn the_log_stays_small_and_is_nobody_elses() {
        let dir = tempfile::tempdir().unwrap();
        let log = small(dir.path(), 3);
        let line = |number: u32| format!("{number:04} {}\n", "x".repeat(90));
        for number in 0..400 {
            log.add(&line(number)).unwrap();
        }
        let files = files_in(dir.path());
        assert_eq!(files.len(), 3);
        for file in &files {
            let found = std::fs::metadata(file).unwrap();
            assert!(found.len() <= 4_000 && found.len() > 3_000 || file.ends_with(NAME), "{}", found.len());
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
        }
        let mode = std::fs::metadata(dir.path().join("log")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let last = log.last_lines(60);
        let first_letters: Vec<u32> = last.iter().map(|line| line[..4].parse().unwrap()).collect();
        assert_eq!(first_letters, (340..400).collect::<Vec<u32>>(), "in their order, across files");
    }

    #[test]
    fn writers_at_once_lose_and_tear_nothing() {
        const WRITERS: usize = 8;
        const LINES: usize = 400;
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let log = small(dir.path(), 1_000);
                scope.spawn(move || {
                    for number in 0..LINES {
                        log.add(&format!("{writer} {number} {}.\n", "x".repeat(number % 90))).unwrap();
                    }
                });
            }
        });
        let mut seen: HashMap<usize, Vec<usize>> = HashMap::new();
        for file in files_in(dir.path()) {
            for line in std::fs::read_to_string(file).unwrap().lines() {
                let words: Vec<&str> = line.split(' ').collect();
                let [writer, number, rest] = words.as_slice() else { panic!("torn: {line}") };
                let number: usize = number.parse().unwrap();
                assert_eq!(rest.len(), number % 90 + 1, "torn: {line}");
                seen.entry(writer.parse().unwrap()).or_default().push(number);
            }
        }
        assert_eq!(seen.len(), WRITERS);
        for numbers in seen.values_mut() {
            numbers.sort_unstable();
            assert_eq!(*numbers, (0..LINES).collect::<Vec<usize>>());
        }
    }
}
