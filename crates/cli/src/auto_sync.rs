//! Every command looks for new sessions when the last look is long ago, so that whoever works for weeks in one
//! conversation loses nothing that agents delete meanwhile.
//!
//! Commands that answer from the catalog look before they answer ([`crate::cataloged`]). For all others another process
//! does it, of low priority and apart from the terminal: nobody waits for it, nothing of it is printed, and what goes
//! wrong there is in the log. It holds [`Turn`] from before it begins until it ends, so there is never a second one.
//!
//! Limitation: files that whoever called us left open are open there too, until it ends.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command as Process, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use offshoot_store::catalog::Catalog;
use rustix::process::{Pid, setpriority_process};
use tracing::{debug, warn};

use crate::args::Command;
use crate::cataloged::is_long_ago;
use crate::here::Here;
use crate::settings;
use crate::sync_turn::Turn;

/// As `nice` says it: whoever works comes first.
const PRIORITY: i32 = 10;

/// However short the time between two looks is set.
const OFTENEST: Duration = Duration::from_secs(1);

/// To be called when all has been said.
pub(crate) fn afterwards(command: &Command, here: &Here) {
    if is_due_after(command) {
        drop(start_if_due(here));
    }
}

/// Looks at once and again and again, until it is dropped.
pub(crate) fn meanwhile(here: &Here) -> Meanwhile {
    let (ended, is_ended) = mpsc::channel::<()>();
    let here = here.clone();
    let watching = std::thread::spawn(move || {
        let mut children: Vec<Child> = Vec::new();
        loop {
            children.extend(start_if_due(&here));
            let wait = settings::sync_interval(&here).max(OFTENEST);
            if is_ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            // whoever has ended is let go, and nobody is waited for
            children.retain_mut(|child| matches!(child.try_wait(), Ok(None)));
        }
    });
    Meanwhile { ended: Some(ended), watching: Some(watching) }
}

#[derive(Debug)]
pub(crate) struct Meanwhile {
    ended: Option<Sender<()>>,
    watching: Option<JoinHandle<()>>,
}

impl Drop for Meanwhile {
    fn drop(&mut self) {
        drop(self.ended.take());
        // whoever panicked there has left a report
        let _ = self.watching.take().map(JoinHandle::join);
    }
}

fn is_due_after(command: &Command) -> bool {
    match command {
        // these have looked themselves, as far as was needed
        Command::Ls(_) | Command::Search(_) | Command::Sync(_) | Command::Forget(_) => false,
        // these are about the program
        Command::Completions(_) | Command::Man(_) | Command::Engine(_) | Command::AgentExec(_) => false,
        command if command.writes_no_file() => false,
        Command::Chat(_)
        | Command::Send(_)
        | Command::Answer(_)
        | Command::Abort(_)
        | Command::Queue(_)
        | Command::Status(_)
        | Command::Permissions(_)
        | Command::Agents(_)
        | Command::New(_)
        | Command::Keep(_)
        | Command::Tree(_)
        | Command::Show(_)
        | Command::Versions(_)
        | Command::Label(_)
        | Command::Edit(_)
        | Command::Retry(_)
        | Command::Fork(_)
        | Command::Switch(_)
        | Command::Rewind(_)
        | Command::Prev(_)
        | Command::Next(_)
        | Command::Rename(_)
        | Command::Branch(_)
        | Command::Archive(_)
        | Command::Unarchive(_)
        | Command::Undo(_)
        | Command::Redo(_)
        | Command::Ops(_)
        | Command::Append(_)
        | Command::Import(_)
        | Command::Inspect(_)
        | Command::Export(_)
        | Command::Config(_)
        | Command::Cost(_)
        | Command::Fsck(_)
        | Command::Doctor(_) => true,
    }
}

/// `None` where nothing is to be done, or somebody does it already.
fn start_if_due(here: &Here) -> Option<Child> {
    let home = here.home()?;
    if !is_due(here, &home) {
        return None;
    }
    let turn = Turn::take(&home)?;
    match started(here, &home, turn) {
        Ok(child) => {
            debug!(name: "begins in the background", command = "sync");
            Some(child)
        }
        Err(_) => {
            warn!(name: "does not begin in the background", command = "sync");
            None
        }
    }
}

/// Cheapest first: where no other program is installed this is a handful of looks at names.
fn is_due(here: &Here, home: &Path) -> bool {
    let has_places = || {
        let sources = here.sources(&[]);
        sources
            .is_ok_and(|sources| sources.folders.iter().chain(&sources.databases).any(|place| place.exists()))
    };
    home.is_dir() && has_places() && settings::auto_sync(here) && is_old(here, home)
}

/// A catalog that is damaged is left to whoever can say so.
fn is_old(here: &Here, home: &Path) -> bool {
    let path = home.join("catalog.db");
    !path.is_file() || Catalog::synced_at_in(&path).is_ok_and(|at| is_long_ago(at, here))
}

/// Its turn ends with it: it holds the file as its input, which is empty.
fn started(here: &Here, home: &Path, turn: Turn) -> std::io::Result<Child> {
    let mut process = Process::new(std::env::current_exe()?);
    process.arg("--home").arg(here.folder.join(home)).args(["sync", "--quiet"]);
    for (key, value) in here.settings.flags_for_commands() {
        process.arg("--set").arg(format!("{key}={value}"));
    }
    process.stdin(turn.into_file()).stdout(Stdio::null()).stderr(Stdio::null());
    // what is typed to end us does not end it
    let child = process.process_group(0).spawn()?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // one that could not be put behind the others works all the same
    let _ = id.map(|id| setpriority_process(Some(id), PRIORITY));
    Ok(child)
}
