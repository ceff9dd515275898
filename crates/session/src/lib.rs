//! The pure model of a conversation tree. It does no IO, reads no clock and makes no ids: the same records
//! always give the same tree, and every decision is a function from a tree to a [`plan::Plan`].
//!
//! | idea | module |
//! |---|---|
//! | what is written: records, entries, marks | [`record`], [`entry`] |
//! | the fold of records: tree, path, heads | [`tree`] |
//! | which settings hold at a point | [`in_force`] |
//! | what the model reads at a point | [`context`], [`tokens`], [`render`] |
//! | making a long path short | [`compaction`], [`branch_summary`] |
//! | versions of a prompt, left and right | [`versions`] |
//! | which messages can be edited, and which were | [`edited`] |
//! | what a person wants to happen | [`plan`] |
//! | what a script says, a plain list of messages | [`said`], [`flat`] |
//! | what passes between us and an agent, and a turn as it happens | [`agent`], [`turn`], [`handoff`] |
//! | what agents ask, what waits, what may be done meanwhile | [`asks`], [`queue`], [`guard`], [`status`] |
//! | the tree as rows to look at | [`outline`] |
//! | the shape without the words, for long sessions | [`skeleton`] |
//! | naming a point | [`address`] |
//! | the words on disk | [`mod@format`] |
//! | lines that are too long to be held | [`long_lines`] |
//! | JSON, quickly | [`quick_json`] |
//! | a session of another program with what was added here | [`foreign`] |
//! | sessions among each other | [`graph`], [`union`], [`about`], [`find`] |
//! | tokens and money | [`cost`] |

pub mod about;
pub mod address;
pub mod agent;
pub mod asks;
pub mod branch_summary;
pub mod compaction;
pub mod context;
pub mod cost;
pub mod edited;
pub mod entry;
pub mod file_name;
pub mod find;
pub mod flat;
pub mod foreign;
pub mod format;
pub mod graph;
pub mod guard;
pub mod handoff;
pub mod id;
pub mod image;
pub mod in_force;
pub mod lineage;
pub mod live;
pub mod long_lines;
pub mod oddity;
pub mod outline;
pub mod pending;
pub mod plan;
pub mod queue;
pub mod quick_json;
pub mod record;
pub mod render;
pub mod said;
pub mod skeleton;
pub mod stamps;
pub mod status;
pub mod sub_agents;
pub mod titles;
pub mod tokens;
pub mod tree;
pub mod turn;
pub mod union;
pub mod versions;
pub mod watch;
pub mod wrappers;

pub use entry::{
    Block, Body, BranchSummary, Compaction, ContextEdit, CustomMessage, Entry, FileLists, Foreign, ImageData,
    Interruption, Merge, Model, Note, Prompt, Reply, Setting, Shell, Signature, Stop, System, ToolResult,
    ToolUse, Usage, text_of,
};
pub use id::{
    AgentSessionId, EntryId, HeadName, MessageKey, OperationId, SessionId, TaskId, ToolCallId, TurnId,
};
pub use oddity::{Odd, Oddity};
pub use record::{
    BranchReason, Change, Fact, ForeignSource, HeadMove, Lineage, Mark, Missing, Provenance, RawLine, Record,
    SessionHeader, TitleSource,
};
pub use stamps::{ChosenIds, Stamps, is_uuid};
pub use tree::{Binding, Operation, Rejected, SessionTree};
pub use watch::Watch;
