//! What agents report: events of turns, and events of connections.

use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_session::agent::{
    AgentEvent, AgentEventKind, AgentTurn, ConnectionEvent, FromAgent, SessionChange, Speaker, TurnCause,
};
use offshoot_session::turn::{Effect, Turn};
use offshoot_session::{
    AgentSessionId, Block, Body, CustomMessage, Entry, EntryId, Fact, HeadMove, HeadName, Record, Setting,
    TitleSource, TurnId,
};
use tracing::{info, warn};

use super::SessionActor;
use super::turns::Running;
use crate::connection::ConnectionId;

/// The kind of the entry that says why an agent began by itself.
const TASK_NOTIFICATION: &str = "task_notification";

impl SessionActor {
    pub(super) async fn on_heard(&mut self, id: ConnectionId, event: FromAgent) {
        match event {
            FromAgent::Turn(event) => self.on_turn_event(id, event).await,
            FromAgent::Connection(event) => self.on_connection_event(id, event).await,
        }
    }

    /// The turn that an event is about, among those of its connection.
    pub(super) fn turn_of(&self, id: ConnectionId, event: &FromAgent) -> Option<TurnId> {
        let FromAgent::Turn(event) = event else { return self.turns_of(id).into_iter().next() };
        let is_it =
            |running: &&Running| running.connection == Some(id) && running.turn.is_called(&event.turn);
        self.turns.values().find(is_it).map(|running| running.turn.id().clone())
    }

    pub(super) fn turns_of(&self, id: ConnectionId) -> Vec<TurnId> {
        let is_its = |running: &&Running| running.connection == Some(id);
        self.turns.values().filter(is_its).map(|running| running.turn.id().clone()).collect()
    }

    async fn on_turn_event(&mut self, id: ConnectionId, event: AgentEvent) {
        let is_start =
            event.speaker == Speaker::Agent && matches!(event.kind, AgentEventKind::Started { .. });
        let event = FromAgent::Turn(event);
        let turn = match self.turn_of(id, &event) {
            None if is_start => self.begin_self_started(id, &event).await,
            turn => turn,
        };
        let (Some(turn), FromAgent::Turn(event)) = (turn, event) else { return };
        let Some(running) = self.turns.get_mut(&turn) else { return };
        // It is there: should it go once more, it is looked for as often as before.
        running.tries = 0;
        if !running.turn.is_over() {
            running.give_up_at = None;
        }
        let effects = running.turn.on(event, &self.tree, self.stamps.as_mut());
        self.perform(&turn, effects).await;
    }

    /// The agent began by itself: an entry below the last one of its connection says why, wherever the head is. A head
    /// that is there follows.
    async fn begin_self_started(&mut self, id: ConnectionId, event: &FromAgent) -> Option<TurnId> {
        let FromAgent::Turn(AgentEvent { turn, kind: AgentEventKind::Started { cause }, .. }) = event else {
            return None;
        };
        let agent_turn = match turn {
            AgentTurn::SelfStarted(_) => turn.clone(),
            // A prompt of ours has its turn, or had it.
            AgentTurn::Prompted(_) => return None,
        };
        let connection = self.connections.get(&id)?;
        let agent = self.shared.agents.get(&connection.agent)?.clone();
        let (scope, info) = (connection.scope.clone(), connection.info.clone());
        let parent = connection.tip.clone();
        if let Err(error) = self.lock_for_turn().await {
            warn!(name: "self-started turn not begun", session = %self.id, code = ?error.code);
            return None;
        }
        let parent = parent.filter(|tip| self.tree.contains(tip));
        let (turn, entry) = (self.stamps.turn_id(), self.stamps.entry_id());
        let records = self.records_of_cause(&turn, &entry, parent, cause);
        info!(name: "turn begins by itself", session = %self.id, turn = %turn, agent = agent.name());
        let begun = Turn::begin_by_agent(turn.clone(), agent_turn, entry.clone()).answered_by(agent.name());
        let place = self.project().unwrap_or(self.id.as_str());
        let (at_work, _) = self.shared.workplaces.enter(place);
        let mut running = Running::new(begun, agent, self.stamps.now(), at_work, scope);
        running.connection = Some(id);
        // Nothing is written before it starts.
        let _ = running.turn.opened(&info, self.stamps.as_mut());
        self.turns.insert(turn.clone(), running);
        self.perform(&turn, vec![Effect::Write(records)]).await;
        self.publish(Some(&turn), EventKind::TurnStarted { prompt: entry.to_string() });
        Some(turn)
    }

    fn records_of_cause(
        &mut self,
        turn: &TurnId,
        entry: &EntryId,
        parent: Option<EntryId>,
        cause: &TurnCause,
    ) -> Vec<Record> {
        let text = match cause {
            TurnCause::TaskEnded { text, .. } => Some(text.clone()),
            TurnCause::Unprompted { text } => text.clone(),
            TurnCause::Prompt => None,
        };
        let message = CustomMessage {
            kind: TASK_NOTIFICATION.to_owned(),
            blocks: text.map(Block::Text).into_iter().collect(),
            display: true,
            attribution: None,
        };
        let written_at = self.stamps.now();
        let head = HeadName::main();
        let follows = self.tree.head(&head) == parent.as_ref();
        let body = Body::CustomMessage(message);
        let (id, turn) = (entry.clone(), Some(turn.clone()));
        let mut records = vec![Record::entry(Entry { id, parent: parent.clone(), written_at, turn, body })];
        if follows {
            let (from, to) = (parent, Some(entry.clone()));
            records.push(Record::head_moved(HeadMove { head, moved_at: written_at, from, to }));
        }
        records
    }

    async fn on_connection_event(&mut self, id: ConnectionId, event: ConnectionEvent) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match event {
            ConnectionEvent::Opened(info) => {
                connection.info = info.clone();
                self.open_session(id, info.session.as_ref());
                self.with_turns_of(id, |turn, stamps| turn.opened(&info, stamps)).await;
            }
            ConnectionEvent::SessionChanged { to, cause } => {
                connection.info.session = Some(to.clone());
                self.open_session(id, Some(&to));
                self.with_turns_of(id, |turn, stamps| {
                    let mut effects = match cause {
                        SessionChange::Cleared => turn.add(Body::Cleared, stamps),
                        SessionChange::Moved => Vec::new(),
                    };
                    effects.extend(turn.session_changed(to.clone(), stamps));
                    effects
                })
                .await;
            }
            ConnectionEvent::SettingChanged(setting) => {
                let is_ours = connection.settings.iter().any(|known| means(known, &setting));
                connection.settings.retain(|known| !known.is_same_kind(&setting));
                connection.settings.push(setting.clone());
                // The agent confirms what it was told; the branch has that entry.
                if is_ours {
                    return;
                }
                // Where no turn runs the branch keeps its setting, and the agent gets it with the next prompt.
                self.with_turns_of(id, |turn, stamps| turn.add(Body::Setting(setting.clone()), stamps)).await;
            }
            ConnectionEvent::TitleChanged(title) => self.title_changed(id, title).await,
            ConnectionEvent::Background(tasks) => {
                connection.background = tasks;
                self.rest_idle_agents();
            }
            ConnectionEvent::SignIn { lines, done } => {
                let agent = connection.agent.clone();
                let turn = self.turns_of(id).into_iter().next();
                self.publish(turn.as_ref(), EventKind::SignIn { agent, lines, done });
            }
            ConnectionEvent::Notice(notice) => self.tell_notice(id, notice.text),
            ConnectionEvent::Exited { status, stderr } => self.on_exited(id, status, &stderr).await,
        }
    }

    /// A title that a person gave counts more, whichever came last.
    async fn title_changed(&mut self, id: ConnectionId, title: String) {
        let fact = Fact::Title { title: Some(title), source: TitleSource::Auto };
        let record = Record::marked(self.stamps.now(), fact);
        if let Some(turn) = self.turns_of(id).first() {
            return self.perform(turn, vec![Effect::Write(vec![record])]).await;
        }
        if let Err(error) = self.commit_without_request(vec![record]).await {
            warn!(name: "title of an agent not written", session = %self.id, code = ?error.code);
        }
    }

    /// Nothing can be done about an agent that opens by itself what another one has open, but say it.
    fn open_session(&mut self, id: ConnectionId, session: Option<&AgentSessionId>) {
        let (Some(connection), Some(session)) = (self.connections.get(&id), session) else { return };
        if connection.sessions.open(session).is_err() {
            warn!(name: "agent session opened twice", session = %self.id, agent = connection.agent);
            let text = format!(
                "{} has opened its session `{session}`, which another process has open: one of the two loses what it \
                 writes",
                connection.agent
            );
            self.tell_notice(id, text);
        }
    }

    async fn with_turns_of(
        &mut self,
        id: ConnectionId,
        change: impl Fn(&mut Turn, &mut dyn offshoot_session::Stamps) -> Vec<Effect>,
    ) {
        for turn in self.turns_of(id) {
            let Some(running) = self.turns.get_mut(&turn) else { continue };
            let effects = change(&mut running.turn, self.stamps.as_mut());
            self.perform(&turn, effects).await;
        }
    }

    fn tell_notice(&mut self, id: ConnectionId, text: String) {
        let turn = self.turns_of(id).into_iter().next();
        self.publish(turn.as_ref(), EventKind::Notice { text });
    }

    /// Turns that the agent began by itself end with its connection.
    pub(super) async fn give_up_self_started(&mut self, id: ConnectionId) {
        for turn in self.turns_of(id) {
            let Some(running) = self.turns.get(&turn) else { continue };
            if !running.turn.is_self_started() {
                continue;
            }
            let agent = Arc::clone(&running.agent);
            let failure = offshoot_session::agent::ExitStatus::Unknown.failure(agent.title(), "");
            self.give_up(&turn, failure).await;
        }
    }
}

/// Whether an agent that was told one setting reports it as the other. A model may have been named without its provider.
fn means(told: &Setting, reported: &Setting) -> bool {
    match (told, reported) {
        (Setting::Model { role: None, model: told }, Setting::Model { role: None, model: reported }) => {
            told.name == reported.name && (told.provider.is_empty() || told.provider == reported.provider)
        }
        _ => told == reported,
    }
}
