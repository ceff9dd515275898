//! Gemini CLI, one prompt a process. It goes back only in its terminal, so the fork is a session that was begun with
//! another's file. A sub-agent has a file in a folder named after its session.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::json;

use super::Check;
use super::place::Place;
use super::reading::Reader;
use super::story::{self, AGAIN, ASK, FIRST, ONCE_MORE, OTHER};

const SESSION: &str = "6e000000-0000-4000-8000-000000000001";
const RETRIED: &str = "7e000000-0000-4000-8000-000000000002";

pub(super) fn talk(place: &Place, reader: &Reader) -> Result<Vec<Check>> {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        // Its clean-up deletes sessions that share their first letters with another.
        "general": {"enableAutoUpdate": false, "sessionRetention": {"enabled": false}},
    });
    place.write(".gemini/settings.json", &settings.to_string())?;
    place.finish(command(place).args(["--session-id", SESSION, "-p", FIRST]), "")?;
    let file = place.file("the session", |path| is_chat(path) && has_prompt(path, FIRST))?;
    place.finish(command(place).arg("--session-file").arg(&file).args(["-p", OTHER]), "")?;
    place.finish(command(place).args(["--resume", SESSION, "-p", ASK]), "")?;
    place.finish(command(place).args(["--session-id", RETRIED, "-p", AGAIN]), "")?;
    place.finish(command(place).args(["--resume", RETRIED, "-p", ONCE_MORE]), "")?;

    let tools = story::tools("gemini");
    let agent = tools.agent.context("it has sub-agents")?;
    let (first, asked, other) = (story::first(&tools), story::asked(agent, story::NOTE), story::other());
    let fork = place.file("the fork", |path| is_chat(path) && has_prompt(path, OTHER))?;
    let helper =
        place.file("the sub-agent", |path| path.parent().is_some_and(|folder| folder.ends_with(SESSION)))?;
    let retried = place.file("the one that was retried", |path| is_chat(path) && has_prompt(path, AGAIN))?;
    Ok(vec![
        Check::new(
            "replies after failures of the model",
            reader.tree(&retried)?,
            story::again() + &story::once_more(),
        ),
        Check::new("a tool call, resumed", reader.tree(&file)?, first.clone() + &asked),
        Check::new("a fork", reader.tree(&fork)?, first + &other),
        Check::new(
            "a sub-agent",
            reader.tree(&helper)?,
            story::helper_that_calls(&tools, "complete_task", "…"),
        ),
        Check::new("the sub-agent's link to its session", reader.parent(&reader.session(&helper)?)?, SESSION),
    ])
}

fn command(place: &Place) -> Command {
    let mut command = place.command();
    command.env("GOOGLE_GEMINI_BASE_URL", place.server.url()).env("GEMINI_API_KEY", "dummy");
    command.args(["-m", "gemini-2.5-pro", "--skip-trust", "--approval-mode", "yolo", "-o", "stream-json"]);
    command
}

fn is_chat(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("chats"))
}

fn has_prompt(path: &Path, words: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.contains(words))
}
