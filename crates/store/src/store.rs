//! What every store promises.

use std::fmt;
use std::path::PathBuf;

use offshoot_session::format::{BlobName, Found, NewerFormat, Tail, Unwritable};
use offshoot_session::{Oddity, Record, Rejected, SessionId, SessionTree};
use thiserror::Error;

use crate::blobs::BlobError;
use crate::files::FileError;
use crate::foreign::SourceTrouble;
use crate::lock::LockError;

/// Sessions, kept. Calls may come from several threads and, for stores outside of the process, from several
/// processes; each session has one order of records that all of them see.
pub trait SessionStore: fmt::Debug + Send + Sync {
    /// Begins a session with these records, all or none. The first is its header; the others may be as odd as
    /// the file they were read from. Fails where the session exists: doing it twice does nothing twice.
    fn create(&self, records: &[Record]) -> Result<Appended, CreateError>;

    /// The session as it is now, with what was forgiven on the way. `None`: there is no such session.
    fn read(&self, id: &SessionId) -> Result<Option<Loaded>, ReadError>;

    /// Asks what to write, given the session as it is, and writes it as one step. Nobody else writes in
    /// between. The plan is asked once; when it returns `None`, or one of its records is refused, nothing
    /// happens. When this returns, the records are safe. A caller that did not hear the answer finds them by
    /// their ids.
    fn append(&self, id: &SessionId, plan: &mut Plan<'_>) -> Result<Option<Appended>, AppendError>;

    /// Takes back a session that was just created with these records. `false`: something has been written to it since,
    /// and it stays.
    fn remove_created(&self, records: &[Record]) -> Result<bool, AppendError>;

    /// The sessions there are, by id. One that a crash stopped from being born may be among them; reading it
    /// says `None`.
    fn list(&self) -> Result<Vec<SessionId>, ListError>;

    /// Keeps bytes under their hash. Doing it again changes nothing.
    fn put_blob(&self, bytes: &[u8]) -> Result<BlobName, BlobError>;

    /// `None`: no bytes of this name were kept.
    fn blob(&self, name: &BlobName) -> Result<Option<Vec<u8>>, BlobError>;
}

/// What to write on a session; `None` calls it off.
pub type Plan<'p> = dyn FnMut(&SessionTree) -> Option<Vec<Record>> + 'p;

/// [`SessionStore::append`] for plans that say why they call it off.
pub fn write<E>(
    store: &dyn SessionStore,
    id: &SessionId,
    mut plan: impl FnMut(&SessionTree) -> Result<Vec<Record>, E>,
) -> Result<Appended, WriteError<E>> {
    let mut declined = None;
    let appended = store.append(id, &mut |tree| match plan(tree) {
        Ok(records) => Some(records),
        Err(reason) => {
            declined = Some(reason);
            None
        }
    });
    match declined {
        Some(reason) => Err(WriteError::Declined(reason)),
        None => Ok(appended?.unwrap_or_default()),
    }
}

#[derive(Clone, Debug)]
pub struct Loaded {
    pub tree: SessionTree,
    pub findings: Vec<Finding>,
}

/// Something about a journal that is not as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// In the bytes.
    Flaw(Found),
    /// Behind the last whole batch: left by a crash, or just being written.
    TornTail(Tail),
    /// In what the records say.
    Odd(Oddity),
    /// In the file of another program that the journal goes on with.
    Theirs(Oddity),
    /// About that file as a whole.
    Source(SourceTrouble),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    pub records: usize,
    pub bytes: u64,
    /// What a crash had left at the end, and where it is kept now.
    pub repaired: Option<Repaired>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repaired {
    pub bytes: u64,
    pub kept_in: PathBuf,
}

#[derive(Debug, Error)]
pub enum ReadError {
    #[error("`{}`", path.display())]
    Newer { path: PathBuf, source: NewerFormat },
    #[error(transparent)]
    File(#[from] FileError),
    /// It was there before.
    #[error("`{}` is gone", path.display())]
    Gone { path: PathBuf },
}

#[derive(Debug, Error)]
pub enum AppendError {
    #[error("session `{0}` does not exist")]
    NotFound(SessionId),
    #[error("not written")]
    Rejected(#[from] Rejected),
    #[error("not written")]
    Unwritable(#[from] Unwritable),
    #[error(transparent)]
    Locked(#[from] LockError),
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The disk refused before a line was written.
    #[error(transparent)]
    Disk(#[from] FileError),
    /// The disk refused while lines were written or synced.
    #[error("could not save `{}`", path.display())]
    NotSaved { path: PathBuf, source: FileError, left: Left },
}

/// What a failed append left of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    Nothing,
    /// The disk did not even take the bytes back. They count if they are whole.
    Perhaps,
}

/// Why nothing was written: the plan called it off, or the store could not.
#[derive(Debug, Error)]
pub enum WriteError<E> {
    #[error("called off")]
    Declined(E),
    #[error(transparent)]
    Failed(#[from] AppendError),
}

#[derive(Debug, Error)]
pub enum CreateError {
    #[error("`{0}` cannot be the id of a session")]
    BadId(SessionId),
    #[error("a session begins with its header")]
    NoHeader,
    #[error("session `{0}` exists already")]
    Exists(SessionId),
    #[error(transparent)]
    Failed(#[from] AppendError),
}

#[derive(Debug, Error)]
pub enum ListError {
    #[error(transparent)]
    File(#[from] FileError),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flaw(found) => found.fmt(f),
            Self::TornTail(tail) => tail.fmt(f),
            Self::Odd(oddity) | Self::Theirs(oddity) => oddity.fmt(f),
            Self::Source(trouble) => trouble.fmt(f),
        }
    }
}
