//! Programs and engines of different versions meet.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;

use offshoot_api::PROTOCOL;
use serde_json::{Value, json};

use crate::home::{Home, PATIENCE, Wire};

/// An engine of another version, with or without a running turn.
struct Other {
    protocol: u32,
    is_busy: bool,
}

impl Other {
    /// Serves the home until it is stopped. The receiver gets the kinds of all requests.
    fn serve(self, home: &Home) -> mpsc::Receiver<String> {
        home.prepare_run();
        let lock = home.lock(home.path().join("engine.lock"));
        let path = home.run_path("engine.sock");
        let listener = UnixListener::bind(&path).expect("a socket");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("own socket");
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if self.is_stopped_by(stream, &tell) {
                    drop(lock);
                    std::fs::remove_file(&path).expect("own socket");
                    return;
                }
            }
        });
        told
    }

    fn is_stopped_by(&self, stream: UnixStream, tell: &mpsc::Sender<String>) -> bool {
        stream.set_read_timeout(Some(PATIENCE)).expect("own socket");
        let mut lines = BufReader::new(stream);
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap_or_default() == 0 {
                return false;
            }
            let call: Value = serde_json::from_str(&line).expect("JSON");
            let request = &call["request"];
            let mut reply = self.reply_to(request);
            reply["id"] = call["id"].clone();
            let _ = writeln!(lines.get_mut(), "{reply}");
            let _ = tell.send(request["type"].as_str().unwrap_or_default().to_owned());
            if request["action"] == "stop" && !self.is_busy {
                return true;
            }
        }
    }

    fn reply_to(&self, request: &Value) -> Value {
        let (protocol, version) = (self.protocol, "0.0.9");
        match (request["type"].as_str(), request["action"].as_str()) {
            (Some("hello"), _) => json!({ "response": {
                "type": "hello", "program": "offshoot", "version": version, "protocol": protocol, "process": 1,
            } }),
            (Some("engine"), Some("stop")) if self.is_busy => {
                json!({ "error": { "code": "running", "message": TURNS } })
            }
            (Some("engine"), _) => json!({ "response": {
                "type": "engine", "version": version, "protocol": protocol, "process": 1, "epoch": 1,
                "started_at": "2025-03-04T14:00:00Z", "home": "/", "sessions": 0, "connections": 1,
                "followers": 0, "turns": if self.is_busy { json!([row()]) } else { json!([]) },
            } }),
            (kind, _) => json!({ "error": { "code": "unsupported_message", "message": kind } }),
        }
    }
}

const TURNS: &str = "1 turn is running: 6f2a91 #3";

fn row() -> Value {
    json!({
        "session": "6f2a91c0-0000-7000-8000-000000000001", "turn": "27c470a3c583", "prompt": "b4096962b67f",
        "branch": null, "number": 3, "agent": "built_in", "since": "2025-03-04T14:00:00Z",
        "status": { "state": "waiting", "kind": "question", "confidence": "high", "source": "stream" },
        "ask": "27c470a3c583/ask1", "what": "Which way shall we go?",
    })
}

#[test]
fn an_older_engine_in_which_nothing_runs_is_replaced() {
    let home = Home::with_session("Older");
    let told = Other { protocol: 0, is_busy: false }.serve(&home);
    assert!(home.done(&["send", "hello"]).contains("You said “hello”"));
    let asked: Vec<String> = (0..2).map(|_| told.recv_timeout(PATIENCE).expect("a request")).collect();
    assert_eq!(asked, ["hello", "engine"]);
    assert_eq!(home.engines().len(), 1);
}

#[test]
fn an_older_engine_that_is_busy_is_named_with_its_turns() {
    let home = Home::with_session("Busy");
    let _told = Other { protocol: 0, is_busy: true }.serve(&home);
    let ours = env!("CARGO_PKG_VERSION");
    for command in [["send", "hello"], ["answer", "allow"], ["abort", "Busy"], ["rename", "Still busy"]] {
        let (error, code) = home.refused(&command);
        assert_eq!(code, Some(1), "{command:?}: {error}");
        for words in ["version 0.0.9", ours, TURNS, "offshoot engine restart"] {
            assert!(error.contains(words), "{command:?}: no `{words}` in {error}");
        }
    }
}

/// What can be seen without the engine is seen, and nothing is changed for it.
#[test]
fn an_engine_of_another_version_is_left_alone_by_commands_that_look() {
    for (protocol, is_busy) in [(0, false), (0, true), (99, false), (99, true)] {
        let home = Home::with_session("Looked at");
        let _told = Other { protocol, is_busy }.serve(&home);
        assert_eq!(home.done(&["status"]).contains("Which way shall we go?"), is_busy);
        assert!(home.done(&["engine", "status"]).starts_with("Engine 0.0.9"));
        assert_eq!(home.done(&["queue"]), "Nothing waits to be said.\n");
        assert_eq!(home.done(&["permissions"]), "No permission rules.\n");
        for command in ["agents", "ls", "show", "tree"] {
            home.done(&[command]);
        }
        assert!(home.run_path("engine.sock").exists(), "it still runs");
    }
}

/// There is nothing to answer or interrupt in an engine in which nothing runs.
#[test]
fn an_idle_engine_of_another_version_counts_as_none_for_answers() {
    for protocol in [0, 99] {
        let home = Home::with_session("Idle");
        let _told = Other { protocol, is_busy: false }.serve(&home);
        for command in [["answer", "allow"], ["abort", "Idle"]] {
            let (error, code) = home.refused(&command);
            assert_eq!(code, Some(4), "{error}");
            assert!(!error.contains("version"), "{error}");
        }
    }
}

#[test]
fn an_older_program_says_that_it_is_older() {
    let home = Home::with_session("Newer");
    let told = Other { protocol: 99, is_busy: false }.serve(&home);
    let (error, code) = home.refused(&["send", "hello"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(error.contains("which is newer"), "{error}");
    assert_eq!(told.try_iter().collect::<Vec<_>>(), ["hello"], "it is not asked to stop");
}

#[test]
fn a_program_of_another_version_and_the_same_protocol_is_served() {
    let home = Home::with_session("Same");
    home.done(&["send", "hello"]);
    let stream = UnixStream::connect(home.run_path("engine.sock")).expect("an engine");
    let mut wire = Wire::over(stream);
    let plain = wire.call(&json!({ "type": "hello" }));
    assert_eq!(plain["response"]["protocol"], PROTOCOL, "{plain}");
    let client = json!({ "name": "page", "version": "99.0.0" });
    let hello = wire.call(&json!({ "type": "hello", "client": client, "protocol": PROTOCOL }));
    assert_eq!(hello["response"]["program"], "offshoot", "{hello}");
    let stopped = wire.call(&json!({ "type": "engine", "action": "stop" }));
    assert_eq!(stopped["response"]["type"], "engine", "{stopped}");
    assert!(wire.is_closed(), "and the connection ends with it");
}
