//! Codex, one prompt a process, and its app-server for what that cannot do: to take a turn back. A fork and a thread
//! that was taken back are files that begin where they leave their base; a sub-agent is a thread of its own that names
//! its parent.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::Check;
use super::isolated::await_some;
use super::place::Place;
use super::reading::Reader;
use super::story::{self, AGAIN, ASK, FIRST, HELPER_DONE, ONCE_MORE, OTHER};
use super::talk::Talk;

pub(super) fn talk(place: &Place, reader: &Reader) -> Result<Vec<Check>> {
    configure(place)?;
    let session = thread_of(&place.finish(exec(place).arg(FIRST), "")?)?;
    let fork = place.finish(exec(place).args(["fork", &session, OTHER]), "")?;
    let fork = thread_of(&fork)?;
    ask_somebody(place, &session)?;
    let retried = thread_of(&place.finish(exec(place).arg(AGAIN), "")?)?;
    place.finish(exec(place).args(["resume", &retried, ONCE_MORE]), "")?;
    let reverted = reverted(place)?;

    let tools = story::tools("codex");
    let agent = tools.agent.context("it has sub-agents")?;
    let (first, asked, other) = (story::first(&tools), story::asked(agent, "…"), story::other());
    let helper = helper_file(place).context("the sub-agent left no file")?;
    let main = rollout(place, &session)?;
    let checks = vec![
        Check::new(
            "a tool call and a sub-agent's call",
            reader.tree(&main)?,
            first.clone() + asked.trim_end() + " Noted.\n",
        ),
        Check::new("a fork", reader.tree(&rollout(place, &fork)?)?, first.clone() + &other),
        Check::new("a prompt taken back and asked differently", reader.tree(&reverted)?, first + &other),
        Check::new(
            "replies after failures of the model",
            reader.tree(&rollout(place, &retried)?)?,
            story::again() + &story::once_more(),
        ),
        Check::new("a sub-agent", reader.tree(&helper)?, story::helper(&tools)),
        Check::new("the fork's link to its session", reader.parent(&fork)?, &session),
        Check::new(
            "the sub-agent's link to its session",
            reader.parent(&reader.session(&helper)?)?,
            &session,
        ),
    ];
    Ok(checks)
}

/// The sub-agent runs beside the conversation, which waits until its file tells that it is done.
fn ask_somebody(place: &Place, session: &str) -> Result<()> {
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| place.finish(exec(place).args(["resume", session, ASK]), ""));
        let helped = await_some("the end of the sub-agent", || {
            if asking.is_finished() {
                return Ok(Some(()));
            }
            let Some(file) = helper_file(place) else { return Ok(None) };
            Ok(std::fs::read_to_string(&file)?.contains("\"task_complete\"").then_some(()))
        });
        place.server.open(HELPER_DONE);
        match asking.join() {
            Ok(said) => said.map(|_| ()).and(helped),
            Err(_) => bail!("the thread that asked broke"),
        }
    })
}

/// A thread whose second turn is taken back; its newest file comes back.
fn reverted(place: &Place) -> Result<PathBuf> {
    let mut server = Talk::start(command(place).arg("app-server"))?;
    let about =
        json!({"clientInfo": {"name": "test", "version": "1"}, "capabilities": {"experimentalApi": true}});
    request(&mut server, "initialize", &about)?;
    server.send(&json!({"method": "initialized"}))?;
    let start = json!({"cwd": place.project, "approvalPolicy": "never", "sandbox": "danger-full-access"});
    let started = request(&mut server, "thread/start", &start)?;
    let thread = started["thread"]["id"].as_str().context("the thread has no id")?.to_owned();
    turn(&mut server, &thread, FIRST)?;
    let second = turn(&mut server, &thread, "Never mind.")?;
    request(&mut server, "thread/revert", &json!({"threadId": thread, "beforeTurnId": second}))?;
    turn(&mut server, &thread, OTHER)?;
    server.close()?;
    place.file("the thread that was taken back", |path| name_of(path).contains(&format!("{thread}_")))
}

fn turn(server: &mut Talk, thread: &str, words: &str) -> Result<String> {
    let input = json!({"threadId": thread, "input": [{"type": "text", "text": words}]});
    let started = request(server, "turn/start", &input)?;
    server.wait("end of the turn", |line| line["method"] == "turn/completed")?;
    Ok(started["turn"]["id"].as_str().context("the turn has no id")?.to_owned())
}

fn request(server: &mut Talk, method: &str, params: &Value) -> Result<Value> {
    server.send(&json!({"id": method, "method": method, "params": params}))?;
    let answer = server.wait(method, |line| line["id"] == method)?;
    match answer.get("result") {
        Some(result) => Ok(result.clone()),
        None => bail!("`{method}` was refused: {answer}"),
    }
}

fn command(place: &Place) -> Command {
    let mut command = place.command();
    command.env("SCRIPTED_KEY", "dummy");
    command
}

/// The model is the scripted one.
pub(super) fn configure(place: &Place) -> Result<()> {
    let url = place.server.url();
    place.write(
        ".codex/config.toml",
        &format!(
            "model = \"scripted\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
             [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\nenv_key = \"SCRIPTED_KEY\"\n\
             wire_api = \"responses\"\n[analytics]\nenabled = false\n"
        ),
    )?;
    Ok(())
}

pub(super) fn exec(place: &Place) -> Command {
    let mut command = command(place);
    command.args(["exec", "--json", "--skip-git-repo-check", "-s", "danger-full-access"]);
    command
}

pub(super) fn thread_of(said: &str) -> Result<String> {
    let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let started = lines.into_iter().find(|line| line["type"] == "thread.started");
    let id = started.as_ref().and_then(|line| line["thread_id"].as_str());
    Ok(id.with_context(|| format!("no thread was started: {said}"))?.to_owned())
}

pub(super) fn rollout(place: &Place, thread: &str) -> Result<PathBuf> {
    place.file("the rollout", |path| name_of(path).ends_with(&format!("{thread}.jsonl")))
}

fn helper_file(place: &Place) -> Option<PathBuf> {
    let rollouts = place.files(|path| name_of(path).starts_with("rollout-"));
    let is_helper = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().next().is_some_and(|header| header.contains("\"thread_source\":\"subagent\""))
    };
    rollouts.into_iter().find(is_helper)
}

fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
