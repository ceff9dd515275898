//! Questions to a skeleton. They are those of [`crate::SessionTree`], asked by number.

use super::{Envelope, Kind, NONE, Name, Node, Skeleton};
use crate::{Binding, EntryId, HeadName, SessionHeader, TurnId};

impl Skeleton {
    pub fn header(&self) -> Option<&SessionHeader> {
        self.header.as_ref()
    }

    /// Entries that count.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The step by which the session came to be is undone.
    pub fn is_taken_back(&self) -> bool {
        self.is_taken_back
    }

    /// How many things the fold forgave.
    pub fn oddities(&self) -> u32 {
        self.oddities
    }

    /// The entry's place in the order of writing.
    pub fn node(&self, id: &EntryId) -> Option<u32> {
        let name = self.log.names.find(id.as_str())?;
        self.node_of.get(name.0 as usize).copied().filter(|node| *node != NONE)
    }

    pub fn envelope(&self, node: u32) -> Option<&Envelope> {
        self.log.envelopes().get(self.link(node)?.envelope as usize)
    }

    /// The place of the entry's line among all entries, which stays the same while the file grows.
    pub fn envelope_number(&self, node: u32) -> Option<u32> {
        self.link(node).map(|node| node.envelope)
    }

    pub fn id(&self, node: u32) -> Option<EntryId> {
        self.id_text(node).map(EntryId::from)
    }

    pub fn id_text(&self, node: u32) -> Option<&str> {
        self.text(self.envelope(node)?.id)
    }

    /// The ids of all entries that count.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        (0..self.nodes.len() as u32).filter_map(|node| self.id_text(node))
    }

    pub fn text(&self, name: Name) -> Option<&str> {
        self.log.names.text(name)
    }

    pub fn kind(&self, node: u32) -> Option<Kind> {
        self.envelope(node).map(|envelope| envelope.kind)
    }

    pub fn parent(&self, node: u32) -> Option<u32> {
        self.parents.get(node as usize).copied().and_then(some)
    }

    pub fn depth(&self, node: u32) -> Option<u32> {
        self.link(node).map(|node| node.depth)
    }

    /// The nearest compaction or clearing at or above it.
    pub fn boundary(&self, node: u32) -> Option<u32> {
        self.link(node).and_then(|node| some(node.boundary))
    }

    /// The nearest setting at or above it.
    pub fn setting(&self, node: u32) -> Option<u32> {
        self.link(node).and_then(|node| some(node.setting))
    }

    /// This node and all above it, upwards.
    pub fn ancestors(&self, from: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(from, |node| self.parent(*node))
    }

    /// The way from a root down to this node, both included.
    pub fn path_to(&self, node: Option<u32>) -> Vec<u32> {
        let length = node.and_then(|node| self.depth(node)).map_or(0, |depth| depth as usize + 1);
        let mut path = Vec::with_capacity(length);
        path.extend(self.ancestors(node));
        path.reverse();
        path
    }

    /// Children, oldest first; `None` asks for the roots.
    pub fn children(&self, parent: Option<u32>) -> Vec<u32> {
        let mut children = Vec::new();
        self.push_children(parent, &mut children);
        children
    }

    pub fn has_children(&self, node: u32) -> bool {
        self.link(node).is_some_and(|node| node.first_child != NONE)
    }

    /// Every entry once, each before its children, branches oldest first.
    pub fn walk(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut open = self.children(None);
        open.reverse();
        while let Some(node) = open.pop() {
            order.push(node);
            let start = open.len();
            self.push_children(Some(node), &mut open);
            if let Some(children) = open.get_mut(start..) {
                children.reverse();
            }
        }
        order
    }

    /// Entries without children, in the order of [`Skeleton::walk`].
    pub fn leaves(&self) -> Vec<u32> {
        self.walk().into_iter().filter(|node| !self.has_children(*node)).collect()
    }

    /// Where a head stands; `None` is before the first entry, or a head nobody has placed.
    pub fn head(&self, name: &HeadName) -> Option<u32> {
        self.heads.get(name).copied().and_then(some)
    }

    pub fn main_head(&self) -> Option<u32> {
        self.head(&HeadName::main())
    }

    /// All heads by name, the main one among them.
    pub fn heads(&self) -> Vec<(HeadName, Option<u32>)> {
        let mut heads: Vec<(HeadName, Option<u32>)> =
            self.heads.iter().map(|(name, node)| (name.clone(), some(*node))).collect();
        if !self.heads.contains_key(&HeadName::main()) {
            heads.push((HeadName::main(), None));
            heads.sort();
        }
        heads
    }

    /// Somebody has placed it.
    pub fn has_head(&self, name: &HeadName) -> bool {
        self.heads.contains_key(name)
    }

    /// The child on the way to the place last visited below this point (`None`: among the roots).
    pub fn remembered_child(&self, parent: Option<u32>) -> Option<u32> {
        match parent {
            None => some(self.remembered_root),
            Some(parent) => self.link(parent).and_then(|node| some(node.remembered)),
        }
    }

    pub fn label(&self, id: &EntryId) -> Option<&str> {
        self.labels.get(id).map(String::as_str)
    }

    pub fn labels(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        self.labels.iter().map(|(id, label)| (id, label.as_str()))
    }

    pub fn branch_names(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        self.branch_names.iter().map(|(id, name)| (id, name.as_str()))
    }

    pub fn checkpoints(&self) -> impl Iterator<Item = (&EntryId, &str)> {
        self.checkpoints.iter().map(|(id, snapshot)| (id, snapshot.as_str()))
    }

    pub fn archived(&self) -> impl Iterator<Item = &EntryId> {
        self.archived.iter()
    }

    /// The agent's own sessions, by the entry they are bound to.
    pub fn bindings(&self) -> impl Iterator<Item = (&EntryId, &Binding)> {
        self.bindings.iter()
    }

    pub fn turn_ended(&self, turn: &TurnId) -> bool {
        self.ended_turns.contains(turn)
    }

    /// The title a person gave; else the automatic one.
    pub fn title(&self) -> Option<&str> {
        self.user_title.as_deref().or(self.auto_title.as_deref())
    }

    pub fn title_is_by_user(&self) -> bool {
        self.user_title.is_some()
    }

    fn link(&self, node: u32) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    fn push_children(&self, parent: Option<u32>, into: &mut Vec<u32>) {
        let first = match parent {
            None => some(self.first_root).filter(|_| !self.nodes.is_empty()),
            Some(parent) => self.link(parent).and_then(|node| some(node.first_child)),
        };
        let start = into.len();
        into.extend(std::iter::successors(first, |node| {
            self.link(*node).and_then(|node| some(node.next_sibling))
        }));
        if let Some(children) = into.get_mut(start..).filter(|children| children.len() > 1) {
            children.sort_by_key(|node| self.envelope(*node).map(|envelope| envelope.at));
        }
    }
}

fn some(node: u32) -> Option<u32> {
    (node != NONE).then_some(node)
}
