//! What comes back. An answer is given when what was asked for is durable.

use serde::{Deserialize, Serialize};

use crate::event::TurnEnd;
use crate::views::{
    AgentView, BoundView, BranchView, EngineView, FileChangeView, HeadView, OperationView, PlaceView,
    QueuedView, RuleView, SessionBrief, SessionRow, SessionView, StatusRow, TreeRow, VersionBrief,
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
    Changed(Box<Changed>),
    RewindPreview(Box<RewindPreview>),
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

/// What a change did. Every change answers with one of these, and all that a front end prints about it is in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changed {
    pub session: SessionBrief,
    /// The last event that it caused: a client that has heard this one has seen the change.
    pub seq: u64,
    /// Whether anything is different now.
    pub changed: bool,
    /// The same request was answered before; this is what it did then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub repeated: bool,
    /// The step that was taken, undone or redone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationView>,
    pub head: HeadView,
    pub head_before: HeadView,
    /// What the change is about: the new prompt, the entry that was labelled, the beginning of the branch, the version shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<PlaceView>,
    /// Which version of its prompt is shown now, or was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionBrief>,
    /// Entries that were written, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<String>,
    /// The prompt that was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The turn that began with it; absent while it waits in the queue, or where nobody was asked to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    /// Where the message waits in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queued: Option<String>,
    /// How the turn ended, where it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<TurnEnd>,
    /// The text of a prompt that was picked, to be edited and sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// The session that began with the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_session: Option<SessionBrief>,
    /// Where its head is; absent before its first entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_head: Option<String>,
    /// The session that an undo removed from the list, or a redo brought back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other_session: Option<SessionBrief>,
    /// Turns on the old way to the head that the new one does not have, after a rewind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turns_left_behind: Option<usize>,
    /// The agent that was resumed there, after a rewind with `source` `agent`; absent where it begins a session there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumed: Option<BoundView>,
    /// The agent's own session of the branch; `null` where it has none, as where it does not know what was appended.
    pub agent_session: Option<String>,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<Notice>,
}

/// Something worth knowing. Front ends have sentences of their own for the codes they know.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notice {
    pub code: String,
    pub message: String,
}

impl Notice {
    /// A torn end of the journal was set aside before the change was written.
    pub const REPAIRED: &'static str = "repaired";
    /// The other session of a step does not know of it.
    pub const OTHER_SIDE: &'static str = "other_side";

    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }
}

impl Changed {
    /// Where the conversation continues: in the session that was changed, or in the one that began.
    pub fn continues_in(&self) -> &str {
        &self.new_session.as_ref().unwrap_or(&self.session).id
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindPreview {
    #[serde(default)]
    pub session: SessionBrief,
    pub can_rewind: bool,
    /// The head as it is, and as it would be.
    #[serde(default)]
    pub head_before: HeadView,
    #[serde(default)]
    pub head: HeadView,
    /// The turn that would be rewound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<PlaceView>,
    /// The text of its prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub turns_left_behind: usize,
    #[serde(default)]
    pub files: Vec<FileChangeView>,
    pub insertions: usize,
    pub deletions: usize,
}
