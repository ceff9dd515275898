//! A fork that begins a session writes two journals. One that is killed in between leaves nothing, or a whole child that
//! names its origin.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::home::{Home, delay, ended, rounds};

/// Which process is killed while it forks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    /// The command, which forks in its own process.
    AloneCommand,
    /// The command, whose engine completes the fork.
    Command,
    Engine,
}

fn sessions(home: &Home) -> Vec<Value> {
    let listed: Value = serde_json::from_str(&home.done(&["ls", "--json"])).expect("JSON");
    listed["sessions"].as_array().expect("a list").clone()
}

fn entries(home: &Home, session: &str) -> usize {
    let shown: Value = serde_json::from_str(&home.done(&["show", session, "--json"])).expect("JSON");
    shown["entries"].as_array().expect("entries").len()
}

fn kill_during_fork(victim: Victim, round: u64) {
    let home = Home::with_session("Origin");
    home.done(&["send", "hello"]);
    if victim == Victim::AloneCommand {
        home.done(&["engine", "stop"]);
    }
    let origin = sessions(&home)[0]["id"].as_str().expect("an id").to_owned();
    let whole = entries(&home, &origin);
    let engine = home.engine();
    assert_eq!(engine.is_none(), victim == Victim::AloneCommand);
    let mut fork = home.command(&["fork", &origin, "--new-session", "--title", "Child"]);
    let fork = fork.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(delay(round));
    let victim_process = match victim {
        Victim::AloneCommand | Victim::Command => Pid::from_child(&fork),
        Victim::Engine => engine.expect("an engine"),
    };
    kill_process(victim_process, Signal::KILL).expect("not waited for yet");
    let is_acknowledged = ended(fork).status.success();
    // Where the engine lives, it may be about to complete the fork: what it answers next comes behind it.
    home.done(&["rename", &origin, "Renamed"]);
    let listed = sessions(&home);
    let children: Vec<&Value> = listed.iter().filter(|session| session["id"] != origin.as_str()).collect();
    assert!(children.len() <= 1, "{victim:?} {round}: {listed:?}");
    assert!(!is_acknowledged || children.len() == 1, "{victim:?} {round}: {listed:?}");
    for child in &children {
        assert_eq!(child["lineage"]["parent"], origin.as_str(), "{victim:?} {round}: {child}");
        assert_eq!(child["title"], "Child", "{victim:?} {round}: {child}");
        assert_eq!(
            entries(&home, child["id"].as_str().expect("an id")),
            whole,
            "{victim:?} {round}: {child}"
        );
    }
    let is_recorded = home.done(&["ops", &origin]).contains("fork");
    assert!(
        !is_recorded || children.len() == 1,
        "{victim:?} {round}: the origin names a child that is not there"
    );
    assert!(home.done(&["fsck"]).ends_with("clean\n"), "{victim:?} {round}");
    home.done(&["fork", &origin, "--new-session", "--title", "Next"]);
    assert_eq!(sessions(&home).len(), children.len() + 2, "{victim:?} {round}");
}

#[test]
fn a_fork_that_is_killed_leaves_nothing_or_a_whole_child() {
    (0..rounds(12)).for_each(|round| kill_during_fork(Victim::AloneCommand, round));
}

#[test]
fn a_fork_whose_command_is_killed_leaves_nothing_or_a_whole_child() {
    (0..rounds(8)).for_each(|round| kill_during_fork(Victim::Command, round));
}

#[test]
fn a_fork_whose_engine_is_killed_leaves_nothing_or_a_whole_child() {
    (0..rounds(8)).for_each(|round| kill_during_fork(Victim::Engine, round));
}
