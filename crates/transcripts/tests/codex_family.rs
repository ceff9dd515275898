//! Rollouts of Codex that share a past, as one tree.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]

use offshoot_session::{BranchReason, SessionTree};
use offshoot_testkit::draw;
use offshoot_transcripts::codex::{RolloutFile, belongs, families, read_with_bases, resolve};
use offshoot_transcripts::{Transcript, codex};
use serde_json::{Value, json};

/// A file that begins at an ordinal: its header, then prompts and replies in turn.
struct File {
    name: String,
    bytes: Vec<u8>,
}

/// `name` is `thread` or `thread_rollout`; `base` is a rollout and the ordinal where it is left.
fn file(second: u64, name: &str, base: Option<(&str, u64)>, said: &[&str]) -> File {
    let (thread, _) = name.split_once('_').unwrap_or((name, name));
    let start = base.map_or(0, |(_, end)| end);
    let time = |more: usize| format!("2026-11-01T00:{second:02}:{more:02}Z");
    let mut meta = json!({ "id": thread, "timestamp": time(0), "cwd": "/work" });
    if let (Some((rollout, end)), Value::Object(meta)) = (base, &mut meta) {
        meta.insert("history_base".into(), json!({ "thread_id": rollout, "end_ordinal_exclusive": end }));
    }
    let mut text = format!(
        "{}\n",
        json!({ "timestamp": time(0), "ordinal": start, "type": "session_meta", "payload": meta })
    );
    for (at, words) in said.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let payload = json!({ "type": "message", "role": role, "content": words });
        let ordinal = start + 1 + at as u64;
        text += &format!(
            "{}\n",
            json!({ "timestamp": time(at + 1), "ordinal": ordinal, "type": "response_item", "payload": payload })
        );
    }
    File { name: format!("rollout-2026-11-01T00-00-{second:02}-{name}.jsonl"), bytes: text.into_bytes() }
}

fn one_tree(thread: &str, files: &[File]) -> Transcript {
    let files: Vec<RolloutFile<'_>> =
        files.iter().map(|file| RolloutFile { name: &file.name, bytes: &file.bytes }).collect();
    let transcript = resolve(thread, &files);
    let all: usize = files.iter().map(|file| file.bytes.len()).sum();
    assert_eq!(transcript.source_bytes().len(), all, "no byte is lost");
    SessionTree::default().extended(&transcript.records).expect("the records can be written one by one");
    transcript
}

fn tree(transcript: &Transcript) -> SessionTree {
    let (tree, oddities) = SessionTree::replay(transcript.records.iter().cloned());
    assert_eq!(oddities, []);
    tree
}

/// Three reverts and a fork, as the program writes them.
fn family() -> Vec<File> {
    vec![
        file(1, "T", None, &["A", "a", "B", "b", "C", "c"]),
        file(2, "T_r1", Some(("T", 5)), &["C2", "c2", "D2"]),
        file(3, "T_r2", Some(("r1", 8)), &["D3", "d3"]),
        file(4, "T_r3", Some(("T", 3)), &["B4", "b4"]),
        file(5, "F", Some(("r3", 6)), &["F5"]),
    ]
}

const FAMILY: &str = r#"
T:1"A" - T:2"a" - T:3"B" - T:4"b" - T:5"C" - T:6"c"
                           T:4 - r1:6"C2" - r1:7"c2" - r1:8"D2"
                                            r1:7 - r2:9"D3" - r2:10"d3"
         T:2 - r3:4"B4" - r3:5"b4"* - F:7"F5"
"#;

#[test]
fn every_branch_is_in_the_tree_and_the_newest_is_the_head() {
    let transcript = one_tree("T", &family());
    assert_eq!(transcript.oddities, []);
    assert_eq!(draw(&tree(&transcript)).trim(), FAMILY.trim());
}

#[test]
fn another_thread_of_the_family_has_its_own_head() {
    let tree = tree(&one_tree("F", &family()));
    assert_eq!(draw(&tree).trim(), FAMILY.trim().replace('*', "") + "*");
    assert_eq!(tree.header().map(|header| header.id.as_str()), Some("F"));
    assert_eq!(tree.header().and_then(|header| header.lineage.clone()), None, "the parent is in the tree");
}

#[test]
fn each_thread_is_bound_to_its_tip() {
    let tree = tree(&one_tree("T", &family()));
    let session = |id: &str| {
        let binding = tree.binding(&id.into())?;
        binding.agent_session.as_ref().map(|session| session.as_str().to_owned())
    };
    assert_eq!(session("r3:5").as_deref(), Some("T"));
    assert_eq!(session("F:7").as_deref(), Some("F"));
    assert_eq!(session("r2:10"), None, "Codex cannot get back there");
}

#[test]
fn the_order_of_the_files_does_not_matter() {
    let forward = one_tree("T", &family());
    let backward = one_tree("T", &family().into_iter().rev().collect::<Vec<_>>());
    assert_eq!(forward.records, backward.records);
}

#[test]
fn a_file_alone_has_the_ids_that_the_family_gives_it() {
    let files = family();
    let alone = files.iter().map(|file| codex::read(Some(&file.name), &file.bytes));
    let mut ids: Vec<String> = alone.flat_map(|transcript| entry_ids(&transcript)).collect();
    let mut together = entry_ids(&one_tree("T", &files));
    ids.sort();
    together.sort();
    assert_eq!(ids, together);
}

fn entry_ids(transcript: &Transcript) -> Vec<String> {
    transcript.records.iter().filter_map(|record| Some(record.as_entry()?.id.to_string())).collect()
}

#[test]
fn a_file_alone_says_what_is_missing() {
    let file = file(2, "T_r1", Some(("T", 5)), &["C2"]);
    let transcript = codex::read(Some(&file.name), &file.bytes);
    let odd: Vec<String> = transcript.oddities.iter().map(ToString::to_string).collect();
    assert_eq!(odd, ["`r1` continues `T`, which is not here: everything before ordinal 5 is missing"]);
    let tree = tree(&transcript);
    let lineage = tree.header().and_then(|header| header.lineage.clone()).expect("a lineage");
    assert_eq!(lineage.parent, "T");
    assert_eq!(lineage.reason, Some(BranchReason::Other("revert".to_owned())));
}

#[test]
fn what_a_fork_takes_over_is_not_told_again() {
    let settings = |ordinal: u64| {
        let payload = json!({ "type": "thread_settings_applied", "thread_settings": { "model": "m" } });
        format!("{}\n", json!({ "ordinal": ordinal, "type": "event_msg", "payload": payload }))
    };
    let mut base = file(1, "T", None, &["A", "a"]);
    base.bytes.extend(settings(3).into_bytes());
    let mut fork = file(2, "F", Some(("T", 4)), &[]);
    fork.bytes.extend(settings(5).into_bytes());
    assert_eq!(draw(&tree(&one_tree("F", &[base, fork]))).trim(), r#"T:1"A" - T:2"a" - T:3.model*"#);
}

#[test]
fn bases_that_are_missing_or_circular_are_said() {
    let odd = |files: &[File]| -> Vec<String> {
        one_tree("T", files).oddities.iter().map(ToString::to_string).collect()
    };
    let circle = [file(1, "T", Some(("F", 1)), &["A"]), file(2, "F", Some(("T", 1)), &["B"])];
    assert_eq!(
        odd(&circle),
        [
            "`F` continues `T`, which is not here: everything before ordinal 1 is missing",
            "`T` continues `F`, which is not here: everything before ordinal 1 is missing",
        ]
    );
    let short = [file(1, "T", None, &["A"]), file(2, "T_r", Some(("T", 9)), &["B"])];
    assert_eq!(odd(&short), ["`r` leaves its base at ordinal 9, which is not there"]);
    let itself = [file(1, "T", Some(("T", 1)), &["A"])];
    assert_eq!(odd(&itself).len(), 1);
}

#[test]
fn files_are_sorted_into_families_by_their_headers() {
    let mut files = family();
    files.push(file(6, "X", None, &["other"]));
    let all: Vec<_> = files.iter().filter_map(|file| belongs(Some(&file.name), &file.bytes)).collect();
    assert_eq!(families(&all), [vec![0, 1, 2, 3, 4], vec![5]]);
    assert_eq!(all.get(1).map(|one| (one.thread.as_str(), one.rollout.as_str())), Some(("T", "r1")));
}

#[test]
fn a_base_left_before_it_begins_is_left_in_its_own_base() {
    let files = [
        file(1, "T", None, &["A", "a", "B", "b"]),
        file(2, "T_r", Some(("T", 5)), &["C"]),
        file(3, "F", Some(("r", 3)), &["D"]),
    ];
    assert_eq!(
        draw(&tree(&one_tree("F", &files))).trim(),
        "T:1\"A\" - T:2\"a\" - T:3\"B\" - T:4\"b\" - r:6\"C\"\n         T:2 - F:4\"D\"*"
    );
}

#[test]
fn a_rollback_may_reach_into_the_base() {
    let mut fork = file(2, "F", Some(("T", 5)), &["C"]);
    let back = json!({ "type": "thread_rolled_back", "num_turns": 2 });
    fork.bytes
        .extend(format!("{}\n", json!({ "ordinal": 7, "type": "event_msg", "payload": back })).into_bytes());
    let files = [file(1, "T", None, &["A", "a", "B", "b"]), fork];
    assert_eq!(draw(&tree(&one_tree("F", &files))).trim(), r#"T:1"A" - T:2"a"* - T:3"B" - T:4"b" - F:6"C""#);
}

fn given(file: &File) -> RolloutFile<'_> {
    RolloutFile { name: &file.name, bytes: &file.bytes }
}

/// A fork takes over what was said before it, and nothing of what its base said later.
#[test]
fn a_fork_is_read_with_its_past() {
    let base = file(1, "t", None, &["u1", "a1", "u2", "a2"]);
    let middle = file(2, "t_m", Some(("t", 3)), &["u3", "a3", "u4"]);
    let mut fork = file(3, "f", Some(("m", 6)), &["u5", "a5"]);
    let named = String::from_utf8(fork.bytes).expect("text");
    fork.bytes = named.replacen("\"cwd\"", "\"forked_from_id\":\"t\",\"cwd\"", 1).into_bytes();
    let transcript = read_with_bases(given(&fork), &[given(&middle), given(&base)]);
    assert_eq!(transcript.oddities, []);
    let tree = tree(&transcript);
    let said: Vec<String> = tree.entries().map(|entry| entry.body.text()).collect();
    assert_eq!(said, ["u1", "a1", "u3", "a3", "u5", "a5"]);
    let header = tree.header().expect("a header");
    assert_eq!(header.id.as_str(), "f");
    let lineage = header.lineage.as_ref().expect("a lineage");
    assert_eq!((lineage.parent.as_str(), lineage.reason.as_ref()), ("t", Some(&BranchReason::Fork)));
}

#[test]
fn a_fork_whose_base_is_not_there_is_read_alone_and_says_so() {
    let fork = file(3, "f", Some(("t", 3)), &["u5", "a5"]);
    let transcript = read_with_bases(given(&fork), &[]);
    assert_eq!(tree(&transcript).len(), 2);
    assert_eq!(transcript.oddities.len(), 1);
}
