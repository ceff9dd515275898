//! Waits until something changes where sessions lie.
//!
//! The kernel tells of changes in folders that are watched, where it can; all the same everything is looked at once in a
//! while, for places that appear later and for disks that tell nothing. Where nothing can be watched, that is oftener.

use std::io;
use std::time::Duration;

use offshoot_store::catalog::Sources;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

#[cfg(target_os = "linux")]
mod folders;
#[cfg(not(target_os = "linux"))]
#[path = "watching/no_folders.rs"]
mod folders;

use folders::Folders;

/// Between two looks at everything.
const WATCHED: Duration = Duration::from_secs(30);
const UNWATCHED: Duration = Duration::from_secs(2);

/// Whoever writes one line often writes another.
const CALM: Duration = Duration::from_millis(50);

/// So often one waits for calm; some programs write all the time.
const PATIENCE: u32 = 10;

pub(crate) struct Watching {
    folders: Option<Folders>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// Something may have changed.
    Look,
    /// Nobody hears us any more.
    Unheard,
}

impl Watching {
    pub(crate) fn new() -> Self {
        Self { folders: Folders::new() }
    }

    /// Watches all folders there are now. `true` where one of them was not watched before: what was written into it so
    /// far was not told.
    pub(crate) fn add(&mut self, sources: &Sources) -> bool {
        let Some(folders) = &mut self.folders else { return false };
        match folders.watch(sources.folders_now()) {
            Ok(has_new) => has_new,
            Err(_) => {
                // there are more folders than may be watched
                self.folders = None;
                false
            }
        }
    }

    /// Waits for a change, and for calm behind it.
    pub(crate) fn wait(&mut self) -> Woken {
        let Some(folders) = &mut self.folders else { return heard(None, UNWATCHED).0 };
        let (mut woken, mut has_news) = heard(Some(folders), WATCHED);
        while has_news && woken == Woken::Look {
            if folders.take_news() {
                break;
            }
            (woken, has_news) = heard(Some(folders), WATCHED); // nothing that concerns us
        }
        for _ in 0..PATIENCE {
            if !has_news || woken == Woken::Unheard {
                break;
            }
            (woken, has_news) = heard(Some(folders), CALM);
            folders.take_news();
        }
        woken
    }
}

/// Whether somebody still hears us, and whether the kernel has something to tell.
fn heard(folders: Option<&Folders>, at_most: Duration) -> (Woken, bool) {
    let out = io::stdout();
    let mut waited = vec![PollFd::new(&out, PollFlags::empty())];
    waited.extend(folders.map(|folders| PollFd::new(folders, PollFlags::IN)));
    let time = Timespec { tv_sec: at_most.as_secs() as i64, tv_nsec: at_most.subsec_nanos().into() };
    // a signal that is not the end of us is a reason to look
    let _ = poll(&mut waited, Some(&time));
    let flags = |at: usize| waited.get(at).map_or(PollFlags::empty(), PollFd::revents);
    let is_gone = flags(0).intersects(PollFlags::ERR | PollFlags::HUP | PollFlags::NVAL);
    (if is_gone { Woken::Unheard } else { Woken::Look }, flags(1).contains(PollFlags::IN))
}
