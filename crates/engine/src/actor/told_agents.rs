//! What agents with nothing to do are told: settings that can change at once, and the title of the session.

use std::path::Path;
use std::sync::Arc;

use offshoot_agents::{Agent, Rename};
use offshoot_api::event::EventKind;
use offshoot_session::AgentSessionId;
use offshoot_session::agent::{AgentInput, SettingSupport};
use offshoot_session::handoff::branch_session;
use tracing::warn;

use super::SessionActor;
use super::agents::model_of;
use crate::view::settings_of;

impl SessionActor {
    /// Settings were written at the head. Those that the agent there can change at once are in force now; the others
    /// when their kind is, which the next prompt sees to.
    pub(super) fn configure_agent(&mut self) {
        let head = self.tree.main_head();
        let (session, settings) = (branch_session(&self.tree, head), settings_of(&self.tree, head));
        let is_its = |connection: &&mut super::agents::Connection| {
            session.is_some() && connection.info.session == session
        };
        let Some(connection) = self.connections.values_mut().find(is_its) else { return };
        let Some(agent) = self.shared.agents.get(&connection.agent) else { return };
        let abilities = agent.abilities(model_of(&settings));
        let mut known = connection.settings.clone();
        for setting in settings {
            if abilities.setting(&setting) == SettingSupport::Live {
                known.retain(|known| !known.is_same_kind(&setting));
                known.push(setting);
            }
        }
        let is_new = known.iter().any(|setting| !connection.settings.contains(setting));
        if is_new {
            connection.configure(known);
        }
    }

    /// The session was renamed. Agents that have a session of this one open are told; where the one of the branch is not
    /// open its title is changed where the agent keeps it. A title that was removed stays there.
    pub(super) async fn rename_agent_sessions(&mut self) {
        let Some(title) = self.tree.title().map(str::to_owned) else { return };
        for connection in self.connections.values() {
            let agent = self.shared.agents.get(&connection.agent);
            if agent.is_some_and(|agent| agent.abilities(None).rename) {
                connection.tell(AgentInput::Rename(title.clone()));
            }
        }
        let Some((agent, session)) = self.bound_here() else { return };
        if !agent.abilities(None).rename || self.shared.agent_sessions.is_claimed(agent.name(), &session) {
            return;
        }
        let (environment, workspace) = (self.scope().environment(), self.project().map(str::to_owned));
        let renamed = tokio::task::spawn_blocking(move || {
            let workspace = workspace.as_deref().map(Path::new);
            agent.rename(&Rename { session: &session, title: &title, workspace, environment: &environment })
        });
        let problem = match renamed.await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => "the session of the agent could not be renamed".to_owned(),
        };
        warn!(name: "agent session not renamed", session = %self.id);
        self.publish(None, EventKind::Notice { text: problem });
    }

    /// The agent's session at the head, where it was begun or continued from here. A session that only
    /// another program has written is renamed only on request.
    fn bound_here(&self) -> Option<(Arc<dyn Agent>, AgentSessionId)> {
        let path = self.tree.path_to(self.tree.main_head());
        let binding = path.iter().rev().find_map(|entry| self.tree.binding(&entry.id))?;
        let binding = Some(binding).filter(|binding| binding.was_made_here())?;
        let agent = self.shared.agents.get(binding.agent.as_deref()?)?.clone();
        Some((agent, binding.agent_session.clone()?))
    }
}
