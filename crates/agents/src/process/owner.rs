//! The thread that owns a process: it starts the process, waits for it, and ends it on request or when its last handle is
//! dropped.
//!
//! The signal that an agent gets at the death of its parent is tied to the thread that started it, so this thread lives
//! as long as the process.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use offshoot_session::agent::ExitStatus;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::sync::{oneshot, watch};

use super::run_file::{Identity, Run, RunFile};
use super::sweep::{self, INTERRUPT_WAIT};
use super::{Launch, RUN_VARIABLE, processes};

/// How long an interrupted command may take to end.
pub(super) const COMMAND_WAIT: Duration = Duration::from_millis(500);

/// Tells the thread to end the process, at the latest when it is dropped.
#[derive(Debug)]
pub(super) struct Owner(Sender<Event>);

/// How a process is asked to end before everything is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interrupt {
    /// By a signal to the process: an agent ends its tools itself.
    Process,
    /// By a signal to its group: a command and what it has started there.
    Group,
    /// By closing its input, which was done: it ends what is below it.
    Closed,
}

#[derive(Debug)]
enum Event {
    End,
    Exited,
}

#[derive(Debug)]
pub(super) struct Started {
    pub(super) stdin: ChildStdin,
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    /// Set when the process and everything it has started are gone.
    pub(super) exited: watch::Receiver<Option<ExitStatus>>,
    pub(super) owner: Owner,
}

impl Owner {
    pub(super) fn end(&self) {
        // It may have ended.
        let _ = self.0.send(Event::End);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.end();
    }
}

pub(super) async fn start(launch: Launch, interrupt: Interrupt) -> io::Result<Started> {
    if let Some(folder) = launch.workspace.as_deref().filter(|folder| !folder.is_dir()) {
        let reason = format!("its working directory `{}` does not exist", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    let (ready, started) = oneshot::channel();
    let counted = Counted::begin(&run_id()?);
    std::thread::Builder::new().name("agent".to_owned()).spawn(move || {
        own(&launch, interrupt, &counted, ready);
        drop(launch.lease);
    })?;
    started.await.unwrap_or_else(|_| Err(io::Error::other("the thread of the process broke down")))
}

fn own(
    launch: &Launch,
    interrupt: Interrupt,
    counted: &Counted,
    ready: oneshot::Sender<io::Result<Started>>,
) {
    let (send, events) = channel();
    let (tell_exit, exited) = watch::channel(None);
    let (mut running, pipes) = match Running::start(launch, interrupt, counted, &send) {
        Ok(running) => running,
        Err(error) => {
            // The task that asked for it may have been cancelled.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let Pipes { stdin, stdout, stderr } = pipes;
    // If the task was cancelled, the process is dropped here, which ends it.
    drop(ready.send(Ok(Started { stdin, stdout, stderr, exited, owner: Owner(send) })));
    let status = running.end(&events, interrupt);
    // Its run file is gone before anybody hears of the exit: the engine may exit then.
    drop(running);
    // The connection may be gone.
    let _ = tell_exit.send(Some(status));
}

struct Running {
    child: Child,
    pid: i32,
    run: String,
    /// Removed when everything has ended.
    _file: Option<RunFile>,
}

struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

impl Running {
    fn start(
        launch: &Launch,
        interrupt: Interrupt,
        counted: &Counted,
        events: &Sender<Event>,
    ) -> io::Result<(Self, Pipes)> {
        let run = counted.0.clone();
        let mut child = launch.command(&run, interrupt).spawn()?;
        let pid = child.id().cast_signed();
        counted.has_started(pid);
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut running = Self { child, pid, run, _file: None };
        let begun = running.begin(launch, events, pipes);
        if begun.is_err() {
            running.kill();
        }
        Ok((running, begun?))
    }

    fn begin(
        &mut self,
        launch: &Launch,
        events: &Sender<Event>,
        pipes: (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>),
    ) -> io::Result<Pipes> {
        if let Some(folder) = &launch.host.runs {
            let run = Run {
                id: self.run.clone(),
                process: Identity::of(self.pid),
                engine: Identity::of(std::process::id().cast_signed()),
                agent: launch.agent.to_owned(),
                session: launch.session.to_string(),
            };
            self._file = Some(RunFile::write(folder, &run)?);
        }
        let (pid, exited) = (Pid::from_child(&self.child), events.clone());
        std::thread::Builder::new().name("agent-exit".to_owned()).spawn(move || {
            // It stays a zombie until its owner takes the status, so its pid is not reused.
            let wait = || waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
            while matches!(wait(), Err(Errno::INTR)) {}
            let _ = exited.send(Event::Exited);
        })?;
        match pipes {
            (Some(stdin), Some(stdout), Some(stderr)) => Ok(Pipes { stdin, stdout, stderr }),
            _ => Err(io::Error::other("it has no pipes")),
        }
    }

    /// Waits until the process has ended or is to be ended, and ends everything that is left of the run.
    fn end(&mut self, events: &Receiver<Event>, interrupt: Interrupt) -> ExitStatus {
        if let Ok(Event::End) = events.recv() {
            let wait = match interrupt {
                Interrupt::Process => {
                    sweep::signal(self.pid, Signal::INT);
                    INTERRUPT_WAIT
                }
                Interrupt::Group => {
                    // It may have ended meanwhile.
                    let _ = kill_process_group(Pid::from_child(&self.child), Signal::INT);
                    COMMAND_WAIT
                }
                Interrupt::Closed => INTERRUPT_WAIT,
            };
            let until = Instant::now() + wait;
            while let Ok(Event::End) = events.recv_timeout(until.saturating_duration_since(Instant::now())) {}
        }
        self.kill()
    }

    fn kill(&mut self) -> ExitStatus {
        sweep::end_run(&self.run, Some(self.pid));
        // Its group is known without `/proc`, too, and its pid is not free before the status is taken.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        // It has ended already where this fails.
        let _ = self.child.kill();
        self.child.wait().map_or(ExitStatus::Unknown, status_of)
    }
}

fn status_of(status: std::process::ExitStatus) -> ExitStatus {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => ExitStatus::Code(code),
        (None, Some(signal)) => ExitStatus::Signal(signal),
        (None, None) => ExitStatus::Unknown,
    }
}

fn run_id() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Processes that have an owner, by run and pid; the pid is not known before the start.
static OWNED: Mutex<Vec<Owned>> = Mutex::new(Vec::new());
static FEWER: Condvar = Condvar::new();

#[derive(Debug)]
struct Owned {
    run: String,
    pid: Option<i32>,
}

/// Counts a process until it is gone.
struct Counted(String);

impl Counted {
    fn begin(run: &str) -> Self {
        owned().push(Owned { run: run.to_owned(), pid: None });
        Self(run.to_owned())
    }

    fn has_started(&self, pid: i32) {
        if let Some(one) = owned().iter_mut().find(|one| one.run == self.0) {
            one.pid = Some(pid);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        owned().retain(|one| one.run != self.0);
        FEWER.notify_all();
    }
}

fn owned() -> MutexGuard<'static, Vec<Owned>> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a process is an agent that we have started, or was started by one.
pub fn is_ours(pid: u32) -> bool {
    let pid = pid.cast_signed();
    let owned = owned();
    let mut all = owned.iter();
    all.any(|one| one.pid == Some(pid) || processes::has_variable(pid, RUN_VARIABLE, &one.run))
}

/// Blocks until no agent's process is left, at most for this long: a program that exits earlier leaves the rest to the
/// signal that agents get at its death. Whether none is left.
pub fn wait_until_ended(limit: Duration) -> bool {
    let waited = FEWER.wait_timeout_while(owned(), limit, |all| !all.is_empty());
    waited.unwrap_or_else(PoisonError::into_inner).0.is_empty()
}
