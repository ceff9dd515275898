//! The differences that were decided before any case was run (docs/compatibility.md, D1 to D7), as changes of the
//! expectation.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{Case, list, text};

/// D1: labels and names are facts. Their entries vanish from the expectation, their children move up.
pub(crate) struct Lift {
    /// What a removed entry stands for: its nearest ancestor that stays.
    stands_for: HashMap<String, Value>,
}

impl Lift {
    pub(crate) fn new() -> Self {
        Self { stands_for: HashMap::new() }
    }

    /// `id` is a label or a name and stood below `parent`.
    pub(crate) fn remove(&mut self, id: &str, parent: &Value) {
        let above = self.apply(parent);
        self.stands_for.insert(id.to_owned(), above);
    }

    pub(crate) fn apply(&self, id: &Value) -> Value {
        id.as_str().and_then(|id| self.stands_for.get(id)).unwrap_or(id).clone()
    }

    fn is_removed(&self, id: &Value) -> bool {
        id.as_str().is_some_and(|id| self.stands_for.contains_key(id))
    }

    fn nodes(&self, nodes: &[Value]) -> Vec<Value> {
        let mut kept = Vec::new();
        for node in nodes {
            let children = self.nodes(list(node, "children"));
            let id = node.get("ref").or_else(|| node.get("id")).cloned().unwrap_or_default();
            if self.is_removed(&id) {
                kept.extend(children);
            } else {
                let mut node = node.clone();
                node["children"] = Value::Array(children);
                kept.push(node);
            }
        }
        kept
    }
}

pub(crate) fn is_fact(kind: &str) -> bool {
    matches!(kind, "label" | "session_info")
}

/// D1 for a script of operations with its tree.
pub(crate) fn tree_without_facts(case: &Case) -> Value {
    let mut expected = case.expected.clone();
    let mut lift = Lift::new();
    let mut leaf = Value::Null;
    for (place, op) in list(&case.input, "ops").iter().enumerate() {
        let after = list(&case.expected, "steps").get(place).and_then(|step| step.get("leaf"));
        if let (true, Some(created)) =
            (matches!(text(op, "op"), "label" | "name"), after.and_then(Value::as_str))
        {
            lift.remove(created, &leaf);
        }
        leaf = after.cloned().unwrap_or(leaf);
    }
    for entry in list(&case.expected, "entries").iter().filter(|entry| is_fact(text(entry, "type"))) {
        lift.remove(text(entry, "ref"), entry.get("parent").unwrap_or(&Value::Null));
    }
    if let Some(steps) = expected.get_mut("steps").and_then(Value::as_array_mut) {
        for step in steps {
            if let Some(leaf) = step.get("leaf") {
                step["leaf"] = lift.apply(leaf);
            }
        }
    }
    if let Some(entries) = expected.get_mut("entries").and_then(Value::as_array_mut) {
        entries.retain(|entry| !is_fact(text(entry, "type")));
        for entry in entries {
            entry["parent"] = lift.apply(entry.get("parent").unwrap_or(&Value::Null));
        }
    }
    if let Some(branch) = expected.get_mut("branch").and_then(Value::as_array_mut) {
        branch.retain(|id| !lift.is_removed(id));
    }
    if let Some(leaf) = expected.get("leaf") {
        expected["leaf"] = lift.apply(leaf);
    }
    if let Some(nodes) = expected.get("tree").and_then(Value::as_array) {
        expected["tree"] = Value::Array(lift.nodes(nodes));
    }
    expected
}

/// D1 for pi entries and ids that an expectation names under these keys.
pub(crate) fn entries_without_facts(case: &Case, keys: &[&str]) -> Value {
    let mut lift = Lift::new();
    for entry in list(&case.input, "entries").iter().filter(|entry| is_fact(text(entry, "type"))) {
        lift.remove(text(entry, "id"), entry.get("parentId").unwrap_or(&Value::Null));
    }
    let mut expected = case.expected.clone();
    for key in keys {
        match expected.get_mut(*key) {
            Some(Value::Array(ids)) => ids.retain(|id| !lift.is_removed(id)),
            Some(id) => *id = lift.apply(id),
            None => {}
        }
    }
    if let Some(summary) = expected.get("summary_entry").cloned() {
        let lifted = |key: &str| lift.apply(summary.get(key).unwrap_or(&Value::Null));
        expected["summary_entry"] = json!({"parent": lifted("parent"), "from_id": lifted("from_id")});
    }
    expected
}

/// The id that an input means once facts are no entries (D1).
pub(crate) fn lifted(entries: &[Value], id: &Value) -> Value {
    let mut lift = Lift::new();
    for entry in entries.iter().filter(|entry| is_fact(text(entry, "type"))) {
        lift.remove(text(entry, "id"), entry.get("parentId").unwrap_or(&Value::Null));
    }
    lift.apply(id)
}
