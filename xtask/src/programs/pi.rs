//! pi over its RPC. A fork is a file of its own with the same ids; a small extension goes back inside the session,
//! which makes a branch in the same file. pi has no sub-agents.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::json;

use super::place::Place;
use super::reading::Reader;
use super::story::{self, AGAIN, FIRST, ONCE_MORE, OTHER};
use super::talk::Talk;
use super::{Check, pi_sdk};

/// Lets a prompt move the session to another of its entries.
const GO_BACK: &str = r#"
export default function (pi) {
  pi.registerCommand("go-back", {
    description: "Continue at an entry",
    handler: async (entry, context) => { await context.navigateTree(entry.trim(), { summarize: false }); },
  });
}
"#;

const MORE: &str = "Anything else?";

pub(super) fn talk(place: &Place, reader: &Reader) -> Result<Vec<Check>> {
    held(place, reader).map(|(checks, _)| checks)
}

/// The same, and what pi's own SDK makes of the sessions that were held and of those that were recorded.
pub(super) fn talk_and_compare(place: &Place, reader: &Reader) -> Result<Vec<Check>> {
    let (mut checks, mut files) = held(place, reader)?;
    files.extend(pi_sdk::fixtures());
    checks.extend(pi_sdk::compared(place, reader, &files)?);
    Ok(checks)
}

/// The conversation, and the files that it left.
fn held(place: &Place, reader: &Reader) -> Result<(Vec<Check>, Vec<PathBuf>)> {
    configure(place)?;
    let extension = place.write("go-back.ts", GO_BACK)?;

    let mut command = place.command();
    command.env("PI_OFFLINE", "1").args(["--mode", "rpc", "--provider", "scripted", "--model", "scripted"]);
    let mut pi = Talk::start(command.arg("-e").arg(&extension))?;
    prompt(&mut pi, FIRST)?;
    prompt(&mut pi, MORE)?;
    let session = file_of(&mut pi)?;
    let forkable = pi.ask(&json!({"type": "get_fork_messages"}))?;
    let second = forkable["messages"][1]["entryId"].as_str().context("no second prompt")?.to_owned();
    pi.ask(&json!({"type": "prompt", "message": format!("/go-back {second}")}))?;
    prompt(&mut pi, OTHER)?;
    let forkable = pi.ask(&json!({"type": "get_fork_messages"}))?;
    let last = forkable["messages"].as_array().and_then(|messages| messages.last()).context("no prompts")?;
    pi.ask(&json!({"type": "fork", "entryId": last["entryId"]}))?;
    prompt(&mut pi, OTHER)?;
    let fork = file_of(&mut pi)?;
    pi.ask(&json!({"type": "new_session"}))?;
    prompt(&mut pi, AGAIN)?;
    prompt(&mut pi, ONCE_MORE)?;
    let retried = file_of(&mut pi)?;
    pi.close()?;

    let tools = story::tools("pi");
    let (first, other) = (story::first(&tools), story::other());
    let more = format!("> {MORE}\n< You said: {MORE}\n");
    let checks = vec![
        Check::new(
            "a tool call, and a prompt edited in place",
            reader.tree(Path::new(&session))?,
            first.clone() + &story::branches(&[&other, &more]),
        ),
        Check::new("a fork", reader.tree(Path::new(&fork))?, first + &other),
        Check::new(
            "replies after failures of the model",
            reader.tree(Path::new(&retried))?,
            story::given_up() + &story::once_more().replace("< ", "< ! "),
        ),
        Check::new(
            "the fork's link to its session",
            reader.parent(&reader.session(Path::new(&fork))?)?,
            reader.session(Path::new(&session))?,
        ),
    ];
    Ok((checks, [session, fork, retried].map(PathBuf::from).to_vec()))
}

/// The model is the scripted one.
pub(super) fn configure(place: &Place) -> Result<()> {
    let model = json!({"id": "scripted", "name": "Scripted", "reasoning": false, "input": ["text"],
        "contextWindow": 128_000, "maxTokens": 4096,
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}});
    let provider = json!({"baseUrl": format!("{}/v1", place.server.url()), "api": "openai-completions",
        "apiKey": "dummy", "models": [model]});
    place.write(".pi/agent/models.json", &json!({"providers": {"scripted": provider}}).to_string())?;
    Ok(())
}

fn prompt(pi: &mut Talk, words: &str) -> Result<()> {
    pi.ask(&json!({"type": "prompt", "message": words}))?;
    pi.wait("end of the turn", |line| line["type"] == "agent_settled").map(|_| ())
}

fn file_of(pi: &mut Talk) -> Result<String> {
    let state = pi.ask(&json!({"type": "get_state"}))?;
    Ok(state["sessionFile"].as_str().context("it keeps no file")?.to_owned())
}
