//! Kept copies that the catalog counts on and that are damaged: found, and packed again from their originals.

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::keep::{has_news, kept_length};
use super::rows::{NO_SESSION, UNREADABLE, bytes_of, path_of};
use super::walk::Sources;
use super::{Catalog, CatalogError};
use crate::archive::{Archive, Depth};

/// A copy that cannot be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedCopy {
    pub original: PathBuf,
    pub path: PathBuf,
    pub reason: String,
    /// Its row. `None` for a file that belongs to a session.
    session: Option<i64>,
}

impl Catalog {
    /// Checks every copy that is recorded as kept, of a session or of a file that belongs to one, and, if all bytes are read,
    /// every other copy too.
    pub fn damaged_copies(
        &self,
        sources: &Sources,
        depth: Depth,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<DamagedCopy>, CatalogError> {
        let archive = Archive::of(&sources.home);
        let read = || -> Result<Vec<Recorded>, rusqlite::Error> {
            let mut recorded = recorded(&self.connection, &archive)?;
            recorded.extend(recorded_beside(&self.connection, &archive)?);
            Ok(recorded)
        };
        let mut recorded = read().map_err(|error| self.failed(error))?;
        if depth == Depth::Whole {
            let known: HashSet<PathBuf> = recorded.iter().map(|copy| copy.original.clone()).collect();
            let others = archive.last_copies().into_iter().filter(|original| !known.contains(original));
            recorded.extend(others.map(|original| Recorded { original, length: 0, session: None }));
        }
        let mut damaged = Vec::new();
        for (done, copy) in recorded.iter().enumerate() {
            progress(done, recorded.len());
            let (Some(error), Some(path)) =
                (archive.damage(&copy.original, copy.length, depth), archive.place_of(&copy.original))
            else {
                continue;
            };
            damaged.push(DamagedCopy {
                original: copy.original.clone(),
                path,
                reason: error.to_string(),
                session: copy.session,
            });
        }
        Ok(damaged)
    }

    /// Takes damaged copies out of the way if their originals exist; [`Catalog::keep`] packs these again. Returns the
    /// copies whose originals are gone.
    pub fn forget_damaged(
        &mut self,
        sources: &Sources,
        damaged: Vec<DamagedCopy>,
        now: Timestamp,
    ) -> Result<Vec<DamagedCopy>, CatalogError> {
        let archive = Archive::of(&sources.home);
        let Ok(Some(hold)) = archive.try_hold() else { return Ok(damaged) };
        let mut lost = Vec::new();
        for copy in damaged {
            if !archive.clear_damaged(&hold, &copy.original).unwrap_or(false) {
                lost.push(copy);
                continue;
            }
            match copy.session {
                Some(session) => forget(&self.connection, session).map_err(|error| self.failed(error))?,
                // If it cannot be packed now, the next check reports it as missing.
                None => {
                    if let Ok(kept) = archive.keep(&hold, &copy.original, now.as_microsecond()) {
                        let length = kept_length(&kept.taken.stood, &kept.state);
                        let sql = "UPDATE archived_beside SET length = ?2 WHERE path = ?1";
                        self.connection
                            .execute(sql, params![bytes_of(&copy.original), length as i64])
                            .map_err(|error| self.failed(error))?;
                    }
                }
            }
        }
        Ok(lost)
    }
}

struct Recorded {
    original: PathBuf,
    length: u64,
    session: Option<i64>,
}

fn forget(connection: &Connection, session: i64) -> Result<(), rusqlite::Error> {
    has_news(connection)?;
    connection.execute("DELETE FROM archived WHERE session = ?1", params![session]).map(drop)
}

/// The row of a session in a database counts messages instead of bytes.
fn recorded(connection: &Connection, archive: &Archive) -> Result<Vec<Recorded>, rusqlite::Error> {
    let sql = "SELECT key, path, archived.length FROM session JOIN archived ON archived.session = key
        WHERE NOT is_own AND archived.length > 0 AND state NOT IN (?1, ?2) ORDER BY path";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([NO_SESSION, UNREADABLE], |row| {
        let original = path_of(row.get_ref(1)?.as_bytes()?);
        let is_in_database =
            original.parent().is_some_and(|folder| folder.extension().is_some_and(|end| end == "db"));
        let length: i64 = row.get(2)?;
        let length = if is_in_database { 0 } else { u64::try_from(length).unwrap_or_default() };
        Ok(Recorded { original, length, session: Some(row.get(0)?) })
    })?;
    let rows: Result<Vec<Recorded>, _> = rows.collect();
    let forgotten = archive.forgotten().unwrap_or_default();
    let is_kept =
        |row: &Recorded| !row.original.starts_with(archive.root()) && !forgotten.includes(&row.original);
    Ok(rows?.into_iter().filter(is_kept).collect())
}

/// Files that belong to sessions, without those that went to the trash with a forgotten one.
fn recorded_beside(connection: &Connection, archive: &Archive) -> Result<Vec<Recorded>, rusqlite::Error> {
    let sql = "SELECT path, session, length FROM archived_beside ORDER BY path";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([], |row| {
        let [original, session] =
            [0, 1].map(|column| row.get_ref(column).map(|path| path.as_bytes().map(path_of)));
        let length: i64 = row.get(2)?;
        let length = u64::try_from(length).unwrap_or_default();
        Ok((Recorded { original: original??, length, session: None }, session??))
    })?;
    let rows: Result<Vec<(Recorded, PathBuf)>, _> = rows.collect();
    let forgotten = archive.forgotten().unwrap_or_default();
    let is_kept = |(file, session): &(Recorded, PathBuf)| {
        !forgotten.includes(session)
            && !forgotten.includes(&file.original)
            && !forgotten.may_list(&file.original)
    };
    Ok(rows?.into_iter().filter(is_kept).map(|(file, _)| file).collect())
}
