//! What the person, or the system, tells the process from outside.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) struct Signals {
    ctrl_c: Signal,
    terminate: Signal,
    hang_up: Signal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Ctrl-C: what is being done shall stop.
    Stop,
    /// The process is to end, or its terminal is gone.
    Leave,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            ctrl_c: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.ctrl_c.recv() => Told::Stop,
            _ = self.terminate.recv() => Told::Leave,
            _ = self.hang_up.recv() => Told::Leave,
        }
    }
}
