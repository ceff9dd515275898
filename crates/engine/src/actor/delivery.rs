//! How a prompt reaches its agent, and what happens if the agent ends before it has taken it.

use std::time::Duration;

use offshoot_session::agent::{AgentInput, ExitStatus, Unseen};
use offshoot_session::{Body, EntryId, Fact, Prompt, Record, TurnId, is_uuid};
use tokio::time::Instant;
use tracing::warn;

use super::SessionActor;
use super::agents::Planned;
use crate::connection::ConnectionId;

/// An agent whose process ends by itself is started so often …
const STARTS: usize = 2;

/// … within this time.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

impl SessionActor {
    /// Sends the prompt, and before it what the agent has not seen of the branch. An agent with ids of its own keeps a
    /// message under the id that it is sent with, and has it twice if the id comes twice; so each further delivery has
    /// another id, which is written before it is sent. Entries that an agent has not seen may have been sent for another
    /// prompt, so theirs is always another one.
    pub(super) async fn deliver(&mut self, turn: &TurnId, id: ConnectionId) {
        let Some(running) = self.turns.get_mut(turn) else { return };
        let entry = running.turn.prompt().clone();
        let is_first = running.deliveries == 0 && is_uuid(entry.as_str());
        running.deliveries += 1;
        let has_ids = running.agent.abilities(None).entry_ids;
        let unseen = std::mem::take(&mut running.unseen);
        let before: Vec<Unseen> = unseen
            .into_iter()
            .map(|entry| Unseen { delivered_as: self.delivery_id(&entry.id, has_ids), entry })
            .collect();
        let delivered_as = self.delivery_id(&entry, has_ids && !is_first);
        let sent = before.iter().map(|unseen| (&unseen.entry.id, &unseen.delivered_as));
        let renamed = sent.chain([(&entry, &delivered_as)]).filter(|(entry, id)| entry != id);
        let records: Vec<Record> = renamed
            .map(|(prompt, delivered_as)| {
                let (prompt, delivered_as) = (prompt.clone(), delivered_as.clone());
                Record::marked(self.stamps.now(), Fact::Delivered { prompt, delivered_as })
            })
            .collect();
        if !records.is_empty()
            && let Err(error) = self.commit_turn(records).await
        {
            return self.could_not_save(turn, &error).await;
        }
        let prompt = match self.tree.entry(&entry).map(|entry| &entry.body) {
            Some(Body::Prompt(prompt)) => prompt.clone(),
            _ => Prompt { blocks: Vec::new(), attachments: Vec::new(), said_at: None },
        };
        if let Some(connection) = self.connections.get(&id) {
            let turn = turn.clone();
            connection.tell(AgentInput::Prompt { turn, entry, delivered_as, prompt, before });
        }
    }

    fn delivery_id(&mut self, entry: &EntryId, is_new: bool) -> EntryId {
        if is_new { EntryId::from(self.stamps.uuid()) } else { entry.clone() }
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
                let Planned { handoff, unseen, .. } = self.plan_connection(&prompt, agent.as_ref());
                if let Some(running) = self.turns.get_mut(turn) {
                    running.unseen = unseen;
                }
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
