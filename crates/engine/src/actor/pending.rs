//! Messages that were accepted and whose prompts are not written yet.
//!
//! A message that cannot be written at once, because hooks have to be asked or an interrupted agent has not stopped, is
//! accepted: its place is fixed ([`Landing`]) and its branch is busy. The pending turn travels with the call that prepares
//! it ([`Brought`]), so it ends with that call, however the call ends: there is no second list to keep in step. When the
//! message is ready, the prompt is written exactly at its place and a running turn takes over.
//!
//! Until then the message belongs to its sender. It is cancelled without a trace if the sender cancels it or disconnects,
//! if a hook cancels it, or if it is in the way of a request with `abort_first`. A message of the queue stays in the queue
//! until its prompt is written.

use std::sync::Arc;

use jiff::Timestamp;
use offshoot_agents::Agent;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::views::{StatusRow, StatusView};
use offshoot_api::{ApiError, ErrorCode, Request, TurnRef};
use offshoot_session::address::Place;
use offshoot_session::guard::Refusal;
use offshoot_session::pending::{Landing, PendingTurn};
use offshoot_session::queue::Queued;
use offshoot_session::status::Status;
use offshoot_session::{ChosenIds, EntryId, TurnId, text_of};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::changed::chosen_ids;
use super::errands::{Brought, Errand};
use super::halt::{Halt, refused};
use super::looks::first_line;
use super::requests::reply;
use super::{Call, Message, SessionActor};
use crate::hooks::HookEvent;

/// A message without a prompt.
#[derive(Clone)]
pub(crate) struct Pending {
    pub(super) turn: PendingTurn,
    /// Which of all accepted messages it is.
    number: u64,
    /// The entry that the request addressed, where it addressed one. Its text may mean another entry by now.
    at: Option<EntryId>,
    since: Timestamp,
    /// For the status.
    text: String,
    agent: String,
    agent_title: String,
}

/// What a message needs before its prompt is written, in this order.
pub(super) enum Needs {
    /// The agent of an interrupted turn in its way has stopped.
    Stopped(TurnId),
    /// Hooks agree. Their payload.
    Hooks(HookEvent, Value),
}

/// A message that is about to be sent.
pub(super) struct Outgoing<'m> {
    pub(super) landing: &'m Landing,
    pub(super) at: Option<&'m EntryId>,
    pub(super) client_id: Option<&'m str>,
    pub(super) text: &'m str,
    pub(super) attachments: &'m [String],
    pub(super) agent: &'m Arc<dyn Agent>,
    /// Its prompt is written in a session that begins with it.
    pub(super) begins_session: bool,
}

/// The ids of a message: those that its sender chose, and the turn that it got when it was accepted.
#[derive(Clone, Copy, Default)]
pub(super) struct MessageIds<'m> {
    pub(super) client_id: Option<&'m str>,
    pub(super) turn: Option<&'m TurnId>,
    /// The prompt gets a UUID as id.
    has_uuids: bool,
}

impl<'m> MessageIds<'m> {
    pub(super) fn of(client_id: Option<&'m str>, brought: &'m Brought) -> Self {
        let turn = brought.pending().map(|pending| pending.turn.id());
        Self { client_id, turn, has_uuids: false }
    }

    /// A message of the queue.
    pub(super) fn of_queued(queued: &'m Queued) -> Self {
        Self { client_id: Some(queued.id.as_str()), turn: None, has_uuids: false }
    }

    /// An agent with ids of its own uses that of the prompt.
    pub(super) fn for_agent(self, agent: Option<&Arc<dyn Agent>>) -> Self {
        Self { has_uuids: agent.is_some_and(|agent| agent.abilities(None).entry_ids), ..self }
    }

    pub(super) fn stamps<'s>(self, stamps: &'s mut (dyn offshoot_session::Stamps + Send)) -> ChosenIds<'s> {
        let ids = chosen_ids(stamps, self.client_id).with_uuids(self.has_uuids);
        match self.turn {
            Some(turn) => ids.turn(Some(turn.clone())),
            None => ids,
        }
    }
}

impl SessionActor {
    /// The place of a message that was accepted before. Refused where that place is gone.
    pub(super) fn accepted_landing(&self, brought: &Brought) -> Result<Option<Landing>, Halt> {
        let Some(pending) = brought.pending() else { return Ok(None) };
        let landing = pending.turn.landing();
        landing.check(&self.tree).map_err(refused)?;
        Ok(Some(landing.clone()))
    }

    /// The entry that an accepted edit, retry or resume is about.
    pub(super) fn accepted_at(&self, brought: &Brought) -> Result<Option<EntryId>, Halt> {
        self.accepted_landing(brought)?;
        Ok(brought.pending().and_then(|pending| pending.at.clone()))
    }

    /// Returns if the prompt can be written now; otherwise the message keeps its place and waits.
    pub(super) fn prepare(&mut self, message: &Outgoing<'_>, brought: &Brought) -> Result<(), Halt> {
        let aborted = brought.aborted().filter(|turn| self.turns.contains_key(*turn)).cloned();
        let below = message.landing.below(&self.tree).cloned();
        let stopping = || self.stopping_on_path(message.at.or(below.as_ref()));
        let needs = match aborted.or_else(stopping) {
            Some(turn) => Needs::Stopped(turn),
            None if !self.has_verdict(HookEvent::BeforeSend, brought) => {
                let payload = json!({
                    "text": message.text,
                    "attachments": message.attachments,
                    "below": below.as_ref().map(EntryId::as_str),
                });
                Needs::Hooks(HookEvent::BeforeSend, payload)
            }
            None if message.begins_session && !self.has_branch_verdict(brought) => {
                let payload = json!({ "entryId": below.as_ref().map(EntryId::as_str) });
                Needs::Hooks(HookEvent::SessionBeforeBranch, payload)
            }
            None => return Ok(()),
        };
        let pending = match brought.pending() {
            Some(pending) => pending.clone(),
            None => self.accept(message),
        };
        Err(Halt::Prepare { pending: Box::new(pending), needs })
    }

    fn accept(&mut self, message: &Outgoing<'_>) -> Pending {
        let id = match (message.landing, message.client_id) {
            (Landing::Answer(prompt), _) => self.tree.entry(prompt).and_then(|prompt| prompt.turn.clone()),
            (Landing::Below(_) | Landing::Version { .. }, client_id) => client_id.map(TurnId::from),
        };
        let id = id.unwrap_or_else(|| self.stamps.turn_id());
        self.accepted += 1;
        Pending {
            number: self.accepted,
            turn: PendingTurn::accept(id, message.landing.clone()),
            at: message.at.cloned(),
            since: self.stamps.now(),
            text: message.text.to_owned(),
            agent: message.agent.name().to_owned(),
            agent_title: message.agent.title().to_owned(),
        }
    }

    /// Suspends a call until its message has what it needs.
    pub(super) fn suspend_message(&mut self, mut call: Call, pending: Pending, needs: Needs) {
        match needs {
            Needs::Stopped(turn) => {
                call.brought.hold(pending);
                self.park(turn, call);
            }
            Needs::Hooks(event, payload) => {
                call.brought.hold(Pending { turn: pending.turn.asking_hooks(), ..pending });
                self.send_on_errand(call, Errand::Hooks { event, payload });
            }
        }
    }

    /// Sends a message of the queue as the next thing, at this place. It is prepared like any other message; nobody waits
    /// for the response.
    pub(super) fn send_queued(&mut self, queued: &Queued, landing: Landing) {
        let below = landing.below(&self.tree).cloned();
        let agent = self.agent_for(&queued.chosen, below.as_ref()).ok();
        self.accepted += 1;
        let pending = Pending {
            number: self.accepted,
            turn: PendingTurn::accept(queued.id.turn(), landing),
            at: None,
            since: queued.queued_at,
            text: text_of(&queued.prompt.blocks),
            agent: agent.as_ref().map(|agent| agent.name().to_owned()).unwrap_or_default(),
            agent_title: agent.as_ref().map(|agent| agent.title().to_owned()).unwrap_or_default(),
        };
        // Its sender's, wherever the turn before it came from. One that an earlier engine has left has none.
        let scope = self.queue_scopes.get(&queued.id);
        let context = scope.map_or_else(|| self.context.clone(), |scope| scope.context.clone());
        let queued = Some(queued.id.to_string());
        let request = Request::SayQueued(request::SayQueued { session: self.id.to_string(), queued });
        let (reply, _) = oneshot::channel();
        let call = Call { request, reply, brought: Brought::from_queue(pending), context };
        self.afterwards.push_front(Message::Call(call));
    }

    /// A message that was cancelled by its sender or by a hook left nothing behind, so what was sent after it still
    /// makes sense: the next message behind it takes its place. (Behind a turn that failed or was interrupted, messages are
    /// held, because the answer they rely on is not there.)
    pub(super) fn send_next_in_place_of(&mut self, pending: &Pending) {
        if self.is_ending {
            return;
        }
        let landing = match pending.turn.landing() {
            Landing::Below(below) | Landing::Version { below, .. } => Landing::Below(below.clone()),
            // It has a prompt of its own, and that has no answer.
            Landing::Answer(_) => return self.tell_held(pending.turn.id()),
        };
        if let Some(next) = self.queue.advance(pending.turn.id()) {
            self.send_queued(&next, landing);
        }
    }

    /// Somebody else wants the branch: the message is cancelled, and what waits behind it is held, as behind a turn that
    /// was interrupted. `false`: there is no such message.
    pub(super) fn cancel_pending(&mut self, turn: &TurnId) -> bool {
        let Some(call) = self.take_pending_call(turn) else { return false };
        let cancelled = ApiError::new(ErrorCode::Cancelled, "the message was cancelled before it was sent");
        reply(call, Err(cancelled));
        self.tell_held(turn);
        if self.queue.iter().any(|queued| queued.id.turn() == *turn) {
            self.tell_queue();
        }
        true
    }

    /// Removes the call that prepares this turn. Whoever is asked for it is stopped.
    pub(super) fn take_pending_call(&mut self, turn: &TurnId) -> Option<Call> {
        let is_it = |call: &Call| call.brought.pending().is_some_and(|pending| pending.turn.id() == turn);
        if let Some(at) = self.parked.iter().position(|(_, call)| is_it(call)) {
            return Some(self.parked.remove(at).1);
        }
        let in_line = |message: &Message| matches!(message, Message::Call(call) if is_it(call));
        if let Some(at) = self.afterwards.iter().position(in_line) {
            return match self.afterwards.remove(at) {
                Some(Message::Call(call)) => Some(call),
                _ => None,
            };
        }
        let errand = self.away.iter().find(|(_, away)| is_it(away.call())).map(|(errand, _)| *errand)?;
        self.away.remove(&errand).map(super::errands::Away::abort)
    }

    /// Accepted messages, in the order in which they were accepted.
    pub(super) fn pending(&self) -> Vec<&Pending> {
        let in_line = self.afterwards.iter().filter_map(|message| match message {
            Message::Call(call) => Some(call),
            _ => None,
        });
        let parked = self.parked.iter().map(|(_, call)| call);
        let away = self.away.values().map(super::errands::Away::call);
        let calls = in_line.chain(parked).chain(away);
        let mut pending: Vec<&Pending> = calls.filter_map(|call| call.brought.pending()).collect();
        pending.sort_by_key(|pending| pending.number);
        pending
    }

    pub(super) fn pending_turns(&self) -> Vec<PendingTurn> {
        self.pending().into_iter().map(|pending| pending.turn.clone()).collect()
    }

    pub(super) fn is_pending(&self, turn: &TurnId) -> bool {
        self.pending().iter().any(|pending| pending.turn.id() == turn)
    }

    /// Whether messages wait for this turn with reason: it runs, or will.
    pub(super) fn is_busy(&self, turn: &TurnId) -> bool {
        self.turns.contains_key(turn) || self.is_pending(turn)
    }

    pub(super) fn require_not_busy(&self, turn: &TurnId) -> Result<(), Halt> {
        if let Some(running) = self.turns.get(turn) {
            let (turn, prompt) = (turn.clone(), running.turn.prompt().clone());
            return Err(refused(Refusal::Running { turn, prompt }));
        }
        match self.pending().into_iter().find(|pending| pending.turn.id() == turn) {
            Some(pending) => Err(refused(self.preparing(pending))),
            None => Ok(()),
        }
    }

    fn preparing(&self, pending: &Pending) -> Refusal {
        let below = pending.turn.landing().below(&self.tree).cloned();
        Refusal::Preparing { turn: pending.turn.id().clone(), below }
    }

    /// For requests that no message may be in the way of, wherever it lands.
    pub(super) fn when_nothing_is_pending(&self, if_running: IfRunning) -> Result<(), Halt> {
        let Some(pending) = self.pending().into_iter().next() else { return Ok(()) };
        match if_running {
            IfRunning::AbortFirst => Err(Halt::AbortFirst(pending.turn.id().clone())),
            IfRunning::Wait | IfRunning::Beside => Err(refused(self.preparing(pending))),
        }
    }

    pub(super) fn pending_rows(&self) -> Vec<StatusRow> {
        let rows = self.pending().into_iter().map(|pending| {
            let landing = pending.turn.landing();
            let prompt = match landing {
                Landing::Answer(prompt) => prompt.to_string(),
                Landing::Below(_) | Landing::Version { .. } => String::new(),
            };
            StatusRow {
                session: self.id.to_string(),
                turn: pending.turn.id().to_string(),
                prompt,
                branch: self.branch_of(landing),
                number: landing.number(&self.tree),
                agent: pending.agent.clone(),
                status: StatusView::from(Status::of_stream(pending.turn.state())),
                phase: Some(pending.turn.phase().word().to_owned()),
                since: pending.since,
                ask: None,
                asked_at: None,
                what: first_line(&pending.text),
            }
        });
        rows.collect()
    }

    pub(super) fn pending_ref(&self, turn: &TurnId) -> Option<TurnRef> {
        let pending = self.pending().into_iter().find(|pending| pending.turn.id() == turn)?;
        let landing = pending.turn.landing();
        Some(TurnRef {
            turn: turn.to_string(),
            prompt: String::new(),
            number: landing.number(&self.tree),
            branch: self.branch_of(landing),
            agent: pending.agent.clone(),
            agent_title: pending.agent_title.clone(),
        })
    }

    fn branch_of(&self, landing: &Landing) -> Option<String> {
        let below = landing.below(&self.tree)?;
        Place::of(&self.tree, below).branch.map(str::to_owned)
    }
}
