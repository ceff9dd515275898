//! The graph of session files of seed 002, and its store.

use anyhow::{Result, bail};
use offshoot_session::SessionId;
use offshoot_session::graph::{GraphRow, SessionGraph};
use serde_json::{Value, json};

use super::{Case, Kind, as_recorded, list, text};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind {
        product: "rollouts",
        kind: "session-graph",
        calls: "session::graph::SessionGraph, transcripts::rollouts",
        run,
        adjust: as_recorded,
    }]
}

fn run(case: &Case) -> Result<Value> {
    if let Some(query) = case.input.get("query") {
        return graph_query(list(&case.input, "headers"), query);
    }
    bail!("not built")
}

fn graph_query(headers: &[Value], query: &Value) -> Result<Value> {
    let graph = SessionGraph::new(headers.iter().map(|header| {
        let parent = header.get("parent_id").and_then(Value::as_str).map(SessionId::from);
        (SessionId::from(text(header, "id")), parent)
    }));
    if let Some(id) = query.get("children").and_then(Value::as_str) {
        let ids: Vec<&str> = graph.children(&id.into()).iter().map(SessionId::as_str).collect();
        return Ok(json!({ "ids": ids }));
    }
    if let Some(id) = query.get("root").and_then(Value::as_str) {
        return Ok(json!({"id": graph.root(&id.into()).as_str()}));
    }
    if let Some(id) = query.get("tree").and_then(Value::as_str) {
        let mut rows = graph.tree(&id.into()).into_iter().peekable();
        let root = rows.next();
        return Ok(json!({"tree": root.map(|root| nested(&root, &mut rows))}));
    }
    bail!("unknown query {query}")
}

fn nested(row: &GraphRow, rows: &mut std::iter::Peekable<impl Iterator<Item = GraphRow>>) -> Value {
    let mut children = Vec::new();
    while let Some(child) = rows.next_if(|next| next.depth > row.depth) {
        children.push(nested(&child, rows));
    }
    json!({"id": row.session.as_str(), "children": children})
}
