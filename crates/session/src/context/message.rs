//! One message of a context.

use std::sync::Arc;

use crate::skeleton::Kind;
use crate::{Block, Body, Entry, Reply, ToolCallId};

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
}

impl Role {
    /// Of a message of which only the kind is known; `None` for what is never a message.
    pub fn of_kind(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Prompt => Some(Self::User),
            Kind::Reply => Some(Self::Assistant),
            Kind::ToolResult => Some(Self::ToolResult),
            Kind::Shell => Some(Self::Shell),
            Kind::CustomMessage | Kind::Merge => Some(Self::Custom),
            Kind::BranchSummary => Some(Self::BranchSummary),
            Kind::Compaction => Some(Self::CompactionSummary),
            Kind::System => Some(Self::System),
            _ => None,
        }
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
        Body::Interrupted(_)
        | Body::Setting(_)
        | Body::Note(_)
        | Body::Cleared
        | Body::ContextEdit(_)
        | Body::Foreign(_) => None,
    }
}
