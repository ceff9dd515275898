//! What a person answers when a tool needs permission, and what the model and the journal get of it.

use offshoot_testkit::deadline::{BoundedChild, until};
use offshoot_testkit::model::{Script, call, gate, say};
use serde_json::{Value, json};

use crate::MODELS;
use crate::person::{Person, Said};

fn is_asked(person: &Person) -> bool {
    person.json(&["status", "--json"])["rows"].to_string().contains("\"waiting\"")
}

/// Sends a prompt, answers what is asked, and gives what was printed.
fn answered(person: &Person, model: &str, text: &str, answer: &[&str]) -> Said {
    let sending = person.start(&["send", &person.session, text, "--agent", "llm", "--model", model]);
    until("an ask", || is_asked(person));
    person.run(&[&["answer", &person.session], answer].concat()).went_well();
    Said::of(&sending.bounded_output())
}

/// The messages of the last request.
fn messages(person: &Person) -> Vec<Value> {
    let body = person.requests().pop().expect("a request").body;
    body["messages"].as_array().cloned().unwrap_or_default()
}

/// The result that the last request ends with.
fn last_result(person: &Person) -> String {
    messages(person).pop().expect("a message").to_string()
}

fn write(path: &str, content: &str) -> Value {
    json!({ "path": path, "content": content })
}

#[test]
fn what_is_always_allowed_is_not_asked_again_and_something_else_is() {
    for model in MODELS {
        let shell = |command: &str| call("shell", json!({ "command": command }));
        let script = Script::new()
            .when("first", [shell("echo x >> log.txt")])
            .then([say("Once.")])
            .when("second", [shell("echo x >> log.txt")])
            .then([say("Twice.")])
            .when("third", [shell("echo y >> log.txt")])
            .then([say("Not that.")]);
        let person = Person::new(script);
        answered(&person, model, "first", &["always"]).went_well();
        let said = person.send(model, "second", &[]);
        assert!(said.went_well().out.contains("Twice."), "{}", said.shown());
        answered(&person, model, "third", &["deny"]).went_well();
        let log = std::fs::read_to_string(person.workspace().join("log.txt")).expect("a file");
        assert_eq!(log, "x\nx\n");
    }
}

/// A person may correct a call; what they write is confined like the rest.
#[test]
fn a_call_runs_with_the_input_that_a_person_has_changed() {
    for model in MODELS {
        for (path, is_written) in [("other.txt", true), ("../canary", false)] {
            let script =
                Script::new().when("write", [call("write", write("a.txt", "theirs"))]).then([say("Done.")]);
            let person = Person::new(script);
            let input = write(path, "mine").to_string();
            answered(&person, model, "write it", &["allow", "--input", &input]).went_well();
            assert!(!person.workspace().join("a.txt").exists());
            let written = std::fs::read_to_string(person.workspace().join(path)).ok();
            assert_eq!(written.as_deref(), is_written.then_some("mine"));
            let result = last_result(&person);
            let told = if is_written { "created `other.txt`" } else { "is not in the workspace" };
            assert!(result.contains(told), "{result}");
        }
    }
}

#[test]
fn a_model_reads_why_a_call_was_denied() {
    for model in MODELS {
        let script = Script::new().when("write", [call("write", write("a.txt", "x"))]).then([say("I see.")]);
        let person = Person::new(script);
        answered(&person, model, "write it", &["deny", "--message", "put it in notes.md"]).went_well();
        let result = last_result(&person);
        assert!(result.contains("The person denied this: put it in notes.md"), "{result}");
        assert!(!person.workspace().join("a.txt").exists());
    }
}

#[test]
fn a_turn_that_is_interrupted_while_it_asks_can_be_continued() {
    for model in MODELS {
        let script = Script::new()
            .when("write", [call("write", write("a.txt", "x"))])
            .then([gate("never")])
            .when("next", [say("Yes.")]);
        let person = Person::new(script);
        let sending =
            person.start(&["send", &person.session, "write it", "--agent", "llm", "--model", model]);
        until("an ask", || is_asked(&person));
        person.run(&["abort", &person.session]).went_well();
        assert_eq!(Said::of(&sending.bounded_output()).code, Some(130));
        assert!(!is_asked(&person));
        assert_ne!(person.run(&["answer", &person.session, "allow"]).code, Some(0), "nothing is asked");
        let said = person.send(model, "next", &[]);
        assert!(said.went_well().out.contains("Yes."), "{}", said.shown());
        let sent = Value::Array(messages(&person)).to_string();
        assert_eq!(sent.matches("The person interrupted before this was done.").count(), 1, "{sent}");
        assert!(!person.workspace().join("a.txt").exists());
    }
}

/// Of a long result the model reads the beginning and the end.
#[test]
fn the_journal_keeps_a_long_result_whole() {
    for model in MODELS {
        let script = Script::new()
            .when("count", [call("shell", json!({ "command": "seq 1 100000" }))])
            .then([say("Done.")]);
        let person = Person::new(script);
        answered(&person, model, "count", &["allow"]).went_well();
        let read = last_result(&person);
        assert!(read.contains("bytes are left out here") && !read.contains("\\n50000\\n"), "{}", read.len());
        let folders = std::fs::read_dir(person.home().join("blobs")).expect("blobs").flatten();
        let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).expect("a folder").flatten());
        let mut blobs = files.map(|file| std::fs::read_to_string(file.path()).expect("a blob"));
        assert!(blobs.any(|blob| blob.contains("\n49999\n50000\n50001\n")), "the whole result");
    }
}

#[test]
fn the_model_reads_what_a_project_says_first() {
    for model in MODELS {
        let person = Person::new(Script::new().when("hello", [say("Hi.")]));
        std::fs::write(person.workspace().join("AGENTS.md"), "Use tabs here.").expect("a file");
        std::fs::write(person.workspace().join("CLAUDE.md"), "Use spaces.").expect("a file");
        person.send(model, "hello", &[]).went_well();
        let body = person.requests().pop().expect("a request").body.to_string();
        assert!(body.contains("Use tabs here.") && !body.contains("Use spaces."), "{body}");
    }
}
