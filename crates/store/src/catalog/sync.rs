//! Bringing the catalog up to date: look at every file, read what is new on two threads, write it in batches.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use offshoot_session::file_name::file_name;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::ahead::{Ahead, Packed, is_to_be_packed};
use super::in_archive::InArchive;
use super::read::{InDatabase, Outcome, Read, Reader, database, session_in_database};
use super::rows::{SessionRow, all_known, all_known_and_listed};
use super::visit::{Known, Visit, visit};
use super::walk::{Kind, Seen, Sources, walk};
use super::write::{Done, Put, forget, put};
use super::{Catalog, CatalogError};
use crate::archive::Archive;
use crate::journal_store::JournalStore;
use crate::lock::Locking;
use crate::titles_beside::is_index;

/// What a sync found and did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Synced {
    /// Files that were looked at.
    pub files: usize,
    pub new: usize,
    pub changed: usize,
    pub gone: usize,
    /// Gone from where they were, and still in the archive.
    pub kept: usize,
    pub bytes_read: u64,
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub path: PathBuf,
    pub reason: String,
}

/// A batch is written when so much was said in it, or so many files are in it.
const BATCH_TEXT: usize = 24 << 20;
const BATCH_FILES: usize = 1_000;
/// Nobody else can write meanwhile: neither for longer than this, nor while nothing comes.
const BATCH_TIME: Duration = Duration::from_secs(2);
const BATCH_PAUSE: Duration = Duration::from_millis(20);

/// Files that are read and wait to be written: enough to keep the writer busy, and few enough to fit into memory.
const WAITING: usize = 16;

const READERS: usize = 2;

pub(super) struct Job {
    pub(super) seen: Seen,
    pub(super) visit: Visit,
    pub(super) known: Option<Known>,
    pub(super) kept: Option<Vec<u8>>,
}

impl Catalog {
    /// Brings the catalog up to date. `progress` hears how many of how many files are done.
    pub fn sync(
        &mut self,
        sources: &Sources,
        now: Timestamp,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Synced, CatalogError> {
        match sync(&mut self.connection, sources, now, progress, Meanwhile::Nothing, self.packed.as_mut()) {
            Ok((synced, _)) => Ok(synced),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The same, and all sessions as they are then. While the files are looked at there is time to read the list; mostly
    /// nothing changes it.
    pub fn sync_and_list(
        &mut self,
        sources: &Sources,
        now: Timestamp,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<(Synced, Vec<SessionRow>), CatalogError> {
        match sync(&mut self.connection, sources, now, progress, Meanwhile::List, self.packed.as_mut()) {
            Ok((synced, Some(rows))) => Ok((synced, rows)),
            Ok((synced, None)) => Ok((synced, self.sessions()?)),
            Err(error) => Err(self.failed(error)),
        }
    }
}

/// What is read while others look at the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    List,
}

/// The rows are told where they are still right.
fn sync(
    connection: &mut Connection,
    sources: &Sources,
    now: Timestamp,
    progress: &mut dyn FnMut(usize, usize),
    meanwhile: Meanwhile,
    packed: Option<&mut Packed>,
) -> Result<(Synced, Option<Vec<SessionRow>>), rusqlite::Error> {
    let (walked, known) = std::thread::scope(|scope| {
        let walked = scope.spawn(|| walk(sources));
        let known = match meanwhile {
            Meanwhile::Nothing => all_known(connection).map(|known| (known, None)),
            Meanwhile::List => all_known_and_listed(connection).map(|(known, rows)| (known, Some(rows))),
        };
        (walked.join().unwrap_or_default(), known)
    });
    let (mut known, mut rows) = known?;
    let files = walked.seen.iter().filter(|seen| seen.kind != Kind::Index).count();
    let mut synced = Synced { files, ..Synced::default() };
    let mut jobs = Vec::new();
    let mut databases = Vec::new();
    let archive = Archive::of(&sources.home);
    super::titles::recall(connection, &archive)?;
    let mut in_archive = InArchive::before(connection, &archive, sources, &walked.seen, &mut known)?;
    for seen in walked.seen {
        let known = known.remove(&seen.path);
        let visit = visit(known.as_ref(), &seen.stamp);
        match (visit, &seen.kind) {
            (_, Kind::Database) => databases.push((seen, known)),
            (Visit::Nothing, _) => {}
            _ => {
                let kept = known.as_ref().filter(|known| known.is_followed);
                let kept = kept.map(|known| kept_of(connection, known.key)).transpose()?.flatten();
                jobs.push(Job { seen, visit, known, kept });
            }
        }
    }
    let moment = i64::try_from(now.as_nanosecond()).unwrap_or(i64::MAX);
    if !jobs.is_empty() || !databases.is_empty() {
        super::keep::has_news(connection)?;
    }
    if !jobs.is_empty() {
        rows = None;
    }
    let mut writer = Writer { connection, synced: &mut synced, now: moment };
    let ahead = packed.as_ref().and_then(|_| Ahead::of(&archive, &jobs, now.as_microsecond()));
    let vanished = writer.all(&jobs, sources, ahead.as_ref(), progress)?;
    if let (Some(packed), Some(ahead)) = (packed, ahead) {
        *packed = ahead.packed();
    }
    for job in vanished.into_iter().filter_map(|at| jobs.get(at)) {
        known.extend(job.known.clone().map(|known| (job.seen.path.clone(), known)));
    }
    for (seen, of_file) in databases {
        let inside: Vec<PathBuf> =
            known.keys().filter(|path| path.parent() == Some(&seen.path)).cloned().collect();
        let mut inside: HashMap<PathBuf, Known> =
            inside.into_iter().filter_map(|path| known.remove_entry(&path)).collect();
        let is_same = visit(of_file.as_ref(), &seen.stamp) == Visit::Nothing;
        if !is_same {
            rows = None;
            writer.database(&seen, of_file.as_ref(), &mut inside, &sources.scratch)?;
            known.extend(inside); // what is left is in the database no more
        }
    }
    let unseen: HashSet<&Path> = walked.unseen.iter().map(|(path, _)| path.as_path()).collect();
    known.retain(|path, _| !path.ancestors().any(|above| unseen.contains(above)));
    let (indexes, known): (HashMap<_, _>, HashMap<_, _>) =
        known.into_iter().partition(|(path, _)| is_index(path));
    writer.forget(indexes)?;
    let is_complete = known.is_empty();
    let problems = in_archive.take_up(&known, sources, now);
    let from_archive = in_archive.jobs();
    if !from_archive.is_empty() {
        rows = None;
    }
    writer.all(&from_archive, sources, None, &mut |_, _| {})?;
    let gone = known.iter().filter(|(path, known)| known.is_session && !in_archive.holds(path)).count();
    writer.forget(known)?;
    in_archive.after(connection, sources)?;
    (synced.gone, synced.kept) = (synced.gone + gone, in_archive.taken_up());
    synced.problems.extend(problems);
    synced
        .problems
        .extend(walked.unseen.into_iter().map(|(path, error)| Problem { path, reason: error.to_string() }));
    remember(connection, now, synced.new + synced.changed + synced.gone + synced.kept > 0)?;
    Ok((synced, rows.filter(|_| is_complete)))
}

/// Writing costs more than looking, so a look that found nothing is written down once in a while.
fn remember(connection: &Connection, now: Timestamp, has_news: bool) -> Result<(), rusqlite::Error> {
    let now = now.as_microsecond();
    let sql = "SELECT count(*) FROM fact WHERE name = 'synced_at' AND value BETWEEN ?1 AND ?2";
    let is_written: i64 = connection.query_row(sql, [now.saturating_sub(A_WHILE), now], |row| row.get(0))?;
    if has_news || is_written == 0 {
        connection.execute("INSERT OR REPLACE INTO fact(name, value) VALUES ('synced_at', ?1)", [now])?;
    }
    Ok(())
}

/// In microseconds.
const A_WHILE: i64 = 60_000_000;

pub(super) struct Writer<'w> {
    pub(super) connection: &'w mut Connection,
    pub(super) synced: &'w mut Synced,
    pub(super) now: i64,
}

impl Writer<'_> {
    /// Readers take one job after the other; this thread writes what they bring. Tells which files were not there any more:
    /// what is known of them is left as it is.
    pub(super) fn all(
        &mut self,
        jobs: &[Job],
        sources: &Sources,
        ahead: Option<&Ahead<'_>>,
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Vec<usize>, rusqlite::Error> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let store = JournalStore::at(sources.home.clone(), Locking::by("offshoot"));
        let next = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let (sender, results) = sync_channel::<(usize, Read)>(WAITING);
            for _ in 0..READERS.min(jobs.len()) {
                let (sender, next, store) = (sender.clone(), &next, &store);
                scope.spawn(move || {
                    let mut reader = Reader::of(store);
                    while let Some((at, job)) = take(jobs, next) {
                        let read = reader.read(&job.seen, job.visit, job.known.as_ref(), job.kept.as_deref());
                        let ahead = ahead.filter(|_| is_to_be_packed(job, &read.outcome));
                        if sender.send((at, read)).is_err() {
                            return; // the writer has given up
                        }
                        if let Some(ahead) = ahead {
                            ahead.pack(job);
                        }
                    }
                });
            }
            drop(sender);
            let (mut done, mut vanished) = (0, Vec::new());
            while let Ok(first) = results.recv() {
                self.batch(jobs, first, &results, &mut vanished, &mut || {
                    done += 1;
                    progress(done, jobs.len());
                })?;
            }
            Ok(vanished)
        })
    }

    /// Writes what comes while it comes, so that nobody waits for anybody, and ends the batch when there is enough of it
    /// or others would have to wait long for the catalog.
    fn batch(
        &mut self,
        jobs: &[Job],
        first: (usize, Read),
        more: &Receiver<(usize, Read)>,
        vanished: &mut Vec<usize>,
        is_done: &mut dyn FnMut(),
    ) -> Result<(), rusqlite::Error> {
        let begun = Instant::now();
        let transaction = begin(self.connection)?;
        let (mut next, mut text, mut files) = (Some(first), 0, 0);
        while let Some((at, read)) = next {
            match (jobs.get(at), &read.outcome) {
                (_, Outcome::Gone) => vanished.push(at),
                (Some(job), _) => put_read(&transaction, self.synced, self.now, job, &read)?,
                (None, _) => {}
            }
            is_done();
            text += text_in(&read.outcome);
            files += 1;
            let is_enough = text >= BATCH_TEXT || files >= BATCH_FILES || begun.elapsed() >= BATCH_TIME;
            next = if is_enough { None } else { more.recv_timeout(BATCH_PAUSE).ok() };
        }
        transaction.commit()
    }

    /// The sessions of a database are files in it, so to say.
    fn database(
        &mut self,
        seen: &Seen,
        of_file: Option<&Known>,
        inside: &mut HashMap<PathBuf, Known>,
        scratch: &Path,
    ) -> Result<(), rusqlite::Error> {
        let (mut opened, listed) = match database(&seen.path, scratch) {
            Ok(opened) => opened,
            Err(reason) => {
                inside.clear(); // what is known of it stays
                self.synced.problems.push(Problem { path: seen.path.clone(), reason });
                return Ok(());
            }
        };
        let transaction = begin(self.connection)?;
        let file = Put {
            path: &seen.path,
            is_own: false,
            id: None,
            stamp: seen.stamp,
            known: of_file,
            outcome: &Outcome::NoSession,
            now: self.now,
        };
        put(&transaction, &file)?;
        for InDatabase { id, stamp } in listed {
            let path = seen.path.join(file_name(&id).as_ref());
            let known = inside.remove(&path);
            if known.as_ref().is_some_and(|known| known.stamp == stamp) {
                continue;
            }
            let outcome = session_in_database(&mut opened, &id);
            let one =
                Put { path: &path, id: Some(&id), stamp, known: known.as_ref(), outcome: &outcome, ..file };
            put(&transaction, &one)?;
            count(self.synced, &path, is_listed(known.as_ref()), &outcome);
        }
        transaction.commit()
    }

    pub(super) fn forget(&mut self, known: HashMap<PathBuf, Known>) -> Result<(), rusqlite::Error> {
        if known.is_empty() {
            return Ok(());
        }
        let transaction = begin(self.connection)?;
        for known in known.values() {
            forget(&transaction, known.key)?;
        }
        transaction.commit()
    }
}

fn put_read(
    batch: &Transaction<'_>,
    synced: &mut Synced,
    now: i64,
    job: &Job,
    read: &Read,
) -> Result<(), rusqlite::Error> {
    let done = put(
        batch,
        &Put {
            path: &job.seen.path,
            is_own: matches!(job.seen.kind, Kind::Journal(_)),
            id: job.seen.kind.id(),
            stamp: read.stamp,
            known: job.known.as_ref(),
            outcome: &read.outcome,
            now,
        },
    )?;
    synced.bytes_read += read.bytes;
    // a list that is read for the first time tells of sessions that are new themselves
    if let (Done::Renamed(sessions), Some(_)) = (done, &job.known) {
        synced.changed += sessions;
    }
    // those that only the archive has are counted by themselves
    if !matches!(job.seen.kind, Kind::Kept(_)) {
        count(synced, &job.seen.path, is_listed(job.known.as_ref()), &read.outcome);
    }
    Ok(())
}

/// Writes from the beginning on, so that what is looked up before is still so when it is written.
pub(super) fn begin(connection: &mut Connection) -> Result<Transaction<'_>, rusqlite::Error> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

fn take<'j>(jobs: &'j [Job], next: &AtomicUsize) -> Option<(usize, &'j Job)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(at).map(|job| (at, job))
}

fn text_in(outcome: &Outcome) -> usize {
    match outcome {
        Outcome::More(told) | Outcome::All(told) => told.said.iter().map(|said| said.text.len()).sum(),
        Outcome::Same | Outcome::Titles(_) | Outcome::NoSession | Outcome::Unreadable(_) | Outcome::Gone => 0,
    }
}

/// A file that was no session yet is new when it is one.
fn is_listed(known: Option<&Known>) -> bool {
    known.is_some_and(|known| known.is_session)
}

fn count(synced: &mut Synced, path: &Path, is_known: bool, outcome: &Outcome) {
    match outcome {
        Outcome::More(_) | Outcome::All(_) if is_known => synced.changed += 1,
        Outcome::More(_) | Outcome::All(_) => synced.new += 1,
        Outcome::Gone => synced.gone += usize::from(is_known),
        Outcome::Unreadable(reason) => {
            synced.problems.push(Problem { path: path.to_owned(), reason: reason.clone() });
        }
        Outcome::Same | Outcome::Titles(_) | Outcome::NoSession => {}
    }
}

pub(super) fn kept_of(connection: &Connection, key: i64) -> Result<Option<Vec<u8>>, rusqlite::Error> {
    use rusqlite::OptionalExtension;
    let mut statement = connection.prepare_cached("SELECT bytes FROM kept WHERE session = ?1")?;
    statement.query_row([key], |row| row.get(0)).optional()
}
