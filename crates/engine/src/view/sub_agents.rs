//! Agents that were started by an agent, as they are seen beside the branch that started them.

use std::collections::HashSet;
use std::sync::Arc;

use offshoot_api::views::SubAgentView;
use offshoot_session::{Body, Entry, Note, SessionTree};
use serde_json::Value;

/// Those whose call stands in one of these entries.
pub(super) fn sub_agents(tree: &SessionTree, seen: &[&Arc<Entry>]) -> Vec<SubAgentView> {
    let seen: HashSet<&str> = seen.iter().map(|entry| entry.id.as_str()).collect();
    let roots = tree.children(None);
    roots.into_iter().filter_map(|root| sub_agent(tree, root, &seen)).collect()
}

fn sub_agent(tree: &SessionTree, root: &Entry, seen: &HashSet<&str>) -> Option<SubAgentView> {
    let Body::Note(Note { kind, data: Some(data) }) = &root.body else { return None };
    if kind != Note::SUB_AGENT {
        return None;
    }
    let told = |key: &str| data.get(key).and_then(Value::as_str);
    let entry = told("entry").filter(|entry| seen.contains(entry))?;
    let tip = tree.remembered_leaf(&root.id).map_or(&root.id, |leaf| &leaf.id);
    let task = tree.children(Some(&root.id)).into_iter().find(|child| child.body.is_prompt());
    Some(SubAgentView {
        call: told("call").unwrap_or_default().to_owned(),
        entry: entry.to_owned(),
        begins: root.id.to_string(),
        tip: tip.to_string(),
        task: told("description").map(str::to_owned).or_else(|| task.map(|task| task.body.text())),
        running: root.turn.as_ref().is_some_and(|turn| !tree.turn_ended(turn)),
        at: root.written_at,
    })
}
