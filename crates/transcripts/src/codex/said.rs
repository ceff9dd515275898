//! What a line says by itself, in any of the three generations: bare items under a header without a type
//! (2025), items and events wrapped as `{timestamp, type, payload}` (2026), the same with an `ordinal`.

use jiff::Timestamp;
use offshoot_session::{
    Block, Body, Compaction, FileLists, Foreign, Note, Prompt, Reply, Stop, TurnId, text_of,
};
use serde_json::Value;

use super::header::{Meta, meta_of};
use super::item::{Item, Words, content_of, is_summary_for_compaction, item_of};
use super::settings::{Settings, of_thread, of_turn};
use super::usage::{Count, count_of_event, count_of_record};
use crate::images::image_at;
use crate::json::{Map, id_text, integer, text, timestamp};
use crate::nested::{array, object, objects};

#[derive(Debug)]
pub(super) struct Said {
    pub(super) ordinal: Option<u64>,
    /// The outer `None`: the line has no place for a time.
    pub(super) written_at: Option<Option<Timestamp>>,
    pub(super) what: What,
    pub(super) unknown_type: Option<String>,
}

#[derive(Debug)]
pub(super) enum What {
    Header(Box<Meta>),
    /// With the turn they are for.
    Settings(Box<Settings>, Option<TurnId>),
    Entry(Body),
    User {
        prompt: Prompt,
        words: Words,
    },
    /// An event that repeats an item, for files that have no items.
    Echo(Echo, Body),
    TurnStarted(TurnId),
    TurnEnded(Option<TurnId>),
    TurnAborted(Option<TurnId>),
    Count(Count),
    RolledBack {
        turns: u64,
    },
    Title(String),
    /// Known, and no part of the tree.
    Nothing,
    Nameless,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Echo {
    User,
    Agent,
    Reasoning,
}

/// Whether an object looks like a line of a rollout.
pub(crate) fn is_line(map: &Map) -> bool {
    const LINES: [&str; 6] =
        ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"];
    const BARE: [&str; 6] = [
        "reasoning",
        "function_call",
        "function_call_output",
        "local_shell_call",
        "custom_tool_call",
        "custom_tool_call_output",
    ];
    match text(map, "type") {
        Some(kind) if map.contains_key("payload") => LINES.contains(&kind),
        Some("message") => objects(map, "content")
            .any(|part| matches!(text(part, "type"), Some("input_text" | "output_text"))),
        Some(kind) => BARE.contains(&kind),
        None => {
            map.contains_key("record_type")
                || (map.contains_key("id")
                    && map.contains_key("timestamp")
                    && map.contains_key("instructions"))
        }
    }
}

pub(super) fn said(line: &Map) -> Said {
    let mut said = Said {
        ordinal: line.get("ordinal").and_then(Value::as_u64),
        written_at: line.get("timestamp").map(timestamp),
        what: What::Nothing,
        unknown_type: None,
    };
    let (what, unknown_type) = match (text(line, "type"), object(line, "payload")) {
        (Some(kind), Some(payload)) => wrapped(kind, payload, line),
        (Some(kind), None) => bare(kind, line),
        (None, _) if line.contains_key("record_type") => (What::Nothing, None),
        (None, _) if line.get("id").and_then(id_text).is_some() && line.contains_key("timestamp") => {
            (What::Header(Box::new(meta_of(line))), None)
        }
        (None, _) => (What::Nameless, None),
    };
    said.what = what;
    said.unknown_type = unknown_type;
    said
}

fn bare(kind: &str, line: &Map) -> (What, Option<String>) {
    item(kind, line, line)
}

fn wrapped(kind: &str, payload: &Map, line: &Map) -> (What, Option<String>) {
    let what = match kind {
        "session_meta" => What::Header(Box::new(meta_of(payload))),
        "turn_context" => What::Settings(Box::new(of_turn(payload)), turn_in(payload)),
        "response_item" => {
            let name = format!("response_item/{}", text(payload, "type").unwrap_or_default());
            return item(&name, payload, line);
        }
        "event_msg" => return event(payload),
        "compacted" => What::Entry(Body::Compaction(compaction_of(payload))),
        "token_usage_record" => count_of_record(payload).map_or(What::Nothing, What::Count),
        "world_state"
        | "inter_agent_communication"
        | "inter_agent_communication_metadata"
        | "security_risk_score" => What::Nothing,
        _ => return (What::Nothing, Some(kind.to_owned())),
    };
    (what, None)
}

fn item(name: &str, payload: &Map, line: &Map) -> (What, Option<String>) {
    match item_of(payload) {
        Item::Said(Body::Reply(reply)) if is_summary_for_compaction(line) => {
            let text = Some(text_of(&reply.blocks));
            (What::Entry(Body::Foreign(Foreign { kind: "compaction_output".to_owned(), text })), None)
        }
        Item::Said(body) => (What::Entry(body), None),
        Item::User { prompt, words } => (What::User { prompt, words }, None),
        Item::Unknown(body) => (What::Entry(body), Some(name.to_owned())),
    }
}

fn event(payload: &Map) -> (What, Option<String>) {
    let Some(kind) = text(payload, "type") else { return (What::Nameless, None) };
    let what = match kind {
        "task_started" | "turn_started" => turn_in(payload).map_or(What::Nothing, What::TurnStarted),
        "task_complete" | "turn_complete" => What::TurnEnded(turn_in(payload)),
        "turn_aborted" => What::TurnAborted(turn_in(payload)),
        "token_count" => count_of_event(payload).map_or(What::Nothing, What::Count),
        "thread_settings_applied" => What::Settings(Box::new(of_thread(payload)), None),
        "thread_rolled_back" => {
            let turns = integer(payload, "num_turns").and_then(|turns| u64::try_from(turns).ok());
            What::RolledBack { turns: turns.unwrap_or(0) }
        }
        "thread_name_updated" => {
            text(payload, "thread_name").map_or(What::Nothing, |name| What::Title(name.to_owned()))
        }
        "user_message" => What::Echo(Echo::User, Body::Prompt(prompt_of_event(payload))),
        "agent_message" => What::Echo(Echo::Agent, reply_of_event(payload, "message", Block::Text)),
        "agent_reasoning" | "agent_reasoning_raw_content" => {
            What::Echo(Echo::Reasoning, reply_of_event(payload, "text", Block::Thinking))
        }
        "item_completed" => echo_of_item(payload),
        "error" => {
            let error = object(payload, "error");
            let words = text(payload, "message").or_else(|| text(error?, "message")).unwrap_or_default();
            let stop = Some(Stop::Error(words.to_owned()));
            What::Entry(Body::Reply(Reply { stop, ..Reply::default() }))
        }
        "collab_agent_spawn_end" | "entered_review_mode" | "exited_review_mode" => {
            What::Entry(Body::Note(Note {
                kind: kind.to_owned(),
                data: Some(Value::Object(payload.clone())),
            }))
        }
        _ if is_quiet(kind) => What::Nothing,
        _ => return (What::Nothing, Some(format!("event_msg/{kind}"))),
    };
    (what, None)
}

/// Events about calls that stand as items beside them, about the workspace or about the program itself.
fn is_quiet(kind: &str) -> bool {
    const QUIET: [&str; 31] = [
        "agent_reasoning_section_break",
        "apply_patch_approval_request",
        "background_event",
        "collab_agent_interaction_end",
        "collab_close_end",
        "collab_resume_end",
        "collab_waiting_end",
        "context_compacted",
        "deprecation_notice",
        "dynamic_tool_call_request",
        "dynamic_tool_call_response",
        "exec_approval_request",
        "exec_command_begin",
        "exec_command_end",
        "guardian_assessment",
        "image_generation_end",
        "item_started",
        "mcp_startup_complete",
        "mcp_tool_call_begin",
        "mcp_tool_call_end",
        "patch_apply_begin",
        "patch_apply_end",
        "plan_update",
        "session_configured",
        "stream_error",
        "sub_agent_activity",
        "thread_goal_updated",
        "undo_completed",
        "view_image_tool_call",
        "warning",
        "web_search_end",
    ];
    QUIET.contains(&kind)
}

fn turn_in(payload: &Map) -> Option<TurnId> {
    payload.get("turn_id").and_then(id_text).map(TurnId::from)
}

fn prompt_of_event(payload: &Map) -> Prompt {
    let words = text(payload, "message").filter(|words| !words.is_empty());
    let images = array(payload, "images").iter().filter_map(Value::as_str).map(image_at);
    let blocks = words.map(|words| Block::Text(words.to_owned())).into_iter().chain(images).collect();
    let attachments = crate::json::strings(payload, "local_images");
    Prompt { blocks, attachments, said_at: None }
}

fn reply_of_event(payload: &Map, key: &str, block: fn(String) -> Block) -> Body {
    let blocks = text(payload, key).map(|words| block(words.to_owned())).into_iter().collect();
    Body::Reply(Reply { blocks, ..Reply::default() })
}

/// Newer versions end every item with an event; what the person said is told apart by it.
fn echo_of_item(payload: &Map) -> What {
    let Some(item) = object(payload, "item") else { return What::Nothing };
    let blocks = content_of(item);
    match text(item, "type") {
        Some("UserMessage") => What::Echo(Echo::User, Body::Prompt(Prompt { blocks, ..Prompt::default() })),
        Some("AgentMessage") => What::Echo(Echo::Agent, Body::Reply(Reply { blocks, ..Reply::default() })),
        Some(_) | None => What::Nothing,
    }
}

/// From here the model reads `replacement_history`; it is kept whole for whoever continues the thread.
fn compaction_of(payload: &Map) -> Compaction {
    let words = text(payload, "message").filter(|words| !words.trim().is_empty()).map(str::to_owned);
    let summary = words.unwrap_or_else(|| {
        let kept = objects(payload, "replacement_history").map(|item| text_of(&content_of(item)));
        kept.filter(|words| !words.is_empty()).collect::<Vec<_>>().join("\n\n")
    });
    let details = payload.get("replacement_history").map(|history| {
        let mut details = Map::new();
        details.insert("replacement_history".into(), history.clone());
        Value::Object(details)
    });
    Compaction {
        summary,
        first_kept: None,
        tokens_before: 0,
        files: FileLists::default(),
        details,
        from_extension: false,
        usage: None,
        system: None,
    }
}
