//! Who may write a journal. Reading needs no lock.
//!
//! The lock belongs to an open file, so it ends with its process however that dies. There is no queue: who waits
//! looks again every few milliseconds, and gives up with the name of the holder.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use thiserror::Error;

use crate::files::{About, FileError, Files, Held, TryLock};

const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How to take locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locking {
    /// The name under which others see the holder.
    pub program: String,
    /// How long to wait for another writer.
    pub wait: Duration,
}

#[derive(Debug, Error)]
pub enum LockError {
    #[error("`{}` is held by {holder}", path.display())]
    Held { path: PathBuf, holder: String },
    #[error(transparent)]
    File(#[from] FileError),
}

impl Locking {
    pub fn by(program: impl Into<String>) -> Self {
        Self { program: program.into(), wait: Duration::from_secs(2) }
    }
}

pub(crate) fn lock(files: &dyn Files, path: &Path, how: &Locking) -> Result<Box<dyn Held>, LockError> {
    let me = format!("{} (process {}) since {:.0}", how.program, std::process::id(), Timestamp::now());
    let give_up = Instant::now() + how.wait;
    loop {
        match files.try_lock(path, &me).about("lock", path)? {
            TryLock::Taken(held) => return Ok(held),
            TryLock::HeldBy(holder) if Instant::now() >= give_up => {
                let holder = if holder.is_empty() { "another program".to_owned() } else { holder };
                return Err(LockError::Held { path: path.to_owned(), holder });
            }
            TryLock::HeldBy(_) => std::thread::sleep(LOOK_AGAIN),
        }
    }
}
