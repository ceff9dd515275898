//! A branch made ready for another program: what was said, in an order that every model accepts.
//!
//! [`carried`] walks one path and returns steps. It decides everything that does not depend on how a program writes
//! its lines: each call stands with its result, calls are translated into the tools of the target or told in words
//! ([`tools`]), a compaction stands before the first message it kept, and what the target has no place for is counted
//! ([`Report`]). The writers of the formats only put steps into lines.
//!
//! An entry that was read from a line of the target itself is *own*: it is not translated, so that its writer can
//! give the line back as it was.

mod acts;
mod pairs;
mod patch_text;
mod report;
mod steps;
mod tools;
mod words;

use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::{Block, Entry, Lineage, SessionId, ToolCallId, ToolResult};

pub use report::{Fate, Report, ToolFate};
pub(crate) use steps::{Rules, carried};

/// A program that a branch can be continued in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    ClaudeCode,
    Codex,
    Pi,
}

/// The session of the target that a branch becomes.
#[derive(Clone, Debug)]
pub struct Destination {
    /// A UUID that no session has yet.
    pub id: SessionId,
    /// The folder in which it is continued.
    pub project: String,
    pub opened_at: Timestamp,
    /// Where it came from, for formats that tell.
    pub lineage: Option<Lineage>,
}

/// A file for the target, and what became of the branch on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct HandedOver {
    pub bytes: Vec<u8>,
    pub report: Report,
}

#[derive(Debug, Default)]
pub(crate) struct Carried<'t> {
    pub(crate) steps: Vec<Step<'t>>,
    pub(crate) report: Report,
}

#[derive(Debug)]
pub(crate) enum Step<'t> {
    Prompt {
        entry: &'t Arc<Entry>,
        blocks: Vec<Block>,
    },
    /// Words that the model reads and that are no prompt: commands, summaries of branches, words of extensions.
    Aside {
        entry: &'t Arc<Entry>,
        blocks: Vec<Block>,
    },
    Exchange(Exchange<'t>),
    Compaction {
        entry: &'t Arc<Entry>,
        summary: String,
        tokens_before: i64,
    },
    Interrupted(&'t Arc<Entry>),
    /// No words for a model; only lines of the target's own come here.
    Beside(&'t Arc<Entry>),
}

/// What the model said without a break, and the answers to all calls in it.
#[derive(Debug, Default)]
pub(crate) struct Exchange<'t> {
    pub(crate) said: Vec<Said<'t>>,
    pub(crate) answers: Vec<Answer<'t>>,
}

#[derive(Debug)]
pub(crate) struct Said<'t> {
    pub(crate) entry: &'t Arc<Entry>,
    /// Calls come last.
    pub(crate) blocks: Vec<Block>,
    /// Just what the entry says, so that its own line can stand for it.
    pub(crate) is_untouched: bool,
}

#[derive(Debug)]
pub(crate) struct Answer<'t> {
    pub(crate) entry: &'t Arc<Entry>,
    /// Under the name that the call has in the target.
    pub(crate) call: ToolCallId,
    pub(crate) tool: String,
    pub(crate) result: &'t ToolResult,
    pub(crate) is_untouched: bool,
}

impl Target {
    /// The word people use for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::Pi => "pi",
        }
    }

    /// What sessions that were held with it name as their agent.
    fn agent(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Pi => "pi",
        }
    }
}
