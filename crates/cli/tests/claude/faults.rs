//! A Claude Code that misbehaves, as a person meets it: what is printed, that the next message is answered with all that
//! was said before, and that no process is left.

use offshoot_engine::process::processes_of_run;
use offshoot_testkit::deadline::until;
use offshoot_testkit::fake_claude;
use serde_json::json;

use crate::person::{Person, Said};

/// Says something first, then what makes it go wrong, and then something else.
#[track_caller]
fn check(script: &str, code: i32, sentence: &str) {
    let mut person = Person::new();
    let said = fails(&mut person, script);
    assert_eq!(said.code, Some(code), "{said:?}");
    assert!(said.all().contains(sentence), "{said:?}");
    is_usable(&mut person);
}

fn fails(person: &mut Person, script: &str) -> Said {
    person.send("first");
    person.said(&format!("fault\n{script}"))
}

/// A prompt that Claude has taken is in its context, and each prompt is there once.
#[track_caller]
fn is_usable(person: &mut Person) {
    let said = person.said("after");
    assert_eq!(said.code, Some(0), "{said:?}");
    let known: Vec<String> = serde_json::from_str(said.out.trim()).expect("the prompts that Claude knows");
    let first_words: Vec<&str> = known.iter().filter_map(|prompt| prompt.lines().next()).collect();
    assert_eq!(first_words, ["first", "fault", "after"], "{said:?}");
    assert_eq!(person.difference(), None);
    nothing_is_left(person);
}

#[track_caller]
fn nothing_is_left(person: &mut Person) {
    let runs = person.runs();
    assert_eq!(person.run(&["engine", "stop"]).status.code(), Some(0));
    until("the end of all agents", || runs.iter().all(|run| processes_of_run(run).is_empty()));
    assert_eq!(person.runs(), [""; 0]);
}

#[test]
fn garbage() {
    let garbage = "%garbage not JSON\n".repeat(20);
    check(&garbage, 1, "Claude Code wrote 20 lines in a row that are not JSON. The branch is intact;");
}

/// One line is noticed, and the answer goes on.
#[test]
fn a_line_of_garbage() {
    check("%garbage not JSON\n%say Well.", 0, "Claude Code wrote a line that is not JSON.");
}

#[test]
fn a_line_over_the_limit() {
    check("%big 68000000", 1, "which is too long to be read. The branch is intact;");
}

#[test]
fn a_long_line() {
    let mut person = Person::new();
    let said = fails(&mut person, "%big 300000");
    assert_eq!((said.code, said.out.trim().len()), (Some(0), 300_000), "{}", said.err);
    is_usable(&mut person);
}

/// It is longer than a line of the connection to the engine, which has the beginning; the session has all of it.
#[test]
fn a_line_of_50_mb() {
    let mut person = Person::new();
    let said = fails(&mut person, "%big 50000000");
    assert_eq!(said.code, Some(0), "{}", said.err);
    let mut lines = said.out.lines();
    assert_eq!(lines.next().map(str::len), Some(256 * 1024));
    assert_eq!(lines.next(), Some("47.4 MiB more are in the session: `offshoot show` prints all of it."));
    is_usable(&mut person);
    assert!(person.texts("assistant").iter().any(|text| text.len() == 50_000_000));
}

#[test]
fn death() {
    check("%say Begun.\n%kill", 1, "Claude Code ended (signal 9). The branch is intact;");
    check("%exit 3", 1, "Claude Code ended (exit status 3). The branch is intact;");
}

/// What was streamed, finished or confirmed by then is printed once and kept.
#[test]
fn death_at_any_line() {
    for lines in 0..=9 {
        let mut person = Person::new();
        let said =
            fails(&mut person, &format!("%kill-after {lines}\n%say One two three.\n%say Four five six."));
        assert_eq!(said.code, Some(1), "{said:?}");
        assert!(said.all().contains("Claude Code ended (signal 9)"), "{said:?}");
        for words in ["One", "Four"] {
            assert!(said.out.matches(words).count() <= 1, "after {lines} lines: {said:?}");
        }
        let printed = said.out.split('\u{2715}').next().unwrap_or_default().replace('\n', "");
        let kept: String = person.texts("assistant").concat();
        assert_eq!(kept, printed, "after {lines} lines: {said:?}");
        assert_eq!(person.said("after").code, Some(0));
        nothing_is_left(&mut person);
    }
}

#[test]
fn death_in_a_tool() {
    let mut person = Person::new();
    person.send("first");
    let script = r#"%call Bash {"command": "sleep 1000 & kill -9 $PPID; wait"}"#;
    let said = person.said_when_answered(&format!("fault\n{script}"), "allow");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.all().contains("Claude Code ended (signal 9). The branch is intact;"), "{said:?}");
    is_usable(&mut person);
}

#[test]
fn a_flood() {
    let mut person = Person::new();
    let said = fails(&mut person, "%flood 5000");
    assert_eq!((said.code, said.out.trim().len()), (Some(0), 60_000), "{}", said.err);
    is_usable(&mut person);
}

#[test]
fn input_that_is_closed() {
    let mut person = Person::new();
    let said = fails(&mut person, "%say Begun.\n%close-stdin");
    assert_eq!(said.code, Some(0), "the answer is complete: {said:?}");
    is_usable(&mut person);
}

#[test]
fn lines_of_unknown_types() {
    check("%unknown\n%say Well.", 0, "Well.");
}

#[test]
fn an_error_of_the_api() {
    check("%fail 400", 1, "API Error: 400 invalid_request. The branch is intact;");
    check("%fail 529", 1, "API Error: 529 overloaded. The branch is intact;");
    check("%retry\n%say Well.", 0, "Retrying in 1 s (1 of 10)");
}

/// The CLI would retry for minutes.
#[test]
fn a_wrong_key() {
    check("%fail 401", 1, "not signed in");
}

/// What cannot be started leaves the prompt without an answer, and it is answered when the program is there again.
#[track_caller]
fn is_refused(faults: &serde_json::Value, sentence: &str) {
    let mut person = Person::new();
    person.send("first");
    assert_eq!(person.run(&["engine", "stop"]).status.code(), Some(0));
    fake_claude::configure(&person.config(), faults).expect("own folder");
    let said = person.said("fault");
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.all().contains(sentence), "{said:?}");
    assert_eq!(person.run(&["engine", "stop"]).status.code(), Some(0));
    fake_claude::configure(&person.config(), &json!({})).expect("own folder");
    let said = person.said("after");
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.out.contains("first") && said.out.contains("after"), "{said:?}");
    nothing_is_left(&mut person);
}

#[test]
fn a_version_that_is_too_old() {
    is_refused(&json!({ "version": "2.1.100" }), "is not supported: version 2.1.197 or later is needed");
}

#[test]
fn a_program_that_refuses_to_start() {
    is_refused(
        &json!({ "refuses_to_start": "it is broken" }),
        "Claude Code ended (exit status 1): it is broken",
    );
}

#[test]
fn nobody_is_signed_in() {
    is_refused(&json!({ "is_signed_out": true }), "not signed in");
}
