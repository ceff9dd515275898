//! Records that were never a line of pi, as lines of version 3.

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, Entry, EntryId, Fact, FileLists, ImageData, Reply, SessionHeader, Setting, Stop, Usage,
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
            fields.into_iter().filter(|(_, value)| *value != Value::Null || kind == "thinking_level_change"),
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
        Fact::Spent { usage } => Some(("usage", json!({ "kind": "offshoot", "usage": usage_json(usage) }))),
        Fact::BranchName { .. }
        | Fact::Checkpoint { .. }
        | Fact::Bound { .. }
        | Fact::TurnEnded { .. }
        | Fact::Archived { .. }
        | Fact::Operation { .. }
        | Fact::Began { .. }
        | Fact::Forked { .. }
        | Fact::Undone { .. }
        | Fact::Redone { .. } => None,
    }
}

fn kind_and_fields(entry: &Entry) -> (&'static str, Value, Option<Loss>) {
    let said_at = match &entry.body {
        Body::Prompt(prompt) => prompt.said_at,
        Body::Reply(reply) => reply.said_at,
        _ => None,
    };
    let at = said_at.unwrap_or(entry.written_at).as_millisecond();
    let message = |message: Value| {
        let Value::Object(mut message) = message else { return Value::Null };
        message.retain(|_, value| !value.is_null());
        message.insert("timestamp".into(), at.into());
        json!({ "message": message })
    };
    let custom = |custom: Custom| {
        ("custom", json!({ "customType": custom.kind, "data": custom.data }), Some(custom.loss))
    };
    match &entry.body {
        Body::Prompt(prompt) => {
            let attachments = Some(&prompt.attachments).filter(|names| !names.is_empty());
            let said = json!({
                "role": "user", "content": blocks_json(&prompt.blocks), "attachments": attachments,
            });
            ("message", message(said), None)
        }
        Body::Reply(reply) => ("message", message(reply_json(reply)), None),
        Body::ToolResult(result) => {
            let said = json!({
                "role": "toolResult", "toolCallId": result.call.as_str(), "toolName": result.tool,
                "content": blocks_json(&result.blocks), "isError": result.failed,
            });
            ("message", message(said), None)
        }
        Body::Shell(shell) => {
            let ran = json!({
                "role": "bashExecution", "command": shell.command, "output": shell.output,
                "exitCode": shell.exit_code, "cancelled": shell.cancelled,
                "truncated": shell.full_output.is_some(), "fullOutputPath": shell.full_output,
                "excludeFromContext": shell.private.then_some(true),
            });
            ("message", message(ran), None)
        }
        Body::System(system) => {
            ("message", message(json!({ "role": "system", "content": system.text })), None)
        }
        Body::BranchSummary(summary) => {
            let fields = json!({
                "fromId": summary.from.as_ref().map_or("root", EntryId::as_str), "summary": summary.summary,
                "abandonedLeafId": summary.left.as_ref().map(EntryId::as_str),
                "details": details_json(summary.details.as_ref(), &summary.files),
                "fromHook": summary.from_extension.then_some(true),
            });
            ("branch_summary", fields, None)
        }
        Body::Compaction(compaction) => {
            // Its own id says that nothing is kept.
            let kept = compaction.first_kept.as_ref().unwrap_or(&entry.id);
            let fields = json!({
                "summary": compaction.summary, "firstKeptEntryId": kept.as_str(),
                "tokensBefore": compaction.tokens_before,
                "details": details_json(compaction.details.as_ref(), &compaction.files),
                "fromHook": compaction.from_extension.then_some(true),
            });
            ("compaction", fields, None)
        }
        Body::Setting(Setting::Model { role: None, model }) => {
            ("model_change", json!({ "provider": model.provider, "modelId": model.name }), None)
        }
        Body::Setting(Setting::Thinking(level)) => {
            ("thinking_level_change", json!({ "thinkingLevel": level }), None)
        }
        Body::Setting(setting) => custom(ours::setting(setting)),
        Body::Merge(merge) => match &merge.summary {
            Some(summary) => {
                let fields = json!({
                    "customType": MERGE, "content": summary, "display": true,
                    "details": { "from": merge.from.as_str() },
                });
                ("custom_message", fields, Some(Loss::MergeSides))
            }
            None => custom(ours::merge_without_words(merge)),
        },
        Body::CustomMessage(said) => {
            let fields = json!({
                "customType": said.kind, "content": blocks_json(&said.blocks), "display": said.display,
                "attribution": said.attribution,
            });
            ("custom_message", fields, None)
        }
        Body::Note(note) => ("custom", json!({ "customType": note.kind, "data": note.data }), None),
        Body::Interrupted => custom(ours::interrupted()),
        Body::Cleared => custom(ours::cleared()),
        Body::Foreign(foreign) => custom(ours::foreign(foreign)),
    }
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
