//! A connection to an agent, kept by a task of its own.
//!
//! The task carries inputs to the agent and events to the actor, and neither waits for the other: an agent that takes no
//! inputs for a while is still heard. It ends when the actor lets go of it, or when the agent is gone.

use std::collections::VecDeque;
use std::time::Duration;

use offshoot_agents::AgentConnection;
use offshoot_session::agent::{AgentInput, FromAgent};
use tokio::sync::mpsc;

use crate::actor::Message;

/// How long an agent may take to end by itself.
const END_WAIT: Duration = Duration::from_secs(2);

/// Names a connection within its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// Serves a connection until one of its ends is gone.
pub(crate) async fn keep(
    id: ConnectionId,
    mut connection: AgentConnection,
    mut inputs: mpsc::UnboundedReceiver<AgentInput>,
    actor: mpsc::Sender<Message>,
) {
    let mut waiting: VecDeque<AgentInput> = VecDeque::new();
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
    // How it ended concerns nobody any more.
    let _ = connection.close_within(END_WAIT).await;
}

enum Step {
    GoOn,
    Heard(Box<FromAgent>),
    AgentGone,
    LetGo,
}
