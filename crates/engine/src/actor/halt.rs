//! Why a request is not answered now.

use offshoot_api::request::IfRunning;
use offshoot_api::{ApiError, ErrorCode, Point};
use offshoot_session::address::{Want, resolve_point};
use offshoot_session::guard::{self, Action, AgentState, Allowed, Refusal, SessionState};
use offshoot_session::{EntryId, HeadName, TurnId};

use super::SessionActor;
use super::errands::Errand;
use super::pending::{Needs, Pending};

pub(super) enum Halt {
    Refused(ApiError),
    /// The turn is interrupted, and the request comes again when it is over.
    AbortFirst(TurnId),
    /// The request comes again when the turn is over.
    After(TurnId),
    /// The session has changed since the request was planned: it is planned again.
    Again,
    /// Somebody has to be asked first; then the request comes again.
    Errand(Errand),
    /// The message is accepted and keeps its place; it comes again when it has what it needs.
    Prepare {
        pending: Box<Pending>,
        needs: Needs,
    },
}

pub(super) fn refused(why: impl Into<ApiError>) -> Halt {
    Halt::Refused(why.into())
}

pub(super) fn nothing_to_do(message: &str) -> Halt {
    refused(ApiError::new(ErrorCode::NothingToDo, message))
}

impl SessionActor {
    /// The entry that a request means by a point.
    pub(super) fn point(&self, point: &Point, want: Want) -> Result<EntryId, Halt> {
        resolve_point(&self.tree, &point.into(), want).map_err(refused)
    }

    /// Whether it may be done now; where the caller wants it so, after the turn in the way was interrupted.
    pub(super) fn may(
        &self,
        action: Action<'_>,
        agent: AgentState,
        if_running: IfRunning,
    ) -> Result<Allowed, Halt> {
        let (turns, pending) = (self.running_turns(), self.pending_turns());
        let head = HeadName::main();
        let state = SessionState { tree: &self.tree, head: &head, turns: &turns, pending: &pending, agent };
        let aborts = if_running == IfRunning::AbortFirst;
        match guard::may(action, &state) {
            Ok(Allowed::Queued { behind }) if aborts => Err(Halt::AbortFirst(behind)),
            Ok(allowed) => Ok(allowed),
            Err(refusal) => match refusal.turn().filter(|_| aborts) {
                Some(turn) => Err(Halt::AbortFirst(turn.clone())),
                None => Err(refused(refusal)),
            },
        }
    }

    /// The turn that is being answered above a point.
    pub(super) fn turn_above(&self, at: &EntryId) -> Option<TurnId> {
        let (turns, pending) = (self.running_turns(), self.pending_turns());
        let (agent, head) = (AgentState::Reachable, HeadName::main());
        let state = SessionState { tree: &self.tree, head: &head, turns: &turns, pending: &pending, agent };
        guard::turn_above(at, &state)
    }

    /// The turn that somebody wants to interrupt.
    pub(super) fn turn_to_interrupt(&self, named: Option<String>) -> Result<TurnId, Refusal> {
        let (turns, pending) = (self.running_turns(), self.pending_turns());
        let (agent, head) = (AgentState::Reachable, HeadName::main());
        let state = SessionState { tree: &self.tree, head: &head, turns: &turns, pending: &pending, agent };
        let Some(named) = named else { return guard::turn_to_interrupt(&state) };
        let running = self.turns.values().filter(|running| !running.turn.is_over());
        let running = running.map(|running| running.turn.id().clone());
        let mut ids = running.chain(pending.iter().map(|pending| pending.id().clone()));
        ids.find(|turn| turn.as_str() == named).ok_or(Refusal::NothingRuns)
    }

    /// Whatever writes below a turn that was interrupted waits until its agent has stopped.
    pub(super) fn after_stopping(&self, at: Option<&EntryId>) -> Result<(), Halt> {
        match self.stopping_on_path(at) {
            Some(turn) => Err(Halt::After(turn)),
            None => Ok(()),
        }
    }
}
