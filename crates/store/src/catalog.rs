//! All sessions of this machine in one list, and all that was said in them as words to search for.
//!
//! The catalog is derived: journals and the files of other programs are the truth, and deleting it loses nothing
//! but the time to read them again. [`Catalog::sync`] brings it up to date: it looks at the stat of every file and
//! reads what is new. [`Catalog::sessions`] and [`Catalog::search`] answer from it.
//!
//! | idea | module |
//! |---|---|
//! | where sessions may lie, and what lies there now | `walk` |
//! | what to do about a file, given what is known of it | `visit` |
//! | reading one file | `read` |
//! | all of it, in batches | `sync` |
//! | keeping what was read in the archive, packing it, and listing what only that has | `keep`, `ahead`, `loose`, `in_archive` |
//! | the tables, one row of them, and rows by what they are called | `schema`, `write`, `rows`, `named` |
//! | what was used | `charges` |
//! | titles that stand beside sessions | `titles` |
//! | what a person asks for | [`query`] |
//! | answers by the index, and by looking through the files | `search`, `scan` |
//! | indexes that are made little by little | `parts`, `tools` |
//!
//! One decision: what was said is not kept, only an index of its words. A hit is shown from the file it lies in. So
//! the catalog stays small, and a text that is gone is not shown any more.
//!
//! Two syncs at once do no harm: each file is written by itself, and only if its row is still the one that was seen
//! when the file was read. A process that is killed loses the batch it was at.

mod ahead;
mod charges;
mod damaged;
mod forgotten;
mod in_archive;
mod keep;
mod loose;
mod named;
mod parts;
pub mod query;
mod read;
mod rows;
mod scan;
mod schema;
mod search;
mod sync;
mod titles;
mod tools;
mod visit;
mod walk;
mod write;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension};
use thiserror::Error;

pub use charges::{SessionCharges, SpentText};
pub use damaged::DamagedCopy;
pub use keep::{Keep, Keeping};
pub use parts::Reached;
pub use query::{NotAQuery, Query};
pub use rows::{SessionRow, State};
pub use search::{Filter, Found, Hit, Within};
pub use sync::{Problem, Synced};
pub use walk::{Sources, WatchedFolder};

#[derive(Debug)]
pub struct Catalog {
    connection: Connection,
    /// `None` lives as long as the program.
    path: Option<PathBuf>,
    rebuilt: Option<Rebuilt>,
    /// `None` where nobody wants files to be packed while they are read.
    packed: Option<ahead::Packed>,
}

/// Why a catalog was thrown away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rebuilt {
    Damaged,
    /// Another version of this program made it.
    OtherVersion,
}

#[derive(Debug, Error)]
pub enum CatalogError {
    #[error("the catalog `{}` is damaged", path.display())]
    Damaged { path: PathBuf },
    #[error("the disk is full, and the catalog `{}` cannot grow", path.display())]
    NoRoom { path: PathBuf },
    #[error("could not use the catalog")]
    Sqlite(#[source] rusqlite::Error),
    #[error("could not make the catalog `{}`", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Others may be writing; a batch of theirs takes no longer than this.
const PATIENCE: Duration = Duration::from_secs(30);

impl Catalog {
    /// The catalog in this file, which is made where it is missing. One that is damaged, or that another version
    /// made, is thrown away: the next sync fills it.
    pub fn open(path: &Path) -> Result<Self, CatalogError> {
        let failed = |error| failed_at(Some(path), error);
        let opened = Self::open_as_it_is(path);
        let why = match &opened {
            Ok((_, schema::Version::Ours | schema::Version::None)) => None,
            Ok((_, schema::Version::Other)) => Some(Rebuilt::OtherVersion),
            Err(error) if is_damage(error) => Some(Rebuilt::Damaged),
            Err(_) => None,
        };
        let (connection, version) = match why {
            None => opened.map_err(failed)?,
            Some(_) => {
                drop(opened);
                throw_away(path)?;
                Self::open_as_it_is(path).map_err(failed)?
            }
        };
        if version == schema::Version::None {
            schema::create(&connection).map_err(failed)?;
        }
        Ok(Self { connection, path: Some(path.to_owned()), rebuilt: why, packed: None })
    }

    /// For whoever may not write, or has no home.
    pub fn in_memory() -> Result<Self, CatalogError> {
        let connection = Connection::open_in_memory().map_err(CatalogError::Sqlite)?;
        schema::create(&connection).map_err(CatalogError::Sqlite)?;
        Ok(Self { connection, path: None, rebuilt: None, packed: None })
    }

    fn open_as_it_is(path: &Path) -> Result<(Connection, schema::Version), rusqlite::Error> {
        create_private(path)?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        schema::prepare(&connection)?;
        let version = schema::version(&connection)?;
        Ok((connection, version))
    }

    /// Whether what was there before had to be thrown away.
    pub fn rebuilt(&self) -> Option<Rebuilt> {
        self.rebuilt
    }

    /// Whether it is there the next time.
    pub fn is_on_disk(&self) -> bool {
        self.path.is_some()
    }

    /// Whether it can only be asked: somebody else owns its file.
    pub fn is_read_only(&self) -> bool {
        self.connection.is_readonly(rusqlite::MAIN_DB).unwrap_or(true)
    }

    /// Throws away what turned out to be damaged while it was used.
    pub fn rebuild(self) -> Result<Self, CatalogError> {
        let Some(path) = self.path.clone() else { return Self::in_memory() };
        drop(self);
        throw_away(&path)?;
        Ok(Self { rebuilt: Some(Rebuilt::Damaged), ..Self::open(&path)? })
    }

    /// When the last sync ended, in microseconds since 1970.
    pub fn synced_at(&self) -> Result<Option<i64>, CatalogError> {
        let sql = "SELECT value FROM fact WHERE name = 'synced_at'";
        self.connection.query_row(sql, [], |row| row.get(0)).optional().map_err(|error| self.failed(error))
    }

    /// The same of a catalog in a file, which is only looked at: nothing is made, thrown away or waited for.
    pub fn synced_at_in(path: &Path) -> Result<Option<i64>, CatalogError> {
        let there = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, there).map_err(CatalogError::Sqlite)?;
        Self { connection, path: Some(path.to_owned()), rebuilt: None, packed: None }.synced_at()
    }

    fn failed(&self, error: rusqlite::Error) -> CatalogError {
        failed_at(self.path.as_deref(), error)
    }
}

fn failed_at(path: Option<&Path>, error: rusqlite::Error) -> CatalogError {
    match path {
        Some(path) if is_damage(&error) => CatalogError::Damaged { path: path.to_owned() },
        Some(path) if has_no_room(&error) => CatalogError::NoRoom { path: path.to_owned() },
        _ => CatalogError::Sqlite(error),
    }
}

fn is_damage(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseCorrupt, NotADatabase};
    matches!(error.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase))
        // a row that cannot be what we wrote
        || matches!(error, rusqlite::Error::InvalidColumnType(..) | rusqlite::Error::IntegralValueOutOfRange(..))
}

/// SQLite calls a disk full that takes nothing, and a failed writing what is cut short or limited.
fn has_no_room(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE};
    let told = error.sqlite_error();
    told.is_some_and(|told| {
        told.code == ErrorCode::DiskFull
            || [SQLITE_IOERR_SHMSIZE, SQLITE_IOERR_WRITE].contains(&told.extended_code)
    })
}

/// SQLite would create the file with the mode of the umask; its other files get the mode of this one. What cannot be
/// created is left to SQLite, which says why or opens it to read.
fn create_private(path: &Path) -> Result<(), rusqlite::Error> {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link {
        return Err(rusqlite::Error::InvalidPath(path.to_owned()));
    }
    let _ = crate::private::open(path, std::fs::OpenOptions::new().write(true).create_new(true));
    Ok(())
}

fn throw_away(path: &Path) -> Result<(), CatalogError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(&name) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                return Err(CatalogError::File { path: name.into(), source });
            }
            _ => {}
        }
    }
    Ok(())
}
