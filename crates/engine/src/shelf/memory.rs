//! Sessions in memory, for chats that write no file and for tests. They live as long as the shelf: another engine on the
//! same shelf finds them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_session::queue::Queued;
use offshoot_session::{Block, Body, Entry, EntryId, Record, SessionId, SessionTree};
use offshoot_store::drafts::DraftError;
use offshoot_store::files::Held;
use offshoot_store::{
    AppendError, Basis, CreateError, Generation, ListError, LockError, MemoryStore, ReadError, SessionStore,
    Stale, WriteError,
};

use super::{Book, Drafted, Glance, Shelf, Written};

#[derive(Clone, Debug, Default)]
pub struct MemoryShelf {
    store: Arc<MemoryStore>,
    drafts: Arc<Mutex<HashMap<SessionId, Vec<Entry>>>>,
    waiting: Arc<Mutex<HashMap<SessionId, Vec<Queued>>>>,
}

#[derive(Debug)]
struct MemoryBook {
    shelf: MemoryShelf,
    id: SessionId,
    tree: SessionTree,
    generation: Generation,
}

#[derive(Debug)]
struct OneProcess;

impl Held for OneProcess {}

impl MemoryShelf {
    pub fn new() -> Self {
        Self::default()
    }

    /// A draft is replaced or added as a whole, so a thread that died here left nothing half done.
    fn drafts(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Entry>>> {
        self.drafts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<SessionId, Vec<Queued>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf for MemoryShelf {
    fn create(&self, records: &[Record]) -> Result<(), CreateError> {
        self.store.create(records).map(|_| ())
    }

    fn remove_created(&self, records: &[Record]) -> Result<bool, AppendError> {
        self.store.remove_created(records)
    }

    fn open(&self, id: &SessionId) -> Result<Option<Box<dyn Book>>, ReadError> {
        let Some(loaded) = self.store.read(id)? else { return Ok(None) };
        let (shelf, generation) = (self.clone(), Generation::default());
        Ok(Some(Box::new(MemoryBook { shelf, id: id.clone(), tree: loaded.tree, generation })))
    }

    fn introduce(&self, id: &SessionId, _path: &Path) -> Result<(), String> {
        Err(format!("session `{id}` is not kept here"))
    }

    /// Sessions in memory belong to one process.
    fn is_small(&self, _id: &SessionId) -> bool {
        true
    }

    fn lock_steps(&self) -> Result<Box<dyn Held>, LockError> {
        Ok(Box::new(OneProcess))
    }

    fn list(&self) -> Result<Vec<SessionId>, ListError> {
        self.store.list()
    }

    fn glances(&self) -> HashMap<SessionId, Glance> {
        HashMap::new()
    }
}

impl Book for MemoryBook {
    fn tree(&self) -> &SessionTree {
        &self.tree
    }

    fn generation(&self) -> Generation {
        self.generation
    }

    /// Whoever else writes is in this process, and there an engine opens a session once.
    fn refresh(&mut self) -> Result<bool, ReadError> {
        Ok(false)
    }

    fn is_written_elsewhere(&self) -> bool {
        false
    }

    fn hold(&mut self) -> Result<(), LockError> {
        Ok(())
    }

    fn release(&mut self) {}

    fn append(&mut self, basis: Basis, records: &[Record]) -> Result<Written, WriteError<Stale>> {
        if basis != Basis::Lock && basis != Basis::Generation(self.generation) {
            return Err(WriteError::Declined(Stale));
        }
        let tree = self.tree.extended(records).map_err(AppendError::from)?;
        self.shelf.store.append(&self.id, &mut |_| Some(records.to_vec()))?;
        self.tree = tree;
        self.generation = self.generation.next();
        Ok(Written::default())
    }

    fn draft(&mut self, steps: &[Drafted]) -> Result<(), DraftError> {
        let mut drafts = self.shelf.drafts();
        let entries = drafts.entry(self.id.clone()).or_default();
        for step in steps {
            match step {
                Drafted::Entry(entry) => {
                    entries.retain(|known| known.id != entry.id);
                    entries.push(Entry::clone(entry));
                }
                Drafted::Words { entry, text } => grow(entries, entry, Block::Text(text.clone())),
                Drafted::Thinking { entry, text } => grow(entries, entry, Block::Thinking(text.clone())),
            }
        }
        Ok(())
    }

    fn drafts_left(&self) -> Result<Vec<Entry>, DraftError> {
        let left = self.shelf.drafts().get(&self.id).cloned().unwrap_or_default();
        Ok(left.into_iter().filter(|entry| !self.tree.contains(&entry.id)).collect())
    }

    fn clear_drafts(&mut self) -> Result<(), DraftError> {
        self.shelf.drafts().remove(&self.id);
        Ok(())
    }

    fn keep_waiting(&mut self, waiting: &[Queued]) -> Result<(), DraftError> {
        self.shelf.waiting().insert(self.id.clone(), waiting.to_vec());
        Ok(())
    }

    fn waiting_left(&self) -> Result<Vec<Queued>, DraftError> {
        Ok(self.shelf.waiting().get(&self.id).cloned().unwrap_or_default())
    }
}

fn grow(entries: &mut [Entry], id: &EntryId, more: Block) {
    let Some(Body::Reply(reply)) =
        entries.iter_mut().find(|entry| entry.id == *id).map(|entry| &mut entry.body)
    else {
        return;
    };
    match (reply.blocks.last_mut(), more) {
        (Some(Block::Text(text)), Block::Text(more))
        | (Some(Block::Thinking(text)), Block::Thinking(more)) => {
            text.push_str(&more);
        }
        (_, more) => reply.blocks.push(more),
    }
}
