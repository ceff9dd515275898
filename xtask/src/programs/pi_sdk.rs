//! Whether we read a session of pi as pi's own SDK does: what the model reads at every entry, and what was spent.
//!
//! The context is compared under [`ContextOptions::pi`]; what Offshoot itself leaves out of a context beyond that, such
//! as failed replies, is no concern of pi's. Costs are those that the built program prints.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use offshoot_session::context::{Context, ContextOptions, Message, context_of};
use offshoot_session::{Block, Body, SessionTree, text_of};
use serde_json::{Value, json};

use super::Check;
use super::place::Place;
use super::reading::Reader;

const SCRIPT: &str = include_str!("pi_sdk.mjs");

/// Session files that pi 1.5 wrote, where they are at hand.
pub(super) fn fixtures() -> Vec<PathBuf> {
    let shared =
        std::env::var_os("OFFSHOOT_SHARED").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let folder = shared.join("fixtures/pi-1.5");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skip  pi: the fixtures of pi 1.5 (set OFFSHOOT_SHARED to a folder with `fixtures`)");
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    files.sort();
    files
}

pub(super) fn compared(place: &Place, reader: &Reader, files: &[PathBuf]) -> Result<Vec<Check>> {
    let script = place.write("pi_sdk.mjs", SCRIPT)?;
    let mut checks = Vec::new();
    for file in files {
        let by_pi = asked(place, &script, file)?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let contexts = contexts_of(file, &by_pi["contexts"])?;
        checks.push(Check::new(
            "the context at every entry, as pi's SDK builds it",
            format!("{name}\n{}", in_lines(&contexts)),
            format!("{name}\n{}", in_lines(&known_to(&contexts, &by_pi["contexts"]))),
        ));
        let spent = reader.spent(file)?;
        checks.push(Check::new(
            "the cost, as pi's SDK adds it up",
            format!("{name}\n{spent}"),
            format!("{name}\n{}", by_pi["spent"]),
        ));
    }
    Ok(checks)
}

fn asked(place: &Place, script: &Path, file: &Path) -> Result<Value> {
    let module = place.module("index.js").context("it is not a script")?;
    let mut command = place.runtime().context("it has no runtime")?;
    let said = place.finish(command.arg(script).arg(module).arg(std::path::absolute(file)?), "")?;
    let line = said.lines().find_map(|line| line.strip_prefix('@')).context("the SDK told nothing")?;
    Ok(serde_json::from_str(line)?)
}

/// Our contexts at the entries that pi tells of. Labels, names and usage are lines to pi and no entries to us.
fn contexts_of(file: &Path, by_pi: &Value) -> Result<Value> {
    let bytes = std::fs::read(file).with_context(|| format!("cannot read `{}`", file.display()))?;
    let (tree, _) = SessionTree::replay(offshoot_transcripts::pi::read(None, &bytes).records);
    let at = by_pi.as_object().context("pi told no contexts")?.keys();
    let (known, others): (Vec<&String>, Vec<&String>) = at.partition(|id| tree.contains(&id.as_str().into()));
    // Without this a reading that lost everything would be the same as what is left of pi's.
    ensure!(!known.is_empty(), "`{}`: no entry of pi's is one of ours", file.display());
    let kinds = kinds_of_lines(&bytes);
    for id in others {
        let kind = kinds.get(id).map_or("unknown", String::as_str);
        ensure!(
            matches!(kind, "label" | "session_info" | "usage"),
            "`{}`: the line `{id}` of type `{kind}` is no entry of ours",
            file.display()
        );
    }
    let known = known.into_iter();
    let context = |id: &String| context_of(&tree, Some(&id.as_str().into()), &ContextOptions::pi());
    Ok(Value::Object(known.map(|id| (id.clone(), told(&context(id)))).collect()))
}

/// The types of all lines that have an id.
fn kinds_of_lines(bytes: &[u8]) -> BTreeMap<String, String> {
    let lines = String::from_utf8_lossy(bytes);
    let kind = |line: &str| {
        let line: Value = serde_json::from_str(line).ok()?;
        Some((line["id"].as_str()?.to_owned(), line["type"].as_str()?.to_owned()))
    };
    lines.lines().filter_map(kind).collect()
}

fn known_to(ours: &Value, by_pi: &Value) -> Value {
    let all = by_pi.as_object().cloned().unwrap_or_default();
    Value::Object(all.into_iter().filter(|(id, _)| ours.get(id).is_some()).collect())
}

/// One line for each message, so that a difference is easily found.
fn in_lines(contexts: &Value) -> String {
    let mut lines = Vec::new();
    for (id, context) in contexts.as_object().into_iter().flatten() {
        lines.push(format!("{id} {} {}", context["thinking"], context["model"]));
        let messages = context["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        lines.extend(messages.iter().map(|message| format!("  {message}")));
    }
    lines.join("\n")
}

fn told(context: &Context) -> Value {
    let model = context.model.as_ref().map(|model| format!("{}/{}", model.provider, model.name));
    let messages: Vec<Value> = context.messages.iter().map(message).collect();
    json!({ "thinking": context.thinking, "model": model, "messages": messages })
}

/// As the script tells it.
fn message(message: &Message) -> Value {
    let with = |head: Vec<&str>| {
        let head = head.into_iter().map(Value::from);
        Value::Array(head.chain(message.blocks().map(block)).collect())
    };
    match &message.entry.body {
        Body::Prompt(_) => with(vec!["user"]),
        Body::Reply(_) => with(vec!["assistant"]),
        Body::ToolResult(result) => with(vec!["toolResult", result.call.as_str()]),
        Body::CustomMessage(_) => with(vec!["custom"]),
        Body::Shell(shell) => json!(["bashExecution", shell.command, shell.output]),
        Body::BranchSummary(summary) => json!(["branchSummary", summary.summary]),
        Body::Compaction(compaction) => json!(["compactionSummary", compaction.summary]),
        Body::System(system) => json!(["system", system.text]),
        other => json!(["not a message of pi", text_of(other.blocks())]),
    }
}

fn block(block: &Block) -> Value {
    match block {
        Block::Text(text) => json!(["text", text]),
        Block::Thinking(text) => json!(["thinking", text]),
        Block::Image { media_type, .. } => json!(["image", media_type]),
        Block::ToolUse(call) => json!(["call", call.id.as_str(), call.name, call.input]),
        Block::Other { kind } => json!(["other", kind]),
    }
}
