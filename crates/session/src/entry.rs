//! The nodes of the tree, in one vocabulary for every agent.
//!
//! An entry is immutable. What the source program wrote beyond this vocabulary is not lost: the record that
//! brought the entry keeps its line ([`crate::Record::source`]).

use jiff::Timestamp;
use serde_json::Value;

use crate::{EntryId, ToolCallId, TurnId};

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub id: EntryId,
    /// `None` begins a tree of its own; a session may have several roots.
    pub parent: Option<EntryId>,
    pub written_at: Timestamp,
    /// The turn that wrote it. A head that stands on a turn's tip follows the turn.
    pub turn: Option<TurnId>,
    pub body: Body,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    Prompt(Prompt),
    Reply(Reply),
    ToolResult(ToolResult),
    /// A command the person ran beside the agent; the agent is told of it unless it is private.
    Shell(Shell),
    /// The reply above was cut off.
    Interrupted(Interruption),
    BranchSummary(BranchSummary),
    Compaction(Compaction),
    Setting(Setting),
    /// What another branch brought in. The path follows `parent` only; `from` remembers the other side.
    Merge(Merge),
    /// Words put into the conversation by an extension; the model reads them.
    CustomMessage(CustomMessage),
    /// State of an extension; the model does not read it.
    Note(Note),
    /// Instructions that the program gave the model.
    System(System),
    /// The model forgets everything above.
    Cleared,
    /// The model reads an earlier entry differently, or not at all.
    ContextEdit(ContextEdit),
    /// A kind of entry this version does not know. It keeps its place in the tree.
    Foreign(Foreign),
}

/// Why an answer stops in the middle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Interruption {
    /// Somebody wanted it to stop. Of other programs' sessions more is not known.
    #[default]
    Wanted,
    /// The program that wrote it stopped.
    Crash,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prompt {
    pub blocks: Vec<Block>,
    /// Names of files that travel with the prompt.
    pub attachments: Vec<String>,
    /// When it was said, where that is known apart from when it was written.
    pub said_at: Option<Timestamp>,
}

impl Prompt {
    /// Whether both ask the same, whenever they were sent.
    pub fn says_the_same(&self, other: &Self) -> bool {
        self.blocks == other.blocks && self.attachments == other.attachments
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    pub blocks: Vec<Block>,
    pub model: Option<Model>,
    pub usage: Option<Usage>,
    pub stop: Option<Stop>,
    /// When the agent began to speak; it is written when it has ended.
    pub said_at: Option<Timestamp>,
    /// What the model needs to read its own thinking again. Only the model that answered accepts them.
    pub signatures: Vec<Signature>,
}

/// The provider's opaque data for one block of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Index of the block.
    pub block: u32,
    pub data: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    pub call: ToolCallId,
    pub tool: String,
    pub blocks: Vec<Block>,
    pub failed: bool,
    /// What the tool itself used of a model. Boxed, because most results have none.
    pub usage: Option<Box<Usage>>,
    /// What the tool was given, where a person changed what the agent had asked for: transcripts of agents lack it. Boxed,
    /// because most results have none.
    pub changed_input: Option<Box<Value>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shell {
    pub command: String,
    pub output: String,
    pub exit_code: Option<i64>,
    pub cancelled: bool,
    /// Where the whole output lies when `output` is only its end.
    pub full_output: Option<String>,
    /// Kept from the model.
    pub private: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BranchSummary {
    pub summary: String,
    /// The point the head went to; `None` is before the first entry.
    pub from: Option<EntryId>,
    /// The tip that was left, where it is known.
    pub left: Option<EntryId>,
    pub files: FileLists,
    /// What an extension attached.
    pub details: Option<Value>,
    pub from_extension: bool,
    /// What writing the summary used.
    pub usage: Option<Box<Usage>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Compaction {
    pub summary: String,
    /// The first entry that stays word for word. Unknown, absent or the compaction itself: nothing stays.
    pub first_kept: Option<EntryId>,
    pub tokens_before: i64,
    pub files: FileLists,
    pub details: Option<Value>,
    pub from_extension: bool,
    /// What writing the summary used.
    pub usage: Option<Box<Usage>>,
    /// The instructions in force here. The model reads them instead of those among the kept entries.
    pub system: Option<Box<str>>,
}

/// Changes what the model reads of an earlier entry on the path. The entry itself stays as it was written, and a
/// branch from above the edit reads it unchanged.
#[derive(Clone, Debug, PartialEq)]
pub struct ContextEdit {
    pub target: EntryId,
    /// What the model reads instead; `None` omits the entry.
    pub replacement: Option<Vec<Block>>,
}

/// Files touched by what a summary stands for, so that the next summary can carry them on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLists {
    pub read: Vec<String>,
    pub modified: Vec<String>,
}

/// A change of how the agent runs, in force below this point of the path.
#[derive(Clone, Debug, PartialEq)]
pub enum Setting {
    Agent(String),
    /// `role` names a second model beside the usual one (`None`).
    Model {
        role: Option<String>,
        model: Model,
    },
    /// `None` leaves the choice to the agent.
    Thinking(Option<String>),
    Tools(Vec<String>),
    PermissionMode(String),
    Mode {
        mode: String,
        data: Option<Value>,
    },
    ServiceTier(Option<String>),
    /// A change known only as data, such as the endpoint of a file of the older linear kind.
    Config(Value),
}

impl Setting {
    /// Whether the later of two takes the place of the earlier one.
    pub fn is_same_kind(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Model { role: one, .. }, Self::Model { role: other, .. }) => one == other,
            _ => std::mem::discriminant(self) == std::mem::discriminant(other),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    pub from: EntryId,
    pub summary: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CustomMessage {
    pub kind: String,
    pub blocks: Vec<Block>,
    /// Shown to the person, not only to the model.
    pub display: bool,
    /// Who is said to have spoken.
    pub attribution: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    pub kind: String,
    pub data: Option<Value>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct System {
    pub text: String,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Foreign {
    /// What the source program calls it.
    pub kind: String,
    /// Words in it that a person may look for.
    pub text: Option<String>,
}

/// A piece of what somebody said.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    Text(String),
    Thinking(String),
    Image {
        media_type: String,
        data: ImageData,
    },
    ToolUse(ToolUse),
    /// A kind of block this version does not know.
    Other {
        kind: String,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageData {
    /// Base64, as agents write it.
    Inline(String),
    /// Kept elsewhere under this name.
    Blob(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    pub id: ToolCallId,
    pub name: String,
    pub input: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Model {
    pub provider: String,
    pub name: String,
}

/// Signed, because corrections of earlier counts are usage too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    pub input: i64,
    pub output: i64,
    pub cache_read: i64,
    pub cache_write: i64,
    /// As the provider says it; zero means the sum of the others.
    pub total: i64,
    pub cost_micros: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    EndTurn,
    ToolUse,
    Length,
    Aborted,
    Error(String),
    Other(String),
}

impl Body {
    pub fn prompt(text: impl Into<String>) -> Self {
        Self::Prompt(Prompt { blocks: vec![Block::Text(text.into())], ..Prompt::default() })
    }

    pub fn reply(text: impl Into<String>) -> Self {
        Self::Reply(Reply { blocks: vec![Block::Text(text.into())], ..Reply::default() })
    }

    /// What was said, in blocks; empty where nobody speaks.
    pub fn blocks(&self) -> &[Block] {
        match self {
            Self::Prompt(prompt) => &prompt.blocks,
            Self::Reply(reply) => &reply.blocks,
            Self::ToolResult(result) => &result.blocks,
            Self::CustomMessage(message) => &message.blocks,
            Self::Shell(_)
            | Self::Interrupted(_)
            | Self::BranchSummary(_)
            | Self::Compaction(_)
            | Self::Setting(_)
            | Self::Merge(_)
            | Self::Note(_)
            | Self::System(_)
            | Self::Cleared
            | Self::ContextEdit(_)
            | Self::Foreign(_) => &[],
        }
    }

    /// The tokens and money that this entry reports.
    pub fn usage(&self) -> Option<&Usage> {
        match self {
            Self::Reply(reply) => reply.usage.as_ref(),
            Self::ToolResult(result) => result.usage.as_deref(),
            Self::BranchSummary(summary) => summary.usage.as_deref(),
            Self::Compaction(compaction) => compaction.usage.as_deref(),
            Self::Prompt(_)
            | Self::Shell(_)
            | Self::Interrupted(_)
            | Self::Setting(_)
            | Self::Merge(_)
            | Self::CustomMessage(_)
            | Self::Note(_)
            | Self::System(_)
            | Self::Cleared
            | Self::ContextEdit(_)
            | Self::Foreign(_) => None,
        }
    }

    /// The text a person reads first: words without thinking, tools and images.
    pub fn text(&self) -> String {
        match self {
            Self::Shell(shell) => shell.command.clone(),
            Self::BranchSummary(summary) => summary.summary.clone(),
            Self::Compaction(compaction) => compaction.summary.clone(),
            Self::Merge(merge) => merge.summary.clone().unwrap_or_default(),
            Self::System(system) => system.text.clone(),
            Self::Foreign(foreign) => foreign.text.clone().unwrap_or_default(),
            Self::Prompt(_)
            | Self::Reply(_)
            | Self::ToolResult(_)
            | Self::CustomMessage(_)
            | Self::Interrupted(_)
            | Self::Setting(_)
            | Self::Note(_)
            | Self::Cleared => text_of(self.blocks()),
            Self::ContextEdit(edit) => text_of(edit.replacement.as_deref().unwrap_or_default()),
        }
    }

    pub fn is_prompt(&self) -> bool {
        matches!(self, Self::Prompt(_))
    }
}

impl Note {
    /// Begins the tree of an agent that another agent started; `data` says by which call.
    pub const SUB_AGENT: &'static str = "subagent";
}

impl Reply {
    pub fn tool_uses(&self) -> impl Iterator<Item = &ToolUse> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolUse(tool_use) => Some(tool_use),
            Block::Text(_) | Block::Thinking(_) | Block::Image { .. } | Block::Other { .. } => None,
        })
    }

    /// Whether a person would see anything of it: words, thoughts, a call, or what went wrong.
    pub fn shows_something(&self) -> bool {
        let shows = |block: &Block| match block {
            Block::Text(text) | Block::Thinking(text) => !text.trim().is_empty(),
            Block::Image { .. } | Block::ToolUse(_) | Block::Other { .. } => true,
        };
        self.blocks.iter().any(shows) || matches!(self.stop, Some(Stop::Error(_)))
    }

    /// Cut off or failed, so not an answer.
    pub fn failed(&self) -> bool {
        matches!(self.stop, Some(Stop::Aborted | Stop::Error(_)))
    }
}

impl Usage {
    /// Tokens that stood in the context when this was counted.
    pub fn context_tokens(&self) -> i64 {
        if self.total != 0 {
            self.total
        } else {
            self.input + self.output + self.cache_read + self.cache_write
        }
    }
}

/// The words of some blocks, one after the other.
pub fn text_of(blocks: &[Block]) -> String {
    let mut text = String::new();
    for block in blocks {
        if let Block::Text(words) = block {
            text.push_str(words);
        }
    }
    text
}
