//! Waiting with a deadline, so that a program that hangs fails its test instead of holding up the run.

#![expect(clippy::panic, reason = "a test that waits in vain has failed")]

use std::io::{self, ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// No single step of a test takes longer, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// Polls a condition.
///
/// # Panics
///
/// When the condition does not hold before the deadline.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Deadline::begin(what);
    while !is_so() {
        deadline.check();
        std::thread::sleep(BETWEEN_TRIES);
    }
}

/// For loops that must not sleep.
#[derive(Debug)]
pub struct Deadline<'w> {
    what: &'w str,
    at: Instant,
}

impl<'w> Deadline<'w> {
    pub fn begin(what: &'w str) -> Self {
        Self { what, at: Instant::now() + PATIENCE }
    }

    /// # Panics
    ///
    /// When the deadline has passed.
    #[track_caller]
    pub fn check(&self) {
        assert!(Instant::now() < self.at, "timed out waiting for {}", self.what);
    }
}

/// Runs a blocking call that has no timeout of its own, such as opening a named pipe.
///
/// # Panics
///
/// When the call does not return before the deadline. Its thread is left behind.
#[track_caller]
pub fn within<T: Send + 'static>(what: &str, call: impl FnOnce() -> T + Send + 'static) -> T {
    received(what, &in_thread(call))
}

/// The next connection, each of whose reads has a deadline.
///
/// # Panics
///
/// When none comes before the deadline.
///
/// # Errors
///
/// As [`TcpListener::accept`].
#[track_caller]
pub fn accepted(listener: &TcpListener) -> io::Result<TcpStream> {
    let mut awaited = [PollFd::new(listener, PollFlags::IN)];
    assert!(poll(&mut awaited, Some(&timeout()))? > 0, "timed out waiting for a connection");
    let (stream, _) = listener.accept()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// [`Command`] with a deadline.
pub trait BoundedCommand {
    /// As [`Command::output`].
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    ///
    /// # Panics
    ///
    /// When it does not exit before the deadline. It is killed.
    fn bounded_output(&mut self) -> io::Result<Output>;

    /// As [`Command::status`], without input.
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    ///
    /// # Panics
    ///
    /// When it does not exit before the deadline. It is killed.
    fn bounded_status(&mut self) -> io::Result<ExitStatus>;
}

impl BoundedCommand for Command {
    #[track_caller]
    fn bounded_output(&mut self) -> io::Result<Output> {
        let child = self.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        Ok(child.bounded_output())
    }

    #[track_caller]
    fn bounded_status(&mut self) -> io::Result<ExitStatus> {
        Ok(self.stdin(Stdio::null()).spawn()?.bounded_wait())
    }
}

/// [`Child`] with a deadline.
pub trait BoundedChild {
    /// As [`Child::wait`].
    ///
    /// # Panics
    ///
    /// When it does not exit before the deadline. It is killed.
    fn bounded_wait(&mut self) -> ExitStatus;

    /// As [`Child::wait_with_output`].
    ///
    /// # Panics
    ///
    /// When it does not exit before the deadline. It is killed.
    fn bounded_output(self) -> Output;
}

impl BoundedChild for Child {
    #[track_caller]
    fn bounded_wait(&mut self) -> ExitStatus {
        let id = self.id();
        exit_of(self).unwrap_or_else(|error| panic!("process {id}: {error}"))
    }

    #[track_caller]
    fn bounded_output(mut self) -> Output {
        drop(self.stdin.take());
        let stdout = drained(self.stdout.take());
        let stderr = drained(self.stderr.take());
        let status = self.bounded_wait();
        // A process that it has started may hold a pipe open.
        let stdout = received("the end of standard output", &stdout);
        let stderr = received("the end of standard error", &stderr);
        Output { status, stdout, stderr }
    }
}

/// A pipe or socket each of whose reads has a deadline.
#[derive(Debug)]
pub struct BoundedReader<R>(pub R);

impl<R: Read + AsFd> Read for BoundedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut awaited = [PollFd::new(&self.0, PollFlags::IN)];
        match poll(&mut awaited, Some(&timeout()))? {
            0 => Err(ErrorKind::TimedOut.into()),
            _ => self.0.read(buffer),
        }
    }
}

fn timeout() -> Timespec {
    Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: 0 }
}

/// Waits for the exit of a process; one that does not exit before the deadline is killed.
pub(crate) fn exit_of(child: &mut Child) -> io::Result<ExitStatus> {
    drop(child.stdin.take());
    let deadline = Instant::now() + PATIENCE;
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(status),
            None if Instant::now() < deadline => std::thread::sleep(BETWEEN_TRIES),
            None => {
                child.kill()?;
                child.wait()?;
                return Err(ErrorKind::TimedOut.into());
            }
        }
    }
}

fn drained(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    in_thread(move || {
        let mut bytes = Vec::new();
        // What was read before an error is compared all the same.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

fn in_thread<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Receiver<T> {
    let (send, receiver) = channel();
    std::thread::spawn(move || send.send(call()));
    receiver
}

#[track_caller]
fn received<T>(what: &str, receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("timed out waiting for {what}"))
}
