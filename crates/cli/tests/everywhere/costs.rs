//! What all sessions of all agents have cost, where forks and copies hold the same replies.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::{Value, json};

use crate::person::{NOW, Person};

const PI: &str = ".pi/agent/sessions/p/";
const CLAUDE: &str = ".claude/projects/-home-dev-ledger/";

fn pi(id: &str, parent: Option<&str>, second: u32, tokens: Option<(i64, f64)>) -> Value {
    let message = match tokens {
        None => json!({"role":"user","content":format!("ask {id}")}),
        Some((input, dollars)) => json!({
            "role":"assistant","provider":"home","model":"made-up-9","content":[{"type":"text","text":"answer"}],
            "usage":{"input":input,"output":0,"cacheRead":0,"cacheWrite":0,"cost":{"total":dollars}},
        }),
    };
    json!({"type":"message","id":id,"parentId":parent,"timestamp":format!("2025-03-04T12:00:{second:02}.000Z"),"message":message})
}

fn pi_header(id: &str) -> Value {
    json!({"type":"session","version":3,"id":id,"timestamp":"2025-03-04T12:00:00.000Z","cwd":"/home/dev/gatehouse"})
}

fn claude(session: &str, uuid: &str, parent: Option<&str>, message: Option<(&str, i64)>) -> Value {
    let said = match message {
        None => json!({"role":"user","content":"ask"}),
        Some((id, input)) => json!({
            "role":"assistant","id":id,"model":"claude-sonnet-4-5","content":[{"type":"text","text":"answer"}],
            "usage":{"input_tokens":input,"output_tokens":100},
        }),
    };
    json!({
        "parentUuid": parent, "isSidechain": false, "uuid": uuid, "cwd": "/home/dev/ledger", "sessionId": session,
        "type": if message.is_some() { "assistant" } else { "user" }, "timestamp": "2025-03-05T09:00:01.000Z",
        "requestId": message.map(|(id, _)| format!("req-{id}")), "message": said,
    })
}

fn with_copies() -> Person {
    let person = Person::alone();
    let first = [pi("u1", None, 1, None), pi("a1", Some("u1"), 2, Some((1_000, 0.25)))];
    let session = |id: &str, more: &[Value]| [&[pi_header(id)][..], &first, more].concat();
    person.write(
        &format!("{PI}one.jsonl"),
        &session("one", &[pi("u2", Some("a1"), 3, None), pi("a2", Some("u2"), 4, Some((2_000, 0.5)))]),
    );
    // a fork that copies the beginning, and goes on with a reply that nobody has a price for
    person.write(
        &format!("{PI}two.jsonl"),
        &session("two", &[pi("u3", Some("a1"), 5, None), pi("a3", Some("u3"), 6, Some((4_000, 0.0)))]),
    );
    let ids = ["0f5c0000-0000-4000-8000-000000000001", "0f5c0000-0000-4000-8000-000000000002"];
    person.write(
        &format!("{CLAUDE}{}.jsonl", ids[0]),
        &[claude(ids[0], "c1", None, None), claude(ids[0], "c2", Some("c1"), Some(("msg-1", 10_000)))],
    );
    // copied under other ids
    person.write(
        &format!("{CLAUDE}{}.jsonl", ids[1]),
        &[
            claude(ids[1], "d1", None, None),
            claude(ids[1], "d2", Some("d1"), Some(("msg-1", 10_000))),
            claude(ids[1], "d3", Some("d2"), None),
            claude(ids[1], "d4", Some("d3"), Some(("msg-2", 20_000))),
        ],
    );
    person
}

/// A17: what a sub-agent used was counted twice by `ls` if two files had the reply, and the usage of a reply was taken from its
/// first line by `cost` and from its last one by `ls`.
#[test]
fn ls_and_cost_and_show_agree() {
    let person = Person::alone();
    let id = "0f5c0000-0000-4000-8000-000000000003";
    let reply = |uuid: &str, parent: &str, message: &str, output: i64| {
        let mut line = claude(id, uuid, Some(parent), Some((message, 1_000)));
        line["message"]["usage"]["output_tokens"] = json!(output);
        line
    };
    // the usage of a reply grows from line to line
    let main = [claude(id, "e1", None, None), reply("e2", "e1", "msg-8", 1), reply("e3", "e2", "msg-8", 500)];
    person.write(&format!("{CLAUDE}{id}.jsonl"), &main);
    for agent in ["x1", "x2"] {
        let mut side = [claude(id, "s1", None, None), claude(id, "s2", Some("s1"), Some(("msg-9", 2_000)))];
        side.iter_mut().for_each(|line| {
            line["isSidechain"] = json!(true);
            line["agentId"] = json!(agent);
        });
        person.write(&format!("{CLAUDE}{id}/subagents/agent-{agent}.jsonl"), &side);
    }
    let told = |line: &str| -> Value { serde_json::from_str(&person.run(line)).expect("JSON") };
    let listed = told("ls --all --json");
    let listed = listed["sessions"][0]["cost_micros"].as_i64().expect("a price");
    let cost = told(&format!("cost --session {id} --json"));
    // $3 and $15 for a million tokens: 1000 and 500, 2000 and 100
    assert_eq!((listed, cost["total"]["cost_micros"].as_i64()), (18_000, Some(18_000)), "{cost}");
    let versions = told(&format!("versions --session {id} 1 --json"));
    assert_eq!(versions["versions"][0]["cost_micros"], 10_500, "{versions}");
    let piped = person.run(&format!("cost --session {id}"));
    assert!(piped.contains("session\t$0.02\t"), "the unit of `ls`: {piped}");
    let shown = person.run(&format!("show --session {id}"));
    // no call set these sub-agents to work, so they belong to no turn
    assert!(shown.contains("$0.01"), "{shown}");
}

/// A17: Claude Code before 2.1 has the files of sub-agents in the folder of the session. `ls` counted them with any session
/// of the id that they name, and `cost` and `show` not at all.
#[test]
fn sub_agents_of_old_versions_belong_to_the_session_in_their_folder() {
    let person = Person::alone();
    let id = "0f5c0000-0000-4000-8000-000000000004";
    let main = [claude(id, "e1", None, None), claude(id, "e2", Some("e1"), Some(("msg-1", 1_000)))];
    let of_agent = |session: &str, message: &str| {
        let mut side =
            [claude(session, "s1", None, None), claude(session, "s2", Some("s1"), Some((message, 2_000)))];
        side.iter_mut().for_each(|line| {
            line["isSidechain"] = json!(true);
            line["agentId"] = json!(format!("a-{message}"));
        });
        side
    };
    person.write(&format!("{CLAUDE}{id}.jsonl"), &main);
    person.write(&format!("{CLAUDE}agent-1.jsonl"), &of_agent(id, "msg-2"));
    // these are of a session that is not in the folder, of one in another folder, and of none
    person
        .write(&format!("{CLAUDE}agent-2.jsonl"), &of_agent("0f5c0000-0000-4000-8000-000000000005", "msg-3"));
    person.write(".claude/projects/-elsewhere/agent-3.jsonl", &of_agent(id, "msg-4"));
    person.write(&format!("{CLAUDE}agent-4.jsonl"), &of_agent("../-home-dev-ledger/x", "msg-5"));
    let costs = || {
        let listed = person.json("ls --all --json");
        let sessions = listed["sessions"].as_array().expect("a list");
        let listed = sessions.iter().find(|row| row["id"] == id).expect("the session")["cost_micros"].clone();
        (listed, person.json(&format!("cost {id} --json"))["total"]["cost_micros"].clone())
    };
    // $3 and $15 for a million tokens: 1000 and 100, 2000 and 100
    assert_eq!(costs(), (json!(4_500 + 7_500), json!(4_500 + 7_500)));
    let shown = person.run(&format!("cost {id}"));
    assert!(shown.contains("sub-agents\t$0.01"), "{shown}");
    // its agent deletes both, and the kept copies are counted
    for file in [format!("{CLAUDE}{id}.jsonl"), format!("{CLAUDE}agent-1.jsonl")] {
        std::fs::remove_file(person.user(&file)).expect("own file");
    }
    assert_eq!(costs(), (json!(4_500 + 7_500), json!(4_500 + 7_500)));
}

/// A folder of session files of real programs, where it is at hand.
fn fixtures() -> Option<PathBuf> {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    Some(shared.join("fixtures")).filter(|folder| folder.is_dir())
}

/// A17: two of 23 sessions with a price had another one in `ls`.
#[test]
fn ls_and_cost_agree_for_sessions_of_real_programs() {
    let Some(folder) = fixtures() else {
        println!(
            "skipped: ls_and_cost_agree_for_sessions_of_real_programs (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    };
    let person = Person::alone();
    let told = |words: &[&str]| -> Value {
        let mut command = person.command_at(NOW);
        command.env("OFFSHOOT_SOURCES", &folder).env("OFFSHOOT_KEEP", "false");
        let output = command.args(words).stdin(Stdio::null()).bounded_output().expect("the program starts");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let listed = told(&["ls", "--all", "--json"]);
    let mut priced = 0;
    for session in listed["sessions"].as_array().expect("a list") {
        // Fixtures of one folder may have the same id.
        let path = session["path"].as_str().expect("a path");
        let by_turn = told(&["cost", path, "--by", "turn", "--json"]);
        let total = &by_turn["total"]["cost_micros"];
        assert_eq!(session["cost_micros"], *total, "`{path}`");
        let rows = by_turn["rows"].as_array().expect("rows").iter();
        let sum: i64 = rows.filter_map(|row| row["cost_micros"].as_i64()).sum();
        assert_eq!(sum, total.as_i64().unwrap_or_default(), "`{path}`");
        priced += usize::from(sum > 0);
    }
    assert!(priced > 0, "`{}` holds no session with a price", folder.display());
}

/// A fork of Codex whose history is in the file of its parent: `ls` had only the replies in its own file.
#[test]
fn a_fork_by_reference_counts_its_history_in_ls_and_once_over_all_sessions() {
    let person = Person::alone();
    let thread = |id: char| format!("01a1e09c-0000-7000-8000-00000000000{id}");
    let line = |ordinal: u32, kind: &str, payload: Value| json!({"timestamp":format!("2025-03-04T05:00:{ordinal:02}.000Z"),"ordinal":ordinal,"type":kind,"payload":payload});
    let meta = |id: char, more: Value| {
        let mut meta = json!({"id":thread(id),"timestamp":"2025-03-04T05:00:00.000Z","cwd":"/home/dev/x","originator":"codex_cli_rs","cli_version":"0.160.0"});
        meta.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        line(0, "session_meta", meta)
    };
    let said = |ordinal: u32, role: &str, text: &str| {
        let kind = if role == "user" { "input_text" } else { "output_text" };
        line(
            ordinal,
            "response_item",
            json!({"type":"message","role":role,"content":[{"type":kind,"text":text}]}),
        )
    };
    let counted = |ordinal: u32, last: i64, so_far: i64| {
        let tokens = |count: i64| json!({"input_tokens":count,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":count});
        let info = json!({"last_token_usage":tokens(last),"total_token_usage":tokens(so_far)});
        line(ordinal, "event_msg", json!({"type":"token_count","info":info}))
    };
    let model =
        |ordinal: u32| line(ordinal, "turn_context", json!({"cwd":"/home/dev/x","model":"gpt-5-codex"}));
    let folder = ".codex/sessions/2025/03/04/rollout-2025-03-04T05-0";
    let base = [
        meta('a', json!({})),
        model(1),
        said(2, "user", "A quokka?"),
        said(3, "assistant", "Yes."),
        counted(4, 1_000, 1_000),
        said(5, "user", "A wombat?"),
        said(6, "assistant", "No."),
        counted(7, 500, 1_500),
    ];
    person.write(&format!("{folder}0-00-{}.jsonl", thread('a')), &base);
    let from = json!({"history_base":{"thread_id":thread('a'),"end_ordinal_exclusive":5},"forked_from_id":thread('a')});
    let mut fork = vec![
        meta('c', from),
        model(5),
        said(6, "user", "A numbat?"),
        said(7, "assistant", "Perhaps."),
        counted(8, 30, 1_030),
    ];
    let file = format!("{folder}2-00-{}.jsonl", thread('c'));
    let tokens = |now: u64, id: char| {
        let rows = person.json_lines_at(now, "ls --json=lines");
        let row = rows.iter().find(|row| row["id"] == thread(id)).expect("a session").clone();
        let cost = person.json(&format!("cost {} --json", thread(id)));
        assert!(row["cost_micros"].as_i64().is_some_and(|cost| cost > 0), "{row}");
        assert_eq!(row["cost_micros"], cost["total"]["cost_micros"], "{id}");
        cost["total"]["tokens"].as_i64().expect("a sum")
    };
    person.write(&file, &fork);
    assert_eq!((tokens(NOW, 'a'), tokens(NOW, 'c')), (1_500, 1_030));
    let all = |by: &str| person.json(&format!("cost --by {by} --json"))["total"]["tokens"].clone();
    for by in ["day", "project", "model"] {
        assert_eq!(all(by), 1_530, "{by}: the history is counted once");
    }
    // What it grows by comes on top.
    fork.extend([said(9, "user", "Sure?"), said(10, "assistant", "Sure."), counted(11, 7, 1_037)]);
    person.write(&file, &fork);
    assert_eq!(tokens(NOW + 1, 'c'), 1_037);
    assert_eq!(all("day"), 1_537);
}

/// A whole id is a name, however short it is: `ls` shows it.
#[test]
fn a_session_with_a_short_id_is_found_by_it() {
    let person = Person::alone();
    person.write(&format!("{PI}short.jsonl"), &[pi_header("s1"), pi("u1", None, 1, None)]);
    person.write(&format!("{PI}longer.jsonl"), &[pi_header("s12345"), pi("u1", None, 1, None)]);
    assert_eq!(person.json("cost s1 --json")["total"]["turns"], 1);
    let told = person.run("cost s");
    assert!(told.contains("no session `s`"), "a piece of less than three letters names nothing: {told}");
}

/// The tokens of all files, counted from their lines: each message once.
fn counted(person: &Person) -> i64 {
    let mut by_reply: HashMap<String, i64> = HashMap::new();
    for bytes in person.bytes_of_agents() {
        for line in String::from_utf8(bytes).expect("text").lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let usage = &line["message"]["usage"];
            let sum = ["input", "output", "input_tokens", "output_tokens"]
                .iter()
                .filter_map(|key| usage[key].as_i64());
            let name = line["message"]["id"].as_str().or(line["id"].as_str());
            if let Some(name) = name.filter(|_| usage.is_object()) {
                by_reply.insert(name.to_owned(), sum.sum());
            }
        }
    }
    by_reply.values().sum()
}

fn rows(told: &Value, key: &str) -> Vec<(String, Value, i64)> {
    let rows = told["rows"].as_array().expect("rows");
    let row = |row: &Value| {
        (
            row[key].as_str().unwrap_or("-").to_owned(),
            row["cost_micros"].clone(),
            row["tokens"].as_i64().expect("a sum"),
        )
    };
    rows.iter().map(row).collect()
}

#[test]
fn copied_histories_are_paid_once_over_all_agents() {
    let person = with_copies();
    let told = |line: &str| person.json(line);
    let by_project = told("cost --by project --json");
    assert_eq!(by_project["total"]["tokens"], counted(&person));
    assert_eq!(
        rows(&by_project, "project"),
        [
            // what pi says; one reply has no price
            ("/home/dev/gatehouse".to_owned(), 750_000.into(), 7_000),
            // 3 dollars a million in and 15 out, by the table
            ("/home/dev/ledger".to_owned(), 93_000.into(), 30_200),
        ]
    );
    assert_eq!(by_project["total"]["unpriced"], 1);
    let by_day = rows(&told("cost --by day --json"), "day");
    assert_eq!(
        by_day,
        [("2025-03-04".to_owned(), 750_000.into(), 7_000), ("2025-03-05".to_owned(), 93_000.into(), 30_200)]
    );
    let by_model = rows(&told("cost --by model --json"), "model");
    assert_eq!(by_model.iter().map(|row| row.2).sum::<i64>(), counted(&person));
    let turns = rows(&told("cost two --by turn --json"), "entry");
    assert_eq!(
        turns,
        [("u1".to_owned(), 250_000.into(), 1_000), ("u3".to_owned(), Value::Null, 4_000)],
        "a price that nobody knows is not guessed"
    );
    assert!(person.run("cost two --by turn --width 80").contains("–"), "and shown as unknown");
}

/// A line of the last reply of a session again, with another count: Claude Code writes one for each part of it.
fn grow(person: &Person, session: &str, line: &Value) {
    use std::io::Write;
    let path = person.user(&format!("{CLAUDE}{session}.jsonl"));
    let mut file = std::fs::OpenOptions::new().append(true).open(path).expect("a file");
    writeln!(file, "{line}").expect("own file");
}

#[test]
fn the_list_and_the_sums_know_what_a_session_costs() {
    let person = with_copies();
    let cost_of = |id: &str| person.json(&format!("cost {id} --json"))["total"]["cost_micros"].clone();
    let listed = |now: u64, id: &str| {
        let rows = person.json_lines_at(now, "ls --json=lines");
        rows.iter().find(|row| row["id"] == id).map_or(Value::Null, |row| row["cost_micros"].clone())
    };
    let claude_ids = ["0f5c0000-0000-4000-8000-000000000001", "0f5c0000-0000-4000-8000-000000000002"];
    for id in ["one", "two"].into_iter().chain(claude_ids) {
        assert_eq!(listed(NOW, id), cost_of(id), "{id}");
    }
    assert!(person.run("ls --width 95 --agent claude").contains("$0.0"), "by the table of prices");
    // the reply goes on, a sub-agent is set to work, and another reply comes
    let id = claude_ids[1];
    grow(&person, id, &claude(id, "d5", Some("d4"), Some(("msg-2", 25_000))));
    grow(&person, id, &claude(id, "d6", Some("d5"), Some(("msg-3", 1_000))));
    let mut aside = claude(id, "e1", None, Some(("msg-4", 500)));
    aside["isSidechain"] = true.into();
    aside["agentId"] = "a1".into();
    person.write(&format!("{CLAUDE}{id}/subagents/agent-a1.jsonl"), &[aside]);
    let by_day = person.json("cost --by day --json");
    assert_eq!(by_day["total"]["input"], 7_000 + 10_000 + 25_000 + 1_000 + 500);
    assert_eq!(listed(NOW + 1, id), cost_of(id));
    // another price is asked for, and nothing is read again
    std::fs::write(
        person.home().join("prices.toml"),
        "[[model]]\nname = \"claude-sonnet-4-5\"\ninput = 1000.0\noutput = 0.0\n",
    )
    .expect("own file");
    assert_eq!(listed(NOW + 1, id), 1_000 * (10_000 + 25_000 + 1_000 + 500));
    assert_eq!(listed(NOW + 1, id), cost_of(id));
    std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
    assert_eq!(person.json("cost --by day --json")["total"]["input"], by_day["total"]["input"]);
}
