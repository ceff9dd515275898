//! Where things lie.
//!
//! ```text
//! sessions/<id>.jsonl      a journal
//! sessions/<id>.lock       who writes it
//! sessions/<id>.torn-<n>   what a crash left at its end, kept
//! sessions/<id>.drafts     replies that are being written
//! sessions/<id>.waiting    prompts that wait to be said
//! sessions/<id>.idx        where its entries lie; can be deleted
//! steps.lock               who undoes or redoes a step of two sessions
//! index/<hash>.idx         the same for a file of another program, by its path
//! blobs/ab/abcd…           bytes under their hash
//! archive/<path>.zst       what is kept of a file of another program
//! ```

use std::io;
use std::path::{Path, PathBuf};

use offshoot_session::SessionId;
use offshoot_session::file_name::{file_name, is_file_name};
use offshoot_session::format::BlobName;

use crate::files::{About, FileError, Files};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn sessions(&self) -> PathBuf {
        self.root.join("sessions")
    }

    pub fn journal(&self, id: &SessionId) -> PathBuf {
        self.of_session(id, "jsonl")
    }

    pub fn lock(&self, id: &SessionId) -> PathBuf {
        self.of_session(id, "lock")
    }

    /// Held while a step of two sessions is undone or redone in both.
    pub(crate) fn steps_lock(&self) -> PathBuf {
        self.root.join("steps.lock")
    }

    pub fn torn(&self, id: &SessionId, number: u32) -> PathBuf {
        self.of_session(id, &format!("torn-{number}"))
    }

    pub fn journal_index(&self, id: &SessionId) -> PathBuf {
        self.of_session(id, "idx")
    }

    /// For a file that lies elsewhere.
    pub fn index_of(&self, path: &Path) -> PathBuf {
        let name = BlobName::of(path.as_os_str().as_encoded_bytes());
        self.root.join("index").join(format!("{name}.idx"))
    }

    /// Replies that are being written.
    pub fn drafts(&self, id: &SessionId) -> PathBuf {
        self.of_session(id, "drafts")
    }

    /// Prompts that wait to be said.
    pub fn waiting(&self, id: &SessionId) -> PathBuf {
        self.of_session(id, "waiting")
    }

    fn of_session(&self, id: &SessionId, ending: &str) -> PathBuf {
        self.sessions().join(format!("{}.{ending}", file_name(id.as_str())))
    }

    pub fn blobs(&self) -> PathBuf {
        self.root.join("blobs")
    }

    /// Blobs are spread over folders by their first two digits.
    pub fn blob_folder(&self, name: &BlobName) -> PathBuf {
        self.blobs().join(name.as_str().get(..2).unwrap_or_default())
    }

    pub fn blob(&self, name: &BlobName) -> PathBuf {
        self.blob_folder(name).join(name.as_str())
    }

    /// Makes the folders that are missing and their names safe. Doing it again does no harm: whoever was killed
    /// half-way is helped out by the next.
    pub(crate) fn prepare(&self, files: &dyn Files) -> Result<(), FileError> {
        for folder in [&self.root, &self.sessions(), &self.blobs()] {
            files.create_folder(folder).about("create the folder", folder)?;
        }
        files.sync_folder(&self.root).about("sync the folder", &self.root)?;
        // Any folder above may have been made just now, by us or by one who was killed before this line.
        for above in self.root.ancestors().skip(1) {
            let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
            match files.sync_folder(above) {
                Err(error) if is_not_ours_to_sync(&error) => {}
                result => result.about("sync the folder", above)?,
            }
        }
        Ok(())
    }
}

/// Folders far above may be closed to the user, or of a kind that cannot be synced.
fn is_not_ours_to_sync(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};
    matches!(error.kind(), PermissionDenied | InvalidInput | Unsupported)
}

/// The session whose journal has this name.
pub(crate) fn session_of(file_name: &str) -> Option<SessionId> {
    let id = SessionId::from(file_name.strip_suffix(".jsonl")?);
    is_file_name(id.as_str()).then_some(id)
}
