//! Agents that were started by an agent, as they are seen beside the branch that started them.

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use offshoot_api::views::SubAgentView;
use offshoot_session::{Body, Entry, EntryId, Note, SessionTree, TurnId};
use serde_json::Value;

/// Those whose call stands in one of these entries.
pub(super) fn sub_agents(tree: &SessionTree, seen: &[&Arc<Entry>]) -> Vec<SubAgentView> {
    let seen: HashSet<&str> = seen.iter().map(|entry| entry.id.as_str()).collect();
    let roots = tree.children(None).into_iter();
    roots.filter_map(|root| sub_agent(tree, root)).filter(|view| seen.contains(view.entry.as_str())).collect()
}

/// The one that writes in a turn of its own.
pub(crate) fn sub_agent_of_turn(tree: &SessionTree, turn: &TurnId) -> Option<SubAgentView> {
    let root = tree.children(None).into_iter().find(|root| root.turn.as_ref() == Some(turn))?;
    sub_agent(tree, root)
}

fn sub_agent(tree: &SessionTree, root: &Entry) -> Option<SubAgentView> {
    let Body::Note(Note { kind, data: Some(data) }) = &root.body else { return None };
    if kind != Note::SUB_AGENT {
        return None;
    }
    let told = |key: &str| data.get(key).and_then(Value::as_str);
    let (call, entry) = (told("call").unwrap_or_default(), EntryId::from(told("entry")?));
    let tip = tree.remembered_leaf(&root.id).map_or(root, |leaf| leaf);
    let task = tree.children(Some(&root.id)).into_iter().find(|child| child.body.is_prompt());
    let running = root.turn.as_ref().is_some_and(|turn| !tree.turn_ended(turn));
    Some(SubAgentView {
        call: call.to_owned(),
        begins: root.id.to_string(),
        tip: tip.id.to_string(),
        task: told("description").map(str::to_owned).or_else(|| task.map(|task| task.body.text())),
        tool: tool_of(tree, &entry, call),
        agent: told("kind").map(str::to_owned),
        running,
        at: root.written_at,
        ended_at: (!running).then(|| answered_at(tree, &entry, call).unwrap_or(tip.written_at)),
        entry: entry.to_string(),
    })
}

fn tool_of(tree: &SessionTree, entry: &EntryId, call: &str) -> Option<String> {
    let Body::Reply(reply) = &tree.entry(entry)?.body else { return None };
    reply.tool_uses().find(|tool_use| tool_use.id.as_str() == call).map(|tool_use| tool_use.name.clone())
}

/// When the call was answered: results stand one below the other behind the reply that called for them.
fn answered_at(tree: &SessionTree, entry: &EntryId, call: &str) -> Option<Timestamp> {
    let result_below = |above: &EntryId| {
        let mut below = tree.children(Some(above)).into_iter();
        below.find_map(|child| match &child.body {
            Body::ToolResult(result) => {
                Some((child.id.clone(), child.written_at, result.call.as_str() == call))
            }
            _ => None,
        })
    };
    let mut results = std::iter::successors(result_below(entry), |(above, ..)| result_below(above));
    results.find(|(_, _, is_it)| *is_it).map(|(_, at, _)| at)
}
