//! pi's newer backend suite: lanes are heads, names and labels are facts, operation records are marks with an id.

use std::sync::{Mutex, PoisonError};

use anyhow::{Result, bail};
use offshoot_session::about::about;
use offshoot_session::cost::usage_of;
use offshoot_session::plan::{
    AppendRefused, Fork, ForkPosition, ForkRefused, ForkScope, NewHeadRefused, Plan, SwitchRefused,
    append_at_head, fork_records, plan_label, plan_move_head, plan_new_head, plan_rename,
};
use offshoot_session::{
    Body, Change, Entry, EntryId, Fact, HeadName, Mark, Note, Record, Rejected, SessionTree, Stamps,
    TitleSource, Usage,
};
use serde_json::{Map, Value, json};

use super::stamps::GivenIds;
use super::{Case, Kind, as_recorded, list, text};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind {
        product: "pi-harness",
        kind: "conformance",
        calls: "session::plan, SessionTree::apply, session::cost::usage_of",
        run,
        adjust: as_recorded,
    }]
}

fn run(case: &Case) -> Result<Value> {
    if case.input.get("payloads").is_some() {
        return Ok(json!({"error": "(such payloads cannot be built)"}));
    }
    let mut stamps = GivenIds::default();
    let mut tree = SessionTree::replay([stamps.header("source")]).0;
    for op in list(&case.input, "ops") {
        match (operate(&tree, op, &mut stamps)?, op.get("error").and_then(Value::as_str)) {
            (Ok(next), None) => tree = next,
            (Err(code), Some(expected)) if code == expected => {}
            (Ok(_), Some(expected)) => bail!("{op} was taken, expected `{expected}`"),
            (Err(code), expected) => bail!("{op} failed with `{code}`, expected {expected:?}"),
        }
    }
    for usage in list(&case.input, "usage_records") {
        let fact = Fact::Spent { usage: usage_from(usage), model: None };
        tree.apply(&Record::marked(stamps.now(), fact))?;
    }
    for _ in 0..case.input.get("messages").and_then(Value::as_u64).unwrap_or_default() {
        let appended = append_at_head(&tree, &HeadName::main(), Body::prompt("m"), &mut stamps)?;
        tree = tree.extended(&appended.plan.records)?;
    }
    if let Some(fork) = case.input.get("fork") {
        return forked(&tree, fork, &mut stamps);
    }
    let mut answer = report(&tree);
    if case.input.get("concurrent").is_some() {
        concurrent(tree, list(&case.input, "concurrent"), &mut answer)?;
    }
    Ok(answer)
}

/// The tree after the operation, or the code of the refusal.
fn operate(
    tree: &SessionTree,
    op: &Value,
    stamps: &mut GivenIds,
) -> Result<Result<SessionTree, &'static str>> {
    let lane: HeadName = text(op, "lane").into();
    let apply = |plan: Option<Plan>| {
        let records = plan.map(|plan| plan.records).unwrap_or_default();
        tree.extended(&records).map_err(|rejected| rejection(&rejected))
    };
    let point = |key: &str| op.get(key).and_then(Value::as_str).map(EntryId::from);
    Ok(match text(op, "op") {
        "append_entry" => {
            stamps.next_entry(text(op, "id"));
            match append_at_head(tree, &lane, body(op), stamps) {
                Ok(appended) => apply(Some(appended.plan)),
                Err(AppendRefused::UnknownHead(_)) => Err("invalid_lane"),
            }
        }
        "append_record" => {
            let fact = Fact::Operation { name: text(op, "kind").into() };
            let mark = Mark { id: Some(text(op, "id").into()), marked_at: stamps.now(), fact };
            let record = Record::new(Change::Marked(mark)).in_operation(stamps.operation_id());
            tree.extended([&record]).map_err(|rejected| rejection(&rejected))
        }
        "create_lane" => match plan_new_head(tree, &lane, point("at").as_ref(), stamps) {
            Ok(plan) => apply(Some(plan)),
            Err(NewHeadRefused::Exists(_)) => Err("already_exists"),
            Err(NewHeadRefused::NotFound(_)) => Err("not_found"),
            Err(NewHeadRefused::Blank) => Err("invalid_lane"),
        },
        "move_lane" => match plan_move_head(tree, &lane, point("to").as_ref(), stamps) {
            Ok(plan) => apply(plan),
            Err(SwitchRefused::NotFound(_)) => Err("not_found"),
            Err(SwitchRefused::UnknownHead(_)) => Err("invalid_lane"),
        },
        "set_name" => {
            apply(plan_rename(tree, op.get("name").and_then(Value::as_str), TitleSource::User, stamps))
        }
        "set_label" => {
            let label = op.get("label").and_then(Value::as_str);
            match plan_label(tree, &text(op, "target").into(), label, stamps) {
                Ok(plan) => apply(plan),
                Err(_) => Err("not_found"),
            }
        }
        other => bail!("unknown operation `{other}`"),
    })
}

fn body(op: &Value) -> Body {
    match text(op, "type") {
        "message" => Body::prompt(text(op, "id")),
        _ => Body::Note(Note { kind: text(op, "custom_type").into(), data: None }),
    }
}

fn rejection(rejected: &Rejected) -> &'static str {
    match rejected {
        Rejected::IdTaken(_) => "already_exists",
        Rejected::NotFound(_) => "not_found",
        _ => "invalid_entry",
    }
}

fn forked(tree: &SessionTree, fork: &Value, stamps: &mut GivenIds) -> Result<Value> {
    let scope = match text(fork, "scope") {
        "tree" => ForkScope::Tree,
        _ => ForkScope::Branch {
            at: fork.get("entry").and_then(Value::as_str).map(EntryId::from),
            position: if text(fork, "position") == "before" {
                ForkPosition::Before
            } else {
                ForkPosition::At
            },
        },
    };
    match fork_records(tree, &Fork { scope }, stamps) {
        Ok(new) => Ok(report(&SessionTree::replay(new.records).0)),
        Err(ForkRefused::NotFound(_)) => Ok(json!({"error": "not_found"})),
        Err(ForkRefused::NotAMessage(_) | ForkRefused::InsideTurn(_)) => {
            Ok(json!({"error": "invalid_fork_target"}))
        }
    }
}

fn report(tree: &SessionTree) -> Value {
    let lanes: Map<String, Value> = tree
        .heads()
        .into_iter()
        .map(|(name, at)| (name.to_string(), json!(at.map(EntryId::as_str))))
        .collect();
    let branches: Map<String, Value> = tree
        .entries()
        .map(|entry| {
            let path: Vec<&str> =
                tree.path_to(Some(&entry.id)).iter().map(|entry| entry.id.as_str()).collect();
            (entry.id.to_string(), json!(path))
        })
        .collect();
    let labels: Map<String, Value> =
        tree.labels().into_iter().map(|(id, label)| (id.to_string(), json!(label))).collect();
    let ids: Vec<&str> = tree.entries().map(|entry| entry.id.as_str()).collect();
    let usage = usage_of(tree);
    let messages = about(tree).messages;
    json!({
        "log": numbered(tree),
        "lanes": lanes,
        "leaf": tree.main_head().map(EntryId::as_str),
        "branch": branches,
        "name": tree.title(),
        "labels": labels,
        "entries": ids,
        "records": operation_records(tree),
        "message_count": messages,
        "parent_session": tree.header().and_then(|header| header.lineage.as_ref()).map(|from| from.parent.clone()),
        "immutable": copies_do_not_reach_the_tree(tree),
        "stats": {
            "message_count": messages,
            "cached_tokens": usage.cache_read,
            "uncached_tokens": usage.input + usage.cache_write,
            "total_tokens": usage.context_tokens(),
            "cost_total": usage.cost_micros as f64 / 1e6,
        },
    })
}

/// Entries and operation records with their place in the one order of all.
fn numbered(tree: &SessionTree) -> Vec<Value> {
    let kinds = tree.log().filter_map(|record| match &record.change {
        Change::Entry(_) => Some("entry"),
        Change::Marked(_) if is_operation_record(record) => Some("record"),
        Change::Opened(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
    });
    kinds.enumerate().map(|(place, kind)| json!([kind, place + 1])).collect()
}

fn operation_records(tree: &SessionTree) -> Vec<String> {
    tree.log()
        .filter_map(|record| match &record.change {
            Change::Marked(mark) => mark.id.as_ref().map(EntryId::to_string),
            Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => None,
        })
        .collect()
}

/// The suite's own records have ids; the name of a plan has none.
fn is_operation_record(record: &Record) -> bool {
    matches!(&record.change, Change::Marked(mark) if mark.id.is_some())
}

fn copies_do_not_reach_the_tree(tree: &SessionTree) -> bool {
    tree.entries().all(|entry| {
        let mut copy = Entry::clone(entry);
        copy.body = Body::prompt("changed");
        tree.entry(&entry.id).is_some_and(|kept| **kept != copy)
    })
}

/// Threads race for one tree; who comes first is written first.
fn concurrent(tree: SessionTree, ops: &[Value], answer: &mut Value) -> Result<()> {
    let shared = Mutex::new((tree, Vec::new()));
    std::thread::scope(|scope| {
        for op in ops {
            let shared = &shared;
            scope.spawn(move || {
                let mut guard = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let mut stamps = GivenIds::default();
                if let Ok(Ok(next)) = operate(&guard.0, op, &mut stamps) {
                    guard.0 = next;
                    guard.1.push(text(op, "id").to_owned());
                }
            });
        }
    });
    let (tree, completed) = shared.into_inner().unwrap_or_else(PoisonError::into_inner);
    let written: Vec<String> =
        tree.log().filter_map(|record| Some(record.as_entry()?.id.to_string())).collect();
    let tail = written.iter().skip(written.len().saturating_sub(completed.len()));
    answer["unique_seq"] =
        json!(written.iter().collect::<std::collections::HashSet<_>>().len() == written.len());
    answer["log_order_equals_completion_order"] =
        json!(completed.len() == ops.len() && tail.eq(completed.iter()));
    Ok(())
}

fn usage_from(value: &Value) -> Usage {
    let number = |key: &str| value.get(key).and_then(Value::as_i64).unwrap_or_default();
    let cost = value.get("cost_total").and_then(Value::as_f64).unwrap_or_default();
    Usage {
        input: number("input"),
        output: number("output"),
        cache_read: number("cacheRead"),
        cache_write: number("cacheWrite"),
        total: number("totalTokens"),
        cost_micros: (cost * 1e6).round() as i64,
    }
}
