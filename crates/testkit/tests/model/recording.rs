//! What the test learns of the requests.

use std::io::Write;

use offshoot_testkit::model::{End, Protocol, Script};
use serde_json::{Value, json};

use crate::client::{ALL, MESSAGES, ask, connect, post, server};

#[test]
fn every_request_is_kept_as_it_came() {
    let server = server(Script::new());
    for wire in ALL {
        wire.streamed(&server, "Hello there").text();
    }
    let requests = server.requests();
    let protocols: Vec<_> = requests.iter().map(|request| request.protocol).collect();
    let expected = [Protocol::Messages, Protocol::Chat, Protocol::Responses, Protocol::Gemini];
    assert_eq!(protocols, expected.map(Some));
    for (request, wire) in requests.iter().zip(ALL) {
        assert_eq!((request.path.as_str(), request.method.as_str()), (wire.streamed_path, "POST"));
        assert_eq!((request.prompt.as_str(), request.header("x-api-key")), ("Hello there", Some("dummy")));
        assert_eq!(request.body, wire.request("Hello there", true));
        assert_eq!(request.bytes, request.body.to_string().into_bytes());
    }
    assert!(server.wait_until(|requests| requests.iter().all(|one| one.end == Some(End::Answered))));
}

#[test]
fn a_request_for_nothing_we_know_is_kept_too() {
    let server = server(Script::new());
    ask(connect(&server), "GET", "/telemetry?x=1", &Value::Null).unwrap();
    let requests = server.requests();
    assert_eq!((requests[0].path.as_str(), requests[0].protocol), ("/telemetry?x=1", None));
    assert_eq!(requests[0].body, Value::Null);
}

#[test]
fn a_connection_serves_request_after_request() {
    let server = server(Script::new());
    let mut stream = connect(&server);
    let body = MESSAGES.request("hi", false).to_string();
    let length = body.len();
    // One with its length, one in chunks, both before the first answer.
    let counted = format!("POST /v1/messages HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
    let chunked = format!(
        "POST /v1/messages HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n"
    );
    stream.write_all(format!("{counted}{chunked}").as_bytes()).unwrap();
    assert!(server.wait_until(|requests| requests.len() == 2));
    let requests = server.requests();
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn what_is_no_http_and_no_json_harms_nobody() {
    let server = server(Script::new());
    connect(&server).write_all(b"\x16\x03\x01 nonsense\r\n\r\n").unwrap();
    let mut stream = connect(&server);
    stream.write_all(b"POST /v1/messages HTTP/1.1\r\nContent-Length: 3\r\n\r\n{{{").unwrap();
    assert!(server.wait_until(|requests| requests.iter().any(|request| request.body == json!("{{{"))));
    assert_eq!(post(&server, MESSAGES.path, &MESSAGES.request("hi", false)).status, 200);
}
