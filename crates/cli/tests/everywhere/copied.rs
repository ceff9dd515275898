//! Histories that a program copies without their ids: what they used is paid once.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::person::Person;

/// So many tokens in and 12 out, asked and answered at these moments.
fn opencode_message(role: &str, created: i64, input: i64) -> Value {
    match role {
        "user" => json!({"role":"user","time":{"created":created}}),
        _ => json!({
            "role":"assistant","time":{"created":created,"completed":created + 700},"modelID":"m","providerID":"p",
            "tokens":{"total":input + 12,"input":input,"output":12,"reasoning":0,"cache":{"read":0,"write":0}},
        }),
    }
}

/// `ses_two` was forked from `ses_one` behind its second reply: other ids, the same times.
fn opencode(person: &Person) {
    let path = person.user(".local/share/opencode/opencode.db");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let database = rusqlite::Connection::open(&path).expect("a database");
    database
        .execute_batch(
            "CREATE TABLE session(id TEXT PRIMARY KEY, title TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);",
        )
        .expect("tables");
    let shared = [(1_000, 100), (2_000, 200)];
    for (session, opened, own) in [("ses_one", 0, (3_000, 400)), ("ses_two", 5_000, (6_000, 800))] {
        database
            .execute("INSERT INTO session VALUES (?1, ?1, '/home/dev/x', ?2, ?2)", (session, opened))
            .expect("a row");
        for (at, input) in shared.into_iter().chain([own]) {
            for (role, later) in [("user", 0), ("assistant", 10)] {
                let (id, created) = (format!("{session}-{at}-{role}"), at + later);
                let data = opencode_message(role, created, input).to_string();
                database
                    .execute("INSERT INTO message VALUES (?1, ?2, ?3, ?4)", (&id, session, created, data))
                    .expect("a row");
                let part = json!({"type":"text","text":format!("{role} at {at}")}).to_string();
                database
                    .execute("INSERT INTO part VALUES (?1 || 'p', ?1, ?2, ?3)", (&id, session, part))
                    .expect("a row");
            }
        }
    }
}

/// A fork of an older Codex: the lines of its origin, written again when it was made.
fn codex(person: &Person) {
    let line = |second: u32, kind: &str, payload: Value| json!({"timestamp":format!("2025-03-04T05:00:{second:02}.000Z"),"type":kind,"payload":payload});
    let said = |second: u32, role: &str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        line(
            second,
            "response_item",
            json!({"type":"message","role":role,"content":[{"type":kind,"text":text}]}),
        )
    };
    let count = |second: u32, last: i64, total: i64| {
        let of = |tokens: i64| json!({"input_tokens":tokens,"output_tokens":10,"total_tokens":tokens + 10});
        line(
            second,
            "event_msg",
            json!({"type":"token_count","info":{"last_token_usage":of(last),"total_token_usage":of(total)}}),
        )
    };
    let ids = ["01a1e09c-0000-7000-8000-000000000001", "01a1e09c-0000-7000-8000-000000000002"];
    let turn = |second, text: &str, last, total| {
        [
            said(second, "user", &format!("Ask {text}")),
            said(second, "assistant", &format!("About {text}")),
            count(second, last, total),
        ]
    };
    let shared = |second| [turn(second, "one", 1_000, 1_000), turn(second, "two", 2_000, 3_000)].concat();
    let meta = |second, id: &str, from: Option<&str>| {
        line(
            second,
            "session_meta",
            json!({"id":id,"timestamp":format!("2025-03-04T05:00:{second:02}.000Z"),"cwd":"/home/dev/gatehouse","forked_from_id":from}),
        )
    };
    let settings =
        |second| line(second, "turn_context", json!({"cwd":"/home/dev/gatehouse","model":"gpt-5-codex"}));
    let name = |id: &str| format!(".codex/sessions/2025/03/04/rollout-2025-03-04T05-00-00-{id}.jsonl");
    let origin =
        [vec![meta(0, ids[0], None), settings(0)], shared(1), turn(9, "three", 4_000, 7_000).to_vec()];
    person.write(&name(ids[0]), &origin.concat());
    // it goes on with the same count of tokens as its origin, and other words
    let fork = [
        vec![meta(30, ids[1], Some(ids[0])), settings(30)],
        shared(30),
        turn(40, "four", 4_000, 7_000).to_vec(),
    ];
    person.write(&name(ids[1]), &fork.concat());
}

#[test]
fn forks_under_new_ids_are_paid_once() {
    let person = Person::alone();
    opencode(&person);
    assert_eq!(person.json("cost --by day --json")["total"]["input"], 100 + 200 + 400 + 800);
    assert_eq!(person.json("cost ses_two --json")["total"]["input"], 100 + 200 + 800, "a session has it all");
    let person = Person::alone();
    codex(&person);
    assert_eq!(person.json("cost --by day --json")["total"]["input"], 1_000 + 2_000 + 4_000 + 4_000);
    assert_eq!(person.json("cost --by day --json")["total"]["output"], 4 * 10);
}

/// Counted by the database itself: a reply is its times, its model and its tokens.
const COUNTED: &str = "SELECT sum(input), sum(output) FROM (
    SELECT DISTINCT json_extract(data, '$.time.created') AS created, json_extract(data, '$.time.completed') AS completed,
        json_extract(data, '$.modelID') AS model, json_extract(data, '$.tokens.input') AS input,
        json_extract(data, '$.tokens.output') + json_extract(data, '$.tokens.reasoning') AS output
    FROM message WHERE json_extract(data, '$.role') = 'assistant')";

#[test]
fn forks_that_opencode_made_are_paid_once() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let fixture = shared.join("fixtures/generated/opencode/opencode.db");
    if !fixture.is_file() {
        println!(
            "skipped: forks_that_opencode_made_are_paid_once (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    }
    let person = Person::alone();
    let path = person.user(".local/share/opencode/opencode.db");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    std::fs::copy(fixture, &path).expect("a copy");
    let database = rusqlite::Connection::open(&path).expect("a database");
    let (input, output): (i64, i64) =
        database.query_row(COUNTED, [], |row| Ok((row.get(0)?, row.get(1)?))).expect("a sum");
    let told = person.json("cost --by model --json");
    assert_eq!(
        (told["total"]["input"].as_i64(), told["total"]["output"].as_i64()),
        (Some(input), Some(output))
    );
}
