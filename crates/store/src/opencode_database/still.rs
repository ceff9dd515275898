//! How a database of somebody else is opened without touching it.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use super::{DatabaseError, Opened, TRIES};
use crate::files::{About, FileError};

#[derive(Debug)]
pub(super) enum How {
    /// Nobody had it open.
    AsBytes,
    /// Together with a program that runs: a transaction keeps what it does away.
    AsReader,
    /// The copy goes with the connection.
    Copied { _folder: TempDir },
}

/// What can be seen of the files of a database from outside: those of the database, its log and its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Marks([Option<Mark>; 3]);

type Mark = (u64, Option<SystemTime>);

impl How {
    pub(super) fn is_protected(&self) -> bool {
        match self {
            Self::AsBytes => false,
            Self::AsReader | Self::Copied { .. } => true,
        }
    }
}

impl Marks {
    pub(super) fn of(path: &Path) -> Self {
        let mark = |path: PathBuf| {
            let metadata = std::fs::metadata(path).ok()?;
            Some((metadata.len(), metadata.modified().ok()))
        };
        Self([mark(path.to_owned()), mark(beside(path, "-wal")), mark(beside(path, "-journal"))])
    }
}

pub(super) fn open_still(path: &Path, scratch: &Path) -> Result<Opened, DatabaseError> {
    // SQLite looks for what lies beside the file that a link points to.
    let path = std::fs::canonicalize(path).about("open", path)?;
    let name = path.clone();
    let failed = |source| DatabaseError::Sqlite { path: name.clone(), source };
    for _ in 0..TRIES {
        let before = Marks::of(&path);
        let [has_log, has_shared_memory, has_journal] =
            ["-wal", "-shm", "-journal"].map(|ending| beside(&path, ending).exists());
        if has_log && has_shared_memory && !has_journal {
            let connection = connect(&uri(&path, "mode=ro&readonly_shm=1")).map_err(failed)?;
            // The state of now is kept from the first look on, which is this one.
            connection.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;").map_err(failed)?;
            return Ok(Opened { connection, how: How::AsReader, before, path });
        }
        if !has_log && !has_journal {
            let connection = connect(&uri(&path, "mode=ro&immutable=1")).map_err(failed)?;
            return Ok(Opened { connection, how: How::AsBytes, before, path });
        }
        let folder = tempfile::Builder::new().prefix("offshoot-").tempdir_in(scratch);
        let folder = folder.about("create a folder in", scratch)?;
        let copy = folder.path().join("copy.db");
        copy_with_what_is_beside(&path, &copy)?;
        if before == Marks::of(&path) {
            let connection = Connection::open(&copy).map_err(failed)?;
            return Ok(Opened { connection, how: How::Copied { _folder: folder }, before, path });
        }
    }
    Err(DatabaseError::Changing { path })
}

/// What goes away meanwhile shows in the marks.
fn copy_with_what_is_beside(path: &Path, copy: &Path) -> Result<(), FileError> {
    std::fs::copy(path, copy).about("copy", path)?;
    for ending in ["-wal", "-journal"] {
        let from = beside(path, ending);
        match std::fs::copy(&from, beside(copy, ending)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            copied => drop(copied.about("copy", &from)?),
        }
    }
    Ok(())
}

fn connect(uri: &str) -> Result<Connection, rusqlite::Error> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(uri, flags)
}

fn uri(path: &Path, options: &str) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' | b'~' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri.push('?');
    uri.push_str(options);
    uri
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
