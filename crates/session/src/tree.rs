//! The session as a tree: the fold of its records.
//!
//! [`SessionTree`] is persistent: cloning it is cheap, a clone never changes under its reader, and appending
//! costs the same whatever the size of the session. Entries live in an arena and name each other by index; the
//! children of a node are a linked list (first child, next sibling), so a node with thousands of branches is as
//! cheap to extend as one with none.
//!
//! Writing is strict ([`SessionTree::apply`]), loading is lenient ([`SessionTree::replay`]): an entry whose
//! parent is missing begins a tree of its own, and a cycle is cut where the file closes it.
//!
//! Undo hides: records of an undone operation, and whatever was written below their entries, take no part in
//! the fold. Nothing leaves the journal.

mod fold;
mod read;
mod thin;

use std::sync::Arc;

use rpds::{HashTrieMapSync, HashTrieSetSync, VectorSync};
use thiserror::Error;

use crate::{
    AgentSessionId, Entry, EntryId, Fact, HeadName, Missing, Model, OperationId, Provenance, Record,
    SessionHeader, TurnId, Usage,
};

#[derive(Clone, Debug)]
pub struct SessionTree {
    header: Option<SessionHeader>,
    nodes: VectorSync<Node>,
    by_id: HashTrieMapSync<EntryId, u32>,
    mark_ids: HashTrieSetSync<EntryId>,
    /// Entries that undo hides. Their ids stay taken: redo brings them back.
    hidden: HashTrieSetSync<EntryId>,
    roots: Children,
    heads: HashTrieMapSync<HeadName, Head>,
    /// Where a head was last put; the way there is remembered at every fork.
    last_visited: Option<u32>,
    labels: HashTrieMapSync<EntryId, String>,
    branch_names: HashTrieMapSync<EntryId, String>,
    checkpoints: HashTrieMapSync<EntryId, String>,
    bindings: HashTrieMapSync<EntryId, Binding>,
    /// Sessions of agents in which something was said that undo hides: the agent remembers it all the same.
    know_undone: HashTrieSetSync<AgentSessionId>,
    archived: HashTrieSetSync<EntryId>,
    ended_turns: HashTrieSetSync<TurnId>,
    user_title: Option<String>,
    auto_title: Option<String>,
    /// Prompts by the further ids under which their agents have them, and the latest such id of a prompt.
    aliases: HashTrieMapSync<EntryId, EntryId>,
    delivered_as: HashTrieMapSync<EntryId, EntryId>,
    spent: VectorSync<Usage>,
    operations: VectorSync<Operation>,
    /// The step by which the session came to be.
    began: Option<OperationId>,
    /// Every record, undone ones too: undo and redo fold it again.
    log: VectorSync<Record>,
}

/// One step of the person, as the list of steps shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    pub id: OperationId,
    pub name: String,
    pub at: jiff::Timestamp,
    pub undone: bool,
}

/// The agent's own session on a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    pub agent_session: Option<AgentSessionId>,
    pub provenance: Provenance,
    /// What the agent itself calls the last message it knows of the branch.
    pub last_message: Option<String>,
    /// Whose session it is, where that was written down.
    pub agent: Option<String>,
    /// What the agent was not told of the branch.
    pub missing: Missing,
    /// It belongs to the session that this one came from.
    pub inherited: bool,
    /// The model that the agent said it uses, by the name under which it can be chosen again.
    pub model: Option<Model>,
}

impl Binding {
    /// Where it holds, and what; `None` where the fact is another one.
    pub(crate) fn told_by(fact: &Fact) -> Option<(&EntryId, Self)> {
        let Fact::Bound { at, agent_session, provenance, last_message, agent, missing, inherited, model } =
            fact
        else {
            return None;
        };
        let (agent_session, last_message) = (agent_session.clone(), last_message.clone());
        let (provenance, agent, missing) = (*provenance, agent.clone(), *missing);
        let (inherited, model) = (*inherited, model.clone());
        Some((at, Self { agent_session, provenance, last_message, agent, missing, inherited, model }))
    }

    /// An agent has answered in this very session: it was not copied, and not read from a file of another program, which
    /// says whose it is by itself.
    pub fn was_made_here(&self) -> bool {
        !self.inherited && self.agent.is_some()
    }
}

/// Why a record was not taken. Nothing has changed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Rejected {
    #[error("id `{0}` is taken")]
    IdTaken(EntryId),
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("entry `{0}` would be its own ancestor")]
    Cycle(EntryId),
    #[error("the session is open already")]
    AlreadyOpened,
    #[error("head `{head}` is not where the writer believed it to be")]
    StaleHead { head: HeadName, believed: Option<EntryId>, found: Option<EntryId> },
    #[error("operation `{0}` does not exist")]
    UnknownOperation(OperationId),
    #[error("operation `{0}` is undone already")]
    AlreadyUndone(OperationId),
    #[error("operation `{0}` is not undone")]
    NotUndone(OperationId),
}

#[derive(Clone, Debug)]
struct Node {
    entry: Arc<Entry>,
    parent: Parent,
    depth: u32,
    next_sibling: Option<u32>,
    children: Children,
}

#[derive(Clone, Copy, Debug)]
enum Parent {
    /// Begins a tree: it has no parent, or the parent is missing.
    None,
    Of(u32),
    /// Begins a tree because its parent is also its descendant. Paths still go through the parent once.
    Cut(u32),
}

#[derive(Clone, Copy, Debug, Default)]
struct Children {
    first: Option<u32>,
    last: Option<u32>,
    /// The child on the way to the place a head last stood at.
    remembered: Option<u32>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Head {
    at: Option<u32>,
    /// The turn whose entries carry the head along.
    follows: Option<TurnId>,
}

impl Default for SessionTree {
    fn default() -> Self {
        Self {
            header: None,
            nodes: VectorSync::new_sync(),
            by_id: HashTrieMapSync::new_sync(),
            mark_ids: HashTrieSetSync::new_sync(),
            hidden: HashTrieSetSync::new_sync(),
            roots: Children::default(),
            heads: HashTrieMapSync::new_sync(),
            last_visited: None,
            labels: HashTrieMapSync::new_sync(),
            branch_names: HashTrieMapSync::new_sync(),
            checkpoints: HashTrieMapSync::new_sync(),
            bindings: HashTrieMapSync::new_sync(),
            know_undone: HashTrieSetSync::new_sync(),
            archived: HashTrieSetSync::new_sync(),
            ended_turns: HashTrieSetSync::new_sync(),
            user_title: None,
            auto_title: None,
            aliases: HashTrieMapSync::new_sync(),
            delivered_as: HashTrieMapSync::new_sync(),
            spent: VectorSync::new_sync(),
            operations: VectorSync::new_sync(),
            began: None,
            log: VectorSync::new_sync(),
        }
    }
}
