//! Sessions of opencode: exports, files of the older storage, rows.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]

use offshoot_session::{Block, Body, ImageData, Record, SessionTree, Stop, Usage};
use offshoot_testkit::draw;
use offshoot_transcripts::opencode::{Row, Rows, Stored, read_rows, read_storage, stored};
use offshoot_transcripts::{Dialect, Transcript, read};
use serde_json::{Value, json};

fn session(more: Value) -> Value {
    let mut session = json!({ "id": "ses", "projectID": "p", "directory": "/work", "title": "Lamps",
        "time": { "created": 1_700_000_000_000_i64 } });
    if let (Value::Object(session), Value::Object(more)) = (&mut session, more) {
        session.extend(more);
    }
    session
}

fn user(id: &str, second: i64) -> Value {
    json!({ "id": id, "sessionID": "ses", "role": "user", "time": { "created": 1_700_000_000_000_i64 + second } })
}

fn answer(id: &str, second: i64, to: &str) -> Value {
    json!({ "id": id, "sessionID": "ses", "role": "assistant", "parentID": to, "modelID": "m", "providerID": "x",
        "time": { "created": 1_700_000_000_000_i64 + second }, "finish": "stop", "cost": 0.5,
        "tokens": { "input": 7, "output": 2, "reasoning": 1, "cache": { "read": 3, "write": 4 } } })
}

fn text(message: &str) -> Value {
    json!({ "id": format!("{message}-p"), "messageID": message, "type": "text", "text": message })
}

fn tool(message: &str, id: &str, status: &str) -> Value {
    json!({ "id": id, "messageID": message, "type": "tool", "callID": format!("{id}-call"), "tool": "bash",
        "state": { "status": status, "input": { "command": "ls" }, "output": "a", "error": "no" } })
}

fn rows(session: Option<Value>, messages: Vec<Value>, parts: Vec<Value>) -> Rows {
    let row = |json: Value| Row::from_columns(json, []);
    Rows {
        session: session.map(row),
        messages: messages.into_iter().map(row).collect(),
        parts: parts.into_iter().map(row).collect(),
    }
}

fn tree(transcript: &Transcript) -> SessionTree {
    SessionTree::default().extended(&transcript.records).expect("the records can be written one by one");
    let (tree, oddities) = SessionTree::replay(transcript.records.iter().cloned());
    assert_eq!(oddities, []);
    tree
}

fn check(rows: Rows, expected: &str) -> SessionTree {
    let transcript = read_rows(rows);
    assert_eq!(transcript.oddities, []);
    let tree = tree(&transcript);
    assert_eq!(draw(&tree).trim_end(), expected);
    tree
}

fn bodies(transcript: &Transcript) -> Vec<Body> {
    transcript.records.iter().filter_map(Record::as_entry).map(|entry| entry.body.clone()).collect()
}

#[test]
fn answers_follow_their_question_and_questions_each_other() {
    let tree = check(
        rows(
            Some(session(json!({}))),
            vec![
                answer("a2", 4, "u2"),
                user("u1", 0),
                answer("a1", 1, "u1"),
                user("u2", 2),
                answer("b1", 3, "u1"),
            ],
            ["u1", "a1", "b1", "u2", "a2"].map(text).to_vec(),
        ),
        "u1 - a1 - b1 - u2 - a2*",
    );
    assert_eq!(tree.title(), Some("Lamps"));
    assert_eq!(tree.header().and_then(|header| header.project.as_deref()), Some("/work"));
    let turns: Vec<_> = tree.entries().map(|entry| entry.turn.as_ref().map(|turn| turn.as_str())).collect();
    assert_eq!(turns, [Some("u1"), Some("u1"), Some("u1"), Some("u2"), Some("u2")]);
}

#[test]
fn what_a_revert_hides_is_a_branch_before_which_the_head_stands() {
    let messages = || vec![user("u1", 0), answer("a1", 1, "u1"), user("u2", 2), answer("a2", 3, "u2")];
    let reverted = |to: &str| session(json!({ "revert": { "messageID": to, "snapshot": "abc" } }));
    let parts = || ["u1", "a1", "u2", "a2"].map(text).to_vec();
    check(rows(Some(reverted("u2")), messages(), parts()), "u1 - a1* - u2 - a2");
    let tree = check(rows(Some(reverted("u1")), messages(), parts()), "u1 - a1 - u2 - a2");
    assert_eq!(tree.main_head(), None);
    let gone = read_rows(rows(Some(reverted("gone")), messages(), parts()));
    assert_eq!(gone.oddities.len(), 1);
}

#[test]
fn parts_make_blocks_and_results() {
    let thought = json!({ "id": "p0", "messageID": "a1", "type": "reasoning", "text": "hm" });
    let step = json!({ "id": "p4", "messageID": "a1", "type": "step-finish" });
    let transcript = read_rows(rows(
        Some(session(json!({}))),
        vec![user("u1", 0), answer("a1", 1, "u1")],
        vec![
            text("u1"),
            thought,
            text("a1"),
            tool("a1", "t1", "completed"),
            tool("a1", "t2", "error"),
            tool("a1", "t3", "running"),
            step,
        ],
    ));
    assert_eq!(transcript.oddities, []);
    assert_eq!(draw(&tree(&transcript)).trim_end(), "u1 - a1 - t1 - t2*");
    let bodies = bodies(&transcript);
    let [_, Body::Reply(reply), Body::ToolResult(done), Body::ToolResult(failed)] = bodies.as_slice() else {
        panic!("{bodies:?}")
    };
    assert_eq!(reply.blocks.len(), 5, "a thought, words and three calls");
    assert_eq!(reply.tool_uses().count(), 3);
    assert_eq!(reply.stop, Some(Stop::EndTurn));
    let usage = Usage { input: 7, output: 3, cache_read: 3, cache_write: 4, total: 0, cost_micros: 500_000 };
    assert_eq!(reply.usage, Some(usage));
    assert_eq!((done.call.as_str(), done.failed, failed.failed), ("t1-call", false, true));
}

#[test]
fn settings_of_prompts_are_entries_where_they_change() {
    let asked = |id: &str, second: i64, model: &str| {
        let mut message = user(id, second);
        if let Value::Object(message) = &mut message {
            message.insert("model".into(), json!({ "providerID": "x", "modelID": model }));
            message.insert("agent".into(), json!("build"));
        }
        message
    };
    check(
        rows(
            Some(session(json!({}))),
            vec![asked("u1", 0, "m"), asked("u2", 1, "m"), asked("u3", 2, "n")],
            ["u1", "u2", "u3"].map(text).to_vec(),
        ),
        "u1.model - u1.agent - u1 - u2 - u3.model - u3*",
    );
}

#[test]
fn what_opencode_adds_to_a_prompt_is_not_of_the_person() {
    let added =
        json!({ "id": "p2", "messageID": "u1", "type": "text", "text": "the file", "synthetic": true });
    let file =
        json!({ "id": "p3", "messageID": "u1", "type": "file", "mime": "text/plain", "filename": "a.txt" });
    let transcript =
        read_rows(rows(Some(session(json!({}))), vec![user("u1", 0)], vec![text("u1"), added, file]));
    let bodies = bodies(&transcript);
    let [Body::Prompt(prompt), Body::System(system)] = bodies.as_slice() else { panic!("{bodies:?}") };
    assert_eq!((prompt.blocks.len(), prompt.attachments.as_slice()), (1, &["a.txt".to_owned()][..]));
    assert_eq!(system.text, "the file");
}

#[test]
fn an_export_is_a_document_of_rows() {
    let export = json!({
        "info": session(json!({ "parentID": "parent" })),
        "messages": [
            { "info": user("u1", 0), "parts": [{ "type": "text", "text": "hello" }] },
            { "info": answer("a1", 1, "u1"), "parts": [{ "type": "text", "text": "hi" }] },
        ],
    });
    for bytes in [serde_json::to_vec_pretty(&export).expect("JSON"), export.to_string().into_bytes()] {
        let transcript = read(Some("export.json"), &bytes).expect("an export");
        assert_eq!(transcript.dialect, Dialect::OpenCode);
        assert_eq!(transcript.source_bytes(), bytes, "no byte is lost");
        let tree = tree(&transcript);
        assert_eq!(draw(&tree).trim_end(), r#"u1"hello" - a1"hi"*"#);
        let lineage = tree.header().and_then(|header| header.lineage.clone()).expect("a lineage");
        assert_eq!(lineage.parent, "parent");
    }
}

#[test]
fn files_of_the_storage_are_put_together() {
    let files = [
        ("storage/session/p/ses.json", session(json!({}))),
        ("storage/message/ses/u1.json", json!({ "id": "u1", "role": "user", "time": { "created": 1 } })),
        ("storage/part/u1/001.json", json!({ "id": "001", "type": "text", "text": "hello" })),
        ("storage/part/u1/002.json", json!({ "id": "002", "type": "step-start" })),
        ("storage/message/other/m.json", json!({ "id": "m", "role": "user", "time": { "created": 1 } })),
        ("storage/part/lost/001.json", json!({ "id": "001", "type": "text", "text": "whose" })),
    ];
    let bytes: Vec<(&str, Vec<u8>)> =
        files.iter().map(|(path, json)| (*path, json.to_string().into_bytes())).collect();
    let list: Vec<(&str, &[u8])> = bytes.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
    let storage = read_storage(&list);
    let ids: Vec<&str> = storage.sessions.keys().map(String::as_str).collect();
    assert_eq!(ids, ["other", "ses"]);
    assert_eq!(storage.left, [5], "nobody knows its message");
    let kept: usize = storage.sessions.values().map(|session| session.source_bytes().len()).sum();
    let all: usize = bytes.iter().take(5).map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(kept, all, "no byte is lost");
    let session = storage.sessions.get("ses").expect("the session");
    assert_eq!(draw(&tree(session)).trim_end(), r#"u1"hello"*"#);
}

#[test]
fn a_file_of_the_storage_says_what_it_is() {
    let what = |path: &str, json: Value| stored(path, json.to_string().as_bytes());
    assert_eq!(what("session/p/ses.json", session(json!({}))), Some(Stored::Session { id: "ses".into() }));
    assert_eq!(
        what("message/ses/u1.json", user("u1", 0)),
        Some(Stored::Message { id: "u1".into(), session: Some("ses".into()) })
    );
    assert_eq!(
        what("part/a1/001.json", json!({ "id": "001", "type": "text" })),
        Some(Stored::Part { message: Some("a1".into()), session: None })
    );
    assert_eq!(what("package.json", json!({ "id": "x", "type": "module" })), None);
}

#[test]
fn rows_of_a_database_have_columns_beside_their_data() {
    let message = Row::from_columns(
        json!({ "role": "user", "time": { "created": 1 } }),
        [("id", json!("u1")), ("sessionID", json!("ses"))],
    );
    let part = Row::from_columns(
        json!({ "type": "text", "text": "hello" }),
        [("id", json!("p1")), ("messageID", json!("u1"))],
    );
    let session = Row::from_columns(session(json!({})), []);
    check(Rows { session: Some(session), messages: vec![message], parts: vec![part] }, r#"u1"hello"*"#);
}

#[test]
fn an_answer_to_nobody_stands_in_its_time() {
    let transcript = read_rows(rows(
        None,
        vec![user("u1", 0), answer("a9", 1, "gone"), user("u2", 2)],
        ["u1", "a9", "u2"].map(text).to_vec(),
    ));
    assert_eq!(draw(&tree(&transcript)).trim_end(), "u1 - a9 - u2*");
    assert_eq!(transcript.oddities.len(), 2, "the question and the session are missing");
}

#[test]
fn a_prompt_may_hold_pictures_and_papers() {
    let file = |id: &str, mime: &str, url: &str| json!({ "id": id, "messageID": "u1", "type": "file", "mime": mime, "filename": id, "url": url });
    let parts = vec![
        text("u1"),
        file("lamp.png", "image/png", "data:image/png;base64,aGk="),
        file("lamp.txt", "text/plain", "file:///lamp.txt"),
    ];
    let bodies = bodies(&read_rows(rows(Some(session(json!({}))), vec![user("u1", 0)], parts)));
    let [Body::Prompt(prompt)] = bodies.as_slice() else { panic!("{bodies:?}") };
    let picture = Block::Image { media_type: "image/png".into(), data: ImageData::Inline("aGk=".into()) };
    assert!(prompt.blocks.contains(&picture), "{prompt:?}");
    assert_eq!(prompt.attachments, ["lamp.txt"]);
}
