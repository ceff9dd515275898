//! Agents that an agent started, and the branch that each of them belongs to.
//!
//! What a sub-agent says is a tree of its own below a note of the kind [`Note::SUB_AGENT`]. The note names the call that
//! started it, and the entry of the call says which branches show the task. Files of older programs do not name a call:
//! such a task belongs to no branch and is shown on all of them.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;

use crate::handoff::branch_session;
use crate::{Body, Entry, EntryId, Note, SessionTree, ToolCallId, TurnId};

#[derive(Clone, Debug, PartialEq)]
pub struct SubAgent<'t> {
    /// The note above everything it says.
    pub root: &'t Arc<Entry>,
    /// Its last entry so far.
    pub tip: &'t Arc<Entry>,
    pub call: Option<ToolCallId>,
    /// The reply that holds the call; `None` if the file does not tell.
    pub entry: Option<EntryId>,
    /// The tool that was called.
    pub tool: Option<String>,
    /// Which of the agents that the agent knows it is.
    pub kind: Option<String>,
    pub task: Option<String>,
    /// The agent session of the branch that started it.
    pub session: Option<String>,
    pub running: bool,
    pub ended_at: Option<Timestamp>,
}

/// The sub-agents that a branch shows: those started by one of these entries, and those of no branch, in the order in
/// which they began.
pub fn sub_agents_on<'t>(tree: &'t SessionTree, branch: &[&Arc<Entry>]) -> Vec<SubAgent<'t>> {
    let mut all: Vec<SubAgent<'_>> = sub_agents(tree).collect();
    if all.iter().any(|one| one.entry.is_some()) {
        let on_branch: HashSet<&EntryId> = branch.iter().map(|entry| &entry.id).collect();
        all.retain(|one| one.entry.as_ref().is_none_or(|entry| on_branch.contains(entry)));
    }
    all
}

/// The one that writes in a turn of its own.
pub fn sub_agent_of_turn<'t>(tree: &'t SessionTree, turn: &TurnId) -> Option<SubAgent<'t>> {
    sub_agents(tree).find(|one| one.root.turn.as_ref() == Some(turn))
}

fn sub_agents(tree: &SessionTree) -> impl Iterator<Item = SubAgent<'_>> {
    tree.children(None).into_iter().filter_map(|root| sub_agent(tree, root))
}

fn sub_agent<'t>(tree: &'t SessionTree, root: &'t Arc<Entry>) -> Option<SubAgent<'t>> {
    let Body::Note(Note { kind, data }) = &root.body else { return None };
    if kind != Note::SUB_AGENT {
        return None;
    }
    let told = |key: &str| data.as_ref()?.get(key)?.as_str().map(str::to_owned);
    let call = told("call").filter(|call| !call.is_empty()).map(ToolCallId::from);
    let entry = told("entry").map(EntryId::from);
    let tip = tree.remembered_leaf(&root.id).unwrap_or(root);
    let task = tree.children(Some(&root.id)).into_iter().find(|child| child.body.is_prompt());
    let running = root.turn.as_ref().is_some_and(|turn| !tree.turn_ended(turn));
    let answered = entry.as_ref().zip(call.as_ref()).and_then(|(entry, call)| answered_at(tree, entry, call));
    Some(SubAgent {
        root,
        tip,
        tool: entry.as_ref().zip(call.as_ref()).and_then(|(entry, call)| tool_of(tree, entry, call)),
        kind: told("kind"),
        task: told("description").or_else(|| task.map(|task| task.body.text())),
        session: entry.as_ref().and_then(|entry| session_at(tree, entry)),
        running,
        ended_at: (!running).then(|| answered.unwrap_or(tip.written_at)),
        call,
        entry,
    })
}

/// A branch that is not bound to an agent session was read from one.
fn session_at(tree: &SessionTree, entry: &EntryId) -> Option<String> {
    let bound = branch_session(tree, Some(entry)).map(|session| session.to_string());
    bound.or_else(|| {
        let header = tree.header()?;
        let foreign = header.foreign.as_ref().map(|source| source.session.to_string());
        Some(foreign.unwrap_or_else(|| header.id.to_string()))
    })
}

fn tool_of(tree: &SessionTree, entry: &EntryId, call: &ToolCallId) -> Option<String> {
    let Body::Reply(reply) = &tree.entry(entry)?.body else { return None };
    reply.tool_uses().find(|tool_use| tool_use.id == *call).map(|tool_use| tool_use.name.clone())
}

/// When the call was answered: results follow the reply that called for them, one below the other.
fn answered_at(tree: &SessionTree, entry: &EntryId, call: &ToolCallId) -> Option<Timestamp> {
    let result_below = |above: &EntryId| {
        let mut below = tree.children(Some(above)).into_iter();
        below.find_map(|child| match &child.body {
            Body::ToolResult(result) => Some((child.id.clone(), child.written_at, result.call == *call)),
            _ => None,
        })
    };
    let mut results = std::iter::successors(result_below(entry), |(above, ..)| result_below(above));
    results.find(|(_, _, is_it)| *is_it).map(|(_, at, _)| at)
}
