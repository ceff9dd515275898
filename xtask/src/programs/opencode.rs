//! opencode, one prompt a process, given on its input: what stands among its arguments is put into quotation marks.
//! A fork and a sub-agent are sessions of their own in the same database; only the latter names its parent. What is read
//! is the database itself, as opencode leaves it, and beside it what opencode exports.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::Check;
use super::place::Place;
use super::reading::Reader;
use super::story::{self, AGAIN, ASK, FIRST, ONCE_MORE, OTHER};

pub(super) fn talk(place: &Place, reader: &Reader) -> Result<Vec<Check>> {
    let model = json!({"name": "Scripted", "tool_call": true, "limit": {"context": 128_000, "output": 4096}});
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "Scripted",
        "options": {"baseURL": format!("{}/v1", place.server.url()), "apiKey": "dummy"},
        "models": {"scripted": model}});
    let config = json!({"autoupdate": false, "share": "disabled", "permission": "allow",
        "model": "scripted/scripted", "small_model": "scripted/scripted", "provider": {"scripted": provider}});
    place.write("config/opencode/opencode.json", &config.to_string())?;

    let say = |more: &[&str], prompt: &str| {
        let said = place.finish(command(place).args(["run", "--format", "json"]).args(more), prompt)?;
        session_of(&said)
    };
    let session = say(&[], FIRST)?;
    let fork = say(&["-s", &session, "--fork"], OTHER)?;
    say(&["-s", &session], ASK)?;
    let retried = say(&[], AGAIN)?;
    say(&["-s", &retried], ONCE_MORE)?;

    let tools = story::tools("opencode");
    let agent = tools.agent.context("it has sub-agents")?;
    let (first, asked, other) = (story::first(&tools), story::asked(agent, story::NOTE), story::other());
    let export = exported(place, &session)?;
    let helper = helper_of(&std::fs::read_to_string(&export)?)?;
    let database = place.file("the database", |path| path.ends_with("opencode.db"))?;
    let read = |session: &str| reader.tree(&database.join(session));
    let main = first.clone() + &asked;
    let mut checks = vec![
        Check::new("a tool call and a sub-agent's call", read(&session)?, &main),
        Check::new("a fork", read(&fork)?, first + &other),
        Check::new("a sub-agent", read(&helper)?, story::helper(&tools)),
        Check::new(
            "replies after failures of the model",
            read(&retried)?,
            story::again() + &story::once_more(),
        ),
        Check::new("the same session as it is exported", reader.look(&export)?, &main),
    ];
    checks.push(Check::new("the sub-agent's link to its session", reader.parent(&helper)?, &session));
    Ok(checks)
}

fn command(place: &Place) -> Command {
    let mut command = place.command();
    for folder in ["data", "config", "cache", "state"] {
        command.env(format!("XDG_{}_HOME", folder.to_uppercase()), place.home.join(folder));
    }
    for off in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS"] {
        command.env(format!("OPENCODE_DISABLE_{off}"), "1");
    }
    command
}

fn session_of(said: &str) -> Result<String> {
    let first = said.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let id = first.as_ref().and_then(|line| line["sessionID"].as_str());
    Ok(id.with_context(|| format!("no session in what it said: {said}"))?.to_owned())
}

/// The sub-agent's session, from the call that started it.
fn helper_of(export: &str) -> Result<String> {
    let export: Value = serde_json::from_str(export)?;
    let messages = export["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().into_iter().flatten());
    let started = parts.into_iter().find(|part| part["tool"] == "task").context("no sub-agent was called")?;
    let id = started.pointer("/state/metadata/sessionId").and_then(Value::as_str);
    Ok(id.with_context(|| format!("the call names no session: {started}"))?.to_owned())
}

fn exported(place: &Place, session: &str) -> Result<PathBuf> {
    let export = place.finish(command(place).args(["export", session]), "")?;
    place.write(&format!("{session}.json"), &export)
}
