//! What shall happen because of what an agent reported.

use std::time::Duration;

use crate::agent::{AgentFailure, AgentInput};
use crate::asks::{Ask, AskId};
use crate::{Entry, EntryId, Record};

/// In the order of the list. What follows a [`Effect::Write`] may happen only when that is durable.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// One append.
    Write(Vec<Record>),
    /// The next `Write` has an entry that replaces live text which was shown under another id.
    Replace { live: EntryId, entry: EntryId },
    /// Seen at once.
    Show(Shown),
    /// Sent to the agent.
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
    /// An entry as far as it is known: begun, grown by another block, or moved below another entry. A draft of it should
    /// be kept.
    Entry(Box<Entry>),
    /// More text at the end of an entry that was shown.
    Words {
        entry: EntryId,
        text: String,
    },
    Thinking {
        entry: EntryId,
        text: String,
    },
    /// What was shown of this entry is void. It has no blocks left.
    Discarded(Box<Entry>),
    Retrying {
        attempt: u32,
        of: u32,
        wait: Duration,
        cause: AgentFailure,
    },
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
    Failed(AgentFailure),
}
