//! What a killed engine leaves behind: tools of Claude, which run in sessions of their own. The next engine ends them
//! when it starts, and never an engine that a tool has started.

use offshoot_engine::process::processes_of_run;
use offshoot_testkit::deadline::until;
use offshoot_testkit::stop_engine;

use crate::person::{Accident, Moment, Person};
use crate::under_test::program;

/// Sends a prompt whose tool runs, and kills the engine and Claude in it. The run that is left.
fn killed_in_a_tool(person: &mut Person, command: &str, has_begun: impl Fn() -> bool) -> String {
    let input = serde_json::json!({ "command": command });
    let sending = person.start_allowed(&format!("work\n%call Bash {input}"));
    until("the tool", has_begun);
    let runs = person.runs();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    person.kill_engine();
    drop(sending);
    run.clone()
}

#[test]
#[cfg(target_os = "linux")]
fn tools_of_a_killed_engine_are_ended_by_the_next_one() {
    let mut person = Person::new();
    let begun = person.folder().join("begun");
    // It hears no signal but the one that cannot be ignored.
    let command = format!("trap '' INT TERM HUP; touch '{}'; sleep 1000 & wait; sleep 1000", begun.display());
    let run = killed_in_a_tool(&mut person, &command, || begun.exists());
    until("the end of Claude", || processes_of_run(&run).len() <= 2);
    assert!(
        !processes_of_run(&run).is_empty(),
        "the tool has to outlive the engine, or nothing is shown here"
    );
    let said = person.said("after");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(processes_of_run(&run), [0_u32; 0]);
    assert!(!person.runs().contains(&run), "its run file is gone too");
}

/// The block is told live, and found in the transcript of Claude under another id.
#[test]
fn what_was_said_when_the_engine_was_killed_is_printed_once() {
    let mut person = Person::new();
    person.send_until("work", Moment::Reply, Accident::KillEngine);
    person.send("after");
    assert_eq!(person.difference(), None);
}

/// A tool may use Offshoot too, in another home.
#[test]
#[cfg(target_os = "linux")]
fn an_engine_that_a_tool_has_started_is_left_alone() {
    let mut person = Person::new();
    let other = person.folder().join("other");
    let (program, home) = (program().display().to_string(), other.display());
    let begun = person.folder().join("begun");
    let command = format!(
        "OFFSHOOT_HOME='{home}' '{program}' new inner && OFFSHOOT_HOME='{home}' '{program}' send inner hello && touch \
         '{}'; trap '' INT TERM HUP; sleep 1000",
        begun.display()
    );
    let run = killed_in_a_tool(&mut person, &command, || begun.exists());
    let inner = person.engine_of(&other).expect("the tool has started it");
    let said = person.said("after");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(processes_of_run(&run), [0_u32; 0], "the tool itself is ended");
    assert_eq!(person.engine_of(&other), Some(inner));
    stop_engine(program, &other);
}

/// Two engines, of two homes, and one session of Claude.
#[test]
fn a_session_that_another_engine_has_open_is_refused() {
    let mut person = Person::new();
    person.send("one");
    let session = person.agent_session();
    let other = Person::beside(&person);
    let taken = other.run(&["send", &session, "two"]);
    let told = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert_eq!(taken.status.code(), Some(4), "{told}");
    assert!(told.contains("Claude Code runs this conversation in another process ("), "{told}");
    assert!(told.contains("`offshoot fork SESSION` goes on in a session of its own"), "{told}");
    // Its process has ended: the session is free.
    assert_eq!(person.run(&["engine", "stop"]).status.code(), Some(0));
    let taken = other.run(&["send", &session, "two"]);
    assert_eq!(taken.status.code(), Some(0), "{}", String::from_utf8_lossy(&taken.stderr));
    let known = String::from_utf8_lossy(&taken.stdout).into_owned();
    assert!(known.contains("one") && known.contains("two"), "{known}");
}
