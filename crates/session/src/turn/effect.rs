//! What shall happen because of what an agent said.

use crate::agent::AgentInput;
use crate::asks::{Ask, AskId};
use crate::{Entry, EntryId, Record};

/// In the order of the list. What follows a [`Effect::Write`] may happen only when that is durable.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// One append.
    Write(Vec<Record>),
    /// Seen at once.
    Show(Shown),
    /// Said to the agent.
    Tell(AgentInput),
    /// A person has to answer, unless a rule does.
    Ask(Ask),
    /// The files as they are now belong to this entry.
    Checkpoint { at: EntryId },
    /// The turn is over and the agent is free for another. It comes once, and nothing comes after it.
    Close(End),
}

/// What is seen before it is safe, or never kept.
#[derive(Clone, Debug, PartialEq)]
pub enum Shown {
    /// An entry as far as it is known: begun, or grown by more than words. A draft of it should be kept.
    Entry(Box<Entry>),
    /// More words at the end of an entry that was shown.
    Words {
        entry: EntryId,
        text: String,
    },
    Thinking {
        entry: EntryId,
        text: String,
    },
    Notice(String),
    /// The agent has the answer.
    Confirmed(AskId),
    NoLongerAsked(AskId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// The answer or the number of steps was limited.
    Limit,
    Interrupted,
    /// The session waits for input; this is what to tell the person.
    Failed(String),
}
