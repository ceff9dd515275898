//! Every way in which a model does not answer: a sentence that names it, what was shown is kept, and the session stays usable.

use std::time::{Duration, Instant};

use offshoot_testkit::model::{Failure, Part, Script, call, fail, say, stop};
use serde_json::json;

use crate::MODELS;
use crate::person::Person;

/// Asked so often at most; the waits between are those of a person's settings, too.
const LIMITS: &str = "attempts = 2\ntime_limit = \"2s\"\n";

fn check(failure: &Failure, sentence: &str) {
    for model in MODELS {
        let provider = model.split('/').next().unwrap_or_default();
        let sentence = sentence.replace("NAME", provider).replace("MODEL", model);
        let script = Script::new().when("first", [say("Fine.")]).when("fail", [fail(failure.clone())]);
        let person = Person::with_settings(script, LIMITS);
        person.send(model, "first", &[]).went_well();
        let said = person.send(model, "fail now", &[]);
        assert_eq!(said.code, Some(1), "{}", said.shown());
        assert!(said.says(&sentence), "{sentence}\nis not in\n{}", said.shown());
        // The prompt is kept, and the next one is answered.
        person.send(model, "and now", &[]).went_well();
        assert_eq!(person.answers().last().map(String::as_str), Some("You said: and now"));
    }
}

/// The failure comes behind words that were shown.
fn check_in_the_middle(failure: &Failure, sentence: &str) {
    for model in MODELS {
        let provider = model.split('/').next().unwrap_or_default();
        let sentence = sentence.replace("NAME", provider);
        let parts: [Part; 2] = [say("The partial answer."), fail(failure.clone())];
        let script = Script::new().when("fail", parts);
        let person = Person::with_settings(script, LIMITS);
        let said = person.send(model, "fail now", &[]);
        assert_eq!(said.code, Some(1), "{}", said.shown());
        assert!(said.says(&sentence), "{sentence}\nis not in\n{}", said.shown());
        let kept = person.answers();
        assert!(kept.iter().any(|answer| answer.contains("The partial answer.")), "{kept:?}");
        person.send(model, "and now", &[]).went_well();
        assert_eq!(person.answers().last().map(String::as_str), Some("You said: and now"));
    }
}

#[test]
fn a_key_that_is_refused() {
    check(&Failure::status(401), "`NAME` does not accept the key in");
}

#[test]
fn something_that_is_not_permitted() {
    check(&Failure::status(403), "`NAME` does not permit this with the key in");
}

#[test]
fn a_model_that_is_not_there() {
    check(&Failure::status(404), "`NAME` has no model");
}

#[test]
fn a_request_that_is_too_large() {
    check(&Failure::status(413), "the request is too large for `NAME` (status 413)");
}

#[test]
fn a_limit_that_stays() {
    check(&Failure::status(429), "`NAME` does not take more requests now (status 429): scripted failure 429");
}

#[test]
fn a_limit_that_lasts_too_long_is_not_waited_for() {
    let since = Instant::now();
    check(&Failure::rate_limited(3600), "`NAME` does not take more requests now (status 429)");
    assert!(since.elapsed() < Duration::from_secs(600), "an hour is not waited");
}

#[test]
fn a_server_that_fails() {
    check(&Failure::status(500), "`NAME` failed (status 500): scripted failure 500");
}

#[test]
fn a_server_that_is_overloaded() {
    check(&Failure::status(529), "`NAME` is overloaded (status 529): scripted failure 529");
}

#[test]
fn a_connection_that_is_dropped_before_an_answer() {
    check(&Failure::Drop, "`NAME` at 127.0.0.1:");
}

#[test]
fn a_proxy_that_reaches_nobody() {
    check(&Failure::Page, "`NAME` failed (status 502)");
}

#[test]
fn a_silence_before_an_answer() {
    check(&Failure::Silence, "`NAME` has sent nothing for 2 s");
}

#[test]
fn an_error_in_the_middle_of_an_answer() {
    check_in_the_middle(&Failure::Error, "scripted failure");
}

#[test]
fn a_connection_that_is_dropped_in_the_middle() {
    check_in_the_middle(&Failure::Drop, "the connection to `NAME` was lost before its answer was complete");
}

#[test]
fn a_proxy_that_cuts_an_answer_off() {
    check_in_the_middle(&Failure::Cut, "the connection to `NAME` was lost before its answer was complete");
}

#[test]
fn a_proxy_that_cuts_an_answer_off_within_an_event() {
    check_in_the_middle(&Failure::Torn, "the connection to `NAME` was lost before its answer was complete");
}

/// It is asked for again, like any other lost answer.
#[test]
fn an_answer_that_was_cut_off_within_an_event_is_replaced() {
    for model in MODELS {
        let script = Script::new().when("hello", [say("Hello.")]).only_after([Failure::Torn]);
        let person = Person::new(script);
        person.send(model, "hello", &[]).went_well();
        assert_eq!(person.answers(), ["Hello."]);
    }
}

#[test]
fn an_answer_of_too_many_calls() {
    for model in MODELS {
        let calls = vec![call("read", json!({ "path": "a" })); 200];
        let person = Person::with_settings(Script::new().when("go", calls), LIMITS);
        let said = person.send(model, "go", &[]);
        assert_eq!(said.code, Some(1), "{}", said.shown());
        assert!(said.says("does not stop answering: it sent too many calls"), "{}", said.shown());
        person.send(model, "and now", &[]).went_well();
    }
}

#[test]
fn an_answer_that_the_model_refuses_to_give() {
    for (model, reason) in MODELS.into_iter().zip(["refusal", "content_filter"]) {
        for parts in [vec![say("I begin."), stop(reason)], vec![stop(reason)]] {
            let words = parts.len() > 1;
            let person = Person::with_settings(Script::new().when("go", parts), LIMITS);
            let said = person.send(model, "go", &[]);
            assert_eq!(said.code, Some(1), "{}", said.shown());
            let sentence = format!("`{model}` refused to answer (`{reason}`)");
            assert!(said.says(&sentence), "{}", said.shown());
            assert_eq!(person.answers().iter().any(|answer| answer == "I begin."), words);
            person.send(model, "and now", &[]).went_well();
        }
    }
}

#[test]
fn a_silence_in_the_middle_of_an_answer() {
    check_in_the_middle(&Failure::Silence, "`NAME` has sent nothing for 2 s");
}

#[test]
fn an_answer_that_cannot_be_read() {
    check_in_the_middle(&Failure::BadJson, "`NAME` sent something that cannot be read: an event is no JSON");
}

#[test]
fn an_answer_without_end() {
    check_in_the_middle(&Failure::Endless, "`NAME` does not stop answering");
}

#[test]
fn a_flood() {
    check_in_the_middle(&Failure::Flood, "`NAME` sent something that cannot be read");
}

#[test]
fn a_request_is_sent_again_until_it_is_answered() {
    let failures = [Failure::status(500), Failure::Drop, Failure::rate_limited(1), Failure::status(408)];
    for model in MODELS {
        let script = Script::new().when("hello", [say("Hello.")]).only_after(failures.clone());
        let person = Person::with_settings(script, "attempts = 5\n");
        let said = person.send(model, "hello", &[]);
        assert!(said.went_well().out.contains("Retrying in 1 s"), "{}", said.out);
        assert_eq!(person.requests().len(), failures.len() + 1);
        assert_eq!(person.answers(), ["Hello."]);
    }
}

/// What was begun when the connection was lost is void, and the answer is asked for again.
#[test]
fn a_lost_answer_is_replaced() {
    for model in MODELS {
        let script = Script::new().when("hello", [say("Hello.")]).only_after([Failure::Cut]);
        let person = Person::new(script);
        person.send(model, "hello", &[]).went_well();
        assert_eq!(person.answers(), ["Hello."]);
    }
}

#[test]
fn a_key_that_is_refused_is_not_tried_again() {
    for model in MODELS {
        let person = Person::new(Script::new().when("hello", [fail(Failure::status(401))]));
        person.send(model, "hello", &[]);
        assert_eq!(person.requests().len(), 1);
    }
}
