//! Slots and timelines of seed 000. Edit groups have names given by the script; ours are ids of entries.

use std::collections::HashMap;

use anyhow::{Context, Result, bail};
use offshoot_session::plan::VersionStep;
use offshoot_session::{
    AgentSessionId, Binding, Block, Body, Entry, EntryId, Interruption, Missing, Prompt, Provenance,
};
use serde_json::{Map, Value, json};

use super::slot_view::{Conversation, EditInfo, Slot, SlotPath, SlotPathSegment, SlotView, Timeline};
use super::stamps::GivenIds;
use super::{Case, Kind, list, text};

pub(crate) fn kinds() -> Vec<Kind> {
    vec![Kind {
        product: "agent-gui-plugin",
        kind: "tree-edit-navigation",
        calls: "session::versions, through the nested view of the cases",
        run,
        adjust: unknown_group_is_not_found,
    }]
}

/// D5: what stands before a group that nobody made is not everything.
fn unknown_group_is_not_found(case: &Case) -> Value {
    let ops = list(&case.input, "ops");
    let imported = ops.iter().flat_map(|op| list(op, "messages"));
    let known: Vec<&str> = ops
        .iter()
        .filter(|op| text(op, "op") == "append_user")
        .chain(imported)
        .map(|item| text(item, "edit_group"))
        .collect();
    let mut expected = case.expected.clone();
    if let Some(groups) = expected.get_mut("messages_before").and_then(Value::as_object_mut) {
        for (group, before) in groups.iter_mut() {
            if !known.contains(&group.as_str()) {
                *before = json!("not_found");
            }
        }
    }
    expected
}

#[derive(Default)]
struct Script {
    conversation: Conversation,
    stamps: GivenIds,
    ids: HashMap<String, EntryId>,
}

fn run(case: &Case) -> Result<Value> {
    let mut script = Script::default();
    for op in list(&case.input, "ops") {
        script.take(op)?;
    }
    let view = script.conversation.view();
    let named = |id: &EntryId| script.name_of(id);
    let info_of = |info: EditInfo| (named(&info.edit_group), edit_info(&info));
    let lookups = list(&case.input, "lookup").iter().filter_map(Value::as_str);
    let before = list(&case.input, "before").iter().filter_map(Value::as_str);
    Ok(json!({
        "active_messages": view.active_messages().into_iter().map(|entry| message(entry)).collect::<Vec<_>>(),
        "leaf_path": path_json(&view.active_leaf_path()),
        "leaf_session": view.active_leaf_session().map(AgentSessionId::as_str),
        "edit_info": view.all_edit_info().into_iter().map(info_of).collect::<Map<_, _>>(),
        "tree": view.top_slots().map(|slot| slot_json(&script, &view, slot)).collect::<Vec<_>>(),
        "edit_info_lookup": lookups
            .map(|group| (group.to_owned(), json!(view.edit_info(&script.id(group)).as_ref().map(edit_info))))
            .collect::<Map<_, _>>(),
        "resolve": list(&case.input, "resolve")
            .iter()
            .map(|path| {
                let found = view.resolve(&path_of(path));
                json!({"path": path, "text": found.map(|timeline| timeline.prompt.body.text())})
            })
            .collect::<Vec<_>>(),
        "messages_before": before
            .map(|group| {
                let said = match view.messages_before(&script.id(group)) {
                    Ok(entries) => entries.into_iter().map(|entry| message(entry)).collect(),
                    Err(_) => json!("not_found"),
                };
                (group.to_owned(), said)
            })
            .collect::<Map<_, _>>(),
    }))
}

impl Script {
    fn take(&mut self, op: &Value) -> Result<()> {
        let group = text(op, "edit_group");
        let path = match op.get("path") {
            Some(path) => path_of(path),
            None => self.conversation.view().active_leaf_path(),
        };
        self.conversation = match text(op, "op") {
            "append_user" => {
                let (next, id) = self.conversation.append_user(prompt(op), binding(op), &mut self.stamps)?;
                self.ids.insert(group.to_owned(), id);
                next
            }
            "append_response" => self.conversation.append_response(&path, response(op), &mut self.stamps),
            "update_last_response" => self.conversation.update_last_response(&path, response(op)),
            "edit" => {
                self.conversation.edit(&self.id(group), text(op, "text"), binding(op), &mut self.stamps)
            }
            "navigate" => {
                let back = op.get("direction").and_then(Value::as_i64).context("no direction")? < 0;
                let step = if back { VersionStep::Previous } else { VersionStep::Next };
                self.conversation.navigate(&self.id(group), step, &mut self.stamps)
            }
            "import_flat" => self.import(list(op, "messages"))?,
            other => bail!("unknown operation `{other}`"),
        };
        Ok(())
    }

    fn import(&mut self, messages: &[Value]) -> Result<Conversation> {
        let bodies = messages.iter().map(|item| match text(item, "kind") {
            "user" => Body::Prompt(prompt(item)),
            "interrupted" => Body::Interrupted(Interruption::Wanted),
            _ => Body::reply(text(item, "text")),
        });
        let next = Conversation::import(bodies, &mut self.stamps)?;
        let groups =
            messages.iter().filter(|item| text(item, "kind") == "user").map(|item| text(item, "edit_group"));
        let prompts = next.tree.entries().filter(|entry| entry.body.is_prompt());
        self.ids.extend(groups.zip(prompts).map(|(group, entry)| (group.to_owned(), entry.id.clone())));
        Ok(next)
    }

    fn id(&self, group: &str) -> EntryId {
        self.ids.get(group).cloned().unwrap_or_else(|| format!("unknown group {group}").into())
    }

    fn name_of(&self, id: &EntryId) -> String {
        let name = self.ids.iter().find(|(_, known)| *known == id).map(|(name, _)| name.clone());
        name.unwrap_or_else(|| id.to_string())
    }
}

fn prompt(op: &Value) -> Prompt {
    Prompt { blocks: vec![Block::Text(text(op, "text").to_owned())], ..Prompt::default() }
}

fn binding(op: &Value) -> Option<Binding> {
    let session = op.get("session").and_then(Value::as_str)?;
    Some(Binding {
        agent_session: Some(session.into()),
        provenance: Provenance::Continued,
        last_message: None,
        agent: None,
        missing: Missing::default(),
        inherited: false,
        model: None,
    })
}

fn response(op: &Value) -> Body {
    let interrupted = op.get("interrupted").and_then(Value::as_bool).unwrap_or_default();
    if interrupted { Body::Interrupted(Interruption::Wanted) } else { Body::reply(text(op, "text")) }
}

fn message(entry: &Entry) -> Value {
    match &entry.body {
        Body::Prompt(_) => json!({"kind": "user", "text": entry.body.text()}),
        Body::Interrupted(_) => json!({"kind": "interrupted"}),
        _ => json!({"kind": "assistant", "text": entry.body.text()}),
    }
}

fn edit_info(info: &EditInfo) -> Value {
    json!({
        "current_index": info.current_index,
        "total_versions": info.total_versions,
        "has_multiple_versions": info.has_multiple_versions,
    })
}

fn path_of(path: &Value) -> SlotPath {
    let numbers =
        |segment: &Value, place: usize| segment.get(place).and_then(Value::as_u64).unwrap_or_default();
    path.as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
        .iter()
        .map(|segment| SlotPathSegment {
            slot: numbers(segment, 0) as usize,
            timeline: numbers(segment, 1) as usize,
        })
        .collect()
}

fn path_json(path: &[SlotPathSegment]) -> Vec<Value> {
    path.iter().map(|segment| json!([segment.slot, segment.timeline])).collect()
}

/// Nested as cases have it. Cases are shallow, so this may recurse.
fn slot_json(script: &Script, view: &SlotView, slot: &Slot) -> Value {
    let timeline = |timeline: &Timeline| {
        json!({
            "text": timeline.prompt.body.text(),
            "session": timeline.session.as_ref().map(AgentSessionId::as_str),
            "responses": timeline.responses.iter().map(|entry| message(entry)).collect::<Vec<_>>(),
            "children": view.child_slots(timeline).map(|slot| slot_json(script, view, slot)).collect::<Vec<_>>(),
        })
    };
    json!({
        "edit_group": script.name_of(&slot.edit_group),
        "active": slot.active,
        "timelines": view.timelines(slot).map(timeline).collect::<Vec<_>>(),
    })
}
