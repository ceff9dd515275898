//! Agents that are connected, and how a turn comes to one.
//!
//! An agent's own session belongs to one branch. A connection is used again only for the branch whose session it has
//! open; for any other branch the agent is connected again, by the method that [`plan_handoff`] chooses.

use std::sync::Arc;

use offshoot_agents::{Agent, ConnectError};
use offshoot_api::event::EventKind;
use offshoot_session::agent::{
    AgentFailure, AgentInfo, AgentInput, AgentStart, BackgroundTask, ExitStatus, FailureKind, Lease,
    SettingSupport, TreePath,
};
use offshoot_session::guard::Refusal;
use offshoot_session::handoff::{
    Handoff, HandoffAgent, ReplayReason, branch_session, model_in_use, model_of_session, plan_handoff,
    plan_handoff_below, unseen_entries,
};
use offshoot_session::tokens::estimate_text;
use offshoot_session::turn::Turn;
use offshoot_session::{AgentSessionId, Entry, EntryId, Missing, Model, Setting, TurnId};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::{info, warn};

use super::resuming::ResumedAt;
use super::scope::Scope;
use super::turns::Running;
use super::{Message, SessionActor};
use crate::agent_sessions::{Claims, InUse};
use crate::connection::{Connected, ConnectionId, keep};
use crate::environment::provider_differences;
use crate::failure::not_reached;
use crate::idle_agents::IdleTicket;
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
    /// It has nothing to do.
    pub(super) idle: Option<IdleTicket>,
    pub(super) sessions: OpenSessions,
    /// It has resumed at a point, and waits for the first prompt there.
    pub(super) resumed: Option<ResumedAt>,
    /// Of the request that connected it.
    pub(super) scope: Scope,
    /// The variables of the last caller that it does not have, as that was told.
    lacks: Vec<String>,
}

/// The agent's own sessions that a connection has open. Without the connection its process ends.
pub(super) struct OpenSessions(Arc<Claims>);

/// How an agent is to be connected.
pub(super) struct Planned {
    pub(super) handoff: Handoff,
    /// What the agent has not seen of the branch and is sent before the prompt.
    pub(super) unseen: Vec<Arc<Entry>>,
    /// One that has the session open and nothing to do.
    free: Option<ConnectionId>,
}

/// Whether an agent may have a prompt that is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivered {
    Never,
    /// An engine that is gone, or a process, may have sent it.
    Perhaps,
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

    /// How the agent comes to know the branch above a prompt, and by which connection.
    pub(super) fn plan_connection(&mut self, prompt: &EntryId, agent: &dyn Agent) -> Planned {
        let above = self.tree.parent(prompt).map(|parent| parent.id.clone());
        self.plan_connection_below(above.as_ref(), Some(prompt), agent)
    }

    /// The same; without a prompt for one that may be written there.
    pub(super) fn plan_connection_below(
        &mut self,
        above: Option<&EntryId>,
        prompt: Option<&EntryId>,
        agent: &dyn Agent,
    ) -> Planned {
        let known = branch_session(&self.tree, above);
        let settings = settings_of(&self.tree, prompt.or(above));
        let abilities = agent.abilities(model_of(&settings));
        let waiting = self.waiting_connection(agent.name(), above);
        let of_session = || known.as_ref().and_then(|session| self.free_connection(agent.name(), session));
        let mut free = waiting.or_else(of_session);
        // Some settings are in force only after a restart.
        let is_stale = |id: &ConnectionId| {
            let known = self.connections.get(id).map_or(&[][..], |connection| &connection.settings);
            let mut changed = settings.iter().filter(|setting| !known.contains(setting));
            changed.any(|setting| abilities.setting(setting) == SettingSupport::Restart)
        };
        if let Some(stale) = free.filter(|id| abilities.resume && is_stale(id)) {
            self.connections.remove(&stale);
            free = None;
        }
        let new_session = abilities.session_ids.then(|| AgentSessionId::from(self.stamps.uuid()));
        let at_hand = HandoffAgent {
            name: agent.name(),
            abilities: &abilities,
            live: known.as_ref().filter(|_| free.is_some()),
            new_session: new_session.as_ref(),
        };
        let fresh = new_session.clone();
        let planned = match prompt {
            Some(prompt) => plan_handoff(&self.tree, prompt, &at_hand),
            None => plan_handoff_below(&self.tree, above, &at_hand),
        };
        let handoff = match planned {
            // Another process has it open: two would lose what one of them writes.
            Handoff::Continue { session, at }
                if free.is_none() && self.shared.agent_sessions.is_in_use(agent.name(), &session) =>
            {
                let is_forked = (abilities.fork_at_message && at.is_some()) || abilities.fork_at_tip;
                let at_message = at.clone().filter(|_| abilities.fork_at_message);
                match is_forked {
                    true => Handoff::Fork { from: session, at: at_message, session: fresh },
                    false => Handoff::Continue { session, at },
                }
            }
            handoff => handoff,
        };
        let unseen = prompt.map(|prompt| unseen_entries(&self.tree, prompt, &at_hand, &handoff));
        let unseen = unseen.unwrap_or_default();
        let is_waiting = free.is_some() && free == waiting;
        let free = free.filter(|_| is_waiting || matches!(handoff, Handoff::Continue { .. }));
        Planned { handoff, unseen, free }
    }

    /// A prompt has been written: its turn begins.
    pub(super) async fn begin_turn(
        &mut self,
        turn: TurnId,
        prompt: EntryId,
        agent: Arc<dyn Agent>,
        delivered: Delivered,
    ) {
        let Planned { handoff, unseen, free } = self.plan_connection(&prompt, agent.as_ref());
        info!(name: "turn begins", session = %self.id, turn = %turn, agent = agent.name());
        let resumed = free.and_then(|id| self.connections.get(&id)?.resumed.clone());
        let provenance = resumed.map_or_else(|| handoff.provenance(), |resumed| resumed.provenance);
        let begun = Turn::begin(turn.clone(), prompt.clone(), provenance);
        let begun = begun.answered_by(agent.name()).without(handoff.missing());
        // Where no folder is named, all turns of the session work in the same one.
        let place = self.project().unwrap_or(self.id.as_str());
        let (at_work, is_shared) = self.shared.workplaces.enter(place);
        let notices = [is_shared.then(|| SHARED_FILES.to_owned()), what_is_lost(agent.title(), &handoff)];
        let (since, scope) = (self.stamps.now(), self.scope());
        let mut running = Running::new(begun, agent, since, at_work, scope);
        running.deliveries = match delivered {
            Delivered::Never => 0,
            Delivered::Perhaps => 1,
        };
        running.unseen = unseen;
        self.turns.insert(turn.clone(), running);
        self.publish(Some(&turn), EventKind::TurnStarted { prompt: prompt.to_string() });
        for text in notices.into_iter().flatten() {
            self.publish(Some(&turn), EventKind::Notice { text });
        }
        match free {
            Some(connection) => self.go_on(&turn, &prompt, connection).await,
            None => self.reach(&turn, &prompt, handoff),
        }
    }

    /// One that has resumed where this prompt comes.
    fn waiting_connection(&self, agent: &str, above: Option<&EntryId>) -> Option<ConnectionId> {
        let is_it = |id: &ConnectionId, connection: &Connection| {
            !self.is_at_work(*id)
                && connection.agent == agent
                && connection.resumed.as_ref().is_some_and(|resumed| resumed.at.as_ref() == above)
                && !connection.inputs.is_closed()
        };
        self.connections.iter().find(|(id, connection)| is_it(id, connection)).map(|(id, _)| *id)
    }

    pub(super) fn free_connection(&self, agent: &str, session: &AgentSessionId) -> Option<ConnectionId> {
        let is_free = |id: &ConnectionId, connection: &Connection| {
            !self.is_at_work(*id)
                && connection.agent == agent
                && connection.info.session.as_ref() == Some(session)
                && !connection.inputs.is_closed()
        };
        self.connections.iter().find(|(id, connection)| is_free(id, connection)).map(|(id, _)| *id)
    }

    /// The agent at hand is that of the branch: it is just asked.
    async fn go_on(&mut self, turn: &TurnId, prompt: &EntryId, id: ConnectionId) {
        let settings = settings_of(&self.tree, Some(prompt));
        if let (Some(connection), Some(running)) = (self.connections.get_mut(&id), self.turns.get_mut(turn)) {
            running.connection = Some(id);
            // It need not say again who it is. Nothing is written before it takes the prompt.
            let _ = running.turn.opened(&connection.info, self.stamps.as_mut());
            connection.turn = Some(turn.clone());
            connection.resumed = None;
            connection.configure(settings);
        }
        self.tell_of_environment(turn, id);
        self.rest_idle_agents();
        self.deliver(turn, id).await;
    }

    /// An agent keeps the environment in which it was started. A caller with another key or another server hears that.
    fn tell_of_environment(&mut self, turn: &TurnId, id: ConnectionId) {
        let environment = self.scope().environment();
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let lacks = provider_differences(&connection.scope.environment(), &environment);
        let is_news = !lacks.is_empty() && lacks != connection.lacks;
        connection.lacks = lacks;
        if is_news {
            let agent = self.shared.agents.get(&connection.agent);
            let title = agent.map_or(connection.agent.as_str(), |agent| agent.title());
            let text = format!(
                "{title} keeps the environment it was started with: {} differ here; `offshoot engine stop` ends it, \
                 and the next message starts it with yours",
                connection.lacks.join(", ")
            );
            self.publish(Some(turn), EventKind::Notice { text });
        }
    }

    /// Whether a turn runs on this connection, ours or one of its own.
    fn is_at_work(&self, id: ConnectionId) -> bool {
        self.turns.values().any(|running| running.connection == Some(id))
    }

    /// Reaches an agent, elsewhere; it comes back as [`Message::Reached`].
    pub(super) fn reach(&mut self, turn: &TurnId, prompt: &EntryId, handoff: Handoff) {
        let above = self.tree.parent(prompt).map(|parent| parent.id.clone());
        let Some(running) = self.turns.get_mut(turn) else { return };
        running.starts += 1;
        let (scope, agent) = (running.scope.clone(), running.agent.clone());
        let settings = settings_of(&self.tree, Some(prompt));
        let start = self.start_of(agent.name(), above, settings, handoff, &scope);
        let connecting = self.connecting(agent, start);
        let (name, to_self) = (turn.clone(), self.to_self.clone());
        let reaching = self.tasks.spawn(async move {
            let reached = connecting.await;
            // Where the actor is gone, so is the reason to have reached anybody.
            let _ = to_self.send(Message::Reached { turn: name, reached }).await;
        });
        if let Some(running) = self.turns.get_mut(turn) {
            running.reaching = Some(reaching);
        }
    }

    /// What an agent needs to answer below an entry.
    pub(super) fn start_of(
        &self,
        agent: &str,
        above: Option<EntryId>,
        settings: Vec<Setting>,
        handoff: Handoff,
        scope: &Scope,
    ) -> AgentStart {
        let path = self.tree.path_to(above.as_ref());
        let is_first = !path.iter().any(|entry| entry.body.is_prompt());
        let in_use = match is_first {
            true => model_of_session(&self.tree, agent),
            false => model_in_use(&self.tree, above.as_ref(), agent),
        };
        AgentStart {
            session: self.id.clone(),
            workspace: self.project().map(Into::into),
            handoff,
            settings: at_start(settings, in_use),
            context: Arc::new(TreePath { tree: self.tree.clone(), to: above }),
            environment: scope.environment(),
            host: scope.settings.host_for(agent, &self.shared.host),
            is_watched: scope.context.interactive,
            lease: Lease::default(),
        }
    }

    /// Connects an agent, once the process that has its session has ended.
    pub(super) fn connecting(
        &mut self,
        agent: Arc<dyn Agent>,
        start: AgentStart,
    ) -> impl Future<Output = Result<Connected, AgentFailure>> + Send + 'static {
        let opens = session_of(&start.handoff).cloned();
        let wait = self.settings.reach_wait;
        let (start_at, swept) = (self.start_at(agent.name()), self.shared.swept.clone());
        let claims = Arc::new(self.shared.agent_sessions.claims(agent.name()));
        // A process that is ended while it starts has its session until it is gone.
        let start = AgentStart { lease: Lease::of(claims.clone()), ..start };
        let reaching = Reaching(Some(claims.clone()));
        async move {
            let mut reaching = reaching;
            if let Some(at) = start_at {
                sleep_until(at).await;
            }
            let connect = async {
                swept.wait().await;
                if let Some(session) = &opens {
                    claims.wait_for(session).await.map_err(|InUse| in_use(agent.title()))?;
                }
                agent.connect(start).await
            };
            match timeout(wait, connect).await {
                Ok(Ok(connection)) => {
                    reaching.0 = None;
                    Ok(Connected { connection, claims: claims.clone(), end_wait: agent.end_wait() })
                }
                Ok(Err(error)) => Err(not_reached(&error)),
                Err(_) => Err(gone(format!("{} took too long to start", agent.title()))),
            }
        }
    }

    pub(super) async fn on_reached(&mut self, turn: &TurnId, reached: Result<Connected, AgentFailure>) {
        let Some(running) = self.turns.get_mut(turn).filter(|running| !running.turn.is_over()) else {
            if let Ok(connected) = reached {
                self.tasks.spawn(connected.end());
            }
            return;
        };
        running.reaching = None;
        match reached {
            Ok(connected) => self.connected(turn, connected).await,
            Err(why) => {
                warn!(name: "agent not reached", session = %self.id, turn = %turn, agent = running.agent.name());
                self.give_up(turn, why).await;
            }
        }
    }

    async fn connected(&mut self, turn: &TurnId, connected: Connected) {
        let id = self.next_connection_id();
        let Some(running) = self.turns.get_mut(turn) else { return };
        running.connection = Some(id);
        let (is_again, prompt) = (running.tries > 0, running.turn.prompt().clone());
        let info = AgentInfo { session: running.returns_to.clone(), ..AgentInfo::default() };
        let scope = running.scope.clone();
        running.give_up_at = is_again.then(|| Instant::now() + self.settings.reach_wait);
        let agent = running.agent.name().to_owned();
        let settings = settings_of(&self.tree, Some(&prompt));
        let connection = self.keep_connection(id, connected, agent, info, settings, scope);
        connection.turn = Some(turn.clone());
        connection.tip = Some(prompt);
        if is_again {
            let unconfirmed: Vec<AgentInput> = self.asks.unconfirmed().collect();
            for answer in unconfirmed.into_iter().filter(|answer| belongs_to(answer, turn)) {
                self.tell_agent(turn, answer);
            }
        } else {
            self.deliver(turn, id).await;
        }
    }

    pub(super) fn next_connection_id(&mut self) -> ConnectionId {
        self.next_connection += 1;
        ConnectionId(self.next_connection)
    }

    /// An agent that was reached is kept by a task of its own. It has nothing to do yet.
    pub(super) fn keep_connection(
        &mut self,
        id: ConnectionId,
        connected: Connected,
        agent: String,
        info: AgentInfo,
        settings: Vec<Setting>,
        scope: Scope,
    ) -> &mut Connection {
        self.longest_end = self.longest_end.max(connected.end_wait);
        let sessions = OpenSessions(connected.claims.clone());
        let (inputs, for_agent) = mpsc::unbounded_channel();
        self.tasks.spawn(keep(id, connected, for_agent, self.to_self.clone()));
        let connection = Connection {
            agent,
            inputs,
            info,
            settings,
            turn: None,
            tip: None,
            background: Vec::new(),
            idle: None,
            sessions,
            resumed: None,
            scope,
            lacks: Vec::new(),
        };
        self.connections.entry(id).insert_entry(connection).into_mut()
    }

    /// An agent that goes without a word is looked for again, where it can take up its session: answers that it has not
    /// confirmed are said to it again.
    pub(super) async fn on_gone(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(&id) else { return };
        let agent = self.shared.agents.get(&connection.agent);
        // A turn of one that keeps a transcript is not continued by another process: its transcript is caught up with.
        if agent.is_some_and(|agent| agent.abilities(None).entry_ids) {
            return self.on_exited(id, ExitStatus::Unknown, "").await;
        }
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
        self.rest_idle_agents();
    }

    /// Ends every agent of the session that is not in the middle of a turn.
    pub(super) fn close_idle_agents(&mut self) {
        let at_work: Vec<ConnectionId> =
            self.turns.values().filter_map(|running| running.connection).collect();
        self.connections.retain(|id, _| at_work.contains(id));
    }
}

/// An agent that is being connected. If it is not reached, its process is told to end.
struct Reaching(Option<Arc<Claims>>);

impl Drop for Reaching {
    fn drop(&mut self) {
        if let Some(claims) = self.0.take() {
            claims.begin_to_end();
        }
    }
}

impl OpenSessions {
    /// The agent has opened it.
    pub(super) fn open(&self, session: &AgentSessionId) -> Result<(), InUse> {
        self.0.claim(session)
    }
}

impl Drop for OpenSessions {
    fn drop(&mut self) {
        self.0.begin_to_end();
    }
}

impl Connection {
    /// Tells the agent the settings that are in force for it, where it has others.
    pub(super) fn configure(&mut self, settings: Vec<Setting>) {
        if self.settings != settings {
            self.tell(AgentInput::Configure(settings.clone()));
            self.settings = settings;
        }
    }

    pub(super) fn tell(&self, input: AgentInput) {
        // An agent that is gone says so itself.
        let _ = self.inputs.send(input);
    }
}

/// The settings that an agent is started with. Where no model was chosen it gets the one that it has used on the branch: by
/// itself it might choose another one, and the model's cache of the branch would be of no use.
fn at_start(mut settings: Vec<Setting>, in_use: Option<&Model>) -> Vec<Setting> {
    let is_model = |setting: &Setting| matches!(setting, Setting::Model { role: None, .. });
    if let Some(model) = in_use.filter(|_| !settings.iter().any(is_model)) {
        settings.push(Setting::Model { role: None, model: model.clone() });
    }
    settings
}

/// The session that an agent is asked to open, where that is known before it does.
fn session_of(handoff: &Handoff) -> Option<&AgentSessionId> {
    match handoff {
        Handoff::Continue { session, .. } => Some(session),
        Handoff::New { session } | Handoff::Fork { session, .. } | Handoff::Rebuild { session, .. } => {
            session.as_ref()
        }
        Handoff::Replay { .. } | Handoff::Stateless => None,
    }
}

fn in_use(agent: &str) -> ConnectError {
    let reason = "its session is open on another branch and cannot be forked there".to_owned();
    ConnectError::NotTakenUp { agent: agent.to_owned(), reason }
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
