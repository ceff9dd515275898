//! Agents that are connected, and how a turn comes to one.
//!
//! An agent's own session belongs to one branch. A connection is used again only for the branch whose session it has
//! open; for any other branch the agent is connected again, by the method that [`plan_handoff`] chooses.

use std::sync::Arc;

use offshoot_agents::{Agent, AgentConnection};
use offshoot_api::event::EventKind;
use offshoot_session::agent::{
    AgentFailure, AgentInfo, AgentInput, AgentStart, BackgroundTask, FailureKind, SettingSupport, TreePath,
};
use offshoot_session::guard::Refusal;
use offshoot_session::handoff::{Handoff, HandoffAgent, ReplayReason, branch_session, plan_handoff};
use offshoot_session::tokens::estimate_text;
use offshoot_session::turn::Turn;
use offshoot_session::{AgentSessionId, Body, EntryId, Missing, Model, Prompt, Setting, TurnId};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::{info, warn};

use super::scope::Scope;
use super::turns::Running;
use super::{Message, SessionActor};
use crate::connection::{ConnectionId, keep};
use crate::failure::not_reached;
use crate::view::settings_of;

/// One agent that can be spoken to.
pub(super) struct Connection {
    pub(super) agent: String,
    inputs: mpsc::UnboundedSender<AgentInput>,
    /// What it says about itself; the session that it has open is in it.
    pub(super) info: AgentInfo,
    /// The settings that it has.
    pub(super) settings: Vec<Setting>,
    /// The turn of its prompt, until that has ended.
    turn: Option<TurnId>,
    /// The last entry of its branch: a turn that it begins by itself hangs below it.
    pub(super) tip: Option<EntryId>,
    pub(super) background: Vec<BackgroundTask>,
    /// Of the request that connected it.
    pub(super) scope: Scope,
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
        let settings = settings_of(&self.tree, Some(&prompt));
        let abilities = agent.abilities(model_of(&settings));
        let free = known.as_ref().and_then(|session| self.free_connection(agent.name(), session));
        // Some settings are in force only after a restart.
        let is_stale = |id: &ConnectionId| {
            let known = self.connections.get(id).map_or(&[][..], |connection| &connection.settings);
            let mut changed = settings.iter().filter(|setting| !known.contains(setting));
            changed.any(|setting| abilities.setting(setting) == SettingSupport::Restart)
        };
        let free = free.filter(|id| !is_stale(id) || !abilities.resume);
        let at_hand = HandoffAgent {
            name: agent.name(),
            abilities: &abilities,
            live: known.as_ref().filter(|_| free.is_some()),
            new_session: None,
        };
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
            (Handoff::Continue { .. }, Some(connection)) => self.go_on(&turn, &prompt, connection),
            (
                Handoff::New { .. }
                | Handoff::Continue { .. }
                | Handoff::Fork { .. }
                | Handoff::Rebuild { .. }
                | Handoff::Replay { .. }
                | Handoff::Stateless,
                _,
            ) => self.reach(&turn, &prompt, handoff),
        }
    }

    fn free_connection(&self, agent: &str, session: &AgentSessionId) -> Option<ConnectionId> {
        let is_free = |id: &ConnectionId, connection: &Connection| {
            !self.is_at_work(*id)
                && connection.agent == agent
                && connection.info.session.as_ref() == Some(session)
                && !connection.inputs.is_closed()
        };
        self.connections.iter().find(|(id, connection)| is_free(id, connection)).map(|(id, _)| *id)
    }

    /// The agent at hand is that of the branch: it is just asked.
    fn go_on(&mut self, turn: &TurnId, prompt: &EntryId, id: ConnectionId) {
        let settings = settings_of(&self.tree, Some(prompt));
        let input = self.prompt_input(turn, prompt);
        if let (Some(connection), Some(running)) = (self.connections.get_mut(&id), self.turns.get_mut(turn)) {
            running.connection = Some(id);
            // It need not say again who it is. Nothing is written before it takes the prompt.
            let _ = running.turn.opened(&connection.info, self.stamps.as_mut());
            connection.turn = Some(turn.clone());
            if connection.settings != settings {
                connection.tell(AgentInput::Configure(settings.clone()));
                connection.settings = settings;
            }
            connection.tell(input);
        }
    }

    fn prompt_input(&self, turn: &TurnId, entry: &EntryId) -> AgentInput {
        let prompt = match self.tree.entry(entry).map(|entry| &entry.body) {
            Some(Body::Prompt(prompt)) => prompt.clone(),
            _ => Prompt { blocks: Vec::new(), attachments: Vec::new(), said_at: None },
        };
        AgentInput::Prompt {
            turn: turn.clone(),
            entry: entry.clone(),
            delivered_as: entry.clone(),
            prompt,
            before: Vec::new(),
        }
    }

    /// Whether a turn runs on this connection, ours or one of its own.
    fn is_at_work(&self, id: ConnectionId) -> bool {
        self.turns.values().any(|running| running.connection == Some(id))
    }

    /// Reaches an agent, elsewhere; it comes back as [`Message::Reached`].
    fn reach(&mut self, turn: &TurnId, prompt: &EntryId, handoff: Handoff) {
        let above = self.tree.parent(prompt).map(|parent| parent.id.clone());
        let Some(running) = self.turns.get(turn) else { return };
        let scope = running.scope.clone();
        let start = AgentStart {
            session: self.id.clone(),
            workspace: self.project().map(Into::into),
            handoff,
            context: Arc::new(TreePath { tree: self.tree.clone(), to: above }),
            settings: settings_of(&self.tree, Some(prompt)),
            environment: scope.environment(),
            host: scope.settings.host_for(running.agent.name(), &self.shared.host),
            is_watched: scope.context.interactive,
        };
        let wait = self.settings.reach_wait;
        let Some(running) = self.turns.get_mut(turn) else { return };
        let (agent, turn, to_self) = (running.agent.clone(), turn.clone(), self.to_self.clone());
        running.reaching = Some(self.tasks.spawn(async move {
            let reached = match tokio::time::timeout(wait, agent.connect(start)).await {
                Ok(reached) => reached.map_err(|error| gone(not_reached(&error))),
                Err(_) => Err(gone(format!("{} took too long to start", agent.title()))),
            };
            // Where the actor is gone, so is the reason to have reached anybody.
            let _ = to_self.send(Message::Reached { turn, reached }).await;
        }));
    }

    pub(super) async fn on_reached(&mut self, turn: &TurnId, reached: Result<AgentConnection, AgentFailure>) {
        let Some(running) = self.turns.get_mut(turn).filter(|running| !running.turn.is_over()) else {
            return;
        };
        running.reaching = None;
        match reached {
            Ok(connection) => self.connected(turn, connection),
            Err(why) => {
                warn!(name: "agent not reached", session = %self.id, turn = %turn, agent = running.agent.name());
                self.give_up(turn, why).await;
            }
        }
    }

    fn connected(&mut self, turn: &TurnId, connection: AgentConnection) {
        let Some(running) = self.turns.get_mut(turn) else { return };
        self.next_connection += 1;
        let id = ConnectionId(self.next_connection);
        running.connection = Some(id);
        let (is_again, prompt) = (running.tries > 0, running.turn.prompt().clone());
        let info = AgentInfo { session: running.returns_to.clone(), ..AgentInfo::default() };
        let scope = running.scope.clone();
        running.give_up_at = is_again.then(|| Instant::now() + self.settings.reach_wait);
        let agent = running.agent.name().to_owned();
        let (inputs, for_agent) = mpsc::unbounded_channel();
        self.tasks.spawn(keep(id, connection, for_agent, self.to_self.clone()));
        let settings = settings_of(&self.tree, Some(&prompt));
        let tip = Some(prompt.clone());
        let (turn_of, background) = (Some(turn.clone()), Vec::new());
        let connection = Connection { agent, inputs, info, settings, turn: turn_of, tip, background, scope };
        if is_again {
            for answer in self.asks.unconfirmed().filter(|answer| belongs_to(answer, turn)) {
                connection.tell(answer);
            }
        } else {
            connection.tell(self.prompt_input(turn, &prompt));
        }
        self.connections.insert(id, connection);
    }

    /// An agent that goes without a word is looked for again, where it can take up its session: answers that it has not
    /// confirmed are said to it again.
    pub(super) async fn on_gone(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.remove(&id) else { return };
        self.give_up_self_started(id).await;
        let Some(turn) = connection.turn else { return };
        let reach_again = self.settings.reach_again;
        let Some(running) = self.turns.get_mut(&turn) else { return };
        warn!(name: "agent gone", session = %self.id, turn = %turn, agent = running.agent.name());
        running.connection = None;
        let can_return =
            running.agent.abilities(connection.info.model.as_ref()).resume && running.tries < reach_again;
        match connection.info.session {
            Some(session) if can_return && !running.turn.is_over() => {
                running.tries += 1;
                running.returns_to = Some(session.clone());
                let prompt = running.turn.prompt().clone();
                self.reach(&turn, &prompt, Handoff::Continue { session, at: None });
            }
            Some(_) | None => {
                let text = format!("{} ended unexpectedly", running.agent.title());
                self.give_up(&turn, gone(text)).await;
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
    pub(super) fn free(&mut self, id: ConnectionId, turn: &TurnId, may_stay: bool) {
        let is_at_work = self.is_at_work(id);
        let agents = &self.shared.agents;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.turn = connection.turn.take().filter(|of| of != turn);
        let model = connection.info.model.as_ref();
        let takes_more = agents.get(&connection.agent).is_some_and(|agent| agent.abilities(model).many_turns);
        let stays = may_stay && takes_more && connection.info.session.is_some();
        if !stays && !is_at_work {
            self.connections.remove(&id);
        }
        // One that runs something in the background is not idle.
        let is_idle =
            |(id, one): &(&ConnectionId, &Connection)| !self.is_at_work(**id) && one.background.is_empty();
        let idle: Vec<ConnectionId> = self.connections.iter().filter(is_idle).map(|(id, _)| *id).collect();
        let too_many = idle.len().saturating_sub(self.settings.idle_agents);
        for id in idle.into_iter().take(too_many) {
            self.connections.remove(&id);
        }
    }

    /// Ends every agent of the session that is not in the middle of a turn.
    pub(super) fn close_idle_agents(&mut self) {
        let at_work: Vec<ConnectionId> =
            self.turns.values().filter_map(|running| running.connection).collect();
        self.connections.retain(|id, _| at_work.contains(id));
    }
}

impl Connection {
    pub(super) fn tell(&self, input: AgentInput) {
        // An agent that is gone says so itself.
        let _ = self.inputs.send(input);
    }
}

/// The agent's process is not there.
fn gone(text: String) -> AgentFailure {
    AgentFailure::new(FailureKind::Process, text)
}

/// The usual model of some settings.
pub(super) fn model_of(settings: &[Setting]) -> Option<&Model> {
    settings.iter().rev().find_map(|setting| match setting {
        Setting::Model { role: None, model } => Some(model),
        _ => None,
    })
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
        Handoff::New { .. } | Handoff::Continue { .. } | Handoff::Fork { .. } | Handoff::Stateless => None,
        Handoff::Rebuild { .. } => Some(format!(
            "reconstructed context: {agent} was given this branch as a session that was rebuilt{without}; {FILES}"
        )),
        Handoff::Replay { text, reason } => {
            let tokens = estimate_text(&text.text);
            let why = match reason {
                ReplayReason::NewToBranch => "has not heard all of this branch",
                ReplayReason::CannotResume => "cannot take up its session again",
                ReplayReason::CannotFork => "cannot fork at an earlier turn",
                ReplayReason::InsideTurn => "cannot fork within a turn",
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
