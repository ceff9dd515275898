//! Replies that are still being written, beside the journal, so that a crash costs at most the last moments of them.
//!
//! Words come in small pieces and are the only thing that is seen before it is safe. They gather in memory and are
//! written in batches, without a sync: the end of the process loses no batch, the end of the power may. When a
//! reply is final it goes into the journal as any entry does, and the drafts are cleared. What is found here by the
//! next one to write is what a crash has left ([`Drafts::left`]); an entry that the journal has is no draft any
//! more.
//!
//! Whoever writes drafts holds the journal ([`crate::Journal::hold`]).

use std::io;
use std::path::Path;
use std::sync::Arc;

use offshoot_session::format::draft::{Words, encode_words, read_drafts};
use offshoot_session::format::{InBatch, Unwritable, encode};
use offshoot_session::live::Delta;
use offshoot_session::{Entry, EntryId, Record, SessionId, SessionTree};
use thiserror::Error;

use crate::blobs::{self, BlobError, StoredBlobs};
use crate::files::{About, FileError, Files, Open, OpenFile, append_all, read_from};
use crate::home::Home;
use crate::journal_store::JournalStore;

/// So many bytes are gathered before they are written.
const BATCH: usize = 4096;

#[derive(Debug)]
pub struct Drafts {
    files: Arc<dyn Files>,
    home: Home,
    id: SessionId,
    /// And how long it is: whoever holds the journal is the only one to write here.
    file: Option<(Box<dyn OpenFile>, u64)>,
    /// Added to this entry and not yet written.
    open: Option<(EntryId, Words)>,
    words: String,
}

#[derive(Debug, Error)]
pub enum DraftError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error("could not make a line")]
    Unwritable(#[from] Unwritable),
}

impl JournalStore {
    /// The drafts of a session.
    pub fn drafts(&self, id: &SessionId) -> Drafts {
        let (files, home) = (self.files.clone(), self.home.clone());
        Drafts { files, home, id: id.clone(), file: None, open: None, words: String::new() }
    }
}

impl Drafts {
    /// An entry as far as it is known: begun, or in other words than before. Written at once.
    pub fn note(&mut self, entry: &Entry) -> Result<(), DraftError> {
        self.flush()?;
        let encoded = encode(&Record::entry(entry.clone()), InBatch::Last)?;
        for blob in &encoded.blobs {
            blobs::put(self.files.as_ref(), &self.home, blob)?;
        }
        self.append(&encoded.line)
    }

    /// Adds to an entry that was noted. Whole blocks are not added: note the entry again.
    pub fn extend(&mut self, id: &EntryId, delta: &Delta<'_>) -> Result<(), DraftError> {
        let (kind, text) = match delta {
            Delta::Words(text) => (Words::Said, text),
            Delta::Thinking(text) => (Words::Thought, text),
            Delta::Block(_) => return Ok(()),
        };
        let goes_on = self.open.as_ref().is_some_and(|(open, of)| open == id && *of == kind);
        if !goes_on {
            self.flush()?;
            self.open = Some((id.clone(), kind));
        }
        self.words.push_str(text);
        if self.words.len() >= BATCH { self.flush() } else { Ok(()) }
    }

    /// Writes what has gathered; to be called now and then, when nothing more comes.
    pub fn flush(&mut self) -> Result<(), DraftError> {
        if let (Some((id, kind)), false) = (&self.open, self.words.is_empty()) {
            let line = encode_words(id.as_str(), *kind, &self.words)?;
            self.append(&line)?;
            self.words.clear();
        }
        Ok(())
    }

    /// What a crash has left and the journal does not have, to be appended to it.
    pub fn left(&self, tree: &SessionTree) -> Result<Vec<Entry>, DraftError> {
        let path = self.home.drafts(&self.id);
        let file = match self.files.open(&path, Open::Read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.about("open", &path)?,
        };
        let bytes = read_from(file.as_ref(), 0).about("read", &path)?;
        let blobs = StoredBlobs { files: self.files.as_ref(), home: &self.home };
        let drafts = read_drafts(&bytes, &blobs);
        Ok(drafts.into_iter().filter(|entry| !tree.contains(&entry.id)).collect())
    }

    /// All of them are in the journal, or given up.
    pub fn clear(&mut self) -> Result<(), DraftError> {
        self.open = None;
        self.words.clear();
        self.file = None;
        let path = self.home.drafts(&self.id);
        match self.files.remove(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => Ok(removed.about("remove", &path)?),
        }
    }

    /// The file to go on with, and how long it is.
    fn opened(&self, path: &Path) -> Result<(Box<dyn OpenFile>, u64), FileError> {
        let file = match self.files.open(path, Open::CreateNew) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let mut file = self.files.open(path, Open::Append).about("open", path)?;
                cut_torn_line(file.as_mut()).about("read", path)?;
                file
            }
            file => file.about("create", path)?,
        };
        let length = file.stat().about("read", path)?.length;
        Ok((file, length))
    }

    fn append(&mut self, line: &[u8]) -> Result<(), DraftError> {
        let path = self.home.drafts(&self.id);
        let (mut file, length) = match self.file.take() {
            Some(open) => open,
            None => self.opened(&path)?,
        };
        if let Err(error) = append_all(file.as_mut(), line) {
            // Half a line would hide all that follows.
            let _ = file.truncate(length);
            return Err(error).about("write", &path)?;
        }
        self.file = Some((file, length + line.len() as u64));
        Ok(())
    }
}

/// A line that a crash left half would hide all that follows.
fn cut_torn_line(file: &mut dyn OpenFile) -> io::Result<()> {
    let bytes = read_from(file, 0)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    if whole < bytes.len() as u64 { file.truncate(whole) } else { Ok(()) }
}
