//! Taking back a session that was created a moment ago, because the step that it is a part of failed.

use std::io;

use offshoot_session::format::encode_batch;
use offshoot_session::{Record, SessionId};

use super::Journal;
use crate::files::{About, Open, read_from};
use crate::journal_store::JournalStore;
use crate::store::AppendError;

impl Journal {
    /// Removes the journal if it is exactly what these records are on the disk. The lock file stays: another process
    /// may be waiting for it, and would hold a lock that nobody else can see.
    pub(crate) fn remove_created(
        store: &JournalStore,
        id: SessionId,
        records: &[Record],
    ) -> Result<bool, AppendError> {
        let mut journal = Self::unread(store, id);
        journal.hold()?;
        let path = journal.path();
        let file = match journal.files.open(&path, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            file => file.about("open", &path)?,
        };
        let found = read_from(file.as_ref(), 0).about("read", &path)?;
        if found != encode_batch(records)?.bytes {
            return Ok(false);
        }
        journal.files.remove(&path).about("remove", &path)?;
        let folder = journal.home.sessions();
        journal.files.sync_folder(&folder).about("sync the folder", &folder)?;
        Ok(true)
    }
}
