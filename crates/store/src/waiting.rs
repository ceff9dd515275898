//! What waits to be said, beside the journal, so that a crash costs none of it.
//!
//! It is little and changes seldom, so the whole of it is written anew each time, and is safe when that returns. A
//! prompt that waits is a line like any entry: its id is the one under which it waits, its turn the one it waits for.
//!
//! Whoever writes it is the engine of the home: two never do at once.

use std::io;
use std::sync::Arc;

use offshoot_session::format::draft::read_drafts;
use offshoot_session::format::{InBatch, encode};
use offshoot_session::{Entry, Record, SessionId};

use crate::blobs::{self, StoredBlobs};
use crate::drafts::DraftError;
use crate::files::{About, FileError, Files, Open, append_all, read_from};
use crate::home::Home;
use crate::journal_store::JournalStore;

#[derive(Debug)]
pub struct Waiting {
    files: Arc<dyn Files>,
    home: Home,
    id: SessionId,
}

impl JournalStore {
    /// What waits to be said in a session.
    pub fn waiting(&self, id: &SessionId) -> Waiting {
        Waiting { files: self.files.clone(), home: self.home.clone(), id: id.clone() }
    }
}

impl Waiting {
    /// These and no others. When this returns they are safe.
    pub fn keep(&self, prompts: &[Entry]) -> Result<(), DraftError> {
        let path = self.home.waiting(&self.id);
        if prompts.is_empty() {
            return match self.files.remove(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => Ok(removed.about("remove", &path)?),
            };
        }
        let mut lines = Vec::new();
        for prompt in prompts {
            let encoded = encode(&Record::entry(prompt.clone()), InBatch::Last)?;
            for blob in &encoded.blobs {
                blobs::put(self.files.as_ref(), &self.home, blob)?;
            }
            lines.extend_from_slice(&encoded.line);
        }
        Ok(self.replace(&lines)?)
    }

    /// What was kept last, in its order.
    pub fn left(&self) -> Result<Vec<Entry>, DraftError> {
        let path = self.home.waiting(&self.id);
        let file = match self.files.open(&path, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.about("open", &path)?,
        };
        let bytes = read_from(file.as_ref(), 0).about("read", &path)?;
        Ok(read_drafts(&bytes, &StoredBlobs { files: self.files.as_ref(), home: &self.home }))
    }

    /// Under its name there is always a whole file, the old one or the new one.
    fn replace(&self, lines: &[u8]) -> Result<(), FileError> {
        let path = self.home.waiting(&self.id);
        let mut new = path.clone().into_os_string();
        new.push(".new");
        let new = std::path::PathBuf::from(new);
        match self.files.remove(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error).about("remove", &new)?,
            _ => {}
        }
        let mut file = self.files.open(&new, Open::CreateNew).about("create", &new)?;
        append_all(file.as_mut(), lines).about("write", &new)?;
        file.sync().about("sync", &new)?;
        self.files.rename(&new, &path).about("rename to", &path)?;
        let folder = self.home.sessions();
        self.files.sync_folder(&folder).about("sync the folder", &folder)
    }
}
