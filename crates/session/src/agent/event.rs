//! Events of a turn.

use std::time::Duration;

use super::{AgentFailure, ConnectionEvent};
use crate::asks::Asking;
use crate::{Body, EntryId, MessageKey, Model, Stop, TaskId, ToolCallId, TurnId, Usage};

/// Anything an agent reports. Events of one connection are applied in the order in which they were reported.
#[derive(Clone, Debug, PartialEq)]
pub enum FromAgent {
    Turn(AgentEvent),
    Connection(ConnectionEvent),
}

/// Something that happened in a turn. A turn has one `Started` and one `Ended` or `Failed` of [`Speaker::Agent`].
#[derive(Clone, Debug, PartialEq)]
pub struct AgentEvent {
    pub turn: AgentTurn,
    pub speaker: Speaker,
    pub kind: AgentEventKind,
}

/// The name of a turn between us and an agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AgentTurn {
    /// The answer to a prompt of ours.
    Prompted(TurnId),
    /// The agent began by itself, for example because a background task ended. Counted per connection.
    SelfStarted(u32),
}

/// The agent, or one of its sub-agents.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Speaker {
    Agent,
    /// An agent that the call of a tool has started.
    SubAgent(ToolCallId),
}

#[derive(Clone, Debug, PartialEq)]
pub enum AgentEventKind {
    /// The prompt was taken, or why the agent began by itself. [`ConnectionEvent::Opened`] comes earlier.
    Started { cause: TurnCause },
    /// Live text of one block, never written as it is. Another `part` is another block of the message.
    Delta { message: MessageKey, part: u32, field: DeltaField, text: String },
    /// A final entry. A reply confirms all live text of its message: it replaces that text. `id` is the agent's own id,
    /// for agents that have ids; an entry whose id is in the tree is skipped. Without a `message` nothing is confirmed.
    /// A message may have several entries, one for each block; results of tools may come between them.
    Entry { id: Option<EntryId>, message: Option<MessageKey>, body: Body },
    /// The message is complete. Live text of it that no entry has confirmed is final, and is written as a reply with
    /// this stop and usage. Where entries have confirmed everything, `stop` and `usage` have no entry left to belong to:
    /// such a driver keeps the last block back until it knows them and sends them with its entry.
    MessageEnded { message: MessageKey, stop: Option<Stop>, usage: Option<Usage> },
    /// Live text of the message that no entry has confirmed is void: the agent does not know it.
    Discarded { message: MessageKey },
    /// `request` is the agent's own name, unique in its connection. Asking again with the same name is the same ask.
    Ask { request: String, ask: Asking },
    /// The answer has arrived and counts.
    AskConfirmed { request: String },
    /// The agent needs no answer any more. An answer that is sent later is ignored.
    AskWithdrawn { request: String },
    /// A request to the model failed and is sent again after `wait`.
    Retrying { attempt: u32, of: u32, wait: Duration, cause: AgentFailure },
    /// The agent compacts its context, which takes time.
    Compacting,
    /// `first_kept` is the first entry of the tree that the agent still reads word for word; `None`: none.
    Compacted { summary: String, tokens_before: i64, first_kept: Option<EntryId> },
    /// Everything used since the last `Spent` of this connection, the usage that entries carry included.
    Spent(Vec<ModelUsage>),
    /// The turn is over. Of a sub-agent: it has ended.
    Ended(AgentTurnEnd),
    /// The turn cannot continue. The agent may be gone.
    Failed(AgentFailure),
}

/// Why a turn began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnCause {
    /// The agent took the prompt of this turn. Of a sub-agent: it took its task.
    Prompt,
    /// A background task ended; `text` is what the agent reads about it.
    TaskEnded { task: TaskId, text: String },
    /// The agent does not say. `text` is what it reads, where that is known.
    Unprompted { text: Option<String> },
}

/// The part of a block that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeltaField {
    Text,
    Thinking,
    /// The input of a tool call, as JSON that is incomplete until the entry of the call arrives. It is not shown.
    ToolInput,
}

/// How a turn ended by the agent's own account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentTurnEnd {
    Done,
    /// It stopped because it was interrupted.
    Interrupted,
    /// The answer of the model or the number of steps was limited.
    Limit,
}

/// Tokens and money of one model. A sum of money that belongs to no model has none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelUsage {
    pub model: Option<Model>,
    pub usage: Usage,
}

impl FromAgent {
    /// An event of the agent itself in a turn that a prompt began.
    pub fn turn(turn: TurnId, kind: AgentEventKind) -> Self {
        Self::Turn(AgentEvent::new(turn, kind))
    }
}

impl AgentEvent {
    /// An event of the agent itself in a turn that a prompt began.
    pub fn new(turn: TurnId, kind: AgentEventKind) -> Self {
        Self { turn: AgentTurn::Prompted(turn), speaker: Speaker::Agent, kind }
    }

    pub fn of_sub_agent(turn: TurnId, call: ToolCallId, kind: AgentEventKind) -> Self {
        Self { turn: AgentTurn::Prompted(turn), speaker: Speaker::SubAgent(call), kind }
    }
}

impl AgentEventKind {
    pub const STARTED: Self = Self::Started { cause: TurnCause::Prompt };

    /// Live text in the first block of a message.
    pub fn text(message: impl Into<MessageKey>, text: impl Into<String>) -> Self {
        Self::Delta { message: message.into(), part: 0, field: DeltaField::Text, text: text.into() }
    }

    /// Live thinking in the first block of a message.
    pub fn thinking(message: impl Into<MessageKey>, text: impl Into<String>) -> Self {
        Self::Delta { message: message.into(), part: 0, field: DeltaField::Thinking, text: text.into() }
    }

    /// A final entry without an id of the agent's.
    pub fn entry(message: impl Into<MessageKey>, body: Body) -> Self {
        Self::Entry { id: None, message: Some(message.into()), body }
    }
}
