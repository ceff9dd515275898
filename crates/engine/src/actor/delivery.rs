//! How a prompt reaches its agent, and what happens if the agent ends before it has taken it.

use std::time::Duration;

use offshoot_session::agent::{AgentInput, ExitStatus};
use offshoot_session::{Body, EntryId, Fact, Prompt, Record, TurnId, is_uuid};
use tokio::time::Instant;
use tracing::warn;

use super::SessionActor;
use crate::connection::ConnectionId;

/// An agent whose process ends by itself is started so often …
const STARTS: usize = 2;

/// … within this time.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

impl SessionActor {
    /// Sends the prompt. An agent with ids of its own keeps it under the id that it is sent with, and has it twice if the
    /// id comes twice; so each further delivery has another id, which is written before it is sent.
    pub(super) async fn deliver(&mut self, turn: &TurnId, id: ConnectionId) {
        let Some(running) = self.turns.get_mut(turn) else { return };
        let entry = running.turn.prompt().clone();
        let is_first = running.deliveries == 0 && is_uuid(entry.as_str());
        running.deliveries += 1;
        let is_again = running.agent.abilities(None).entry_ids && !is_first;
        let delivered_as = if is_again { EntryId::from(self.stamps.uuid()) } else { entry.clone() };
        if is_again {
            let (prompt, delivered_as) = (entry.clone(), delivered_as.clone());
            let record = Record::marked(self.stamps.now(), Fact::Delivered { prompt, delivered_as });
            if let Err(error) = self.commit_turn(vec![record]).await {
                return self.could_not_save(turn, &error).await;
            }
        }
        let prompt = match self.tree.entry(&entry).map(|entry| &entry.body) {
            Some(Body::Prompt(prompt)) => prompt.clone(),
            _ => Prompt { blocks: Vec::new(), attachments: Vec::new(), said_at: None },
        };
        if let Some(connection) = self.connections.get(&id) {
            let (turn, before) = (turn.clone(), Vec::new());
            connection.tell(AgentInput::Prompt { turn, entry, delivered_as, prompt, before });
        }
    }

    /// The process of an agent has ended by itself. A prompt that it has not taken is sent to another process, once; every
    /// other turn of it fails. The prompt stays, and the next one resumes the session.
    pub(super) async fn on_exited(&mut self, id: ConnectionId, status: ExitStatus, stderr: &str) {
        let Some(connection) = self.connections.get(&id) else { return };
        let agent = connection.agent.clone();
        let title = self.shared.agents.get(&agent).map_or(agent.clone(), |agent| agent.title().to_owned());
        self.lost.push((agent, Instant::now()));
        let turns = self.turns_of(id);
        for turn in &turns {
            let Some(running) = self.turns.get_mut(turn) else { continue };
            let is_waiting = !running.turn.is_taken() && !running.turn.is_over();
            if is_waiting && !running.turn.is_self_started() && running.starts < STARTS {
                warn!(name: "agent started again", session = %self.id, turn = %turn);
                running.connection = None;
                let (prompt, agent) = (running.turn.prompt().clone(), running.agent.clone());
                self.connections.remove(&id);
                let handoff = self.plan_connection(&prompt, agent.as_ref()).handoff;
                self.reach(turn, &prompt, handoff);
            } else {
                self.give_up(turn, status.failure(&title, stderr)).await;
            }
        }
        self.connections.remove(&id);
    }

    /// When an agent may be started, where it has ended by itself too often.
    pub(super) fn start_at(&mut self, agent: &str) -> Option<Instant> {
        let now = Instant::now();
        self.lost.retain(|(_, at)| now < *at + STARTS_WITHIN);
        let mut lost = self.lost.iter().rev().filter(|(of, _)| of == agent).map(|(_, at)| *at);
        lost.nth(STARTS - 1).map(|at| at + STARTS_WITHIN)
    }
}
