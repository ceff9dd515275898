//! A connection to an agent, kept by a task of its own.
//!
//! The task carries inputs to the agent and events to the actor, and neither waits for the other: an agent that takes no
//! inputs for a while is still heard. It ends when the actor lets go of it, or when the agent is gone.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::AgentConnection;
use offshoot_session::agent::{AgentInput, FromAgent};
use tokio::sync::mpsc;

use crate::actor::Message;
use crate::agent_sessions::Claims;

/// Names a connection within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// An agent that was reached. It has its sessions until its process has ended.
pub(crate) struct Connected {
    pub(crate) connection: AgentConnection,
    pub(crate) claims: Arc<Claims>,
    /// How long it may take to end by itself.
    pub(crate) end_wait: Duration,
}

impl Connected {
    /// Tells the agent to end, and returns when it has.
    pub(crate) async fn end(self) {
        let Self { connection, claims, end_wait } = self;
        claims.begin_to_end();
        // The actor has let go of it, so how it ended has no effect.
        let _ = connection.close_within(end_wait).await;
    }
}

/// Serves a connection until one of its ends is gone, and until its agent has ended.
pub(crate) async fn keep(
    id: ConnectionId,
    mut connected: Connected,
    mut inputs: mpsc::UnboundedReceiver<AgentInput>,
    actor: mpsc::Sender<Message>,
) {
    let mut waiting: VecDeque<AgentInput> = VecDeque::new();
    let connection = &mut connected.connection;
    loop {
        let step = tokio::select! {
            permit = connection.inputs.reserve(), if !waiting.is_empty() => match permit {
                Ok(permit) => {
                    if let Some(input) = waiting.pop_front() {
                        permit.send(input);
                    }
                    Step::GoOn
                }
                Err(_) => Step::AgentGone,
            },
            input = inputs.recv() => match input {
                Some(input) => {
                    waiting.push_back(input);
                    Step::GoOn
                }
                None => Step::LetGo,
            },
            event = connection.events.recv() => event.map_or(Step::AgentGone, |event| Step::Heard(Box::new(event))),
        };
        match step {
            Step::GoOn => {}
            Step::Heard(event) => {
                if actor.send(Message::Heard { connection: id, event: *event }).await.is_err() {
                    break;
                }
            }
            Step::AgentGone => {
                // Nobody hears it where the actor is gone too.
                let _ = actor.send(Message::Gone { connection: id }).await;
                break;
            }
            Step::LetGo => break,
        }
    }
    connected.end().await;
}

enum Step {
    GoOn,
    Heard(Box<FromAgent>),
    AgentGone,
    LetGo,
}
