//! Tokens and money.

use crate::{Body, SessionTree, Usage};

/// Everything a session has used: all replies on all branches, each once, and what belongs to no reply.
pub fn usage_of(tree: &SessionTree) -> Usage {
    let replies = tree.entries().filter_map(|entry| match &entry.body {
        Body::Reply(reply) => reply.usage,
        _ => None,
    });
    replies.chain(tree.spent().iter().copied()).fold(Usage::default(), |sum, usage| sum.plus(&usage))
}

impl Usage {
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            total: self.context_tokens() + other.context_tokens(),
            cost_micros: self.cost_micros + other.cost_micros,
        }
    }
}
