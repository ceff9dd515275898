//! A front end never owns a turn: however it goes, what runs goes on and what is asked can be answered.

use std::process::Stdio;

use rustix::process::Signal;

use crate::home::{Home, Talk, ended, until};

/// Two chats in two directories, each of which is asked something.
fn two_chats(home: &Home) -> (Talk, Talk) {
    let chat = |name: &str| {
        let directory = home.directory().join(name);
        std::fs::create_dir(&directory).expect("own directory");
        let mut command = home.command(&["chat"]);
        command.current_dir(directory);
        let mut chat = Talk::begin(command);
        chat.say("ask me");
        chat.until("3. Sideways");
        chat
    };
    (chat("one"), chat("two"))
}

fn waiting(home: &Home) -> usize {
    home.done(&["status"]).matches("waiting").count()
}

/// Whoever goes, the other chat and both questions are untouched; the one that is left is answered from elsewhere.
fn leaves_both_questions(go: impl FnOnce(Talk)) {
    let home = Home::new();
    let (one, mut two) = two_chats(&home);
    let engine = home.engine();
    go(one);
    assert_eq!(waiting(&home), 2);
    two.say("2");
    two.until("You chose Down.");
    let mut answer = home.command(&["answer", "choose", "--choice", "1"]);
    answer.current_dir(home.directory().join("one"));
    assert!(ended(answer.stdout(Stdio::null()).spawn().expect("it starts")).status.success());
    until("the answer", || waiting(&home) == 0);
    let mut show = home.command(&["show"]);
    show.current_dir(home.directory().join("one")).stdout(Stdio::piped());
    let shown = ended(show.spawn().expect("it starts")).stdout;
    assert!(String::from_utf8_lossy(&shown).contains("You chose Up."));
    assert_eq!(two.quit(), Some(0));
    assert_eq!(home.engine(), engine, "the engine is the same one");
}

#[test]
fn a_chat_that_is_quit_leaves_its_turn_and_that_of_others() {
    leaves_both_questions(|chat| assert_eq!(chat.quit(), Some(0)));
}

#[test]
fn a_chat_that_is_killed_leaves_its_turn_and_that_of_others() {
    leaves_both_questions(|chat| chat.signal(Signal::KILL));
}

#[test]
fn a_chat_whose_terminal_hangs_up_leaves_its_turn_and_that_of_others() {
    leaves_both_questions(|chat| chat.signal(Signal::HUP));
    leaves_both_questions(|chat| chat.signal(Signal::TERM));
}

#[test]
fn a_send_that_is_killed_leaves_its_turn() {
    for signal in [Signal::KILL, Signal::TERM, Signal::HUP] {
        let home = Home::with_session("Killed");
        let send = Talk::begin(home.command(&["send", "ask me"]));
        send.until("3. Sideways");
        send.signal(signal);
        assert_eq!(waiting(&home), 1);
        home.done(&["answer", "choose", "--choice", "2"]);
        until("the answer", || home.done(&["show"]).contains("You chose Down."));
    }
}

#[test]
fn a_pipe_that_is_closed_leaves_a_complete_answer() {
    let home = Home::with_session("Piped");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "\"$0\" send 'count to 30000' | head -c 10", crate::home::PROGRAM]);
    shell.current_dir(home.directory()).env_clear().env("PATH", "/usr/bin:/bin");
    shell.env("OFFSHOOT_HOME", home.path()).env("OFFSHOOT_AUTO_SYNC", "false");
    let output = ended(shell.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts"));
    assert_eq!(output.stdout.len(), 10);
    until("the answer", || home.done(&["show"]).contains(" 29999 30000"));
    assert_eq!(home.done(&["status"]), "Nothing runs.\n");
}

#[test]
fn stopping_is_refused_while_a_turn_runs_unless_it_is_forced() {
    let home = Home::with_session("Busy");
    let send = Talk::begin(home.command(&["send", "ask me"]));
    send.until("3. Sideways");
    for action in ["stop", "restart"] {
        let (error, code) = home.refused(&["engine", action]);
        assert_eq!(code, Some(4), "{error}");
        assert!(error.starts_with("error: 1 turn is running: "), "{error}");
    }
    assert_eq!(home.done(&["engine", "stop", "--force"]), "Stopped.\n");
    assert!(home.engines().len() <= 1, "the send may have started the next one");
    ended(send.child);
}

/// An open chat looks for the next engine at once and starts it. `engine stop` waited for a lock that was never free.
#[test]
fn an_engine_is_stopped_while_a_chat_is_open() {
    let home = Home::with_session("Open");
    let mut chat = Talk::begin(home.command(&["chat"]));
    chat.say("hello");
    chat.until("You said “hello”");
    let before = home.epoch();
    home.done(&["engine", "stop"]);
    chat.say("again");
    chat.until("You said “again”");
    assert!(home.epoch() > before, "by another engine");
    assert_eq!(chat.quit(), Some(0));
}
