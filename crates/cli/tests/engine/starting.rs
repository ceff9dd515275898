//! However many commands want it and whoever is killed on the way, a home has one engine.

use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use serde_json::Value;

use crate::home::{Home, delay, ended, rounds, until};

#[test]
fn of_a_hundred_first_commands_one_starts_the_engine() {
    let home = Home::with_session("Many");
    let commands: Vec<_> = (0..100)
        .map(|_| {
            let mut command = home.command(&["chat"]);
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts")
        })
        .collect();
    for command in commands {
        let output = ended(command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    home.until_one_engine();
    assert_eq!((home.engines().len(), home.epoch()), (1, 1));
}

fn kill_engines(home: &Home) {
    for engine in home.engines() {
        let engine = i32::try_from(engine).ok().and_then(Pid::from_raw);
        // It may have ended by itself.
        let _ = kill_process(engine.expect("a process"), Signal::KILL);
    }
}

/// Kills the first command or its engine during the start, while the test holds `lock`. An engine is killed once more
/// after the lock is released, because a command that waits for `start.lock` has started none before.
fn kill_during_start(round: u64, lock: Option<&str>) {
    let home = Home::with_session("Killed");
    let held = lock.map(|lock| {
        home.prepare_run();
        home.lock(home.path().join(lock))
    });
    let mut command = home.command(&["send", "first"]);
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(delay(round));
    if round.is_multiple_of(2) {
        kill_process(Pid::from_child(&command), Signal::KILL).expect("not waited for yet");
        drop(held);
    } else {
        kill_engines(&home);
        if let Some(held) = held {
            drop(held);
            std::thread::sleep(delay(round + 1));
            kill_engines(&home);
        }
    }
    let output = ended(command);
    let errors = String::from_utf8_lossy(&output.stderr);
    let is_answered = output.status.success();
    let is_kept = is_answered || errors.contains("What was said is kept");
    // A command whose engine is killed starts the next one, unless the agent has begun to answer.
    assert!(is_kept || round.is_multiple_of(2), "round {round}: {errors}");
    assert!(home.done(&["send", "second"]).contains("You said “second”"), "round {round}");
    home.until_one_engine();
    assert_eq!(home.engines().len(), 1, "round {round}");
    let shown = home.done(&["show"]);
    assert!(!is_kept || shown.contains("first"), "round {round}: {shown}");
    let answers = shown.matches("You said “first”").count();
    assert!(answers == 1 || (answers == 0 && !is_answered), "round {round}: {shown}");
    assert_eq!(shown.matches("You said “second”").count(), 1, "round {round}: {shown}");
}

#[test]
fn after_a_kill_during_the_start_the_next_command_finds_one_engine() {
    (0..rounds(12)).for_each(|round| kill_during_start(round, None));
}

#[test]
fn after_a_kill_while_start_lock_is_held_the_next_command_finds_one_engine() {
    (0..rounds(12)).for_each(|round| kill_during_start(round, Some("run/start.lock")));
}

#[test]
fn after_a_kill_while_engine_lock_is_held_the_next_command_finds_one_engine() {
    (0..rounds(12)).for_each(|round| kill_during_start(round, Some("engine.lock")));
}

#[test]
fn an_engine_that_nobody_uses_exits_and_whoever_comes_at_that_moment_is_answered() {
    let home = Home::with_session("Idle");
    std::fs::write(home.path().join("settings.toml"), "engine_idle = \"80ms\"\n").expect("own file");
    for round in 0..rounds(12) {
        std::thread::sleep(Duration::from_millis(40) + delay(round));
        assert!(home.done(&["send", "hello"]).contains("You said “hello”"), "round {round}");
        assert!(home.lock_holders() <= 1, "round {round}: {:?}", home.engines());
    }
    let shown: Value = serde_json::from_str(&home.done(&["show", "--json"])).expect("JSON");
    let entries = shown["entries"].as_array().expect("entries");
    let said_by = |role: &str| entries.iter().filter(|entry| entry["role"] == role).count() as u64;
    assert_eq!((said_by("user"), said_by("assistant")), (rounds(12), rounds(12)), "{shown}");
    assert!(home.done(&["fsck"]).ends_with("clean\n"));
    until("its exit", || home.engines().is_empty());
    assert!(!home.run_path("engine.sock").exists(), "the socket goes with its engine");
    assert!(home.epoch() > 1, "some of them met an engine that had left");
}

#[test]
fn an_engine_whose_home_is_gone_exits() {
    let home = Home::with_session("Gone");
    home.done(&["send", "hello"]);
    assert_eq!(home.engines().len(), 1);
    std::fs::remove_dir_all(home.path()).expect("own directory");
    until("its exit", || home.engines().is_empty());
    assert!(!home.path().exists(), "and it makes no new one");
}
