//! Steps of two sessions: the beginning of a session out of another one is a step in both, so taking it back or again
//! happens in both.
//!
//! Each session writes its own side. The one that is asked sends the other a message, as an errand: the request waits
//! while the actor goes on, so two sessions that take back the same step at the same time never wait for each other.
//! The other side comes first. When the request comes again it is planned again, and if it turns out to be about
//! another step by then, or is refused, the other side is put back.

use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::response::Notice;
use offshoot_api::{ApiError, CallerContext, ErrorCode, ErrorData, Response};
use offshoot_session::plan::{BeginningRefused, OtherSide, other_side, plan_undo_beginning};
use offshoot_session::{Change, Fact, Mark, OperationId, Record, SessionId};
use tokio::sync::oneshot;

use super::commit::{ATTEMPTS, Purpose};
use super::errands::{Errand, Taken};
use super::halt::{Halt, refused};
use super::moves::would_be_undone;
use super::requests::outrun;
use super::{Brought, Message, SessionActor};
use crate::engine::disconnected;
use crate::failure::internal;
use crate::open_sessions::OpenSessions;

/// A step that is taken back or taken again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedStep {
    operation: OperationId,
    direction: Direction,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Undo,
    Redo,
}

impl SharedStep {
    /// The step that these records take back or again.
    fn of(records: &[Record]) -> Option<Self> {
        records.iter().find_map(|record| match &record.change {
            Change::Marked(Mark { fact: Fact::Undone { operation }, .. }) => {
                Some(Self { operation: operation.clone(), direction: Direction::Undo })
            }
            Change::Marked(Mark { fact: Fact::Redone { operation }, .. }) => {
                Some(Self { operation: operation.clone(), direction: Direction::Redo })
            }
            _ => None,
        })
    }

    fn reversed(&self) -> Self {
        let direction = match self.direction {
            Direction::Undo => Direction::Redo,
            Direction::Redo => Direction::Undo,
        };
        Self { operation: self.operation.clone(), direction }
    }
}

/// Which session has the other side of a step.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) session: SessionId,
    /// It began with the step. A session out of this one cannot be left behind; that this one came out of it is only a
    /// note there.
    pub(super) is_child: bool,
}

/// Whether the other side has changed by it. `Err`: it could not be taken there.
pub(crate) type TakenThere = Result<bool, ApiError>;

/// Asks the actor of the other session. A session that does not exist has nothing to take back.
pub(super) async fn take_there(
    sessions: &Arc<OpenSessions>,
    session: &SessionId,
    step: SharedStep,
    context: Arc<CallerContext>,
) -> TakenThere {
    let (reply, taken) = oneshot::channel();
    sessions.tell(session, Message::SharedStep { step, reply, context }).await?;
    match taken.await {
        Ok(Err(error)) if error.code == ErrorCode::NotFound => Ok(false),
        Ok(taken) => taken,
        Err(_) => Err(disconnected()),
    }
}

impl SessionActor {
    /// Before a step is taken back or again here, it is on the other side.
    pub(super) fn other_side_first(&self, records: &[Record], brought: &Brought) -> Result<(), Halt> {
        let step = SharedStep::of(records);
        match (brought.taken_there(), &step) {
            (Some(taken), Some(step)) if taken.step == *step => return Ok(()),
            (Some(taken), _) => return Err(Halt::Errand(Errand::PutBack(taken.clone()))),
            (None, _) => {}
        }
        let Some(step) = step else { return Ok(()) };
        let other = match other_side(&self.tree, &step.operation) {
            None => return Ok(()),
            Some(OtherSide::Child(session)) => Other { session, is_child: true },
            Some(OtherSide::Origin(session)) => Other { session, is_child: false },
        };
        Err(Halt::Errand(Errand::OtherSide { other, step }))
    }

    /// The step was taken here meanwhile: by the other side, which is an answer, or by another process, which has seen
    /// to both sides.
    pub(super) fn taken_meanwhile(&self, brought: &mut Brought) -> Option<Response> {
        let taken = brought.taken_there().filter(|taken| self.is_taken(&taken.step))?.clone();
        let is_by_other_side = taken.is_taken_here_too;
        brought.forget_other_side();
        is_by_other_side
            .then(|| self.rearranged_by(&taken.step.operation, self.head_now(), false, Some(&taken)))
    }

    fn is_taken(&self, step: &SharedStep) -> bool {
        let is_undone = self.tree.operation(&step.operation).map(|operation| operation.undone);
        is_undone == Some(step.direction == Direction::Undo)
    }

    /// The other session has taken this step, or is about to.
    pub(super) async fn on_shared_step(&mut self, step: SharedStep, reply: oneshot::Sender<TakenThere>) {
        let taken = self.take_shared_step(&step).await;
        if matches!(taken, Ok(true)) {
            self.is_taken_by_other_side(&step);
        }
        // Who does not wait any more need not hear it.
        let _ = reply.send(taken);
    }

    async fn take_shared_step(&mut self, step: &SharedStep) -> TakenThere {
        for attempt in 1..=ATTEMPTS {
            self.begin_attempt(attempt, Purpose::Change).await?;
            let taken = self.write_shared_step(step).await;
            self.end_attempt().await;
            match taken {
                Ok(taken) => return Ok(taken),
                Err(Halt::Again) => {}
                Err(Halt::Refused(error)) => return Err(error),
                Err(Halt::AbortFirst(_) | Halt::After(_) | Halt::Errand(_)) => {
                    return Err(internal("a step of another session was sent elsewhere"));
                }
            }
        }
        Err(outrun())
    }

    async fn write_shared_step(&mut self, step: &SharedStep) -> Result<bool, Halt> {
        let SharedStep { operation, direction } = step;
        let is_undone = self.tree.operation(operation).map(|operation| operation.undone);
        let is_child = matches!(other_side(&self.tree, operation), Some(OtherSide::Origin(_)));
        let stamps = self.stamps.as_mut();
        let records = match (direction, is_undone) {
            (Direction::Undo, Some(false)) if is_child => {
                let planned = plan_undo_beginning(&self.tree, operation, stamps);
                planned.map_err(|why| refused(has_gone_on(&why)))?
            }
            (Direction::Undo, Some(false)) => {
                vec![Record::marked(stamps.now(), Fact::Undone { operation: operation.clone() })]
            }
            (Direction::Redo, Some(true)) => {
                vec![Record::marked(stamps.now(), Fact::Redone { operation: operation.clone() })]
            }
            (Direction::Undo | Direction::Redo, Some(_) | None) => return Ok(false),
        };
        if let Some(turn) = self.turn_lost_by(&records)? {
            return Err(Halt::Refused(would_be_undone(&turn)));
        }
        self.commit(records).await?;
        Ok(true)
    }

    /// What became of the other side. Where it could not be taken there, a child keeps the request from going on.
    pub(super) fn on_other_side(
        &mut self,
        brought: &mut Brought,
        other: Other,
        step: SharedStep,
        taken: TakenThere,
        is_taken_here_too: bool,
    ) -> Result<(), ApiError> {
        let (has_changed, notice) = match taken {
            Ok(has_changed) => (has_changed, None),
            Err(error) if other.is_child => return Err(error),
            Err(error) => {
                let origin = &other.session;
                let text = format!("the list of steps of session `{origin}` does not show it: {error}");
                self.publish(None, EventKind::Notice { text: text.clone() });
                (false, Some(Notice::new(Notice::OTHER_SIDE, text)))
            }
        };
        brought.take_there(Taken { other, step, has_changed, is_taken_here_too, notice });
        Ok(())
    }

    pub(super) fn on_put_back(&mut self, taken: TakenThere) {
        if let Err(error) = taken {
            let text = format!("the other session of this step could not be put back: {error}");
            self.publish(None, EventKind::Notice { text });
        }
    }
}

/// A session that would vanish with what has been done in it stays.
fn has_gone_on(why: &BeginningRefused) -> ApiError {
    let BeginningRefused::HasGoneOn(child) = why;
    let data = ErrorData { other: Some(child.to_string()), ..ErrorData::default() };
    ApiError::new(ErrorCode::NothingToDo, why.to_string()).about(data)
}

/// What puts the other side back, where it has changed.
pub(super) fn putting_back(taken: &Taken) -> Option<(SessionId, SharedStep)> {
    taken.has_changed.then(|| (taken.other.session.clone(), taken.step.reversed()))
}
