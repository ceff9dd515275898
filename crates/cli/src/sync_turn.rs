//! Who brings the catalog up to date at this moment, so that nobody begins the same in the background.
//!
//! A person who asks gets an answer whether or not somebody else is at it, so this is held and not waited for.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Ends when it is dropped, or with the process that holds it.
#[derive(Debug)]
pub(crate) struct Turn(File);

impl Turn {
    /// `None` where it is another one's, or the home cannot be written.
    pub(crate) fn take(home: &Path) -> Option<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(home.join("sync.lock")).ok()?;
        file.try_lock().ok()?;
        Some(Self(file))
    }

    /// For another process to hold.
    pub(crate) fn into_file(self) -> File {
        self.0
    }
}
