//! Sessions held open to be written.
//!
//! A store keeps sessions; an actor stays with one of them for a long time and writes to it often. [`Book`] is that
//! session in hand: its tree, one append after the other, and beside them the drafts of what is still being said.

mod glances;
mod journals;
mod memory;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use offshoot_session::live::Delta;
use offshoot_session::queue::Queued;
use offshoot_session::{Entry, EntryId, Record, SessionId, SessionTree};
use offshoot_store::drafts::DraftError;
use offshoot_store::files::Held;
use offshoot_store::store::Repaired;
use offshoot_store::{
    AppendError, Basis, CreateError, Generation, ListError, LockError, ReadError, Stale, WriteError,
};

pub use memory::MemoryShelf;

/// Where sessions are kept. All calls may block.
pub trait Shelf: fmt::Debug + Send + Sync {
    /// Begins a session; see [`offshoot_store::SessionStore::create`].
    fn create(&self, records: &[Record]) -> Result<(), CreateError>;

    /// Takes back what was just created; see [`offshoot_store::SessionStore::remove_created`].
    fn remove_created(&self, records: &[Record]) -> Result<bool, AppendError>;

    /// `None`: there is no such session.
    fn open(&self, id: &SessionId) -> Result<Option<Box<dyn Book>>, ReadError>;

    /// A session that another program keeps at this place may be opened under this id from now on. The answer says why not.
    fn introduce(&self, id: &SessionId, path: &Path) -> Result<(), String>;

    /// One process at a time undoes or redoes a step of two sessions, as long as it keeps the answer.
    fn lock_steps(&self) -> Result<Box<dyn Held>, LockError>;

    /// Whether opening it takes less time than starting a thread for it. Not known is `false`.
    fn is_small(&self, id: &SessionId) -> bool;

    fn list(&self) -> Result<Vec<SessionId>, ListError>;

    /// What is known of sessions as they are now without opening them. Any may be missing.
    fn glances(&self) -> HashMap<SessionId, Glance>;
}

/// A session as far as a list tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glance {
    /// Given by a person, or else what was asked first.
    pub title: Option<String>,
    pub project: Option<String>,
    pub agent: Option<String>,
    pub prompts: usize,
    pub parent: Option<String>,
    /// When something was last written.
    pub active_at: Timestamp,
}

/// One session in hand. All calls but [`Book::tree`] may block.
pub trait Book: fmt::Debug + Send {
    /// The session as far as it was read or written here. Everything in it is safe.
    fn tree(&self) -> &SessionTree;

    /// The state of the tree that a plan is made on; see [`Book::append`].
    fn generation(&self) -> Generation;

    /// Reads what others have written since. `false`: nothing.
    fn refresh(&mut self) -> Result<bool, ReadError>;

    /// Whether another process writes the session just now. Asking leaves no trace.
    fn is_written_elsewhere(&self) -> bool;

    /// Nobody else may write until [`Book::release`].
    fn hold(&mut self) -> Result<(), LockError>;

    fn release(&mut self);

    /// Writes all of them or none. When this returns they are safe. [`Stale`]: the session has changed since they were
    /// planned, nothing was written, and [`Book::tree`] is the one to plan on again.
    fn append(&mut self, basis: Basis, records: &[Record]) -> Result<Written, WriteError<Stale>>;

    /// Keeps what is being said. It survives the end of the process, not that of the power.
    fn draft(&mut self, steps: &[Drafted]) -> Result<(), DraftError>;

    /// What a crash has left and the session does not have.
    fn drafts_left(&self) -> Result<Vec<Entry>, DraftError>;

    fn clear_drafts(&mut self) -> Result<(), DraftError>;

    /// These wait to be said, and no others. When this returns they are safe.
    fn keep_waiting(&mut self, waiting: &[Queued]) -> Result<(), DraftError>;

    /// What was kept last, in its order.
    fn waiting_left(&self) -> Result<Vec<Queued>, DraftError>;
}

/// What an append did besides writing its records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// What a crash had left at the end, and where it is kept now.
    pub repaired: Option<Repaired>,
    /// A foreign file had changed, and the tree now contains that too.
    pub has_foreign_changes: bool,
}

/// One thing that was shown before it was safe.
#[derive(Clone, Debug, PartialEq)]
pub enum Drafted {
    /// An entry as far as it is known, in the place of what was known of it.
    Entry(Box<Entry>),
    Words {
        entry: EntryId,
        text: String,
    },
    Thinking {
        entry: EntryId,
        text: String,
    },
}

impl Drafted {
    /// What is added to an entry; `None` for an entry itself.
    fn delta(&self) -> Option<(&EntryId, Delta<'_>)> {
        match self {
            Self::Entry(_) => None,
            Self::Words { entry, text } => Some((entry, Delta::Words(text))),
            Self::Thinking { entry, text } => Some((entry, Delta::Thinking(text))),
        }
    }
}
