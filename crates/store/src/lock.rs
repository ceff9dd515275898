//! Who may write a journal. Reading needs no lock.
//!
//! The lock belongs to an open file, so it ends with its process however that dies. There is no queue: a process that
//! waits tries again every few milliseconds. It is patient with a writer that makes progress, which it sees in the
//! length and the time of the journal, and gives up with the name of the holder when nothing happens any more.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use thiserror::Error;

use crate::files::{About, FileError, Files, Held, Stat, TryLock};

const TRY_AGAIN: Duration = Duration::from_millis(10);

/// How to take locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Locking {
    /// The name under which others see the holder.
    pub program: String,
    /// How long to wait for another writer that makes no progress.
    pub wait: Duration,
    /// How long to wait for another writer at all.
    pub longest_wait: Duration,
}

#[derive(Debug, Error)]
pub enum LockError {
    #[error("`{}` is held by {holder}", path.display())]
    Held {
        path: PathBuf,
        holder: String,
        /// The process that holds it, where the lock file names one.
        pid: Option<u32>,
    },
    #[error(transparent)]
    File(#[from] FileError),
}

impl Locking {
    pub fn by(program: impl Into<String>) -> Self {
        Self { program: program.into(), wait: Duration::from_secs(2), longest_wait: Duration::from_secs(30) }
    }
}

/// Takes the lock at `path`, which guards `journal`.
pub(crate) fn lock(
    files: &dyn Files,
    path: &Path,
    journal: &Path,
    how: &Locking,
) -> Result<Box<dyn Held>, LockError> {
    let me = format!("{} (process {}) since {:.0}", how.program, std::process::id(), Timestamp::now());
    let mut patience = Patience::new(Instant::now(), how);
    loop {
        let holder = match files.try_lock(path, &me).about("lock", path)? {
            TryLock::Taken(held) => return Ok(held),
            TryLock::HeldBy(holder) => holder,
        };
        if !patience.lasts(Instant::now(), files.stat(journal).ok()) {
            let pid = pid_in(&holder);
            let holder = if holder.is_empty() { "another program".to_owned() } else { holder };
            return Err(LockError::Held { path: path.to_owned(), holder, pid });
        }
        std::thread::sleep(TRY_AGAIN);
    }
}

/// How much longer to wait for a writer.
#[derive(Debug)]
struct Patience {
    wait: Duration,
    gives_up: Instant,
    ends: Instant,
    seen: Option<Stat>,
}

impl Patience {
    fn new(now: Instant, how: &Locking) -> Self {
        let ends = now + how.longest_wait.max(how.wait);
        Self { wait: how.wait, gives_up: now + how.wait, ends, seen: None }
    }

    /// A journal that has changed since the last look is being written.
    fn lasts(&mut self, now: Instant, journal: Option<Stat>) -> bool {
        let makes_progress = self.seen.is_some() && journal != self.seen;
        self.seen = journal.or(self.seen);
        if makes_progress {
            self.gives_up = now + self.wait;
        }
        now < self.gives_up.min(self.ends)
    }
}

/// The process that the words in a lock file name.
fn pid_in(holder: &str) -> Option<u32> {
    let (_, rest) = holder.rsplit_once("(process ")?;
    rest.split_once(')')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Identity;

    fn journal(length: u64) -> Option<Stat> {
        Some(Stat { length, identity: Identity::default(), modified: 0 })
    }

    #[test]
    fn a_writer_that_makes_progress_is_waited_for() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut patience = Patience::new(now, &Locking::by("test"));
        assert!(patience.lasts(now, journal(10)));
        assert!(patience.lasts(now + second, journal(10)));
        assert!(patience.lasts(now + 2 * second, journal(20)), "it has written");
        assert!(patience.lasts(now + 3 * second, journal(20)));
        assert!(!patience.lasts(now + 4 * second, journal(20)), "two seconds without progress");
    }

    #[test]
    fn a_writer_that_never_ends_is_given_up() {
        let (now, second) = (Instant::now(), Duration::from_secs(1));
        let mut patience = Patience::new(now, &Locking::by("test"));
        let waited =
            (0_u32..).take_while(|tick| patience.lasts(now + *tick * second, journal((*tick).into())));
        assert_eq!(waited.count(), 30);
    }

    #[test]
    fn without_patience_one_look_is_enough() {
        let now = Instant::now();
        let mut patience = Patience::new(now, &Locking { wait: Duration::ZERO, ..Locking::by("test") });
        assert!(!patience.lasts(now, journal(10)));
        assert!(!patience.lasts(now, journal(20)));
    }

    #[test]
    fn the_holder_names_its_process() {
        assert_eq!(pid_in("offshoot (process 4711) since 2026-01-01T00:00:00Z"), Some(4711));
        assert_eq!(pid_in("another program"), None);
        assert_eq!(pid_in(""), None);
    }
}
