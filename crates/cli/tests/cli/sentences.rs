//! What is said to people where something is refused, interrupted, lost or changed: whole sentences, with the way out that
//! the front end at hand really has.

use std::io::Write;
use std::process::Stdio;

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

use crate::support::Folder;
use crate::talking::{Talk, alive, new_session, run};

/// What a chat on a pipe prints, and what it complains of.
fn chat(folder: &Folder, words: &[&str], lines: &str) -> (String, String) {
    let mut command = folder.command();
    command.arg("chat").args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("the program listens");
    let output = child.bounded_output();
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (text(output.stdout), text(output.stderr))
}

#[test]
fn the_same_text_is_refused_with_the_version_that_says_it() {
    let folder = Folder::new();
    let (_, complaints) = chat(&folder, &[], "one\n/edit 1 two\n/edit 1 two\n");
    assert_eq!(complaints, "error: this is the same text as version 2\n");
    for line in ["edit 1 two", "send --edit 1 two", "edit 1 two --send"] {
        assert_eq!(folder.run(line), "error: this is the same text as version 2\nexit 4\n", "{line}");
    }
}

#[test]
fn a_prompt_needs_some_text() {
    let folder = Folder::new();
    chat(&folder, &[], "one\n");
    for line in ["edit 1 ''", "send --edit 1 _", "send _", "edit 1 _ --send"] {
        assert_eq!(folder.run(line), "error: a prompt needs some text\nexit 4\n", "{line}");
    }
}

#[test]
fn a_branch_that_waits_names_the_turn_and_what_helps_in_a_chat() {
    let folder = Folder::new();
    let (_, complaints) = chat(&folder, &[], "one\nask me\n/edit 1 two\n2\n");
    assert_eq!(
        complaints,
        "error: this branch waits for your answer at `#2`\nhint: answer it first, or interrupt it with Ctrl-C\n"
    );
}

#[test]
fn an_agent_that_answers_is_named_and_so_is_its_turn() {
    let folder = Folder::new();
    let mut talk = Talk::begin(&folder, &["chat"]);
    talk.say("one");
    talk.until("You said “one”.");
    talk.say("count to 1000000");
    talk.until("> count to 1000000");
    let (told, code) = run(&folder, &["edit", "1", "two"]);
    assert_eq!(
        told,
        "error: the built-in agent is still answering on this branch at `#2`\n\
         hint: wait for it, or interrupt it: `offshoot abort`, `--abort-first`\n"
    );
    assert_eq!(code, Some(4));
    talk.kill();
}

/// prompts, replies and interruptions are told apart.
/// an interrupted answer is marked as such.
/// Whoever interrupts knows why it stopped; after a crash everybody is told.
#[test]
fn a_crash_is_told_apart_from_an_interruption() {
    const STOPPED: &str = "‖ Offshoot stopped during this answer. What had arrived is kept.\n";
    let folder = Folder::new();
    let mut talk = Talk::begin(&folder, &["chat"]);
    talk.say("ask me");
    talk.until("3. Sideways");
    assert_eq!(run(&folder, &["abort"]).1, Some(0));
    assert_eq!(talk.until("interrupted"), "‖ Response interrupted\n");
    talk.say("ask me");
    talk.until("3. Sideways");
    let mut other = Talk::begin(&folder, &["chat", "--continue"]);
    other.until("3. Sideways");
    talk.kill_with_engine(&folder);
    other.until("Connected again; nothing is lost.");
    // What was said stands there already.
    assert_eq!(other.line(), STOPPED, "whoever looked on");
    assert_eq!(other.end(), Some(0));

    let (again, _) = chat(&folder, &["--continue"], "");
    assert!(again.contains(&format!("> ask me\n{STOPPED}")), "whoever comes back: {again}");
    let (shown, _) = run(&folder, &["show"]);
    assert_eq!(shown.matches(STOPPED).count(), 1, "{shown}");
    assert_eq!(shown.matches("‖ Response interrupted\n").count(), 1, "{shown}");
    let (tree, _) = run(&folder, &["tree"]);
    let rows: Vec<&str> = tree.lines().filter_map(|row| row.split_once("‖ ").map(|(_, end)| end)).collect();
    assert_eq!(rows, ["interrupted", "interrupted, Offshoot stopped"], "{tree}");
    let (json, _) = run(&folder, &["show", "--json"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let crashes =
        json["entries"].as_array().expect("entries").iter().filter_map(|entry| entry["crash"].as_bool());
    assert_eq!(crashes.collect::<Vec<_>>(), [false, true], "{json}");
}

#[test]
fn a_setting_is_told_with_what_it_was_and_where_it_starts_a_branch() {
    let folder = Folder::new();
    let (told, _) =
        chat(&folder, &[], "/model demo/one\nfirst\n/model demo/two\nsecond\n/rewind 2\n/model demo/three\n");
    for line in [
        "Model from here on: demo/one.\n",
        "Model changes here: demo/one → demo/two.\n",
        "Model changes here: demo/one → demo/three. Your next message starts a branch with the new model.\n",
    ] {
        assert!(told.contains(line), "`{line}` is not said:\n{told}");
    }
    let (told, _) = chat(&folder, &["--continue"], "third\n/mode plan\n/thinking high\n");
    assert!(told.contains("Permission mode from here on: plan.\n"), "{told}");
    assert!(told.contains("Thinking changes here: off → high.\n"), "{told}");
}

/// The engine is stopped, so that what is said does not reach it, and then killed.
#[test]
fn a_message_that_is_lost_on_its_way_is_said_again_and_once() {
    let folder = Folder::new();
    let mut host = Talk::begin(&folder, &["chat"]);
    host.say("hello");
    host.until("You said “hello”.");
    let mut guest = Talk::begin(&folder, &["chat", "--continue"]);
    guest.until("You said “hello”.");
    let engine = folder.engine();
    kill_process(engine, Signal::STOP).expect("it runs");
    guest.say("still here");
    host.kill();
    kill_process(engine, Signal::KILL).expect("it is there");
    guest.until("Connected again; nothing is lost.");
    guest.until("You said “still here”. This is turn 2 of its branch.");
    assert_eq!(guest.end(), Some(0));
    let (shown, _) = run(&folder, &["show", "--json"]);
    assert_eq!(shown.matches("\"text\": \"still here\"").count(), 1, "{shown}");
}

#[test]
fn an_answer_that_comes_too_late_is_told_since_when() {
    let folder = Folder::new();
    let mut talk = Talk::begin(&folder, &["chat"]);
    talk.say("run echo from-the-tool");
    talk.until("a: in this session");
    let (status, _) = run(&folder, &["status", "--json"]);
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let ask = status["rows"][0]["ask"].as_str().expect("an ask").to_owned();
    assert_eq!(run(&folder, &["abort"]).1, Some(0));
    let (told, code) = run(&folder, &["answer", "allow", "--ask", &ask]);
    let since = told.strip_prefix("error: no longer asked: the agent moved on at ").expect("since when");
    let since: jiff::Timestamp = since.trim_end().parse().expect("a time");
    assert!(since <= jiff::Timestamp::now() && code == Some(4), "{told}");
    // The next engine knows it too.
    talk.kill_with_engine(&folder);
    let mut talk = Talk::begin(&folder, &["chat", "--continue"]);
    talk.until("Response interrupted");
    let (later, _) = run(&folder, &["answer", "allow", "--ask", &ask]);
    assert!(later.starts_with("error: no longer asked: the agent moved on at 2"), "{later}");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn what_is_answered_elsewhere_is_told_with_the_answer() {
    let folder = Folder::new();
    let mut talk = Talk::begin(&folder, &["chat"]);
    for (words, told) in [
        (["answer", "allow", "--quiet"].as_slice(), "Allowed elsewhere, "),
        (["answer", "deny", "--quiet"].as_slice(), "Denied elsewhere, "),
        (["answer", "always", "--quiet"].as_slice(), "Allowed always elsewhere, "),
    ] {
        talk.say("run echo from-the-tool");
        talk.until("a: in this session");
        assert_eq!(run(&folder, words).1, Some(0));
        let line = talk.until(told);
        let when = line.strip_prefix(told).and_then(|rest| rest.strip_suffix(".\n")).expect("when");
        assert!(when.parse::<jiff::Timestamp>().is_ok(), "{line}");
    }
    talk.say("ask me");
    talk.until("3. Sideways");
    assert_eq!(run(&folder, &["answer", "choose", "--choice", "2"]).1, Some(0));
    talk.until("Answered elsewhere, ");
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn an_agent_that_cannot_be_run_is_named_with_what_helps() {
    let folder = Folder::new();
    let missing = "error: Offshoot cannot run Codex yet; it can read its sessions\nhint: ";
    let there = "; `offshoot export --install` continues there";
    let (_, complaints) = chat(&folder, &[], "/agent codex\nhello\n");
    assert_eq!(complaints, format!("{missing}`/agent built_in` uses the built-in agent{there}\n"));
    let (_, complaints) = chat(&folder, &["--agent", "codex"], "hello\n");
    assert_eq!(complaints, format!("{missing}`/agent built_in` uses the built-in agent{there}\n"));
    let told = folder.run("send hello --agent codex");
    assert_eq!(told, format!("{missing}`--agent built_in` uses the built-in agent{there}\nexit 1\n"));
}

/// The prompt is written, so that it can be sent again when the program is there.
#[test]
fn an_agent_that_is_not_installed_is_named_with_the_command_that_installs_it() {
    let folder = Folder::new();
    folder.run("new --agent claude");
    let told = folder.run("send hello");
    assert!(told.contains("Claude Code is not installed; install it with `npm i -g"), "{told}");
    assert!(told.contains("`offshoot retry --send` asks again") && told.ends_with("exit 1\n"), "{told}");
}

#[test]
fn a_failure_leaves_the_branch_intact_and_says_how_to_ask_again() {
    let folder = Folder::new();
    let (told, _) = chat(&folder, &[], "fail\n");
    let failed = "✕ The built-in agent was asked to fail, and did. The branch is intact; ";
    assert!(told.contains(&format!("{failed}`/retry` asks again.\n")), "{told}");
    let told = folder.run("send fail");
    assert!(told.contains(&format!("{failed}`offshoot retry --send` asks again.\n")), "{told}");
    let (again, _) = chat(&folder, &["--continue"], "");
    assert_eq!(again.matches(failed).count(), 2, "whoever comes back reads it too: {again}");
}

#[test]
fn a_session_that_somebody_else_writes_is_named_with_who_does() {
    let folder = Folder::new();
    chat(&folder, &[], "hello\n");
    let journal = folder.journals().pop().expect("a journal");
    let mut lock = std::fs::File::create(journal.with_extension("lock")).expect("own file");
    lock.lock().expect("nobody else is here");
    lock.write_all(b"another Offshoot (process 4127) since 2025-01-01T00:00:00Z").expect("own file");
    let (_, complaints) = chat(&folder, &["--continue"], "more\n");
    let session = journal.file_stem().expect("a name").to_string_lossy().into_owned();
    assert_eq!(
        complaints,
        format!(
            "error: session `{session}` is being written by another Offshoot (process 4127) since 2025-01-01T00:00:00Z\n\
             hint: `offshoot show` and `tree` still read it; try again when it is done\n"
        )
    );
}

#[test]
fn a_context_that_is_full_is_told_where_nobody_makes_it_shorter() {
    let folder = Folder::new();
    let words =
        ["compaction.enabled=false", "compaction.context_window=9000", "compaction.reserve_tokens=1000"];
    let words: Vec<&str> = words.into_iter().flat_map(|word| ["--set", word]).collect();
    let (told, _) = chat(&folder, &words, &format!("{}\nand more\n", "many words ".repeat(3000)));
    let lines: Vec<&str> = told.lines().filter(|line| line.starts_with("Context")).collect();
    assert_eq!(lines, ["Context is full (93 %): compact now, or fork from an earlier turn."]);
}

/// A crash has left half a line at the end of the journal.
#[test]
fn a_damaged_end_is_repaired_by_the_next_change_and_told() {
    const REPAIRED: &str =
        "he end of this session was damaged and has been repaired: 1 unfinished record was set aside";
    let folder = Folder::new();
    new_session(&folder, "Torn");
    let tear = || {
        let journal = folder.journals().pop().expect("a journal");
        let mut journal = std::fs::OpenOptions::new().append(true).open(journal).expect("own file");
        journal.write_all(b"{\"k\":\"entry\",\"id\":\"half").expect("own file");
    };
    tear();
    let (told, _) = run(&folder, &["label", "--help"]);
    assert!(!told.contains(REPAIRED), "{told}");
    let (told, code) = run(&folder, &["rename", "Mended"]);
    assert!(code == Some(0) && told.contains(&format!("T{REPAIRED}. Details: offshoot fsck\n")), "{told}");
    tear();
    let output = alive(&folder).args(["send", "hello"]).bounded_output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    tear();
    let (told, _) = chat(&folder, &["--continue"], "once more\n");
    assert!(told.contains(&format!("T{REPAIRED} (`offshoot fsck` has the details).\n")), "{told}");
}
