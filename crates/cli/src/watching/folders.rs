//! Folders of which the kernel tells what changes in them.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use offshoot_store::catalog::WatchedFolder;
use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use rustix::io::Errno;

pub(super) struct Folders {
    kernel: OwnedFd,
    watched: HashSet<WatchedFolder>,
    /// By the number of the folder: how names begin that concern us; `None` is every name.
    names: HashMap<i32, Vec<Option<OsString>>>,
}

impl Folders {
    /// `None` where the kernel tells nothing.
    pub(super) fn new() -> Option<Self> {
        let kernel = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        Some(Self { kernel, watched: HashSet::new(), names: HashMap::new() })
    }

    /// Whether one of them is new. A folder that has gone, or may not be looked into, is left out.
    pub(super) fn watch(&mut self, folders: Vec<WatchedFolder>) -> Result<bool, Errno> {
        let changes = WatchFlags::CREATE
            | WatchFlags::MODIFY
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE
            | WatchFlags::DELETE_SELF
            | WatchFlags::ONLYDIR;
        let mut has_new = false;
        let there: HashSet<WatchedFolder> = folders.iter().cloned().collect();
        self.watched.retain(|folder| there.contains(folder)); // one that comes again is new
        for folder in folders {
            match inotify::add_watch(&self.kernel, &folder.folder, changes) {
                Ok(number) => {
                    let names = self.names.entry(number).or_default();
                    if !names.contains(&folder.only) {
                        names.push(folder.only.clone());
                    }
                    has_new |= self.watched.insert(folder);
                }
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
            has_news |= name.is_none_or(|name| concerns_us(name, self.names.get(&event.wd())));
        }
        has_news
    }
}

/// A folder that nobody knows any more may be any.
fn concerns_us(name: &[u8], beginnings: Option<&Vec<Option<OsString>>>) -> bool {
    // whoever only reads a database or takes a lock touches these
    let is_touched_by_readers = name.ends_with(b"-shm") || name.ends_with(b".lock");
    let begins_so =
        |only: &Option<OsString>| only.as_ref().is_none_or(|only| name.starts_with(only.as_encoded_bytes()));
    !is_touched_by_readers && beginnings.is_none_or(|beginnings| beginnings.iter().any(begins_so))
}

impl AsFd for Folders {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.kernel.as_fd()
    }
}
