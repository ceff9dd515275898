//! What has to be asked elsewhere before a request can go on: hooks, an agent that writes a summary, lists its models or
//! resumes at another point.
//!
//! The request waits here while somebody is asked. Then it comes again and is answered as if it came anew, with what was
//! brought: so nothing that was decided before the errand is believed after it, and whoever gives up leaves no trace.
//! The one exception is the place of a message, which is fixed when it is accepted ([`pending`](super::pending)).

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use offshoot_agents::Agent;
use offshoot_api::event::EventKind;
use offshoot_api::request::{self, ForkTo, IfRunning, Summary};
use offshoot_api::response::Notice;
use offshoot_api::{ApiError, CallerId, ErrorCode, Request, Response};
use offshoot_session::agent::ModelUsage;
use offshoot_session::guard::Refusal;
use offshoot_session::{EntryId, Fact, OperationId, Record, SessionId, Setting, TurnId};
use serde_json::Value;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;
use tracing::debug;

use super::halt::{Halt, nothing_to_do, refused};
use super::news::Cause;
use super::pending::Pending;
use super::requests::is_title;
use super::resuming::{Resumed, Resuming};
use super::scope::Scope;
use super::shared_step::{Other, SharedStep, StepsLock, TakenThere, putting_back, take_there};
use super::{Call, Message, SessionActor};
use crate::engine::disconnected;
use crate::failure::internal;
use crate::hooks::{self, Hook, HookEvent, HookRequest, Supplied, Verdict, Wish};
use crate::summary::{self, Writer};
use crate::view::settings_of;

/// Where a request has to go before it can be answered.
pub(super) enum Errand {
    Hooks {
        event: HookEvent,
        payload: Value,
    },
    Summary {
        requests: Vec<String>,
    },
    /// The agent says which models it has.
    Probe {
        agent: Arc<dyn Agent>,
    },
    /// The agent is stopped, and resumes where the head goes.
    Resume(Box<Resuming>),
    /// No other request undoes or redoes a step of two sessions meanwhile.
    LockSteps {
        step: SharedStep,
    },
    /// The session that has the other side of a step takes it first.
    OtherSide {
        other: Other,
        step: SharedStep,
    },
    /// The other side was taken for nothing.
    PutBack(Taken),
}

/// A step that the other side has taken for this request.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) other: Other,
    pub(super) step: SharedStep,
    /// It was not taken there before.
    pub(super) has_changed: bool,
    /// Why it could not be taken there, where that does not matter.
    pub(super) notice: Option<Notice>,
}

impl Taken {
    /// The session that is there no more, or again.
    pub(super) fn child(&self) -> Option<&SessionId> {
        (self.other.is_child && self.has_changed).then_some(&self.other.session)
    }
}

/// What errands have brought for a request so far.
#[derive(Clone, Default)]
pub(crate) struct Brought {
    verdict: Option<Box<Heard>>,
    /// What hooks said to the session that the message begins, beside what they said to the message.
    branch_verdict: Option<Box<Heard>>,
    summary: Option<Written>,
    /// An agent was asked for its models, whether it answered or not.
    has_probed: bool,
    has_resumed: bool,
    steps_lock: Option<Arc<StepsLock>>,
    other_side: Option<Box<Taken>>,
    /// The answer, where another session has undone or redone the step while this request waited for the lock.
    done_there: Option<Box<Response>>,
    /// The message that the request is, once it was accepted.
    pending: Option<Box<Pending>>,
    /// The turn that was interrupted for it.
    aborted: Option<Box<TurnId>>,
    by: By,
}

/// What hooks said, and the head they said it about.
#[derive(Clone, Default)]
struct Heard {
    verdict: Verdict,
    head: Option<EntryId>,
}

/// Who wants it.
#[derive(Clone, PartialEq, Eq)]
enum By {
    /// `None`: the engine asks for somebody who only looks.
    Person(Option<CallerId>),
    /// The hook of this name. Hooks are not asked about what hooks want.
    Hook(String),
    /// Nobody has asked for it: the engine does it where it has to be done.
    Itself,
    /// A message of the queue whose turn it is. It stays in the queue until its prompt is written.
    Queue,
}

impl Default for By {
    fn default() -> Self {
        Self::Person(None)
    }
}

impl By {
    fn is_person(&self) -> bool {
        matches!(self, Self::Person(_))
    }
}

impl Brought {
    pub(crate) fn by_caller(caller: CallerId) -> Self {
        Self { by: By::Person(Some(caller)), ..Self::default() }
    }

    pub(super) fn by_itself() -> Self {
        Self { by: By::Itself, ..Self::default() }
    }

    /// Hooks were asked before and have no say any more.
    pub(super) fn asked() -> Self {
        Self { verdict: Some(Box::default()), ..Self::default() }
    }

    /// The same for a caller.
    pub(crate) fn asked_for(caller: CallerId) -> Self {
        Self { verdict: Some(Box::default()), ..Self::by_caller(caller) }
    }

    pub(super) fn from_queue(pending: Pending) -> Self {
        Self { by: By::Queue, pending: Some(Box::new(pending)), ..Self::default() }
    }

    pub(super) fn pending(&self) -> Option<&Pending> {
        self.pending.as_deref()
    }

    pub(super) fn pending_mut(&mut self) -> Option<&mut Pending> {
        self.pending.as_deref_mut()
    }

    /// The message is accepted.
    pub(super) fn hold(&mut self, pending: Pending) {
        self.pending = Some(Box::new(pending));
    }

    pub(super) fn aborted(&self) -> Option<&TurnId> {
        self.aborted.as_deref()
    }

    pub(super) fn aborts(&mut self, turn: TurnId) {
        self.aborted = Some(Box::new(turn));
    }

    /// The message has changed: hooks are asked again.
    pub(super) fn forget_verdict(&mut self) {
        self.verdict = None;
    }

    pub(super) fn take_done_there(&mut self) -> Option<Response> {
        self.done_there.take().map(|response| *response)
    }

    pub(super) fn has_probed(&self) -> bool {
        self.has_probed
    }

    pub(super) fn has_resumed(&self) -> bool {
        self.has_resumed
    }

    pub(super) fn holds_steps_lock(&self) -> bool {
        self.steps_lock.is_some()
    }

    pub(super) fn taken_there(&self) -> Option<&Taken> {
        self.other_side.as_deref()
    }

    pub(super) fn take_there(&mut self, taken: Taken) {
        self.other_side = Some(Box::new(taken));
    }

    pub(super) fn forget_other_side(&mut self) {
        self.other_side = None;
    }

    pub(super) fn cause(&self) -> Cause {
        match self.by {
            By::Hook(_) => Cause::Hook,
            By::Person(_) | By::Itself | By::Queue => Cause::Other,
        }
    }

    /// Nobody has asked for it.
    pub(super) fn is_by_itself(&self) -> bool {
        self.by == By::Itself
    }

    /// The engine does it by itself, and has begun to.
    pub(super) fn goes_on_by_itself(&self) -> bool {
        self.by == By::Itself && (self.verdict.is_some() || self.summary.is_some())
    }

    /// What nobody waits for and was refused is told to whoever follows.
    pub(super) fn complaint(&self, error: &ApiError) -> Option<EventKind> {
        match &self.by {
            By::Person(_) => None,
            By::Hook(hook) => {
                let message = format!("what it wants is refused: {error}");
                Some(EventKind::HookFailed { hook: hook.clone(), message })
            }
            // The message waits for the next engine.
            By::Queue if error.code == ErrorCode::Disconnected => None,
            By::Queue => Some(EventKind::Notice { text: format!("what waits could not be sent: {error}") }),
            // Nothing to do is what was wanted.
            By::Itself if error.code == ErrorCode::NothingToDo => None,
            // A turn has overtaken automatic compaction, which is tried again after that turn.
            By::Itself if matches!(error.code, ErrorCode::Running | ErrorCode::Waiting) => None,
            By::Itself => {
                Some(EventKind::Notice { text: format!("the branch could not be made shorter: {error}") })
            }
        }
    }

    /// What hooks want to happen when the request is answered.
    pub(super) fn take_wishes(&mut self) -> Vec<Wish> {
        let heard = self.verdict.iter_mut().chain(&mut self.branch_verdict);
        heard.flat_map(|heard| std::mem::take(&mut heard.verdict.wishes)).collect()
    }
}

/// Texts, and the head they were written for.
#[derive(Clone)]
struct Written {
    texts: Vec<String>,
    head: Option<EntryId>,
}

/// A request on its errand.
pub(super) struct Away {
    call: Call,
    task: AbortHandle,
    scope: Scope,
    what: AwayFor,
}

enum AwayFor {
    Hooks {
        event: HookEvent,
        head: Option<EntryId>,
    },
    Summary {
        head: Option<EntryId>,
    },
    Probe,
    Resume,
    LockSteps {
        step: SharedStep,
    },
    OtherSide {
        other: Other,
        step: SharedStep,
    },
    /// Then the request is refused with this, or planned again.
    PutBack {
        step: SharedStep,
        then: Option<ApiError>,
    },
}

/// What an errand comes back with.
pub(crate) enum Back {
    Verdict(Verdict),
    Written(Result<summary::Texts, ApiError>),
    Probed,
    Resumed(Box<Result<Resumed, ApiError>>),
    StepsLocked(Result<StepsLock, ApiError>),
    OtherSide(TakenThere),
}

/// A request whose caller may go away while it waits.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Waiting {
    Errand(u64),
    /// For the end of a turn.
    Parked,
}

impl Away {
    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    /// Stops whoever is asked.
    pub(super) fn abort(self) -> Call {
        self.task.abort();
        self.call
    }

    pub(super) fn scope(&self) -> &Scope {
        &self.scope
    }

    /// An agent writes a summary for us.
    pub(super) fn is_summary(&self) -> bool {
        matches!(self.what, AwayFor::Summary { .. }) && !is_title(&self.call)
    }

    /// Nothing has happened yet. Where another session has begun to change, the request goes on to its end.
    fn can_be_given_up(&self) -> bool {
        match self.what {
            AwayFor::Hooks { .. }
            | AwayFor::Summary { .. }
            | AwayFor::Probe
            | AwayFor::Resume
            | AwayFor::LockSteps { .. } => true,
            AwayFor::OtherSide { .. } | AwayFor::PutBack { .. } => false,
        }
    }
}

impl SessionActor {
    pub(super) fn send_on_errand(&mut self, call: Call, errand: Errand) {
        self.next_errand += 1;
        let (id, to_self) = (self.next_errand, self.to_self.clone());
        let head = self.tree.main_head().cloned();
        let (task, what) = match errand {
            Errand::Hooks { event, payload } => {
                let (hooks, session) = (self.hooks_for(event), self.id.to_string());
                let place = self.scope().surroundings();
                let task = self.tasks.spawn(async move {
                    let verdict = hooks::ask(hooks, &place, event, session, payload).await;
                    let _ = to_self.send(Message::Back { errand: id, back: Back::Verdict(verdict) }).await;
                });
                (task, AwayFor::Hooks { event, head })
            }
            Errand::Summary { requests } => {
                let writer = match self.writer() {
                    Ok(writer) if is_title(&call) => writer.for_title(),
                    Ok(writer) => writer,
                    Err(error) => return self.refuse(call, error),
                };
                let task = self.tasks.spawn(async move {
                    let written = writer.write(requests).await;
                    let _ = to_self.send(Message::Back { errand: id, back: Back::Written(written) }).await;
                });
                (task, AwayFor::Summary { head })
            }
            Errand::Probe { agent } => (self.probe(id, agent), AwayFor::Probe),
            Errand::Resume(resuming) => {
                let resumed = self.resume_agent(*resuming);
                let task = self.tasks.spawn(async move {
                    let back = Back::Resumed(Box::new(resumed.await));
                    let _ = to_self.send(Message::Back { errand: id, back }).await;
                });
                (task, AwayFor::Resume)
            }
            Errand::OtherSide { other, step } => {
                let task = self.ask_other_side(id, other.session.clone(), step.clone());
                (task, AwayFor::OtherSide { other, step })
            }
            Errand::LockSteps { step } => (self.lock_steps(id), AwayFor::LockSteps { step }),
            Errand::PutBack(taken) => return self.put_back(call, &taken, None),
        };
        let scope = self.scope();
        self.away.insert(id, Away { call, task, scope, what });
    }

    fn probe(&mut self, errand: u64, agent: Arc<dyn Agent>) -> AbortHandle {
        let host = self.settings.host_for(agent.name(), &self.shared.host);
        let (environment, to_self) = (self.scope().environment(), self.to_self.clone());
        self.tasks.spawn(async move {
            // One that cannot be asked says why when it is connected.
            let _ = agent.probe(&host, &environment).await;
            let _ = to_self.send(Message::Back { errand, back: Back::Probed }).await;
        })
    }

    /// A request that is not done after all leaves the other side as it was.
    pub(super) fn put_back(&mut self, mut call: Call, taken: &Taken, then: Option<ApiError>) {
        call.brought.forget_other_side();
        // The turn that is in the way may be over when the other side is as it was.
        let then = then.map(|error| self.completed(error));
        let Some((session, step)) = putting_back(taken) else {
            return self.after_putting_back(call, then);
        };
        self.next_errand += 1;
        let id = self.next_errand;
        let task = self.ask_other_side(id, session, step);
        let scope = self.scope();
        let what = AwayFor::PutBack { step: taken.step.clone(), then };
        self.away.insert(id, Away { call, task, scope, what });
    }

    /// The other side has gone on with the step and cannot be put back: both have to agree, so it is taken here too.
    fn take_as_there(&mut self, step: SharedStep) {
        let (reply, _) = oneshot::channel();
        let context = self.context.clone();
        self.afterwards.push_back(Message::SharedStep { step, reply, context });
    }

    fn after_putting_back(&mut self, call: Call, then: Option<ApiError>) {
        match then {
            Some(error) => self.refuse(call, error),
            None => self.afterwards.push_back(Message::Call(call)),
        }
    }

    fn ask_other_side(&mut self, errand: u64, session: SessionId, step: SharedStep) -> AbortHandle {
        let (sessions, to_self) = (self.sessions.clone(), self.to_self.clone());
        let context = self.context.clone();
        self.tasks.spawn(async move {
            let taken = match sessions.upgrade() {
                Some(sessions) => take_there(&sessions, &session, step, context).await,
                None => Err(disconnected()),
            };
            let _ = to_self.send(Message::Back { errand, back: Back::OtherSide(taken) }).await;
        })
    }

    fn lock_steps(&mut self, errand: u64) -> AbortHandle {
        let (shared, to_self) = (self.shared.clone(), self.to_self.clone());
        self.tasks.spawn(async move {
            let locked = StepsLock::take(&shared).await;
            let _ = to_self.send(Message::Back { errand, back: Back::StepsLocked(locked) }).await;
        })
    }

    /// A request that waits to take this step, or to which it was the answer and is void now, with its client id. A mark
    /// that another session writes here carries the id, so that the request is recognised when it is sent again. One that
    /// would take another step by now is none of these: it is planned again.
    pub(super) fn waiting_for_step(
        &self,
        taken: &SharedStep,
        is_next: bool,
    ) -> Option<(u64, Option<OperationId>)> {
        let (errand, away) = self.away.iter().find(|(_, away)| match &away.what {
            AwayFor::LockSteps { step } if step == taken => is_next,
            AwayFor::LockSteps { step } => {
                step.is_of_same_operation(taken) && away.call.brought.done_there.is_some()
            }
            AwayFor::Hooks { .. }
            | AwayFor::Summary { .. }
            | AwayFor::Probe
            | AwayFor::Resume
            | AwayFor::OtherSide { .. }
            | AwayFor::PutBack { .. } => false,
        })?;
        Some((*errand, away.call.request.client_id().map(OperationId::from)))
    }

    /// Another session has taken a step here. For a request that waits to take the same one, that is its answer; the
    /// opposite voids an earlier one.
    pub(super) fn is_done_for(&mut self, errand: u64, taken: &SharedStep, response: Response) {
        let Some(away) = self.away.get_mut(&errand) else { return };
        if let AwayFor::LockSteps { step } = &away.what {
            away.call.brought.done_there = (step == taken).then(|| Box::new(response));
        }
    }

    /// Whoever wanted it is gone: whoever is asked is ended, and nothing is done later.
    pub(super) fn on_nobody_waits(&mut self, waiting: Waiting) {
        debug!(name: "request given up", session = %self.id);
        match waiting {
            Waiting::Errand(errand) => {
                if let Some(away) = self.away.remove(&errand) {
                    self.withdrawn(&away.abort());
                }
            }
            Waiting::Parked => {
                let is_gone = |call: &Call| call.brought.by.is_person() && call.reply.is_closed();
                let parked = std::mem::take(&mut self.parked);
                let (gone, waiting) = parked.into_iter().partition(|(_, call)| is_gone(call));
                self.parked = waiting;
                for (_, call) in &gone as &Vec<(TurnId, Call)> {
                    self.withdrawn(call);
                }
            }
        }
    }

    /// Its caller does not want it any more.
    fn withdrawn(&mut self, call: &Call) {
        if let Some(pending) = call.brought.pending().cloned() {
            self.send_next_in_place_of(&pending);
        }
    }

    pub(super) async fn on_back(&mut self, errand: u64, back: Back) {
        if let Back::Written(Ok(written)) = &back {
            self.write_spent(&written.spent).await;
        }
        // It was called off at the same moment.
        let Some(Away { mut call, what, .. }) = self.away.remove(&errand) else { return };
        let nobody_waits = call.brought.by.is_person() && call.reply.is_closed();
        match (back, what) {
            // It was given up at the same moment.
            // An agent that has resumed ends with what it came back with.
            (
                Back::Verdict(_) | Back::Written(_) | Back::Probed | Back::Resumed(_) | Back::StepsLocked(_),
                _,
            ) if nobody_waits => {
                self.withdrawn(&call);
            }
            (Back::Verdict(mut verdict), AwayFor::Hooks { event, head }) => {
                self.report(&mut verdict);
                match verdict.cancelled.take() {
                    Some(reason) => {
                        self.refuse(call, ApiError::new(ErrorCode::Cancelled, reason));
                        self.grant(verdict.wishes);
                    }
                    None => {
                        let heard = Some(Box::new(Heard { verdict, head }));
                        match event {
                            HookEvent::SessionBeforeBranch if call.brought.pending().is_some() => {
                                call.brought.branch_verdict = heard;
                            }
                            _ => call.brought.verdict = heard,
                        }
                        self.afterwards.push_back(Message::Call(call));
                    }
                }
            }
            (Back::Written(Ok(summary::Texts { texts, .. })), AwayFor::Summary { head }) => {
                call.brought.summary = Some(Written { texts, head });
                self.afterwards.push_back(Message::Call(call));
            }
            (Back::Written(Err(error)), AwayFor::Summary { .. }) => self.refuse(call, error),
            (Back::Probed, AwayFor::Probe) => {
                call.brought.has_probed = true;
                self.afterwards.push_back(Message::Call(call));
            }
            (Back::Resumed(resumed), AwayFor::Resume) => match *resumed {
                Ok(resumed) => {
                    call.brought.has_resumed = true;
                    self.agent_resumed(resumed);
                    self.afterwards.push_back(Message::Call(call));
                }
                Err(error) => self.refuse(call, error),
            },
            (Back::StepsLocked(Ok(lock)), AwayFor::LockSteps { .. }) => {
                call.brought.steps_lock = Some(Arc::new(lock));
                self.afterwards.push_back(Message::Call(call));
            }
            (Back::StepsLocked(Err(error)), AwayFor::LockSteps { .. }) => self.refuse(call, error),
            (Back::OtherSide(taken), AwayFor::OtherSide { other, step }) => {
                match self.on_other_side(&mut call.brought, other, step, taken) {
                    Ok(()) => self.afterwards.push_back(Message::Call(call)),
                    Err(error) => self.refuse(call, error),
                }
            }
            (Back::OtherSide(taken), AwayFor::PutBack { step, then }) => {
                if taken.is_err() {
                    self.take_as_there(step);
                }
                self.on_put_back(taken);
                self.after_putting_back(call, then);
            }
            (
                Back::Verdict(_)
                | Back::Written(_)
                | Back::Probed
                | Back::Resumed(_)
                | Back::StepsLocked(_)
                | Back::OtherSide(_),
                _,
            ) => {
                self.refuse(call, internal("an errand came back with something else"));
            }
        }
    }

    /// What summaries and titles have used belongs to no reply. It was used, whatever becomes of the text.
    async fn write_spent(&mut self, spent: &[ModelUsage]) {
        let now = self.stamps.now();
        let record = |one: &ModelUsage| {
            Record::marked(now, Fact::Spent { usage: one.usage, model: one.model.clone() })
        };
        let records: Vec<Record> = spent.iter().map(record).collect();
        if records.is_empty() {
            return;
        }
        if let Err(error) = self.commit_without_request(records).await {
            debug!(%error, "what a summary has used could not be written");
        }
    }

    /// What hooks did wrong is told.
    pub(super) fn report(&mut self, verdict: &mut Verdict) {
        for failure in std::mem::take(&mut verdict.failures) {
            self.publish(None, EventKind::HookFailed { hook: failure.hook, message: failure.message });
        }
    }

    /// What hooks want is done next.
    pub(super) fn grant(&mut self, wishes: Vec<Wish>) {
        for Wish { hook, request } in wishes {
            let (reply, _) = oneshot::channel();
            let brought = Brought { by: By::Hook(hook), ..Brought::default() };
            let request = self.request_of(request);
            let context = self.context.clone();
            self.afterwards.push_back(Message::Call(Call { request, reply, brought, context }));
        }
    }

    fn request_of(&self, wish: HookRequest) -> Request {
        let (session, if_running) = (self.id.to_string(), IfRunning::Wait);
        match wish {
            HookRequest::Branch { entry } => {
                let (at, to) = (Some(entry.into()), ForkTo::NewSession);
                Request::Fork(request::Fork {
                    session,
                    at,
                    to,
                    before: true,
                    if_running,
                    ..request::Fork::default()
                })
            }
            HookRequest::NavigateTree { target, summarize } => {
                let summary = if summarize { Summary::Default } else { Summary::None };
                Request::Navigate(request::Navigate {
                    session,
                    to: target.into(),
                    summary,
                    if_running,
                    client_id: None,
                })
            }
        }
    }

    /// Whether hooks have been asked, or need not be.
    pub(super) fn has_verdict(&self, event: HookEvent, brought: &Brought) -> bool {
        brought.verdict.is_some() || matches!(brought.by, By::Hook(_)) || self.hooks_for(event).is_empty()
    }

    /// Whether a message may begin a session, or has no hooks to ask about it.
    pub(super) fn has_branch_verdict(&self, brought: &Brought) -> bool {
        let event = HookEvent::SessionBeforeBranch;
        brought.branch_verdict.is_some()
            || matches!(brought.by, By::Hook(_))
            || self.hooks_for(event).is_empty()
    }

    /// Asks the hooks unless they have been asked; a request that one of them cancels does not come again.
    pub(super) fn ask_hooks(
        &self,
        event: HookEvent,
        brought: &Brought,
        payload: impl FnOnce() -> Value,
    ) -> Result<(), Halt> {
        match self.has_verdict(event, brought) {
            true => Ok(()),
            false => Err(Halt::Errand(Errand::Hooks { event, payload: payload() })),
        }
    }

    /// The summary that a hook supplied for this request, if it applies. It describes one head only: if the head has moved
    /// since, the request is refused.
    pub(super) fn summary_by_hook(
        &self,
        brought: &Brought,
        is_wanted: bool,
    ) -> Result<Option<Supplied>, Halt> {
        let Some(heard) = brought.verdict.as_deref() else { return Ok(None) };
        match heard.verdict.summary(is_wanted) {
            Some(_) if heard.head.as_ref() != self.tree.main_head() => Err(went_on(&brought.by)),
            summary => Ok(summary.cloned()),
        }
    }

    /// The texts for these requests; they are written where they were not yet. What was written for another head than
    /// that of now says nothing any more.
    pub(super) fn written(&self, brought: &Brought, requests: Vec<String>) -> Result<Vec<String>, Halt> {
        match &brought.summary {
            Some(written) if written.head.as_ref() == self.tree.main_head() => Ok(written.texts.clone()),
            Some(_) => Err(went_on(&brought.by)),
            None => Err(Halt::Errand(Errand::Summary { requests })),
        }
    }

    /// Whoever waits hears that the session is closed; of what a hook wanted everybody does. What the engine does by itself
    /// goes on: where each message has an engine of its own, nobody would ever come to it.
    pub(super) fn give_up_what_was_asked_for(&mut self) {
        for errand in self.errands(|away| away.can_be_given_up() && away.call.brought.by != By::Itself) {
            self.give_up_errand(errand);
        }
    }

    /// Whether something is under way that is done to its end: what the engine does by itself, and steps of two sessions.
    pub(super) fn is_at_something(&self) -> bool {
        self.away.values().any(|away| away.call.brought.by == By::Itself || !away.can_be_given_up())
    }

    pub(super) fn give_up_errands(&mut self) {
        for errand in self.errands(|_| true) {
            self.give_up_errand(errand);
        }
    }

    fn give_up_errand(&mut self, errand: u64) {
        let Some(away) = self.away.remove(&errand) else { return };
        away.task.abort();
        self.refuse(away.call, ApiError::new(ErrorCode::Disconnected, "the session was closed"));
    }

    /// What this caller has asked for, and nobody else's; where it has asked for nothing, what nobody has asked for.
    pub(super) fn cancel_summary(&mut self, brought: &Brought) -> Result<Response, Halt> {
        let own = self.errands(|away| away.can_be_given_up() && away.call.brought.by == brought.by);
        let of_nobody = |away: &Away| away.can_be_given_up() && !away.call.brought.by.is_person();
        let waiting_to_stop = self.take_parked_messages(&brought.by);
        let has_none = own.is_empty() && waiting_to_stop.is_empty();
        let called_off = if has_none { self.errands(of_nobody) } else { own };
        if called_off.is_empty() && waiting_to_stop.is_empty() {
            return Err(nothing_to_do("nobody is asked, and no summary is being written"));
        }
        let given_up = || ApiError::new(ErrorCode::Cancelled, "it was called off; nothing was changed");
        for errand in called_off {
            let Some(away) = self.away.remove(&errand) else { continue };
            let call = away.abort();
            match call.brought.pending().filter(|_| call.brought.by.is_person()).cloned() {
                Some(pending) => {
                    super::requests::reply(call, Err(given_up()));
                    self.send_next_in_place_of(&pending);
                }
                None => super::requests::reply(call, Err(given_up())),
            }
        }
        for call in waiting_to_stop {
            let pending = call.brought.pending().cloned();
            super::requests::reply(call, Err(given_up()));
            if let Some(pending) = pending {
                self.send_next_in_place_of(&pending);
            }
        }
        Ok(Response::Done { changed: true })
    }

    /// The messages of this caller that wait until an interrupted agent has stopped.
    fn take_parked_messages(&mut self, by: &By) -> Vec<Call> {
        let is_own = |call: &Call| call.brought.by == *by && call.brought.pending().is_some();
        let parked = std::mem::take(&mut self.parked);
        let (own, others): (Vec<_>, Vec<_>) = parked.into_iter().partition(|(_, call)| is_own(call));
        self.parked = others;
        own.into_iter().map(|(_, call)| call).collect()
    }

    fn errands(&self, is_meant: impl Fn(&Away) -> bool) -> Vec<u64> {
        let away = self.away.iter().filter(|(_, away)| is_meant(away));
        away.map(|(errand, _)| *errand).collect()
    }

    pub(super) fn hooks_for(&self, event: HookEvent) -> Vec<Hook> {
        let hooks = self.settings.hooks.iter();
        hooks.filter(|hook| hook.events.contains(&event)).cloned().collect()
    }

    /// The agent and the model of the branch write summaries, unless others were set.
    pub(super) fn writer(&self) -> Result<Writer, ApiError> {
        let head = self.tree.main_head();
        let agent = match &self.settings.summary_agent {
            Some(name) => self.shared.agents.get(name).cloned().ok_or(Refusal::NoAgent),
            None => self.agent_at(head),
        };
        let no_model =
            |_: Refusal| ApiError::new(ErrorCode::NoModel, "there is no model to write the summary");
        let mut settings = settings_of(&self.tree, head);
        if let Some(model) = self.settings.summary_model.clone() {
            settings.retain(|setting| !matches!(setting, Setting::Model { role: None, .. }));
            settings.push(Setting::Model { role: None, model });
        }
        let wait = self.settings.summary_wait;
        let (agent, session) = (agent.map_err(no_model)?, self.id.clone());
        let (environment, is_watched) = (self.scope().environment(), self.context.interactive);
        let host = self.settings.host_for(agent.name(), &self.shared.host);
        Ok(Writer { agent, session, settings, environment, host, is_watched, wait })
    }
}

/// The first request that is away and that nobody waits for any more. What hooks want, and what the engine does by itself,
/// never had anybody who waits.
pub(super) async fn nobody_waits(away: &mut BTreeMap<u64, Away>, parked: &mut [(TurnId, Call)]) -> Waiting {
    poll_fn(|context| {
        for (_, call) in parked.iter_mut().filter(|(_, call)| call.brought.by.is_person()) {
            if call.reply.poll_closed(context).is_ready() {
                return Poll::Ready(Waiting::Parked);
            }
        }
        let is_waited_for = |away: &Away| away.call.brought.by.is_person() && away.can_be_given_up();
        let by_persons = away.iter_mut().filter(|(_, away)| is_waited_for(away));
        for (errand, away) in by_persons {
            if away.call.reply.poll_closed(context).is_ready() {
                return Poll::Ready(Waiting::Errand(*errand));
            }
        }
        Poll::Pending
    })
    .await
}

/// What was written for another head than that of now says nothing any more.
fn went_on(by: &By) -> Halt {
    let code = match by {
        // Automatic compaction is due again after the turn that has overtaken it.
        By::Itself => ErrorCode::NothingToDo,
        By::Person(_) | By::Hook(_) | By::Queue => ErrorCode::Cancelled,
    };
    refused(ApiError::new(
        code,
        "the conversation went on while the summary was written; nothing was changed",
    ))
}
