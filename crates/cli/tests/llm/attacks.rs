//! A model that wants out of the workspace, with everything allowed that a person is asked for.

use std::process::Child;

use offshoot_testkit::deadline::{BoundedChild, until};
use offshoot_testkit::model::{Script, call, say};
use serde_json::{Value, json};

use crate::MODELS;
use crate::person::{Person, Said};

/// Lays a link to the outside and a FIFO, and starts a process that leaves the group, the session and the environment.
const LAY: &str = "ln -s .. out; mkfifo fifo; \
    (setsid env -i PATH=\"$PATH\" sh -c 'echo $$ > pid.new; mv pid.new pid; exec sleep 1000' &); \
    until [ -e pid ]; do sleep 0.01; done; env";

/// Starts a program with the name of ours and the argument of the engine, which is never ended.
const DISGUISE: &str = "cp /bin/sh offshoot; echo 'echo $$ > pid.new; mv pid.new disguised; while :; do sleep 1000; done' > engine; \
    (setsid env -i PATH=\"$PATH\" ./offshoot engine &); until [ -e disguised ]; do sleep 0.01; done; echo disguised";

/// Kills the process that would end what the command leaves.
const KILL_PARENT: &str = "(setsid env -i PATH=\"$PATH\" sh -c 'echo $$ > pid.new; mv pid.new orphan; exec sleep 1000' &); \
    until [ -e orphan ]; do sleep 0.01; done; kill -9 $PPID; sleep 1000";

/// A file that fits nowhere, and devices, by links and by name.
const HUGE: &str = "truncate -s 1T huge; ln -s /dev/zero zero; ln -s .git git; mkdir -p .git; echo old > .git/config; echo laid";

const ABSOLUTE: &str = "/canary-of-offshoot";

/// Allows whatever is asked until the turn is over.
fn allowed(person: &Person, mut sending: Child) -> Said {
    until("the end of the turn", || {
        person.run(&["answer", &person.session, "allow"]);
        sending.try_wait().expect("a state").is_some()
    });
    Said::of(&sending.bounded_output())
}

/// The results of calls that a request holds, as JSON.
fn results(body: &Value) -> Vec<String> {
    let messages = body["messages"].as_array().into_iter().flatten();
    let blocks = messages.flat_map(|message| match &message["content"] {
        Value::Array(blocks) if message["role"] == "user" => blocks.clone(),
        _ if message["role"] == "tool" => vec![message.clone()],
        _ => Vec::new(),
    });
    let is_result = |block: &Value| block["type"] == "tool_result" || block["role"] == "tool";
    blocks.filter(is_result).map(|block| block["content"].to_string()).collect()
}

#[cfg(target_os = "linux")]
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| !["Z", "X"].contains(&state))
}

#[cfg(target_os = "linux")]
#[test]
fn nothing_outside_the_workspace_changes_and_no_process_outlives_the_turn() {
    for model in MODELS {
        let write = |path: &str| call("write", json!({ "path": path, "content": "dead" }));
        let edit = |path: &str| call("edit", json!({ "path": path, "old": "alive", "new": "dead" }));
        let calls = [
            call("shell", json!({ "command": LAY })),
            write("../canary"),
            write("out/canary"),
            write("out/new"),
            write(ABSOLUTE),
            write("fifo"),
            edit("out/canary"),
            call("read", json!({ "path": "out/canary" })),
            call("read", json!({ "path": "fifo" })),
            call("list", json!({ "path": "out" })),
            call("search", json!({ "pattern": "alive" })),
            call("shell", json!({ "command": "yes | head -c 20000000" })),
            call("shell", json!({ "command": DISGUISE })),
            call("shell", json!({ "command": KILL_PARENT })),
            call("shell", json!({ "command": HUGE })),
            call("read", json!({ "path": "huge" })),
            call("edit", json!({ "path": "huge", "old": "a", "new": "b" })),
            call("read", json!({ "path": "zero" })),
            call("read", json!({ "path": "/dev/zero" })),
            write("git/config"),
            call("search", json!({ "pattern": "nowhere" })),
        ];
        let count = calls.len();
        let person = Person::new(Script::new().when("attack", calls).then([say("Over.")]));
        let outside = person.workspace().join("..");
        std::fs::write(outside.join("canary"), "alive").expect("a file");
        let words = ["send", &person.session, "attack", "--agent", "llm", "--model", model];
        let sending = person.start(&words);
        let said = allowed(&person, sending);
        assert!(said.went_well().out.contains("Over."), "{}", said.out);
        assert_eq!(std::fs::read_to_string(outside.join("canary")).expect("a file"), "alive");
        assert!(!outside.join("new").exists() && !std::path::Path::new(ABSOLUTE).exists());
        for file in ["pid", "disguised", "orphan"] {
            let pid = std::fs::read_to_string(person.workspace().join(file)).expect("the process has begun");
            assert!(!is_alive(pid.trim()), "{file}: {pid}");
        }
        let config = std::fs::read_to_string(person.workspace().join(".git/config"));
        assert_eq!(config.expect("a file"), "old\n");
        let body = person.requests().pop().expect("a request").body;
        let results = results(&body);
        assert_eq!(results.len(), count, "{results:?}");
        assert!(results[0].contains("PATH=") && !results[0].contains("API_KEY"), "{}", results[0]);
        for refused in &results[1..10] {
            assert!(
                refused.contains("is not in the workspace") || refused.contains("is a FIFO"),
                "{refused}"
            );
        }
        assert!(results[10].contains("no line matches"), "{}", results[10]);
        std::fs::remove_file(person.workspace().join("huge")).expect("a file");
        assert!(results[12].contains("disguised") && results[14].contains("laid"), "{results:?}");
        for (at, refused) in [
            (15, "`huge` is not a text file"),
            (16, "bytes, and at most"),
            (17, "is not in the workspace"),
            (18, "is not in the workspace"),
            (19, "`git` is a link to `.git`"),
        ] {
            assert!(results[at].contains(refused), "{at}: {}", results[at]);
        }
        assert!(results[11].len() < 1_000_000 && results[11].contains("left out"), "{}", results[11].len());
    }
}
