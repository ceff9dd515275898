//! Which turn runs: `Idle → Written → Taken → Result → Idle`.
//!
//! A prompt is written only while the CLI is idle, so it has at most one of ours. Entries that are injected are deliveries
//! too, each with a result of its own. A turn is over at its result and `idle`: sub-agents keep the CLI running between
//! the two.

use std::collections::VecDeque;

use offshoot_session::TurnId;
use offshoot_session::agent::{AgentFailure, AgentTurn, AgentTurnEnd, TurnCause};

use super::failure::{Told, failure_of};
use super::json::{Map, flag, text};
use super::tasks::TaskEnd;

/// A line of ours that the CLI answers with a result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Delivery {
    /// `None`: an entry that is injected.
    pub(super) turn: Option<TurnId>,
    /// As the replay names it.
    pub(super) uuid: String,
    pub(super) line: Vec<u8>,
    /// A slash command: its replay comes behind what it does.
    pub(super) is_command: bool,
    pub(super) is_interrupted: bool,
}

/// The turn that the CLI works on.
#[derive(Debug)]
pub(super) struct OpenTurn {
    /// `None`: an entry that is injected.
    pub(super) turn: Option<AgentTurn>,
    uuid: Option<String>,
    pub(super) is_interrupted: bool,
    /// Decided before the result.
    pub(super) failure: Option<AgentFailure>,
    /// The CLI's own words.
    pub(super) told: Option<Told>,
    pub(super) outcome: Option<Outcome>,
}

pub(super) type Outcome = Result<AgentTurnEnd, AgentFailure>;

#[derive(Debug, Default)]
pub(super) struct Turns {
    pub(super) queue: VecDeque<Delivery>,
    pub(super) written: Option<Delivery>,
    pub(super) open: Option<OpenTurn>,
    /// The turn to which late lines of sub-agents belong.
    pub(super) last: Option<AgentTurn>,
    self_started: u32,
    /// The latest state; `None` before the first one.
    is_busy: Option<bool>,
    /// A task that ended while nothing ran: it wakes the agent.
    woken_by: Option<TaskEnd>,
}

impl Turns {
    pub(super) fn is_active(&self) -> bool {
        self.open.is_some() || self.written.is_some()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy == Some(true)
    }

    /// States are always asked for; where none comes, a result ends a turn.
    pub(super) fn has_states(&self) -> bool {
        self.is_busy.is_some()
    }

    pub(super) fn set_busy(&mut self, is_busy: bool) {
        self.is_busy = Some(is_busy);
    }

    /// The next line to write, if the CLI can take one.
    pub(super) fn next_line(&mut self) -> Option<Vec<u8>> {
        if self.is_active() || self.is_busy() {
            return None;
        }
        let delivery = self.queue.pop_front()?;
        let line = delivery.line.clone();
        self.written = Some(delivery);
        Some(line)
    }

    /// Whether a replay is that of the line we have written.
    pub(super) fn is_written(&self, uuid: &str) -> bool {
        self.written.as_ref().is_some_and(|written| written.uuid == uuid)
    }

    pub(super) fn is_open(&self, uuid: &str) -> bool {
        self.open.as_ref().is_some_and(|open| open.uuid.as_deref() == Some(uuid))
    }

    /// The written line is taken.
    pub(super) fn take_written(&mut self) -> Option<&OpenTurn> {
        let written = self.written.take()?;
        let turn = written.turn.map(AgentTurn::Prompted);
        self.woken_by = None;
        self.open_turn(turn, Some(written.uuid), written.is_interrupted);
        self.open.as_ref()
    }

    /// The agent begins by itself.
    pub(super) fn begin_by_itself(&mut self) -> (AgentTurn, TurnCause) {
        let turn = AgentTurn::SelfStarted(self.self_started);
        self.self_started += 1;
        let cause = match self.woken_by.take() {
            Some(TaskEnd { task, summary, .. }) => TurnCause::TaskEnded { task, text: summary },
            None => TurnCause::Unprompted { text: None },
        };
        self.open_turn(Some(turn.clone()), None, false);
        (turn, cause)
    }

    pub(super) fn woken(&mut self, end: TaskEnd) {
        if self.open.is_none() {
            self.woken_by = Some(end);
        }
    }

    pub(super) fn close(&mut self) -> Option<OpenTurn> {
        self.open.take()
    }

    /// Remembers what a `result` line says of the turn.
    pub(super) fn result(&mut self, result: &Map) {
        if let Some(open) = &mut self.open {
            open.outcome = Some(open.outcome_of(result));
        }
    }

    fn open_turn(&mut self, turn: Option<AgentTurn>, uuid: Option<String>, is_interrupted: bool) {
        if turn.is_some() {
            self.last.clone_from(&turn);
        }
        let (failure, told, outcome) = (None, None, None);
        self.open = Some(OpenTurn { turn, uuid, is_interrupted, failure, told, outcome });
    }
}

impl OpenTurn {
    /// At `idle`, whether there was a result or not.
    pub(super) fn into_outcome(self) -> Outcome {
        match (self.failure, self.outcome) {
            (Some(failure), _) => Err(failure),
            (None, Some(outcome)) => outcome,
            (None, None) if self.is_interrupted => Ok(AgentTurnEnd::Interrupted),
            (None, None) => Ok(AgentTurnEnd::Done),
        }
    }

    fn outcome_of(&self, result: &Map) -> Outcome {
        let is_aborted = text(result, "terminal_reason").is_some_and(|reason| reason.starts_with("aborted"));
        let is_error = flag(result, "is_error");
        if is_aborted || (is_error && self.is_interrupted) {
            return Ok(AgentTurnEnd::Interrupted);
        }
        if is_error {
            return match text(result, "subtype") {
                Some("error_max_turns" | "error_max_budget_usd") => Ok(AgentTurnEnd::Limit),
                Some(_) | None => Err(failure_of(result, self.told.as_ref())),
            };
        }
        match text(result, "stop_reason") {
            Some("max_tokens") => Ok(AgentTurnEnd::Limit),
            Some(_) | None => Ok(AgentTurnEnd::Done),
        }
    }
}
