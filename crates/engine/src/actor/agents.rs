//! Agents that are connected, and how a turn comes to one.
//!
//! An agent's own session belongs to one branch. A connection is used again only for the branch whose session it has
//! open; for any other branch the agent is reached anew, in the way that [`plan_handoff`] picks.

use std::sync::Arc;

use offshoot_agents::{Agent, Conversation};
use offshoot_api::event::EventKind;
use offshoot_session::agent::{AgentEvent, AgentInput, Said, Speaker, Start};
use offshoot_session::guard::Refusal;
use offshoot_session::handoff::{AgentAtHand, Gap, Handoff, branch_session, plan_handoff};
use offshoot_session::tokens::estimate_text;
use offshoot_session::turn::Turn;
use offshoot_session::{AgentSessionId, Body, Entry, EntryId, Missing, Prompt, Setting, TurnId};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{info, warn};

use super::turns::Running;
use super::{Message, SessionActor};
use crate::connection::{ConnectionId, keep};
use crate::failure::not_reached;
use crate::view::settings_of;

/// One agent that can be spoken to.
pub(super) struct Connection {
    agent: String,
    inputs: mpsc::UnboundedSender<AgentInput>,
    /// The session that it has open, once it has said so.
    session: Option<AgentSessionId>,
    /// The settings it was told last.
    settings: Vec<Setting>,
    /// The turn it is busy with.
    turn: Option<TurnId>,
}

impl SessionActor {
    /// The agent in force at a point.
    pub(super) fn agent_at(&self, at: Option<&EntryId>) -> Result<Arc<dyn Agent>, Refusal> {
        let settings = settings_of(&self.tree, at);
        let named = settings.into_iter().find_map(|setting| match setting {
            Setting::Agent(name) => Some(name),
            _ => None,
        });
        let name = named.or_else(|| self.settings.default_agent.clone()).ok_or(Refusal::NoAgent)?;
        self.shared.agents.get(&name).cloned().ok_or(Refusal::NoAgent)
    }

    /// A prompt has been written: its turn begins.
    pub(super) fn begin_turn(&mut self, turn: TurnId, prompt: EntryId, agent: Arc<dyn Agent>) {
        let above = self.tree.parent(&prompt).map(|parent| parent.id.clone());
        let known = branch_session(&self.tree, above.as_ref());
        let free = known.as_ref().and_then(|session| self.free_connection(agent.name(), session));
        let can = agent.capabilities();
        let at_hand =
            AgentAtHand { name: agent.name(), can: &can, live: known.as_ref().filter(|_| free.is_some()) };
        let handoff = plan_handoff(&self.tree, &prompt, &at_hand);
        info!(name: "turn begins", session = %self.id, turn = %turn, agent = agent.name());
        let begun = Turn::begin(turn.clone(), prompt.clone(), handoff.provenance());
        let begun = begun.answered_by(agent.name()).without(handoff.missing());
        // Where no folder is named, all turns of the session work in the same one.
        let place = self.project().unwrap_or(self.id.as_str());
        let (at_work, is_shared) = self.shared.workplaces.enter(place);
        let notices = [is_shared.then(|| SHARED_FILES.to_owned()), what_is_lost(agent.title(), &handoff)];
        let (since, scope) = (self.stamps.now(), self.scope());
        self.turns.insert(turn.clone(), Running::new(begun, agent, since, at_work, scope));
        self.publish(Some(&turn), EventKind::TurnStarted { prompt: prompt.to_string() });
        for text in notices.into_iter().flatten() {
            self.publish(Some(&turn), EventKind::Notice { text });
        }
        match (&handoff, free) {
            (Handoff::Continue { session: Some(session) }, Some(connection)) => {
                self.go_on(&turn, &prompt, connection, session.clone());
            }
            (
                Handoff::Continue { .. }
                | Handoff::ForkAtMessage { .. }
                | Handoff::RebuiltTranscript
                | Handoff::ReplayedContext(..),
                _,
            ) => self.reach(&turn, &prompt, handoff),
        }
    }

    fn free_connection(&self, agent: &str, session: &AgentSessionId) -> Option<ConnectionId> {
        let is_free = |connection: &Connection| {
            connection.turn.is_none()
                && connection.agent == agent
                && connection.session.as_ref() == Some(session)
                && !connection.inputs.is_closed()
        };
        self.connections.iter().find(|(_, connection)| is_free(connection)).map(|(id, _)| *id)
    }

    /// The agent at hand is that of the branch: it is just asked.
    fn go_on(&mut self, turn: &TurnId, prompt: &EntryId, id: ConnectionId, session: AgentSessionId) {
        let settings = settings_of(&self.tree, Some(prompt));
        let said = self.prompt(prompt);
        if let (Some(connection), Some(running)) = (self.connections.get_mut(&id), self.turns.get_mut(turn)) {
            running.connection = Some(id);
            running.expected = Some(session);
            connection.turn = Some(turn.clone());
            if connection.settings != settings {
                connection.tell(AgentInput::Configure(settings.clone()));
                connection.settings = settings;
            }
            connection.tell(AgentInput::Prompt { turn: turn.clone(), prompt: said });
        }
    }

    fn prompt(&self, prompt: &EntryId) -> Prompt {
        match self.tree.entry(prompt).map(|entry| &entry.body) {
            Some(Body::Prompt(prompt)) => prompt.clone(),
            _ => Prompt { blocks: Vec::new(), attachments: Vec::new(), said_at: None },
        }
    }

    /// Reaches an agent, elsewhere; it comes back as [`Message::Reached`].
    fn reach(&mut self, turn: &TurnId, prompt: &EntryId, handoff: Handoff) {
        let above = self.tree.parent(prompt).map(|parent| &parent.id);
        let path: Vec<Arc<Entry>> = self.tree.path_to(above).into_iter().cloned().collect();
        let Some(scope) = self.turns.get(turn).map(|running| running.scope.clone()) else { return };
        let start = Start {
            session: self.id.clone(),
            workspace: self.tree.header().and_then(|header| header.project.clone()),
            handoff,
            path,
            settings: settings_of(&self.tree, Some(prompt)),
            environment: scope.environment(),
            is_watched: scope.context.interactive,
        };
        let wait = self.settings.reach_wait;
        let Some(running) = self.turns.get_mut(turn) else { return };
        let (agent, turn, to_self) = (running.agent.clone(), turn.clone(), self.to_self.clone());
        running.reaching = Some(self.tasks.spawn(async move {
            let reached = match tokio::time::timeout(wait, agent.connect(start)).await {
                Ok(reached) => reached.map_err(|error| not_reached(&error)),
                Err(_) => Err(format!("{} took too long to start", agent.title())),
            };
            // Where the actor is gone, so is the reason to have reached anybody.
            let _ = to_self.send(Message::Reached { turn, reached }).await;
        }));
    }

    pub(super) async fn on_reached(&mut self, turn: &TurnId, reached: Result<Conversation, String>) {
        let Some(running) = self.turns.get_mut(turn).filter(|running| !running.turn.is_over()) else {
            return;
        };
        running.reaching = None;
        match reached {
            Ok(conversation) => self.connected(turn, conversation),
            Err(why) => {
                warn!(name: "agent not reached", session = %self.id, turn = %turn, agent = running.agent.name());
                self.give_up(turn, &why).await;
            }
        }
    }

    fn connected(&mut self, turn: &TurnId, conversation: Conversation) {
        let Some(running) = self.turns.get_mut(turn) else { return };
        self.next_connection += 1;
        let id = ConnectionId(self.next_connection);
        running.connection = Some(id);
        let (is_again, prompt) = (running.tries > 0, running.turn.prompt().clone());
        let session = running.returns_to.clone();
        running.give_up_at = is_again.then(|| Instant::now() + self.settings.reach_wait);
        let agent = running.agent.name().to_owned();
        let (inputs, for_agent) = mpsc::unbounded_channel();
        self.tasks.spawn(keep(id, conversation, for_agent, self.to_self.clone()));
        let settings = settings_of(&self.tree, Some(&prompt));
        let connection = Connection { agent, inputs, session, settings, turn: Some(turn.clone()) };
        if is_again {
            for answer in self.asks.unconfirmed().filter(|answer| belongs_to(answer, turn)) {
                connection.tell(answer);
            }
        } else {
            connection.tell(AgentInput::Prompt { turn: turn.clone(), prompt: self.prompt(&prompt) });
        }
        self.connections.insert(id, connection);
    }

    pub(super) async fn on_heard(&mut self, id: ConnectionId, event: AgentEvent) {
        if let (Said::Started { agent_session, .. }, Speaker::Agent, Some(connection)) =
            (&event.said, &event.speaker, self.connections.get_mut(&id))
        {
            connection.session.clone_from(agent_session);
        }
        let turn = event.turn.clone();
        let Some(running) = self.turns.get_mut(&turn).filter(|running| running.connection == Some(id)) else {
            return;
        };
        // It is there: should it go once more, it is looked for as often as before.
        running.tries = 0;
        if !running.turn.is_over() {
            running.give_up_at = None;
        }
        let mut effects = Vec::new();
        // It need not say again who it is, and the prompt shall be bound to its session all the same.
        if let (Some(session), false) = (running.expected.take(), matches!(event.said, Said::Started { .. }))
        {
            let started = Said::Started { agent_session: Some(session), model: None };
            effects.extend(running.turn.on(AgentEvent::new(turn.clone(), started), self.stamps.as_mut()));
        }
        effects.extend(running.turn.on(event, self.stamps.as_mut()));
        self.perform(&turn, effects).await;
    }

    /// An agent that goes without a word is looked for again, where it can take up its session: answers that it has not
    /// confirmed are said to it again.
    pub(super) async fn on_gone(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        let Some(turn) = connection.turn else { return };
        let reach_again = self.settings.reach_again;
        let Some(running) = self.turns.get_mut(&turn) else { return };
        warn!(name: "agent gone", session = %self.id, turn = %turn, agent = running.agent.name());
        running.connection = None;
        let can_return = running.agent.capabilities().resume && running.tries < reach_again;
        match connection.session {
            Some(session) if can_return && !running.turn.is_over() => {
                running.tries += 1;
                running.returns_to = Some(session.clone());
                let prompt = running.turn.prompt().clone();
                self.reach(&turn, &prompt, Handoff::Continue { session: Some(session) });
            }
            Some(_) | None => {
                let gone = format!("{} ended unexpectedly", running.agent.title());
                self.give_up(&turn, &gone).await;
            }
        }
    }

    pub(super) fn tell_agent(&mut self, turn: &TurnId, input: AgentInput) {
        let connection = self.turns.get(turn).and_then(|running| running.connection);
        if let Some(connection) = connection.and_then(|id| self.connections.get(&id)) {
            connection.tell(input);
        }
    }

    /// The agent has nothing to do any more. It stays for the next prompt where it can take one.
    pub(super) fn free(&mut self, id: ConnectionId, may_stay: bool) {
        let agents = &self.shared.agents;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.turn = None;
        let takes_more = agents.get(&connection.agent).is_some_and(|agent| agent.capabilities().many_turns);
        if !(may_stay && takes_more && connection.session.is_some()) {
            self.connections.remove(&id);
        }
        let idle: Vec<ConnectionId> =
            self.connections.iter().filter(|(_, one)| one.turn.is_none()).map(|(id, _)| *id).collect();
        let too_many = idle.len().saturating_sub(self.settings.idle_agents);
        for id in idle.into_iter().take(too_many) {
            self.connections.remove(&id);
        }
    }

    /// Ends every agent of the session that is not in the middle of a turn.
    pub(super) fn close_idle_agents(&mut self) {
        self.connections.retain(|_, connection| connection.turn.is_some());
    }
}

impl Connection {
    fn tell(&self, input: AgentInput) {
        // An agent that is gone says so itself.
        let _ = self.inputs.send(input);
    }
}

fn belongs_to(answer: &AgentInput, of: &TurnId) -> bool {
    matches!(answer, AgentInput::Answer { turn, .. } if turn == of)
}

/// Said where another answer is being written in the same folder.
const SHARED_FILES: &str =
    "another answer is being written in the same folder: both agents change the same files";

/// What a person should know of the way by which the agent comes to know the branch.
fn what_is_lost(agent: &str, handoff: &Handoff) -> Option<String> {
    let without = without(&handoff.missing());
    match handoff {
        Handoff::Continue { .. } | Handoff::ForkAtMessage { .. } => None,
        Handoff::RebuiltTranscript => Some(format!(
            "reconstructed context: {agent} was given this branch as a session that was rebuilt{without}; {FILES}"
        )),
        Handoff::ReplayedContext(told, gap) => {
            let tokens = estimate_text(&told.text);
            let why = match gap {
                Gap::NeverThere => "has not heard all of this branch",
                Gap::CannotReturn => "cannot take up its session again",
                Gap::CannotFork => "cannot fork at an earlier turn",
                Gap::InsideTurn => "cannot fork within a turn",
            };
            Some(format!(
                "reconstructed context: {agent} {why}, so it was given this branch as text{without}, about {tokens} \
                 tokens; {FILES}"
            ))
        }
    }
}

/// An agent that was not there takes what was said of them for what they are.
const FILES: &str = "files are as they are now, not as they were then";

fn without(missing: &Missing) -> String {
    let counted = [
        (missing.tool_results, "result of a tool", "results of tools"),
        (missing.thoughts, "thought", "thoughts"),
        (missing.images, "image", "images"),
        (missing.forgotten, "forgotten turn", "forgotten turns"),
    ];
    let told: Vec<String> = counted
        .iter()
        .filter(|(count, ..)| *count > 0)
        .map(|(count, one, more)| format!("{count} {}", if *count == 1 { one } else { more }))
        .collect();
    if told.is_empty() { String::new() } else { format!(", without {}", told.join(", ")) }
}
