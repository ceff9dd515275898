//! Standard input, read by a thread of its own, so that a turn can be interrupted.

use std::io::{ErrorKind, Read as _};
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::Value;

pub(super) enum Input {
    Line(Value),
    /// A line that is not JSON ends the program.
    NotJson,
    Closed,
}

pub(super) fn listen() -> Receiver<Input> {
    let (send, receive) = channel();
    std::thread::spawn(move || read(&send));
    receive
}

/// Closes the pipe: writes to it fail from now on.
pub(super) fn close() -> std::io::Result<()> {
    let nothing = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(())
}

/// Never blocks in a read: the pipe stays open as long as a read of it does.
fn read(send: &Sender<Input>) {
    const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
    let mut pending = Vec::new();
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let mut stdin = std::io::stdin().lock();
        let mut awaited = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut awaited, Some(&LOOK)) {
            Ok(0) => continue,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        match stdin.read(&mut bytes) {
            Ok(0) | Err(_) => break,
            Ok(count) => pending.extend_from_slice(bytes.get(..count).unwrap_or_default()),
        }
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let input = serde_json::from_slice(&line).map_or(Input::NotJson, Input::Line);
            if send.send(input).is_err() {
                return;
            }
        }
    }
    let _ = send.send(Input::Closed);
}
