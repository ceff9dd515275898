//! A Claude Code that misbehaves, as a person meets it: what is printed, that the next message is answered with all that
//! was said before, and that no process is left.

use std::process::Command;

use offshoot_testkit::deadline::{BoundedChild, until};
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
    knows_all(person);
    nothing_is_left(person);
}

#[track_caller]
fn knows_all(person: &mut Person) {
    let said = person.said("after");
    assert_eq!(said.code, Some(0), "{said:?}");
    let known: Vec<String> = serde_json::from_str(said.out.trim()).expect("the prompts that Claude knows");
    let first_words: Vec<&str> = known.iter().filter_map(|prompt| prompt.lines().next()).collect();
    assert_eq!(first_words, ["first", "fault", "after"], "{said:?}");
    assert_eq!(person.difference(), None);
}

/// But the process that waits for the next message, until the engine is stopped.
#[track_caller]
fn nothing_is_left(person: &mut Person) {
    nothing_is_left_of(person, |agents| agents.len() == 1);
}

#[track_caller]
pub(crate) fn nothing_is_left_of(person: &mut Person, is_all: impl Fn(&[u32]) -> bool) {
    if cfg!(target_os = "linux") {
        until("the end of all processes but those that wait", || is_all(&person.agents()));
    }
    assert_eq!(person.run(&["engine", "stop"]).status.code(), Some(0));
    until("the end of all agents", || person.agents().is_empty());
    assert_eq!(person.runs(), [""; 0]);
}

/// Its run may have no file any more.
#[test]
#[cfg(target_os = "linux")]
fn a_process_of_a_run_that_is_over_is_seen() {
    let mut person = Person::new();
    person.send("first");
    let mut left = Command::new("sleep")
        .arg("1000")
        .envs([("HOME", person.folder().as_os_str()), ("OFFSHOOT_AGENT_RUN", "gone".as_ref())])
        .spawn()
        .expect("a process");
    until("its environment", || person.agents().contains(&left.id()));
    assert_eq!(person.agents().len(), 2, "and the Claude that waits");
    left.kill().expect("it runs");
    left.bounded_wait();
    nothing_is_left(&mut person);
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
fn a_flood_of_long_entries() {
    let mut person = Person::new();
    let said = fails(&mut person, &"%big 1000000\n".repeat(30));
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(said.out.matches('x').count(), 30_000_000);
    is_usable(&mut person);
}

/// It says nothing any more and hears no interrupt.
#[test]
fn silence_in_an_answer() {
    let mut person = Person::new();
    person.sets("OFFSHOOT_AGENTS_CLAUDE_CODE_SILENCE_WAIT", "1s");
    person.send("first");
    let told = person.folder().join("told");
    let prompt = "fault\n%say Begun.\n%deaf";
    let mut sending = person.start_into(&told, &["send", &person.session, prompt]);
    let has_told = |words: &str| std::fs::read_to_string(&told).is_ok_and(|told| told.contains(words));
    until("words about the silence", || {
        has_told("No output from Claude Code for 1 s: wait, or interrupt it.")
    });
    person.done(&["abort", &person.session]);
    assert_ne!(sending.bounded_wait().code(), Some(0));
    let all = std::fs::read_to_string(&told).unwrap_or_default();
    assert!(all.contains("Claude Code had to be ended."), "{all}");
    is_usable(&mut person);
    assert_eq!(person.texts("assistant").first().map(String::as_str), Some("Begun."));
}

#[test]
fn a_name_of_a_session_that_is_taken() {
    let mut person = Person::new();
    let taken = json!({ "refuses": { "1": "Error: Session ID x is already in use." } });
    fake_claude::configure(&person.config(), &taken).expect("own folder");
    person.send("first");
    assert_eq!(fake_claude::starts(&person.config()), 2, "once more, under another name");
    person.send("fault");
    is_usable(&mut person);
}

/// Another way leads to the branch.
#[test]
fn a_message_that_claude_does_not_find() {
    let mut person = Person::new();
    person.send("first");
    person.send("other");
    let not_found = json!({ "refuses": { "2": "No message found with message.uuid of: x" } });
    fake_claude::configure(&person.config(), &not_found).expect("own folder");
    person.edit("#2", "fault");
    assert_eq!(fake_claude::starts(&person.config()), 3);
    assert_eq!(person.bound().1, "forked_at_message", "from a file that was written for it");
    knows_all(&mut person);
    // The session that was forked waits too.
    nothing_is_left_of(&mut person, |agents| agents.len() == 2);
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
    is_refused_with(faults, &[], sentence);
}

#[track_caller]
fn is_refused_with(faults: &serde_json::Value, variables: &[(&'static str, &'static str)], sentence: &str) {
    let mut person = Person::new();
    person.send("first");
    assert_eq!(person.run(&["engine", "stop"]).status.code(), Some(0));
    fake_claude::configure(&person.config(), faults).expect("own folder");
    variables.iter().for_each(|(name, value)| person.sets(name, value));
    let said = person.said("fault");
    variables.iter().for_each(|(name, _)| person.unsets(name));
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
fn a_program_that_never_answers() {
    is_refused_with(
        &json!({ "is_silent": true }),
        &[("OFFSHOOT_AGENTS_CLAUDE_CODE_START_WAIT", "3s")],
        "Claude Code could not be started: it did not answer within 3 s",
    );
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
