//! Answers that come: streams, thinking, images, branches with different models, interrupts, compaction.

use offshoot_testkit::deadline::BoundedChild;
use offshoot_testkit::model::{Failure, Script, gate, say, think};
use serde_json::{Value, json};

use crate::MODELS;
use crate::person::{Person, Said};

/// The texts of all messages of a request, in order.
fn texts(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().expect("messages").iter();
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
            texts.join(" ")
        }
        _ => String::new(),
    };
    messages.filter(|message| message["role"] != "system").map(text).collect()
}

#[test]
fn an_answer_with_thinking_is_streamed_in_both_protocols() {
    for model in MODELS {
        let script = Script::new().when("hello", [think("They greet me."), say("Hello, größer world.")]);
        let person = Person::new(script.in_chunks_of(7));
        let said = person.send(model, "hello there", &[]);
        assert_eq!(said.went_well().out, "Hello, größer world.\n");
        let entries = person.entries();
        let answer = entries.iter().find(|entry| entry["role"] == "assistant").expect("an answer");
        assert_eq!(answer["text"], "Hello, größer world.");
        let journal = person.journal();
        assert!(journal.contains(r#"{"thinking":"They greet me."}"#), "{journal}");
        assert_eq!(journal.contains(r#""signatures":[{"block":0,"#), model.starts_with("anthropic"));
        let [request] = person.requests().try_into().expect("one request");
        assert_eq!(texts(&request.body), ["hello there"]);
        assert_eq!(request.body["stream"], true);
    }
}

/// The whole conversation of a branch goes to the model that is asked, and nothing of another branch.
#[test]
fn two_models_answer_in_sibling_branches() {
    let script = Script::new()
        .when("second of one", [say("Second one.")])
        .when("second of other", [think("hm"), say("Second other.")])
        .when("first", [think("signed"), say("First.")]);
    let person = Person::new(script);
    let [one, other] = MODELS;
    person.send(one, "first", &[]).went_well();
    person.send(one, "second of one", &[]).went_well();
    person.send(other, "second of other", &["--edit", "#2"]).went_well();
    let bodies: Vec<Value> = person.requests().into_iter().map(|request| request.body).collect();
    let [first, second, third] = bodies.as_slice() else { panic!("{bodies:?}") };
    assert_eq!(texts(first), ["first"]);
    assert_eq!(texts(second), ["first", "First.", "second of one"]);
    assert_eq!(texts(third), ["first", "First.", "second of other"]);
    let thinking = json!({ "type": "thinking", "thinking": "signed", "signature": "c2NyaXB0ZWQ=" });
    assert_eq!(second["messages"][1]["content"][0], thinking, "the model that signed it reads it again");
    assert!(!third.to_string().contains("signed"), "and no other does");
    let cost = person.json(&["cost", "--by", "model", "--json"]).to_string();
    assert!(cost.contains("claude-scripted") && cost.contains("gpt-scripted"), "{cost}");
}

#[test]
fn a_fork_begins_with_the_request_of_its_origin() {
    let person = Person::new(Script::new());
    let [model, _] = MODELS;
    for text in ["one", "two", "three"] {
        person.send(model, text, &[]).went_well();
    }
    person.send(model, "three, otherwise", &["--edit", "#3"]).went_well();
    let bodies: Vec<Value> = person.requests().into_iter().map(|request| request.body).collect();
    let [_, _, origin, fork] = bodies.as_slice() else { panic!("{bodies:?}") };
    assert_eq!((&origin["system"], &origin["tools"]), (&fork["system"], &fork["tools"]));
    let messages = |body: &Value| body["messages"].as_array().cloned().unwrap_or_default();
    assert_eq!(messages(origin)[..4], messages(fork)[..4], "marks for the cache included");
    assert_eq!(origin["messages"][4]["content"][0]["cache_control"]["type"], "ephemeral");
}

#[test]
fn an_image_is_sent_in_both_protocols() {
    // The smallest PNG: one pixel.
    let png = [
        0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0,
        0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89,
    ];
    for model in MODELS {
        let person = Person::new(Script::new().when("look", [say("One pixel.")]));
        std::fs::write(person.workspace().join("pixel.png"), png).expect("a file");
        person.send(model, "look", &["--attach", "pixel.png"]).went_well();
        person.send(model, "again", &[]).went_well();
        for request in person.requests() {
            let content = request.body["messages"].to_string();
            assert!(content.contains("iVBORw0KGgoAAAANSUhEUg"), "{content}");
            assert!(content.contains("image/png"), "{content}");
        }
    }
}

#[test]
fn an_interrupted_answer_is_kept_and_read_again() {
    let script = Script::new().when("tell", [say("The beginning."), gate("stop"), say("The end.")]);
    let person = Person::new(script);
    for model in MODELS {
        let sending = person.start(&["send", &person.session, "tell me", "--agent", "llm", "--model", model]);
        assert!(person.server.wait_at("stop"));
        offshoot_testkit::deadline::until("the beginning of the answer", || {
            person.answers().last().is_some_and(|answer| answer == "The beginning.")
        });
        person.run(&["abort", &person.session]).went_well();
        assert_eq!(Said::of(&sending.bounded_output()).code, Some(130));
        assert_eq!(person.answers().last().map(String::as_str), Some("The beginning."));
        person.send(model, "go on", &[]).went_well();
        let body = person.requests().pop().expect("a request").body;
        let texts = texts(&body);
        assert_eq!(texts[texts.len() - 3..], ["tell me", "The beginning.", "go on"]);
    }
}

/// A conversation that is too long is made shorter, and the prompt is answered.
#[test]
fn a_conversation_that_is_too_long_is_compacted_and_asked_again() {
    for model in MODELS {
        let long = "many words ".repeat(4000);
        let script = Script::new()
            .when("many", [say("Noted.")])
            .when("last", [say("Answered.")])
            .only_after([Failure::TooLong])
            .when("and now", [say("Yes.")])
            // The server ignores the words of a request for a summary, because they begin with a tag.
            .when("", [say("## Goal\nThey said a lot.")]);
        let person = Person::new(script);
        for number in 0..4 {
            person.send(model, &format!("{number} {long}"), &[]).went_well();
        }
        let said = person.send(model, "the last", &[]);
        assert!(said.went_well().out.contains("Answered."), "{}", said.out);
        let requests = person.requests();
        let body = requests.last().expect("a request").body.to_string();
        assert!(body.contains("They said a lot.") && body.contains("the last"));
        assert!(!body.contains("0 many"), "the beginning is summarised");
        // The next prompt continues from the summary.
        person.send(model, "and now", &[]).went_well();
        let next = person.requests().last().expect("a request").body.to_string();
        assert!(next.contains("They said a lot.") && next.contains("the last") && next.contains("and now"));
    }
}

#[test]
fn where_there_is_nothing_to_shorten_the_person_hears_that_it_is_too_long() {
    for model in MODELS {
        let script = Script::new().when("huge", [say("never")]).only_after(vec![Failure::TooLong; 9]);
        let person = Person::new(script);
        let said = person.send(model, "huge", &[]);
        assert_eq!(said.code, Some(1));
        assert!(said.says(&format!("the conversation is too long for `{model}`")), "{}", said.error);
    }
}
