//! Proof that a store is sound. It only reads.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;

use offshoot_session::format::{BlobName, NewerFormat};
use offshoot_session::{Change, EntryId, Odd, Oddity, SessionId};

use crate::blobs::{self, BlobError};
use crate::files::{About, FileError, Open};
use crate::foreign::SourceTrouble;
use crate::home::session_of;
use crate::journal::Journal;
use crate::journal_store::JournalStore;
use crate::store::{Finding, ListError, ReadError};

/// What was looked at, and what is wrong with it.
#[derive(Debug, Default)]
pub struct Report {
    pub sessions: u64,
    pub records: u64,
    pub entries: u64,
    pub blobs: u64,
    /// Bytes of journals and blobs.
    pub bytes: u64,
    /// Journals that a crash stopped before their header. Nobody was told that they exist.
    pub unborn: u64,
    /// Torn ends that were set aside.
    pub torn_copies: u64,
    /// Blobs whose writer was stopped half-way. No line refers to them.
    pub leftovers: u64,
    /// Oddities that files of other programs had already when they were taken over. The journal keeps them as they
    /// came.
    pub came_odd: u64,
    /// The first of them: at most [`MOST_IN_FILE`] of a file and [`MOST`] in all.
    pub problems: Vec<Problem>,
    /// All of them.
    pub problem_count: u64,
    /// How many were found in the file that is being read.
    in_file: usize,
}

/// A file of a million bad lines must not need memory for a million problems.
pub const MOST_IN_FILE: usize = 100;
pub const MOST: usize = 1_000;

#[derive(Debug)]
pub struct Problem {
    pub path: PathBuf,
    pub what: Wrong,
}

#[derive(Debug)]
pub enum Wrong {
    Found(Finding),
    /// The header names another session than the file.
    OtherSession(SessionId),
    Newer(NewerFormat),
    DamagedBlob,
    Unreadable(io::Error),
}

/// How far the proof has come, in files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub done: usize,
    pub of: usize,
}

impl Report {
    /// Everything is as it was written.
    pub fn is_clean(&self) -> bool {
        self.problem_count == 0
    }

    fn problem(&mut self, path: impl Into<PathBuf>, what: Wrong) {
        self.problem_count += match &what {
            Wrong::Found(Finding::Flaw(found)) => found.flaw.lines(),
            Wrong::Found(_)
            | Wrong::OtherSession(_)
            | Wrong::Newer(_)
            | Wrong::DamagedBlob
            | Wrong::Unreadable(_) => 1,
        };
        self.in_file += 1;
        if self.in_file <= MOST_IN_FILE && self.problems.len() < MOST {
            self.problems.push(Problem { path: path.into(), what });
        }
    }
}

/// Reads every journal and every blob.
pub fn fsck(store: &JournalStore, progress: &mut dyn FnMut(Progress)) -> Result<Report, ListError> {
    let mut report = Report::default();
    let mut journals = Vec::new();
    for name in names(store, store.home.sessions())? {
        match session_of(&name) {
            Some(id) => journals.push(id),
            None if name.contains(".torn-") => report.torn_copies += 1,
            None => {}
        }
    }
    journals.sort();
    let mut blobs = Vec::new();
    let is_blob_folder = |name: &String| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    for folder in names(store, store.home.blobs())?.into_iter().filter(is_blob_folder) {
        for name in names(store, store.home.blobs().join(folder))? {
            match BlobName::parse(&name) {
                Some(name) => blobs.push(name),
                None => report.leftovers += 1,
            }
        }
    }
    blobs.sort();
    let of = journals.len() + blobs.len();
    for (done, id) in journals.iter().enumerate() {
        progress(Progress { done, of });
        report.in_file = 0;
        check_journal(store, id, &mut report);
    }
    for (done, name) in blobs.iter().enumerate() {
        progress(Progress { done: journals.len() + done, of });
        report.in_file = 0;
        check_blob(store, name, &mut report);
    }
    progress(Progress { done: of, of });
    Ok(report)
}

fn check_journal(store: &JournalStore, id: &SessionId, report: &mut Report) {
    let path = store.home.journal(id);
    match store.files.open(&path, Open::Read).and_then(|file| file.stat()) {
        Ok(stat) if stat.length == 0 => {
            report.unborn += 1;
            return;
        }
        Ok(stat) => report.bytes += stat.length,
        Err(error) => return report.problem(path, Wrong::Unreadable(error)),
    }
    let journal = match store.journal(id) {
        Ok(Some(journal)) => journal,
        Ok(None) => {
            report.unborn += 1;
            return;
        }
        Err(ReadError::Newer { path, source }) => return report.problem(path, Wrong::Newer(source)),
        Err(ReadError::File(error)) => return report.problem(error.path, Wrong::Unreadable(error.source)),
        Err(ReadError::Gone { path }) => {
            return report.problem(path, Wrong::Unreadable(io::ErrorKind::NotFound.into()));
        }
    };
    report.sessions += 1;
    let tree = journal.tree();
    report.records += tree.log().count() as u64;
    report.entries += tree.len() as u64;
    match tree.header() {
        None => {
            let odd = Oddity::new(Odd::MissingHeader);
            report.problem(&path, Wrong::Found(Finding::Odd(odd)));
        }
        Some(header) if header.id != *id => report.problem(&path, Wrong::OtherSession(header.id.clone())),
        Some(_) => {}
    }
    let findings = journal.findings();
    let taken_over = if findings.is_empty() { TakenOver::default() } else { TakenOver::of(&journal) };
    // Where theirs is gone, all that hangs on it is odd.
    let is_alone =
        findings.iter().any(|finding| matches!(finding, Finding::Source(SourceTrouble::Gone { .. })));
    for finding in findings {
        match &finding {
            Finding::Odd(_) if is_alone => {}
            // Whatever another program's file has lost, what was added here hangs on something or is told below.
            Finding::Theirs(_) | Finding::Source(SourceTrouble::Rewritten { .. }) => report.came_odd += 1,
            Finding::Source(SourceTrouble::Kept { .. }) => {}
            Finding::Odd(oddity) if taken_over.had(oddity) => report.came_odd += 1,
            _ => report.problem(&path, Wrong::Found(finding)),
        }
    }
}

/// Entries and facts that came from a file of another program: their records still have its lines.
#[derive(Default)]
struct TakenOver<'t> {
    theirs: Named<'t>,
    ours: Named<'t>,
}

/// What records name.
#[derive(Default)]
struct Named<'t> {
    entries: HashSet<&'t EntryId>,
    /// Where heads were sent.
    targets: HashSet<&'t EntryId>,
}

impl<'t> TakenOver<'t> {
    fn of(journal: &'t Journal) -> Self {
        let mut taken_over = Self::default();
        let all = journal.tree().log().count();
        let not_here = all - journal.own_records().count();
        for (at, record) in journal.tree().log().enumerate() {
            let is_theirs = at < not_here || record.source.is_some();
            let named = if is_theirs { &mut taken_over.theirs } else { &mut taken_over.ours };
            match &record.change {
                Change::Entry(entry) => named.entries.extend([&entry.id]),
                Change::Marked(mark) => named.entries.extend(mark.id.iter().chain(mark.fact.target())),
                Change::HeadMoved(head_move) => named.targets.extend(&head_move.to),
                Change::Opened(_) | Change::Unknown => {}
            }
        }
        taken_over
    }

    /// Whether what is odd was so in the file.
    fn had(&self, oddity: &Oddity) -> bool {
        match &oddity.what {
            Odd::MissingParent { entry: odd, .. }
            | Odd::Cycle(odd)
            | Odd::DuplicateId(odd)
            | Odd::MarkOnMissing(odd) => {
                self.theirs.entries.contains(odd) && !self.ours.entries.contains(odd)
            }
            Odd::HeadToMissing { to, .. } => {
                self.theirs.targets.contains(to) && !self.ours.targets.contains(to)
            }
            _ => false,
        }
    }
}

fn check_blob(store: &JournalStore, name: &BlobName, report: &mut Report) {
    report.blobs += 1;
    match blobs::get(store.files.as_ref(), &store.home, name) {
        Ok(bytes) => report.bytes += bytes.map_or(0, |bytes| bytes.len() as u64),
        Err(BlobError::Damaged { path }) => report.problem(path, Wrong::DamagedBlob),
        Err(BlobError::File(error)) => report.problem(error.path, Wrong::Unreadable(error.source)),
    }
}

/// A folder that is not there holds nothing.
fn names(store: &JournalStore, folder: PathBuf) -> Result<Vec<String>, FileError> {
    match store.files.names(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        names => names.about("list", &folder),
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}`: ", self.path.display())?;
        match &self.what {
            Wrong::Found(finding) => finding.fmt(f),
            Wrong::OtherSession(id) => write!(f, "the header names session `{id}`"),
            Wrong::Newer(newer) => newer.fmt(f),
            Wrong::DamagedBlob => f.write_str("its bytes do not have the hash it is named by"),
            Wrong::Unreadable(error) => write!(f, "not readable: {error}"),
        }
    }
}
