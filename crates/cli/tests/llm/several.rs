//! Several models in one conversation.

use std::io::Write;
use std::process::Stdio;

use offshoot_testkit::deadline::BoundedChild;
use offshoot_testkit::model::{Script, say};
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
