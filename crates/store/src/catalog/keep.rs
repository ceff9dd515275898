//! Keeping what was read: every file of another program that is not yet in the archive as it is now.
//!
//! This comes after a sync, so a file is kept under what is known of it. What is still to be kept is told by the tables,
//! not by this process: one that is killed leaves the rest to the next. A file counts as kept when it is safe on the
//! disk.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};

use super::ahead::Packed;
use super::in_archive::job;
use super::loose;
use super::read::Outcome;
use super::rows::{NO_SESSION, UNREADABLE, all_known, bytes_of, path_of};
use super::sync::{Problem, Synced, Writer, begin};
use super::titles;
use super::visit::Known;
use super::walk::Sources;
use super::write::{Put, put};
use super::{Catalog, CatalogError};
use crate::archive::{
    Archive, AsItIs, Hold, Kept, SecondName, State, Stood, Taken, Version, Wrote, lines_of,
};
use crate::opencode_database::OpencodeDatabase;
use crate::private;
use crate::titles_beside::is_index;

/// Whether more is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    All,
    /// What is kept already is listed where its original is gone.
    NoMore,
}

/// What was done about the archive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keeping {
    /// Files that are safe now, and were not before or not as they are.
    pub kept: usize,
    /// Other sessions are listed now than before.
    pub lists_others: bool,
    pub problems: Vec<Problem>,
}

/// A file whose row says that it is not kept as it is.
struct Pending {
    key: i64,
    path: PathBuf,
    state: i64,
    modified: i64,
}

struct Beside {
    path: PathBuf,
    wrote: Wrote,
    is_loose: bool,
    /// So many bytes of it are kept; unknown where an earlier state says more than the file.
    length: u64,
}

struct Done {
    key: i64,
    path: PathBuf,
    was_session: bool,
    stood: Stood,
    wrote: Wrote,
    /// Files that belong to it.
    beside: Vec<Beside>,
    /// `None` is tried again.
    state: Option<State>,
    second_name: Option<SecondName>,
    is_loose: bool,
}

/// So many files are made safe together. Whoever is killed before that finds them packed, and has only to look.
const BATCH: usize = 4_096;
const KEEPERS: usize = 2;
/// In microseconds.
pub(super) const AN_HOUR: i64 = 60 * 60 * 1_000_000;

impl Catalog {
    /// New files are packed while the next sync reads them. It is for [`Catalog::keep`] to finish that.
    pub fn pack_while_reading(&mut self) {
        self.packed = Some(Packed::new());
    }

    /// Keeps what is not kept yet. That something cannot be kept is a problem that is told, never a failure.
    pub fn keep(
        &mut self,
        sources: &Sources,
        keep: Keep,
        now: Timestamp,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Keeping, CatalogError> {
        let packed = self.packed.take().unwrap_or_default();
        let emptied = Archive::of(&sources.home).empty_trash(now.as_microsecond());
        match kept(&mut self.connection, sources, keep, &packed, now, progress) {
            Ok(mut keeping) => {
                let not_emptied = emptied.err().map(|error| Problem {
                    path: sources.home.root().join("trash"),
                    reason: error.to_string(),
                });
                // An archive that cannot be used at all is one problem.
                if keeping.problems.is_empty() {
                    keeping.problems.extend(not_emptied);
                }
                Ok(keeping)
            }
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// To be called before anything is written about a file.
pub(super) fn has_news(connection: &Connection) -> Result<(), rusqlite::Error> {
    connection.execute("DELETE FROM fact WHERE name IN ('kept_until', 'looked_until')", []).map(drop)
}

fn kept(
    connection: &mut Connection,
    sources: &Sources,
    keep: Keep,
    packed: &Packed,
    now: Timestamp,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Keeping, rusqlite::Error> {
    let mut keeping = Keeping::default();
    let now = now.as_microsecond();
    if rests_until(connection, keep)?.is_some_and(|until| now < until) {
        return Ok(keeping);
    }
    let archive = Archive::of(&sources.home);
    if keep == Keep::All {
        titles::keep(connection, &archive, &mut keeping.problems)?;
    }
    let pending = pending(connection, &archive, now)?;
    if !pending.is_empty() {
        let hold = match (keep, archive.try_hold()) {
            (Keep::NoMore, _) => None,
            (Keep::All, Ok(Some(hold))) => Some(hold),
            (Keep::All, Ok(None)) => return Ok(keeping), // somebody else is at it
            (Keep::All, Err(error)) => {
                keeping.problems.push(Problem { path: archive.root().to_owned(), reason: error.to_string() });
                None
            }
        };
        // Only who holds the archive knows what is forgotten: another process may have changed it until then.
        let is_wanted = |one: &Pending| !hold.as_ref().is_some_and(|hold| hold.forgets(&one.path));
        let pending: Vec<Pending> = pending.into_iter().filter(is_wanted).collect();
        let keeper = Keeper {
            archive: &archive,
            hold: hold.as_ref(),
            sources,
            packed,
            now,
            seen_beside: Mutex::default(),
        };
        keeper.all(connection, &pending, &mut keeping, progress)?;
        if hold.is_none() && keep == Keep::All {
            return Ok(keeping);
        }
    }
    if keeping.problems.is_empty() {
        rest(connection, keep, now)?;
    }
    Ok(keeping)
}

fn rests_until(connection: &Connection, keep: Keep) -> Result<Option<i64>, rusqlite::Error> {
    let sql = "SELECT value FROM fact WHERE name = ?1";
    connection.query_row(sql, [fact(keep)], |row| row.get(0)).optional()
}

fn fact(keep: Keep) -> &'static str {
    match keep {
        Keep::All => "kept_until",
        Keep::NoMore => "looked_until",
    }
}

/// There is nothing to do before the next file comes to rest.
fn rest(connection: &Connection, keep: Keep, now: i64) -> Result<(), rusqlite::Error> {
    let sql = "SELECT min(modified) FROM archived WHERE NOT rests";
    let oldest: Option<i64> = connection.query_row(sql, [], |row| row.get(0))?;
    let until = oldest.map_or(i64::MAX, |modified| (modified / 1_000 + AN_HOUR).max(now + AN_HOUR / 60));
    let sql = "INSERT OR REPLACE INTO fact(name, value) VALUES (?1, ?2)";
    connection.execute(sql, params![fact(keep), until]).map(drop)
}

fn pending(connection: &Connection, archive: &Archive, now: i64) -> Result<Vec<Pending>, rusqlite::Error> {
    let sql =
        "SELECT key, path, state, session.modified FROM session LEFT JOIN archived ON archived.session = key
        WHERE NOT is_own AND (archived.session IS NULL
            OR archived.length <> session.length OR archived.modified <> session.modified
            OR archived.inode <> session.inode OR archived.device <> session.device
            OR (NOT rests AND session.modified < ?1))
        ORDER BY path";
    let mut statement = connection.prepare_cached(sql)?;
    let rows = statement.query_map([now.saturating_sub(AN_HOUR).saturating_mul(1_000)], |row| {
        let path = path_of(row.get_ref(1)?.as_bytes()?);
        Ok(Pending { key: row.get(0)?, path, state: row.get(2)?, modified: row.get(3)? })
    })?;
    let rows: Result<Vec<Pending>, _> = rows.collect();
    let is_to_be_kept = |one: &Pending| !one.path.starts_with(archive.root()) && !is_index(&one.path);
    Ok(rows?.into_iter().filter(is_to_be_kept).collect())
}

struct Keeper<'k> {
    archive: &'k Archive,
    /// `None` where nothing may be written.
    hold: Option<&'k Hold>,
    sources: &'k Sources,
    packed: &'k Packed,
    now: i64,
    /// A file that belongs to many sessions is kept once, and by one thread.
    seen_beside: Mutex<HashSet<PathBuf>>,
}

/// What the list has to be told.
#[derive(Default)]
struct Listing {
    /// Originals that cannot stand for themselves.
    hidden: Vec<i64>,
    shown: Vec<Kept>,
    /// Kept files whose originals do.
    unlisted: Vec<PathBuf>,
}

impl Keeper<'_> {
    fn all(
        &self,
        connection: &mut Connection,
        pending: &[Pending],
        keeping: &mut Keeping,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(), rusqlite::Error> {
        let (in_databases, files): (Vec<&Pending>, Vec<&Pending>) =
            pending.iter().partition(|one| self.database_of(&one.path).is_some());
        let next = AtomicUsize::new(0);
        let mut count = 0;
        std::thread::scope(|scope| {
            let (sender, results) = sync_channel(64);
            for _ in 0..KEEPERS.min(files.len()) {
                let (sender, next, files) = (sender.clone(), &next, &files);
                scope.spawn(move || {
                    while let Some(one) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if sender.send(self.file(one)).is_err() {
                            return; // the writer has given up
                        }
                    }
                });
            }
            drop(sender);
            let mut batch = Vec::new();
            while let Ok(result) = results.recv() {
                count += 1;
                progress(count, pending.len());
                match result {
                    Ok(done) => batch.push(done),
                    Err(problem) => keeping.problems.push(problem),
                }
                if batch.len() >= BATCH {
                    self.batch(connection, &std::mem::take(&mut batch), keeping)?;
                }
            }
            self.batch(connection, &batch, keeping)
        })?;
        let done = self.databases(&in_databases, keeping);
        self.batch(connection, &done, keeping)?;
        progress(pending.len(), pending.len());
        Ok(())
    }

    fn file(&self, one: &Pending) -> Result<Done, Problem> {
        let was_session = one.state != NO_SESSION && one.state != UNREADABLE;
        let done = |stood, wrote, state| {
            let (key, path) = (one.key, one.path.clone());
            Done {
                key,
                path,
                was_session,
                stood,
                wrote,
                beside: Vec::new(),
                state,
                second_name: None,
                is_loose: false,
            }
        };
        if !was_session {
            // an original that says nothing any more, or may not be read
            let kept = match self.hold.map(|hold| self.archive.take_up(hold, &one.path, self.now)) {
                Some(Ok(kept)) => kept,
                Some(Err(_)) | None => self.archive.kept(&one.path),
            };
            let state = (one.state == NO_SESSION).then(|| state_of(&one.path)).flatten();
            let stood = kept.map_or(Stood::Original { rests: true }, Stood::Kept);
            return Ok(done(stood, Wrote::Nothing, state));
        }
        match self.hold {
            None => match self.archive.look(&one.path) {
                Ok(stood) => Ok(done(stood, Wrote::Nothing, None)),
                Err(error) => Err(Problem { path: one.path.clone(), reason: error.to_string() }),
            },
            Some(hold) => {
                let kept = match self.packed.get(&one.path) {
                    Some(packed) => Ok(packed.clone()),
                    None => self.archive.keep(hold, &one.path, self.now),
                };
                match kept {
                    Ok(AsItIs { taken: Taken { stood, wrote }, state, second_name, is_loose }) => {
                        // what cannot be kept of these is tried again with the next change of their session
                        let beside = self.beside(hold, &one.path);
                        Ok(Done { beside, second_name, is_loose, ..done(stood, wrote, Some(state)) })
                    }
                    Err(error) => {
                        Err(Problem { path: one.path.clone(), reason: format!("not kept: {}", error.source) })
                    }
                }
            }
        }
    }

    fn beside(&self, hold: &Hold, session: &Path) -> Vec<Beside> {
        let is_new = |file: &PathBuf| {
            self.seen_beside.lock().unwrap_or_else(PoisonError::into_inner).insert(file.clone())
        };
        let keep = |file: PathBuf| {
            let Ok(AsItIs { taken, state, is_loose, .. }) = self.archive.keep(hold, &file, self.now) else {
                // It can be read, so something is wrong with its copy: that is found by what is recorded.
                let is_read = private::open_foreign(&file).is_ok();
                let unknown = Beside { path: file, wrote: Wrote::Nothing, is_loose: false, length: 0 };
                return is_read.then_some(unknown);
            };
            // A list that names a forgotten session is not kept.
            let is_kept = taken.wrote != Wrote::Nothing || self.archive.kept(&file).is_some();
            let length = kept_length(&taken.stood, &state);
            is_kept.then_some(Beside { path: file, wrote: taken.wrote, is_loose, length })
        };
        self.archive.beside(session).into_iter().filter(is_new).filter_map(keep).collect()
    }

    /// All sessions of one database are read as one state of it.
    fn databases(&self, pending: &[&Pending], keeping: &mut Keeping) -> Vec<Done> {
        let mut by_database: HashMap<&Path, Vec<&Pending>> = HashMap::new();
        for one in pending {
            if let Some(database) = self.database_of(&one.path) {
                by_database.entry(database).or_default().push(one);
            }
        }
        let mut all = Vec::new();
        let Some(hold) = self.hold else { return all };
        for (path, sessions) in by_database {
            let mut database = match OpencodeDatabase::open(path, &self.sources.scratch) {
                Ok(database) => database,
                Err(error) => {
                    keeping.problems.push(Problem { path: path.to_owned(), reason: error.to_string() });
                    continue;
                }
            };
            if let Err(error) = self.archive.back_up(hold, &mut database, self.now) {
                keeping
                    .problems
                    .push(Problem { path: path.to_owned(), reason: format!("not backed up: {error}") });
            }
            for one in sessions {
                match self.in_database(&mut database, hold, one) {
                    Ok(done) => all.push(done),
                    Err(reason) => keeping.problems.push(Problem { path: one.path.clone(), reason }),
                }
            }
        }
        all
    }

    fn in_database(
        &self,
        database: &mut OpencodeDatabase,
        hold: &Hold,
        one: &Pending,
    ) -> Result<Done, String> {
        let id = one.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let rows = database.rows(id).map_err(|error| error.to_string())?.unwrap_or_default();
        let lines = lines_of(&rows);
        let messages = rows.messages.len() as u64;
        let Taken { stood, wrote } = self
            .archive
            .keep_lines(hold, &one.path, &lines, one.modified, self.now)
            .map_err(|error| format!("not kept: {}", error.source))?;
        // the row of a session in a database counts messages
        let state = State { length: messages, modified: one.modified, ..State::default() };
        Ok(Done {
            key: one.key,
            path: one.path.clone(),
            was_session: true,
            stood,
            wrote,
            beside: Vec::new(),
            state: Some(state),
            second_name: None,
            is_loose: false,
        })
    }

    /// Files that are not sessions of their own have no database to lie in.
    fn database_of<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        path.parent().filter(|folder| self.sources.databases.iter().any(|database| database == folder))
    }

    /// A file counts as kept when it is safe and the list says what stands for it, in this order: whoever comes after a
    /// process that was killed in between does both again.
    fn batch(
        &self,
        connection: &mut Connection,
        batch: &[Done],
        keeping: &mut Keeping,
    ) -> Result<(), rusqlite::Error> {
        if batch.is_empty() {
            return Ok(());
        }
        // nothing may have been left to write by a process that was killed before it was safe
        let own = batch.iter().filter(|done| done.was_session);
        let own = own.map(|done| (done.path.as_path(), done.wrote));
        let beside = batch.iter().flat_map(|done| &done.beside);
        let beside = beside.map(|one| (one.path.as_path(), one.wrote));
        let beside = beside.filter(|(_, wrote)| *wrote != Wrote::Nothing);
        let written: Vec<(&Path, Wrote)> = own.chain(beside).collect();
        if let Some(hold) = self.hold
            && let Err(error) = self.archive.sync(hold, &written)
        {
            keeping
                .problems
                .push(Problem { path: self.archive.root().to_owned(), reason: error.to_string() });
            return Ok(());
        }
        let mut listing = Listing::default();
        batch.iter().for_each(|done| listing.learn(done, self.archive));
        keeping.lists_others |= list(connection, self.sources, self.archive, listing, self.now)?;
        let transaction = begin(connection)?;
        for done in batch {
            let rests = !matches!(done.stood, Stood::Original { rests: false });
            if let Some(state) = done.state.filter(|_| self.hold.is_some()) {
                let sql = "INSERT OR REPLACE INTO archived(session, length, modified, inode, device, rests)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                transaction.prepare_cached(sql)?.execute(params![
                    done.key,
                    state.length as i64,
                    state.modified,
                    state.inode as i64,
                    state.device as i64,
                    rests
                ])?;
                keeping.kept += usize::from(done.wrote != Wrote::Nothing);
            }
            for one in &done.beside {
                let sql = "INSERT OR REPLACE INTO archived_beside(path, session, length) VALUES (?1, ?2, ?3)";
                transaction.prepare_cached(sql)?.execute(params![
                    bytes_of(&one.path),
                    bytes_of(&done.path),
                    one.length as i64
                ])?;
            }
            let modified = done.state.map_or(0, |state| state.modified);
            let beside = done.beside.iter().filter(|one| one.is_loose).map(|one| &one.path);
            for path in done.is_loose.then_some(&done.path).into_iter().chain(beside) {
                if let Some(place) = self.archive.place_of(path) {
                    loose::remember(&transaction, &place, modified)?;
                }
            }
            if let Some(second_name) = done.second_name {
                learn_second_name(&transaction, done.key, second_name)?;
            }
        }
        transaction.commit()
    }
}

/// The next look need not read what was only given another name. A file that was written a moment ago stays one to look
/// at closer.
fn learn_second_name(
    batch: &Connection,
    key: i64,
    SecondName { before, now }: SecondName,
) -> Result<(), rusqlite::Error> {
    let sql = "UPDATE session SET changed = ?4, links = ?5
        WHERE key = ?1 AND is_settled AND changed = ?2 AND links = ?3";
    let values = params![key, before.changed, before.links as i64, now.changed, now.links as i64];
    batch.prepare_cached(sql)?.execute(values).map(drop)
}

pub(super) fn kept_length(stood: &Stood, state: &State) -> u64 {
    match stood {
        Stood::Original { .. } | Stood::Both(_) => state.length,
        Stood::Kept(_) => 0,
    }
}

fn state_of(path: &Path) -> Option<State> {
    std::fs::metadata(path).ok().map(|metadata| State::of(&metadata))
}

impl Listing {
    fn learn(&mut self, done: &Done, archive: &Archive) {
        for one in archive.earlier(&done.path) {
            match one.version {
                Version::Was(_) => self.shown.push(one),
                // it may have been listed before it was said again
                Version::Old(number) => self.unlisted.push(one.as_version(Version::Was(number)).path),
                Version::Last => {}
            }
        }
        match &done.stood {
            Stood::Original { .. } if done.was_session => self.unlisted.extend(archive.place_of(&done.path)),
            Stood::Original { .. } => {}
            Stood::Kept(kept) => {
                self.hidden.extend(done.was_session.then_some(done.key));
                self.shown.push(kept.clone());
            }
            Stood::Both(kept) => {
                // where nothing may be written the older one still has the place of the last
                self.unlisted.extend(archive.place_of(&done.path).filter(|place| *place != kept.path));
                self.shown.push(kept.clone());
            }
        }
    }
}

/// Brings the rows in line with what stands for each session, and tells whether it had to.
fn list(
    connection: &mut Connection,
    sources: &Sources,
    archive: &Archive,
    listing: Listing,
    now: i64,
) -> Result<bool, rusqlite::Error> {
    let has_kept_rows = || -> Result<bool, rusqlite::Error> {
        let root = archive.root().as_os_str().as_encoded_bytes();
        let sql = "SELECT EXISTS (SELECT 1 FROM session WHERE substr(path, 1, ?2) = ?1)";
        connection.query_row(sql, params![root, root.len() as i64], |row| row.get(0))
    };
    let has_news = !listing.hidden.is_empty() || !listing.shown.is_empty();
    if !has_news && (listing.unlisted.is_empty() || !has_kept_rows()?) {
        return Ok(false);
    }
    let mut known = all_known(connection)?;
    let now = now.saturating_mul(1_000);
    let mut synced = Synced::default();
    let mut writer = Writer { connection, synced: &mut synced, now };
    let unlisted: HashMap<PathBuf, Known> =
        listing.unlisted.iter().filter_map(|path| known.remove_entry(path)).collect();
    writer.forget(unlisted)?;
    let jobs: Vec<_> = listing.shown.iter().filter_map(|kept| job(kept, known.get(&kept.path))).collect();
    writer.all(&jobs, sources, None, &mut |_, _| {})?;
    let hidden = known.iter().filter(|(_, known)| listing.hidden.contains(&known.key));
    let transaction = begin(writer.connection)?;
    for (path, known) in hidden {
        let nothing = Put {
            path,
            is_own: false,
            id: None,
            stamp: known.stamp,
            known: Some(known),
            outcome: &Outcome::NoSession,
            now,
        };
        put(&transaction, &nothing)?;
    }
    transaction.commit()?;
    Ok(true)
}
