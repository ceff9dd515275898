//! Claude Code, one prompt a process. An edited prompt is a branch in the same file; a fork is a file of its own with
//! the same uuids; a sub-agent has a file in a folder beside the session.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Check;
use super::place::Place;
use super::reading::Reader;
use super::story::{self, AGAIN, ASK, FIRST, ONCE_MORE, OTHER};

const SESSION: &str = "0f000000-0000-4000-8000-000000000001";
const FORK: &str = "0f000000-0000-4000-8000-000000000002";
const RETRIED: &str = "0f000000-0000-4000-8000-000000000003";

pub(super) fn talk(place: &Place, reader: &Reader) -> Result<Vec<Check>> {
    let say = |more: &[&str], prompt: &str| {
        let said = place.finish(command(place).args(more).arg(prompt), "")?;
        match said.lines().filter_map(|line| serde_json::from_str(line).ok()).find(is_result) {
            Some(result) if result["is_error"] == false => Ok(()),
            other => bail!("`{prompt}` went wrong: {other:?}"),
        }
    };
    say(&["--session-id", SESSION], FIRST)?;
    let file = place.file("the session", |path| is_named(path, SESSION))?;
    let end = last_reply(&file)?;
    say(&["--resume", SESSION], ASK)?;
    say(&["--resume", SESSION, "--resume-session-at", &end], OTHER)?;
    let fork = ["--resume", SESSION, "--fork-session", "--session-id", FORK, "--resume-session-at", &end];
    say(&fork, OTHER)?;
    say(&["--session-id", RETRIED], AGAIN)?;
    say(&["--resume", RETRIED], ONCE_MORE)?;

    let tools = story::tools("claude-code");
    let agent = tools.agent.context("it has sub-agents")?;
    let (first, asked, other) = (story::first(&tools), story::asked(agent, story::NOTE), story::other());
    let fork = place.file("the fork", |path| is_named(path, FORK))?;
    let helper = place.file("the sub-agent", |path| {
        path.parent().is_some_and(|p| p.ends_with("subagents")) && is_jsonl(path)
    })?;
    let conversation = first.clone() + &story::branches(&[&other, &asked]);
    let helped = format!("@ [{agent}]\n{}", story::helper(&tools));
    let mut checks = vec![
        Check::new(
            "a tool call, a prompt edited in place and a sub-agent",
            reader.tree(&file)?,
            story::branches(&[&conversation, &helped]),
        ),
        Check::new("a fork", reader.tree(&fork)?, first + &other),
        Check::new("a sub-agent's own file", reader.tree(&helper)?, story::helper(&tools)),
    ];
    let retried = place.file("the one that was retried", |path| is_named(path, RETRIED))?;
    let again = story::again() + &story::once_more();
    checks.push(Check::new("replies after failures of the model", reader.tree(&retried)?, again));
    let link = reader.parent(&reader.session(&helper)?)?;
    checks.push(Check::new("the sub-agent's link to its session", link, SESSION));
    Ok(checks)
}

pub(super) fn command(place: &Place) -> Command {
    let mut command = place.command();
    command.env("ANTHROPIC_BASE_URL", place.server.url()).env("ANTHROPIC_API_KEY", "dummy");
    keep_quiet(&mut command);
    command.args(["-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"]);
    command.args(["--model", "claude-sonnet-4-5"]);
    command
}

/// It asks nothing of the world but its model.
pub(super) fn keep_quiet(command: &mut Command) {
    for off in [
        "DISABLE_TELEMETRY",
        "DISABLE_AUTOUPDATER",
        "DISABLE_ERROR_REPORTING",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL",
        // Root may skip permissions only where nothing can be harmed.
        "IS_SANDBOX",
    ] {
        command.env(off, "1");
    }
}

fn is_result(line: &Value) -> bool {
    line["type"] == "result"
}

/// The point where the first turn has ended.
fn last_reply(file: &Path) -> Result<String> {
    let text = std::fs::read_to_string(file)?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut replies = lines.filter(|line| line["type"] == "assistant");
    let last = replies.next_back().context("no reply was written")?;
    Ok(last["uuid"].as_str().context("a reply without an id")?.to_owned())
}

fn is_named(path: &Path, session: &str) -> bool {
    is_jsonl(path) && path.file_stem().is_some_and(|stem| stem == session)
}

fn is_jsonl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsonl")
}
