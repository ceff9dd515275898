//! One process for each session of an agent.
//!
//! Two processes that write one transcript lose a branch of it. So a connection claims the sessions it has open, in all
//! sessions of this engine, and its claim ends when its process has ended: whoever continues the session next waits
//! until then.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_session::AgentSessionId;
use tokio::sync::Notify;

/// An agent, and one of its sessions.
type Key = (String, AgentSessionId);

#[derive(Debug, Default)]
pub(crate) struct AgentSessions {
    /// It is never held across an await.
    claimed: Mutex<Claimed>,
    released: Notify,
}

#[derive(Debug, Default)]
struct Claimed {
    by: HashMap<Key, Holder>,
    holders: u64,
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    number: u64,
    is_ending: bool,
}

/// The sessions of one connection. They are free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Claims {
    of: Arc<AgentSessions>,
    agent: String,
    number: u64,
}

/// The connection that has a session open is not ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InUse;

impl AgentSessions {
    /// For a connection that is about to be made.
    pub(crate) fn claims(self: &Arc<Self>, agent: &str) -> Claims {
        let mut claimed = self.claimed();
        claimed.holders += 1;
        Claims { of: self.clone(), agent: agent.to_owned(), number: claimed.holders }
    }

    /// Whether a connection has it open, also one that is ending.
    pub(crate) fn is_claimed(&self, agent: &str, session: &AgentSessionId) -> bool {
        self.claimed().by.contains_key(&key(agent, session))
    }

    /// Whether a connection has it open that goes on.
    pub(crate) fn is_in_use(&self, agent: &str, session: &AgentSessionId) -> bool {
        self.claimed().by.get(&key(agent, session)).is_some_and(|holder| !holder.is_ending)
    }

    /// Each change is whole, so a thread that died here left nothing half done.
    fn claimed(&self) -> MutexGuard<'_, Claimed> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claims {
    /// Claims a session, once the process that had it has ended.
    pub(crate) async fn wait_for(&self, session: &AgentSessionId) -> Result<(), InUse> {
        loop {
            let released = self.of.released.notified();
            tokio::pin!(released);
            // What is released from here on wakes us.
            released.as_mut().enable();
            match self.try_claim(session) {
                Ok(()) => return Ok(()),
                Err(holder) if holder.is_ending => released.await,
                Err(_) => return Err(InUse),
            }
        }
    }

    /// The agent says that it has this session open.
    pub(crate) fn claim(&self, session: &AgentSessionId) -> Result<(), InUse> {
        self.try_claim(session).map_err(|_| InUse)
    }

    fn try_claim(&self, session: &AgentSessionId) -> Result<(), Holder> {
        let mut claimed = self.of.claimed();
        let own = Holder { number: self.number, is_ending: false };
        let holder = claimed.by.entry(key(&self.agent, session)).or_insert(own);
        if holder.number == self.number { Ok(()) } else { Err(*holder) }
    }

    /// The process has been told to end.
    pub(crate) fn begin_to_end(&self) {
        let mut claimed = self.of.claimed();
        for holder in claimed.by.values_mut().filter(|holder| holder.number == self.number) {
            holder.is_ending = true;
        }
        drop(claimed);
        self.of.released.notify_waiters();
    }
}

impl Drop for Claims {
    fn drop(&mut self) {
        self.of.claimed().by.retain(|_, holder| holder.number != self.number);
        self.of.released.notify_waiters();
    }
}

fn key(agent: &str, session: &AgentSessionId) -> Key {
    (agent.to_owned(), session.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_session_is_free_when_the_process_that_had_it_has_ended() {
        let sessions = Arc::new(AgentSessions::default());
        let (first, second) = (sessions.claims("a"), sessions.claims("a"));
        let session = AgentSessionId::from("x");
        assert_eq!(first.wait_for(&session).await, Ok(()));
        assert_eq!(first.claim(&session), Ok(()), "it is its own");
        assert_eq!(second.wait_for(&session).await, Err(InUse));
        assert_eq!(sessions.claims("b").claim(&session), Ok(()), "another agent has sessions of its own");
        first.begin_to_end();
        assert!(sessions.is_claimed("a", &session) && !sessions.is_in_use("a", &session));
        let waiting = tokio::spawn(async move { (second.wait_for(&session).await, second) });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        let (claimed, _second) = waiting.await.unwrap();
        assert_eq!(claimed, Ok(()));
    }
}
