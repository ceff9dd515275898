//! What ends an engine and what does not: signals, the lock that makes it the engine of its home, and whoever still uses it.

use std::path::PathBuf;
use std::process::Child;

use offshoot_testkit::deadline::BoundedChild;
use rustix::process::{Pid, Signal, kill_process};

use crate::home::{Home, Talk, until};

fn signal(engine: &Child, signal: Signal) {
    kill_process(Pid::from_child(engine), signal).expect("it runs");
}

fn with_ending(home: &Home, ending: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(home.path().join("sessions")).expect("own directory");
    let paths = files.map(|file| file.expect("a name").path());
    paths.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

fn files(home: &Home, ending: &str) -> usize {
    with_ending(home, ending).len()
}

/// What the journals of a home hold, without what would only be computed from drafts.
fn journals(home: &Home) -> String {
    let journals = with_ending(home, "jsonl");
    journals.iter().map(|path| std::fs::read_to_string(path).expect("own file")).collect()
}

#[test]
fn an_engine_that_is_terminated_ends_its_turns_and_exits() {
    let home = Home::with_session("Terminated");
    let mut engine = home.begin_engine(&[]);
    let send = Talk::begin(home.command(&["send", "count to 1000000"]));
    until("the draft of what it says", || files(&home, "drafts") > 0);
    // It would start the next engine.
    send.signal(Signal::KILL);
    signal(&engine, Signal::TERM);
    assert!(engine.bounded_wait().success());
    assert!(!home.run_path("engine.sock").exists(), "the socket goes with its engine");
    // The end of the turn is written, and nothing is left for the next engine to recover.
    assert_eq!(files(&home, "drafts"), 0);
    assert!(journals(&home).contains("turn_ended"));
    assert!(home.done(&["show"]).contains("interrupted"));
    assert_eq!(home.done(&["status"]), "Nothing runs.\n");
    assert!(home.done(&["send", "hello"]).contains("You said “hello”"));
}

#[test]
fn an_engine_outlives_a_terminal_and_a_reader_that_are_gone() {
    let home = Home::with_session("Stays");
    let mut engine = home.begin_engine(&[]);
    for signal_of_others in [Signal::HUP, Signal::PIPE] {
        signal(&engine, signal_of_others);
        assert!(home.done(&["send", "hello"]).contains("You said “hello”"));
        assert_eq!(home.engine(), Some(Pid::from_child(&engine)), "{signal_of_others:?}");
    }
    home.done(&["engine", "stop"]);
    assert!(engine.bounded_wait().success());
}

/// Removing the lock makes room for another engine.
#[test]
fn an_engine_whose_lock_is_gone_exits() {
    let home = Home::with_session("Unlocked");
    let mut engine = home.begin_engine(&[]);
    std::fs::remove_file(home.path().join("engine.lock")).expect("own file");
    assert!(engine.bounded_wait().success());
    assert!(home.path().exists(), "the home is still there");
    assert!(home.done(&["send", "hello"]).contains("You said “hello”"));
    assert_eq!(home.engines().len(), 1);
}

fn with_short_idle(title: &str) -> Home {
    let home = Home::with_session(title);
    std::fs::write(home.path().join("settings.toml"), "engine_idle = \"80ms\"\n").expect("own file");
    home
}

/// The time in which another engine of the same settings has started, answered and exited because it was not used.
fn while_another_becomes_idle() {
    let other = with_short_idle("Unused");
    other.done(&["send", "hello"]);
    until("the exit of an engine that nobody uses", || other.engines().is_empty());
}

#[test]
fn a_permission_request_that_is_open_keeps_its_engine() {
    let home = with_short_idle("Asked");
    let send = Talk::begin(home.command(&["send", "run echo allowed"]));
    until("the request", || home.done(&["status"]).contains("waiting"));
    send.signal(Signal::KILL);
    let engine = home.engine();
    while_another_becomes_idle();
    while_another_becomes_idle();
    assert!(home.done(&["status"]).contains("waiting"));
    assert_eq!(home.engine(), engine, "the engine is the same one");
    home.done(&["answer", "allow"]);
    until("its exit", || home.engines().is_empty());
    assert!(home.done(&["show"]).contains("allowed"));
}

#[test]
fn a_chat_in_which_nothing_is_said_keeps_its_engine() {
    let home = with_short_idle("Open");
    let mut chat = Talk::begin(home.command(&["chat"]));
    chat.say("hello");
    chat.until("You said “hello”");
    let engine = home.engine();
    while_another_becomes_idle();
    while_another_becomes_idle();
    assert_eq!(home.engine(), engine, "the engine is the same one");
    assert_eq!(chat.quit(), Some(0));
    until("its exit", || home.engines().is_empty());
}
