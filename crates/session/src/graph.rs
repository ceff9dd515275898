//! Sessions among each other: a fork or an edit in a file of its own is a child of the session it came from.
//!
//! The graph is built from what each header says of its parent. A parent that is gone makes its child a root, and
//! sessions that name each other in a circle are each reached once.

use std::collections::{HashMap, HashSet};

use crate::SessionId;

#[derive(Clone, Debug, Default)]
pub struct SessionGraph {
    /// In the order they were given.
    sessions: Vec<SessionId>,
    parents: HashMap<SessionId, SessionId>,
    children: HashMap<SessionId, Vec<SessionId>>,
}

/// One line of a tree of sessions, parents before their children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphRow {
    pub session: SessionId,
    pub depth: usize,
}

impl SessionGraph {
    pub fn new(sessions: impl IntoIterator<Item = (SessionId, Option<SessionId>)>) -> Self {
        let mut graph = Self::default();
        for (session, parent) in sessions {
            if let Some(parent) = parent {
                graph.children.entry(parent.clone()).or_default().push(session.clone());
                graph.parents.insert(session.clone(), parent);
            }
            graph.sessions.push(session);
        }
        graph
    }

    /// Sessions that branch from this one, in the order they were given.
    pub fn children(&self, session: &SessionId) -> &[SessionId] {
        self.children.get(session).map(Vec::as_slice).unwrap_or_default()
    }

    /// The first of its line that is still there.
    pub fn root<'g>(&'g self, session: &'g SessionId) -> &'g SessionId {
        let known: HashSet<&SessionId> = self.sessions.iter().collect();
        let mut seen = HashSet::new();
        let mut at = session;
        while let Some(parent) = self.parents.get(at) {
            if !known.contains(parent) || !seen.insert(at) {
                break;
            }
            at = parent;
        }
        at
    }

    /// This session and all that came from it.
    pub fn tree(&self, root: &SessionId) -> Vec<GraphRow> {
        let mut rows = Vec::new();
        let mut seen = HashSet::new();
        self.collect(root, &mut seen, &mut rows);
        rows
    }

    /// Every session once, threads in the order of their roots; of a circle the first one given is the root.
    pub fn forest(&self) -> Vec<GraphRow> {
        let known: HashSet<&SessionId> = self.sessions.iter().collect();
        let is_root =
            |session: &SessionId| self.parents.get(session).is_none_or(|parent| !known.contains(parent));
        let mut rows = Vec::with_capacity(self.sessions.len());
        let mut seen = HashSet::new();
        for root in self.sessions.iter().filter(|session| is_root(session)) {
            self.collect(root, &mut seen, &mut rows);
        }
        for left in &self.sessions {
            self.collect(left, &mut seen, &mut rows);
        }
        rows
    }

    fn collect(&self, root: &SessionId, seen: &mut HashSet<SessionId>, rows: &mut Vec<GraphRow>) {
        let mut open = vec![(root.clone(), 0)];
        while let Some((session, depth)) = open.pop() {
            if !seen.insert(session.clone()) {
                continue;
            }
            open.extend(self.children(&session).iter().rev().map(|child| (child.clone(), depth + 1)));
            rows.push(GraphRow { session, depth });
        }
    }
}
