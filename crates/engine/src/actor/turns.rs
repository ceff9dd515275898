//! Turns that run: what they want to happen is done here, in their order.

use std::sync::Arc;

use jiff::Timestamp;
use offshoot_agents::Agent;
use offshoot_api::ApiError;
use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::views::{ContextView, EntryView};
use offshoot_session::agent::{AgentFailure, AgentInput, AgentTurn, FailureKind};
use offshoot_session::cost::Charge;
use offshoot_session::guard::RunningTurn;
use offshoot_session::status::State;
use offshoot_session::turn::{Effect, End, Phase, Shown, Turn};
use offshoot_session::{AgentSessionId, Change, Entry, EntryId, Record, TurnId};
use serde_json::json;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tracing::{error, info};

use super::measured::charges_in;
use super::scope::Scope;
use super::{Message, SessionActor};
use crate::connection::ConnectionId;
use crate::feed::About;
use crate::hooks::HookEvent;
use crate::shelf::Drafted;
use crate::workplaces::AtWork;

pub(super) struct Running {
    pub(super) turn: Turn,
    pub(super) agent: Arc<dyn Agent>,
    pub(super) since: Timestamp,
    /// The same for the log, by a clock that nobody sets.
    began: Instant,
    pub(super) connection: Option<ConnectionId>,
    /// The agent is being reached.
    pub(super) reaching: Option<AbortHandle>,
    /// The session that it was asked to take up again.
    pub(super) returns_to: Option<AgentSessionId>,
    /// What the agent is sent before the prompt.
    pub(super) unseen: Vec<Arc<Entry>>,
    /// How often the prompt was sent, or may have been.
    pub(super) deliveries: usize,
    /// How often an agent was connected for it.
    pub(super) starts: usize,
    /// How often it had to be reached again.
    pub(super) tries: usize,
    /// It was told to stop, or has come back and was not heard yet: this is how long we wait.
    pub(super) give_up_at: Option<Instant>,
    /// What it has used so far.
    charges: Vec<Charge>,
    /// Of the request that started it.
    pub(super) scope: Scope,
    /// As long as it runs, others in the same folder are told so.
    _at_work: AtWork,
}

/// A turn that is over, and whose agent is free.
pub(crate) struct Ended {
    pub(super) turn: TurnId,
    pub(super) went_well: bool,
    /// How full the window is behind it, where the head is there.
    pub(super) context: Option<ContextView>,
    pub(super) scope: Scope,
}

impl Running {
    pub(super) fn new(
        turn: Turn,
        agent: Arc<dyn Agent>,
        since: Timestamp,
        at_work: AtWork,
        scope: Scope,
    ) -> Self {
        Self {
            turn,
            agent,
            since,
            began: Instant::now(),
            connection: None,
            reaching: None,
            returns_to: None,
            unseen: Vec::new(),
            deliveries: 0,
            starts: 0,
            tries: 0,
            give_up_at: None,
            charges: Vec::new(),
            scope,
            _at_work: at_work,
        }
    }

    /// The turn's own account, unless its agent is gone: then it is looked for, and whether it goes on is not known before
    /// it is heard.
    pub(super) fn state(&self) -> State {
        match (self.tries, self.connection) {
            _ if self.turn.is_over() => self.turn.state(),
            (0, _) => self.turn.state(),
            (_, None) => State::Exited,
            (_, Some(_)) => State::Unknown,
        }
    }
}

impl SessionActor {
    pub(super) async fn perform(&mut self, turn: &TurnId, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Write(records) => {
                    let entries: Vec<Arc<Entry>> = records.iter().filter_map(entry_of).collect();
                    let charges = charges_in(&records);
                    if let Err(error) = self.commit_turn(records).await {
                        return self.could_not_save(turn, &error).await;
                    }
                    if let Some(running) = self.turns.get_mut(turn) {
                        running.charges.extend(charges);
                    }
                    self.messages_follow(turn, &entries);
                }
                Effect::Replace { live, entry } => drop(self.replaced.insert(entry, live)),
                Effect::Show(shown) => self.show(turn, shown),
                Effect::Tell(input) => self.tell_agent(turn, input),
                Effect::Ask(ask) => self.take_ask(ask),
                // Files as of a turn are kept by nobody yet.
                Effect::Checkpoint { at } => self.set_tip(turn, at),
                Effect::Close(end) => self.close_turn(turn, &end).await,
            }
        }
    }

    /// Messages that wait until an interrupted turn has stopped land at its end, as heads follow a turn.
    fn messages_follow(&mut self, turn: &TurnId, entries: &[Arc<Entry>]) {
        if !self.turns.get(turn).is_some_and(|running| running.turn.is_over()) {
            return;
        }
        let waiting = self.parked.iter_mut().filter(|(behind, _)| behind == turn);
        for pending in waiting.filter_map(|(_, call)| call.brought.pending_mut()) {
            for entry in entries.iter().filter(|entry| entry.turn.as_ref() == Some(turn)) {
                pending.turn.follow(entry);
            }
        }
    }

    /// A turn that the agent begins by itself hangs below this entry.
    fn set_tip(&mut self, turn: &TurnId, at: EntryId) {
        let connection = self.turns.get(turn).and_then(|running| running.connection);
        if let Some(connection) = connection.and_then(|id| self.connections.get_mut(&id)) {
            connection.tip = Some(at);
        }
    }

    fn show(&mut self, turn: &TurnId, shown: Shown) {
        let about = self.about_shown(turn, &shown);
        let kind = match shown {
            Shown::Entry(entry) => {
                let live = EntryView::from(&*entry);
                self.draft(Drafted::Entry(entry));
                EventKind::Live { entry: live }
            }
            Shown::Words { entry, text } => {
                self.draft(Drafted::Words { entry: entry.clone(), text: text.clone() });
                EventKind::Words { entry: entry.to_string(), text }
            }
            Shown::Thinking { entry, text } => {
                self.draft(Drafted::Thinking { entry: entry.clone(), text: text.clone() });
                EventKind::Thinking { entry: entry.to_string(), text }
            }
            Shown::Discarded(entry) => {
                let void = EntryView::from(&*entry);
                self.draft(Drafted::Entry(entry));
                EventKind::Live { entry: void }
            }
            Shown::Retrying { attempt, of, wait, cause } => {
                let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                EventKind::Retrying { attempt, of, wait_ms, error: cause.text }
            }
            Shown::Confirmed(ask) => {
                self.asks.confirm(&ask);
                EventKind::Confirmed { ask: ask.to_string() }
            }
            Shown::NoLongerAsked(ask) => {
                self.asks.withdraw(&ask, self.stamps.now());
                EventKind::NoLongerAsked { ask: ask.to_string() }
            }
        };
        self.publish_about(about, kind);
    }

    fn about_shown(&self, turn: &TurnId, shown: &Shown) -> About {
        match shown {
            Shown::Entry(entry) | Shown::Discarded(entry) => self.about(entry.turn.as_ref()),
            Shown::Words { entry, .. } | Shown::Thinking { entry, .. } => {
                let running = self.turns.get(turn);
                let sub_agent = running.and_then(|running| running.turn.sub_agent_writing(entry)).cloned();
                About { turn: Some(turn.clone()), sub_agent }
            }
            Shown::Retrying { .. } | Shown::Confirmed(_) | Shown::NoLongerAsked(_) => {
                About { turn: Some(turn.clone()), sub_agent: None }
            }
        }
    }

    fn draft(&mut self, step: Drafted) {
        self.drafting.add(step, self.settings.draft_every);
    }

    /// A person wants it to stop. The turn is closed, and what was shown is kept, when the agent has stopped.
    pub(super) async fn interrupt(&mut self, turn: &TurnId) {
        let before = self.enter_turn(turn);
        self.interrupt_in_scope(turn).await;
        self.enter(before);
    }

    async fn interrupt_in_scope(&mut self, turn: &TurnId) {
        let Some(running) = self.turns.get_mut(turn) else { return };
        let effects = running.turn.interrupt();
        running.give_up_at = Some(Instant::now() + self.settings.interrupt_wait);
        let is_reached = running.reaching.take().map(|reaching| reaching.abort()).is_none();
        let can_stop = is_reached && running.connection.is_some() && running.agent.abilities(None).interrupt;
        self.perform(turn, effects).await;
        if !can_stop {
            self.give_up(turn, AgentFailure::other("interrupted")).await;
        }
    }

    /// The agent does not answer, or could not be reached.
    pub(super) async fn give_up(&mut self, turn: &TurnId, failure: AgentFailure) {
        let before = self.enter_turn(turn);
        self.give_up_in_scope(turn, failure).await;
        self.enter(before);
    }

    async fn give_up_in_scope(&mut self, turn: &TurnId, failure: AgentFailure) {
        let Some(running) = self.turns.get_mut(turn) else { return };
        let effects = running.turn.give_up(failure, self.stamps.as_mut());
        // Whatever it still does, nobody hears it.
        if let Some(connection) = running.connection.take() {
            self.connections.remove(&connection);
        }
        self.perform(turn, effects).await;
    }

    pub(super) async fn give_up_on_the_slow(&mut self, now: Instant) {
        let wait = self.settings.reach_wait;
        let mut late: Vec<TurnId> = Vec::new();
        for (turn, running) in &mut self.turns {
            if running.give_up_at.is_none_or(|at| at > now) {
                continue;
            }
            // Nobody is slow who waits for a person.
            match running.turn.waits_for() {
                Some(_) => running.give_up_at = Some(now + wait),
                None => late.push(turn.clone()),
            }
        }
        for turn in late {
            let Some(running) = self.turns.get(&turn) else { continue };
            let silent = format!("{} does not answer any more", running.agent.title());
            self.give_up(&turn, AgentFailure::new(FailureKind::Process, silent)).await;
        }
    }

    /// Nothing more of this turn can be kept, so nothing more of it is shown.
    pub(super) async fn could_not_save(&mut self, turn: &TurnId, error: &ApiError) {
        error!(name: "turn not saved", session = %self.id, turn = %turn, code = ?error.code);
        self.tell_agent(turn, AgentInput::Interrupt { turn: AgentTurn::Prompted(turn.clone()) });
        if let Some(connection) = self.turns.get_mut(turn).and_then(|running| running.connection.take()) {
            self.connections.remove(&connection);
        }
        self.close_turn(turn, &End::Failed(AgentFailure::other(error.message.clone()))).await;
    }

    async fn close_turn(&mut self, turn: &TurnId, end: &End) {
        let Some(running) = self.turns.remove(turn) else { return };
        let ms = running.began.elapsed().as_millis() as u64;
        info!(name: "turn ends", session = %self.id, turn = %turn, end = word(end), ms);
        if let Some(connection) = running.connection {
            self.free(connection, turn, !matches!(end, End::Failed(_)));
        }
        for ask in self.asks.end_turn(turn, self.stamps.now()) {
            self.publish(Some(turn), EventKind::NoLongerAsked { ask: ask.to_string() });
        }
        if self.turns.is_empty() {
            self.let_go_of_the_book().await;
        }
        let prompt = running.turn.prompt().to_string();
        let told = TurnEnd::from(end);
        self.tell_hooks(
            HookEvent::TurnEnded,
            || json!({ "turn": turn.as_str(), "prompt": prompt, "end": told }),
        );
        let went_well = matches!(end, End::Done | End::Limit);
        let ended = Ended {
            turn: turn.clone(),
            went_well,
            context: self.context_behind(running.turn.prompt(), running.agent.name()),
            scope: running.scope.clone(),
        };
        let cost = self.cost_of_turn(&running.charges);
        if went_well {
            self.tell_if_full(&ended);
        }
        self.tell_measured(ended.context);
        self.publish(Some(turn), EventKind::TurnEnded { end: TurnEnd::from(end), cost });
        self.afterwards.push_back(Message::TurnClosed(ended));
    }

    /// Messages of the queue go on after a good end.
    pub(super) fn on_turn_closed(&mut self, ended: &Ended) {
        let turn = &ended.turn;
        if !ended.went_well {
            return self.tell_held(turn);
        }
        if !self.say_next(turn) {
            self.compact_if_full(ended);
            self.title_if_missing();
        }
    }

    /// The turns as guards see them.
    pub(super) fn running_turns(&self) -> Vec<RunningTurn> {
        let turns = self.turns.values().map(|running| RunningTurn {
            turn: running.turn.id().clone(),
            prompt: running.turn.prompt().clone(),
            phase: running.turn.phase(),
            waits_for: running.turn.waits_for(),
        });
        turns.collect()
    }

    /// A turn that was interrupted on the way to this entry and whose agent has not stopped yet.
    pub(super) fn stopping_on_path(&self, at: Option<&EntryId>) -> Option<TurnId> {
        let at = at?;
        let is_stopping = |running: &&Running| {
            running.turn.phase() == Phase::Interrupting && self.tree.is_ancestor(running.turn.prompt(), at)
        };
        self.turns.values().find(is_stopping).map(|running| running.turn.id().clone())
    }
}

fn entry_of(record: &Record) -> Option<Arc<Entry>> {
    match &record.change {
        Change::Entry(entry) => Some(entry.clone()),
        Change::Opened(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
    }
}

/// How a turn ended, without what the agent said about it.
fn word(end: &End) -> &'static str {
    match end {
        End::Done => "done",
        End::Limit => "limit",
        End::Interrupted => "interrupted",
        End::Failed(_) => "failed",
    }
}
