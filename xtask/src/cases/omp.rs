//! oh-my-pi: union of two copies, pruning, context.

use std::collections::HashSet;

use anyhow::Result;
use offshoot_session::context::{ContextOptions, Message, UnansweredCalls, View, context_of};
use offshoot_session::plan::{append_at_head, plan_prune, plan_switch, prunable};
use offshoot_session::union::{Difference, union};
use offshoot_session::{
    Block, Body, Change, Entry, EntryId, Foreign, HeadName, RawLine, Record, Reply, SessionHeader,
    SessionTree, Stop, ToolResult, ToolUse,
};
use serde_json::{Map, Value, json};

use super::stamps::GivenIds;
use super::{Case, Kind, as_recorded, list, pi, text, tree_ops};

pub(crate) fn kinds() -> Vec<Kind> {
    let kind = |kind, calls, run| Kind { product: "oh-my-pi", kind, calls, run, adjust: as_recorded };
    vec![
        kind("session-merge", "session::union::union", session_merge),
        kind("prune-empty-branches", "session::plan::{prunable, plan_prune}", prune),
        kind("context", "session::context::context_of", context),
    ]
}

/// Unlike a fork, a script may say the same thing twice, so names are ids.
fn prune(case: &Case) -> Result<Value> {
    let mut stamps = GivenIds::default();
    let main = HeadName::main();
    let mut tree = SessionTree::replay([stamps.header("case")]).0;
    for (place, op) in list(&case.input, "ops").iter().enumerate() {
        if text(op, "op") == "branch" {
            let plan = plan_switch(&tree, &main, Some(&text(op, "to").into()), &mut stamps)?;
            tree = tree.extended(&plan.map(|plan| plan.records).unwrap_or_default())?;
            continue;
        }
        let name =
            op.get("as").and_then(Value::as_str).map_or_else(|| format!("${}", place + 1), str::to_owned);
        stamps.next_entry(&name);
        let plan = append_at_head(&tree, &main, said(op, &name)?, &mut stamps)?.plan;
        tree = tree.extended(&plan.records)?;
    }
    let going = prunable(&tree);
    let pruned = plan_prune(&tree, &mut stamps);
    let after = tree.extended(&pruned.map(|plan| plan.records).unwrap_or_default())?;
    let kept: Vec<&str> = list(&case.expected, "kept").iter().filter_map(Value::as_str).collect();
    let still_there =
        kept.iter().filter(|id| !going.iter().any(|gone| gone.as_str() == **id)).collect::<Vec<_>>();
    anyhow::ensure!(after.len() == tree.len(), "pruning has to leave the journal whole");
    Ok(json!({
        "pruned_count": going.len(),
        "removed": going.iter().map(EntryId::as_str).collect::<Vec<_>>(),
        "kept": still_there,
    }))
}

fn said(op: &Value, name: &str) -> Result<Body> {
    let stop = match text(op, "stop") {
        "stop" => Some(Stop::EndTurn),
        "error" => Some(Stop::Error(String::new())),
        "aborted" => Some(Stop::Aborted),
        "length" => Some(Stop::Length),
        "toolUse" => Some(Stop::ToolUse),
        _ => None,
    };
    Ok(match text(op, "op") {
        "assistant" => {
            Body::Reply(Reply { blocks: vec![Block::Text(name.into())], stop, ..Reply::default() })
        }
        "assistant_tool_call" => {
            let call = ToolUse { id: name.into(), name: "bash".into(), input: json!({}) };
            Body::Reply(Reply {
                blocks: vec![Block::ToolUse(call)],
                stop: Some(Stop::ToolUse),
                ..Reply::default()
            })
        }
        "tool_result" => Body::ToolResult(ToolResult {
            call: name.into(),
            tool: "bash".into(),
            blocks: vec![Block::Text(name.into())],
            failed: false,
            usage: None,
            changed_input: None,
        }),
        _ => tree_ops::body(op)?,
    })
}

fn context(case: &Case) -> Result<Value> {
    let tree = pi::tree_of(case)?;
    let flag = |key: &str| case.input.get(key).and_then(Value::as_bool);
    let mut options = match text(&case.input, "mode") {
        "transcript" => ContextOptions::transcript(),
        _ => ContextOptions::default(),
    };
    if flag("keep_dangling") == Some(true) {
        options.unanswered_calls = UnansweredCalls::KeptInTranscript;
    }
    if flag("collapse_compacted") == Some(true) {
        options.view = View::Transcript { collapse_compacted: true };
    }
    let context = context_of(&tree, tree.main_head(), &options);
    let calls: Vec<&str> = context
        .messages
        .iter()
        .flat_map(|message| message.blocks())
        .filter_map(|block| match block {
            Block::ToolUse(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    let stripped: usize = context.messages.iter().map(|message| message.stripped.len()).sum();
    let models: Map<String, Value> = context
        .models
        .iter()
        .map(|(role, model)| (role.clone(), json!(format!("{}/{}", model.provider, model.name))))
        .collect();
    let generated = case.input.get("generator").is_some();
    let roles: Vec<&str> = context.messages.iter().map(|message| pi::role(message.role())).collect();
    Ok(json!({
        "roles": if generated { Vec::new() } else { roles },
        "texts": context.messages.iter().map(pi::case_text).collect::<Vec<_>>(),
        "models": models,
        "thinking_level": context.thinking,
        "tool_call_ids": calls,
        "stripped_tool_calls": stripped,
        "attribution": context.messages.first().and_then(attribution),
        "message_count": context.messages.len(),
    }))
}

fn attribution(message: &Message) -> Option<String> {
    match &message.entry.body {
        Body::CustomMessage(custom) => custom.attribution.clone(),
        _ => None,
    }
}

fn session_merge(case: &Case) -> Result<Value> {
    let into: Vec<Record> = list(&case.input, "into").iter().map(record).collect();
    let from: Vec<Record> = list(&case.input, "from").iter().map(record).collect();
    let union = union(&into, &from);
    let merged: Vec<String> = union.records.iter().filter_map(id_of).collect();
    let conflicts: Vec<Value> = union
        .conflicts
        .iter()
        .map(|conflict| json!({"id": conflict.id, "reason": reason(conflict.about)}))
        .collect();
    Ok(json!({
        "merged": merged,
        "kept": union.kept,
        "added": union.added,
        "skipped": union.skipped,
        "conflicts": conflicts,
        "topological": is_topological(&union.records),
    }))
}

fn record(item: &Value) -> Record {
    let line = RawLine::new(item.to_string().into_bytes());
    if text(item, "type") == "session" {
        let mut header = SessionHeader::new(text(item, "id").into(), jiff::Timestamp::UNIX_EPOCH);
        header.project = item.get("cwd").and_then(Value::as_str).map(str::to_owned);
        return Record::opened(header).from_line(line);
    }
    let said = item.get("payload").map(Value::to_string);
    Record::entry(Entry {
        id: text(item, "id").into(),
        parent: item.get("parent").and_then(Value::as_str).map(EntryId::from),
        written_at: jiff::Timestamp::UNIX_EPOCH,
        turn: None,
        body: Body::Foreign(Foreign { kind: "case".into(), text: said }),
    })
}

fn id_of(record: &Record) -> Option<String> {
    match &record.change {
        Change::Opened(header) => Some(header.id.to_string()),
        Change::Entry(entry) => Some(entry.id.to_string()),
        Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
    }
}

fn reason(about: Difference) -> &'static str {
    match about {
        Difference::Parent => "parent",
        Difference::Payload => "payload",
        Difference::Header => "header",
    }
}

fn is_topological(records: &[Record]) -> bool {
    let mut seen = HashSet::new();
    records.iter().filter_map(Record::as_entry).all(|entry| {
        let in_order = entry.parent.as_ref().is_none_or(|parent| seen.contains(parent));
        seen.insert(entry.id.clone());
        in_order
    })
}
