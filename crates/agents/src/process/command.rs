//! A command that an agent of ours runs as a tool: it reads nothing, and its output is taken as it comes.

use std::io;
use std::process::ChildStdin;

use offshoot_session::agent::ExitStatus;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStdout;
use tokio::sync::watch;
use tokio::time::Instant;

use super::owner::{self, Interrupt, Owner};
use super::{DRAIN_WAIT, Launch, sleep_until};

/// Dropping it ends the command and everything it has started.
#[derive(Debug)]
pub(crate) struct RunningCommand {
    /// The process that supervises the command ends when it is closed.
    alive: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    exited: watch::Receiver<Option<ExitStatus>>,
    drained_by: Option<Instant>,
    owner: Owner,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Printed {
    /// So many bytes of the buffer.
    Bytes(usize),
    /// The last of all: the command and everything it has started are gone.
    Exited(ExitStatus),
}

impl RunningCommand {
    pub(crate) async fn start(launch: Launch) -> io::Result<Self> {
        let is_supervised = launch.host.launcher.is_some();
        let interrupt = if is_supervised { Interrupt::Closed } else { Interrupt::Group };
        let started = owner::start(launch, interrupt).await?;
        Ok(Self {
            // Without a supervisor it is the command's own, which reads nothing.
            alive: is_supervised.then_some(started.stdin),
            stdout: Some(ChildStdout::from_std(started.stdout)?),
            exited: started.exited,
            drained_by: None,
            owner: started.owner,
        })
    }

    /// Interrupts the command, and kills soon after what is left of it. [`Printed::Exited`] follows.
    pub(crate) fn end(&mut self) {
        self.alive = None;
        self.owner.end();
    }

    /// What it prints next. Cancelling loses nothing. It must not be called again after [`Printed::Exited`].
    pub(crate) async fn next(&mut self, buffer: &mut [u8]) -> Printed {
        loop {
            let status = *self.exited.borrow_and_update();
            if let Some(status) = status {
                // What it has printed may still be in the pipe.
                let until = *self.drained_by.get_or_insert_with(|| Instant::now() + DRAIN_WAIT);
                if self.stdout.is_none() || Instant::now() >= until {
                    return Printed::Exited(status);
                }
            }
            tokio::select! {
                read = read(self.stdout.as_mut(), buffer) => match read {
                    Ok(0) | Err(_) => self.stdout = None,
                    Ok(bytes) => return Printed::Bytes(bytes),
                },
                changed = self.exited.changed(), if status.is_none() => if changed.is_err() {
                    return Printed::Exited(ExitStatus::Unknown);
                },
                () = sleep_until(self.drained_by) => {}
            }
        }
    }
}

async fn read(stdout: Option<&mut ChildStdout>, buffer: &mut [u8]) -> io::Result<usize> {
    match stdout {
        Some(stdout) => stdout.read(buffer).await,
        None => std::future::pending().await,
    }
}
