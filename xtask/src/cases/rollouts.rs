//! The graph of session files of seed 002, and its store.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use offshoot_session::graph::{GraphRow, SessionGraph};
use offshoot_session::{Model, SessionHeader, SessionId};
use offshoot_transcripts::rollouts::{
    self, Child, Filter, Message, Rollout, Summary, branch_for_config_change, branch_for_edit, session_id,
};
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
    if case.expected.get("regex").is_some() {
        return id_format(text(&case.expected, "regex"));
    }
    if case.input.get("queries").is_some() {
        return Ok(list_queries(&case.input));
    }
    branch(&case.input)
}

fn id_format(pattern: &str) -> Result<Value> {
    let id = session_id(jiff::Timestamp::UNIX_EPOCH, [0, 0x9f, 0xff]);
    let matches = regex::Regex::new(pattern)?.is_match(&id);
    Ok(json!({"regex": if matches { pattern } else { &id }}))
}

fn list_queries(input: &Value) -> Value {
    let sessions: Vec<Summary> = list(input, "sessions").iter().map(summary).collect();
    let answers: Vec<Vec<&str>> = list(input, "queries")
        .iter()
        .map(|query| {
            let status = query.get("status").and_then(Value::as_str).map(str::to_owned);
            let limit = query.get("limit").and_then(Value::as_u64).map(|limit| limit as usize);
            let filter = Filter { status, tags: tags(query), limit };
            rollouts::list(&sessions, &filter).into_iter().map(|session| session.id.as_str()).collect()
        })
        .collect();
    json!({ "answers": answers })
}

fn summary(session: &Value) -> Summary {
    Summary {
        id: text(session, "id").into(),
        status: text(session, "status").into(),
        tags: tags(session),
        message_count: 0,
    }
}

fn tags(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.get("tags").and_then(Value::as_object).into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

fn branch(input: &Value) -> Result<Value> {
    let now = jiff::Timestamp::UNIX_EPOCH;
    let mut header = SessionHeader::new("parent".into(), now);
    header.model = model(text(input, "old_model"));
    let messages = list(input, "messages").iter().filter_map(Value::as_str).map(message).collect();
    let source = Rollout { header, messages };
    let before = source.clone();
    let new_model = model(text(input, "new_model"));
    let child = Child { id: "child".into(), opened_at: now, project: None, model: new_model };
    let child = match input.get("edit_index").and_then(Value::as_u64) {
        Some(index) => branch_for_edit(&source, index as usize, text(input, "new_content"), child)?,
        None => branch_for_config_change(&source, source.last_index(), child, None)?,
    };
    let written = String::from_utf8(child.to_file().bytes)?;
    let header: Value = serde_json::from_str(written.lines().next().unwrap_or_default())?;
    let said = child.messages.iter().map(|message| {
        let role = message.role().chars().next().unwrap_or('?');
        format!("{role}:{}", message.content().as_str().unwrap_or_default())
    });
    Ok(json!({
        "child_header": header,
        "child_messages": said.collect::<Vec<_>>(),
        "parent_unchanged": source == before,
    }))
}

fn message(text: &str) -> Message {
    let (role, content) = text.split_once(':').unwrap_or(("u", text));
    Message::new(if role == "a" { "assistant" } else { "user" }, content)
}

fn model(text: &str) -> Option<Model> {
    let (provider, name) = text.split_once('/')?;
    Some(Model { provider: provider.into(), name: name.into() })
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
