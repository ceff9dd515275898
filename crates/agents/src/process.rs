//! The process of an agent: started through our launcher, read line by line, and ended together with everything it has
//! started.
//!
//! A thread owns each process (`owner`): it starts the process, waits for it and ends it, so that the process ends
//! however the task ends that talks to it. The task holds an `AgentProcess`; dropping that ends the process.
//! Agents run their tools in sessions of their own, which a signal to the agent's process group does not reach. Every
//! process inherits the run id in its environment, and `sweep` finds it there.
//!
//! # Limitations
//!
//! Without `/proc` (macOS) only the process group of the agent is ended, and nothing is left for the next engine to end.

mod command;
mod lines;
mod owner;
mod processes;
mod run_file;
mod supervise;
mod sweep;
mod tail;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use offshoot_session::AgentSessionId;
use offshoot_session::agent::{ExitStatus, Host, Lease};
use rustix::process::getpid;
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use command::{Printed, RunningCommand};
use lines::{Line, Lines};
use owner::{Interrupt, Owner};
use tail::Tail;

pub use owner::{is_ours, wait_until_ended};
pub(crate) use processes::is_alive;
pub use supervise::{Supervisor, supervise};
pub use sweep::{Leftover, processes_of_run, sweep_leftovers};

/// The variable that holds the run id. The agent's tools inherit it.
pub const RUN_VARIABLE: &str = "OFFSHOOT_AGENT_RUN";

/// The hidden command of our executable that becomes the program of an agent.
pub const LAUNCHER_COMMAND: &str = "agent-exec";

/// Output that a process has written may still be in its pipes when it has ended. Something that it started may hold
/// them open, and is not waited for.
const DRAIN_WAIT: Duration = Duration::from_millis(300);

/// A process that has closed its input or output is about to end. One that is not is ended.
const CLOSED_WAIT: Duration = Duration::from_secs(1);

/// What to start, and for what.
#[derive(Clone, Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    /// The whole environment of the process, apart from the run id.
    pub(crate) variables: Vec<(OsString, OsString)>,
    pub(crate) workspace: Option<PathBuf>,
    pub(crate) host: Host,
    /// As settings and journals call it.
    pub(crate) agent: &'static str,
    pub(crate) session: AgentSessionId,
    /// The thread that owns the process has it until the process and everything it has started are gone.
    pub(crate) lease: Lease,
}

#[derive(Debug)]
pub(crate) enum Output {
    /// Without its newline.
    Line(Vec<u8>),
    /// A line that was skipped, with its length.
    TooLong(u64),
    /// The last of all.
    Exited { status: ExitStatus, stderr: String },
}

/// A process that runs. Dropping it ends the process and everything it has started.
#[derive(Debug)]
pub(crate) struct AgentProcess {
    input: Input,
    lines: Option<Lines<ChildStdout>>,
    stderr: Tail<ChildStderr>,
    exited: watch::Receiver<Option<ExitStatus>>,
    drained_by: Option<Instant>,
    end_by: Option<Instant>,
    owner: Owner,
}

/// Lines that the process has not taken yet.
#[derive(Debug)]
struct Input {
    /// `None`: it takes no more.
    stdin: Option<ChildStdin>,
    waiting: VecDeque<Vec<u8>>,
    /// Bytes of the first line that are written.
    written: usize,
}

impl AgentProcess {
    /// Starts the process. Where `host` names a folder of run files, there is one when this returns.
    pub(crate) async fn start(launch: Launch) -> io::Result<Self> {
        let started = owner::start(launch, Interrupt::Process).await?;
        Ok(Self {
            input: Input {
                stdin: Some(ChildStdin::from_std(started.stdin)?),
                waiting: VecDeque::new(),
                written: 0,
            },
            lines: Some(Lines::new(ChildStdout::from_std(started.stdout)?)),
            stderr: Tail::new(ChildStderr::from_std(started.stderr)?),
            exited: started.exited,
            drained_by: None,
            end_by: None,
            owner: started.owner,
        })
    }

    /// Queues one line, with its newline. It is written by [`Self::next`].
    pub(crate) fn write(&mut self, line: Vec<u8>) {
        if self.input.stdin.is_some() {
            self.input.waiting.push_back(line);
        }
    }

    /// Ends the process: an interrupt first, then by force. [`Output::Exited`] follows.
    pub(crate) fn end(&self) {
        self.owner.end();
    }

    /// Writes what is queued, and gives the next output. Without `reads` lines are left in the pipe, so that the process
    /// waits. Cancelling loses nothing. It must not be called again after [`Output::Exited`].
    pub(crate) async fn next(&mut self, reads: bool) -> Output {
        loop {
            let status = *self.exited.borrow_and_update();
            if let Some(status) = status {
                let until = *self.drained_by.get_or_insert_with(|| Instant::now() + DRAIN_WAIT);
                let is_drained = self.lines.is_none() && self.stderr.is_closed();
                let is_late = reads && Instant::now() >= until;
                match is_late.then_some(self.lines.as_mut()).flatten() {
                    // We may be late ourselves: what is in the pipe by now is not lost.
                    Some(lines) => match written_by_now(lines).await {
                        Some(line) => return line,
                        None => return Output::Exited { status, stderr: self.stderr.text() },
                    },
                    None if is_drained || is_late => {
                        return Output::Exited { status, stderr: self.stderr.text() };
                    }
                    None => {}
                }
            }
            let lines = self.lines.as_mut();
            let timer = self.drained_by.filter(|_| reads).or(self.end_by.filter(|_| status.is_none()));
            tokio::select! {
                line = next_line(lines), if reads => match line {
                    Ok(Some(Line::Whole(line))) => return Output::Line(line),
                    Ok(Some(Line::TooLong(bytes))) => return Output::TooLong(bytes),
                    // Output that cannot be read has ended.
                    Ok(None) | Err(_) => {
                        self.lines = None;
                        self.end_by.get_or_insert_with(|| Instant::now() + CLOSED_WAIT);
                    }
                },
                written = self.input.advance() => if written.is_err() {
                    // The process has closed its input: it ends, or has ended.
                    self.input.close();
                    self.end_by.get_or_insert_with(|| Instant::now() + CLOSED_WAIT);
                },
                () = self.stderr.read() => {}
                changed = self.exited.changed(), if status.is_none() => if changed.is_err() {
                    return Output::Exited { status: ExitStatus::Unknown, stderr: self.stderr.text() };
                },
                () = sleep_until(timer) => if status.is_none() {
                    self.end_by = None;
                    self.owner.end();
                },
            }
        }
    }
}

async fn next_line(lines: Option<&mut Lines<ChildStdout>>) -> io::Result<Option<Line>> {
    match lines {
        Some(lines) => lines.next().await,
        None => std::future::pending().await,
    }
}

/// The next line, if all of it can be read without waiting.
async fn written_by_now(lines: &mut Lines<ChildStdout>) -> Option<Output> {
    // What has arrived since is noticed.
    tokio::task::yield_now().await;
    tokio::select! {
        biased;
        line = lines.next() => match line {
            Ok(Some(Line::Whole(line))) => Some(Output::Line(line)),
            Ok(Some(Line::TooLong(bytes))) => Some(Output::TooLong(bytes)),
            Ok(None) | Err(_) => None,
        },
        () = std::future::ready(()) => None,
    }
}

pub(crate) async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

impl Input {
    /// Writes a part of the first line; waits where there is none.
    async fn advance(&mut self) -> io::Result<()> {
        let (Some(stdin), Some(line)) = (self.stdin.as_mut(), self.waiting.front()) else {
            return std::future::pending().await;
        };
        let rest = line.get(self.written..).unwrap_or_default();
        self.written += stdin.write(rest).await?;
        if self.written >= line.len() {
            self.waiting.pop_front();
            self.written = 0;
        }
        Ok(())
    }

    fn close(&mut self) {
        self.stdin = None;
        self.waiting.clear();
    }
}

impl Launch {
    fn command(&self, run: &str, interrupt: Interrupt) -> Command {
        let mut command = match &self.host.launcher {
            Some(launcher) => {
                let mut command = Command::new(launcher);
                let us = getpid().as_raw_nonzero().to_string();
                command.args([LAUNCHER_COMMAND, "--parent", &us]);
                if interrupt == Interrupt::Closed {
                    command.args(["--supervise", "outer"]);
                }
                command.arg("--").arg(&self.program);
                command
            }
            None => Command::new(&self.program),
        };
        if let Some(folder) = &self.workspace {
            command.current_dir(folder);
        }
        command.args(&self.arguments).env_clear();
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).env(RUN_VARIABLE, run);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // An interrupt from a terminal is meant for us.
        command.process_group(0);
        command
    }
}

/// Becomes the program of an agent, which is interrupted when the process `parent` dies. Returns only where that fails.
pub fn become_program(parent: u32, program: &Path, arguments: &[OsString]) -> io::Error {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Signal, getppid, set_parent_process_death_signal};
        if let Err(error) = set_parent_process_death_signal(Some(Signal::INT)) {
            return error.into();
        }
        // It may have died before the signal was set.
        let is_there = getppid().is_some_and(|now| now.as_raw_nonzero().get().cast_unsigned() == parent);
        if !is_there {
            return io::Error::other("the engine that started it has ended");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = parent;
    Command::new(program).args(arguments).exec()
}
