//! A tool loop in a real workspace: allowed, denied, several calls at once, interrupted.

use offshoot_testkit::deadline::{BoundedChild, until};
use offshoot_testkit::model::{Script, call, gate, say};
use serde_json::{Value, json};

use crate::MODELS;
use crate::person::{Person, Said};

fn state(person: &Person) -> String {
    let status = person.json(&["status", "--json"]);
    status["rows"].to_string()
}

/// The results that the last request holds, by call.
fn results(person: &Person) -> Vec<String> {
    let body = person.requests().pop().expect("a request").body;
    let messages = body["messages"].as_array().cloned().unwrap_or_default();
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        other => other[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    let mut results = Vec::new();
    for message in messages {
        if message["role"] == "tool" {
            results.push(text(&message["content"]));
        }
        let blocks = message["content"].as_array().cloned().unwrap_or_default();
        let of_tools = blocks.iter().filter(|block| block["type"] == "tool_result");
        results.extend(of_tools.map(|block| text(&block["content"])));
    }
    results
}

#[test]
fn a_file_is_changed_after_it_was_allowed_and_not_when_it_was_denied() {
    for model in MODELS {
        for (answer, text) in [("allow", "new text\n"), ("deny", "old text\n")] {
            let edit = json!({ "path": "notes.txt", "old": "old", "new": "new" });
            let script = Script::new()
                .when("change", [say("Looking."), call("read", json!({ "path": "notes.txt" }))])
                .then([call("edit", edit)])
                .then([say("That is all.")]);
            let person = Person::new(script);
            let file = person.workspace().join("notes.txt");
            std::fs::write(&file, "old text\n").expect("a file");
            let words = ["send", &person.session, "change it", "--agent", "llm", "--model", model];
            let sending = person.start(&words);
            until("an ask", || state(&person).contains("\"waiting\""));
            assert_eq!(
                std::fs::read_to_string(&file).expect("a file"),
                "old text\n",
                "nothing before it is allowed"
            );
            person.run(&["answer", &person.session, answer]).went_well();
            let said = Said::of(&sending.bounded_output());
            assert!(said.went_well().out.contains("That is all."), "{}", said.out);
            assert_eq!(std::fs::read_to_string(&file).expect("a file"), text);
            let results = results(&person);
            assert!(results[0].contains("old text"), "{results:?}");
            assert_eq!(results[1].contains("denied"), answer == "deny", "{results:?}");
        }
    }
}

#[test]
fn calls_that_change_nothing_run_in_parallel_and_their_results_keep_their_order() {
    for model in MODELS {
        let read = |name: &str| call("read", json!({ "path": name }));
        let script =
            Script::new().when("read", [read("a"), read("none"), read("b")]).then([say("Read all three.")]);
        let person = Person::new(script);
        for name in ["a", "b"] {
            std::fs::write(person.workspace().join(name), format!("file {name}\n")).expect("a file");
        }
        person.send(model, "read them", &[]).went_well();
        let results = results(&person);
        let [a, none, b] = results.as_slice() else { panic!("{results:?}") };
        assert!(a.contains("file a") && b.contains("file b") && none.contains("`none`"), "{results:?}");
        assert_eq!(person.requests().len(), 2);
    }
}

/// A call that is not possible has a result that says why.
#[test]
fn calls_that_are_not_possible_are_answered() {
    for model in MODELS {
        let calls = [
            call("read", json!({ "path": "../home/settings.toml" })),
            call("fly", json!({})),
            call("read", json!({})),
        ];
        let person = Person::new(Script::new().when("try", calls).then([say("No.")]));
        person.send(model, "try it", &[]).went_well();
        let results = results(&person);
        assert_eq!(results.len(), 3);
        assert!(!results[0].contains("providers"), "{results:?}");
        assert!(results[1].contains("no tool `fly`"), "{results:?}");
    }
}

/// A model may ask for its own key. It is neither in the environment of a command nor in what the model reads.
#[test]
fn a_command_does_not_see_the_key() {
    let [model, _] = MODELS;
    let command = call("shell", json!({ "command": "env; echo ran" }));
    let person = Person::new(Script::new().when("run", [command]).then([say("Done.")]));
    let words = ["send", &person.session, "run it", "--agent", "llm", "--model", model];
    let sending = person.start(&words);
    until("an ask", || state(&person).contains("\"waiting\""));
    person.run(&["answer", &person.session, "allow"]).went_well();
    Said::of(&sending.bounded_output()).went_well();
    let results = results(&person);
    assert!(results[0].contains("ran") && !results[0].contains("API_KEY"), "{results:?}");
}

/// The model must not believe that its own command ran.
#[test]
fn the_model_hears_that_its_command_was_changed() {
    for model in MODELS {
        let command = call("shell", json!({ "command": "echo asked" }));
        let person = Person::new(Script::new().when("run", [command]).then([say("Done.")]));
        let sending = person.start(&["send", &person.session, "run it", "--agent", "llm", "--model", model]);
        until("an ask", || state(&person).contains("\"waiting\""));
        let input = r#"{"command":"echo changed"}"#;
        person.run(&["answer", &person.session, "allow", "--input", input]).went_well();
        Said::of(&sending.bounded_output()).went_well();
        let within = results(&person);
        assert!(within[0].contains(input) && within[0].contains("\nchanged\n"), "{within:?}");
        person.send(model, "next", &[]).went_well();
        assert_eq!(results(&person), within, "it is read the same in later turns");
    }
}

/// A turn that is interrupted while a command runs: the command ends, and its call has a result.
#[test]
fn an_interrupted_command_leaves_a_transcript_that_can_be_read_again() {
    for model in MODELS {
        let shell = call("shell", json!({ "command": "echo begun > began; sleep 1000; echo ended > ended" }));
        let script = Script::new().when("run", [shell]).then([gate("never")]).when("next", [say("Yes.")]);
        let person = Person::new(script);
        let words = ["send", &person.session, "run it", "--agent", "llm", "--model", model];
        let sending = person.start(&words);
        until("an ask", || state(&person).contains("\"waiting\""));
        person.run(&["answer", &person.session, "allow"]).went_well();
        until("the command", || person.workspace().join("began").exists());
        person.run(&["abort", &person.session]).went_well();
        assert_eq!(Said::of(&sending.bounded_output()).code, Some(130));
        person.send(model, "next", &[]).went_well();
        assert_eq!(results(&person).len(), 1, "the call has its result");
        assert!(!person.workspace().join("ended").exists());
    }
}
