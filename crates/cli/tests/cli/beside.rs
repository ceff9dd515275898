//! Session files that other files beside them belong to.

use serde_json::{Value, json};

use crate::support::Folder;

fn lines(lines: &[Value]) -> Vec<u8> {
    lines.iter().map(|line| format!("{line}\n")).collect::<String>().into_bytes()
}

/// A line of Claude Code.
fn said(id: &str, parent: Option<&str>, role: &str, content: Value, more: Value) -> Value {
    let message = json!({"id": format!("m-{id}"), "role": role, "model": "claude-x", "content": content});
    let mut line = json!({
        "parentUuid": parent, "isSidechain": false, "type": role, "uuid": id, "sessionId": "s1",
        "cwd": "/home/dev/gatehouse", "timestamp": "2025-03-04T14:00:00.000Z", "message": message,
    });
    if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
        line.extend(more);
    }
    line
}

/// `s1.jsonl` with a sub-agent beside it.
fn with_sub_agent() -> Folder {
    let folder = Folder::new();
    let agents = folder.path().join("s1/subagents");
    std::fs::create_dir_all(&agents).expect("a folder");
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Agent",
        "input": {"prompt": "Find it.", "description": "Search", "subagent_type": "scout"}}]);
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "Found."}]);
    let session = [
        said("u1", None, "user", json!("Where is it?"), json!({})),
        said("a1", Some("u1"), "assistant", call, json!({})),
        said("r1", Some("a1"), "user", result, json!({})),
        said("a2", Some("r1"), "assistant", json!([{"type": "text", "text": "Here."}]), json!({})),
    ];
    folder.write("s1.jsonl", &lines(&session));
    let of_agent = || json!({"isSidechain": true, "agentId": "x7"});
    let agent = [
        said("u2", None, "user", json!("Find it."), of_agent()),
        said("a3", Some("u2"), "assistant", json!([{"type": "text", "text": "Found."}]), of_agent()),
    ];
    folder.write("s1/subagents/agent-x7.jsonl", &lines(&agent));
    folder.write("s1/subagents/agent-x7.meta.json", b"{\"agentType\":\"scout\",\"toolUseId\":\"t1\"}");
    folder
}

#[test]
fn sub_agents_of_claude_code_are_read_with_their_session() {
    let folder = with_sub_agent();
    insta::assert_snapshot!(
        "sub-agents",
        folder.story(&[
            "tree s1.jsonl --width 60",
            "import s1.jsonl",
            "tree s1.jsonl --filter all --width 60",
            "inspect s1.jsonl"
        ])
    );
    // The file of the sub-agent alone knows whose it is by the folder it lies in.
    let told = folder.run("import s1/subagents/agent-x7.jsonl --json");
    assert!(told.contains("agent-x7"), "{told}");
    let listed: Value = serde_json::from_str(&folder.run("ls --all --json")).expect("JSON");
    let sessions = listed["sessions"].as_array().expect("a list");
    let agent = sessions.iter().find(|one| one["id"] == "agent-x7").expect("the sub-agent");
    assert_eq!(agent["parent"], "s1");
}

/// a task that no call is known for is shown on every branch, with its times; the others at their call.
#[test]
fn show_lists_sub_agents_and_tasks_of_no_known_call() {
    let folder = with_sub_agent();
    let run = "s1/subagents/workflows/run-1";
    std::fs::create_dir_all(folder.path().join(run)).expect("a folder");
    let of_agent = || json!({"isSidechain": true, "agentId": "y1"});
    let mut agent = [
        said("u4", None, "user", json!("Count them."), of_agent()),
        said("a5", Some("u4"), "assistant", json!([{"type": "text", "text": "Three."}]), of_agent()),
    ];
    agent[1]["timestamp"] = json!("2025-03-04T14:00:05.000Z");
    folder.write(&format!("{run}/agent-y1.jsonl"), &lines(&agent));
    folder
        .write(&format!("{run}/journal.jsonl"), b"{\"type\":\"started\",\"key\":\"k\",\"agentId\":\"y1\"}\n");
    let told: Value = serde_json::from_str(&folder.run("show s1.jsonl --json")).expect("JSON");
    let tasks = told["sub_agents"].as_array().expect("a list");
    let [called, legacy] = &tasks[..] else { panic!("two sub-agents: {tasks:?}") };
    let parts = |one: &Value| ["call", "entry", "session", "task", "tool"].map(|key| one[key].clone());
    assert_eq!(parts(called), ["t1", "a1", "s1", "Search", "Agent"].map(Value::from));
    let null = Value::Null;
    assert_eq!(parts(legacy), [null.clone(), null.clone(), null.clone(), "Count them.".into(), null]);
    assert_eq!(legacy["at"], "2025-03-04T14:00:00Z");
    assert_eq!(legacy["ended_at"], "2025-03-04T14:00:05Z");
    let shown = folder.run("show s1.jsonl");
    let line_of = |words: &str| shown.lines().position(|line| line.contains(words));
    assert!(line_of(": Search") < line_of("Here."), "{shown}");
    assert!(line_of("Here.") < line_of("Sub-agents of no known turn"), "{shown}");
    assert!(line_of("Sub-agents of no known turn") < line_of(": Count them."), "{shown}");
}

/// A rollout of Codex with prompts and replies in turn.
fn rollout(thread: &str, base: Option<(&str, u64)>, words: &[&str]) -> Vec<u8> {
    let start = base.map_or(0, |(_, end)| end);
    let mut meta = json!({"id": thread, "timestamp": "2025-03-04T14:00:00Z", "cwd": "/home/dev/gatehouse"});
    if let Some((rollout, end)) = base {
        meta["forked_from_id"] = rollout.into();
        meta["history_base"] = json!({"thread_id": rollout, "end_ordinal_exclusive": end});
    }
    let line = |ordinal: u64, kind: &str, payload: Value| json!({"timestamp": "2025-03-04T14:00:00Z", "ordinal": ordinal, "type": kind, "payload": payload});
    let mut all = vec![line(start, "session_meta", meta)];
    for (at, words) in (1..).zip(words) {
        let role = if at % 2 == 1 { "user" } else { "assistant" };
        let payload = json!({"type": "message", "role": role, "content": words});
        all.push(line(start + at, "response_item", payload));
    }
    lines(&all)
}

#[test]
fn a_fork_of_codex_is_read_with_what_it_continues() {
    let folder = Folder::new();
    for day in ["codex/sessions/2025/03/04", "codex/sessions/2025/03/05"] {
        std::fs::create_dir_all(folder.path().join(day)).expect("a folder");
    }
    let base = rollout("t1", None, &["Where is it?", "Here.", "And now?", "Gone."]);
    let fork = rollout("f1", Some(("t1", 3)), &["Which colour?", "Green."]);
    folder.write("codex/sessions/2025/03/04/rollout-2025-03-04T14-00-00-t1.jsonl", &base);
    folder.write("codex/sessions/2025/03/05/rollout-2025-03-05T14-00-00-f1.jsonl", &fork);
    let file = "codex/sessions/2025/03/05/rollout-2025-03-05T14-00-00-f1.jsonl";
    let whole = folder.run(&format!("tree {file} --width 60"));
    insta::assert_snapshot!("fork-of-codex", whole);
    folder.write("rollout-2025-03-05T14-00-00-f1.jsonl", &fork);
    let alone = folder.run("inspect rollout-2025-03-05T14-00-00-f1.jsonl");
    assert!(alone.contains("which is not here"), "{alone}");
}

/// What a program keeps beside a session names it, unless its own file does.
#[test]
fn a_title_that_stands_beside_a_session_is_its_title() {
    let folder = Folder::new();
    let titles = |file: &str| -> Value {
        let told: Value = serde_json::from_str(&folder.run(&format!("inspect {file} --json"))).expect("JSON");
        told["title"].clone()
    };
    folder.write("s1.jsonl", &lines(&[said("u1", None, "user", json!("Where is it?"), json!({}))]));
    assert_eq!(titles("s1.jsonl"), Value::Null);
    let index = |entry: Value| json!({"version": 1, "entries": [entry]}).to_string();
    let entry = json!({"sessionId": "s1", "summary": "Looking for it", "firstPrompt": "Where is it?"});
    folder.write("sessions-index.json", index(entry.clone()).as_bytes());
    assert_eq!(titles("s1.jsonl"), "Looking for it");
    assert!(folder.run("tree s1.jsonl").starts_with("Looking for it"));
    let mut by_user = entry;
    by_user["customTitle"] = "Lost".into();
    folder.write("sessions-index.json", index(by_user).as_bytes());
    assert_eq!(titles("s1.jsonl"), "Lost");
    let own = json!({"type": "custom-title", "customTitle": "Found", "sessionId": "s1"});
    folder.write("s1.jsonl", &lines(&[said("u1", None, "user", json!("Where is it?"), json!({})), own]));
    assert_eq!(titles("s1.jsonl"), "Found");

    std::fs::create_dir_all(folder.path().join("codex/sessions/2025/03/04")).expect("a folder");
    let file = "codex/sessions/2025/03/04/rollout-2025-03-04T14-00-00-t1.jsonl";
    folder.write(file, &rollout("t1", None, &["Where is it?", "Here."]));
    folder.write("codex/session_index.jsonl", &lines(&[json!({"id": "t1", "thread_name": "Search"})]));
    assert_eq!(titles(file), "Search");
}
