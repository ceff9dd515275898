//! The graph of session files of seed 002, and its store.

mod store;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use offshoot_session::address::{Point, Want, resolve_point};
use offshoot_session::graph::{GraphRow, SessionGraph};
use offshoot_session::plan::{
    Child, Difference, NewSession, edited_message, plan_child, plan_config_session, prompt_with_new_text,
};
use offshoot_session::{Body, HeadName, Model, SessionId, SessionTree, Setting};
use offshoot_testkit::FixedStamps;
use offshoot_transcripts::rollouts;
use serde_json::{Value, json};

use self::store::{Filter, Summary, session_id};
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
            store::list(&sessions, &filter).into_iter().map(|session| session.id.as_str()).collect()
        })
        .collect();
    json!({ "answers": answers })
}

fn summary(session: &Value) -> Summary {
    Summary { id: text(session, "id").into(), status: text(session, "status").into(), tags: tags(session) }
}

fn tags(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.get("tags").and_then(Value::as_object).into_iter().flatten();
    pairs.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

/// A file is read, a child is made of it, and the child is written as a file: what `edit --new-session` and a change of the
/// model do, with `import` before and `export` behind.
fn branch(input: &Value) -> Result<Value> {
    let file = parent_file(input);
    let (tree, _) = SessionTree::replay(rollouts::read(None, file.as_bytes()).records);
    let mut stamps = FixedStamps::default();
    let session = match input.get("edit_index").and_then(Value::as_u64) {
        Some(index) => edited(&tree, index, text(input, "new_content"), &mut stamps)?,
        None => {
            let model = model(text(input, "new_model")).context("a model")?;
            let settings = vec![Setting::Model { role: None, model }];
            plan_config_session(&tree, &HeadName::main(), settings, &mut stamps)?.context("a change")?
        }
    };
    let (child, _) = SessionTree::replay(session.records);
    let written = String::from_utf8(written(&child)?)?;
    let mut lines = written.lines().map(serde_json::from_str::<Value>);
    let header = lines.next().context("a header")??;
    let said: Vec<String> = lines
        .map(|line| {
            let line = line?;
            let role = text(&line, "role").chars().next().unwrap_or('?');
            Ok(format!("{role}:{}", text(&line, "content")))
        })
        .collect::<Result<_>>()?;
    Ok(json!({
        "child_header": header,
        "child_messages": said,
        "parent_unchanged": written_unchanged(&tree, &file)?,
    }))
}

fn parent_file(input: &Value) -> String {
    let mut header = json!({"type": "session", "id": "parent", "timestamp": "2025-01-01T00:00:00Z"});
    if let (Some(model), Some(header)) = (model(text(input, "old_model")), header.as_object_mut()) {
        header.insert("provider".into(), model.provider.into());
        header.insert("model".into(), model.name.into());
    }
    let messages = list(input, "messages").iter().filter_map(Value::as_str).map(|message| {
        let (role, content) = message.split_once(':').unwrap_or(("u", message));
        let role = if role == "a" { "assistant" } else { "user" };
        json!({"type": "message", "role": role, "content": content})
    });
    std::iter::once(header).chain(messages).map(|line| format!("{line}\n")).collect()
}

/// The child in which the message with this index has another text.
fn edited(tree: &SessionTree, index: u64, content: &str, stamps: &mut FixedStamps) -> Result<NewSession> {
    let at = resolve_point(tree, &Point::Text(format!("m:{index}")), Want::Selection)?;
    let message = match tree.entry(&at).map(|entry| &entry.body) {
        Some(Body::Prompt(prompt)) => Body::Prompt(prompt_with_new_text(prompt, content)),
        Some(_) | None => edited_message(tree, &at, content)?,
    };
    let above = tree.parent(&at).map(|above| &above.id);
    let (difference, settings) = (Difference::Edit { of: &at }, Vec::new());
    let child = Child { difference, above, settings, message: Some(message) };
    Ok(plan_child(tree, child, stamps).session)
}

fn written(tree: &SessionTree) -> Result<Vec<u8>> {
    Ok(rollouts::write(tree, tree.main_head().context("a head")?).bytes)
}

fn written_unchanged(tree: &SessionTree, file: &str) -> Result<bool> {
    Ok(written(tree)? == file.as_bytes())
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
