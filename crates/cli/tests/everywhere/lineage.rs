//! Forks that name no origin stand below the session they begin like.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::person::{NOW, Person};

fn parents(person: &Person) -> Vec<(String, Value)> {
    let rows = person.json_lines("ls --json=lines");
    let mut parents: Vec<(String, Value)> = rows
        .iter()
        .map(|row| (row["id"].as_str().expect("an id").to_owned(), row["parent"].clone()))
        .collect();
    parents.sort_by(|one, other| one.0.cmp(&other.0));
    parents
}

fn claude(session: &str, uuid: &str, parent: Option<&str>, second: u32, text: &str) -> Value {
    let kind = if uuid.starts_with('u') { "user" } else { "assistant" };
    json!({
        "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": uuid, "cwd": "/home/dev/ledger",
        "sessionId": session, "timestamp": format!("2025-03-04T09:00:{second:02}.000Z"),
        "message": {"role": kind, "content": text},
    })
}

#[test]
fn a_fork_that_names_no_origin_stands_below_it() {
    let person = Person::alone();
    let ids = [
        "0a000000-0000-4000-8000-000000000001",
        "0b000000-0000-4000-8000-000000000002",
        "0c000000-0000-4000-8000-000000000003",
    ];
    let file = |id: &str| format!(".claude/projects/-home-dev-ledger/{id}.jsonl");
    let opened = |id: &str, second: u32| json!({"type":"queue-operation","operation":"enqueue","timestamp":format!("2025-03-04T09:00:{second:02}.000Z"),"sessionId":id});
    let shared = |id: &str| {
        vec![
            claude(id, "u1", None, 1, "Port the parser"),
            claude(id, "a1", Some("u1"), 2, "I read the lexer."),
        ]
    };
    // the origin goes on after it was forked; its id is not the first in any order
    let origin =
        [vec![opened(ids[1], 0)], shared(ids[1]), vec![claude(ids[1], "u2", Some("a1"), 50, "Go on")]];
    let fork =
        [vec![opened(ids[0], 20)], shared(ids[0]), vec![claude(ids[0], "u3", Some("a1"), 21, "Or so?")]];
    person.write(&file(ids[1]), &origin.concat());
    person.write(&file(ids[0]), &fork.concat());
    // asks the same a minute later, and is nobody's fork
    person.write(
        &file(ids[2]),
        &[
            claude(ids[2], "u7", None, 55, "Port the parser"),
            claude(ids[2], "a7", Some("u7"), 56, "I read the lexer."),
        ],
    );
    let expected = [(ids[0], json!(ids[1])), (ids[1], Value::Null), (ids[2], Value::Null)];
    assert_eq!(parents(&person), expected.map(|(id, parent)| (id.to_owned(), parent)));
    let list = person.run("ls --width 95");
    assert!(list.contains("╰ Port the parser"), "{list}");
    // a file that is read in two pieces begins as one that is read at once
    std::fs::remove_file(person.user(&file(ids[0]))).expect("own file");
    person.run_at(NOW + 1, "keep --off");
    std::fs::remove_dir_all(person.home().join("archive")).expect("own folder");
    person.write(&file(ids[0]), fork.concat().get(..2).expect("two lines"));
    person.run_at(NOW + 2, "sync");
    person.write(&file(ids[0]), &fork.concat());
    assert_eq!(parents(&person).first().map(|(_, parent)| parent.clone()), Some(json!(ids[1])));
}

#[test]
fn forks_that_programs_made_stand_below_their_origin() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let fixtures = shared.join("fixtures/generated");
    if !fixtures.is_dir() {
        println!(
            "skipped: forks_that_programs_made_stand_below_their_origin (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    }
    let person = Person::alone();
    let copy = |from: &str, to: &str| {
        let to = person.user(to);
        std::fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
        std::fs::copy(fixtures.join(from), to).expect("a copy");
    };
    copy("opencode/opencode.db", ".local/share/opencode/opencode.db");
    for id in ["be3841d5-0293-4b96-ae4f-820a62bc96ca", "29f1c3b6-a0d5-480c-88a1-61b2b781111d"] {
        copy(&format!("claude/{id}.jsonl"), &format!(".claude/projects/-x/{id}.jsonl"));
    }
    let parents = parents(&person);
    let of = |begins: &str| -> Vec<&str> {
        let found = parents.iter().filter(|(id, _)| id.starts_with(begins));
        found.filter_map(|(_, parent)| parent.as_str()).collect()
    };
    assert_eq!(of("29f1c3"), ["be3841d5-0293-4b96-ae4f-820a62bc96ca"]);
    assert!(of("be3841").is_empty());
    for (fork, origin) in
        [("ses_e1f5f2", "ses_e1f5f5"), ("ses_e1f615", "ses_e1f61e"), ("ses_e1f5a8", "ses_e1f5a9")]
    {
        assert!(
            of(fork).iter().all(|parent| parent.starts_with(origin)) && of(fork).len() == 1,
            "{fork} {parents:?}"
        );
        assert!(of(origin).is_empty(), "{origin}");
    }
}
