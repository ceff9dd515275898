//! The tree as plain lists, laid out once so that everything after it is a walk over numbers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::{Entry, EntryId, SessionTree};

/// Which of several prompts at the same place, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    pub number: usize,
    pub of: usize,
}

/// Nodes are numbered in the order of writing.
pub(super) struct Shape<'t> {
    entries: Vec<&'t Arc<Entry>>,
    parents: Vec<Option<usize>>,
    /// Children of all nodes in one list; `first_child[n]..first_child[n + 1]` are those of node `n`.
    children: Vec<usize>,
    first_child: Vec<usize>,
    on_path: Vec<bool>,
    versions: Vec<Option<Version>>,
    pub(super) head: Option<usize>,
    /// Every node once, each before its children, the active branch first at every fork.
    pub(super) order: Vec<usize>,
}

impl<'t> Shape<'t> {
    pub(super) fn of(tree: &'t SessionTree) -> Self {
        let entries: Vec<&Arc<Entry>> = tree.entries().collect();
        let index: HashMap<&EntryId, usize> = entries.iter().enumerate().map(|(at, e)| (&e.id, at)).collect();
        let find = |id: &EntryId| index.get(id).copied();
        let parents: Vec<Option<usize>> =
            entries.iter().map(|entry| tree.parent(&entry.id).and_then(|parent| find(&parent.id))).collect();
        let mut on_path = vec![false; entries.len()];
        for at in tree.path_to(tree.main_head()).into_iter().filter_map(|entry| find(&entry.id)) {
            super::set(&mut on_path, at, true);
        }
        let head = tree.main_head().and_then(find);
        let mut shape = Self {
            versions: vec![None; entries.len()],
            entries,
            parents,
            children: Vec::new(),
            first_child: Vec::new(),
            on_path,
            head,
            order: Vec::new(),
        };
        let roots = shape.group_children();
        shape.count_versions(&roots);
        shape.walk(roots);
        shape
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
        self.versions.get(at).copied().flatten()
    }

    fn group_children(&mut self) -> Vec<usize> {
        let rank = |at: &usize| {
            (!self.on_path(*at), self.entry(*at).map(|entry| entry.written_at).unwrap_or_default())
        };
        let mut by_parent: Vec<usize> = (0..self.entries.len()).collect();
        by_parent.sort_by_cached_key(|at| (self.parent(*at), rank(at)));
        let roots = by_parent.partition_point(|at| self.parent(*at).is_none());
        let mut first_child = vec![0; self.entries.len() + 1];
        for at in by_parent.iter().skip(roots) {
            if let Some(count) = self.parent(*at).and_then(|parent| first_child.get_mut(parent + 1)) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for count in &mut first_child {
            sum += *count;
            *count = sum;
        }
        self.children = by_parent.split_off(roots);
        self.first_child = first_child;
        by_parent
    }

    /// Prompts that name the same parent are versions of each other, oldest first.
    fn count_versions(&mut self, roots: &[usize]) {
        let real_roots: Vec<usize> = roots
            .iter()
            .copied()
            .filter(|at| self.entry(*at).is_some_and(|entry| entry.parent.is_none()))
            .collect();
        let mut versions = std::mem::take(&mut self.versions);
        number_versions(self, &real_roots, &mut versions);
        for at in 0..self.entries.len() {
            if self.children(at).len() > 1 {
                number_versions(self, self.children(at), &mut versions);
            }
        }
        self.versions = versions;
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

fn number_versions(shape: &Shape<'_>, siblings: &[usize], versions: &mut [Option<Version>]) {
    let mut prompts: Vec<(usize, &Arc<Entry>)> = siblings
        .iter()
        .filter_map(|at| Some((*at, shape.entry(*at)?)))
        .filter(|(_, entry)| entry.body.is_prompt())
        .collect();
    if prompts.len() < 2 {
        return;
    }
    prompts.sort_by_key(|(at, entry)| (entry.written_at, *at));
    for (number, (at, _)) in prompts.iter().enumerate() {
        super::set(versions, *at, Some(Version { number: number + 1, of: prompts.len() }));
    }
}
