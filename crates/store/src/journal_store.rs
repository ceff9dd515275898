//! Sessions as journals in a folder.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use offshoot_session::file_name::is_file_name;
use offshoot_session::foreign::may_refer;
use offshoot_session::format::{Blob, BlobName, NoBlobs, decode};
use offshoot_session::{Change, ForeignSource, Record, SessionHeader, SessionId, Watch};

use crate::blobs::{self, BlobError};
use crate::files::{About, DiskFiles, FileError, Files, Held, Open, TryLock, read_from};
use crate::foreign::OtherPrograms;
use crate::home::{Home, session_of};
use crate::journal::Journal;
use crate::lock::{LockError, Locking, lock};
use crate::store::{
    AppendError, Appended, CreateError, ListError, Loaded, Plan, ReadError, SessionStore, WriteError,
};

/// A header that says what it goes on with is shorter than this.
const LONGEST_REFERENCE: usize = 64 << 10;

/// The holder waits for the locks of two journals at most.
const STEPS_WAIT: Duration = Duration::from_secs(10);

/// Holds nothing open: the state is on the disk. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct JournalStore {
    pub(crate) files: Arc<dyn Files>,
    pub(crate) home: Home,
    pub(crate) locking: Locking,
    pub(crate) watch: Watch,
    /// Without them, a journal that goes on with another program's session is read by itself.
    pub(crate) others: Option<OtherPrograms>,
    /// The folders are there and safe; making sure of it costs several syncs.
    is_prepared: Arc<AtomicBool>,
}

impl JournalStore {
    /// The store in this folder, which is made when the first session is.
    pub fn at(home: Home, locking: Locking) -> Self {
        Self::on(Arc::new(DiskFiles), home, locking)
    }

    pub fn on(files: Arc<dyn Files>, home: Home, locking: Locking) -> Self {
        Self { files, home, locking, watch: Watch::nobody(), others: None, is_prepared: Arc::default() }
    }

    /// The same store, while somebody hears how many bytes are read or written.
    pub fn watched_by(self, watch: Watch) -> Self {
        Self { watch, ..self }
    }

    /// The same store, with the sessions that other programs keep: those that a journal goes on with are read, and those
    /// that were introduced may be changed.
    pub fn with(self, others: OtherPrograms) -> Self {
        Self { others: Some(others), ..self }
    }

    /// Steps of two sessions are undone and redone by one process at a time, so that both sessions agree afterwards.
    pub fn lock_steps(&self) -> Result<Box<dyn Held>, LockError> {
        self.home.prepare(self.files.as_ref())?;
        let path = self.home.steps_lock();
        let locking = Locking { wait: STEPS_WAIT, ..self.locking.clone() };
        lock(self.files.as_ref(), &path, &path, &locking)
    }

    /// The sessions of other programs, where this store knows any.
    pub fn others(&self) -> Option<&OtherPrograms> {
        self.others.as_ref()
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// A journal to stay with. `None`: there is no such session.
    pub fn journal(&self, id: &SessionId) -> Result<Option<Journal>, ReadError> {
        if !is_file_name(id.as_str()) {
            return Ok(None);
        }
        let introduced = self.others.as_ref().and_then(|others| others.introduced(id));
        match (Journal::open(self, id.clone())?, introduced) {
            (Some(journal), _) => Ok(Some(journal)),
            (None, Some(header)) => Ok(Some(Journal::unwritten(self, header))),
            (None, None) => Ok(None),
        }
    }

    /// Whether somebody writes it just now. Who only looks leaves no trace, so what the lock says stays as it is.
    pub fn is_being_written(&self, id: &SessionId) -> bool {
        let path = self.home.lock(id);
        let said = self.files.open(&path, Open::Read).and_then(|file| read_from(file.as_ref(), 0));
        let Ok(said) = said else { return false };
        let tried = self.files.try_lock(&path, &String::from_utf8_lossy(&said));
        matches!(tried, Ok(TryLock::HeldBy(_)))
    }

    /// The journals that go on with sessions of other programs. Only their first lines are read; one that cannot be read
    /// is left out.
    pub fn references(&self) -> Result<Vec<(SessionId, ForeignSource)>, ListError> {
        let folder = self.home.sessions();
        let names = match self.files.names(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            names => names.about("list", &folder)?,
        };
        let ids = names.iter().filter_map(|name| session_of(name)).filter(may_refer);
        let mut references: Vec<(SessionId, ForeignSource)> =
            ids.filter_map(|id| Some((id.clone(), self.reference(&id)?))).collect();
        references.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(references)
    }

    /// What this journal goes on with. `None` where it stands by itself, or is not there.
    pub fn reference(&self, id: &SessionId) -> Option<ForeignSource> {
        let file = self.files.open(&self.home.journal(id), Open::Read).ok()?;
        let mut bytes = vec![0; LONGEST_REFERENCE];
        let length = file.read_at(0, &mut bytes).ok()?;
        bytes.truncate(length);
        let line = bytes.split(|byte| *byte == b'\n').next()?;
        match decode(line, &NoBlobs).ok()?.record.change {
            Change::Opened(header) => header.foreign.map(|source| *source),
            Change::Entry(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
        }
    }

    /// Begins a session and stays with it; see [`SessionStore::create`].
    pub fn begin(&self, records: &[Record]) -> Result<(Journal, Appended), CreateError> {
        let header = header_of(records).ok_or(CreateError::NoHeader)?;
        if !is_file_name(header.id.as_str()) {
            return Err(CreateError::BadId(header.id.clone()));
        }
        self.prepare().map_err(AppendError::from)?;
        let id = header.id.clone();
        Journal::create(self, id, records)
    }

    pub(crate) fn prepare(&self) -> Result<(), FileError> {
        if !self.is_prepared.load(Ordering::Acquire) {
            self.home.prepare(self.files.as_ref())?;
            self.is_prepared.store(true, Ordering::Release);
        }
        Ok(())
    }
}

pub(crate) fn header_of(records: &[Record]) -> Option<&SessionHeader> {
    match records.first().map(|record| &record.change) {
        Some(Change::Opened(header)) => Some(header),
        Some(Change::Entry(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown) | None => None,
    }
}

impl SessionStore for JournalStore {
    fn create(&self, records: &[Record]) -> Result<Appended, CreateError> {
        self.begin(records).map(|(_, appended)| appended)
    }

    fn read(&self, id: &SessionId) -> Result<Option<Loaded>, ReadError> {
        Ok(self.journal(id)?.map(Journal::into_loaded))
    }

    fn append(&self, id: &SessionId, plan: &mut Plan<'_>) -> Result<Option<Appended>, AppendError> {
        let mut journal = self.journal(id)?.ok_or_else(|| AppendError::NotFound(id.clone()))?;
        match journal.write(|tree| plan(tree).ok_or(())) {
            Ok(appended) => Ok(Some(appended)),
            Err(WriteError::Declined(())) => Ok(None),
            Err(WriteError::Failed(error)) => Err(error),
        }
    }

    fn remove_created(&self, records: &[Record]) -> Result<bool, AppendError> {
        match header_of(records) {
            Some(header) if is_file_name(header.id.as_str()) => {
                Journal::remove_created(self, header.id.clone(), records)
            }
            Some(_) | None => Ok(true),
        }
    }

    fn list(&self) -> Result<Vec<SessionId>, ListError> {
        let folder = self.home.sessions();
        let names = match self.files.names(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            names => names.about("list", &folder)?,
        };
        let mut sessions = Vec::new();
        for id in names.iter().filter_map(|name| session_of(name)) {
            let path = self.home.journal(&id);
            let length = match self.files.open(&path, Open::Read).and_then(|file| file.stat()) {
                Ok(stat) => stat.length,
                Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
                // It exists; reading it says what is wrong with it.
                Err(_) => 1,
            };
            if length > 0 {
                sessions.push(id);
            }
        }
        sessions.sort();
        Ok(sessions)
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobName, BlobError> {
        let blob = Blob::of(bytes);
        self.prepare()?;
        blobs::put(self.files.as_ref(), &self.home, &blob)?;
        Ok(blob.name)
    }

    fn blob(&self, name: &BlobName) -> Result<Option<Vec<u8>>, BlobError> {
        blobs::get(self.files.as_ref(), &self.home, name)
    }
}
