//! When it is said: gates, pauses and chunks.

use std::time::Duration;

use offshoot_testkit::model::{End, Script, gate, say, wait};

use crate::client::{ALL, CHAT, MESSAGES, server};

#[test]
fn a_gate_holds_a_reply_until_the_test_opens_it() {
    for wire in ALL {
        let server = server(Script::new().when("go", [say("before"), gate("door"), say("after")]));
        let mut answer = wire.streamed(&server, "go");
        assert!(server.wait_at("door"));
        assert_eq!(server.requests()[0].end, None, "it stands at the gate");
        server.open("door");
        assert_eq!(wire.said(&answer.events()).concat(), "beforeafter");
        assert!(server.wait_until(|requests| requests[0].end == Some(End::Answered)));
    }
}

#[test]
fn a_gate_holds_the_beginning_too() {
    let server = server(Script::new().when("go", [gate("door"), say("Hello.")]));
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| MESSAGES.whole(&server, "go").json());
        assert!(server.wait_at("door"));
        server.open("door");
        assert_eq!(asking.join().unwrap()["content"][0]["text"], "Hello.");
    });
}

#[test]
fn two_replies_come_side_by_side() {
    let script = Script::new().when("slow", [gate("door"), say("slow")]).when("fast", [say("fast")]);
    let server = server(script);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| CHAT.whole(&server, "slow").text());
        assert!(server.wait_at("door"));
        assert!(CHAT.whole(&server, "fast").text().contains("fast"));
        server.open("door");
        assert!(slow.join().unwrap().contains("slow"));
    });
}

#[test]
fn pauses_take_nothing_away() {
    let short = Duration::from_millis(2);
    let script = Script::new().when("go", [wait(short), say("a b c d").in_pieces(4).every(short)]);
    let server = server(script);
    for wire in ALL {
        assert_eq!(wire.said(&wire.streamed(&server, "go").events()).concat(), "a b c d");
    }
}

/// A reader of events has to cope with chunks that end anywhere.
#[test]
fn chunks_can_end_in_the_middle_of_a_character() {
    let whole = server(Script::new().when("go", [say("Grüße")]));
    let cut = server(Script::new().when("go", [say("Grüße")]).in_chunks_of(3));
    for wire in ALL {
        let chunks = wire.streamed(&cut, "go").chunks();
        assert!(chunks.iter().all(|chunk| chunk.len() <= 3));
        assert!(chunks.iter().any(|chunk| std::str::from_utf8(chunk).is_err()), "none of them is cut");
        let events = wire.streamed(&whole, "go").chunks();
        assert!(chunks.concat() == events.concat(), "the same bytes");
        assert!(events.iter().all(|event| event.ends_with(b"\n\n")), "else an event is a chunk");
    }
}

#[test]
fn a_server_that_goes_lets_nobody_wait() {
    let server = server(Script::new().when("go", [say("first"), gate("door"), say("never")]));
    let mut answer = MESSAGES.streamed(&server, "go");
    assert!(server.wait_at("door"));
    drop(server);
    assert_eq!(MESSAGES.said(&answer.events()).concat(), "first");
    assert!(!answer.is_whole);
}
