//! The session as a tree that can be asked anything, with the words of some entries.

use std::collections::{BTreeSet, HashMap};

use offshoot_session::SessionTree;
use offshoot_session::skeleton::Kind;

use super::{LazyError, LazySession};

impl LazySession {
    /// The shape alone: enough to find out which entries to look at.
    pub fn hollow_tree(&self) -> SessionTree {
        SessionTree::thin(&self.skeleton, 0..self.skeleton.len() as u32, &HashMap::new())
    }

    /// The shape, and what some of the entries say.
    pub fn tree_with(&self, read: &[u32]) -> Result<SessionTree, LazyError> {
        let entries = read.iter().copied().zip(self.entries(read)?).collect();
        Ok(SessionTree::thin(&self.skeleton, 0..self.skeleton.len() as u32, &entries))
    }

    /// These entries and those that are read, with all versions of their prompts, and where the main head stands.
    /// What is above them is missing, and their parents are known only by name.
    pub fn part(&self, entries: &[u32], read: &[u32]) -> Result<SessionTree, LazyError> {
        let skeleton = &self.skeleton;
        let is_prompt = |node: &u32| skeleton.kind(*node) == Some(Kind::Prompt);
        let mut nodes: BTreeSet<u32> = entries.iter().chain(read).copied().collect();
        let prompts: Vec<u32> = nodes.iter().copied().filter(is_prompt).collect();
        for prompt in prompts {
            nodes.extend(skeleton.slot_around(prompt));
        }
        // A session in which something was said does not look empty.
        nodes.extend(skeleton.main_head().or((!skeleton.is_empty()).then_some(0)));
        let words = read.iter().copied().zip(self.entries(read)?).collect();
        Ok(SessionTree::thin(skeleton, nodes, &words))
    }
}
