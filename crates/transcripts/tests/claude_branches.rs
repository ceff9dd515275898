//! Branches of session files that Claude Code wrote, where the folder with them is at hand.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]
#![expect(clippy::print_stdout, reason = "a test that cannot run says so by name")]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use offshoot_session::{Body, Entry, EntryId, SessionTree};
use offshoot_transcripts::claude::{self, Branches, Point, extract};
use serde_json::Value;

/// The recorded sessions by name.
fn recordings(test: &str) -> Vec<(String, Vec<u8>)> {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let Ok(entries) = std::fs::read_dir(shared.join("recordings/claude-code/sessions")) else {
        println!("skipped: {test} (set OFFSHOOT_SHARED to a folder with `recordings`)");
        return Vec::new();
    };
    let paths = entries.flatten().map(|entry| entry.path());
    // The file of a sub-agent is no session and has no branches.
    let is_session = |path: &Path| {
        let is_of_sub_agent =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("subagent-child"));
        !is_of_sub_agent && path.extension().is_some_and(|end| end == "jsonl")
    };
    let paths = paths.filter(|path| is_session(path));
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    paths.map(|path| (name(&path), std::fs::read(&path).expect("a readable file"))).collect()
}

fn json_lines(bytes: &[u8]) -> Vec<Value> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).expect("JSON")).collect()
}

/// The ids from a leaf up to the root, by the lines alone.
fn up_from(leaf: &str, lines: &[Value]) -> Vec<String> {
    let by_id: HashMap<&str, &Value> =
        lines.iter().filter_map(|line| Some((line["uuid"].as_str()?, line))).collect();
    let mut up = vec![leaf.to_owned()];
    while let Some(line) = up.last().and_then(|id| by_id.get(id.as_str())) {
        let parent = line["parentUuid"].as_str().or_else(|| line["logicalParentUuid"].as_str());
        let Some(parent) = parent else { break };
        up.push(parent.to_owned());
    }
    up
}

/// What 2.1.325 accepted and refused for `--resume-session-at` in these files.
#[test]
fn every_message_of_the_recordings_is_where_claude_code_looks_for_it() {
    let test = "every_message_of_the_recordings_is_where_claude_code_looks_for_it";
    let mut seen = HashMap::new();
    for (name, bytes) in recordings(test) {
        if !["inplace-resume-at-two-branches-in-one-file.jsonl", "compacted.jsonl"].contains(&name.as_str()) {
            continue;
        }
        let lines = json_lines(&bytes);
        let leaf = lines.iter().rev().find_map(|line| line["leafUuid"].as_str()).expect("a leaf");
        let chain = up_from(leaf, &lines);
        let boundary = lines.iter().find(|line| line["subtype"] == "compact_boundary");
        let boundary = boundary.and_then(|line| line["uuid"].as_str());
        let after_compaction: HashSet<&str> = {
            let end = chain.iter().position(|id| Some(id.as_str()) == boundary).map(|at| at + 1);
            chain.iter().take(end.unwrap_or(chain.len())).map(String::as_str).collect()
        };
        let branches = Branches::read(Some(&name), &bytes);
        for id in lines.iter().filter_map(|line| line["uuid"].as_str()) {
            let expected = match chain.iter().any(|on_chain| on_chain == id) {
                true if after_compaction.contains(id) => Point::Active,
                true => Point::BeforeCompaction,
                false => Point::OtherBranch,
            };
            assert_eq!(branches.point(&id.into()), expected, "`{name}`: {id}");
            *seen.entry(format!("{expected:?}")).or_insert(0) += 1;
        }
    }
    if !seen.is_empty() {
        assert_eq!(seen.len(), 3, "each kind of place occurs: {seen:?}");
    }
}

/// Entries with ids of the file's own; the others are settings.
fn content(path: Vec<&std::sync::Arc<Entry>>) -> Vec<(EntryId, jiff::Timestamp, Body)> {
    let own = path.into_iter().filter(|entry| !matches!(entry.body, Body::Setting(_)));
    own.map(|entry| (entry.id.clone(), entry.written_at, entry.body.clone())).collect()
}

#[test]
fn every_branch_of_the_recordings_is_extracted_and_read_back() {
    let mut extracted_any = 0;
    for (name, bytes) in recordings("every_branch_of_the_recordings_is_extracted_and_read_back") {
        let (tree, _) = SessionTree::replay(claude::read(Some(&name), &bytes).records);
        let branches = Branches::read(Some(&name), &bytes);
        let tips = tree.entries().filter(|entry| tree.children(Some(&entry.id)).is_empty());
        for tip in tips.filter(|tip| branches.path_to(&tip.id).is_some()) {
            let path = content(tree.path_to(Some(&tip.id)));
            let extracted = extract(Some(&name), &bytes, Some(&tip.id), "s2").expect("a branch");
            let read_back = content(Branches::read(None, &extracted).active());
            assert_eq!(read_back, path, "`{name}` at {}", tip.id);
            assert!(
                json_lines(&extracted)
                    .iter()
                    .all(|line| line["sessionId"].as_str().is_none_or(|id| id == "s2"))
            );
            extracted_any += 1;
        }
    }
    println!("{extracted_any} branches");
}

/// What is caught up has the ids, times and bodies of the whole reading.
#[test]
fn what_is_behind_a_message_is_what_the_reader_gives() {
    for (name, bytes) in recordings("what_is_behind_a_message_is_what_the_reader_gives") {
        let (tree, _) = SessionTree::replay(claude::read(Some(&name), &bytes).records);
        let branches = Branches::read(Some(&name), &bytes);
        let path = tree.path_to(tree.main_head());
        for (at, after) in path.iter().enumerate() {
            let behind = content(path.get(at + 1..).unwrap_or_default().to_vec());
            let caught_up = branches.behind(Some(&after.id)).entries;
            for entry in &caught_up {
                let same = (entry.id.clone(), entry.written_at, entry.body.clone());
                assert!(behind.contains(&same), "`{name}`: {} behind {}", entry.id, after.id);
            }
            let messages = behind.iter().filter(|(_, _, body)| {
                matches!(body, Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_) | Body::Interrupted(_))
            });
            let caught_up: HashSet<&EntryId> = caught_up.iter().map(|entry| &entry.id).collect();
            assert!(
                messages.clone().all(|(id, _, _)| caught_up.contains(id)),
                "`{name}` behind {}",
                after.id
            );
        }
    }
}

/// Whatever Claude Code had written when it was killed.
#[test]
fn an_answer_is_complete_when_its_last_line_is_written() {
    for (name, bytes) in recordings("an_answer_is_complete_when_its_last_line_is_written") {
        if name != "base-5turns-write-edit-bash.jsonl" {
            continue;
        }
        let (mut length, mut is_complete, mut changes) = (0, false, 0);
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            length += line.len();
            let written: Value = serde_json::from_slice(line).expect("JSON");
            let expected = match written["type"].as_str() {
                Some("user") => false,
                Some("assistant") => written["message"]["stop_reason"] == "end_turn",
                _ => is_complete,
            };
            changes += usize::from(expected != is_complete);
            is_complete = expected;
            let branches = Branches::read(Some(&name), bytes.get(..length).unwrap_or_default());
            assert_eq!(branches.behind(None).is_complete, is_complete, "after {length} bytes");
        }
        assert_eq!(changes, 9, "five answers ended, and four prompts came behind one");
    }
}
