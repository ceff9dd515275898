//! No test waits without a deadline: a program that hangs fails its test, and not the run.

use crate::metadata::root;
use crate::purity::rust_files;

/// Tests that run the program, agents and other processes, or wait for what an engine does.
const FOLDERS: &[&str] =
    &["crates/agents/tests", "crates/cli/tests", "crates/engine/tests", "crates/store/tests"];

/// Calls that wait for another process or task as long as it takes. `offshoot_testkit::deadline` has one with a deadline for
/// each that waits for a process, and `next_event` of the tests of the engine one for events.
const UNBOUNDED: &[&str] =
    &[".wait()", ".wait_with_output()", ".output()", ".status()", ".recv()", "events.next()"];

/// What reads lines of a process or a connection, and what its reads get their deadline from.
const READS: &str = ".read_line(";
const BOUNDS: &[&str] = &["BoundedReader", "set_read_timeout"];

/// Lines that may wait, with the reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[
    (
        "crates/agents/tests/claude_code.rs",
        "connection.events.recv()",
        "within a `timeout` that begins below",
    ),
    ("crates/engine/tests/engine/killed.rs", "inputs.recv()", "an agent, which ends with its engine"),
    ("crates/engine/tests/engine/scripted.rs", "inputs.recv()", "an agent, which ends with its engine"),
    ("crates/engine/tests/engine/storm.rs", "inputs.recv()", "an agent, which ends with its engine"),
    ("crates/store/tests/catalog/together.rs", "begin.wait()", "threads of the test that begin together"),
];

#[test]
fn tests_wait_with_a_deadline() {
    let mut excused = vec![false; EXCEPTIONS.len()];
    for folder in FOLDERS {
        for path in rust_files(&root().join(folder)).unwrap() {
            let text = std::fs::read_to_string(&path).unwrap();
            let shown = path.strip_prefix(root()).unwrap_or(&path).display().to_string();
            for (number, line) in waits(&text) {
                let exception =
                    EXCEPTIONS.iter().position(|(file, call, _)| shown == *file && line.contains(call));
                let Some(exception) = exception else {
                    panic!("{shown}:{number}: `{}` waits without a deadline", line.trim())
                };
                excused[exception] = true;
            }
        }
    }
    for ((file, call, _), is_needed) in EXCEPTIONS.iter().zip(excused) {
        assert!(is_needed, "`{call}` in `{file}` does not need its exception any more");
    }
}

/// Lines, from 1, that wait without a deadline.
fn waits(text: &str) -> Vec<(usize, &str)> {
    let reads_are_bounded = BOUNDS.iter().any(|bound| text.contains(bound));
    let is_unbounded = |line: &str| {
        (UNBOUNDED.iter().any(|call| line.contains(call)) && !line.contains("timeout("))
            || (line.contains(READS) && !reads_are_bounded)
            || reads_a_pipe(line)
    };
    (1..).zip(text.lines()).filter(|(_, line)| is_unbounded(line)).collect()
}

/// A pipe of a process without a deadline for its reads.
fn reads_a_pipe(line: &str) -> bool {
    line.contains("BufReader::new(") && line.contains(".take()") && !line.contains("BoundedReader")
}

#[test]
fn a_wait_is_found_however_it_is_written() {
    let found = |text: &str| waits(text).iter().map(|(number, _)| *number).collect::<Vec<_>>();
    assert_eq!(found("let a = 1;\nchild.wait();"), [2]);
    assert_eq!(found("Command::new(\"true\")\n    .output()"), [2]);
    assert_eq!(found("BufReader::new(stdout).read_line(&mut line)"), [1]);
    assert_eq!(found("BufReader::new(child.stdout.take().unwrap()).lines()"), [1]);
    assert_eq!(found("world.events.next().await"), [1]);
    for bounded in [
        "child.bounded_wait();",
        "command.bounded_output()",
        "BufReader::new(BoundedReader(stdout)).read_line(&mut line)",
        "BufReader::new(BoundedReader(child.stdout.take().unwrap())).lines()",
        "stream.set_read_timeout(Some(PATIENCE));\nlines.read_line(&mut line)",
        "timeout(PATIENCE, inputs.recv()).await",
        "next_event(&mut events).await",
    ] {
        assert_eq!(found(bounded), [0; 0], "{bounded}");
    }
}
