//! An agent that goes back at once: its process is stopped, and another one resumes where the head goes.
//!
//! Otherwise an agent comes to a branch with the first prompt that is sent there. Nothing is written for it here either: a
//! session that begins in this way belongs to the branch when it has taken a prompt, and is gone without a trace if none
//! comes.

use std::sync::Arc;

use offshoot_agents::Agent;
use offshoot_api::views::{BoundView, MissingView};
use offshoot_api::{ApiError, ErrorCode};
use offshoot_session::agent::{AgentFailure, AgentInfo, AgentStart, ConnectionEvent, FailureKind, FromAgent};
use offshoot_session::handoff::{Handoff, branch_session};
use offshoot_session::{EntryId, Provenance, Setting};
use tokio::time::timeout;

use super::agents::Planned;
use super::errands::Errand;
use super::halt::{Halt, refused};
use super::{Message, SessionActor};
use crate::connection::Connected;
use crate::view::settings_of;

/// Where a connection has resumed.
#[derive(Clone, Debug)]
pub(super) struct ResumedAt {
    /// The entry below which its next prompt comes; `None` is before the first one.
    pub(super) at: Option<EntryId>,
    pub(super) provenance: Provenance,
}

/// An agent that is to resume at a point.
pub(super) struct Resuming {
    agent: Arc<dyn Agent>,
    start: AgentStart,
    settings: Vec<Setting>,
    at: Option<EntryId>,
}

/// An agent that has resumed.
pub(crate) struct Resumed {
    connected: Connected,
    agent: Arc<dyn Agent>,
    settings: Vec<Setting>,
    info: AgentInfo,
    provenance: Provenance,
    at: Option<EntryId>,
    /// What it reported before it said who it is.
    early: Vec<FromAgent>,
}

impl SessionActor {
    /// What has to be done before the head goes to an entry. `None`: the agent has no session there, or keeps none.
    pub(super) fn resuming_at(&mut self, at: Option<&EntryId>) -> Result<Option<Errand>, Halt> {
        let agent = self.agent_at(at).map_err(refused)?;
        self.stop_idle(agent.name());
        let Planned { handoff, .. } = self.plan_connection_below(at, None, agent.as_ref());
        if matches!(handoff, Handoff::New { .. } | Handoff::Stateless) {
            return Ok(None);
        }
        let (scope, settings) = (self.scope(), settings_of(&self.tree, at));
        let start = self.start_of(agent.name(), at.cloned(), settings.clone(), handoff, &scope);
        let resuming = Resuming { agent, start, settings, at: at.cloned() };
        Ok(Some(Errand::Resume(Box::new(resuming))))
    }

    /// Ends the processes of the branch that the head leaves, and those that wait at another point.
    fn stop_idle(&mut self, agent: &str) {
        let left = branch_session(&self.tree, self.tree.main_head());
        let at_work: Vec<_> = self.turns.values().filter_map(|running| running.connection).collect();
        self.connections.retain(|id, connection| {
            let is_left = left.is_some() && connection.info.session == left;
            let is_stopped = connection.agent == agent && (is_left || connection.resumed.is_some());
            at_work.contains(id) || !is_stopped
        });
    }

    /// Connects the agent and waits until it has said who it is. The process that it had has ended by then.
    pub(super) fn resume_agent(
        &mut self,
        resuming: Resuming,
    ) -> impl Future<Output = Result<Resumed, ApiError>> + Send + 'static {
        let Resuming { agent, start, settings, at } = resuming;
        let provenance = start.handoff.provenance();
        let left = match &start.handoff {
            Handoff::Fork { from, .. } => Some(from.clone()),
            _ => None,
        };
        let sessions = self.shared.agent_sessions.clone();
        let wait = self.settings.reach_wait;
        let connecting = self.connecting(agent.clone(), start);
        async move {
            if let Some(left) = left {
                // A process that works elsewhere in the tree goes on: the session is forked beside it.
                let _ = sessions.claims(agent.name()).wait_for(&left).await;
            }
            let connected = connecting.await.map_err(failed)?;
            let resumed = Resumed {
                connected,
                agent,
                settings,
                info: AgentInfo::default(),
                provenance,
                at,
                early: Vec::new(),
            };
            timeout(wait, resumed.opened()).await.unwrap_or_else(|_| {
                Err(failed(AgentFailure::new(FailureKind::Process, "the agent did not say that it is ready")))
            })
        }
    }

    /// It waits for a prompt at the point.
    pub(super) fn agent_resumed(&mut self, resumed: Resumed) {
        let Resumed { connected, agent, settings, info, provenance, at, early } = resumed;
        let (id, scope) = (self.next_connection_id(), self.scope());
        let provenance = info.provenance.unwrap_or(provenance);
        let name = agent.name().to_owned();
        let connection = self.keep_connection(id, connected, name, info, settings, scope);
        connection.tip.clone_from(&at);
        connection.resumed = Some(ResumedAt { at, provenance });
        self.afterwards.extend(early.into_iter().map(|event| Message::Heard { connection: id, event }));
        self.rest_idle_agents();
    }

    /// What is told of the agent that waits at an entry.
    pub(super) fn resumed_view(&self, at: Option<&EntryId>) -> Option<BoundView> {
        self.connections.values().find_map(|connection| {
            let resumed = connection.resumed.as_ref().filter(|resumed| resumed.at.as_ref() == at)?;
            Some(BoundView {
                agent: Some(connection.agent.clone()),
                agent_session: connection.info.session.as_ref().map(ToString::to_string),
                provenance: resumed.provenance.into(),
                missing: MissingView::of(connection.info.missing),
            })
        })
    }
}

impl Resumed {
    async fn opened(mut self) -> Result<Self, ApiError> {
        loop {
            match self.connected.connection.events.recv().await {
                Some(FromAgent::Connection(ConnectionEvent::Opened(info))) => {
                    self.info = info;
                    return Ok(self);
                }
                Some(FromAgent::Connection(ConnectionEvent::Exited { status, stderr })) => {
                    return Err(failed(status.failure(self.agent.title(), &stderr)));
                }
                Some(event) => self.early.push(event),
                None => {
                    let text = format!("{} ended unexpectedly", self.agent.title());
                    return Err(failed(AgentFailure::new(FailureKind::Process, text)));
                }
            }
        }
    }
}

fn failed(failure: AgentFailure) -> ApiError {
    ApiError::new(ErrorCode::AgentFailed, failure.text)
}
