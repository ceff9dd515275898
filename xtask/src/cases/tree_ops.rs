//! Scripts of tree operations (pi): every operation is a plan of the product, applied to the tree.

use anyhow::{Result, bail};
use offshoot_session::context::{ContextOptions, context_of};
use offshoot_session::plan::{
    Plan, SwitchRefused, WrittenSummary, append_at_head, branch_with_summary, branched_session, plan_label,
    plan_rename, plan_switch,
};
use offshoot_session::{
    Block, Body, Compaction, CustomMessage, EntryId, FileLists, HeadName, Model, Note, Reply, SessionTree,
    Setting, TitleSource,
};
use serde_json::{Value, json};

use super::pi::{context_messages, type_of};
use super::stamps::GivenIds;
use super::{Case, Kind, decided, list, text};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind {
        product: "pi",
        kind: "tree-ops",
        calls: "session::plan, SessionTree::extended, session::context::context_of",
        run,
        adjust: decided::tree_without_facts,
    }]
}

fn run(case: &Case) -> Result<Value> {
    let mut stamps = GivenIds::default();
    let mut tree = SessionTree::replay([stamps.header("case")]).0;
    let mut steps = Vec::new();
    for (place, op) in list(&case.input, "ops").iter().enumerate() {
        let name =
            op.get("as").and_then(Value::as_str).map_or_else(|| format!("${}", place + 1), str::to_owned);
        stamps.next_entry(&name);
        steps.push(match operate(&tree, op, &mut stamps)? {
            Done::Tree(next) => {
                tree = *next;
                json!({"leaf": tree.main_head().map(EntryId::as_str)})
            }
            Done::Missing(id) => json!({"error": format!("Entry {id} not found")}),
        });
    }
    Ok(report(&tree, steps))
}

enum Done {
    Tree(Box<SessionTree>),
    Missing(EntryId),
}

fn operate(tree: &SessionTree, op: &Value, stamps: &mut GivenIds) -> Result<Done> {
    let main = HeadName::main();
    let apply = |plan: Option<Plan>| -> Result<Done> {
        let records = plan.map(|plan| plan.records).unwrap_or_default();
        Ok(Done::Tree(Box::new(tree.extended(&records)?)))
    };
    match text(op, "op") {
        "branch" => match plan_switch(tree, &main, Some(&text(op, "to").into()), stamps) {
            Ok(plan) => apply(plan),
            Err(SwitchRefused::NotFound(id)) => Ok(Done::Missing(id)),
            Err(refused) => bail!(refused),
        },
        "reset_leaf" => apply(plan_switch(tree, &main, None, stamps)?),
        "label" => {
            let label = op.get("label").and_then(Value::as_str);
            match plan_label(tree, &text(op, "target").into(), label, stamps) {
                Ok(plan) => apply(plan),
                Err(_) => Ok(Done::Missing(text(op, "target").into())),
            }
        }
        "name" => apply(plan_rename(tree, op.get("name").and_then(Value::as_str), TitleSource::User, stamps)),
        "branch_with_summary" => {
            let to = op.get("to").and_then(Value::as_str).map(EntryId::from);
            let summary = WrittenSummary { summary: text(op, "summary").into(), ..WrittenSummary::default() };
            match branch_with_summary(tree, &main, to.as_ref(), summary, stamps) {
                Ok(plan) => apply(Some(plan)),
                Err(SwitchRefused::NotFound(id)) => Ok(Done::Missing(id)),
                Err(refused) => bail!(refused),
            }
        }
        "create_branched_session" => match branched_session(tree, Some(&text(op, "leaf").into()), stamps) {
            Ok(new) => Ok(Done::Tree(Box::new(SessionTree::replay(new.records).0))),
            Err(_) => Ok(Done::Missing(text(op, "leaf").into())),
        },
        _ => apply(Some(append_at_head(tree, &main, body(op)?, stamps)?.plan)),
    }
}

pub(crate) fn body(op: &Value) -> Result<Body> {
    let said = op.get("text").or_else(|| op.get("as")).and_then(Value::as_str).unwrap_or_default();
    Ok(match text(op, "op") {
        "user" => Body::prompt(said),
        "assistant" => Body::Reply(Reply { blocks: vec![Block::Text(said.into())], ..Reply::default() }),
        "thinking" => {
            Body::Setting(Setting::Thinking(op.get("level").and_then(Value::as_str).map(str::to_owned)))
        }
        "model" => Body::Setting(Setting::Model {
            role: None,
            model: Model { provider: text(op, "provider").into(), name: text(op, "model").into() },
        }),
        "compaction" => Body::Compaction(Compaction {
            summary: text(op, "summary").into(),
            first_kept: op.get("first_kept").and_then(Value::as_str).map(EntryId::from),
            tokens_before: op.get("tokens_before").and_then(Value::as_i64).unwrap_or_default(),
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: None,
        }),
        "custom" => Body::Note(Note { kind: text(op, "custom_type").into(), data: op.get("data").cloned() }),
        "custom_message" => Body::CustomMessage(CustomMessage {
            kind: text(op, "custom_type").into(),
            blocks: vec![Block::Text(
                op.get("content")
                    .or_else(|| op.get("text"))
                    .and_then(Value::as_str)
                    .unwrap_or_default()
                    .into(),
            )],
            display: op.get("display").and_then(Value::as_bool).unwrap_or(true),
            attribution: None,
        }),
        other => bail!("unknown operation `{other}`"),
    })
}

fn report(tree: &SessionTree, steps: Vec<Value>) -> Value {
    let entries: Vec<Value> = tree
        .entries()
        .map(|entry| {
            let mut shown = json!({
                "ref": entry.id.as_str(),
                "type": type_of(&entry.body),
                "parent": entry.parent.as_ref().map(EntryId::as_str),
            });
            if let Body::BranchSummary(summary) = &entry.body {
                shown["from_id"] = json!(summary.from.as_ref().map_or("root", EntryId::as_str));
            }
            shown
        })
        .collect();
    let path = tree.path_to(tree.main_head());
    let labels: serde_json::Map<String, Value> =
        tree.labels().into_iter().map(|(id, label)| (id.to_string(), json!(label))).collect();
    let context = context_of(tree, tree.main_head(), &ContextOptions::pi());
    json!({
        "steps": steps,
        "create_branched_session_returns_path": false,
        "entries": entries,
        "leaf": tree.main_head().map(EntryId::as_str),
        "branch": path.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(),
        "tree": nested(tree),
        "labels": labels,
        "context": context_messages(&context),
        "thinking_level": context.thinking,
        "model": context.model.as_ref().map(|model| json!({"provider": model.provider, "modelId": model.name})),
        "name": tree.title(),
    })
}

/// The tree as cases nest it. Cases are shallow, so this may recurse.
fn nested(tree: &SessionTree) -> Vec<Value> {
    fn below(tree: &SessionTree, parent: Option<&EntryId>) -> Vec<Value> {
        tree.children(parent)
            .into_iter()
            .map(|entry| {
                let mut node = json!({"ref": entry.id.as_str(), "children": below(tree, Some(&entry.id))});
                if let Some(label) = tree.label(&entry.id) {
                    node["label"] = json!(label);
                }
                node
            })
            .collect()
    }
    below(tree, None)
}
