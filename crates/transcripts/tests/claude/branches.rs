//! Which branch of a file is active, where messages are among its branches, and branches as files.

use offshoot_session::{Body, Entry, EntryId};
use offshoot_transcripts::claude::{self, BranchReading, Branches, Point, extract};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::file::{answer, call, chained, leaf, lines, said, tree_of, user, with};

fn branches(file: &[Value]) -> Branches {
    Branches::read(None, lines(file).as_bytes())
}

/// Ids of the active branch, root first.
fn active(file: &[Value]) -> String {
    ids(branches(file).active().into_iter().map(AsRef::as_ref))
}

fn ids<'e>(entries: impl Iterator<Item = &'e Entry>) -> String {
    entries.map(|entry| entry.id.to_string()).collect::<Vec<_>>().join(" ")
}

/// Two versions of the second prompt.
fn two_branches() -> Vec<Value> {
    vec![
        said("u1", None),
        said("a2", Some("u1")),
        said("u3", Some("a2")),
        said("a4", Some("u3")),
        said("u5", Some("a2")),
        said("a6", Some("u5")),
    ]
}

fn compacted() -> Vec<Value> {
    let boundary =
        json!({ "subtype": "compact_boundary", "logicalParentUuid": "a2", "content": "Compacted" });
    vec![
        said("u1", None),
        said("a2", Some("u1")),
        chained("system", "b3", None, boundary),
        with(user("u4", Some("b3"), json!("Summary")), json!({ "isCompactSummary": true })),
        said("u5", Some("u4")),
        said("a6", Some("u5")),
    ]
}

fn with_reply_end(mut line: Value) -> Value {
    line["message"]["stop_reason"] = json!("end_turn");
    line
}

#[test]
fn the_last_prompt_line_selects_the_branch_until_something_is_written() {
    let mut file = two_branches();
    assert_eq!(active(&file), "u1 a2 u5 a6", "the newest one without such a line");
    file.push(leaf("a4"));
    assert_eq!(active(&file), "u1 a2 u3 a4");
    file.push(said("u7", Some("a6")));
    assert_eq!(active(&file), "u1 a2 u5 a6 u7");
    file.push(leaf("gone"));
    assert_eq!(active(&file), "u1 a2 u5 a6 u7", "a leaf that the file does not have says nothing");
}

/// A file is read as it comes from the disk: where a chunk ends makes no difference.
#[test]
fn a_file_that_comes_in_chunks_has_the_same_branches() {
    let mut files = vec![lines(&two_branches()), lines(&compacted())];
    files.push(lines(&two_branches()).replacen("}\n{", "}{", 1)); // a newline was lost
    files.push(format!("{}{{\"torn", lines(&two_branches())));
    for file in files {
        let whole = Branches::read(Some("s.jsonl"), file.as_bytes());
        for size in [1, 7, 64, 1000] {
            let mut reading = BranchReading::default();
            file.as_bytes().chunks(size).for_each(|chunk| reading.push(chunk));
            let chunked = reading.finish(Some("s.jsonl"));
            assert_eq!(chunked.active(), whole.active(), "in chunks of {size} bytes");
            assert_eq!(chunked.behind(None), whole.behind(None));
        }
    }
}

#[test]
fn a_sub_agent_is_on_no_branch() {
    let mut file = two_branches();
    file.push(with(said("u8", None), json!({ "isSidechain": true, "agentId": "x" })));
    assert_eq!(active(&file), "u1 a2 u5 a6");
    assert_eq!(branches(&file).point(&"u8".into()), Point::Missing);
}

#[test]
fn a_message_is_on_the_active_branch_on_another_one_or_before_the_compaction() {
    let point = |file: &[Value], id: &str| branches(file).point(&id.into());
    for id in ["u1", "a2", "u5", "a6"] {
        assert_eq!(point(&two_branches(), id), Point::Active, "{id}");
    }
    for id in ["u3", "a4"] {
        assert_eq!(point(&two_branches(), id), Point::OtherBranch, "{id}");
    }
    assert_eq!(point(&two_branches(), "gone"), Point::Missing);
    for id in ["u1", "a2"] {
        assert_eq!(point(&compacted(), id), Point::BeforeCompaction, "{id}");
    }
    for id in ["b3", "u4", "u5", "a6"] {
        assert_eq!(point(&compacted(), id), Point::Active, "{id}");
    }
    // On another branch a compaction does not matter.
    let mut file = compacted();
    file.push(said("u7", Some("u1")));
    assert_eq!(point(&file, "u1"), Point::Active);
    assert_eq!(point(&file, "a6"), Point::OtherBranch);
}

#[test]
fn entries_behind_a_message_are_those_of_the_active_branch() {
    let mut file = two_branches();
    let behind = |file: &[Value], after: Option<&str>| {
        let caught_up = branches(file).behind(after.map(EntryId::from).as_ref());
        let ids: Vec<String> = caught_up.entries.iter().map(|entry| entry.id.to_string()).collect();
        (ids.join(" "), caught_up.is_complete)
    };
    assert_eq!(behind(&file, Some("a2")), ("u5 a6".into(), false), "the reply does not say how it ended");
    file[5] = with_reply_end(said("a6", Some("u5")));
    assert_eq!(behind(&file, Some("a2")), ("u5 a6".into(), true));
    assert_eq!(behind(&file, None), ("u1 a2 u5 a6".into(), true));
    assert_eq!(behind(&file, Some("a6")), (String::new(), true));
    assert_eq!(behind(&file, Some("a4")), (String::new(), false), "it is on another branch");
    let note = json!({ "subtype": "turn_duration", "durationMs": 1 });
    file.push(chained("system", "n7", Some("a6"), note));
    file.push(json!({ "type": "mode", "mode": "plan", "sessionId": "s1" }));
    file.push(with(user("u8", Some("n7"), json!("Mind")), json!({ "isMeta": true })));
    assert_eq!(behind(&file, Some("u5")), ("a6".into(), true), "nothing follows the hidden context");
    file.push(said("u9", Some("u8")));
    assert_eq!(behind(&file, Some("u5")), ("a6 u8 u9".into(), false));
    file.push(with_reply_end(call("a10", Some("u9"), "m", "c")));
    assert_eq!(behind(&file, Some("u9")), ("a10".into(), false), "the call is open");
    file.push(answer("u11", Some("a10"), "c"));
    assert_eq!(behind(&file, Some("u9")), ("a10 u11".into(), false));
    file.push(user("u12", Some("u11"), json!("[Request interrupted by user]")));
    assert_eq!(behind(&file, Some("u9")), ("a10 u11 u12".into(), true), "nothing more comes");
}

#[test]
fn an_extracted_branch_has_its_lines_its_backups_and_the_title() {
    let mut file = two_branches();
    for message in ["u1", "u3", "u5"] {
        let snapshot = json!({ "type": "file-history-snapshot", "messageId": message, "snapshot": {} });
        file.push(snapshot);
    }
    file.push(json!({ "type": "queue-operation", "operation": "enqueue", "sessionId": "s1" }));
    file.push(json!({ "type": "custom-title", "customTitle": "Old", "sessionId": "s1" }));
    file.push(json!({ "type": "custom-title", "customTitle": "New", "sessionId": "s1" }));
    let text = lines(&file);
    let extracted = extract(None, text.as_bytes(), Some(&"a4".into()), "s2").expect("a branch");
    let mut expected = file[..4].to_vec();
    for line in &mut expected {
        line["sessionId"] = json!("s2");
    }
    expected.extend([file[6].clone(), file[7].clone()]);
    expected.push(json!({ "type": "custom-title", "customTitle": "New", "sessionId": "s2" }));
    expected.push(json!({ "type": "last-prompt", "lastPrompt": "u3", "leafUuid": "a4", "sessionId": "s2" }));
    assert_eq!(String::from_utf8_lossy(&extracted), lines(&expected));
    assert_eq!(extract(None, text.as_bytes(), Some(&"gone".into()), "s2"), None);
    assert_eq!(extract(None, b"", None, "s2"), None);
}

/// Before a compaction, and lines that are no entries stay where they connect others.
#[test]
fn a_branch_before_a_compaction_is_extracted_and_so_is_one_across_it() {
    let read_back = |file: &[Value], at: &str| {
        let extracted = extract(None, lines(file).as_bytes(), Some(&at.into()), "s2").expect("a branch");
        ids(Branches::read(None, &extracted).active().into_iter().map(AsRef::as_ref))
    };
    assert_eq!(read_back(&compacted(), "a2"), "u1 a2");
    assert_eq!(read_back(&compacted(), "a6"), "u1 a2 b3 u4 u5 a6");
    let progress =
        [said("u1", None), chained("progress", "p2", Some("u1"), json!({})), said("a3", Some("p2"))];
    assert_eq!(read_back(&progress, "a3"), "u1 a3");
}

/// A random forest: replies, prompts, calls made in parallel with their answers, compactions and lines that only connect.
fn forest() -> impl Strategy<Value = Vec<Value>> {
    let node = (0..7_u8, any::<prop::sample::Index>());
    prop::collection::vec(node, 1..25).prop_map(|nodes| {
        let mut file: Vec<Value> = Vec::new();
        for (number, (kind, above)) in nodes.into_iter().enumerate() {
            let above = (number > 0).then(|| file[above.index(number)].clone());
            let parent = above.as_ref().and_then(|above| above["uuid"].as_str());
            let name = |letter: &str| format!("{letter}{number}");
            let call_above = above.as_ref().and_then(|above| above["message"]["content"][0]["id"].as_str());
            file.push(match (kind, call_above) {
                (0, _) => said(&name("u"), parent),
                (1, _) => said(&name("a"), parent),
                (2, _) => {
                    let message = above.as_ref().and_then(|above| above["message"]["id"].as_str());
                    call(&name("a"), parent, message.unwrap_or(&name("m")), &name("c"))
                }
                (3 | 4, Some(call)) => answer(&name("u"), parent, call),
                (3 | 4, None) => said(&name("u"), parent),
                (5, _) => chained("progress", &name("p"), parent, json!({})),
                _ => with(
                    user(&name("u"), None, json!("Summary")),
                    json!({ "logicalParentUuid": parent, "isCompactSummary": true }),
                ),
            });
        }
        file
    })
}

fn content(entry: &Entry) -> (EntryId, Body) {
    (entry.id.clone(), entry.body.clone())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_extracted_branch_is_read_back_as_the_path(file in forest()) {
        let text = lines(&file);
        let tree = tree_of(&claude::read(None, text.as_bytes()));
        for entry in tree.entries() {
            let path: Vec<_> = tree.path_to(Some(&entry.id)).into_iter().map(|entry| content(entry)).collect();
            let extracted = extract(None, text.as_bytes(), Some(&entry.id), "s2").expect("a branch");
            let read_back = Branches::read(None, &extracted);
            let active: Vec<_> = read_back.active().into_iter().map(|entry| content(entry)).collect();
            prop_assert_eq!(active, path, "at {} of\n{}\n{}", entry.id, text, String::from_utf8_lossy(&extracted));
        }
    }

    #[test]
    fn every_message_is_in_one_place(file in forest()) {
        let text = lines(&file);
        let branches = Branches::read(None, text.as_bytes());
        let tree = tree_of(&claude::read(None, text.as_bytes()));
        let active: Vec<_> = tree.path_to(tree.main_head()).into_iter().map(|entry| entry.id.clone()).collect();
        for entry in tree.entries() {
            let is_active = matches!(branches.point(&entry.id), Point::Active | Point::BeforeCompaction);
            prop_assert_eq!(is_active, active.contains(&entry.id), "{}", entry.id);
        }
    }
}
