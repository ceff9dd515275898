//! The protocol of the CLI as a machine: lines and inputs go in, [`Act`]s come out. It does no IO and reads no clock; the
//! driver performs the acts in order and tells when a timer has elapsed.

use std::time::Duration;

use offshoot_session::agent::{AgentInfo, AgentInput, ExitStatus, FromAgent};
use offshoot_session::{AgentSessionId, Missing, Model, Provenance, Setting};

use super::launch::Version;

/// What the driver does next, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    /// One line for the CLI, with its newline.
    Write(Vec<u8>),
    Report(FromAgent),
    /// Starts a timer, or starts it again.
    Arm(Timer, Duration),
    Disarm(Timer),
    /// The process is of no use any more: end it. The next prompt starts another one.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Timer {
    /// `initialize` has to be answered.
    Opening,
    /// Output is expected while a turn runs.
    Silence,
    /// An interrupted agent has to be idle.
    Idle,
}

/// What is known before the process says anything.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The session that was asked for.
    pub(super) session: AgentSessionId,
    /// The model it was launched with, if one was chosen.
    pub(super) model: Option<Model>,
    /// The permission mode it was launched with.
    pub(super) permission_mode: String,
    /// The latest setting of each kind on the branch. Those that are no launch options are sent behind `initialize`.
    pub(super) settings: Vec<Setting>,
    /// As the probe found it.
    pub(super) version: Version,
    /// How the agent came to know the branch, where that is not how it was asked to.
    pub(super) provenance: Option<Provenance>,
    pub(super) missing: Missing,
}

/// The state of one process.
#[derive(Debug)]
pub(super) struct Protocol {
    opening: Opening,
}

impl Protocol {
    pub(super) fn new(opening: Opening) -> Self {
        Self { opening }
    }

    /// The first acts: `initialize` is written at once.
    pub(super) fn start(&mut self) -> Vec<Act> {
        Vec::new()
    }

    /// A line of output, without its newline.
    pub(super) fn line(&mut self, _line: &[u8]) -> Vec<Act> {
        Vec::new()
    }

    /// A line that was too long to be kept.
    pub(super) fn line_too_long(&mut self, _bytes: u64) -> Vec<Act> {
        Vec::new()
    }

    pub(super) fn input(&mut self, _input: AgentInput) -> Vec<Act> {
        Vec::new()
    }

    pub(super) fn elapsed(&mut self, _timer: Timer) -> Vec<Act> {
        Vec::new()
    }

    /// The process is gone. What is open fails first; the last act reports the exit.
    pub(super) fn exited(&mut self, _status: ExitStatus, _stderr: &str) -> Vec<Act> {
        Vec::new()
    }

    /// What the CLI said about itself, once `initialize` was answered.
    pub(super) fn opened(&self) -> Option<&AgentInfo> {
        None
    }
}
