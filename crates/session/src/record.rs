//! What a journal is made of. A record once appended is never changed; the state of a session is the fold of
//! its records ([`crate::SessionTree::replay`]).
//!
//! Nodes and moves are different records. Only [`Change::Entry`] makes a node; moving a head, labelling, naming
//! or undoing never disturbs a path.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::{AgentSessionId, Entry, EntryId, HeadName, Model, OperationId, SessionId, TurnId};

#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub change: Change,
    /// The step it belongs to, which undo takes back as a whole.
    pub operation: Option<OperationId>,
    /// The exact line of the file it was read from, so that nothing of it is ever lost.
    pub source: Option<RawLine>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// In a box: it is several times as large as what most records say.
    Opened(Box<SessionHeader>),
    Entry(Arc<Entry>),
    HeadMoved(HeadMove),
    Marked(Mark),
    /// A line that says nothing we understand; `source` keeps it byte for byte.
    Unknown,
}

#[derive(Clone, Debug, PartialEq)]
pub struct SessionHeader {
    pub id: SessionId,
    pub opened_at: Timestamp,
    /// The folder the conversation is about.
    pub project: Option<String>,
    /// The program the session was first held with.
    pub agent: Option<String>,
    /// The model at the start, where the format says it once for the whole file.
    pub model: Option<Model>,
    pub lineage: Option<Lineage>,
    /// The session of another program that this one begins with. It stays where it is; here is only what is new.
    pub foreign: Option<Box<ForeignSource>>,
}

/// A session of another program, as it was when it was first changed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignSource {
    /// As the program names itself.
    pub agent: String,
    /// The id that the program gave it.
    pub session: String,
    /// Where it lay; in a database, as if that were a folder.
    pub path: String,
    /// How many bytes it had.
    pub length: u64,
    /// The BLAKE3 hash of these bytes: a file that begins with them has only grown.
    pub hash: String,
}

/// Where a session came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Lineage {
    /// Id or file of the parent, as the child names it.
    pub parent: String,
    /// Last entry shared with the parent.
    pub at: Option<EntryId>,
    /// The same point as an index of messages, where the format counts them.
    pub message_index: Option<u64>,
    pub reason: Option<BranchReason>,
    pub metadata: Option<Value>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchReason {
    ConfigChange,
    MessageEdit,
    Retry,
    Fork,
    Other(String),
}

impl BranchReason {
    /// The reason that journals and the wire call so.
    pub fn named(word: &str) -> Self {
        match word {
            "config_change" => Self::ConfigChange,
            "message_edit" => Self::MessageEdit,
            "retry" => Self::Retry,
            "fork" => Self::Fork,
            other => Self::Other(other.to_owned()),
        }
    }

    /// As journals and the wire call it.
    pub fn word(&self) -> &str {
        match self {
            Self::ConfigChange => "config_change",
            Self::MessageEdit => "message_edit",
            Self::Retry => "retry",
            Self::Fork => "fork",
            Self::Other(word) => word,
        }
    }
}

/// A head goes from one point to another; `None` is before the first entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeadMove {
    pub head: HeadName,
    pub moved_at: Timestamp,
    /// Where the writer believed the head to be: a writer that is behind cannot move it.
    pub from: Option<EntryId>,
    pub to: Option<EntryId>,
}

/// A fact about the session or one of its entries. The latest of a kind wins.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Formats that give their facts ids share one namespace with the entries.
    pub id: Option<EntryId>,
    pub marked_at: Timestamp,
    pub fact: Fact,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// `None` or blank clears it.
    Label {
        target: EntryId,
        label: Option<String>,
    },
    /// `None` or blank clears it. What a person wrote is never replaced by an automatic title.
    Title {
        title: Option<String>,
        source: TitleSource,
    },
    /// Names the branch that runs through `at`.
    BranchName {
        at: EntryId,
        name: Option<String>,
    },
    /// The files at this entry are kept under this name.
    Checkpoint {
        at: EntryId,
        snapshot: String,
    },
    /// The agent's own session for the branch that runs through `at`.
    Bound {
        at: EntryId,
        agent_session: Option<AgentSessionId>,
        provenance: Provenance,
        /// What the agent itself calls the last message it knows of the branch: where it can be asked to fork.
        last_message: Option<String>,
        /// Whose session it is: nobody need have named an agent on the way to it.
        agent: Option<String>,
        /// What the agent was not told of the branch.
        missing: Missing,
        /// It was made in the session that this one came from. The agent may have gone on there, so its session can be
        /// forked from here and is never continued.
        inherited: bool,
        /// The model that the agent says it uses, by the name under which it can be chosen again. Replies name it without
        /// its variants.
        model: Option<Model>,
    },
    /// A prompt was sent to its agent again, or an entry that it had not seen was sent before a prompt, under another id of
    /// the agent's. Both are the same entry.
    Delivered {
        prompt: EntryId,
        delivered_as: EntryId,
    },
    TurnEnded {
        turn: TurnId,
    },
    /// Hidden from lists, still there.
    Archived {
        target: EntryId,
        archived: bool,
    },
    /// Tokens and money that belong to no reply.
    Spent {
        usage: crate::Usage,
        /// `None` where it is not known, or where the sum is of several.
        model: Option<Model>,
    },
    /// What the step is called, for the list of steps.
    Operation {
        name: String,
    },
    /// The step by which the session itself came to be: undone, it is not there. A journal that does not say it, as
    /// those of other writers, is always there.
    Began {
        name: String,
    },
    /// Another session began with a part of this one. Its own beginning belongs to the same step.
    Forked {
        session: SessionId,
    },
    Undone {
        operation: OperationId,
    },
    Redone {
        operation: OperationId,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitleSource {
    User,
    Auto,
}

/// How the agent came to know the branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    Continued,
    ForkedAtMessage,
    RebuiltTranscript,
    /// The agent was given the branch as text.
    ReplayedContext,
}

/// What an agent was not told of a branch, counted, for the person to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Missing {
    pub tool_results: usize,
    pub thoughts: usize,
    pub images: usize,
    /// Turns that a compaction or clearing took out of the context, here as anywhere.
    pub forgotten: usize,
}

impl Missing {
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// One line of a file with its ending, exactly as it was.
#[derive(Clone, PartialEq, Eq)]
pub struct RawLine(Arc<[u8]>);

impl Record {
    pub fn new(change: Change) -> Self {
        Self { change, operation: None, source: None }
    }

    pub fn opened(header: SessionHeader) -> Self {
        Self::new(Change::Opened(Box::new(header)))
    }

    pub fn entry(entry: Entry) -> Self {
        Self::new(Change::Entry(Arc::new(entry)))
    }

    pub fn head_moved(head_move: HeadMove) -> Self {
        Self::new(Change::HeadMoved(head_move))
    }

    pub fn marked(marked_at: Timestamp, fact: Fact) -> Self {
        Self::new(Change::Marked(Mark { id: None, marked_at, fact }))
    }

    pub fn unknown(source: RawLine) -> Self {
        Self::new(Change::Unknown).from_line(source)
    }

    pub fn in_operation(mut self, operation: OperationId) -> Self {
        self.operation = Some(operation);
        self
    }

    pub fn from_line(mut self, source: RawLine) -> Self {
        self.source = Some(source);
        self
    }

    pub fn as_entry(&self) -> Option<&Entry> {
        match &self.change {
            Change::Entry(entry) => Some(entry),
            Change::Opened(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
        }
    }
}

impl SessionHeader {
    pub fn new(id: SessionId, opened_at: Timestamp) -> Self {
        Self { id, opened_at, project: None, agent: None, model: None, lineage: None, foreign: None }
    }
}

impl RawLine {
    pub fn new(bytes: impl Into<Arc<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// All bytes, the line ending included.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes before the line ending (`\n` or `\r\n`).
    pub fn content(&self) -> &[u8] {
        let bytes = self.0.strip_suffix(b"\n").unwrap_or(&self.0);
        bytes.strip_suffix(b"\r").unwrap_or(bytes)
    }

    pub fn is_complete(&self) -> bool {
        self.0.ends_with(b"\n")
    }
}

impl fmt::Debug for RawLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawLine({})", String::from_utf8_lossy(self.content()))
    }
}
