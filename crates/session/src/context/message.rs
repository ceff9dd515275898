//! One message of a context.

use std::sync::Arc;

use crate::{Block, Body, Entry, Reply, ToolCallId, ToolResult};

/// One complete message of a context: an entry that speaks, less what the rules take out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub entry: Arc<Entry>,
    /// Tool calls left out because nothing answered them.
    pub stripped: Vec<ToolCallId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    ToolResult,
    Shell,
    Custom,
    BranchSummary,
    CompactionSummary,
    System,
}

impl Message {
    /// `None` where the entry says nothing to a model: settings, notes, marks of an interruption, a summary
    /// without words.
    pub fn from_entry(entry: &Arc<Entry>) -> Option<Self> {
        role_of(&entry.body).map(|_| Self { entry: entry.clone(), stripped: Vec::new() })
    }

    pub fn role(&self) -> Role {
        role_of(&self.entry.body).unwrap_or(Role::Custom)
    }

    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.entry.body.blocks().iter().filter(|block| match block {
            Block::ToolUse(tool_use) => !self.stripped.contains(&tool_use.id),
            Block::Text(_) | Block::Thinking(_) | Block::Image { .. } | Block::Other { .. } => true,
        })
    }

    pub fn text(&self) -> String {
        self.entry.body.text()
    }

    pub(crate) fn as_reply(&self) -> Option<&Reply> {
        if let Body::Reply(reply) = &self.entry.body { Some(reply) } else { None }
    }

    pub(crate) fn as_tool_result(&self) -> Option<&ToolResult> {
        if let Body::ToolResult(result) = &self.entry.body { Some(result) } else { None }
    }
}

fn role_of(body: &Body) -> Option<Role> {
    match body {
        Body::Prompt(_) => Some(Role::User),
        Body::Reply(_) => Some(Role::Assistant),
        Body::ToolResult(_) => Some(Role::ToolResult),
        Body::Shell(_) => Some(Role::Shell),
        Body::CustomMessage(_) => Some(Role::Custom),
        Body::Merge(merge) => {
            merge.summary.as_deref().filter(|summary| !summary.is_empty()).map(|_| Role::Custom)
        }
        Body::BranchSummary(summary) if summary.summary.is_empty() => None,
        Body::BranchSummary(_) => Some(Role::BranchSummary),
        Body::Compaction(_) => Some(Role::CompactionSummary),
        Body::System(_) => Some(Role::System),
        Body::Interrupted | Body::Setting(_) | Body::Note(_) | Body::Cleared | Body::Foreign(_) => None,
    }
}
