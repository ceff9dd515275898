//! Agents with nothing to do: they stay for a while, and only so many of them.

use std::collections::BTreeSet;

use tokio::time::Instant;
use tracing::info;

use super::{Message, SessionActor};
use crate::connection::ConnectionId;

impl SessionActor {
    /// After anything by which an agent may have got something to do, or nothing more. One that runs something in the
    /// background is not idle.
    pub(super) fn rest_idle_agents(&mut self) {
        let at_work: BTreeSet<ConnectionId> =
            self.turns.values().filter_map(|running| running.connection).collect();
        let registry = &self.shared.idle_agents;
        for (id, connection) in &mut self.connections {
            match !at_work.contains(id) && connection.background.is_empty() {
                false => connection.idle = None,
                true if connection.idle.is_none() => {
                    connection.idle = Some(registry.enter(*id, &self.to_self));
                }
                true => {}
            }
        }
        for (connection, session) in registry.beyond(self.settings.idle_agents) {
            if session.same_channel(&self.to_self) {
                self.connections.remove(&connection);
            } else {
                self.tasks.spawn(async move {
                    // A session that is gone has ended its agents.
                    let _ = session.send(Message::EndIdle { connection }).await;
                });
            }
        }
    }

    /// It may have got something to do since.
    pub(super) fn end_idle(&mut self, id: ConnectionId) {
        if self.connections.get(&id).is_some_and(|connection| connection.idle.is_some()) {
            self.connections.remove(&id);
        }
    }

    pub(super) fn idle_agents_due(&self) -> Option<Instant> {
        let idle = self.connections.values().filter_map(|connection| connection.idle.as_ref());
        idle.map(|idle| idle.since + self.settings.idle_close).min()
    }

    pub(super) fn end_long_idle(&mut self, now: Instant) {
        let (wait, before) = (self.settings.idle_close, self.connections.len());
        self.connections
            .retain(|_, connection| connection.idle.as_ref().is_none_or(|idle| idle.since + wait > now));
        let count = (before - self.connections.len()) as u64;
        if count > 0 {
            info!(name: "idle agents ended", session = %self.id, count);
        }
    }
}
