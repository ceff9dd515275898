//! What became of the tools and of what the target has no place for.

use offshoot_session::EntryId;

use crate::lost::Losses;
use crate::{Loss, Lost};

/// Told beside every branch that is handed over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// One line per tool and fate, in the order they were met.
    pub tools: Vec<ToolFate>,
    pub left_out: Vec<Lost>,
    pub prompts: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFate {
    pub tool: String,
    pub fate: Fate,
    pub calls: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The target has the same tool.
    Kept,
    /// The target does it with this tool.
    Translated(String),
    /// Call and result are told in words.
    Summarised,
}

/// Counts while the branch is walked.
#[derive(Debug, Default)]
pub(super) struct Counting {
    tools: Vec<ToolFate>,
    losses: Losses,
    prompts: u64,
}

impl Counting {
    pub(super) fn tool(&mut self, tool: &str, fate: Fate) {
        match self.tools.iter_mut().find(|known| known.tool == tool && known.fate == fate) {
            Some(known) => known.calls += 1,
            None => self.tools.push(ToolFate { tool: tool.to_owned(), fate, calls: 1 }),
        }
    }

    pub(super) fn prompt(&mut self) {
        self.prompts += 1;
    }

    pub(super) fn left_out(&mut self, what: Loss, entry: &EntryId) {
        self.losses.add_at(what, entry);
    }

    pub(super) fn into_report(self) -> Report {
        Report { tools: self.tools, left_out: self.losses.into_list(), prompts: self.prompts }
    }
}
