//! oh-my-pi over its RPC, which is pi's with other words. Sub-agents run beside the conversation and have files in the
//! folder of their session.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::Check;
use super::isolated::await_some;
use super::place::Place;
use super::reading::Reader;
use super::story::{self, AGAIN, ASK, FIRST, HELPER_DONE, ONCE_MORE, OTHER};
use super::talk::Talk;

/// What stands before every task.
const PREAMBLE: &str = "Complete assignment thoroughly:  ";

pub(super) fn talk(place: &Place, reader: &Reader) -> Result<Vec<Check>> {
    let url = place.server.url();
    place.write(
        ".omp/agent/models.yml",
        &format!(
            "providers:\n  scripted:\n    baseUrl: {url}/v1\n    api: openai-completions\n    apiKey: dummy\n    \
             models:\n      - id: scripted\n        name: Scripted\n        reasoning: false\n        \
             input: [text]\n        contextWindow: 128000\n        maxTokens: 4096\n        \
             cost: {{input: 0, output: 0, cacheRead: 0, cacheWrite: 0}}\n"
        ),
    )?;
    let mut command = place.command();
    command.env("PI_OFFLINE", "1").args(["--mode", "rpc", "--no-title", "--auto-approve"]);
    let mut omp = Talk::start(command.args(["--provider", "scripted", "--model", "scripted"]))?;
    prompt(&mut omp, FIRST)?;
    let session = file_of(&mut omp)?;
    omp.ask(&json!({"type": "prompt", "message": ASK}))?;
    await_some("the end of the sub-agent", || {
        let helper = place.files(|path| path.ends_with("Helper.md"));
        Ok((!helper.is_empty()).then_some(()))
    })?;
    place.server.open(HELPER_DONE);
    omp.wait("end of the turn", |line| line["type"] == "agent_end")?;
    await_some("word of the sub-agent", || {
        Ok(std::fs::read_to_string(&session)?.contains("Noted.").then_some(()))
    })?;
    let forkable = omp.ask(&json!({"type": "get_branch_messages"}))?;
    let second = forkable["messages"][1]["entryId"].as_str().context("no second prompt")?.to_owned();
    omp.ask(&json!({"type": "branch", "entryId": second}))?;
    prompt(&mut omp, OTHER)?;
    let fork = file_of(&mut omp)?;
    omp.ask(&json!({"type": "new_session"}))?;
    prompt(&mut omp, AGAIN)?;
    prompt(&mut omp, ONCE_MORE)?;
    let retried = file_of(&mut omp)?;
    omp.close()?;

    let tools = story::tools("oh-my-pi");
    let agent = tools.agent.context("it has sub-agents")?;
    let (first, asked, other) = (story::first(&tools), story::asked(agent, "…"), story::other());
    let helper = place.file("the sub-agent", |path| path.ends_with("Helper.jsonl"))?;
    let mut checks = vec![
        Check::new(
            "a tool call and a sub-agent's call",
            reader.tree(Path::new(&session))?,
            first.clone() + asked.trim_end() + " Noted.\n",
        ),
        Check::new("a fork", reader.tree(Path::new(&fork))?, first + &other),
        Check::new(
            "replies after failures of the model",
            reader.tree(Path::new(&retried))?,
            story::given_up() + &story::once_more(),
        ),
        Check::new(
            "a sub-agent",
            reader.tree(&helper)?.replace(PREAMBLE, ""),
            story::helper_that_calls(&tools, "yield", "…"),
        ),
    ];
    let id = reader.session(Path::new(&session))?;
    for (what, file) in [
        ("the fork's link to its session", Path::new(&fork)),
        ("the sub-agent's link to its session", &helper),
    ] {
        checks.push(Check::new(what, reader.parent(&reader.session(file)?)?, &id));
    }
    Ok(checks)
}

fn prompt(omp: &mut Talk, words: &str) -> Result<()> {
    omp.ask(&json!({"type": "prompt", "message": words}))?;
    omp.wait("end of the turn", |line| line["type"] == "agent_end").map(|_| ())
}

fn file_of(omp: &mut Talk) -> Result<String> {
    let state = omp.ask(&json!({"type": "get_state"}))?;
    Ok(state["sessionFile"].as_str().context("it keeps no file")?.to_owned())
}
