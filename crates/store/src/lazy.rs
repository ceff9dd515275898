//! A long session, read as far as it is looked at.
//!
//! [`LazySession`] knows the shape of a whole session and reads the bodies it is asked for. It takes a gigabyte
//! as one pass over the bytes, or, with a side index, as one pass over the index; the last messages of a branch,
//! a context or an outline then cost what they show. It works on our journals and on files of pi where they lie.
//!
//! | step | module |
//! |---|---|
//! | a file in large pieces, read ahead | `chunks` |
//! | the envelopes of a file | `skim` |
//! | kept for the next time | `index` |
//! | some lines, looked over | `lines` |
//! | what they say | `bodies` |
//! | the same, kept while there is room | `kept` |
//! | paths, and the last messages on them | `look` |
//! | what a model reads | `context` |
//! | the tree as rows | `rows` |
//! | a tree with some of the words | `thin` |
//!
//! One decision: checksums are checked when a body is read, and for the last batch. So damage in the middle of a
//! journal is found when somebody looks there, and not before; reading whole ([`crate::JournalStore::journal`])
//! and [`crate::fsck()`] find it always. A file that is not as its program writes it is [`OpenError::Unusual`]: it
//! is for the whole reading.

mod bodies;
mod chunks;
mod context;
mod index;
mod kept;
mod lines;
mod look;
mod rows;
mod skim;
mod thin;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use offshoot_session::SessionId;
use offshoot_session::file_name::is_file_name;
use offshoot_session::format::{NewerFormat, Tail};
use offshoot_session::skeleton::{Skeleton, Unusual};
use thiserror::Error;

use crate::files::{DiskFiles, FileError, Files, OpenFile, Pages};
use crate::home::Home;
use crate::journal_store::JournalStore;
pub use context::{LazyContext, LazyMessage};
use kept::Kept;
pub use rows::Row;
use skim::{Extent, Known};

/// Parsed messages are kept up to this many bytes of their lines.
pub const CACHE_BYTES: u64 = 256 << 20;

#[derive(Debug)]
pub struct LazySession {
    files: Arc<dyn Files>,
    /// Where blobs and indexes lie.
    home: Option<Home>,
    path: PathBuf,
    format: Format,
    index_path: Option<PathBuf>,
    file: Box<dyn OpenFile>,
    skeleton: Skeleton,
    extent: Extent,
    kept: Mutex<Kept>,
    /// Lines are read into them, call after call; there are as many as threads that read at once.
    pages: Mutex<Vec<Pages>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Journal,
    Pi,
}

/// Whether a side index may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UseIndex {
    Yes,
    No,
}

#[derive(Debug, Error)]
pub enum OpenError {
    #[error("`{}` is for the whole reading", path.display())]
    Unusual { path: PathBuf, source: Unusual },
    #[error("`{}`", path.display())]
    Newer { path: PathBuf, source: NewerFormat },
    #[error(transparent)]
    File(#[from] FileError),
}

#[derive(Debug, Error)]
pub enum LazyError {
    #[error("entry `{0}` does not exist")]
    NotFound(offshoot_session::EntryId),
    /// The line at this place is not the one that was skimmed.
    #[error("`{}` was changed while it was read", path.display())]
    Changed { path: PathBuf },
    #[error("the line at byte {offset} of `{}` is damaged", path.display())]
    Damaged { path: PathBuf, offset: u64 },
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("could not make a line")]
    Unwritable(#[from] offshoot_session::format::Unwritable),
}

impl JournalStore {
    /// A session to look at. `None`: there is no such session, or a part of it is told by another program's file, which
    /// only the whole reading knows.
    pub fn lazy(&self, id: &SessionId, index: UseIndex) -> Result<Option<LazySession>, OpenError> {
        if !is_file_name(id.as_str()) {
            return Ok(None);
        }
        let place = Place {
            path: self.home.journal(id),
            format: Format::Journal,
            index_path: Some(self.home.journal_index(id)),
            home: Some(self.home.clone()),
        };
        let session = LazySession::open(self.files.clone(), place, index)?;
        let is_complete =
            |session: &LazySession| session.skeleton().header().is_none_or(|header| header.foreign.is_none());
        Ok(session.filter(|session| session.extent.end.offset > 0).filter(is_complete))
    }
}

struct Place {
    path: PathBuf,
    format: Format,
    index_path: Option<PathBuf>,
    home: Option<Home>,
}

impl LazySession {
    /// A file of pi or oh-my-pi, or a journal, where it lies. Without a home there is no index and no blob.
    pub fn of_file(
        path: &Path,
        format: Format,
        home: Option<&Home>,
        index: UseIndex,
    ) -> Result<Option<Self>, OpenError> {
        let index_path = home.map(|home| home.index_of(path));
        let place = Place { path: path.to_owned(), format, index_path, home: home.cloned() };
        Self::open(Arc::new(DiskFiles), place, index)
    }

    fn open(files: Arc<dyn Files>, place: Place, index: UseIndex) -> Result<Option<Self>, OpenError> {
        let Place { path, format, index_path, home } = place;
        let Some((file, stat)) = skim::open(files.as_ref(), &path)? else { return Ok(None) };
        let known = match (&index_path, index) {
            (Some(index_path), UseIndex::Yes) => {
                index::load(files.as_ref(), index_path, format, file.as_ref(), &stat)
            }
            (Some(_), UseIndex::No) | (None, _) => None,
        };
        let is_from_index = known.is_some();
        let read = match skim::skeleton(file.as_ref(), &path, format, &stat, known) {
            Err(OpenError::Unusual { .. }) if is_from_index => {
                skim::skeleton(file.as_ref(), &path, format, &stat, None) // only the index may be unusual
            }
            read => read,
        };
        let (skeleton, extent) = read?;
        let kept = Mutex::new(Kept::new(CACHE_BYTES));
        let pages = Mutex::default();
        Ok(Some(Self { files, home, path, format, index_path, file, skeleton, extent, kept, pages }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn format(&self) -> Format {
        self.format
    }

    /// The shape of the session: entries by number, heads, labels, title.
    pub fn skeleton(&self) -> &Skeleton {
        &self.skeleton
    }

    /// What lies unfinished at the end: being written just now, or left by a crash.
    pub fn tail(&self) -> Option<Tail> {
        self.extent.tail
    }

    /// The index that was found covers only a part, or there was none.
    pub fn wants_index(&self) -> bool {
        self.index_path.is_some() && self.extent.from_index < self.extent.end.offset
    }

    /// Keeps the shape for the next time. Meant to be called when the person has seen what they asked for; a
    /// failure costs nothing but the time it would have saved.
    pub fn save_index(&self) -> Result<(), FileError> {
        match &self.index_path {
            Some(path) => index::save(self, path),
            None => Ok(()),
        }
    }

    /// Looks whether the file has changed. What is new is read where it only grew, and all of it otherwise. The
    /// numbers of entries are others then: ids stay.
    pub fn refresh(&mut self) -> Result<(), OpenError> {
        let Some((file, stat)) = skim::open(self.files.as_ref(), &self.path)? else {
            return self.read_again();
        };
        if stat == self.extent.stat {
            return Ok(());
        }
        let end = self.extent.end.offset;
        let only_grew = stat.identity == self.extent.stat.identity
            && stat.length > self.extent.stat.length
            && !self.extent.is_open_ended
            && self.extent.ends.is_some()
            && index::ends(file.as_ref(), end) == self.extent.ends;
        if !only_grew {
            return self.read_again();
        }
        let known = Known {
            log: std::mem::take(&mut self.skeleton).log,
            end,
            last_batch: self.extent.last_batch.offset,
            is_oh_my_pi: self.extent.is_oh_my_pi,
        };
        match skim::skeleton(file.as_ref(), &self.path, self.format, &stat, Some(known)) {
            Ok((skeleton, extent)) => {
                let from_index = self.extent.from_index;
                (self.skeleton, self.extent) = (skeleton, Extent { from_index, ..extent });
                self.file = file;
                Ok(())
            }
            Err(_) => self.read_again(),
        }
    }

    /// Reads the whole shape again from the file that has the name now.
    pub(crate) fn read_again(&mut self) -> Result<(), OpenError> {
        let Some((file, stat)) = skim::open(self.files.as_ref(), &self.path)? else {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(FileError { doing: "open", path: self.path.clone(), source }.into());
        };
        let (skeleton, extent) = skim::skeleton(file.as_ref(), &self.path, self.format, &stat, None)?;
        self.file = file;
        self.skeleton = skeleton;
        self.extent = extent;
        self.kept = Mutex::new(Kept::new(CACHE_BYTES));
        Ok(())
    }
}
