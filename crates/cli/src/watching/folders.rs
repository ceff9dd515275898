//! Folders of which the kernel tells what changes in them.

use std::collections::HashSet;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;

pub(super) struct Folders {
    kernel: OwnedFd,
    watched: HashSet<PathBuf>,
}

impl Folders {
    /// `None` where the kernel tells nothing.
    pub(super) fn new() -> Option<Self> {
        let kernel = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        Some(Self { kernel, watched: HashSet::new() })
    }

    /// Whether one of them is new. A folder that has gone, or may not be looked into, is left out.
    pub(super) fn watch(&mut self, folders: Vec<PathBuf>) -> Result<bool, Errno> {
        let changes = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::ONLYDIR;
        let mut has_new = false;
        let there: HashSet<PathBuf> = folders.iter().cloned().collect();
        self.watched.retain(|folder| there.contains(folder)); // one that comes again is new
        for folder in folders {
            match inotify::add_watch(&self.kernel, &folder, changes) {
                Ok(_) => has_new |= self.watched.insert(folder),
                Err(error @ (Errno::NOSPC | Errno::NOMEM)) => return Err(error),
                Err(_) => {}
            }
        }
        Ok(has_new)
    }

    /// Takes all that the kernel tells, and says whether some of it can be about a session.
    pub(super) fn take_news(&mut self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.kernel, &mut buffer);
        let mut has_news = false;
        while let Ok(event) = reader.next() {
            let name = event.file_name().map(|name| name.to_bytes());
            // whoever only reads a database or takes a lock touches these
            has_news |= !name.is_some_and(|name| name.ends_with(b"-shm") || name.ends_with(b".lock"));
        }
        has_news
    }
}

impl AsFd for Folders {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.kernel.as_fd()
    }
}
