//! What comes back. An answer is given when what was asked for is durable.

use serde::{Deserialize, Serialize};

use crate::event::TurnEnd;
use crate::views::{
    AgentView, BranchView, EngineView, FileChangeView, QueuedView, RuleView, SessionRow, SessionView,
    StatusRow, TreeRow,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Response {
    Hello(Hello),
    Engine(EngineView),
    Sessions {
        sessions: Vec<SessionRow>,
    },
    Agents {
        agents: Vec<AgentView>,
    },
    Status {
        rows: Vec<StatusRow>,
    },
    Session(Box<SessionView>),
    Branch(BranchView),
    Tree {
        rows: Vec<TreeRow>,
    },
    Sent(Sent),
    Moved(Moved),
    Appended(Appended),
    RewindPreview(RewindPreview),
    Queue {
        queue: Vec<QueuedView>,
    },
    Permissions {
        rules: Vec<RuleView>,
    },
    /// It is done, and there is no more to say.
    Done {
        changed: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    pub program: String,
    pub version: String,
    /// Which version of this interface the engine speaks: [`crate::PROTOCOL`]. An engine that does not say speaks 0.
    #[serde(default)]
    pub protocol: u32,
    pub process: u32,
}

/// A prompt is on its way, or waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    pub session: String,
    /// `null` while it waits in the queue.
    pub prompt: Option<String>,
    pub turn: Option<String>,
    pub queued: Option<String>,
    /// The number of the version it is, and of how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<(usize, usize)>,
    /// How the turn ended, where the same message was said before and has been answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TurnEnd>,
}

/// The head is somewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The session in which it is: another one after a fork to a new session.
    pub session: String,
    pub from: Option<String>,
    pub to: Option<String>,
    /// Words that were picked, to be changed and said again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// The agent's own session of the branch; `null` where it has none.
    pub agent_session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<(usize, usize)>,
}

/// It is written, and the head stands upon the last of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Appended {
    pub session: String,
    /// Their ids, in the order in which they were said.
    pub entries: Vec<String>,
    /// The agent's own session of the branch; `null` where it has none, as where it has not heard what was appended.
    pub agent_session: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPreview {
    pub can_rewind: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub turns_left_behind: usize,
    #[serde(default)]
    pub files: Vec<FileChangeView>,
    pub insertions: usize,
    pub deletions: usize,
}
