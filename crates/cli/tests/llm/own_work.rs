//! What models write for us: titles, and summaries.

use offshoot_testkit::deadline::until;
use offshoot_testkit::model::{Request, Script, Tokens, gate, say, used};
use serde_json::{Value, json};

use crate::MODELS;
use crate::person::Person;

/// Words of the request for a title.
const TITLE: &str = "Give the conversation above a title";

/// Words of the request for a summary of a branch.
const SUMMARY: &str = "is a branch that the person is leaving";

fn title(person: &Person) -> Value {
    person.json(&["show", &person.session, "--json"])["title"].clone()
}

fn asked_for(person: &Person, words: &str) -> Vec<Request> {
    person.requests().into_iter().filter(|request| request.body.to_string().contains(words)).collect()
}

fn has_tools(request: &Request) -> bool {
    request.body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
}

#[test]
fn a_session_without_a_title_gets_one_from_its_model() {
    for model in MODELS {
        let script = Script::new().when(TITLE, [say("\"Fix the parser.\"")]).when("hello", [say("Hello.")]);
        let person = Person::with_titles(script);
        person.send(model, "hello", &[]).went_well();
        until("a title", || title(&person) == "Fix the parser");
        let [request] = asked_for(&person, TITLE).try_into().expect("one request");
        assert!(!has_tools(&request), "{}", request.body);
        assert_eq!(request.body["model"], model.split('/').nth(1).expect("a name"));
        person.run(&["undo", &person.session]).went_well();
        assert_eq!(title(&person), "Fix the parser", "the title is no step");
        person.send(model, "hello again", &[]).went_well();
        person.run(&["engine", "stop"]).went_well();
        assert_eq!(asked_for(&person, TITLE).len(), 1);
    }
}

#[test]
fn a_title_that_a_person_gives_meanwhile_stays() {
    let [model, _] = MODELS;
    let script = Script::new().when(TITLE, [gate("title"), say("Automatic")]);
    let person = Person::with_titles(script);
    person.send(model, "hello", &[]).went_well();
    assert!(person.server.wait_at("title"));
    person.run(&["rename", &person.session, "Mine"]).went_well();
    person.server.open("title");
    // It waits for the title that is being written.
    person.run(&["engine", "stop"]).went_well();
    assert_eq!(title(&person), "Mine");
    person.send(model, "again", &[]).went_well();
    person.run(&["engine", "stop"]).went_well();
    assert_eq!((title(&person), asked_for(&person, TITLE).len()), ("Mine".into(), 1));
}

#[test]
fn a_title_that_cannot_be_written_disturbs_nobody() {
    let [model, _] = MODELS;
    let script = Script::new().when(TITLE, [say("")]);
    let person = Person::with_titles(script);
    let said = person.send(model, "hello", &[]);
    assert_eq!(said.went_well().error, "");
    let chosen = Person::with_titles(Script::new());
    chosen.write_settings("summary.titles = false\n");
    chosen.send(model, "hello", &[]).went_well();
    chosen.run(&["engine", "stop"]).went_well();
    assert!(asked_for(&chosen, TITLE).is_empty());
}

#[test]
fn another_model_writes_summaries_and_titles_if_it_is_set() {
    let [model, other] = MODELS;
    let script = Script::new()
        .when(TITLE, [say("Two branches")])
        .when(SUMMARY, [say("## Goal\nA summary.")])
        .when("first", [say("First.")]);
    let person = Person::with_titles(script);
    person.write_settings(&format!("[summary]\nagent = \"llm\"\nmodel = \"{other}\"\n"));
    person.send(model, "first", &[]).went_well();
    until("a title", || title(&person) == "Two branches");
    person.send(model, "second", &[]).went_well();
    person.run(&["switch", &person.session, "1", "--summary"]).went_well();
    let name = other.split('/').nth(1).expect("a name");
    for words in [TITLE, SUMMARY] {
        let [request] = asked_for(&person, words).try_into().expect("one request");
        assert_eq!(request.body["model"], name);
        assert!(!has_tools(&request));
    }
    let entries = person.entries();
    let last = entries.last().expect("an entry");
    assert!(last["text"].as_str().is_some_and(|text| text.contains("A summary.")), "{last}");
}

#[test]
fn the_model_of_the_session_writes_the_summary_of_a_branch_that_is_left() {
    for model in MODELS {
        let script = Script::new().when(SUMMARY, [say("## Goal\nA summary.")]);
        let person = Person::new(script);
        for text in ["first", "second"] {
            person.send(model, text, &[]).went_well();
        }
        person.run(&["switch", &person.session, "1", "--summary"]).went_well();
        let [request] = asked_for(&person, SUMMARY).try_into().expect("one request");
        assert_eq!(request.body["model"], model.split('/').nth(1).expect("a name"));
        assert!(!has_tools(&request));
        person.send(model, "third", &[]).went_well();
        let body = person.requests().pop().expect("a request").body.to_string();
        assert!(body.contains("A summary.") && !body.contains("You said: second"), "{body}");
    }
}

/// What a title and a summary have used is part of the cost of a session.
#[test]
fn titles_and_summaries_are_counted() {
    let tokens = |input, output| used(Tokens { input, output, ..Tokens::default() });
    for model in ["anthropic/claude-sonnet-4-5", "openai/gpt-4o"] {
        let script = Script::new()
            .when(TITLE, [say("A title"), tokens(20, 2)])
            .when(SUMMARY, [say("## Goal\nA summary."), tokens(300, 30)])
            .when("", [say("Yes."), tokens(4000, 400)]);
        let person = Person::with_titles(script);
        person.send(model, "first", &[]).went_well();
        until("a title", || title(&person) == "A title");
        person.send(model, "second", &[]).went_well();
        person.run(&["switch", &person.session, "1", "--summary"]).went_well();
        let cost = person.json(&["cost", &person.session, "--json"]);
        let total = &cost["total"];
        assert_eq!((&total["input"], &total["output"]), (&json!(8320), &json!(832)), "{cost}");
    }
}

/// Nothing moves where no summary can be written.
#[test]
fn a_summary_without_a_model_is_refused_before_anything_moves() {
    let person = Person::with_titles(Script::new());
    let [model, _] = MODELS;
    for text in ["first", "second"] {
        person.send(model, text, &[]).went_well();
    }
    let before = person.entries();
    person.write_settings("summary.model = \"nowhere/none\"\n");
    let refused = person.run(&["switch", &person.session, "1", "--summary"]);
    assert_ne!(refused.code, Some(0));
    assert!(refused.error.contains("no provider `nowhere`"), "{}", refused.error);
    assert_eq!(person.entries(), before);
}
