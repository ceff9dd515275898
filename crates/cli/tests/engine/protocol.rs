//! Programs and engines of different versions meet.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::home::{Home, PATIENCE, Wire};

/// An engine that speaks this protocol, and answers `stop` with `answer`. It ends when it has stopped.
fn engine(home: &Home, protocol: u32, answer: Value) -> mpsc::Receiver<String> {
    home.prepare_run();
    let lock = home.lock(home.path().join("engine.lock"));
    let path = home.run_path("engine.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("own socket");
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("a client");
        let mut lines = BufReader::new(stream);
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).unwrap_or_default() == 0 {
                return;
            }
            let call: Value = serde_json::from_str(&line).expect("JSON");
            let kind = call["request"]["type"].as_str().unwrap_or_default().to_owned();
            let reply = match kind.as_str() {
                "hello" => json!({ "id": call["id"], "response": {
                    "type": "hello", "program": "offshoot", "version": "0.0.9", "protocol": protocol, "process": 1,
                } }),
                _ => {
                    let mut reply = answer.clone();
                    reply["id"] = call["id"].clone();
                    reply
                }
            };
            writeln!(lines.get_mut(), "{reply}").expect("the client listens");
            let is_stopped = kind == "engine" && reply.get("error").is_none();
            let _ = tell.send(kind);
            if is_stopped {
                drop(lock);
                std::fs::remove_file(&path).expect("own socket");
                return;
            }
        }
    });
    told
}

#[test]
fn an_older_engine_in_which_nothing_runs_is_replaced() {
    let home = Home::with_session("Older");
    let told = engine(&home, 0, json!({ "response": { "type": "done", "changed": true } }));
    assert!(home.done(&["send", "hello"]).contains("You said “hello”"));
    let asked: Vec<String> = (0..2).map(|_| told.recv_timeout(PATIENCE).expect("a request")).collect();
    assert_eq!(asked, ["hello", "engine"]);
    assert_eq!(home.engines().len(), 1);
}

#[test]
fn an_older_engine_that_is_busy_is_named_with_its_turns() {
    let home = Home::with_session("Busy");
    let busy = json!({ "error": { "code": "running", "message": "1 turn is running: 6f2a91 #3" } });
    let _told = engine(&home, 0, busy);
    let (error, code) = home.refused(&["send", "hello"]);
    assert_eq!(code, Some(1), "{error}");
    let ours = env!("CARGO_PKG_VERSION");
    for words in ["version 0.0.9", ours, "1 turn is running: 6f2a91 #3", "offshoot engine restart"] {
        assert!(error.contains(words), "no `{words}` in {error}");
    }
}

#[test]
fn an_older_program_says_that_it_is_older() {
    let home = Home::with_session("Newer");
    let told = engine(&home, 99, json!({ "response": { "type": "done", "changed": true } }));
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
    assert_eq!(plain["response"]["protocol"], 1, "{plain}");
    let client = json!({ "name": "page", "version": "99.0.0" });
    let hello = wire.call(&json!({ "type": "hello", "client": client, "protocol": 1 }));
    assert_eq!(hello["response"]["program"], "offshoot", "{hello}");
    let stopped = wire.call(&json!({ "type": "engine", "action": "stop" }));
    assert_eq!(stopped["response"]["type"], "engine", "{stopped}");
    assert!(wire.is_closed(), "and the connection ends with it");
}
