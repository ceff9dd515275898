//! Sessions that only the archive has: their files are gone.
//!
//! The archive is not walked with each sync. A file that vanishes is looked for there; what was listed before is looked
//! at again; and a catalog that is new, or is about other places than before, looks through all that is kept of them.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension};

use super::rows::SessionRow;
use super::sync::{Job, Problem};
use super::visit::{Known, Visit, visit};
use super::walk::{Kind, Seen, Sources, Stamp};
use crate::archive::{Archive, Kept, Version};

pub(super) struct InArchive<'a> {
    archive: &'a Archive,
    listed: Vec<(Kept, Option<Known>)>,
    taken_up: HashSet<PathBuf>,
}

impl<'a> InArchive<'a> {
    /// Takes what is known of kept files out of what is known of all.
    pub(super) fn before(
        connection: &Connection,
        archive: &'a Archive,
        sources: &Sources,
        seen: &[Seen],
        known: &mut HashMap<PathBuf, Known>,
    ) -> Result<Self, rusqlite::Error> {
        let of_archive: Vec<Kept> = known.keys().filter_map(|path| archive.kept_at(path)).collect();
        let mut listed: Vec<(Kept, Option<Known>)> = Vec::new();
        for kept in of_archive {
            if is_below(sources, &kept.original)
                && kept.path.exists()
                && let Some(known) = known.remove(&kept.path)
            {
                listed.push((kept, Some(known)));
            }
        }
        if last_places(connection)? != Some(places(sources)) {
            let seen: HashSet<&Path> = seen.iter().map(|seen| seen.path.as_path()).collect();
            let known: HashSet<PathBuf> = listed.iter().map(|(kept, _)| kept.path.clone()).collect();
            let all = sources.folders.iter().chain(&sources.databases);
            let is_missing = |kept: &Kept| match kept.version {
                // a database that is there tells of its sessions itself
                Version::Last => {
                    !seen.contains(kept.original.as_path())
                        && !kept.database().is_some_and(|database| seen.contains(database))
                }
                Version::Was(_) => true,
                Version::Old(_) => false,
            };
            let found = all.flat_map(|place| archive.kept_below(place));
            let found = found.filter(|kept| is_missing(kept) && !known.contains(&kept.path));
            listed.extend(found.map(|kept| (kept, None)));
        }
        Ok(Self { archive, listed, taken_up: HashSet::new() })
    }

    /// Looks for those that have vanished.
    pub(super) fn take_up(
        &mut self,
        vanished: &HashMap<PathBuf, Known>,
        sources: &Sources,
        now: Timestamp,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        let listed: HashSet<PathBuf> = self.listed.iter().map(|(kept, _)| kept.path.clone()).collect();
        let journals = sources.home.sessions();
        let mut hold = None;
        for path in vanished.keys() {
            if path.starts_with(&journals)
                || path.starts_with(self.archive.root())
                || !is_below(sources, path)
            {
                continue;
            }
            if self
                .archive
                .place_of(path)
                .is_none_or(|place| !place.exists() && !place.with_extension("link").exists())
            {
                continue;
            }
            if hold.is_none() {
                hold = Some(self.archive.try_hold());
            }
            // where somebody else holds it, or it cannot be written, what is kept already has to do
            if let Some(Ok(Some(hold))) = &hold
                && let Err(error) = self.archive.take_up(hold, path, now.as_microsecond())
            {
                problems.push(Problem {
                    path: path.clone(),
                    reason: format!("not kept whole: {}", error.source),
                });
            }
            let Some(kept) = self.archive.kept(path) else {
                let reason = "the kept copy is damaged: it was cut short".to_owned();
                problems.push(Problem { path: path.clone(), reason });
                continue;
            };
            if let Err(error) = kept.prove() {
                problems
                    .push(Problem { path: kept.path, reason: format!("the kept copy is damaged: {error}") });
                continue;
            }
            self.taken_up.insert(path.clone());
            if !listed.contains(&kept.path) {
                self.listed.push((kept, None));
            }
        }
        problems
    }

    pub(super) fn jobs(&self) -> Vec<Job> {
        self.listed.iter().filter_map(|(kept, known)| job(kept, known.as_ref())).collect()
    }

    pub(super) fn holds(&self, path: &Path) -> bool {
        self.taken_up.contains(path)
    }

    pub(super) fn taken_up(&self) -> usize {
        self.taken_up.len()
    }

    /// Remembers for which places the archive was looked through.
    pub(super) fn after(&self, connection: &Connection, sources: &Sources) -> Result<(), rusqlite::Error> {
        if last_places(connection)? != Some(places(sources)) {
            let sql = "INSERT OR REPLACE INTO fact(name, value) VALUES ('archive_places', ?1)";
            connection.execute(sql, [places(sources)])?;
        }
        Ok(())
    }
}

/// The bytes of a session's file, wherever that is.
pub(super) fn open(row: &SessionRow, sources: &Sources) -> io::Result<File> {
    match Archive::of(&sources.home).kept_at(&row.path) {
        Some(kept) => kept.content(),
        None => crate::private::open_foreign(&row.path),
    }
}

/// `None` where it is known as it is.
pub(super) fn job(kept: &Kept, known: Option<&Known>) -> Option<Job> {
    let stamp = Stamp::of(&std::fs::metadata(&kept.path).ok()?);
    if visit(known, &stamp) == Visit::Nothing {
        return None;
    }
    let seen = Seen { path: kept.path.clone(), stamp, kind: Kind::Kept(Box::new(kept.clone())) };
    Some(Job { seen, visit: Visit::ReadAll, known: known.cloned(), kept: None })
}

fn is_below(sources: &Sources, path: &Path) -> bool {
    sources.folders.iter().chain(&sources.databases).any(|place| path.starts_with(place))
}

fn places(sources: &Sources) -> i64 {
    let mut hash = crc32fast::Hasher::new();
    for place in sources.folders.iter().chain(&sources.databases) {
        hash.update(place.as_os_str().as_bytes());
        hash.update(b"\n");
    }
    i64::from(hash.finalize())
}

fn last_places(connection: &Connection) -> Result<Option<i64>, rusqlite::Error> {
    let sql = "SELECT value FROM fact WHERE name = 'archive_places'";
    connection.query_row(sql, [], |row| row.get(0)).optional()
}
