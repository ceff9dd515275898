//! Sessions on disk.

use offshoot_session::{Entry, Record, SessionId, SessionTree};
use offshoot_store::drafts::DraftError;
use offshoot_store::{
    AppendError, CreateError, Drafts, Journal, JournalStore, ListError, LockError, ReadError, Refreshed,
    SessionStore, WriteError,
};

use super::{Book, Drafted, Shelf};

#[derive(Debug)]
struct JournalBook {
    journal: Journal,
    drafts: Drafts,
}

impl Shelf for JournalStore {
    fn create(&self, records: &[Record]) -> Result<(), CreateError> {
        SessionStore::create(self, records).map(|_| ())
    }

    fn open(&self, id: &SessionId) -> Result<Option<Box<dyn Book>>, ReadError> {
        let Some(journal) = self.journal(id)? else { return Ok(None) };
        Ok(Some(Box::new(JournalBook { journal, drafts: self.drafts(id) })))
    }

    fn list(&self) -> Result<Vec<SessionId>, ListError> {
        SessionStore::list(self)
    }
}

impl Book for JournalBook {
    fn tree(&self) -> &SessionTree {
        self.journal.tree()
    }

    fn refresh(&mut self) -> Result<bool, ReadError> {
        Ok(self.journal.refresh()? != Refreshed::Nothing)
    }

    fn hold(&mut self) -> Result<(), LockError> {
        self.journal.hold()
    }

    fn release(&mut self) {
        self.journal.release();
    }

    fn append(&mut self, records: &[Record]) -> Result<(), AppendError> {
        match self.journal.write(|_| Ok::<_, std::convert::Infallible>(records.to_vec())) {
            Ok(_) => Ok(()),
            Err(WriteError::Declined(never)) => match never {},
            Err(WriteError::Failed(error)) => Err(error),
        }
    }

    fn draft(&mut self, steps: &[Drafted]) -> Result<(), DraftError> {
        for step in steps {
            match step {
                Drafted::Entry(entry) => self.drafts.note(entry)?,
                Drafted::Words { .. } | Drafted::Thinking { .. } => {
                    if let Some((entry, delta)) = step.delta() {
                        self.drafts.extend(entry, &delta)?;
                    }
                }
            }
        }
        self.drafts.flush()
    }

    fn drafts_left(&self) -> Result<Vec<Entry>, DraftError> {
        self.drafts.left(self.journal.tree())
    }

    fn clear_drafts(&mut self) -> Result<(), DraftError> {
        self.drafts.clear()
    }
}
