//! The process between us and a command: it ends what the command leaves, also where no variable tells what that is.
//!
//! Processes whose parent has ended become its children, so everything that the command has started is below it, whatever
//! group, session or environment it has. It ends when the command has ended, or when its own input is closed: by us, or because
//! we died.
//!
//! # Limitations
//!
//! Without `/proc` (macOS) only the group of the command is ended.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};

use rustix::process::{Pid, Signal, getpid, kill_process, kill_process_group};

use super::owner::COMMAND_WAIT;
use super::sweep;

enum Event {
    Closed,
    Exited(io::Result<ExitStatus>),
}

/// Runs a program until it has ended or our input is closed, ends everything that it has left, and gives its exit code. One
/// that was ended by a signal ends this process by the same signal.
pub fn supervise(program: &Path, arguments: &[OsString]) -> io::Result<u8> {
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let mut child = Command::new(program).args(arguments).stdin(Stdio::null()).process_group(0).spawn()?;
    let group = Pid::from_child(&child);
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
        // It may have ended meanwhile.
        let _ = kill_process_group(group, Signal::INT);
        let ended = events.recv_timeout(COMMAND_WAIT);
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

fn code_of(status: ExitStatus) -> u8 {
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        // It is not ignored, so this does not return.
        let _ = kill_process(getpid(), signal);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
