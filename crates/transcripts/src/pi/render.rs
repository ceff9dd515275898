//! Records that were never a line of pi, as lines of version 3.

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, BranchSummary, Compaction, ContextEdit, CustomMessage, Entry, EntryId, Fact, FileLists,
    ImageData, Merge, Prompt, Reply, SessionHeader, Setting, Shell, Stop, ToolResult, Usage,
};
use serde_json::{Value, json};

use super::ours::{self, Custom, MERGE};
use crate::Loss;
use crate::json::{Map, rfc3339};

pub(super) fn header_line(header: &SessionHeader) -> Map {
    let mut line = Map::new();
    line.insert("type".into(), "session".into());
    line.insert("version".into(), 3.into());
    line.insert("id".into(), header.id.as_str().into());
    line.insert("timestamp".into(), rfc3339(header.opened_at).into());
    line.insert("cwd".into(), header.project.as_deref().unwrap_or_default().into());
    if let Some(model) = &header.model {
        line.insert("provider".into(), model.provider.as_str().into());
        line.insert("modelId".into(), model.name.as_str().into());
    }
    if let Some(lineage) = &header.lineage {
        line.insert("parentSession".into(), lineage.parent.as_str().into());
    }
    line
}

/// Kinds of lines with a field whose `null` says something: no level of thinking, a message that is omitted.
const MEANS_SOMETHING_BY_NULL: &[&str] = &["thinking_level_change", "context_edit"];

/// A line in the chain: the four fields that all share, then those of its kind.
pub(super) fn chain_line(
    kind: &str,
    id: &EntryId,
    parent: Option<&EntryId>,
    at: Timestamp,
    fields: Value,
) -> Map {
    let mut line = Map::new();
    line.insert("type".into(), kind.into());
    line.insert("id".into(), id.as_str().into());
    line.insert("parentId".into(), parent.map(EntryId::as_str).into());
    line.insert("timestamp".into(), rfc3339(at).into());
    if let Value::Object(fields) = fields {
        line.extend(
            fields
                .into_iter()
                .filter(|(_, value)| *value != Value::Null || MEANS_SOMETHING_BY_NULL.contains(&kind)),
        );
    }
    line
}

/// The line of an entry, and what pi will not understand of it.
pub(super) fn entry_line(entry: &Entry) -> (Map, Option<Loss>) {
    let (kind, fields, loss) = kind_and_fields(entry);
    (chain_line(kind, &entry.id, entry.parent.as_ref(), entry.written_at, fields), loss)
}

/// The line of a fact that pi has a kind for.
pub(super) fn fact_fields(fact: &Fact) -> Option<(&'static str, Value)> {
    match fact {
        Fact::Label { target, label } => {
            Some(("label", json!({ "targetId": target.as_str(), "label": label })))
        }
        Fact::Title { title, .. } => {
            Some(("session_info", json!({ "name": title.as_deref().unwrap_or_default() })))
        }
        Fact::Spent { usage, .. } => {
            Some(("usage", json!({ "kind": "offshoot", "usage": usage_json(usage) })))
        }
        Fact::BranchName { .. }
        | Fact::Checkpoint { .. }
        | Fact::Bound { .. }
        | Fact::Delivered { .. }
        | Fact::TurnEnded { .. }
        | Fact::Archived { .. }
        | Fact::Operation { .. }
        | Fact::Began { .. }
        | Fact::Forked { .. }
        | Fact::Undone { .. }
        | Fact::Redone { .. } => None,
    }
}

type Fields = (&'static str, Value, Option<Loss>);

fn kind_and_fields(entry: &Entry) -> Fields {
    match &entry.body {
        Body::Prompt(prompt) => message(entry, prompt_json(prompt)),
        Body::Reply(reply) => message(entry, reply_json(reply)),
        Body::ToolResult(result) => message(entry, tool_result_json(result)),
        Body::Shell(shell) => message(entry, shell_json(shell)),
        Body::System(system) => message(entry, json!({ "role": "system", "content": system.text })),
        Body::BranchSummary(summary) => ("branch_summary", branch_summary_json(summary), None),
        Body::Compaction(compaction) => {
            // pi's own checkpoint names tools too. Without one it states its instructions again.
            let loss = compaction.system.as_ref().map(|_| Loss::Instructions);
            ("compaction", compaction_json(compaction, &entry.id), loss)
        }
        Body::Setting(setting) => setting_fields(setting),
        Body::Merge(merge) => merge_fields(merge),
        Body::CustomMessage(said) => ("custom_message", custom_message_json(said), None),
        Body::Note(note) => ("custom", json!({ "customType": note.kind, "data": note.data }), None),
        Body::Interrupted(why) => custom(ours::interrupted(*why)),
        Body::Cleared => custom(ours::cleared()),
        Body::ContextEdit(edit) => ("context_edit", context_edit_json(edit), None),
        Body::Foreign(foreign) => custom(ours::foreign(foreign)),
    }
}

/// What somebody said, with when.
fn message(entry: &Entry, said: Value) -> Fields {
    let said_at = match &entry.body {
        Body::Prompt(prompt) => prompt.said_at,
        Body::Reply(reply) => reply.said_at,
        _ => None,
    };
    let at = said_at.unwrap_or(entry.written_at).as_millisecond();
    let Value::Object(mut message) = said else { return ("message", Value::Null, None) };
    message.retain(|_, value| !value.is_null());
    message.insert("timestamp".into(), at.into());
    ("message", json!({ "message": message }), None)
}

/// What the format has no place for, kept under a name of ours.
fn custom(custom: Custom) -> Fields {
    ("custom", json!({ "customType": custom.kind, "data": custom.data }), Some(custom.loss))
}

fn prompt_json(prompt: &Prompt) -> Value {
    let attachments = Some(&prompt.attachments).filter(|names| !names.is_empty());
    json!({ "role": "user", "content": blocks_json(&prompt.blocks), "attachments": attachments })
}

fn tool_result_json(result: &ToolResult) -> Value {
    json!({
        "role": "toolResult", "toolCallId": result.call.as_str(), "toolName": result.tool,
        "content": blocks_json(&result.blocks), "isError": result.failed,
        "usage": result.usage.as_deref().map(usage_json),
    })
}

fn shell_json(shell: &Shell) -> Value {
    json!({
        "role": "bashExecution", "command": shell.command, "output": shell.output,
        "exitCode": shell.exit_code, "cancelled": shell.cancelled,
        "truncated": shell.full_output.is_some(), "fullOutputPath": shell.full_output,
        "excludeFromContext": shell.private.then_some(true),
    })
}

fn branch_summary_json(summary: &BranchSummary) -> Value {
    json!({
        "fromId": summary.from.as_ref().map_or("root", EntryId::as_str), "summary": summary.summary,
        "abandonedLeafId": summary.left.as_ref().map(EntryId::as_str),
        "details": details_json(summary.details.as_ref(), &summary.files),
        "usage": summary.usage.as_deref().map(usage_json),
        "fromHook": summary.from_extension.then_some(true),
    })
}

fn compaction_json(compaction: &Compaction, own: &EntryId) -> Value {
    // Its own id says that nothing is kept.
    let kept = compaction.first_kept.as_ref().unwrap_or(own);
    json!({
        "summary": compaction.summary, "firstKeptEntryId": kept.as_str(),
        "tokensBefore": compaction.tokens_before,
        "details": details_json(compaction.details.as_ref(), &compaction.files),
        "usage": compaction.usage.as_deref().map(usage_json),
        "fromHook": compaction.from_extension.then_some(true),
    })
}

fn context_edit_json(edit: &ContextEdit) -> Value {
    let replacement = edit.replacement.as_deref().map(|blocks| json!({ "content": blocks_json(blocks) }));
    json!({ "targetId": edit.target.as_str(), "replacement": replacement })
}

fn setting_fields(setting: &Setting) -> Fields {
    match setting {
        Setting::Model { role: None, model } => {
            ("model_change", json!({ "provider": model.provider, "modelId": model.name }), None)
        }
        Setting::Thinking(level) => ("thinking_level_change", json!({ "thinkingLevel": level }), None),
        setting => custom(ours::setting(setting)),
    }
}

fn merge_fields(merge: &Merge) -> Fields {
    let Some(summary) = &merge.summary else { return custom(ours::merge_without_words(merge)) };
    let fields = json!({
        "customType": MERGE, "content": summary, "display": true,
        "details": { "from": merge.from.as_str() },
    });
    ("custom_message", fields, Some(Loss::MergeSides))
}

fn custom_message_json(said: &CustomMessage) -> Value {
    json!({
        "customType": said.kind, "content": blocks_json(&said.blocks), "display": said.display,
        "attribution": said.attribution,
    })
}

fn reply_json(reply: &Reply) -> Value {
    let (stop, error) = match &reply.stop {
        None | Some(Stop::EndTurn) => ("stop", None),
        Some(Stop::ToolUse) => ("toolUse", None),
        Some(Stop::Length) => ("length", None),
        Some(Stop::Aborted) => ("aborted", None),
        Some(Stop::Error(error)) => ("error", Some(error)),
        Some(Stop::Other(other)) => (other.as_str(), None),
    };
    json!({
        "role": "assistant", "content": blocks_json(&reply.blocks),
        "provider": reply.model.as_ref().map(|model| &model.provider),
        "model": reply.model.as_ref().map(|model| &model.name),
        // pi adds these numbers up without asking whether they are there
        "usage": usage_json(&reply.usage.unwrap_or_default()),
        "stopReason": stop, "errorMessage": error,
    })
}

fn usage_json(usage: &Usage) -> Value {
    json!({
        "input": usage.input, "output": usage.output,
        "cacheRead": usage.cache_read, "cacheWrite": usage.cache_write, "totalTokens": usage.total,
        "cost": {
            "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0,
            "total": usage.cost_micros as f64 / 1e6,
        },
    })
}

fn details_json(details: Option<&Value>, files: &FileLists) -> Value {
    match details {
        Some(details) => details.clone(),
        None if *files == FileLists::default() => Value::Null,
        None => json!({ "readFiles": files.read, "modifiedFiles": files.modified }),
    }
}

pub(crate) fn blocks_json(blocks: &[Block]) -> Value {
    blocks.iter().map(block_json).collect()
}

fn block_json(block: &Block) -> Value {
    match block {
        Block::Text(words) => json!({ "type": "text", "text": words }),
        Block::Thinking(words) => json!({ "type": "thinking", "thinking": words }),
        Block::Image { media_type, data } => {
            let data = match data {
                ImageData::Inline(data) => data.clone(),
                ImageData::Blob(name) => format!("blob:{name}"),
            };
            json!({ "type": "image", "data": data, "mimeType": media_type })
        }
        Block::ToolUse(call) => json!({
            "type": "toolCall", "id": call.id.as_str(), "name": call.name, "arguments": call.input,
        }),
        Block::Other { kind } => json!({ "type": kind }),
    }
}
