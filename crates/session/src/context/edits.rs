//! Context edits: what the model reads instead of an earlier entry.
//!
//! ```text
//! u1 - a1 - e1(a1: none) - a2     below e1 the model reads u1 a2
//!      a1 - u2                    here it still reads u1 a1 u2
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Block, Body, ContextEdit, Entry, EntryId};

/// The edits in force at the end of a path. Of several edits of one entry the latest wins.
#[derive(Clone, Debug, Default)]
pub struct Edits<'p>(HashMap<&'p EntryId, Option<&'p [Block]>>);

impl<'p> Edits<'p> {
    pub fn of<'a: 'p>(path: impl IntoIterator<Item = &'a Arc<Entry>>) -> Self {
        let edits = path.into_iter().filter_map(|entry| match &entry.body {
            Body::ContextEdit(ContextEdit { target, replacement }) => Some((target, replacement.as_deref())),
            _ => None,
        });
        Self(edits.collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn touches(&self, id: &EntryId) -> bool {
        self.0.contains_key(id)
    }

    pub fn omits(&self, id: &EntryId) -> bool {
        self.0.get(id).is_some_and(Option::is_none)
    }

    /// The entry as the model reads it; `None` if it is omitted.
    pub fn apply(&self, entry: &Arc<Entry>) -> Option<Arc<Entry>> {
        match self.0.get(&entry.id) {
            None => Some(entry.clone()),
            Some(None) => None,
            Some(Some(blocks)) => Some(with_blocks(entry, blocks)),
        }
    }

    /// The path with replaced messages. Omitted ones stay in their places, so that other entries can name them.
    pub fn replaced(&self, path: &[&Arc<Entry>]) -> Vec<Arc<Entry>> {
        path.iter().map(|entry| self.apply(entry).unwrap_or_else(|| (*entry).clone())).collect()
    }
}

/// Only messages made of blocks can be replaced; pi leaves any other kind unchanged too.
fn with_blocks(entry: &Arc<Entry>, replacement: &[Block]) -> Arc<Entry> {
    let mut edited = entry.clone();
    let blocks = match &mut Arc::make_mut(&mut edited).body {
        Body::Prompt(prompt) => &mut prompt.blocks,
        Body::Reply(reply) => {
            reply.signatures.clear(); // they are of other blocks
            &mut reply.blocks
        }
        Body::ToolResult(result) => &mut result.blocks,
        Body::CustomMessage(message) => &mut message.blocks,
        Body::Shell(_)
        | Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Setting(_)
        | Body::Merge(_)
        | Body::Note(_)
        | Body::System(_)
        | Body::Cleared
        | Body::ContextEdit(_)
        | Body::Foreign(_) => return entry.clone(),
    };
    *blocks = replacement.to_vec();
    edited
}
