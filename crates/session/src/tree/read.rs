//! Questions to the tree. None of them changes it.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Binding, Children, Node, Operation, Parent, SessionTree};
use crate::{AgentSessionId, Entry, EntryId, HeadName, OperationId, Record, SessionHeader, TurnId, Usage};

impl SessionTree {
    pub fn header(&self) -> Option<&SessionHeader> {
        self.header.as_ref()
    }

    /// How many entries there are, those that undo hides not counted.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub fn entry(&self, id: &EntryId) -> Option<&Arc<Entry>> {
        self.by_id.get(id).and_then(|index| self.nodes.get(*index as usize)).map(|node| &node.entry)
    }

    pub fn contains(&self, id: &EntryId) -> bool {
        self.by_id.contains_key(id)
    }

    /// All entries in the order they were written.
    pub fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.nodes.iter().map(|node| &node.entry)
    }

    /// The way from a root down to this entry, both included. Empty for `None` and for an unknown entry.
    ///
    /// In a cycle each entry comes once, and the path starts behind the first that would repeat.
    pub fn path_to(&self, id: Option<&EntryId>) -> Vec<&Arc<Entry>> {
        let start = id.and_then(|id| self.by_id.get(id)).copied();
        let mut path: Vec<u32> = self.ancestors(start).collect();
        if let Some(cut) = path.last().and_then(|top| self.cut_parent(*top)) {
            let seen: HashSet<u32> = path.iter().copied().collect();
            path.extend(self.ancestors(Some(cut)).take_while(|index| !seen.contains(index)));
        }
        path.reverse();
        path.into_iter().filter_map(|index| self.nodes.get(index as usize)).map(|node| &node.entry).collect()
    }

    /// Children, oldest first; `None` asks for the roots. Those of the same moment keep the order of writing.
    pub fn children(&self, parent: Option<&EntryId>) -> Vec<&Arc<Entry>> {
        let first = match parent {
            None => self.roots.first,
            Some(parent) => self.by_id.get(parent).and_then(|index| self.children_of(Some(*index)).first),
        };
        let mut children: Vec<&Arc<Entry>> = self
            .sibling_indices(first)
            .filter_map(|index| self.nodes.get(index as usize))
            .map(|node| &node.entry)
            .collect();
        children.sort_by_key(|entry| entry.written_at);
        children
    }

    pub fn roots(&self) -> Vec<&Arc<Entry>> {
        self.children(None)
    }

    pub fn has_children(&self, id: &EntryId) -> bool {
        self.by_id.get(id).is_some_and(|index| self.children_of(Some(*index)).first.is_some())
    }

    /// The entry this one hangs below; `None` for a root, also where the parent is only named and missing.
    pub fn parent(&self, id: &EntryId) -> Option<&Arc<Entry>> {
        let index = self.by_id.get(id)?;
        let parent = self.parent_of(*index)?;
        self.nodes.get(parent as usize).map(|node| &node.entry)
    }

    /// How many entries are above it.
    pub fn depth(&self, id: &EntryId) -> Option<usize> {
        self.by_id.get(id).and_then(|index| self.nodes.get(*index as usize)).map(|node| node.depth as usize)
    }

    /// Whether `above` lies on the way to `below`. An entry is its own ancestor.
    pub fn is_ancestor(&self, above: &EntryId, below: &EntryId) -> bool {
        match (self.by_id.get(above), self.by_id.get(below)) {
            (Some(above), Some(below)) => self.ancestors(Some(*below)).any(|index| index == *above),
            _ => false,
        }
    }

    /// The last entry that two branches share; `None` where they share nothing.
    pub fn fork_point(&self, one: &EntryId, other: &EntryId) -> Option<&Arc<Entry>> {
        let (mut one, mut other) = (*self.by_id.get(one)?, *self.by_id.get(other)?);
        while one != other {
            if self.nodes.get(one as usize)?.depth >= self.nodes.get(other as usize)?.depth {
                one = self.parent_of(one)?;
            } else {
                other = self.parent_of(other)?;
            }
        }
        self.nodes.get(one as usize).map(|node| &node.entry)
    }

    /// Every entry once, each before its children, branches oldest first.
    pub fn walk(&self) -> Vec<&Arc<Entry>> {
        let mut order = Vec::with_capacity(self.nodes.len());
        let mut open: Vec<&Arc<Entry>> = self.roots();
        open.reverse();
        while let Some(entry) = open.pop() {
            order.push(entry);
            let mut children = self.children(Some(&entry.id));
            children.reverse();
            open.append(&mut children);
        }
        order
    }

    /// Entries without children, in the order of [`SessionTree::walk`].
    pub fn leaves(&self) -> Vec<&Arc<Entry>> {
        self.walk().into_iter().filter(|entry| !self.has_children(&entry.id)).collect()
    }

    /// Where a head stands; `None` is before the first entry, or a head nobody has placed.
    pub fn head(&self, name: &HeadName) -> Option<&EntryId> {
        let head = self.heads.get(name)?;
        head.at.and_then(|index| self.nodes.get(index as usize)).map(|node| &node.entry.id)
    }

    pub fn main_head(&self) -> Option<&EntryId> {
        self.head(&HeadName::main())
    }

    /// The main head is always there; others once they have been placed.
    pub fn has_head(&self, name: &HeadName) -> bool {
        self.heads.contains_key(name) || *name == HeadName::main()
    }

    /// All heads by name, the main one among them.
    pub fn heads(&self) -> Vec<(HeadName, Option<&EntryId>)> {
        let mut names: Vec<HeadName> = self.heads.keys().cloned().collect();
        if !self.heads.contains_key(&HeadName::main()) {
            names.push(HeadName::main());
        }
        names.sort();
        names.into_iter().map(|name| (name.clone(), self.head(&name))).collect()
    }

    /// The child on the way to the place last visited below this point (`None`: among the roots).
    pub fn remembered_child(&self, parent: Option<&EntryId>) -> Option<&Arc<Entry>> {
        let children = match parent {
            None => self.roots,
            Some(parent) => self.children_of(Some(*self.by_id.get(parent)?)),
        };
        children.remembered.and_then(|index| self.nodes.get(index as usize)).map(|node| &node.entry)
    }

    /// The place last visited below this entry; where nobody has been, the newest child each time.
    pub fn remembered_leaf(&self, from: &EntryId) -> Option<&Arc<Entry>> {
        let mut at = self.entry(from)?;
        while let Some(next) =
            self.remembered_child(Some(&at.id)).or_else(|| self.children(Some(&at.id)).pop())
        {
            at = next;
        }
        Some(at)
    }

    pub fn label(&self, id: &EntryId) -> Option<&str> {
        self.labels.get(id).map(String::as_str)
    }

    pub fn labels(&self) -> Vec<(&EntryId, &str)> {
        sorted(self.labels.iter().map(|(id, label)| (id, label.as_str())))
    }

    /// The title a person gave; else the automatic one.
    pub fn title(&self) -> Option<&str> {
        self.user_title.as_deref().or(self.auto_title.as_deref())
    }

    pub fn title_is_by_user(&self) -> bool {
        self.user_title.is_some()
    }

    pub fn branch_name(&self, id: &EntryId) -> Option<&str> {
        self.branch_names.get(id).map(String::as_str)
    }

    pub fn branch_names(&self) -> Vec<(&EntryId, &str)> {
        sorted(self.branch_names.iter().map(|(id, name)| (id, name.as_str())))
    }

    pub fn checkpoint(&self, id: &EntryId) -> Option<&str> {
        self.checkpoints.get(id).map(String::as_str)
    }

    pub fn binding(&self, id: &EntryId) -> Option<&Binding> {
        self.bindings.get(id)
    }

    /// Whether something was said in this session of an agent that is undone now.
    pub fn knows_undone(&self, session: &AgentSessionId) -> bool {
        self.know_undone.contains(session)
    }

    /// All bindings, by the entry they were made at.
    pub fn bindings(&self) -> impl Iterator<Item = (&EntryId, &Binding)> {
        self.bindings.iter()
    }

    pub fn is_archived(&self, id: &EntryId) -> bool {
        self.archived.contains(id)
    }

    pub fn turn_ended(&self, turn: &TurnId) -> bool {
        self.ended_turns.contains(turn)
    }

    /// The id under which the agent has an entry: a prompt that was sent again has another one there.
    pub fn delivered_as<'t>(&'t self, id: &'t EntryId) -> &'t EntryId {
        self.delivered_as.get(id).unwrap_or(id)
    }

    /// The prompt that an agent has under this further id.
    pub fn aliased(&self, id: &EntryId) -> Option<&EntryId> {
        self.aliases.get(id)
    }

    /// Usage that belongs to no reply.
    pub fn spent(&self) -> impl Iterator<Item = &Usage> {
        self.spent.iter()
    }

    /// Steps in the order they were taken, undone ones included.
    pub fn operations(&self) -> impl DoubleEndedIterator<Item = &Operation> {
        (0..self.operations.len()).filter_map(|index| self.operations.get(index))
    }

    pub fn operation(&self, id: &OperationId) -> Option<&Operation> {
        self.operations().find(|operation| operation.id == *id)
    }

    /// The step by which the session came to be, where its journal says it.
    pub fn began(&self) -> Option<&OperationId> {
        self.began.as_ref()
    }

    /// The step by which the session came to be is undone: it is in no list until that is taken again.
    pub fn is_taken_back(&self) -> bool {
        self.began.as_ref().and_then(|began| self.operation(began)).is_some_and(|step| step.undone)
    }

    /// Every record in order, undone ones included.
    pub fn log(&self) -> impl Iterator<Item = &Record> {
        self.log.iter()
    }

    /// The records of the step that was written last, in their order, where this is it.
    pub fn latest_records<'t>(&'t self, operation: &OperationId) -> Vec<&'t Record> {
        let from_the_end = (0..self.log.len()).rev().map_while(|index| self.log.get(index));
        let mut records: Vec<&Record> =
            from_the_end.take_while(|record| record.operation.as_ref() == Some(operation)).collect();
        records.reverse();
        records
    }

    pub fn log_length(&self) -> usize {
        self.log.len()
    }

    pub(super) fn children_of(&self, parent: Option<u32>) -> Children {
        match parent {
            None => self.roots,
            Some(parent) => self.nodes.get(parent as usize).map(|node| node.children).unwrap_or_default(),
        }
    }

    /// The place of an entry in [`SessionTree::entries`].
    pub(crate) fn index_of(&self, id: &EntryId) -> Option<u32> {
        self.by_id.get(id).copied()
    }

    pub(crate) fn entry_at(&self, index: u32) -> Option<&Arc<Entry>> {
        self.nodes.get(index as usize).map(|node| &node.entry)
    }

    pub(crate) fn parent_of(&self, index: u32) -> Option<u32> {
        match self.nodes.get(index as usize)?.parent {
            Parent::Of(parent) => Some(parent),
            Parent::None | Parent::Cut(_) => None,
        }
    }

    /// This node and all above it, upwards.
    pub(super) fn ancestors(&self, start: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(start, |index| self.parent_of(*index))
    }

    /// A node and those behind it in its list of siblings, in the order of writing.
    pub(super) fn sibling_indices(&self, first: Option<u32>) -> impl Iterator<Item = u32> {
        std::iter::successors(first, |index| {
            self.nodes.get(*index as usize).and_then(|node| node.next_sibling)
        })
    }

    /// The parent of a root that a cut cycle made a root.
    pub(crate) fn cut_parent(&self, index: u32) -> Option<u32> {
        match self.nodes.get(index as usize).map(|node: &Node| node.parent)? {
            Parent::Cut(parent) => Some(parent),
            Parent::None | Parent::Of(_) => None,
        }
    }
}

fn sorted<T: Ord>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.collect();
    items.sort();
    items
}
