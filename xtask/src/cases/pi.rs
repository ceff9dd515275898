//! pi: contexts, compaction, navigation, files.

use anyhow::{Context as _, Result};
use offshoot_session::about::{about, spoken_text};
use offshoot_session::branch_summary::{collect_left_behind, prepare_branch_summary};
use offshoot_session::compaction::{CompactionSettings, find_cut_point, prepare_compaction, should_compact};
use offshoot_session::context::{Context, ContextOptions, Message, Role, context_of};
use offshoot_session::plan::{Navigation, NavigationRefused, SummaryChoice, plan_navigation};
use offshoot_session::render::{ModelRole, for_model, serialize_for_summary};
use offshoot_session::tokens::{context_tokens, estimate};
use offshoot_session::{Block, Body, Change, Entry, EntryId, HeadName, Record, SessionTree, Setting};
use offshoot_transcripts::pi as dialect;
use serde_json::{Value, json};
use std::sync::Arc;

use super::stamps::GivenIds;
use super::{Case, Kind, as_recorded, decided, list, text};

pub(crate) fn kinds() -> Vec<Kind> {
    let kind = |kind, calls, run, adjust| Kind { product: "pi", kind, calls, run, adjust };
    vec![
        kind("context", "session::context::context_of", context_case, as_recorded),
        kind("navigate", "session::plan::plan_navigation", navigate, navigate_expected),
        kind("branch-collect", "session::branch_summary::collect_left_behind", collect, collect_expected),
        kind(
            "branch-prepare",
            "session::branch_summary::prepare_branch_summary",
            prepare_branch,
            as_recorded,
        ),
        kind("cut-point", "session::compaction::find_cut_point", cut_point, as_recorded),
        kind("prepare-compaction", "session::compaction::prepare_compaction", prepare, as_recorded),
        kind("should-compact", "session::compaction::should_compact", should, as_recorded),
        kind("estimate-tokens", "session::tokens::estimate", estimate_case, as_recorded),
        kind("context-tokens", "session::tokens::context_tokens", context_tokens_case, as_recorded),
        kind("to-llm", "session::render::for_model", to_llm, as_recorded),
        kind("serialize-for-summary", "session::render::serialize_for_summary", serialize, as_recorded),
        kind("migration", "transcripts::pi::migrate_lines", migration, as_recorded),
        kind("file-load", "transcripts::read, transcripts::pi::migrate_lines", file_load, file_load_expected),
        kind("session-info", "transcripts::read, session::about::about", session_info, session_info_expected),
    ]
}

/// The tree of case entries, read by the product's own reader, with the head of the case.
///
/// `leaf` absent: the last entry; null: before the first; unknown: the last entry, as pi has it.
pub(crate) fn tree_of(case: &Case) -> Result<SessionTree> {
    let entries = case_entries(case);
    let mut records = dialect::read_entries(&entries).records;
    if let Some(leaf) = case.input.get("leaf") {
        records.retain(|record| !matches!(record.change, Change::HeadMoved(_)));
        let leaf = decided::lifted(&entries, leaf);
        let known = |id: &EntryId| records.iter().filter_map(Record::as_entry).any(|entry| entry.id == *id);
        let last = records.iter().filter_map(Record::as_entry).next_back().map(|entry| entry.id.clone());
        let to = match leaf.as_str().map(EntryId::from) {
            Some(id) if known(&id) => Some(id),
            Some(_) => last,
            None => None,
        };
        records.push(head_at(to));
    }
    Ok(SessionTree::replay(records).0)
}

fn head_at(to: Option<EntryId>) -> Record {
    let moved_at = jiff::Timestamp::UNIX_EPOCH;
    Record::head_moved(offshoot_session::HeadMove { head: HeadName::main(), moved_at, from: None, to })
}

pub(crate) fn case_entries(case: &Case) -> Vec<Value> {
    let Some(generator) = case.input.get("generator") else { return list(&case.input, "entries").to_vec() };
    let count = generator.get("count").and_then(Value::as_u64).unwrap_or_default();
    let filled = |key: &str, default: &str, i: u64| {
        generator.get(key).and_then(Value::as_str).unwrap_or(default).replace("{i}", &i.to_string())
    };
    (0..count)
        .map(|i| {
            json!({
                "type": "message",
                "id": filled("id", "e{i}", i),
                "parentId": i.checked_sub(1).map(|before| filled("id", "e{i}", before)),
                "timestamp": "2025-01-01T00:00:00.000Z",
                "message": {"role": "user", "content": filled("text", "m{i}", i)},
            })
        })
        .collect()
}

fn context_case(case: &Case) -> Result<Value> {
    let tree = tree_of(case)?;
    let context = context_of(&tree, tree.main_head(), &ContextOptions::pi());
    let said = |message: Option<&Message>| message.map(case_text);
    Ok(json!({
        "messages": context_messages(&context),
        "thinking_level": context.thinking,
        "model": context.model.as_ref().map(|model| json!({"provider": model.provider, "modelId": model.name})),
        "message_count": context.messages.len(),
        "first": said(context.messages.first()),
        "last": said(context.messages.last()),
    }))
}

pub(crate) fn context_messages(context: &Context) -> Vec<Value> {
    shown(&context.messages)
}

fn shown(messages: &[Message]) -> Vec<Value> {
    messages.iter().map(|message| json!({"role": role(message.role()), "text": case_text(message)})).collect()
}

/// Cases show a call of a tool in place of words.
pub(crate) fn case_text(message: &Message) -> String {
    if message.entry.body.blocks().is_empty() {
        return message.text();
    }
    message
        .blocks()
        .map(|block| match block {
            Block::Text(words) => words.clone(),
            Block::ToolUse(call) => format!("<toolCall {}>", call.name),
            Block::Thinking(_) | Block::Image { .. } | Block::Other { .. } => String::new(),
        })
        .collect()
}

pub(crate) fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::ToolResult => "toolResult",
        Role::Shell => "bashExecution",
        Role::Custom => "custom",
        Role::BranchSummary => "branchSummary",
        Role::CompactionSummary => "compactionSummary",
        Role::System => "system",
    }
}

/// What pi calls the entry.
pub(crate) fn type_of(body: &Body) -> String {
    let name = match body {
        Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_) | Body::Shell(_) | Body::System(_) => {
            "message"
        }
        Body::BranchSummary(_) => "branch_summary",
        Body::Compaction(_) => "compaction",
        Body::Setting(Setting::Model { .. }) => "model_change",
        Body::Setting(Setting::Thinking(_)) => "thinking_level_change",
        Body::Setting(_) => "setting",
        Body::CustomMessage(_) => "custom_message",
        Body::Note(_) => "custom",
        Body::Interrupted(_) => "interrupted",
        Body::Merge(_) => "merge",
        Body::Cleared => "reset_boundary",
        Body::ContextEdit(_) => "context_edit",
        Body::Foreign(foreign) => return foreign.kind.clone(),
    };
    name.to_owned()
}

fn navigate(case: &Case) -> Result<Value> {
    let tree = tree_of(case)?;
    let main = HeadName::main();
    let entries = case_entries(case);
    let target = decided::lifted(&entries, case.input.get("target").unwrap_or(&Value::Null));
    let target: EntryId = target.as_str().context("no target")?.into();
    let wanted = case.input.get("summarize").and_then(Value::as_bool).unwrap_or_default();
    let choice = if wanted { SummaryChoice::Summarize } else { SummaryChoice::NoSummary };
    let has_model = case.input.get("has_model").and_then(Value::as_bool).unwrap_or(true);
    let navigation = match plan_navigation(&tree, &main, &target, choice, has_model) {
        Ok(navigation) => navigation,
        Err(NavigationRefused::NotFound(id)) => return Ok(json!({"error": format!("Entry {id} not found")})),
        Err(refused) => return Ok(json!({"error": refused.to_string()})),
    };
    let Navigation::Move { editor_text, common_ancestor, to_summarize, wants_summary, .. } =
        navigation.clone()
    else {
        return Ok(json!({"no_op": true}));
    };
    let mut stamps = GivenIds::default();
    stamps.next_entry("$summary");
    let summary = wants_summary.then(|| offshoot_session::plan::WrittenSummary {
        summary: text(&case.input, "summary_text").into(),
        ..Default::default()
    });
    let plan = navigation.into_plan(&tree, &main, summary, &mut stamps);
    let after = tree.extended(&plan.map(|plan| plan.records).unwrap_or_default())?;
    let context = context_of(&after, after.main_head(), &ContextOptions::pi());
    let summary_entry = after.entry(&"$summary".into()).map(|entry| match &entry.body {
        Body::BranchSummary(summary) => json!({
            "parent": entry.parent.as_ref().map(EntryId::as_str),
            "from_id": summary.from.as_ref().map_or("root", EntryId::as_str),
        }),
        _ => Value::Null,
    });
    Ok(json!({
        "no_op": false,
        "common_ancestor": common_ancestor.as_ref().map(EntryId::as_str),
        "entries_to_summarize": to_summarize.iter().map(EntryId::as_str).collect::<Vec<_>>(),
        "editor_text": editor_text,
        "summary_entry": summary_entry,
        "leaf": after.main_head().map(EntryId::as_str),
        "new_entries": after.len() - tree.len(),
        "context": context_messages(&context),
    }))
}

/// D1: a label is no place to go; choosing one means the entry it stood below.
fn navigate_expected(case: &Case) -> Value {
    let entries = case_entries(case);
    let leaf = decided::lifted(&entries, case.input.get("leaf").unwrap_or(&Value::Null));
    let target = decided::lifted(&entries, case.input.get("target").unwrap_or(&Value::Null));
    if target.is_string() && leaf == target && case.expected.get("error").is_none() {
        return json!({"no_op": true});
    }
    decided::entries_without_facts(case, &["common_ancestor", "entries_to_summarize", "leaf"])
}

fn collect(case: &Case) -> Result<Value> {
    let tree = tree_of(case)?;
    let entries = case_entries(case);
    let point = |key: &str| {
        let id = decided::lifted(&entries, case.input.get(key).unwrap_or(&Value::Null));
        id.as_str().map(EntryId::from)
    };
    let left = collect_left_behind(&tree, point("old_leaf").as_ref(), &point("target").context("no target")?);
    Ok(json!({
        "common_ancestor": left.common_ancestor.as_ref().map(EntryId::as_str),
        "entries": left.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(),
    }))
}

fn collect_expected(case: &Case) -> Value {
    decided::entries_without_facts(case, &["common_ancestor", "entries"])
}

/// Entries of a case in their order, facts left out.
fn read_in_order(values: &[Value]) -> Vec<Arc<Entry>> {
    let records = dialect::read_entries(values).records;
    records
        .into_iter()
        .filter_map(|record| match record.change {
            Change::Entry(entry) => Some(entry),
            Change::Opened(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
        })
        .collect()
}

fn prepare_branch(case: &Case) -> Result<Value> {
    let entries = read_in_order(list(&case.input, "entries"));
    let budget = case.input.get("token_budget").and_then(Value::as_i64).unwrap_or_default();
    let prepared = prepare_branch_summary(&entries.iter().collect::<Vec<_>>(), budget);
    Ok(json!({
        "messages": shown(&prepared.messages),
        "total_tokens": prepared.total_tokens,
        "read_files": prepared.files.read,
        "modified_files": prepared.files.modified,
    }))
}

fn cut_point(case: &Case) -> Result<Value> {
    let entries = read_in_order(list(&case.input, "entries"));
    let number = |key: &str| case.input.get(key).and_then(Value::as_i64).unwrap_or_default();
    let path: Vec<&Arc<Entry>> = entries.iter().collect();
    let (start, end) = (number("start") as usize, number("end") as usize);
    let cut = find_cut_point(&path, start, end, number("keep_recent_tokens"));
    Ok(json!({
        "first_kept_index": cut.first_kept_index,
        "turn_start_index": cut.turn_start_index.map_or(-1, |index| index as i64),
        "is_split_turn": cut.is_split_turn(),
    }))
}

fn settings(value: &Value) -> CompactionSettings {
    let settings = value.get("settings").cloned().unwrap_or_default();
    let number = |key: &str| settings.get(key).and_then(Value::as_i64).unwrap_or_default();
    CompactionSettings {
        enabled: settings.get("enabled").and_then(Value::as_bool).unwrap_or_default(),
        reserve_tokens: number("reserveTokens"),
        keep_recent_tokens: number("keepRecentTokens"),
    }
}

fn prepare(case: &Case) -> Result<Value> {
    let entries = read_in_order(list(&case.input, "path_entries"));
    let path: Vec<&Arc<Entry>> = entries.iter().collect();
    let Some(prepared) = prepare_compaction(&path, &settings(&case.input)) else { return Ok(Value::Null) };
    Ok(json!({
        "first_kept_entry_id": prepared.first_kept.as_str(),
        "messages_to_summarize": beginnings(&prepared.messages_to_summarize),
        "turn_prefix_messages": beginnings(&prepared.turn_prefix),
        "is_split_turn": prepared.is_split_turn,
        "tokens_before": prepared.tokens_before,
        "previous_summary": prepared.previous_summary,
        "read_files": prepared.files.read,
        "modified_files": prepared.files.modified,
    }))
}

/// These cases show the first 40 characters of each message.
fn beginnings(messages: &[Message]) -> Vec<Value> {
    messages
        .iter()
        .map(|message| {
            let text: String = case_text(message).chars().take(40).collect();
            json!({"role": role(message.role()), "text": text})
        })
        .collect()
}

fn should(case: &Case) -> Result<Value> {
    let number = |key: &str| case.input.get(key).and_then(Value::as_i64).unwrap_or_default();
    let compact = should_compact(number("context_tokens"), number("context_window"), &settings(&case.input));
    Ok(json!({ "compact": compact }))
}

/// A message of a case as the entry that would bring it.
fn message(value: &Value) -> Option<Message> {
    let entry = Entry {
        id: "case".into(),
        parent: None,
        written_at: jiff::Timestamp::UNIX_EPOCH,
        turn: None,
        body: dialect::body_of_message(value),
    };
    Message::from_entry(&Arc::new(entry))
}

fn estimate_case(case: &Case) -> Result<Value> {
    let tokens = case.input.get("message").and_then(message).map_or(0, |message| estimate(&message));
    Ok(json!({ "tokens": tokens }))
}

fn messages(case: &Case) -> Vec<Message> {
    list(&case.input, "messages").iter().filter_map(message).collect()
}

fn context_tokens_case(case: &Case) -> Result<Value> {
    let counted = context_tokens(&messages(case));
    Ok(json!({
        "tokens": counted.tokens,
        "usage_tokens": counted.usage_tokens,
        "trailing_tokens": counted.trailing_tokens,
        "last_usage_index": counted.last_usage_index,
    }))
}

fn to_llm(case: &Case) -> Result<Value> {
    let rendered: Vec<Value> = for_model(&messages(case))
        .iter()
        .map(|message| json!({"role": model_role(&message.role), "text": message.text()}))
        .collect();
    Ok(json!({ "messages": rendered }))
}

fn model_role(role: &ModelRole) -> &'static str {
    match role {
        ModelRole::System => "system",
        ModelRole::User => "user",
        ModelRole::Assistant => "assistant",
        ModelRole::ToolResult { .. } => "toolResult",
    }
}

fn serialize(case: &Case) -> Result<Value> {
    Ok(json!({"text": serialize_for_summary(&messages(case))}))
}

fn file_of(lines: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        let text = line.as_str().map_or_else(|| line.to_string(), str::to_owned);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn migration(case: &Case) -> Result<Value> {
    let transcript = offshoot_transcripts::read(None, &file_of(list(&case.input, "lines")))?;
    let mut lines = dialect::migrate_lines(&transcript);
    name_generated_ids(&mut lines, list(&case.input, "lines"));
    Ok(json!({ "lines": lines }))
}

/// Ids that the input does not have were made by the reader; cases call them `$1`, `$2`, … by line.
fn name_generated_ids(lines: &mut [Value], input: &[Value]) {
    let made: Vec<(String, String)> = lines
        .iter()
        .zip(input)
        .enumerate()
        .filter(|(_, (_, given))| given.get("id").is_none())
        .map(|(place, (line, _))| (text(line, "id").to_owned(), format!("${place}")))
        .collect();
    for line in lines {
        for key in ["id", "parentId", "firstKeptEntryId", "fromId", "targetId"] {
            if let Some((_, name)) = made.iter().find(|(id, _)| text(line, key) == id) {
                line[key] = json!(name);
            }
        }
    }
}

fn file_load(case: &Case) -> Result<Value> {
    let bytes = text(&case.input, "file_text").as_bytes();
    let Ok(transcript) = offshoot_transcripts::read(None, bytes) else {
        return Ok(json!({"error": "unreadable"}));
    };
    let written = dialect::migrate_lines(&transcript);
    let types: Vec<&str> = written.iter().map(|line| text(line, "type")).collect();
    let (tree, _) = SessionTree::replay(transcript.records);
    Ok(json!({
        "loaded_types": types,
        "leaf": tree.main_head().map(EntryId::as_str),
        "session_id_kept": tree.header().is_some_and(|header| {
            text(&case.input, "file_text").contains(&format!("\"id\":\"{}\"", header.id))
        }),
    }))
}

/// D3: nothing is rewritten when a file is opened, and a damaged file is never replaced by an empty session: what
/// can be read is read, and a file with nothing in it is an error.
fn file_load_expected(case: &Case) -> Value {
    let mut expected = case.expected.clone();
    for key in ["recovered_as_new_session", "line_types_after_open"] {
        if let Some(fields) = expected.as_object_mut() {
            fields.shift_remove(key);
        }
    }
    if case.expected.get("recovered_as_new_session") == Some(&json!(true)) {
        return d3_readable(case);
    }
    expected
}

/// What D3 says of a file that pi replaces by an empty session: its entries, if it has any.
fn d3_readable(case: &Case) -> Value {
    let lines: Vec<Value> =
        text(&case.input, "file_text").lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let entries: Vec<&Value> =
        lines.iter().filter(|line| !text(line, "id").is_empty() && text(line, "type") != "session").collect();
    match entries.last() {
        Some(last) => json!({"leaf": text(last, "id")}),
        None => json!({"error": "unreadable"}),
    }
}

fn session_info(case: &Case) -> Result<Value> {
    let Ok(transcript) = offshoot_transcripts::read(None, &file_of(list(&case.input, "lines"))) else {
        return Ok(Value::Null);
    };
    let (tree, _) = SessionTree::replay(transcript.records);
    let about = about(&tree);
    let time = |at: Option<jiff::Timestamp>| at.map(|at| format!("{at:.3}"));
    Ok(json!({
        "id": about.id.as_ref().map(|id| id.as_str()),
        "cwd": about.project.unwrap_or_default(),
        "name": about.title,
        "parent_session": about.parent,
        "created": time(about.opened_at),
        "modified": time(about.active_at),
        "message_count": about.messages,
        "first_message": about.first_prompt.unwrap_or_else(|| "(no messages)".to_owned()),
        "all_messages_text": spoken_text(&tree),
    }))
}

/// D3: a file without a header is a session all the same, if there is something to read in it.
fn session_info_expected(case: &Case) -> Value {
    let first = list(&case.input, "lines").first().cloned().unwrap_or_default();
    if case.expected.is_null() && text(&first, "type") != "session" {
        let messages =
            list(&case.input, "lines").iter().filter(|line| text(line, "type") == "message").count();
        return if messages == 0 { Value::Null } else { json!({"message_count": messages}) };
    }
    case.expected.clone()
}
