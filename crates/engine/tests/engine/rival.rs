//! A store on a real disk where another process writes exactly between planning and writing.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use offshoot_engine::shelf::{Drafted, Written};
use offshoot_engine::{Book, Glance, Shelf};
use offshoot_session::plan::{AppendSteps, plan_append};
use offshoot_session::queue::Queued;
use offshoot_session::said::Said;
use offshoot_session::{Entry, EntryId, OperationId, Record, SessionId, SessionTree, Stamps, TurnId};
use offshoot_store::drafts::DraftError;
use offshoot_store::files::Held;
use offshoot_store::{
    AppendError, Basis, CreateError, FileError, Generation, Home, JournalStore, ListError, LockError,
    Locking, ReadError, SessionStore, Stale, WriteError,
};
use offshoot_testkit::FixedStamps;
use serde_json::json;

/// Ids that no other process makes.
pub(crate) struct ElsewhereStamps;

static MADE: AtomicU64 = AtomicU64::new(0);

impl ElsewhereStamps {
    fn next(&self) -> String {
        format!("elsewhere{}", MADE.fetch_add(1, Ordering::SeqCst))
    }
}

impl Stamps for ElsewhereStamps {
    fn now(&mut self) -> Timestamp {
        FixedStamps::start()
    }

    fn entry_id(&mut self) -> EntryId {
        self.next().into()
    }

    fn turn_id(&mut self) -> TurnId {
        self.next().into()
    }

    fn operation_id(&mut self) -> OperationId {
        self.next().into()
    }

    fn session_id(&mut self) -> SessionId {
        self.next().into()
    }

    fn uuid(&mut self) -> String {
        self.next()
    }
}

type Action = Box<dyn FnOnce() + Send>;

/// What the other process does, one action for each moment between a plan and its lock.
#[derive(Clone, Default)]
pub(crate) struct Rival(Arc<Mutex<VecDeque<Action>>>);

impl Rival {
    pub(crate) fn will(&self, action: impl FnOnce() + Send + 'static) {
        self.0.lock().unwrap().push_back(Box::new(action));
    }

    /// How many actions are left.
    pub(crate) fn left(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn act(&self) {
        let action = self.0.lock().unwrap().pop_front();
        if let Some(action) = action {
            action();
        }
    }
}

impl fmt::Debug for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} actions", self.left())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RivalShelf {
    pub(crate) store: JournalStore,
    pub(crate) rival: Rival,
    pub(crate) full: FullDisk,
}

/// The disk has no room for the journals of these sessions.
#[derive(Clone, Debug, Default)]
pub(crate) struct FullDisk(Arc<Mutex<HashSet<SessionId>>>);

impl FullDisk {
    pub(crate) fn fill(&self, id: &SessionId) {
        self.0.lock().unwrap().insert(id.clone());
    }

    pub(crate) fn free(&self) {
        self.0.lock().unwrap().clear();
    }

    fn check(&self, id: &SessionId) -> Result<(), AppendError> {
        if !self.0.lock().unwrap().contains(id) {
            return Ok(());
        }
        let source = std::io::ErrorKind::StorageFull.into();
        Err(AppendError::Disk(FileError { doing: "write", path: "journal".into(), source }))
    }
}

#[derive(Debug)]
struct RivalBook {
    id: SessionId,
    book: Box<dyn Book>,
    rival: Rival,
    full: FullDisk,
    is_held: bool,
}

/// The store as a process of its own sees it.
pub(crate) fn process(home: &Path, name: &str) -> JournalStore {
    JournalStore::at(Home::at(home), Locking { wait: Duration::from_millis(50), ..Locking::by(name) })
}

/// Appends a message below the head, as its own step.
pub(crate) fn append_elsewhere(store: &JournalStore, id: &SessionId, text: &str) {
    let mut stamps = ElsewhereStamps;
    let said = Said::from_value(json!({ "role": "user", "text": text })).unwrap();
    let appended = store.append(id, &mut |tree| {
        plan_append(tree, [said.clone()], AppendSteps::One, &mut stamps).ok().map(|planned| planned.records)
    });
    assert!(appended.unwrap().is_some_and(|appended| appended.records > 0));
}

impl Shelf for RivalShelf {
    fn create(&self, records: &[Record]) -> Result<(), CreateError> {
        Shelf::create(&self.store, records)
    }

    fn remove_created(&self, records: &[Record]) -> Result<bool, AppendError> {
        Shelf::remove_created(&self.store, records)
    }

    fn open(&self, id: &SessionId) -> Result<Option<Box<dyn Book>>, ReadError> {
        let (id, rival, full) = (id.clone(), self.rival.clone(), self.full.clone());
        let book = Shelf::open(&self.store, &id)?;
        Ok(book.map(|book| Box::new(RivalBook { id, book, rival, full, is_held: false }) as Box<dyn Book>))
    }

    fn introduce(&self, id: &SessionId, path: &Path) -> Result<(), String> {
        Shelf::introduce(&self.store, id, path)
    }

    fn is_small(&self, id: &SessionId) -> bool {
        Shelf::is_small(&self.store, id)
    }

    fn lock_steps(&self) -> Result<Box<dyn Held>, LockError> {
        Shelf::lock_steps(&self.store)
    }

    fn list(&self) -> Result<Vec<SessionId>, ListError> {
        Shelf::list(&self.store)
    }

    fn glances(&self) -> HashMap<SessionId, Glance> {
        self.store.glances()
    }
}

impl Book for RivalBook {
    fn tree(&self) -> &SessionTree {
        self.book.tree()
    }

    fn generation(&self) -> Generation {
        self.book.generation()
    }

    fn refresh(&mut self) -> Result<bool, ReadError> {
        self.book.refresh()
    }

    fn is_written_elsewhere(&self) -> bool {
        self.book.is_written_elsewhere()
    }

    fn hold(&mut self) -> Result<(), LockError> {
        if !self.is_held {
            self.rival.act();
        }
        self.book.hold()?;
        self.is_held = true;
        Ok(())
    }

    fn release(&mut self) {
        self.is_held = false;
        self.book.release();
    }

    fn append(&mut self, basis: Basis, records: &[Record]) -> Result<Written, WriteError<Stale>> {
        if !self.is_held {
            self.rival.act();
        }
        self.full.check(&self.id)?;
        self.book.append(basis, records)
    }

    fn draft(&mut self, steps: &[Drafted]) -> Result<(), DraftError> {
        self.book.draft(steps)
    }

    fn drafts_left(&self) -> Result<Vec<Entry>, DraftError> {
        self.book.drafts_left()
    }

    fn clear_drafts(&mut self) -> Result<(), DraftError> {
        self.book.clear_drafts()
    }

    fn keep_waiting(&mut self, waiting: &[Queued]) -> Result<(), DraftError> {
        self.book.keep_waiting(waiting)
    }

    fn waiting_left(&self) -> Result<Vec<Queued>, DraftError> {
        self.book.waiting_left()
    }
}
