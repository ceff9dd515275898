//! Older and newer versions of the format.

use offshoot_session::{Body, Odd};
use offshoot_transcripts::{Dialect, pi};
use serde_json::{Value, json};

use crate::file::{HEADER, forgiven, load, said, tree_of};

fn v1(lines: &[Value]) -> String {
    let header = json!({ "type": "session", "id": "old", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/work",
                         "provider": "p", "modelId": "m", "thinkingLevel": "off", "branchedFrom": "/older.jsonl" });
    let lines = lines.iter().map(|line| format!("{line}\n"));
    format!("{header}\n{}", lines.collect::<String>())
}

fn spoken(text: &str) -> Value {
    json!({ "type": "message", "timestamp": "2025-01-01T00:00:01.000Z", "message": { "role": "user", "content": text } })
}

fn compacted(index: i64) -> Value {
    json!({ "type": "compaction", "timestamp": "2025-01-01T00:00:01.000Z", "summary": "s",
            "firstKeptEntryIndex": index, "tokensBefore": 10 })
}

/// The texts on the way to the head, and which of them the compaction keeps first.
fn way(text: &str) -> (Vec<String>, Option<String>) {
    let tree = tree_of(&load(text));
    let path = tree.path_to(tree.main_head());
    let kept = path.iter().find_map(|entry| match &entry.body {
        Body::Compaction(compaction) => compaction.first_kept.clone(),
        _ => None,
    });
    let kept = kept.and_then(|id| tree.entry(&id)).map(|entry| entry.body.text());
    (path.iter().map(|entry| entry.body.text()).collect(), kept)
}

#[test]
fn version_1_is_a_straight_line_with_ids_of_our_making() {
    let file = v1(&[spoken("one"), spoken("two"), spoken("two")]);
    let transcript = load(&file);
    assert_eq!((transcript.dialect, forgiven(&transcript)), (Dialect::Pi { version: 1 }, Vec::new()));
    assert_eq!(way(&file).0, ["one", "two", "two"]);
    let tree = tree_of(&transcript);
    assert!(tree.entries().all(|entry| entry.id.as_str().len() == 8));
    let header = tree.header().expect("a header");
    assert_eq!(header.model.as_ref().map(|model| model.name.as_str()), Some("m"));
    assert_eq!(header.lineage.as_ref().map(|lineage| lineage.parent.as_str()), Some("/older.jsonl"));

    let again = tree_of(&load(&format!("{file}{}\n", spoken("three"))));
    let ids = |tree: &offshoot_session::SessionTree| {
        tree.entries().map(|entry| entry.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&tree), ids(&again)[..3], "a file that grows keeps its ids");
}

#[test]
fn a_compaction_of_version_1_counts_lines_and_only_looks_back() {
    let with = |index| way(&v1(&[spoken("one"), spoken("two"), compacted(index), spoken("three")])).1;
    assert_eq!(with(1).as_deref(), Some("one"));
    assert_eq!(with(2).as_deref(), Some("two"));
    assert_eq!(with(0), None, "the header is no entry");
    assert_eq!(with(4), None, "forward");
    assert_eq!(with(99), None, "out of range");
    assert_eq!(with(-1), None);
    assert_eq!(with(3).as_deref(), Some("s"), "itself: nothing is kept");
}

/// pi counts what it could parse.
#[test]
fn blank_and_bad_lines_do_not_count() {
    let file = v1(&[spoken("one"), spoken("two"), compacted(2)]).replacen('\n', "\n\n{bad\n", 1);
    assert_eq!(way(&file).1.as_deref(), Some("two"));
}

/// R-182: files of older versions are migrated when they are read.
#[test]
fn version_1_is_migrated_field_by_field() {
    let mut odd = spoken("one");
    odd["message"]["role"] = json!("hookMessage");
    odd["extra"] = json!({ "kept": true });
    let file = v1(&[odd, compacted(1), json!({ "type": "mystery", "x": 1 })]);
    let transcript = load(&file);
    let lines = pi::migrate_lines(&transcript);
    let id = |at: usize| lines[at]["id"].as_str().expect("an id").to_owned();
    assert_eq!(lines[0]["version"], 3);
    let expected = json!({
        "type": "message", "timestamp": "2025-01-01T00:00:01.000Z",
        "message": { "role": "custom", "content": "one" }, "extra": { "kept": true }, "id": id(1), "parentId": null,
    });
    assert_eq!(lines[1].to_string(), expected.to_string(), "old fields first, in their order");
    let expected = json!({
        "type": "compaction", "timestamp": "2025-01-01T00:00:01.000Z", "summary": "s", "tokensBefore": 10,
        "id": id(2), "parentId": id(1), "firstKeptEntryId": id(1),
    });
    assert_eq!(lines[2].to_string(), expected.to_string());
    assert_eq!(lines[3], json!({ "type": "mystery", "x": 1, "id": id(3), "parentId": id(2) }));

    let written = pi::write(&transcript.records);
    let expected: String = lines.iter().map(|line| format!("{line}\n")).collect();
    assert_eq!(String::from_utf8_lossy(&written.bytes), expected);
    assert_eq!(written.lost, []);
    let again = load(&expected);
    assert_eq!(again.dialect, Dialect::Pi { version: 3 });
    assert_eq!(offshoot_testkit::draw(&tree_of(&again)), offshoot_testkit::draw(&tree_of(&transcript)));
}

#[test]
fn migration_keeps_the_spelling_of_what_it_does_not_touch() {
    let line = r#"{"type":"message", "timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"user","content":"\u0061"},"cost":0.10000000000000000555}"#;
    let file = format!(
        "{{\"type\":\"session\",\"id\":\"old\",\"timestamp\":\"2025-01-01T00:00:00.000Z\"}}\r\n{line}\r\n"
    );
    let written = String::from_utf8(pi::write(&load(&file).records).bytes).expect("text");
    let body = line.strip_suffix('}').expect("an object");
    assert!(written.lines().nth(1).is_some_and(|line| line.starts_with(body)), "{written}");
    assert_eq!(written.matches("\r\n").count(), 2);
}

#[test]
fn version_2_has_ids_and_renames_a_role() {
    let header = HEADER.replace(r#""version":3"#, r#""version":2"#);
    let mut hook = said("h1", None);
    hook["message"]["role"] = json!("hookMessage");
    let file = format!("{header}\n{hook}\n{}\n", said("a2", Some("h1")));
    let lines = pi::migrate_lines(&load(&file));
    assert_eq!(lines[0].to_string(), HEADER);
    assert_eq!(lines[1]["message"]["role"], "custom");
    assert_eq!((&lines[1]["id"], &lines[2]), (&json!("h1"), &said("a2", Some("h1"))));
}

#[test]
fn version_3_and_newer_stay_as_they_are() {
    for version in [3, 9] {
        let header = HEADER.replace(r#""version":3"#, &format!(r#""version":{version}"#));
        let mut hook = said("h1", None);
        hook["message"]["role"] = json!("hookMessage");
        let file = format!("{header}\n{hook}\n");
        let transcript = load(&file);
        assert_eq!(String::from_utf8_lossy(&pi::write(&transcript.records).bytes), file);
        assert_eq!(pi::migrate_lines(&transcript)[1], hook);
        let newer = transcript.oddities.iter().any(|odd| odd.what == Odd::NewerVersion(9));
        assert_eq!(newer, version == 9);
    }
}

#[test]
fn a_version_that_is_no_number_is_told_by_the_lines() {
    let with_ids = format!("{}\n{}\n", HEADER.replace(r#""version":3"#, r#""version":[]"#), said("u1", None));
    let transcript = load(&with_ids);
    assert_eq!(forgiven(&transcript), ["line 1: the version is not a number; taken for version 3"]);
    assert_eq!(transcript.dialect, Dialect::Pi { version: 3 });
    let digits = format!("{}\n{}\n", HEADER.replace(r#""version":3"#, r#""version":"3""#), said("u1", None));
    assert_eq!(load(&digits).dialect, Dialect::Pi { version: 3 });
}
