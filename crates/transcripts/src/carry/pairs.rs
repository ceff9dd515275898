//! Which result answers which call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offshoot_session::{Body, Entry, ToolCallId};

/// By place on the path, and which call of the reply it is. An id that is used again names the latest call.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    answers: HashMap<(usize, usize), usize>,
    answering: HashSet<usize>,
}

impl Pairs {
    pub(super) fn of(path: &[&Arc<Entry>], speaks: impl Fn(usize) -> bool) -> Self {
        let mut pairs = Self::default();
        let mut open: HashMap<&ToolCallId, (usize, usize)> = HashMap::new();
        for (at, entry) in path.iter().enumerate().filter(|(at, _)| speaks(*at)) {
            match &entry.body {
                Body::Reply(reply) => {
                    open.extend(reply.tool_uses().enumerate().map(|(nth, call)| (&call.id, (at, nth))));
                }
                Body::ToolResult(result) => {
                    if let Some(called) = open.remove(&result.call) {
                        pairs.answers.insert(called, at);
                        pairs.answering.insert(at);
                    }
                }
                _ => {}
            }
        }
        pairs
    }

    /// Where the answer to the nth call of the reply at this place stands.
    pub(super) fn answer(&self, reply: usize, nth: usize) -> Option<usize> {
        self.answers.get(&(reply, nth)).copied()
    }

    pub(super) fn is_answer(&self, at: usize) -> bool {
        self.answering.contains(&at)
    }
}
