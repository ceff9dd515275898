//! A `chat` that runs while other processes act: what is asked, what waits, what runs beside, signals, and a pipe that
//! nobody reads.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, BoundedReader, until, within};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::Folder;
use crate::talking::{Talk, alive, run};

fn send(folder: &Folder, text: &str) -> Child {
    let mut command = alive(folder);
    command.args(["send", text]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

fn tell(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).expect("it runs");
}

#[test]
fn what_is_answered_elsewhere_is_told() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("run echo from-the-tool");
    chat.until("a: in this session");
    assert_eq!(run(&folder, &["answer", "allow"]).1, Some(0));
    chat.until("Allowed elsewhere, ");
    chat.until("→ from-the-tool");
    assert_eq!(chat.end(), Some(0));
}

/// Whoever types on has to know where it goes.
#[test]
fn a_head_that_is_moved_elsewhere_leaves_the_chat_in_its_place() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    for line in ["first", "second"] {
        chat.say(line);
        chat.until(&format!("You said “{line}”."));
    }
    assert_eq!(run(&folder, &["switch", "1"]).1, Some(0));
    chat.until("The head was moved elsewhere. Your next message still goes below what is shown here;");
    assert_eq!(run(&folder, &["undo"]).1, Some(0));
    chat.say("/tree 1");
    chat.until("The head is before the first turn; your next message begins anew.");
    assert_eq!(
        (chat.line(), chat.line()),
        ("The words of that message, to be said differently:\n".into(), "  first\n".into())
    );
    for line in [
        "/undo",
        "run echo hi",
        "y",
        "delegate look around",
        "/model demo/b",
        "/clear",
        "third",
        "/edit 4 fourth",
    ] {
        chat.say(line);
    }
    let mut rest = String::new();
    chat.until_end(&mut rest);
    assert!(rest.contains("You said “fourth”.") && !rest.contains("Somebody"), "{rest}");
}

/// A copy leaves everybody where they are; a change of settings that begins a session takes the conversation along.
#[test]
fn a_session_that_begins_elsewhere_with_this_one_is_told() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat", "--set", "config_change_branching=file"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    let (told, code) = run(&folder, &["fork", "--new-session", "--title", "Aside"]);
    assert_eq!(code, Some(0), "{told}");
    let line = chat.until("Somebody has forked this conversation to a new session, ");
    assert!(line.ends_with(". You stay in this one.\n"), "{line}");
    let id = line.rsplit(", ").next().and_then(|rest| rest.split('.').next()).expect("an id").to_owned();
    assert!(run(&folder, &["show", &id]).0.contains("hello"), "{line}");
    chat.say("still here");
    chat.until("You said “still here”. This is turn 2");

    let (listed, _) = run(&folder, &["ls", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let sessions = listed["sessions"].as_array().expect("a list");
    let ours = sessions.iter().find(|session| session["title"] != "Aside").expect("this session");
    let ours = ours["id"].as_str().expect("an id").to_owned();
    // Where it goes is decided by the settings of whoever changes it.
    let mut other = Talk::begin(&folder, &["chat", "--set", "config_change_branching=file", &ours]);
    other.say("/model demo/one");
    other.until("The conversation goes on in a session of its own, ");
    chat.until("Somebody has changed the settings; that conversation goes on in a session of its own, ");
    assert_eq!((other.end(), chat.end()), (Some(0), Some(0)));
}

#[test]
fn what_waits_is_listed_changed_and_taken_out() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    let mut waits = send(&folder, "wait for me");
    chat.until("Somebody else says “wait for me” when the answer is complete.");
    chat.say("/queue");
    chat.until("  1. wait for me");
    chat.say("/queue change 1 something else");
    chat.until("What waits is now “something else”.");
    chat.say("/queue cancel 1");
    chat.until("“something else” is not said any more.");
    chat.say("/queue");
    chat.until("Nothing waits to be said.");
    assert_eq!(waits.bounded_wait().code(), Some(4), "its message was taken out");
    // What is said when its turn comes is told once, as a prompt.
    let mut waits = send(&folder, "now I am said");
    chat.until("Somebody else says “now I am said”");
    chat.say("2");
    chat.until("You chose Down.");
    chat.until("> now I am said");
    chat.until("You said “now I am said”.");
    assert_eq!(waits.bounded_wait().code(), Some(0));
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_second_answer_is_asked_for_beside_the_first() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    chat.say("ask me");
    chat.until("3. Sideways");
    chat.say("/beside meanwhile");
    chat.until("> meanwhile");
    let answer = chat.until("You said “meanwhile”.");
    assert!(answer.contains("This is turn 2 of its branch. Before it I heard “hello”."), "{answer}");
    // The question still stands; what follows from it is told in one line.
    chat.say("2");
    chat.until("“ask me” is answered, on another branch; `/branch` lists them.");
    chat.say("and on");
    let answer = chat.until("You said “and on”.");
    assert!(answer.contains("Before it I heard “meanwhile”."), "{answer}");
    assert_eq!(chat.end(), Some(0));
    let (tree, _) = run(&folder, &["tree"]);
    assert!(tree.contains("ask me  1/2") && tree.contains("meanwhile  2/2"), "{tree}");
}

/// A11: a second answer in the tree does not take the place of the one that is shown, and the conversation ends as its last
/// message did.
#[test]
fn an_answer_stays_in_its_chat_while_another_one_begins_elsewhere() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("hello");
    chat.until("You said “hello”.");
    chat.say("ask me");
    chat.until("3. Sideways");
    let (status, _) = run(&folder, &["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    let prompt = status["rows"][0]["prompt"].as_str().expect("a prompt").to_owned();
    assert_eq!(run(&folder, &["send", "--beside", "meanwhile"]).1, Some(0));
    chat.until("meanwhile");
    assert_eq!(run(&folder, &["abort", "--at", "1"]).1, Some(4), "nothing runs there");
    assert_eq!(run(&folder, &["abort", "--at", &prompt]).1, Some(0));
    chat.until("Response interrupted");
    assert_eq!(chat.end(), Some(130));
}

#[test]
fn a_summary_is_called_off_with_ctrl_c_and_nothing_has_moved() {
    let folder = Folder::new();
    // A hook that says that it was asked, and then nothing more.
    let asked = folder.path().join("asked");
    assert!(std::process::Command::new("mkfifo").arg(&asked).bounded_status().expect("mkfifo").success());
    let script = format!("#!/bin/sh\necho asked > '{}'\nexec sleep 600\n", asked.display());
    folder.write("hook", script.as_bytes());
    let hook = folder.path().join("hook");
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).expect("own file");
    std::fs::create_dir_all(folder.home()).expect("own folder");
    let settings = format!(
        "hook_time_limit = \"10m\"\n[compaction]\nkeep_recent_tokens = 1\n[[hooks]]\nevents = [\"session_before_tree\", \
         \"session_before_compact\"]\nprogram = \"{}\"\n",
        hook.display()
    );
    folder.write("home/settings.toml", settings.as_bytes());
    let mut chat = Talk::begin(&folder, &["chat"]);
    for words in ["first", "second"] {
        chat.say(words);
        chat.until(&format!("You said “{words}”."));
    }
    for command in ["/tree 2 --summary", "/compact"] {
        chat.say(command);
        let asked = asked.clone();
        let told = within("the question to the hook", || std::fs::read_to_string(asked));
        assert_eq!(told.expect("a pipe"), "asked\n");
        chat.ctrl_c();
        chat.until("Called off. Nothing has changed.");
    }
    chat.say("third");
    let answer = chat.until("You said “third”.");
    assert!(answer.contains("This is turn 3 of its branch. Before it I heard “second”."), "{answer}");
    assert_eq!(chat.end(), Some(0));
}

#[test]
fn a_second_ctrl_c_is_about_what_is_there_by_then() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("ask me");
    chat.until("3. Sideways");
    chat.ctrl_c();
    chat.until("Response interrupted");
    // It interrupted something: this one does not leave yet.
    chat.ctrl_c();
    chat.until("Ctrl-C again leaves; so does `/quit`.");
    chat.say("still here");
    chat.until("You said “still here”.");
    assert_eq!(chat.end(), Some(0));
}

/// A turn that nobody waits for comes to its end all the same.
fn until_shown(folder: &Folder, words: &str) {
    until(words, || run(folder, &["show"]).0.contains(words));
}

#[test]
fn who_is_told_to_end_leaves_in_order() {
    for signal in [Signal::TERM, Signal::HUP] {
        let folder = Folder::new();
        let mut chat = Talk::begin(&folder, &["chat"]);
        chat.say("delegate one thing\nask me");
        chat.until("3. Sideways");
        tell(&chat.child, signal);
        assert_eq!(chat.child.bounded_wait().code(), Some(130));
        // The turn belongs to the session: it still asks, and is answered by whoever comes next.
        let (status, _) = run(&folder, &["status"]);
        assert!(status.contains("waiting"), "{status}");
        assert_eq!(run(&folder, &["answer", "choose", "--choice", "2"]).1, Some(0));
        until_shown(&folder, "You chose Down.");
    }
}

#[test]
fn who_leaves_interrupts_only_what_was_asked_for_there() {
    let folder = Folder::new();
    let mut engine = Talk::begin(&folder, &["chat"]);
    engine.say("hello");
    engine.until("You said “hello”.");
    let mut asks = Talk::begin(&folder, &["chat", "--continue"]);
    asks.until("You said “hello”.");
    asks.say("ask me");
    asks.until("3. Sideways");
    // Somebody looks on, and leaves again.
    let looks = Talk::begin(&folder, &["chat", "--continue"]);
    assert_eq!(looks.end(), Some(0));
    asks.say("2");
    asks.until("You chose Down.");
    assert_eq!(asks.end(), Some(0));
    assert_eq!(engine.end(), Some(0));
}

#[test]
fn a_pipe_that_nobody_reads_stops_nobody_else() {
    let folder = Folder::new();
    let mut command = alive(&folder);
    command.arg("chat").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut chat = command.spawn().expect("the program starts");
    let mut stdin = chat.stdin.take().expect("a pipe");
    // Ten times more than a pipe holds.
    writeln!(stdin, "count to 100000").expect("the program listens");
    // The engine finishes the answer and speaks to others, while its own words wait.
    until("the answer", || {
        let (status, code) = run(&folder, &["status"]);
        assert_eq!(code, Some(0), "{status}");
        let (shown, code) = run(&folder, &["show"]);
        code == Some(0) && shown.contains(" 99999 100000")
    });
    assert_eq!(run(&folder, &["send", "and who are you"]).1, Some(0));
    // Whoever reads at last gets all of it, without a line that ends in the middle.
    drop(stdin);
    let mut printed = String::new();
    let mut stdout = BoundedReader(chat.stdout.take().expect("a pipe"));
    stdout.read_to_string(&mut printed).expect("text");
    let counted: String = (1..=100_000).map(|number| format!(" {number}")).collect();
    let end = printed.char_indices().rev().nth(300).map_or(0, |(at, _)| at);
    assert!(
        printed.contains(&format!("{}\n", counted.trim_start())),
        "{} bytes, which end with: {}",
        printed.len(),
        &printed[end..]
    );
    assert_eq!(chat.bounded_wait().code(), Some(0));
}

#[test]
fn a_message_of_several_lines_is_told_as_such_and_a_long_one_by_its_beginning() {
    let folder = Folder::new();
    let mut chat = Talk::begin(&folder, &["chat"]);
    chat.say("one\\\n  two\\\n\\\nthree");
    chat.until("> one\n");
    assert_eq!([(); 3].map(|()| chat.line()), ["    two\n", "\n", "  three\n"]);
    chat.until("You said “one");
    chat.say(&["again"; 12].join("\\\n"));
    chat.until("> again");
    assert_eq!([(); 8].map(|()| chat.line()).last().map(String::as_str), Some("  (+4 lines)\n"));
    assert_eq!(chat.end(), Some(0));
}

/// a chat is resumed and continued without its command word, by any name of a session.
#[test]
fn a_chat_is_resumed_without_its_command_word() {
    let folder = Folder::new();
    for (title, text) in [("Old", "first words"), ("New", "other words")] {
        assert_eq!(run(&folder, &["new", title]).1, Some(0));
        assert_eq!(run(&folder, &["send", title, text]).1, Some(0));
    }
    for (words, shown) in [
        (&["--resume", "Old"][..], "first words"),
        (&["--continue"], "first words"),
        (&["--continue", "New"], "other words"),
        (&["chat", "--continue"], "other words"),
        (&["chat", "--continue", "Old"], "first words"),
        (&["-q", "-c"], "first words"),
    ] {
        let mut chat = Talk::begin(&folder, words);
        chat.until(shown);
        assert_eq!(chat.end(), Some(0), "{words:?}");
    }
    for words in [&["--resume", "Nowhere"][..], &["--continue", "Nowhere"]] {
        assert_eq!(run(&folder, words).1, Some(3), "{words:?}");
    }
}
