//! Who brings the catalog up to date at this moment, so that nobody begins the same in the background.
//!
//! A person who asks gets an answer whether or not somebody else is at it, so this is held and not waited for.

use std::fs::File;
use std::path::Path;

/// Ends when it is dropped, or with the process that holds it.
#[derive(Debug)]
pub(crate) struct Turn(File);

impl Turn {
    /// `None` where it is another one's, or the home cannot be written.
    pub(crate) fn take(home: &Path) -> Option<Self> {
        let file = offshoot_store::private::open_lock(&home.join("sync.lock")).ok()?;
        file.try_lock().ok()?;
        Some(Self(file))
    }

    /// For another process to hold.
    pub(crate) fn into_file(self) -> File {
        self.0
    }
}
