//! Sessions that live as long as the program.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use offshoot_session::file_name::is_file_name;
use offshoot_session::format::BlobName;
use offshoot_session::{Record, SessionId, SessionTree};

use crate::blobs::BlobError;
use crate::journal_store::header_of;
use crate::store::{
    AppendError, Appended, CreateError, Finding, ListError, Loaded, Plan, ReadError, SessionStore,
};

#[derive(Debug, Default)]
pub struct MemoryStore {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    sessions: BTreeMap<SessionId, SessionTree>,
    blobs: HashMap<BlobName, Vec<u8>>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything is replaced in one step, so a thread that died here left nothing half done.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for MemoryStore {
    fn create(&self, records: &[Record]) -> Result<Appended, CreateError> {
        let header = header_of(records).ok_or(CreateError::NoHeader)?;
        if !is_file_name(header.id.as_str()) {
            return Err(CreateError::BadId(header.id.clone()));
        }
        let mut kept = self.kept();
        if kept.sessions.contains_key(&header.id) {
            return Err(CreateError::Exists(header.id.clone()));
        }
        let (tree, _) = SessionTree::replay(records.iter().cloned());
        kept.sessions.insert(header.id.clone(), tree);
        Ok(Appended { records: records.len(), ..Appended::default() })
    }

    fn read(&self, id: &SessionId) -> Result<Option<Loaded>, ReadError> {
        let Some(tree) = self.kept().sessions.get(id).cloned() else { return Ok(None) };
        let (tree, oddities) = SessionTree::replay(tree.log().cloned());
        Ok(Some(Loaded { tree, findings: oddities.into_iter().map(Finding::Odd).collect() }))
    }

    fn append(&self, id: &SessionId, plan: &mut Plan<'_>) -> Result<Option<Appended>, AppendError> {
        let mut kept = self.kept();
        let tree = kept.sessions.get_mut(id).ok_or_else(|| AppendError::NotFound(id.clone()))?;
        let Some(records) = plan(tree) else { return Ok(None) };
        *tree = tree.extended(&records)?;
        Ok(Some(Appended { records: records.len(), ..Appended::default() }))
    }

    fn remove_created(&self, records: &[Record]) -> Result<bool, AppendError> {
        let Some(header) = header_of(records) else { return Ok(true) };
        let mut kept = self.kept();
        let is_as_created = |tree: &SessionTree| tree.log().eq(records);
        let stays = kept.sessions.get(&header.id).is_some_and(|tree| !is_as_created(tree));
        if !stays {
            kept.sessions.remove(&header.id);
        }
        Ok(!stays)
    }

    fn list(&self) -> Result<Vec<SessionId>, ListError> {
        Ok(self.kept().sessions.keys().cloned().collect())
    }

    fn put_blob(&self, bytes: &[u8]) -> Result<BlobName, BlobError> {
        let name = BlobName::of(bytes);
        self.kept().blobs.insert(name.clone(), bytes.to_vec());
        Ok(name)
    }

    fn blob(&self, name: &BlobName) -> Result<Option<Vec<u8>>, BlobError> {
        Ok(self.kept().blobs.get(name).cloned())
    }
}
