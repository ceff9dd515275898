//! Several models in one conversation.

use std::io::Write;
use std::process::Stdio;

use offshoot_testkit::deadline::BoundedChild;
use offshoot_testkit::model::{Script, Tokens, say, used};
use serde_json::Value;

use crate::MODELS;
use crate::person::{Person, Said};

/// The models that were asked for an answer, in order.
fn asked(person: &Person) -> Vec<String> {
    let models = person.requests().into_iter().map(|request| request.body["model"].clone());
    models.map(|model| model.as_str().unwrap_or_default().to_owned()).collect()
}

fn names() -> [&'static str; 2] {
    MODELS.map(|model| model.rsplit('/').next().unwrap_or_default())
}

#[test]
fn the_same_is_asked_of_several_models_and_each_has_its_cost() {
    let person = Person::new(Script::new().when("hello", [say("Hello.")]));
    let [one, other] = MODELS;
    person.send(one, "hello", &[]).went_well();
    let both = MODELS.join(",");
    let said = person.run(&["retry", &person.session, "--send", "--model", &both]);
    assert_eq!(said.went_well().out, "Hello.\nHello.\n");
    assert!(said.error.contains(one) && said.error.contains(other), "{}", said.error);
    let [first, second] = names();
    assert_eq!(asked(&person), [first, first, second]);
    let versions = person.json(&["versions", &person.session, "1", "--json"]);
    assert_eq!(versions["versions"].as_array().map(Vec::len), Some(3), "{versions}");
    let is_alone = |body: &Value| !body["messages"].to_string().contains("Hello.");
    assert!(
        person.requests().iter().all(|request| is_alone(&request.body)),
        "an answer is no part of another version"
    );
    let cost = person.json(&["cost", &person.session, "--by", "model", "--json"]).to_string();
    assert!(cost.contains(first) && cost.contains(second), "{cost}");
}

/// A model is in force from a message on, on its branch.
#[test]
fn a_branch_keeps_its_model() {
    let person = Person::new(Script::new());
    let [one, other] = MODELS;
    person.send(one, "first", &[]).went_well();
    person.send(other, "second", &[]).went_well();
    person.run(&["send", &person.session, "third"]).went_well();
    person.run(&["switch", &person.session, "1"]).went_well();
    person.run(&["send", &person.session, "second, otherwise"]).went_well();
    let [first, second] = names();
    assert_eq!(asked(&person), [first, second, second, first]);
}

#[test]
fn a_chat_changes_the_model_for_what_comes_next() {
    let person = Person::new(Script::new().when("hello", [say("Hello.")]));
    let [one, other] = MODELS;
    let mut command = person.command(&["chat", &person.session]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut chat = command.spawn().expect("the program starts");
    let lines = format!("/model {one}\nhello\n/model {other}\nhello again\n");
    chat.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
    Said::of(&chat.bounded_output()).went_well();
    assert_eq!(asked(&person), names());
    let cost: Value = person.json(&["cost", &person.session, "--by", "model", "--json"]);
    assert!(names().iter().all(|name| cost.to_string().contains(name)), "{cost}");
}

/// Input, output, what was read from the cache and what was written into it, each at its price.
#[test]
fn each_model_costs_what_the_table_says() {
    let tokens = Tokens { input: 10_000, output: 1000, cache_read: 20_000, cache_write: 4000 };
    let person = Person::new(Script::new().when("", [say("Yes."), used(tokens)]));
    // 3, 15, 0.3 and 3.75 dollars a million; OpenAI: 2.5, 10 and 1.25, and it counts nothing that is written.
    let priced = [("anthropic/claude-sonnet-4-5", 66_000), ("openai/gpt-4o", 60_000)];
    for (model, _) in priced {
        person.send(model, "hello", &[]).went_well();
    }
    let cost = person.json(&["cost", &person.session, "--by", "model", "--json"]);
    for (model, micros) in priced {
        let name = model.rsplit('/').next().unwrap_or_default();
        let rows = cost["rows"].as_array().unwrap_or_else(|| panic!("{cost}"));
        let row = rows.iter().find(|row| row.to_string().contains(name)).unwrap_or_else(|| panic!("{cost}"));
        assert_eq!(row["cost_micros"], micros, "{cost}");
    }
    let total = person.json(&["cost", &person.session, "--json"]);
    assert_eq!(total["total"]["cost_micros"], 126_000, "{total}");
}
