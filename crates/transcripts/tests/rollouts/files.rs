//! Reading and writing.

use offshoot_session::{Body, BranchReason, EntryId, Fact, Record, SessionTree, Setting};
use offshoot_testkit::{FixedStamps, drawn, tree_of as drawn_tree};
use offshoot_transcripts::{Dialect, Transcript, pi, read, rollouts};

pub(crate) fn load(file: &str) -> Transcript {
    let transcript = read(None, file.as_bytes()).expect("a session file");
    assert_eq!(String::from_utf8_lossy(&transcript.source_bytes()), file, "every byte is kept");
    transcript
}

pub(crate) fn tree_of(transcript: &Transcript) -> SessionTree {
    SessionTree::replay(transcript.records.clone()).0
}

fn said(tree: &SessionTree) -> Vec<String> {
    tree.path_to(tree.main_head())
        .iter()
        .map(|entry| entry.body.text())
        .filter(|text| !text.is_empty())
        .collect()
}

fn head(tree: &SessionTree) -> EntryId {
    tree.main_head().cloned().expect("a head")
}

const CHILD: &str = r#"{"type": "session", "id": "c1", "timestamp": "2025-01-01T00:00:00", "cwd": "/work", "provider": "p", "model": "m2", "parent_id": "r1", "branch_point": 1, "branch_reason": "config_change", "branch_metadata": {"old_model": "p/m", "new_model": "p/m2"}}
{"type": "message", "role": "user", "content": "hello"}
{"type": "message", "role": "assistant", "content": "hi there"}
"#;

/// R-025: a session file begins with its id, time, directory, provider and model.
/// R-026: a child session says its parent, the branch point, the reason and what changed.
#[test]
fn a_header_tells_the_parent_and_why_the_branch_was_made() {
    let transcript = load(CHILD);
    assert_eq!(transcript.dialect, Dialect::Rollouts);
    assert!(transcript.oddities.is_empty(), "{:?}", transcript.oddities);
    let tree = tree_of(&transcript);
    let header = tree.header().expect("a header");
    let lineage = header.lineage.as_ref().expect("a parent");
    assert_eq!((lineage.parent.as_str(), lineage.message_index), ("r1", Some(1)));
    assert_eq!(lineage.reason, Some(BranchReason::ConfigChange));
    assert_eq!(lineage.metadata.as_ref().map(|data| data["new_model"] == "p/m2"), Some(true));
    assert_eq!(header.model.as_ref().map(|model| model.name.as_str()), Some("m2"));
    assert_eq!(said(&tree), ["hello", "hi there"]);
}

/// R-029: a session file without a parent is a root and still loads.
/// R-202: changes of configuration in old files load, and the file is written back as it was.
#[test]
fn an_old_file_is_a_root_and_its_changes_are_settings() {
    let file = r#"{"type":"session","id":"old","provider":"p","model":"m"}
{"type":"message","role":"user","content":"hello"}
{"type":"config_change","endpoint":{"provider":"p","model":"m2"},"environment_type":"coding"}
{"type":"message","role":"assistant","content":"hi"}
{"type":"config_change","environment_type":"none"}
"#;
    let tree = tree_of(&load(file));
    assert!(tree.header().is_some_and(|header| header.lineage.is_none()));
    let settings: Vec<&str> = tree
        .path_to(tree.main_head())
        .iter()
        .filter_map(|entry| match &entry.body {
            Body::Setting(Setting::Config(config)) => Some(config["environment_type"].as_str().map_or(
                "?",
                |word| {
                    if word == "coding" { "coding" } else { "none" }
                },
            )),
            Body::Setting(Setting::Model { model, .. }) if model.name == "m2" => Some("m2"),
            _ => None,
        })
        .collect();
    assert_eq!(settings, ["coding", "m2", "none"]);
    assert_eq!(String::from_utf8_lossy(&rollouts::write(&tree, &head(&tree)).bytes), file);
}

#[test]
fn tools_are_called_beside_the_words_and_answer_by_id() {
    let file = r#"{"type":"session","id":"r","parent_id":null}
{"type":"message","role":"system","content":"be kind"}
{"type":"message","role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}]}
{"type":"message","role":"tool","tool_call_id":"c1","content":"text"}
{"type":"message","role":"oracle","content":"hm"}
"#;
    let tree = tree_of(&load(file));
    let bodies: Vec<Body> = tree.entries().map(|entry| entry.body.clone()).collect();
    assert!(matches!(&bodies[0], Body::System(system) if system.text == "be kind"));
    assert!(
        matches!(&bodies[1], Body::Reply(reply) if reply.tool_uses().any(|call| call.input["path"] == "a"))
    );
    assert!(matches!(&bodies[2], Body::ToolResult(result) if result.call.as_str() == "c1"));
    assert!(matches!(&bodies[3], Body::Foreign(foreign) if foreign.kind == "oracle"));
}

/// The copies in a child have the ids of the lines they are copies of.
#[test]
fn a_child_parts_from_its_parent_where_their_ids_part() {
    let parent =
        CHILD.replace("c1", "r1") + "{\"type\": \"message\", \"role\": \"user\", \"content\": \"one way\"}\n";
    let child = format!("{CHILD}{{\"type\": \"message\", \"role\": \"user\", \"content\": \"another\"}}\n");
    let ids = |file: &str| tree_of(&load(file)).entries().map(|entry| entry.id.clone()).collect::<Vec<_>>();
    let (parent, child) = (ids(&parent), ids(&child));
    assert_eq!(parent[..2], child[..2]);
    assert_ne!(parent[2], child[2]);
}

#[test]
fn bad_lines_and_a_torn_tail_are_told_and_written_back() {
    let file = format!(
        "\n{CHILD}{{bad\r\n[]\n{{\"type\":\"odd\",\"content\":\"x\"}}\n{{\"type\":\"session\"}}\n{{\"x\":1}}\n{{\"type\":\"mess"
    );
    let transcript = load(&file);
    let told: Vec<String> = transcript.oddities.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "line 5: not readable: not JSON at column 2",
            "line 6: not readable: JSON, but not an object",
            "line 7: unknown type `odd`",
            "line 8: a second header; the first one counts",
            "line 9: not readable: an object without a type",
            "line 10: the last line is unfinished (13 bytes)",
        ]
    );
    let tree = tree_of(&transcript);
    let written = rollouts::write(&tree, &head(&tree));
    assert_eq!(String::from_utf8_lossy(&written.bytes), file);
    assert_eq!((written.file_name.as_str(), &written.lost[..]), ("session_c1.jsonl", &[][..]));
}

#[test]
fn a_file_without_a_header_is_named_after_its_file() {
    let file = b"{\"type\":\"message\",\"role\":\"user\",\"content\":\"hello\"}\n";
    let transcript = read(Some("session_abc.jsonl"), file).expect("readable");
    assert_eq!(tree_of(&transcript).header().map(|header| header.id.as_str()), Some("abc"));
    assert_eq!(transcript.oddities.len(), 1);
}

#[test]
fn an_earlier_point_is_written_without_what_came_behind() {
    let tree = tree_of(&load(CHILD));
    let first = tree.roots()[0].id.clone();
    let written = rollouts::write(&tree, &first);
    let two_lines: String = CHILD.split_inclusive('\n').take(2).collect();
    assert_eq!(String::from_utf8_lossy(&written.bytes), two_lines);
}

/// R-203: files are named after their sessions, and children nest to any depth.
#[test]
fn every_branch_of_a_tree_is_a_file_that_stands_alone() {
    let tree = drawn_tree("u1 - a2 - u3 - a4\n a2 - u5 - a6\n u5 - a7\n a2 - m8 - u9*");
    let files = rollouts::write_all(&tree);
    let told: Vec<String> = files
        .iter()
        .map(|file| {
            let tree = tree_of(&load(&String::from_utf8(file.bytes.clone()).expect("text")));
            let lineage = tree.header().and_then(|header| header.lineage.clone());
            let from = lineage.map_or("-".into(), |lineage| {
                format!(
                    "{} at {:?} {:?}",
                    lineage.parent,
                    lineage.message_index.unwrap_or(99),
                    lineage.reason.unwrap()
                )
            });
            format!("{}: {} <- {from}", file.file_name, said(&tree).join(" "))
        })
        .collect();
    assert_eq!(
        told,
        [
            "session_drawn.jsonl: u1 a2 u3 a4 <- -",
            "session_drawn_u5.jsonl: u1 a2 u5 a6 <- drawn at 2 MessageEdit",
            "session_drawn_a7.jsonl: u1 a2 u5 a7 <- drawn_u5 at 2 Retry",
            "session_drawn_m8.jsonl: u1 a2 u9 <- drawn at 1 ConfigChange",
        ]
    );
    let header: serde_json::Value =
        serde_json::from_slice(files[3].bytes.split(|byte| *byte == b'\n').next().expect("a line"))
            .expect("JSON");
    assert_eq!(header["model"], "m8", "the header says the model of the branch");
}

#[test]
fn what_a_file_has_no_place_for_is_told_in_words() {
    let mut records = drawn("u1[start] - n2 - i3 - s4*");
    records.push(Record::marked(
        FixedStamps::start(),
        Fact::Title { title: Some("T".into()), source: offshoot_session::TitleSource::User },
    ));
    let (tree, _) = SessionTree::replay(records);
    let lost: Vec<String> =
        rollouts::write(&tree, &"s4".into()).lost.iter().map(ToString::to_string).collect();
    assert_eq!(
        lost,
        [
            "ids of entries (2 times, first at `u1`)",
            "notes that the model does not read (at `n2`)",
            "that a reply was cut off; kept as a note (at `i3`)",
            "the kind of a message; kept as words of the person (at `s4`)",
            "labels (at `u1`)",
            "the title of the session",
        ]
    );
}

#[test]
fn a_session_of_pi_can_be_written_as_rollouts() {
    let file = pi::write(&drawn("u1 - a2 - u3*\n a2 - u4")).bytes;
    let transcript = read(None, &file).expect("readable");
    let (tree, _) = SessionTree::replay(transcript.records);
    let texts: Vec<Vec<String>> = rollouts::write_all(&tree)
        .iter()
        .map(|file| said(&tree_of(&load(&String::from_utf8(file.bytes.clone()).expect("text")))))
        .collect();
    assert_eq!(texts, [["u1", "a2", "u3"], ["u1", "a2", "u4"]]);
}
