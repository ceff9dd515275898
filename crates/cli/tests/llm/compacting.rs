//! A branch that becomes too long: compacted once, in time, and by hand.

use std::io::Write;
use std::process::Stdio;

use offshoot_testkit::deadline::{BoundedChild, until};
use offshoot_testkit::model::{Failure, Script, Tokens, gate, say, used};

use crate::MODELS;
use crate::person::{Person, Said};

/// Words of the request for a summary.
const COMPACTION: &str = "Summarise the conversation above so that an agent";

/// Four of them are longer than what stays word for word.
fn long() -> String {
    "many words ".repeat(4000)
}

fn summaries(person: &Person) -> usize {
    let requests = person.requests();
    requests.iter().filter(|request| request.body.to_string().contains(COMPACTION)).count()
}

fn last_request(person: &Person) -> String {
    person.requests().pop().expect("a request").body.to_string()
}

fn script() -> Script {
    let summary = [say("## Goal\nThey said a lot.")];
    Script::new().when(COMPACTION, summary).when("many", [say("Noted.")]).when("and now", [say("Yes.")])
}

/// What stays word for word has a count in it of all that was compacted.
#[test]
fn a_branch_that_was_compacted_is_not_compacted_again() {
    for (model, window) in [("anthropic/claude-sonnet-4-5", 200_000), ("openai/gpt-4o", 128_000)] {
        let full = Tokens { input: window - 1000, output: 100, ..Tokens::default() };
        let script = script().when("the last", [say("Full."), used(full)]);
        let person = Person::new(script);
        for number in 0..3 {
            person.send(model, &format!("{number} {}", long()), &[]).went_well();
        }
        person.send(model, "the last", &[]).went_well();
        until("the compaction", || person.journal().contains("They said a lot."));
        assert_eq!(summaries(&person), 1);
        let status = person.json(&["show", &person.session, "--json"]).to_string();
        assert!(status.contains("They said a lot."), "{status}");
        person.send(model, "and now", &[]).went_well();
        assert_eq!(summaries(&person), 1, "{model}: the window is not full any more");
        let body = last_request(&person);
        assert!(body.contains("They said a lot.") && body.contains("the last") && !body.contains("0 many"));
    }
}

#[test]
fn a_person_compacts_a_branch_in_a_chat() {
    for model in MODELS {
        let person = Person::new(script());
        for number in 0..3 {
            person.send(model, &format!("{number} {}", long()), &[]).went_well();
        }
        let mut command = person.command(&["chat", &person.session]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut chat = command.spawn().expect("the program starts");
        chat.stdin.take().expect("a pipe").write_all(b"/compact\nand now\n").expect("it reads");
        Said::of(&chat.bounded_output()).went_well();
        assert_eq!(summaries(&person), 1);
        let body = last_request(&person);
        assert!(
            body.contains("They said a lot.") && body.contains("and now") && !body.contains("0 many"),
            "{model}"
        );
    }
}

/// Nothing is lost: the prompt stays, and the next one is answered.
#[test]
fn a_compaction_is_interrupted() {
    for model in MODELS {
        let script = script()
            .when("the last", [say("never")])
            .only_after([Failure::TooLong])
            // The server ignores the words of this request for a summary, because they begin with a tag.
            .when("", [gate("summary"), say("## Goal\nThey said a lot.")]);
        let person = Person::new(script);
        for number in 0..4 {
            person.send(model, &format!("{number} {}", long()), &[]).went_well();
        }
        let sending =
            person.start(&["send", &person.session, "the last", "--agent", "llm", "--model", model]);
        assert!(person.server.wait_at("summary"));
        person.run(&["abort", &person.session]).went_well();
        assert_eq!(Said::of(&sending.bounded_output()).code, Some(130));
        assert!(!person.journal().contains("They said a lot."));
        person.send(model, "and now", &[]).went_well();
        let body = last_request(&person);
        assert!(body.contains("0 many") && body.contains("the last") && body.contains("and now"), "{model}");
        assert_eq!(person.answers().last().map(String::as_str), Some("Yes."));
    }
}
