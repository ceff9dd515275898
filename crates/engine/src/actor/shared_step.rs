//! Steps of two sessions: the beginning of a session out of another one is a step in both, so taking it back or again
//! happens in both.
//!
//! Each session writes its own side. A request first takes the lock for such steps ([`StepsLock`]), so that no other one
//! changes either side in between, in this process or another. Then its session asks the other one, which writes first.
//! Both are errands: the request waits while the actor handles other messages, so two sessions never wait for each other.
//! When the request comes again it is planned again; if it is about another step by then, or is refused, the other side
//! is restored.

use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::response::Notice;
use offshoot_api::{ApiError, CallerContext, ErrorCode, ErrorData};
use offshoot_session::plan::{
    BeginningRefused, OtherSide, other_side, plan_redo, plan_undo, plan_undo_beginning, step_of,
};
use offshoot_session::{Change, Fact, Mark, OperationId, Record, SessionId};
use offshoot_store::files::Held;
use tokio::sync::{OwnedMutexGuard, oneshot};

use super::commit::{ATTEMPTS, Purpose};
use super::errands::{Errand, Taken};
use super::halt::{Halt, refused};
use super::moves::would_be_undone;
use super::requests::outrun;
use super::{Brought, Message, SessionActor};
use crate::engine::{Shared, disconnected};
use crate::failure::{internal, steps_not_locked};
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

    pub(super) fn is_of_same_operation(&self, other: &Self) -> bool {
        self.operation == other.operation
    }

    fn reversed(&self) -> Self {
        let direction = match self.direction {
            Direction::Undo => Direction::Redo,
            Direction::Redo => Direction::Undo,
        };
        Self { operation: self.operation.clone(), direction }
    }
}

/// Held from the moment a step of two sessions is planned until both have written it.
pub(crate) struct StepsLock {
    /// Released first: the process takes one lock file for all its requests.
    _file: Box<dyn Held>,
    _request: OwnedMutexGuard<()>,
}

impl StepsLock {
    pub(super) async fn take(shared: &Arc<Shared>) -> Result<Self, ApiError> {
        let request = shared.steps.clone().lock_owned().await;
        let shelf = shared.shelf.clone();
        let file = tokio::task::spawn_blocking(move || shelf.lock_steps()).await;
        let file = file.map_err(|_| internal("the store broke down"))?;
        Ok(Self { _file: file.map_err(|error| steps_not_locked(&error))?, _request: request })
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
        Err(Halt::Errand(match brought.holds_steps_lock() {
            true => Errand::OtherSide { other, step },
            false => Errand::LockSteps { step },
        }))
    }

    /// The other session has taken this step, or is about to.
    pub(super) async fn on_shared_step(&mut self, step: SharedStep, reply: oneshot::Sender<TakenThere>) {
        let taken = self.take_shared_step(&step).await;
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
                Err(Halt::AbortFirst(_) | Halt::After(_) | Halt::Errand(_) | Halt::Prepare { .. }) => {
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
        let is_next = self.is_next(step);
        let waiting = self.waiting_for_step(step, is_next);
        let records = match &waiting {
            Some((_, Some(id))) => records.into_iter().map(|mark| mark.in_operation(id.clone())).collect(),
            Some((_, None)) | None => records,
        };
        let (before, was_there) = (self.head_now(), !self.tree.is_taken_back());
        self.commit(records).await?;
        if let Some((errand, _)) = waiting {
            let is_own_beginning = was_there == self.tree.is_taken_back();
            let response = self.rearranged_by(operation, before, is_own_beginning, None);
            self.is_done_for(errand, step, response);
        }
        Ok(true)
    }

    /// Whether an undo or redo of this session would take this step now.
    fn is_next(&mut self, step: &SharedStep) -> bool {
        let stamps = self.stamps.as_mut();
        let records = match step.direction {
            Direction::Undo => plan_undo(&self.tree, stamps).unwrap_or_default(),
            Direction::Redo => plan_redo(&self.tree, stamps).unwrap_or_default(),
        };
        step_of(&records) == Some(&step.operation)
    }

    /// What became of the other side. Where it could not be taken there, a child keeps the request from going on.
    pub(super) fn on_other_side(
        &mut self,
        brought: &mut Brought,
        other: Other,
        step: SharedStep,
        taken: TakenThere,
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
        brought.take_there(Taken { other, step, has_changed, notice });
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
