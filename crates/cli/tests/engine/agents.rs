//! Agents end with the engine that has started them, however it ends.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use offshoot_engine::process::{RUN_VARIABLE, processes_of_run};
use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, BoundedReader};

const DEADLINE: Duration = Duration::from_secs(5);

/// The launcher sets the signal for its own parent, so a shell stands for the engine here.
#[test]
#[cfg(target_os = "linux")]
fn an_agent_is_interrupted_when_its_engine_is_killed() {
    let run = format!("test-{}", std::process::id());
    let launcher = env!("CARGO_BIN_EXE_offshoot");
    let agent = "trap 'exit 3' INT; echo ready; while :; do sleep 0.05; done";
    let engine = r#""$1" agent-exec --parent $$ -- sh -c "$2"; true"#;
    let mut engine = Command::new("sh")
        .args(["-c", engine, "sh", launcher, agent])
        .env(RUN_VARIABLE, &run)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut ready = String::new();
    let stdout = engine.stdout.take().expect("a pipe");
    BufReader::new(BoundedReader(stdout)).read_line(&mut ready).expect("a line");
    assert_eq!(ready, "ready\n");
    assert!(!processes_of_run(&run).is_empty());
    engine.kill().expect("it runs");
    engine.bounded_wait();
    let until = Instant::now() + DEADLINE;
    while !processes_of_run(&run).is_empty() {
        assert!(Instant::now() < until, "the agent outlives its engine");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn an_agent_is_not_started_for_another_process_than_its_parent() {
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["agent-exec", "--parent", "1", "--", "echo", "--resume", "x"])
        .bounded_output()
        .expect("the program");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if cfg!(target_os = "linux") {
        assert_eq!(output.status.code(), Some(127));
        assert_eq!(stderr, "could not run `echo`: the engine that started it has ended\n");
    }
}

#[test]
fn a_program_that_is_missing_is_named() {
    let parent = std::process::id().to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_offshoot"))
        .args(["agent-exec", "--parent", &parent, "--", "/missing/claude"])
        .bounded_output()
        .expect("the program");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(127));
    assert!(stderr.starts_with("could not run `/missing/claude`: "), "{stderr}");
}
