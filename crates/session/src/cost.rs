//! Tokens and money.

use crate::{Body, SessionTree, Usage};

/// Everything a session has used: all replies on all branches, each once, and what belongs to no reply.
pub fn usage_of(tree: &SessionTree) -> Usage {
    let replies = tree.entries().filter_map(|entry| match &entry.body {
        Body::Reply(reply) => reply.usage,
        _ => None,
    });
    replies.chain(tree.spent().copied()).fold(Usage::default(), |sum, usage| sum.plus(&usage))
}

impl Usage {
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            total: self.context_tokens().saturating_add(other.context_tokens()),
            cost_micros: self.cost_micros.saturating_add(other.cost_micros),
        }
    }
}
