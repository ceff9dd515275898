//! What was said on a branch, as far as this agent remembers it.

use std::sync::Arc;

use offshoot_session::{Body, Entry};

/// The prompts of a branch, root first, and how much was said in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    pub prompts: Vec<String>,
    pub characters: usize,
}

impl Heard {
    /// From the entries of a branch. What a compaction or clearing took away is forgotten.
    pub fn of(path: impl IntoIterator<Item = Arc<Entry>>) -> Self {
        let mut heard = Self::default();
        for entry in path {
            match &entry.body {
                Body::Prompt(_) => heard.take_prompt(&entry.body.text()),
                Body::Cleared | Body::Compaction(_) => heard = Self::default(),
                Body::Reply(_) => heard.characters += entry.body.text().chars().count(),
                Body::ToolResult(_)
                | Body::Shell(_)
                | Body::Interrupted(_)
                | Body::BranchSummary(_)
                | Body::Setting(_)
                | Body::Merge(_)
                | Body::CustomMessage(_)
                | Body::Note(_)
                | Body::System(_)
                | Body::ContextEdit(_)
                | Body::Foreign(_) => {}
            }
        }
        heard
    }

    pub fn take_prompt(&mut self, text: &str) {
        self.characters += text.chars().count();
        self.prompts.push(text.to_owned());
    }

    /// About as many tokens.
    pub fn tokens(&self) -> i64 {
        i64::try_from(self.characters / 4).unwrap_or(i64::MAX)
    }
}
