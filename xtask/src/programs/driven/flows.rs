//! The flows, each as a person would hold it.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use offshoot_testkit::model::Request;
use serde_json::Value;

use super::person::{Person, Said, list};
use super::prefix::{order, same_above, same_above_of_claude};
use super::processes;
use crate::programs::Check;

/// What a `%call` of Bash looks like in a prompt.
fn bash(command: &str) -> String {
    format!("%call Bash {{\"command\": \"{command}\", \"description\": \"Try it\"}}\n%then\n%say Done.")
}

/// A command that does not end and that Claude's own checks let pass.
pub(super) const ENDLESS: &str = "tail -f /dev/null";

/// A prompt whose answer stops in the middle of its stream.
pub(super) fn stopping() -> String {
    "Begin.\n%say One two three.\n%gate middle\n%say Four.".to_owned()
}

pub(super) fn endless_tool() -> String {
    format!("Run it.\n{}", bash(ENDLESS))
}

fn check(what: &'static str, found: impl Into<String>, expected: impl Into<String>) -> Check {
    Check::new(what, found, expected)
}

fn holds(what: &'static str, is_so: bool) -> Check {
    check(what, is_so.to_string(), "true")
}

pub(super) fn code(said: &Said) -> String {
    match said.code {
        Some(code) => code.to_string(),
        None => "by a signal".to_owned(),
    }
}

/// The results of tools in a request, as texts.
fn results(request: &Request) -> Vec<String> {
    let messages = list(&request.body["messages"]).iter().flat_map(|message| list(&message["content"]));
    messages
        .filter(|block| block["type"] == "tool_result")
        .map(|block| block["content"].to_string())
        .collect()
}

pub(super) fn plain_turn(person: &Person) -> Result<Vec<Check>> {
    let first = person.send("Hello.")?;
    let second = person.send("Again.")?;
    let asked = person.request("Again.")?;
    Ok(vec![
        check("the answer", first, "You said: Hello."),
        check("the next one", second, "You said: Again."),
        check("what the model was told", order(&asked, &["Hello.", "Again."]), "Hello. | Again."),
        check("the transcript", person.texts("user")?.join(" | "), "Hello. | Again."),
        check("one process for both", person.agents().len().to_string(), "1"),
    ])
}

pub(super) fn tools(person: &Person) -> Result<Vec<Check>> {
    let answering = |prompt: &str, answer: &[&str]| {
        let mut sending = person.start(&["send", &person.session, prompt])?;
        person.await_ask()?;
        person.answered(&[&["answer", person.session.as_str()], answer].concat())?;
        sending.end()
    };
    let allowed = answering(&format!("First.\n{}", bash("echo one > one.txt")), &["allow"])?;
    let denied = answering(
        &format!("Second.\n{}", bash("echo two > two.txt")),
        &["deny", "--message", "not that one"],
    )?;
    let refused = results(&person.request("Second.")?);
    let input = r#"{"command": "echo changed > changed.txt", "description": "Try it"}"#;
    let changed =
        answering(&format!("Third.\n{}", bash("echo three > three.txt")), &["allow", "--input", input])?;
    let exists = |name: &str| person.project.join(name).exists();
    let codes = [&allowed, &denied, &changed].map(code).join(" ");
    Ok(vec![
        check("all three turns end", codes, "0 0 0"),
        holds("the allowed command ran", exists("one.txt")),
        holds("the denied one did not", !exists("two.txt")),
        holds("the model is told why", refused.last().is_some_and(|text| text.contains("not that one"))),
        holds("the changed one ran", exists("changed.txt") && !exists("three.txt")),
    ])
}

pub(super) fn question(person: &Person) -> Result<Vec<Check>> {
    let question = r#"Ask me.
%call AskUserQuestion {"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}]}]}
%then
%say Noted."#;
    let mut sending = person.start(&["send", &person.session, question])?;
    person.await_ask()?;
    person.answered(&["answer", &person.session, "choose", "--choice", "Blue"])?;
    let said = sending.end()?;
    let told = results(&person.request("Ask me.")?);
    Ok(vec![
        check("the turn ends", code(&said), "0"),
        holds("the model is told the choice", told.last().is_some_and(|text| text.contains("Blue"))),
    ])
}

/// Three turns, the second with a tool.
fn three_turns(person: &Person) -> Result<()> {
    person.send("One.")?;
    let mut sending = person.start(&["send", &person.session, &format!("Two.\n{}", bash("echo two"))])?;
    if person.await_ask_or_end(&mut sending)? {
        person.answered(&["answer", &person.session, "allow"])?;
    }
    sending.end()?;
    person.send("Three.").map(drop)
}

pub(super) fn edit(person: &Person) -> Result<Vec<Check>> {
    three_turns(person)?;
    let old = person.request("Three.")?;
    let three = person.prompt_id("Three.")?;
    person.answered(&["send", &person.session, "--edit", &three, "Three again."])?;
    let new = person.request("Three again.")?;
    let mut checks = same_above((&old, "Three."), (&new, "Three again."))?;
    checks.push(check(
        "the old text is gone",
        order(&new, &["One.", "Two.", "Three.", "Three again."]),
        "One. | Two. | Three again.",
    ));
    checks.push(check(
        "how Claude came to know it",
        provenance(person, "Three again.")?,
        "forked_at_message",
    ));
    // back to the old branch, which goes on in its own session
    person.answered(&["switch", &person.session, &three])?;
    person.send("Four.")?;
    let back = person.request("Four.")?;
    let all = ["One.", "Two.", "Three.", "Three again.", "Four."];
    checks.push(check("the old branch continues", order(&back, &all), "One. | Two. | Three. | Four."));
    checks.push(check("in its own session", provenance(person, "Four.")?, "continued"));
    Ok(checks)
}

fn provenance(person: &Person, prompt: &str) -> Result<String> {
    provenance_in(&person.show()?, prompt)
}

pub(super) fn provenance_in(shown: &Value, prompt: &str) -> Result<String> {
    let mut entries = list(&shown["entries"]).iter();
    let entry = entries.find(|entry| entry["role"] == "user" && entry["text"] == prompt);
    let provenance = entry.and_then(|entry| entry["context"]["provenance"].as_str());
    Ok(provenance.with_context(|| format!("`{prompt}` has no provenance: {entry:?}"))?.to_owned())
}

pub(super) fn edit_across(person: &Person) -> Result<Vec<Check>> {
    three_turns(person)?;
    let (old, three) = (person.request("Three.")?, person.prompt_id("Three.")?);
    let one = person.prompt_id("One.")?;
    person.answered(&["send", &person.session, "--edit", &one, "One again."])?;
    let first = person.request("One again.")?;
    // the head is on the other branch, and that is where the transcript of the last process ends
    person.answered(&["send", &person.session, "--edit", &three, "Three again."])?;
    let new = person.request("Three again.")?;
    let mut checks = same_above((&old, "Three."), (&new, "Three again."))?;
    let all = ["One.", "One again.", "Two.", "Three.", "Three again."];
    checks.push(check("a first prompt begins a session", order(&first, &all), "One again."));
    checks.push(check("the branch of the other", order(&new, &all), "One. | Two. | Three again."));
    checks.push(check(
        "how Claude came to know it",
        provenance(person, "Three again.")?,
        "forked_at_message",
    ));
    Ok(checks)
}

/// Claude's own file has two branches, and the message is on the one that its last line does not continue.
pub(super) fn edit_off_the_active_branch(person: &Person) -> Result<Vec<Check>> {
    const SESSION: &str = "0f000000-0000-4000-8000-0000000000cc";
    person.claude(&["--session-id", SESSION, "One."])?;
    for prompt in ["Two.", "Three."] {
        person.claude(&["--resume", SESSION, prompt])?;
    }
    let old = person.request("Three.")?;
    let shown = person.json(&["show", SESSION, "--json"])?;
    let entries = list(&shown["entries"]);
    let is = |role: &'static str, text: &'static str| {
        move |entry: &&Value| entry["role"] == role && entry["text"] == text
    };
    let id = |entry: Option<&Value>| {
        entry.and_then(|entry| entry["id"].as_str()).context("no such message").map(str::to_owned)
    };
    let first_answer = id(entries.iter().find(is("assistant", "You said: One.")))?;
    let three = id(entries.iter().find(is("user", "Three.")))?;
    // Claude itself goes back to its first answer, in the same file.
    person.claude(&["--resume", SESSION, "--resume-session-at", &first_answer, "Two otherwise."])?;
    let off = person.request("Two otherwise.")?;
    person.answered(&["send", SESSION, "--agent", "claude-code", "--edit", &three, "Three again."])?;
    let new = person.request("Three again.")?;
    let all = ["One.", "Two.", "Two otherwise.", "Three.", "Three again."];
    let shown = person.json(&["show", SESSION, "--json"])?;
    let mut checks = same_above_of_claude(person, (&old, "Three."), (&new, "Three again."))?;
    checks.extend([
        check("the file ends on the other branch", order(&off, &all), "One. | Two otherwise."),
        check("the branch of the message", order(&new, &all), "One. | Two. | Three again."),
        check("how Claude came to know it", provenance_in(&shown, "Three again.")?, "forked_at_message"),
    ]);
    Ok(checks)
}

/// Claude itself holds the conversation and compacts it; `offshoot` edits a message above the compaction.
pub(super) fn edit_above_compaction(person: &Person) -> Result<Vec<Check>> {
    const SESSION: &str = "0f000000-0000-4000-8000-0000000000bb";
    person.claude(&["--session-id", SESSION, "One."])?;
    for prompt in ["Two.", "Three.", "/compact", "Four."] {
        person.claude(&["--resume", SESSION, prompt])?;
    }
    let (old, after) = (person.request("Three.")?, person.request("Four.")?);
    person.answered(&["send", SESSION, "--agent", "claude-code", "--edit", "3", "Three again."])?;
    let new = person.request("Three again.")?;
    let all = ["One.", "Two.", "Three.", "Three again.", "Four."];
    let shown = person.json(&["show", SESSION, "--json"])?;
    let mut checks = same_above_of_claude(person, (&old, "Three."), (&new, "Three again."))?;
    checks.extend([
        check("the compaction made it shorter", order(&after, &all), "Four."),
        check("the edit is above it", order(&new, &all), "One. | Two. | Three again."),
        check("how Claude came to know it", provenance_in(&shown, "Three again.")?, "forked_at_message"),
    ]);
    Ok(checks)
}

pub(super) fn interrupt_in_stream(person: &Person) -> Result<Vec<Check>> {
    let mut sending = person.start(&["send", &person.session, &stopping()])?;
    holds_or(person.server.wait_at("middle"), "the stream never stopped")?;
    let started = Instant::now();
    person.run(&["abort", &person.session])?;
    let said = sending.end()?;
    let took = started.elapsed();
    let next = person.send("Next.")?;
    let replies = person.texts("assistant")?.join(" | ");
    Ok(vec![
        check("the command is interrupted", code(&said), "130"),
        holds("within 3 s", took < Duration::from_secs(3)),
        check("the next turn works", next, "You said: Next."),
        holds("what had arrived is kept", replies.contains("One two three.")),
    ])
}

fn holds_or(is_so: bool, problem: &'static str) -> Result<()> {
    if is_so { Ok(()) } else { Err(anyhow::anyhow!(problem)) }
}

/// A turn that runs the tool which does not end.
pub(super) fn in_endless_tool(person: &Person) -> Result<super::person::Running> {
    let sending = person.start(&["send", &person.session, &endless_tool()])?;
    person.await_ask()?;
    person.answered(&["answer", &person.session, "allow"])?;
    person.await_some("the tool", || Ok(endless_runs(person).then_some(())))?;
    Ok(sending)
}

/// Whether the tool itself runs, not a shell around it.
pub(super) fn endless_runs(person: &Person) -> bool {
    let is_tail = |process: &u32| {
        std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| line.starts_with(b"tail\0"))
    };
    person.agents().iter().any(is_tail)
}

pub(super) fn interrupt_in_tool(person: &Person) -> Result<Vec<Check>> {
    let mut sending = in_endless_tool(person)?;
    person.run(&["abort", &person.session])?;
    let said = sending.end()?;
    person.await_some("the end of the tool", || Ok((!endless_runs(person)).then_some(())))?;
    let next = person.send("Next.")?;
    Ok(vec![
        check("the command is interrupted", code(&said), "130"),
        check("the next turn works", next, "You said: Next."),
    ])
}

pub(super) fn background_agent(person: &Person) -> Result<Vec<Check>> {
    let prompt = r#"Send somebody.
%call Agent {"description": "Look", "prompt": "Look around.", "subagent_type": "general-purpose", "run_in_background": true}
%then
%say Somebody is on the way.
%then
%say Somebody is back."#;
    let said = person.run(&["send", &person.session, prompt])?;
    let is_back = |text: &String| text.contains("Somebody is back.");
    person
        .await_some("the follow-up", || Ok(person.texts("assistant")?.iter().any(is_back).then_some(())))?;
    let shown = person.show()?;
    let entries = list(&shown["entries"]);
    let turn_of = |text: &str| {
        let said =
            entries.iter().find(|entry| entry["text"].as_str().is_some_and(|said| said.contains(text)));
        said.map(|entry| entry["turn"].clone())
    };
    let agents = list(&shown["sub_agents"]);
    let is_running = agents.iter().any(|agent| agent["running"] == true);
    Ok(vec![
        check("the turn ends", code(&said), "0"),
        check("the sub-agents", agents.len().to_string(), "1"),
        holds("it has ended", !is_running),
        holds("it holds the turn, which has the follow-up", turn_of("on the way") == turn_of("is back")),
        check("the next turn works", person.send("Next.")?, "You said: Next."),
    ])
}

/// A command in the background does not hold the turn; Claude begins one by itself when it ends.
pub(super) fn background_command(person: &Person) -> Result<Vec<Check>> {
    let prompt = r#"Start it.
%call Bash {"command": "sleep 2", "description": "Wait", "run_in_background": true}
%then
%say It is on the way.
%then
%say It is done."#;
    let mut sending = person.start(&["send", &person.session, prompt])?;
    if person.await_ask_or_end(&mut sending)? {
        person.answered(&["answer", &person.session, "allow"])?;
    }
    let said = sending.end()?;
    let is_done = |text: &String| text == "It is done.";
    person
        .await_some("the follow-up", || Ok(person.texts("assistant")?.iter().any(is_done).then_some(())))?;
    let shown = person.show()?;
    let entries = list(&shown["entries"]);
    let at = entries.iter().position(|entry| entry["text"] == "It is done.");
    let above = at.and_then(|at| entries.get(at.checked_sub(1)?));
    let role = above.and_then(|above| above["role"].as_str()).unwrap_or_default();
    Ok(vec![
        check("the turn ends", code(&said), "0"),
        holds("the answer comes before", said.out.trim().ends_with("It is on the way.")),
        check("the follow-up is a turn below what began it", role, "custom"),
        check("the next turn works", person.send("Next.")?, "You said: Next."),
    ])
}

pub(super) fn settings(person: &Person) -> Result<Vec<Check>> {
    person.send("First.")?;
    let before = model(&person.request("First.")?);
    let chosen = "haiku";
    let chat = format!(
        "/model anthropic/{chosen}\nSecond.\n/mode acceptEdits\nThird.\n%call Write {{\"file_path\": \"{}\", \"content\": \"x\"}}\n",
        person.project.join("made.txt").display()
    );
    let chat = chat.replace("Third.\n%call", "%call");
    let said = person.start_with(&["chat", &person.session], &chat)?.end()?;
    let after = model(&person.request("Second.")?);
    Ok(vec![
        check("the chat ends", code(&said), "0"),
        holds("another model answers", before != after && after.contains(chosen)),
        holds("an edit needs no permission", person.project.join("made.txt").exists()),
    ])
}

fn model(request: &Request) -> String {
    request.body["model"].as_str().unwrap_or_default().to_owned()
}

/// After a kill in the stream the next prompt is answered, and the model knows the branch.
fn next_after(person: &Person, kill: impl FnOnce() -> Result<()>) -> Result<Vec<Check>> {
    person.send("One.")?;
    let mut sending = person.start(&["send", &person.session, &stopping()])?;
    holds_or(person.server.wait_at("middle"), "the stream never stopped")?;
    kill()?;
    let ended = sending.end()?;
    person.server.open("middle");
    let next = person.send("Next.")?;
    let asked = person.request("Next.")?;
    let prompts = person.texts("user")?;
    let first_lines: Vec<&str> = prompts.iter().filter_map(|prompt| prompt.lines().next()).collect();
    Ok(vec![
        holds("the command tells that it failed", ended.code != Some(0)),
        check("the next turn works", next, "You said: Next."),
        check(
            "the model knows the branch",
            order(&asked, &["One.", "Begin.", "Next."]),
            "One. | Begin. | Next.",
        ),
        check("no prompt is lost or doubled", first_lines.join(" | "), "One. | Begin. | Next."),
    ])
}

pub(super) fn claude_killed(person: &Person) -> Result<Vec<Check>> {
    next_after(person, || {
        processes::kill(person.claude_process()?);
        Ok(())
    })
}

pub(super) fn engine_killed(person: &Person) -> Result<Vec<Check>> {
    next_after(person, || {
        processes::kill(person.engine()?);
        Ok(())
    })
}

pub(super) fn both_killed(person: &Person) -> Result<Vec<Check>> {
    next_after(person, || {
        let (engine, claude) = (person.engine()?, person.claude_process()?);
        processes::kill(engine);
        processes::kill(claude);
        Ok(())
    })
}

pub(super) fn wrong_key(person: &Person) -> Result<Vec<Check>> {
    // a process runs already, so that only the key is measured
    person.send("One.")?;
    let started = Instant::now();
    let said = person.run(&["send", &person.session, "Two.\n%fail 401"])?;
    let took = started.elapsed();
    let told = format!("{}{}", said.out, said.err);
    let again = person.run(&["send", &person.session, "Two again.\n%fail 401"])?;
    Ok(vec![
        check("the command fails", code(&said), "1"),
        check("so does the next one", code(&again), "1"),
        holds("within 3 s", took < Duration::from_secs(3)),
        holds("it says that one is not signed in", told.contains("not signed in")),
        check("the next turn works", person.send("Three.")?, "You said: Three."),
    ])
}

/// The agent session of the last prompt that was answered.
pub(super) fn agent_session(person: &Person) -> Result<String> {
    let shown = person.show()?;
    let of_entry = |entry: &Value| entry["context"]["agent_session"].as_str().map(str::to_owned);
    let found = list(&shown["entries"]).iter().rev().find_map(of_entry);
    found.context("no prompt was answered by an agent session")
}
