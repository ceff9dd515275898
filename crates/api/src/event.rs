//! What happens in a session.
//!
//! Events of a session are numbered without gaps, so whoever says what it saw last misses nothing. What is durable is
//! told after it is; words that are still coming are told at once, with the turn they belong to.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::views::{
    AnswerView, AskView, BoundView, ContextView, EntryView, HeadView, QueuedView, SpentView, StatusView,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub seq: u64,
    pub session: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// The call that started the sub-agent that this is about. Its turn is the one in which the call was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_agent: Option<String>,
    #[serde(with = "crate::views::time")]
    pub at: Timestamp,
    #[serde(flatten)]
    pub kind: EventKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// A node of the tree, for good.
    Entry {
        entry: EntryView,
        /// The live entry that it replaces, where that had another id: some agents name their entries themselves.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaces: Option<String>,
    },
    HeadMoved {
        head: HeadView,
    },
    Labelled {
        target: String,
        label: Option<String>,
    },
    Titled {
        title: Option<String>,
    },
    BranchNamed {
        target: String,
        name: Option<String>,
    },
    /// The agent's own session for the branch, and how it came to know it.
    Bound {
        prompt: String,
        #[serde(flatten)]
        bound: BoundView,
    },
    CheckpointTaken {
        target: String,
    },
    /// Another session began with a part of this one: `config_change` where the conversation goes on there, `fork` where it
    /// was copied.
    Branched {
        /// Its id.
        into: String,
        reason: String,
    },
    /// Steps were undone or done again: what is known of the tree has to be asked for anew.
    Rearranged,

    TurnStarted {
        prompt: String,
    },
    /// An entry as far as it is known. Without blocks: what was shown of it is void.
    Live {
        entry: EntryView,
    },
    Words {
        entry: String,
        text: String,
    },
    Thinking {
        entry: String,
        text: String,
    },
    /// A request to the model failed and is sent again. Shown until the next event of the turn.
    Retrying {
        attempt: u32,
        of: u32,
        wait_ms: u64,
        error: String,
    },
    TurnEnded {
        end: TurnEnd,
        /// What the turn has used, its sub-agents included; absent where nothing was counted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<SpentView>,
    },

    Asked {
        ask: AskView,
    },
    /// Somebody has answered; the agent has not confirmed it yet.
    Answered {
        ask: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<AnswerView>,
    },
    Confirmed {
        ask: String,
    },
    NoLongerAsked {
        ask: String,
    },

    Status {
        status: StatusView,
    },
    Queue {
        queue: Vec<QueuedView>,
    },
    /// How full the window of the model is on the branch of the head. Told when a turn of that branch ends.
    Measured {
        context: ContextView,
    },
    /// What an agent prints while it signs in: all of its lines so far.
    SignIn {
        agent: String,
        lines: Vec<String>,
        done: bool,
    },
    Notice {
        text: String,
    },
    /// A hook did not do its part.
    HookFailed {
        hook: String,
        message: String,
    },
    /// The session is closed; no more events come.
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum TurnEnd {
    Done,
    Limit,
    Interrupted,
    Failed {
        message: String,
        /// What can be done about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
}

impl From<&offshoot_session::turn::End> for TurnEnd {
    fn from(end: &offshoot_session::turn::End) -> Self {
        use offshoot_session::turn::End;
        match end {
            End::Done => Self::Done,
            End::Limit => Self::Limit,
            End::Interrupted => Self::Interrupted,
            End::Failed(failure) => {
                let hint = failure.kind.advice().map(str::to_owned);
                Self::Failed { message: failure.text.clone(), hint }
            }
        }
    }
}

impl EventKind {
    /// Whether it is only seen while it happens; all else can be read from the session later.
    pub fn is_live(&self) -> bool {
        match self {
            Self::Live { .. }
            | Self::Words { .. }
            | Self::Thinking { .. }
            | Self::Retrying { .. }
            | Self::Measured { .. }
            | Self::SignIn { .. }
            | Self::Notice { .. } => true,
            Self::Entry { .. }
            | Self::HeadMoved { .. }
            | Self::Labelled { .. }
            | Self::Titled { .. }
            | Self::BranchNamed { .. }
            | Self::Bound { .. }
            | Self::CheckpointTaken { .. }
            | Self::Branched { .. }
            | Self::Rearranged
            | Self::TurnStarted { .. }
            | Self::TurnEnded { .. }
            | Self::Asked { .. }
            | Self::Answered { .. }
            | Self::Confirmed { .. }
            | Self::NoLongerAsked { .. }
            | Self::Status { .. }
            | Self::Queue { .. }
            | Self::HookFailed { .. }
            | Self::Closed => false,
        }
    }
}
