//! Bodies that name other entries, in files where facts have ids too: they must name entries and no facts.

use super::fold::entry_above;
use super::{Name, Skeleton, Told};
use crate::{Body, EntryId};

impl Skeleton {
    /// The body of this node, naming entries only.
    pub fn anchored(&self, mut body: Body, node: u32) -> Body {
        if self.passes.is_empty() {
            return body;
        }
        match &mut body {
            Body::Compaction(compaction) => {
                let kept = compaction.first_kept.as_ref().and_then(|id| self.log.names.find(id.as_str()));
                if let Some(kept) = kept.filter(|kept| self.passes.contains_key(kept)) {
                    compaction.first_kept = self.first_entry_below(kept, node).or_else(|| self.id(node));
                }
            }
            Body::BranchSummary(summary) => {
                let from = summary.from.as_ref().and_then(|id| self.log.names.find(id.as_str()));
                if from.is_some_and(|from| self.passes.contains_key(&from)) {
                    let above = entry_above(from, &self.passes);
                    summary.from = above.and_then(|name| self.text(name)).map(EntryId::from);
                }
            }
            _ => {}
        }
        body
    }

    /// The entry a node names as its parent, there or not.
    pub fn named_parent(&self, node: u32) -> Option<Name> {
        entry_above(self.envelope(node)?.parent(), &self.passes)
    }

    /// The line of this node names a fact as its parent, which is no entry.
    pub fn hangs_below_fact(&self, node: u32) -> bool {
        let parent = self.envelope(node).and_then(|envelope| envelope.parent());
        parent.is_some_and(|parent| self.passes.contains_key(&parent))
    }

    pub fn has_facts_in_chain(&self) -> bool {
        !self.passes.is_empty()
    }

    /// The entry on the way down from a fact to a node.
    fn first_entry_below(&self, fact: Name, node: u32) -> Option<EntryId> {
        let envelope = self.envelope(node)?;
        let (mut found, mut at) = (envelope.id, envelope.parent());
        for _ in 0..=self.nodes.len() + self.passes.len() {
            match at {
                Some(name) if name == fact => return self.text(found).map(EntryId::from),
                Some(name) => {
                    at = match self.passes.get(&name) {
                        Some(above) => *above,
                        None => {
                            found = name;
                            let node = self.node_of.get(name.0 as usize)?;
                            self.envelope(*node)?.parent()
                        }
                    };
                }
                None => return None,
            }
        }
        None
    }
}

impl Told {
    /// The nearest entry at or above a line of the chain.
    pub fn entry_above(&self, name: Option<Name>) -> Option<Name> {
        entry_above(name, &self.passes)
    }
}
