//! What a person sees at one place, read from the lines it needs.

use offshoot_session::EntryId;
use offshoot_session::context::Message;
use offshoot_session::skeleton::Kind;

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
}
