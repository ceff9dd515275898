//! Conversations that do not go straight on: sub-agents, steps back, prompts that wait, engines that are silent.

use insta::assert_snapshot;
use offshoot_testkit::deadline::{BoundedChild, until};
use rustix::process::{Signal, kill_process};
use serde_json::Value;

#[cfg(target_os = "linux")]
use crate::hooked::{script, settings};
use crate::support::Folder;
use crate::talking::{Talk, new_session, run};

#[test]
fn a_second_agent_is_heard_and_the_conversation_goes_on() {
    let folder = Folder::new();
    assert_snapshot!(folder.run_with("chat", "delegate look around\nhello\n/retry\n"));
    new_session(&folder, "Delegated");
    let (whole, code) = run(&folder, &["send", "Delegated", "delegate look around", "--json"]);
    let whole: Value = serde_json::from_str(&whole).expect("JSON");
    assert_eq!(code, Some(0));
    let text = whole["text"].as_str().expect("text");
    assert!(
        !text.is_empty() && whole["sub_agents"].as_array().is_some_and(|said| !said.is_empty()),
        "{whole}"
    );
    assert_eq!(whole["entries"][0]["text"], "delegate look around", "the prompt is the person's: {whole}");
    let (branches, _) = run(&folder, &["branch", "Delegated", "--json"]);
    let branches: Value = serde_json::from_str(&branches).expect("JSON");
    assert_eq!(
        branches["branches"].as_array().map(Vec::len),
        Some(1),
        "a sub-agent is no branch: {branches}"
    );
}

#[test]
fn what_is_said_after_the_conversation_was_taken_back_begins_another_one() {
    let folder = Folder::new();
    assert_snapshot!(folder.run_with("chat", "/undo\n/retry\nhello\n/undo\n/undo\nsecret words\n/tree\n"));
    let (list, _) = run(&folder, &["ls"]);
    assert!(list.contains("secret words"), "what was said is found again: {list}");
}

#[test]
fn a_message_that_waits_ends_when_the_answer_before_it_is_aborted() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    let mut waits = Talk::begin(&folder, &["send", "later"]);
    until_queued(&folder);
    assert_eq!(run(&folder, &["abort"]).1, Some(0));
    assert_eq!(waits.child.bounded_wait().code(), Some(4));
    chat.until("Response interrupted");
    chat.say("and on");
    chat.until("You said “and on”. This is turn 2");
    assert_eq!(chat.end(), Some(0), "what was not sent does not come later");
}

/// Two answers are waited for and the head stands on a third branch.
#[test]
fn abort_takes_no_turn_by_chance_and_says_which_there_are() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    let mut second = Talk::begin(&folder, &["send", "--beside", "ask me."]);
    chat.until("ask me.");
    assert_eq!(run(&folder, &["send", "--beside", "meanwhile"]).1, Some(0));
    let (_, refusal, code) = crate::scripts::both(&folder, &["abort"]);
    assert_eq!(code, Some(4), "{refusal}");
    assert!(
        refusal.contains("several turns run, and none of them on the branch of the head: #1 "),
        "{refusal}"
    );
    assert!(refusal.contains("hint: `--at POINT` says which"), "{refusal}");
    let (status, _) = run(&folder, &["status", "--json"]);
    let status: Value = serde_json::from_str(&status).expect("JSON");
    let rows = status["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2, "both still wait: {status}");
    let prompts: Vec<&str> = rows.iter().filter_map(|row| row["prompt"].as_str()).collect();
    for prompt in prompts {
        assert_eq!(run(&folder, &["abort", "--at", prompt]).1, Some(0));
    }
    assert_eq!(second.child.bounded_wait().code(), Some(130));
    assert_eq!(chat.end(), Some(130));
}

/// Ctrl-C takes it out of the queue, and it was never said.
#[test]
fn a_message_that_waits_is_called_off() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    let mut waits = Talk::begin(&folder, &["send", "later"]);
    until_queued(&folder);
    waits.ctrl_c();
    assert_eq!(waits.child.bounded_wait().code(), Some(130));
    chat.say("2");
    chat.until("You chose Down.");
    assert_eq!(chat.end(), Some(0));
    assert!(!run(&folder, &["show"]).0.contains("later"));
}

/// The queue lies beside the journal as soon as somebody waits.
fn until_queued(folder: &Folder) {
    let sessions = folder.home().join("sessions");
    let is_waiting = || {
        let names = std::fs::read_dir(&sessions).expect("sessions");
        names.filter_map(Result::ok).any(|file| file.path().extension().is_some_and(|it| it == "waiting"))
    };
    until("the queue", is_waiting);
}

#[test]
fn an_engine_that_is_stopped_is_named_and_nobody_waits_for_it() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said");
    let engine = folder.engine();
    kill_process(engine, Signal::STOP).expect("it runs");
    let (told, code) = run(&folder, &["status"]);
    kill_process(engine, Signal::CONT).expect("it is there");
    assert_eq!(code, Some(5), "{told}");
    assert!(told.contains("does not answer"), "{told}");
    chat.say("still here");
    chat.until("You said “still here”.");
    assert_eq!(chat.end(), Some(0));
}

/// The chat that has started the engine is nothing special: the engine serves everybody else when it is left.
#[test]
fn the_chat_that_started_the_engine_leaves_and_others_get_their_answers() {
    let folder = Folder::new();
    new_session(&folder, "Slow");
    new_session(&folder, "Quick");
    let mut first = Talk::aloud(&folder, &["chat", "Quick"]);
    first.say("hello");
    first.until("You said “hello”.");
    let engine = folder.engine();
    let mut slow = Talk::begin(
        &folder,
        &["send", "Slow", "run until test -e go-on; do sleep 0.05; done; echo it went on"],
    );
    slow.until("until test -e go-on");
    until("the request", || run(&folder, &["status"]).0.contains("waiting"));
    assert_eq!(run(&folder, &["answer", "Slow", "allow"]).1, Some(0));
    assert_eq!(first.end(), Some(0), "nobody is waited for");
    let (told, code) = run(&folder, &["send", "Quick", "who is there"]);
    assert!(told.starts_with("You said “who is there”."), "{told}");
    assert_eq!(code, Some(0));
    assert_eq!(
        run(&folder, &["label", "Slow", "1", "noted"]).1,
        Some(0),
        "its session is held by the engine"
    );
    let (status, _) = run(&folder, &["status"]);
    assert!(status.contains("running"), "{status}");
    folder.write("go-on", b"");
    slow.until("it went on");
    assert_eq!(slow.end(), Some(0));
    assert_eq!(folder.engine(), engine);
}

#[test]
fn a_session_of_another_program_is_talked_to_while_an_engine_runs_elsewhere() {
    let folder = Folder::new();
    let theirs = folder.path().join("2025_theirs.jsonl");
    let lines = [
        r#"{"type":"session","version":3,"id":"theirs","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}"#,
        r#"{"type":"message","id":"m1","parentId":null,"timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"said elsewhere"}}"#,
    ];
    let written = lines.map(|line| format!("{line}\n")).concat();
    std::fs::write(&theirs, &written).expect("a file");
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said");
    let file = theirs.to_str().expect("text");
    let (labelled, code) = run(&folder, &["label", file, "1", "noted"]);
    assert_eq!(code, Some(0), "{labelled}");
    let (answer, code) = run(&folder, &["send", file, "what did I say", "--agent", "built_in"]);
    assert_eq!(code, Some(0), "{answer}");
    assert!(answer.contains("said elsewhere"), "{answer}");
    assert_eq!(std::fs::read_to_string(&theirs).expect("a file"), written, "their file stays as it was");
    assert_eq!(chat.end(), Some(0));
}

/// Each number is a piece of the answer; at most 64 pieces that were shown are lost.
#[test]
fn a_killed_answer_comes_back_as_far_as_it_was_read() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("count to 100000");
    let read = chat.bytes(20_000);
    chat.kill();
    folder.kill_engine();
    let whole = &read[..read.rfind(' ').expect("numbers")];
    let last: usize = whole.rsplit(' ').next().and_then(|word| word.parse().ok()).expect("a number");
    let written = || folder.journals().iter().map(|path| std::fs::read(path).expect("a journal")).collect();
    let before: Vec<Vec<u8>> = written();
    let (shown, _) = run(&folder, &["show"]);
    assert!(shown.contains(&format!(" {} ", last - 64)), "whoever only looks sees it, too");
    assert!(shown.contains("‖ Offshoot stopped during this answer"), "{}", shown.len());
    let (tree, _) = run(&folder, &["tree"]);
    assert!(tree.contains("‖ interrupted, Offshoot stopped"), "{tree}");
    assert_eq!(before, written() as Vec<Vec<u8>>, "and nothing is written");
    let (answer, _) = run(&folder, &["send", "and on"]);
    assert!(answer.contains("This is turn 2"), "{answer}");
    let (shown, _) = run(&folder, &["show", "--json"]);
    assert!(shown.contains(&format!(" {} ", last - 64)), "{last} was read, and less is left");
    assert!(shown.contains("interrupted"), "and it is marked");
}

/// Words that are not final yet are seen, and nothing is said of a crash.
#[test]
fn whoever_looks_sees_the_answer_that_is_being_written() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("count to 100000");
    chat.bytes(4000);
    let (shown, _) = run(&folder, &["show"]);
    assert!(shown.contains("◐ running") && shown.contains(" 400 "), "{shown}");
    let (tree, _) = run(&folder, &["tree"]);
    assert!(tree.contains("◐ running"), "{tree}");
    assert!(!shown.contains("stopped") && !tree.contains("stopped"), "{tree}{shown}");
    chat.kill();
}

/// Nobody hears SIGKILL; whoever waits for the engine's end does.
#[cfg(target_os = "linux")]
#[test]
fn the_command_of_a_killed_engine_ends_with_it() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("run setsid env -i sleep 1000 & echo $! > process.new; mv process.new process; wait");
    chat.until("sleep 1000");
    chat.say("y");
    let process = started(&folder.path().join("process"));
    assert!(is_alive(&process), "{process}");
    folder.kill_engine();
    chat.kill();
    until_dead(&process);
}

/// It has left the group, the session and the environment of its command, and its parent has ended.
#[cfg(target_os = "linux")]
#[test]
fn nothing_that_a_command_has_started_outlives_it() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    let stays = "(setsid env -i PATH=\"$PATH\" sh -c 'echo $$ > process.new; mv process.new process; exec sleep 1000' &)";
    chat.say(&format!("run {stays}; until [ -e process ]; do sleep 0.01; done; echo over"));
    chat.until("May it use");
    chat.say("y");
    chat.until("→ over");
    let process = started(&folder.path().join("process"));
    assert!(!is_alive(&process), "{process}");
    chat.kill();
}

/// The same for a hook that it has asked.
#[cfg(target_os = "linux")]
#[test]
fn the_hook_of_a_killed_engine_ends_with_it() {
    let folder = Folder::new();
    let process = folder.path().join("process");
    let named = process.display();
    let slow =
        format!("cat > /dev/null; sleep 1000 & echo $! > '{named}.new'; mv '{named}.new' '{named}'; wait");
    let slow = script(&folder, "slow", &slow);
    settings(
        &folder,
        &format!("[[hooks]]\nevents = [\"before_send\"]\nprogram = \"{slow}\"\ntime_limit = \"100s\"\n"),
    );
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    let process = started(&process);
    assert!(is_alive(&process), "{process}");
    folder.kill_engine();
    chat.kill();
    until_dead(&process);
}

/// What a process that was started says it is.
#[cfg(target_os = "linux")]
fn started(told_in: &std::path::Path) -> String {
    until("the process", || told_in.exists());
    std::fs::read_to_string(told_in).expect("own file").trim().to_owned()
}

#[cfg(target_os = "linux")]
fn until_dead(process: &str) {
    until("the end of the process", || !is_alive(process));
}

/// One that has ended may still have its name until somebody asks how it ended.
#[cfg(target_os = "linux")]
fn is_alive(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = status.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| !["Z", "X"].contains(&state))
}
