//! What scripts read. Fields are only ever added; ids are whole, times are RFC 3339, money is micro-dollars.

use offshoot_api::views::BoundView;
use offshoot_session::versions::AllVersions;
use offshoot_session::{
    Block, Body, BranchReason, Entry, EntryId, Interruption, Lineage, Model, SessionTree, Setting, Stop,
};
use serde_json::{Map, Value, json};

use crate::args::JsonShape;

/// One object, or the items of its list one per line.
pub(super) fn printed(object: Value, list: &str, shape: JsonShape) -> String {
    let text = match shape {
        JsonShape::Object => format!("{object:#}\n"),
        JsonShape::Lines => {
            let items = object.get(list).and_then(Value::as_array);
            items.into_iter().flatten().map(|item| format!("{item}\n")).collect()
        }
    };
    escaped(&text)
}

/// One object that is not about a list.
pub(super) fn printed_object(object: Value) -> String {
    escaped(&format!("{object:#}\n"))
}

/// One of many objects, on a line of its own.
pub(super) fn printed_line(object: &Value) -> String {
    escaped(&format!("{object}\n"))
}

/// JSON may hold characters that a terminal obeys; written as escapes they are the same JSON.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => escaped.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// The fields every entry has, then those of its kind.
pub(super) fn entry(tree: &SessionTree, entry: &Entry) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("id", json!(entry.id.as_str()));
    put("parent", json!(tree.parent(&entry.id).map(|parent| parent.id.as_str())));
    put("role", json!(role(&entry.body)));
    put("text", json!(entry.body.text()));
    put("written_at", json!(entry.written_at.to_string()));
    put("label", json!(tree.label(&entry.id)));
    put("branch", json!(tree.branch_name(&entry.id)));
    let images = entry.body.blocks().iter().filter(|block| matches!(block, Block::Image { .. })).count();
    if images > 0 {
        put("images", json!(images));
    }
    match &entry.body {
        Body::Prompt(prompt) => {
            if !prompt.attachments.is_empty() {
                put("attachments", json!(prompt.attachments));
            }
            if let Some(binding) = tree.binding(&entry.id) {
                put("context", json!(BoundView::from(binding)));
            }
        }
        Body::Reply(reply) => {
            put("model", json!(reply.model.as_ref().map(model_name)));
            put("stop", json!(reply.stop.as_ref().map(stop)));
            if let Some(Stop::Error(error)) = &reply.stop {
                put("error", json!(error));
            }
            let calls: Vec<Value> = reply
                .tool_uses()
                .map(|call| json!({"id": call.id.as_str(), "name": call.name, "input": call.input}))
                .collect();
            put("tool_calls", json!(calls));
        }
        Body::ToolResult(result) => {
            put("call", json!(result.call.as_str()));
            put("tool", json!(result.tool));
            put("failed", json!(result.failed));
            if let Some(input) = &result.changed_input {
                put("changed_input", Value::clone(input));
            }
        }
        Body::Shell(shell) => {
            put("output", json!(shell.output));
            put("exit_code", json!(shell.exit_code));
            put("private", json!(shell.private));
        }
        Body::Compaction(compaction) => {
            put("tokens_before", json!(compaction.tokens_before));
            put("first_kept", json!(compaction.first_kept.as_ref().map(|id| id.as_str())));
        }
        Body::BranchSummary(summary) => {
            put("from", json!(summary.from.as_ref().map(|id| id.as_str())));
        }
        Body::Merge(merge) => {
            put("from", json!(merge.from.as_str()));
        }
        Body::Setting(setting) => {
            let (name, value) = setting_value(setting);
            put("setting", json!(name));
            put("value", value);
        }
        Body::CustomMessage(message) => {
            put("kind", json!(message.kind));
        }
        Body::Note(note) => {
            put("kind", json!(note.kind));
            put("data", json!(note.data));
        }
        Body::ContextEdit(edit) => {
            put("target", json!(edit.target.as_str()));
            put("omits", json!(edit.replacement.is_none()));
        }
        Body::Foreign(foreign) => {
            put("kind", json!(foreign.kind));
        }
        Body::Interrupted(why) => {
            put("crash", json!(*why == Interruption::Crash));
        }
        Body::System(_) | Body::Cleared => {}
    }
    if let Some(usage) = entry.body.usage() {
        put(
            "usage",
            json!({
                "input": usage.input, "output": usage.output, "cache_read": usage.cache_read,
                "cache_write": usage.cache_write, "cost_micros": usage.cost_micros,
            }),
        );
    }
    fields
}

/// Which version of its prompt an entry is, and what all its versions have in common: the id of the oldest.
pub(super) fn add_version(
    fields: &mut Map<String, Value>,
    tree: &SessionTree,
    versions: &AllVersions,
    id: &EntryId,
) {
    let version = versions.get(tree, id);
    let version = version.map(|version| json!({"number": version.number, "of": version.of}));
    fields.insert("version".to_owned(), version.unwrap_or_default());
    if let Some(group) = versions.edit_group(tree, id) {
        fields.insert("edit_group".to_owned(), json!(group.as_str()));
    }
}

fn role(body: &Body) -> &'static str {
    match body {
        Body::Prompt(_) => "user",
        Body::Reply(_) => "assistant",
        Body::ToolResult(_) => "tool_result",
        Body::Shell(_) => "shell",
        Body::Interrupted(_) => "interrupted",
        Body::BranchSummary(_) => "branch_summary",
        Body::Compaction(_) => "compaction",
        Body::Setting(_) => "setting",
        Body::Merge(_) => "merge",
        Body::CustomMessage(_) => "custom",
        Body::Note(_) => "note",
        Body::System(_) => "system",
        Body::Cleared => "cleared",
        Body::ContextEdit(_) => "context_edit",
        Body::Foreign(_) => "foreign",
    }
}

fn stop(stop: &Stop) -> &str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::Length => "length",
        Stop::Aborted => "aborted",
        Stop::Error(_) => "error",
        Stop::Other(other) => other,
    }
}

fn setting_value(setting: &Setting) -> (&'static str, Value) {
    match setting {
        Setting::Agent(agent) => ("agent", json!(agent)),
        Setting::Model { role, model } => {
            ("model", json!({"role": role, "provider": model.provider, "name": model.name}))
        }
        Setting::Thinking(level) => ("thinking", json!(level)),
        Setting::Tools(tools) => ("tools", json!(tools)),
        Setting::PermissionMode(mode) => ("permission_mode", json!(mode)),
        Setting::Mode { mode, data } => ("mode", json!({"mode": mode, "data": data})),
        Setting::ServiceTier(tier) => ("service_tier", json!(tier)),
        Setting::Config(data) => ("config", data.clone()),
    }
}

/// `provider/name`.
pub(super) fn model_name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.name)
}

/// Where and why a session branched, as its header says; `null` for a root.
pub(super) fn lineage(lineage: Option<&Lineage>) -> Value {
    lineage.map_or(Value::Null, |lineage| {
        json!({
            "parent": lineage.parent,
            "branch_point": lineage.message_index,
            "branch_reason": lineage.reason.as_ref().map(BranchReason::word),
            "branch_metadata": lineage.metadata,
        })
    })
}
