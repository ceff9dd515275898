//! The tree as plain lists, laid out once so that everything after it is a walk over numbers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::versions::{AllVersions, Version};
use crate::{Entry, EntryId, SessionTree};

/// Nodes are numbered in the order of writing.
pub(super) struct Shape<'t> {
    entries: Vec<&'t Arc<Entry>>,
    parents: Vec<Option<usize>>,
    /// Children of all nodes in one list; `first_child[n]..first_child[n + 1]` are those of node `n`.
    children: Vec<usize>,
    first_child: Vec<usize>,
    on_path: Vec<bool>,
    versions: AllVersions,
    labels: HashMap<&'t EntryId, &'t str>,
    branch_names: HashMap<&'t EntryId, &'t str>,
    pub(super) head: Option<usize>,
    /// Every node once, each before its children, the active branch first at every fork.
    pub(super) order: Vec<usize>,
}

/// Whether branches that were put out of sight are drawn. The way to the head always is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Archive {
    Closed,
    Open,
}

impl<'t> Shape<'t> {
    pub(super) fn of(tree: &'t SessionTree, archive: Archive) -> Self {
        let entries: Vec<&Arc<Entry>> = tree.entries().collect();
        let parents: Vec<Option<usize>> =
            (0..entries.len() as u32).map(|at| usize_of(tree.parent_of(at))).collect();
        let head = tree.main_head().and_then(|head| tree.index_of(head));
        let mut on_path = vec![false; entries.len()];
        let mut above = head;
        while let Some(at) = above.filter(|at| on_path.get(*at as usize) == Some(&false)) {
            super::set(&mut on_path, at as usize, true);
            above = tree.parent_of(at).or_else(|| tree.cut_parent(at));
        }
        let mut shape = Self {
            versions: AllVersions::of(tree),
            entries,
            parents,
            children: Vec::new(),
            first_child: Vec::new(),
            on_path,
            labels: tree.labels().into_iter().collect(),
            branch_names: tree.branch_names().into_iter().collect(),
            head: usize_of(head),
            order: Vec::new(),
        };
        let is_shown = |at: usize| {
            let archived = archive == Archive::Closed
                && shape.entry(at).is_some_and(|entry| tree.is_archived(&entry.id));
            !archived || shape.on_path(at)
        };
        let shown: Vec<bool> = (0..shape.entries.len()).map(is_shown).collect();
        let roots = shape.group_children(&shown);
        shape.walk(roots);
        shape
    }

    /// How many nodes there are; not all of them are in the order when some are archived.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn label(&self, id: &EntryId) -> Option<&'t str> {
        self.labels.get(id).copied()
    }

    pub(super) fn branch_name(&self, id: &EntryId) -> Option<&'t str> {
        self.branch_names.get(id).copied()
    }

    pub(super) fn entry(&self, at: usize) -> Option<&'t Arc<Entry>> {
        self.entries.get(at).copied()
    }

    pub(super) fn parent(&self, at: usize) -> Option<usize> {
        self.parents.get(at).copied().flatten()
    }

    /// Active branch first, then oldest first.
    pub(super) fn children(&self, at: usize) -> &[usize] {
        match (self.first_child.get(at), self.first_child.get(at + 1)) {
            (Some(from), Some(to)) => self.children.get(*from..*to).unwrap_or_default(),
            _ => &[],
        }
    }

    pub(super) fn on_path(&self, at: usize) -> bool {
        self.on_path.get(at).copied().unwrap_or(false)
    }

    pub(super) fn version(&self, at: usize) -> Option<Version> {
        u32::try_from(at).ok().and_then(|at| self.versions.at(at))
    }

    /// Fills the lists of children and returns the roots. What hangs below a node that is not shown is not reached.
    fn group_children(&mut self, shown: &[bool]) -> Vec<usize> {
        let is_shown = |at: usize| shown.get(at).copied().unwrap_or_default();
        let len = self.entries.len();
        let mut first_child = vec![0; len + 1];
        for (_, parent) in self.parents.iter().enumerate().filter(|(at, _)| is_shown(*at)) {
            if let Some(count) = parent.and_then(|parent| first_child.get_mut(parent + 1)) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut first_child {
            sum += *count;
            *count = sum;
        }
        let mut children = vec![0; sum];
        let mut next_free = first_child.clone();
        let mut roots = Vec::new();
        for (at, parent) in self.parents.iter().enumerate().filter(|(at, _)| is_shown(*at)) {
            match parent.and_then(|parent| next_free.get_mut(parent)) {
                Some(free) => {
                    super::set(&mut children, *free, at);
                    *free += 1;
                }
                None => roots.push(at),
            }
        }
        let rank = |at: &usize| {
            (!self.on_path(*at), self.entry(*at).map(|entry| entry.written_at).unwrap_or_default())
        };
        for (from, to) in first_child.iter().zip(first_child.iter().skip(1)) {
            if let Some(siblings) = children.get_mut(*from..*to).filter(|siblings| siblings.len() > 1) {
                siblings.sort_by_key(rank);
            }
        }
        roots.sort_by_key(rank);
        self.children = children;
        self.first_child = first_child;
        roots
    }

    fn walk(&mut self, roots: Vec<usize>) {
        let mut order = Vec::with_capacity(self.entries.len());
        let mut open = roots;
        open.reverse();
        while let Some(at) = open.pop() {
            order.push(at);
            open.extend(self.children(at).iter().rev());
        }
        self.order = order;
    }
}

fn usize_of(index: Option<u32>) -> Option<usize> {
    index.map(|index| index as usize)
}
