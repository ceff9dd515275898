//! What comes from the engine in the middle of a turn of an agent that runs in our process.

use offshoot_session::TurnId;
use offshoot_session::agent::{AgentEventKind, AgentInput, AgentTurn, FromAgent};

pub(crate) enum Meanwhile {
    /// The turn ends.
    Interrupted,
    Nothing,
    /// An answer that was given before: its confirmation was lost.
    Confirm(FromAgent),
    /// It counts from the next turn on.
    Later(AgentInput),
}

pub(crate) fn meanwhile(running: &TurnId, input: AgentInput) -> Meanwhile {
    match input {
        AgentInput::Interrupt { turn } if turn == AgentTurn::Prompted(running.clone()) => {
            Meanwhile::Interrupted
        }
        AgentInput::Interrupt { .. } | AgentInput::StopTask(_) | AgentInput::Rename(_) => Meanwhile::Nothing,
        AgentInput::Answer { turn, request, .. } => {
            Meanwhile::Confirm(FromAgent::turn(turn, AgentEventKind::AskConfirmed { request }))
        }
        AgentInput::Prompt { .. } | AgentInput::Configure(_) => Meanwhile::Later(input),
    }
}
