//! Every way in which a model does not answer, in every protocol.

use offshoot_testkit::model::{End, Failure, Script, fail, say};
use serde_json::Value;

use crate::client::{ALL, MESSAGES, ask, connect, send, server};

fn broken_off(failure: Failure) -> Script {
    Script::new().when("go", [say("Half of it").in_pieces(2), fail(failure)])
}

#[test]
fn a_status_comes_with_the_words_of_the_protocol() {
    for (failure, status) in
        [(Failure::rate_limited(7), 429), (Failure::status(500), 500), (Failure::status(529), 529)]
    {
        let server = server(Script::new().when("go", [fail(failure)]));
        for wire in ALL {
            for mut answer in [wire.streamed(&server, "go"), wire.whole(&server, "go")] {
                assert_eq!(answer.status, status);
                assert_eq!(answer.header("retry-after"), (status == 429).then_some("7"));
                let body = answer.json();
                assert!(body["error"]["message"].as_str().unwrap().contains(&status.to_string()), "{body}");
            }
        }
    }
}

#[test]
fn anthropic_names_its_errors() {
    let kind = |status| {
        let server = server(Script::new().when("go", [fail(Failure::status(status))]));
        MESSAGES.streamed(&server, "go").json()["error"]["type"].as_str().unwrap().to_owned()
    };
    assert_eq!(kind(529), "overloaded_error");
    assert_eq!(kind(429), "rate_limit_error");
    assert_eq!(kind(500), "api_error");
    assert_eq!(kind(401), "authentication_error");
}

#[test]
fn an_error_can_come_in_the_middle_of_a_stream() {
    for failure in [Failure::Error, Failure::rate_limited(7), Failure::status(500), Failure::status(529)] {
        let server = server(broken_off(failure));
        for wire in ALL {
            let mut answer = wire.streamed(&server, "go");
            let events = answer.events();
            assert_eq!((answer.status, wire.said(&events).concat()), (200, "Half of it".to_owned()));
            let last = events.last().unwrap();
            let told = last.get("error").or_else(|| last.pointer("/response/error")).unwrap();
            assert_eq!(told["message"], "scripted failure");
        }
    }
}

#[test]
fn an_error_can_come_before_a_word_is_said() {
    let server = server(Script::new().when("go", [fail(Failure::Error)]));
    for wire in ALL {
        let mut answer = wire.streamed(&server, "go");
        let events = answer.events();
        assert_eq!((answer.status, wire.said(&events).concat()), (200, String::new()));
        let last = events.last().unwrap();
        let told = last.get("error").or_else(|| last.pointer("/response/error")).unwrap();
        assert_eq!(told["message"], "scripted failure");
        let mut whole = wire.whole(&server, "go");
        assert_eq!(whole.status, 500, "without a stream there is no event");
        assert!(whole.json()["error"]["message"].is_string());
    }
}

#[test]
fn a_socket_can_drop_in_the_middle_of_a_stream() {
    let server = server(broken_off(Failure::Drop));
    for wire in ALL {
        let mut answer = wire.streamed(&server, "go");
        assert_eq!(wire.said(&answer.events()).concat(), "Half of it");
        assert!(!answer.is_whole);
    }
}

#[test]
fn a_socket_can_drop_before_a_word_is_said() {
    let server = server(Script::new().when("go", [fail(Failure::Drop)]));
    for wire in ALL {
        for is_streamed in [true, false] {
            let (path, request) = (wire.place(is_streamed), wire.request("go", is_streamed));
            assert!(ask(connect(&server), "POST", path, &request).is_none(), "{path}");
        }
    }
    assert_eq!(server.requests().len(), 2 * ALL.len());
    assert!(server.wait_until(|requests| requests.iter().all(|request| request.end == Some(End::Failed))));
}

#[test]
fn what_comes_can_be_no_json() {
    let at_once = Script::new().when("go", [fail(Failure::BadJson)]);
    for (script, said) in [(broken_off(Failure::BadJson), "Half of it"), (at_once, "")] {
        let server = server(script);
        for wire in ALL {
            let text = wire.streamed(&server, "go").text();
            let data: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
            let last = data.last().unwrap();
            assert!(serde_json::from_str::<Value>(last).is_err(), "{last}");
            let events: Vec<Value> =
                data.iter().filter_map(|event| serde_json::from_str(event).ok()).collect();
            assert_eq!(wire.said(&events).concat(), said);
            let mut whole = wire.whole(&server, "go");
            assert_eq!(whole.status, 200);
            assert!(serde_json::from_str::<Value>(&whole.text()).is_err());
        }
    }
}

#[test]
fn a_reply_can_come_only_after_some_failures() {
    let script = Script::new().when("go", [say("At last.")]).only_after([
        Failure::rate_limited(0),
        Failure::status(529),
        Failure::Drop,
    ]);
    let server = server(script);
    assert_eq!(MESSAGES.streamed(&server, "go").status, 429);
    assert_eq!(MESSAGES.streamed(&server, "go").status, 529);
    assert!(ask(connect(&server), "POST", MESSAGES.path, &MESSAGES.request("go", true)).is_none());
    let mut answer = MESSAGES.streamed(&server, "go");
    assert_eq!(MESSAGES.said(&answer.events()).concat(), "At last.");
    assert_eq!(MESSAGES.streamed(&server, "go and go").status, 429, "another prompt fails for itself");
}

#[test]
fn silence_lasts_until_the_client_leaves() {
    let server = server(broken_off(Failure::Silence));
    for wire in ALL {
        let mut answer = wire.streamed(&server, "go");
        let mut said = String::new();
        while !said.contains("it") {
            said.push_str(&String::from_utf8(answer.chunk().unwrap()).unwrap());
        }
        drop(answer);
    }
    let has_left = |end: &Option<End>| *end == Some(End::ClientLeft);
    assert!(server.wait_until(|requests| requests.iter().all(|request| has_left(&request.end))));
}

#[test]
fn silence_can_come_before_a_word_is_said() {
    let server = server(Script::new().when("go", [fail(Failure::Silence)]));
    let mut asked = 0;
    for wire in ALL {
        for is_streamed in [true, false] {
            let mut stream = connect(&server);
            send(&mut stream, "POST", wire.place(is_streamed), &wire.request("go", is_streamed));
            asked += 1;
            assert!(server.wait_until(|requests| requests.len() == asked));
            assert_eq!(server.requests()[asked - 1].end, None, "nobody has left");
            stream.set_nonblocking(true).unwrap();
            let said = stream.peek(&mut [0]).unwrap_err();
            assert_eq!(said.kind(), std::io::ErrorKind::WouldBlock, "not a byte has come");
            drop(stream);
            assert!(server.wait_until(|requests| requests[asked - 1].end == Some(End::ClientLeft)));
        }
    }
}
