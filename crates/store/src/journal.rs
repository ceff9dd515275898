//! One journal: read it, catch up with what others wrote, append to it.
//!
//! [`Journal`] holds the tree of what it has read and knows how far that was, so catching up reads only what is
//! new. Between calls it holds no lock, unless asked to ([`Journal::hold`]): another process may write in the
//! meantime, and a plan is made only after catching up, under the lock.
//!
//! The file it writes stays open from the first write on, and whether it still has its name is asked each time. A
//! file that is closed after each append costs the disk more: it gives back the room it had set aside for more.

mod append;
mod load;
mod planned;
mod removal;
mod room;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use offshoot_session::format::{Position, Tail};
use offshoot_session::{ForeignSource, Record, SessionHeader, SessionId, SessionTree, Watch};

use crate::files::{Files, Held, Identity, OpenFile, Stat};
use crate::foreign::{ForeignStamp, OtherPrograms};
use crate::home::Home;
use crate::journal_store::JournalStore;
use crate::lock::{LockError, Locking, lock};
use crate::store::{Appended, CreateError, Finding, Loaded, ReadError, WriteError};
use load::Foreign;
pub use planned::{Basis, Generation, Stale};
use room::Room;

#[derive(Debug)]
pub struct Journal {
    files: Arc<dyn Files>,
    home: Home,
    locking: Locking,
    watch: Watch,
    others: Option<OtherPrograms>,
    id: SessionId,
    tree: SessionTree,
    generation: Generation,
    /// Of a journal that goes on with another program's session: how that was when it was read.
    theirs: Option<(ForeignSource, ForeignStamp)>,
    /// How many records at the end of the tree's log are lines of this journal.
    own_records: usize,
    /// Nothing is on the disk yet: this will be its header.
    unwritten: Option<SessionHeader>,
    findings: Vec<Finding>,
    tail: Option<Tail>,
    seen: Seen,
    held: Option<Box<dyn Held>>,
    /// Open to append to, after the first write.
    writer: Option<Writer>,
}

/// The file that is appended to. Which file it is was asked when it was opened: an open file stays the same.
#[derive(Debug)]
struct Writer {
    file: Box<dyn OpenFile>,
    identity: Identity,
    room: Room,
}

/// How much of which file the tree stands for.
#[derive(Clone, Debug, Default)]
struct Seen {
    identity: Identity,
    end: Position,
    /// The bytes before `end`: another history would have another checksum there.
    seal: Vec<u8>,
}

/// What catching up brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    Nothing,
    /// So many records of others.
    More(usize),
    /// The file is not the one that was read, or not any more what it was: all was read again.
    Reloaded,
}

impl Journal {
    pub(crate) fn open(store: &JournalStore, id: SessionId) -> Result<Option<Self>, ReadError> {
        let mut journal = Self::unread(store, id);
        Ok(journal.load()?.then_some(journal))
    }

    pub(crate) fn create(
        store: &JournalStore,
        id: SessionId,
        records: &[Record],
    ) -> Result<(Self, Appended), CreateError> {
        let mut journal = Self::unread(store, id);
        let appended = journal.begin(records)?;
        Ok((journal, appended))
    }

    /// The journal of another program's session that nobody has changed here. Its file is made by the first write.
    pub(crate) fn unwritten(store: &JournalStore, header: SessionHeader) -> Self {
        let mut journal = Self::unread(store, header.id.clone());
        journal.begin_with(header);
        journal
    }

    fn begin_with(&mut self, header: SessionHeader) {
        self.findings.clear();
        self.fold(vec![Record::opened(header.clone())]);
        self.unwritten = Some(header);
    }

    fn unread(store: &JournalStore, id: SessionId) -> Self {
        Self {
            files: store.files.clone(),
            home: store.home.clone(),
            locking: store.locking.clone(),
            watch: store.watch.clone(),
            others: store.others.clone(),
            id,
            tree: SessionTree::default(),
            generation: Generation::default(),
            theirs: None,
            own_records: 0,
            unwritten: None,
            findings: Vec::new(),
            tail: None,
            seen: Seen::default(),
            held: None,
            writer: None,
        }
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    pub fn path(&self) -> PathBuf {
        self.home.journal(&self.id)
    }

    /// The session as far as it was read or written here. Everything in it is on the disk.
    pub fn tree(&self) -> &SessionTree {
        &self.tree
    }

    /// What was forgiven, and what lies unfinished at the end.
    pub fn findings(&self) -> Vec<Finding> {
        self.findings.iter().cloned().chain(self.tail.map(Finding::TornTail)).collect()
    }

    /// The records of this journal, without those of another program's session that it goes on with.
    pub fn own_records(&self) -> impl Iterator<Item = &Record> {
        let all = self.tree.log().count();
        self.tree.log().skip(all.saturating_sub(self.own_records))
    }

    pub fn into_loaded(mut self) -> Loaded {
        Loaded { findings: self.findings(), tree: std::mem::take(&mut self.tree) }
    }

    /// Takes the lock and keeps it until [`Journal::release`] or the end of this handle.
    pub fn hold(&mut self) -> Result<(), LockError> {
        if self.held.is_none() {
            self.held = Some(self.lock()?);
        }
        Ok(())
    }

    /// Whether this handle keeps the lock.
    pub fn is_held(&self) -> bool {
        self.held.is_some()
    }

    pub fn release(&mut self) {
        self.held = None;
    }

    /// Reads what others have written since.
    pub fn refresh(&mut self) -> Result<Refreshed, ReadError> {
        match self.unwritten.is_some() {
            true => self.catch_up_unwritten(Foreign::Read),
            false => self.catch_up(),
        }
    }

    /// Asks what to write, given the session as it is, and writes it as one step: locked, caught up, checked,
    /// synced, then visible. When anything fails, the tree stays as it was before the plan.
    ///
    /// A step may be the work of several callers: all of its records cost one sync.
    pub fn write<E>(
        &mut self,
        plan: impl FnOnce(&SessionTree) -> Result<Vec<Record>, E>,
    ) -> Result<Appended, WriteError<E>> {
        self.write_with(Foreign::Read, |journal| plan(&journal.tree).map(Cow::Owned))
    }

    /// Gives back the room behind the end. Only under the lock is it known where that is; who waits for it keeps
    /// nobody waiting here, and room that stays is taken up by the next appends.
    fn give_back_room(&mut self) {
        let Some(mut writer) = self.writer.take() else { return };
        if !writer.room.is_left(self.seen.end.offset) {
            return;
        }
        let _lock = match self.held.take() {
            Some(held) => held,
            None => {
                let locking = Locking { wait: Duration::ZERO, ..self.locking.clone() };
                match lock(self.files.as_ref(), &self.home.lock(&self.id), &self.path(), &locking) {
                    Ok(held) => held,
                    Err(_) => return,
                }
            }
        };
        if let Ok(Stat { length, .. }) = writer.file.stat() {
            let _ = writer.file.give_back(length);
        }
    }

    fn lock(&self) -> Result<Box<dyn Held>, LockError> {
        if self.unwritten.is_some() {
            self.home.prepare(self.files.as_ref())?;
        }
        lock(self.files.as_ref(), &self.home.lock(&self.id), &self.path(), &self.locking)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.give_back_room();
    }
}
