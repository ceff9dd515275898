//! What a person or a model sees at one place, read from the lines it needs.

use std::sync::Arc;

use offshoot_session::context::{Context, ContextOptions, Message, View, context_below, context_under};
use offshoot_session::skeleton::Kind;
use offshoot_session::{Body, Entry, EntryId};

use super::{LazyError, LazySession};

impl LazySession {
    /// The number of an entry; `None` asks for where the main head stands.
    pub fn node_at(&self, at: Option<&EntryId>) -> Result<Option<u32>, LazyError> {
        match at {
            None => Ok(self.skeleton.main_head()),
            Some(id) => self.skeleton.node(id).map(Some).ok_or_else(|| LazyError::NotFound(id.clone())),
        }
    }

    /// The ids on the way to a place, root first.
    pub fn path_ids(&self, at: Option<&EntryId>) -> Result<Vec<EntryId>, LazyError> {
        let path = self.skeleton.path_to(self.node_at(at)?);
        Ok(path.into_iter().filter_map(|node| self.skeleton.id(node)).collect())
    }

    /// The last messages on the way to a place, oldest first, each complete.
    pub fn last_messages(&mut self, at: Option<&EntryId>, count: usize) -> Result<Vec<Message>, LazyError> {
        self.once_more(|session| {
            let from = session.node_at(at)?;
            let mut above = session.skeleton.ancestors(from);
            let mut messages: Vec<Message> = Vec::with_capacity(count.min(1024));
            while messages.len() < count {
                let speaks = |node: &u32| session.skeleton.kind(*node).is_some_and(Kind::may_speak);
                let mut nodes: Vec<u32> =
                    above.by_ref().filter(speaks).take(count - messages.len()).collect();
                if nodes.is_empty() {
                    break;
                }
                nodes.reverse();
                let entries = session.entries(&nodes)?;
                messages.extend(entries.iter().rev().filter_map(Message::from_entry));
            }
            messages.reverse();
            Ok(messages)
        })
    }

    /// What the model reads at a place. It costs what is read, not how long the session is.
    pub fn context_at(
        &mut self,
        at: Option<&EntryId>,
        options: &ContextOptions,
    ) -> Result<Context, LazyError> {
        self.once_more(|session| session.context(session.node_at(at)?, options))
    }

    /// Whatever is found at odds with the skeleton may only be a stale index: then the file itself is asked.
    pub(super) fn once_more<T>(
        &mut self,
        look: impl Fn(&Self) -> Result<T, LazyError>,
    ) -> Result<T, LazyError> {
        match look(self) {
            Err(LazyError::Changed { .. }) => {
                self.read_again()?;
                look(self)
            }
            result => result,
        }
    }

    fn context(&self, leaf: Option<u32>, options: &ContextOptions) -> Result<Context, LazyError> {
        let header = self.skeleton.header();
        let Some(leaf) = leaf else { return Ok(context_under(header, &[], options)) };
        let start = match options.view {
            View::Model | View::Transcript { collapse_compacted: true } => self.start_of_context(leaf)?,
            View::Transcript { collapse_compacted: false } => None,
        };
        let above = start.and_then(|start| self.skeleton.parent(start));
        let still_read = |node: &u32| Some(*node) != above;
        let mut nodes: Vec<u32> = self.skeleton.ancestors(Some(leaf)).take_while(still_read).collect();
        nodes.reverse();
        let read = self.entries(&nodes)?;
        let before = self.in_force_above(above, &read)?;
        let (before, path): (Vec<&Arc<Entry>>, Vec<&Arc<Entry>>) =
            (before.iter().collect(), read.iter().collect());
        Ok(context_below(header, &before, &path, options))
    }

    /// The first entry that counts, or the boundary where it keeps nothing. `None`: all of the path counts.
    fn start_of_context(&self, leaf: u32) -> Result<Option<u32>, LazyError> {
        let Some(boundary) = self.skeleton.boundary(leaf) else { return Ok(None) };
        if self.skeleton.kind(boundary) != Some(Kind::Compaction) {
            return Ok(Some(boundary));
        }
        let entry = self.entry(boundary)?;
        let Body::Compaction(compaction) = &entry.body else { return Err(self.changed()) };
        let kept = compaction.first_kept.as_ref().and_then(|id| self.skeleton.node(id));
        Ok(Some(kept.filter(|kept| self.is_kept(*kept, boundary)).unwrap_or(boundary)))
    }

    /// Whether an entry lies above a compaction with no clearing between.
    fn is_kept(&self, kept: u32, compaction: u32) -> bool {
        let depth = self.skeleton.depth(kept);
        let parent = self.skeleton.parent(compaction);
        for node in self.skeleton.ancestors(parent) {
            if self.skeleton.depth(node) < depth || self.skeleton.kind(node) == Some(Kind::Cleared) {
                return false;
            }
            if node == kept {
                return true;
            }
        }
        false
    }

    /// What still holds from the part of the path that is not read: the latest setting of each kind, and the
    /// latest reply that names its model where no later one does.
    fn in_force_above(&self, above: Option<u32>, read: &[Arc<Entry>]) -> Result<Vec<Arc<Entry>>, LazyError> {
        let mut nodes = Vec::new();
        let mut seen = [false; 256];
        let mut setting = above.and_then(|above| self.skeleton.setting(above));
        while let Some(node) = setting {
            let Some(kind) = self.skeleton.kind(node) else { break };
            let is_new = seen.get_mut(kind as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            if is_new || kind == Kind::RoleModelSetting {
                nodes.push(node);
            }
            setting = self.skeleton.parent(node).and_then(|parent| self.skeleton.setting(parent));
        }
        if !read.iter().any(|entry| names_model(entry)) {
            let replies = self.skeleton.ancestors(above);
            for node in replies.filter(|node| self.skeleton.kind(*node) == Some(Kind::Reply)) {
                if names_model(self.entry(node)?.as_ref()) {
                    nodes.push(node);
                    break;
                }
            }
        }
        nodes.sort_unstable_by_key(|node| self.skeleton.depth(*node));
        self.entries(&nodes)
    }
}

fn names_model(entry: &Entry) -> bool {
    matches!(&entry.body, Body::Reply(reply) if reply.model.is_some())
}
