//! Agents that are connected and have nothing to do, in all sessions of an engine.
//!
//! Each is a process that may need hundreds of megabytes, so only so many stay. Those that have waited longest go first.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::actor::Message;
use crate::connection::ConnectionId;

#[derive(Debug, Default)]
pub(crate) struct IdleAgents {
    /// Longest idle first. It is never held across an await.
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    idle: VecDeque<Idle>,
    entered: u64,
}

#[derive(Debug)]
struct Idle {
    number: u64,
    connection: ConnectionId,
    session: mpsc::WeakSender<Message>,
}

/// As long as it is held, the agent counts as idle.
#[derive(Debug)]
pub(crate) struct IdleTicket {
    of: Arc<IdleAgents>,
    number: u64,
    pub(crate) since: Instant,
}

impl IdleAgents {
    /// A connection of the session with this mailbox has nothing to do.
    pub(crate) fn enter(
        self: &Arc<Self>,
        connection: ConnectionId,
        session: &mpsc::Sender<Message>,
    ) -> IdleTicket {
        let mut waiting = self.waiting();
        waiting.entered += 1;
        let number = waiting.entered;
        waiting.idle.push_back(Idle { number, connection, session: session.downgrade() });
        IdleTicket { of: self.clone(), number, since: Instant::now() }
    }

    /// Those that are too many, each with the mailbox of its session. They do not count any more.
    pub(crate) fn beyond(&self, limit: usize) -> Vec<(ConnectionId, mpsc::Sender<Message>)> {
        let mut waiting = self.waiting();
        let too_many = waiting.idle.len().saturating_sub(limit);
        let gone = waiting.idle.drain(..too_many);
        gone.filter_map(|idle| Some((idle.connection, idle.session.upgrade()?))).collect()
    }

    /// Each change is whole, so a thread that died here left nothing half done.
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for IdleTicket {
    fn drop(&mut self) {
        self.of.waiting().idle.retain(|idle| idle.number != self.number);
    }
}
