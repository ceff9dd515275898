//! The process between us and a command: it ends what the command leaves, also where no variable tells what that is.
//!
//! Processes whose parent has ended become its children, so everything that the command has started is below it, whatever
//! group, session or environment it has. It ends when the command has ended, or when its own input is closed: by us, or because
//! we died.
//!
//! There are two of them, one above the other, because a command knows its parent (`kill -9 $PPID`): the outer one ends what the
//! inner one would have ended.
//!
//! # Limitations
//!
//! Without `/proc` (macOS) only the group of the command is ended. A command that looks for both processes and kills them
//! frees what has left its session and its environment; it could as well kill the engine.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};

use super::owner::COMMAND_WAIT;
use super::{LAUNCHER_COMMAND, sweep};

/// How long the inner one may take to end what is left, beyond the time of the command.
const INNER_WAIT: Duration = Duration::from_millis(500);

enum Event {
    Closed,
    Exited(io::Result<ExitStatus>),
}

/// Which of the two supervisors this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Supervisor {
    /// The parent is the engine, the child the inner one, which `launcher` becomes: our own executable.
    Outer { launcher: PathBuf },
    /// The parent is the outer one, the child the program.
    Inner,
}

/// Runs a program until it has ended or our input is closed, ends everything that it has left, and gives its exit code. One
/// that was ended by a signal ends this process by the same signal.
pub fn supervise(supervisor: &Supervisor, program: &Path, arguments: &[OsString]) -> io::Result<u8> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let mut child = command(supervisor, program, arguments).process_group(0).spawn()?;
    let (group, alive) = (Pid::from_child(&child), child.stdin.take());
    let (send, events) = channel();
    let closed = send.clone();
    std::thread::spawn(move || {
        // Nothing is ever written.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        let _ = closed.send(Event::Closed);
    });
    std::thread::spawn(move || {
        let _ = send.send(Event::Exited(child.wait()));
    });
    let mut event = events.recv().map_err(io::Error::other)?;
    if matches!(event, Event::Closed) {
        let wait = match supervisor {
            Supervisor::Outer { .. } => {
                drop(alive);
                COMMAND_WAIT + INNER_WAIT
            }
            Supervisor::Inner => {
                // It may have ended meanwhile.
                let _ = kill_process_group(group, Signal::INT);
                COMMAND_WAIT
            }
        };
        let ended = events.recv_timeout(wait);
        if let Err(RecvTimeoutError::Timeout) = ended {
            let _ = kill_process_group(group, Signal::KILL);
        }
        event = ended.or_else(|_| events.recv()).map_err(io::Error::other)?;
    }
    sweep::end_below();
    // All that is known without `/proc`. The group may be empty.
    let _ = kill_process_group(group, Signal::KILL);
    match event {
        Event::Closed => Ok(0),
        Event::Exited(status) => Ok(code_of(status?)),
    }
}

fn command(supervisor: &Supervisor, of: &Path, arguments: &[OsString]) -> Command {
    let mut command = match supervisor {
        Supervisor::Inner => Command::new(of),
        Supervisor::Outer { launcher } => {
            let mut inner = Command::new(launcher);
            let us = getpid().as_raw_nonzero().to_string();
            inner.args([LAUNCHER_COMMAND, "--parent", &us, "--supervise", "inner", "--"]).arg(of);
            inner
        }
    };
    command.args(arguments).stdin(match supervisor {
        Supervisor::Inner => Stdio::null(),
        Supervisor::Outer { .. } => Stdio::piped(),
    });
    command
}

fn code_of(status: ExitStatus) -> u8 {
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        // It is not ignored, so this does not return.
        let _ = kill_process(getpid(), signal);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
