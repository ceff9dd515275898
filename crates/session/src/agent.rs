//! What passes between us and a live agent, in one vocabulary for every agent.
//!
//! A driver translates what its agent says into [`AgentEvent`]s and puts [`AgentInput`]s into the agent's own words. It
//! decides nothing: what an event means for the conversation is decided by [`crate::turn::Turn`].
//!
//! Every event names the turn it belongs to. An agent that was interrupted may go on talking for a while; what it says
//! then carries the old turn and lands nowhere.

mod abilities;
mod connection;
mod environment;
mod event;
mod failure;
mod input;
pub mod live;

use std::sync::Arc;

use serde_json::Value;

pub use abilities::{Abilities, SettingSupport, SettingsSupport, Unsupported, list};
pub use connection::{
    AgentInfo, AgentNotice, BackgroundKind, BackgroundTask, ConnectionEvent, ExitStatus, SessionChange,
};
pub use environment::Environment;
pub use event::{
    AgentEventKind, AgentTurn, AgentTurnEnd, DeltaField, FromAgent, ModelUsage, Speaker, TurnCause,
};
pub use failure::{AgentFailure, FailureKind};
pub use input::{AgentStart, EntryIter, PathSource};

use crate::asks::{Answer, Asking};
use crate::handoff::Handoff;
use crate::{
    AgentSessionId, Entry, Model, Prompt, Reply, SessionId, Setting, ToolCallId, ToolResult, ToolUse, TurnId,
    Usage,
};

/// How much an agent may be told to think.
pub const THINKING_LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];

/// Something an agent said or did during a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEvent {
    pub turn: TurnId,
    pub speaker: Speaker,
    pub said: Said,
}

/// `message` is the agent's name for what it is writing. The same name means more of the same message; a message
/// without a name ends where another begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    /// It is there. `None` where it keeps no session of its own.
    Started {
        agent_session: Option<AgentSessionId>,
        model: Option<Model>,
    },
    Words {
        message: Option<String>,
        text: String,
    },
    Thinking {
        message: Option<String>,
        text: String,
    },
    ToolUse {
        message: Option<String>,
        tool_use: ToolUse,
    },
    /// The message is whole, and this is it; what had arrived of it is replaced.
    Message {
        message: Option<String>,
        reply: Reply,
    },
    ToolResult(ToolResult),
    /// `request` is the agent's own name for it. Asking again under the same name is the same ask.
    Asks {
        request: String,
        asking: Asking,
    },
    /// The answer has arrived and counts.
    Confirms {
        request: String,
    },
    /// It does not want to know any more.
    Withdraws {
        request: String,
    },
    /// Tokens and money that no message carries.
    Used(Usage),
    /// It makes its memory shorter; this takes time.
    Compacting,
    /// It has made its memory shorter.
    Compacted {
        summary: String,
        tokens_before: i64,
    },
    /// Something the person should know and the conversation need not keep.
    Notice(String),
    Ended(Ending),
    /// The turn cannot go on. The agent may be gone.
    Failed {
        message: String,
    },
}

/// How a turn ended by the agent's own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Done,
    /// It stopped because it was told to.
    Interrupted,
    /// The model's answer or the number of its steps was limited.
    Limit,
}

/// Something an agent is told.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentInput {
    /// All events up to its end carry this turn.
    Prompt {
        turn: TurnId,
        prompt: Prompt,
    },
    /// At least once: it is said again until the agent confirms the request. A second answer to the same request
    /// means nothing.
    Answer {
        turn: TurnId,
        request: String,
        answer: Answer,
    },
    Interrupt {
        turn: TurnId,
    },
    /// In force from the next prompt on.
    Configure(Vec<Setting>),
}

/// What an agent needs to know to take up a branch.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    pub session: SessionId,
    /// The folder in which it works.
    pub workspace: Option<String>,
    pub handoff: Handoff,
    /// What was said on the branch before the prompt that comes next, root first.
    pub path: Vec<Arc<Entry>>,
    /// The latest setting of each kind on the path.
    pub settings: Vec<Setting>,
    /// For the agent and the programs it runs. It keeps this one as long as it is connected.
    pub environment: Environment,
    /// Whether a person watches what it writes.
    pub is_watched: bool,
}

impl AgentEvent {
    pub fn new(turn: TurnId, said: Said) -> Self {
        Self { turn, speaker: Speaker::Agent, said }
    }

    pub fn of_sub_agent(turn: TurnId, call: ToolCallId, said: Said) -> Self {
        Self { turn, speaker: Speaker::SubAgent(call), said }
    }
}

impl Said {
    pub fn words(message: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Words { message: Some(message.into()), text: text.into() }
    }

    pub fn thinking(message: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Thinking { message: Some(message.into()), text: text.into() }
    }

    pub fn tool_use(message: impl Into<String>, id: &str, name: &str, input: Value) -> Self {
        let tool_use = ToolUse { id: id.into(), name: name.into(), input };
        Self::ToolUse { message: Some(message.into()), tool_use }
    }
}
