//! Lines that came from the target go back as they were.

use offshoot_session::{EntryId, SessionTree};
use offshoot_transcripts::{Target, claude};
use serde_json::Value;

use crate::conversation::{ID, assert_calls_are_answered, handed_over, told};

/// Two calls side by side, a branch, an attachment, odd spacing and fields that nobody knows.
const FILE: &str = concat!(
    r#"{ "parentUuid":null, "isSidechain":false,"type":"user","message":{"role":"user","content":"go"},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"old","version":"2.1.325","gitBranch":"trunk","hologram":1.50 }"#,
    "\n",
    r#"{"type":"queue-operation","operation":"enqueue","sessionId":"old"}"#,
    "\n",
    r#"{"parentUuid":"00000000-0000-4000-8000-000000000001","isSidechain":false,"type":"attachment","attachment":{"type":"date","content":"today"},"uuid":"00000000-0000-4000-8000-000000000002","timestamp":"2026-01-01T00:00:01.000Z","sessionId":"old"}"#,
    "\n",
    r#"{"parentUuid":"00000000-0000-4000-8000-000000000002","isSidechain":false,"message":{"id":"m1","role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"}],"usage":{"input_tokens":5,"output_tokens":1}},"type":"assistant","uuid":"00000000-0000-4000-8000-000000000003","timestamp":"2026-01-01T00:00:02.000Z","sessionId":"old"}"#,
    "\n",
    r#"{"parentUuid":"00000000-0000-4000-8000-000000000003","isSidechain":false,"message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t1","name":"WebFetch","input":{"url":"x"}}],"usage":{"input_tokens":5,"output_tokens":1}},"type":"assistant","uuid":"00000000-0000-4000-8000-000000000004","timestamp":"2026-01-01T00:00:03.000Z","sessionId":"old"}"#,
    "\n",
    r#"{"parentUuid":"00000000-0000-4000-8000-000000000004","isSidechain":false,"message":{"id":"m1","role":"assistant","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":5,"output_tokens":1}},"type":"assistant","uuid":"00000000-0000-4000-8000-000000000005","timestamp":"2026-01-01T00:00:04.000Z","sessionId":"old"}"#,
    "\n",
    r#"{"parentUuid":"00000000-0000-4000-8000-000000000004","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"a page"}]},"uuid":"00000000-0000-4000-8000-000000000006","timestamp":"2026-01-01T00:00:05.000Z","sessionId":"old"}"#,
    "\n",
    r#"{"parentUuid":"00000000-0000-4000-8000-000000000005","isSidechain":false,"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t2","content":"files"}]},"uuid":"00000000-0000-4000-8000-000000000007","timestamp":"2026-01-01T00:00:06.000Z","sessionId":"old"}"#,
    "\n",
    r#"{"parentUuid":"00000000-0000-4000-8000-000000000007","isSidechain":false,"message":{"id":"m2","role":"assistant","content":[{"type":"text","text":"Done."}]},"type":"assistant","uuid":"00000000-0000-4000-8000-000000000008","timestamp":"2026-01-01T00:00:07.000Z","sessionId":"old"}"#,
    "\n",
    r#"{"parentUuid":"00000000-0000-4000-8000-000000000008","isSidechain":false,"type":"user","message":{"role":"user","content":"more"},"uuid":"00000000-0000-4000-8000-000000000009","timestamp":"2026-01-01T00:00:08.000Z","sessionId":"old"}"#,
    "\n",
    r#"{"type":"custom-title","customTitle":"Mine","sessionId":"old"}"#,
    "\n",
);

fn tree() -> SessionTree {
    SessionTree::replay(claude::read(Some("old.jsonl"), FILE.as_bytes()).records).0
}

#[test]
fn lines_of_claude_code_change_only_their_session_and_their_parent() {
    let leaf = EntryId::from("00000000-0000-4000-8000-000000000008");
    let written = handed_over(Target::ClaudeCode, &tree(), &leaf);
    let text = String::from_utf8(written.bytes).expect("text");
    let lines: Vec<&str> = text.lines().collect();
    let first = r#"{ "parentUuid":null, "isSidechain":false,"type":"user","message":{"role":"user","content":"go"},"uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","sessionId":"11111111-2222-4333-8444-555555555555","version":"2.1.325","gitBranch":"trunk","hologram":1.50 }"#;
    assert_eq!(lines[0], first);
    let old = |line: &str| line.replace(ID, "old");
    for line in FILE.lines().filter(|line| line.contains("\"uuid\"")).take(5) {
        assert!(lines.iter().any(|written| old(written) == line), "{line}\n is not in\n{text}");
    }
    assert!(text.contains("\"signature\":\"c2ln\""), "signed thinking stays");
    let ends: Vec<&str> = lines.iter().rev().take(2).copied().collect();
    assert!(ends[1].contains("\"customTitle\":\"Mine\""));
    assert!(ends[0].contains("\"leafUuid\":\"00000000-0000-4000-8000-000000000008\""));
    let again = SessionTree::replay(claude::read(None, text.as_bytes()).records).0;
    assert_calls_are_answered(&again);
    assert_eq!(told(&again), ["> go", "! a page", "! files", "< Done."]);
}

#[test]
fn every_line_hangs_below_the_one_before() {
    let leaf = EntryId::from("00000000-0000-4000-8000-000000000009");
    let written = handed_over(Target::ClaudeCode, &tree(), &leaf);
    let mut above = Value::Null;
    for line in String::from_utf8_lossy(&written.bytes).lines() {
        let line: Value = serde_json::from_str(line).expect("JSON");
        if let Some(id) = line.get("uuid") {
            assert_eq!(line["parentUuid"], above);
            above = id.clone();
        }
        assert_eq!(line["sessionId"], ID);
    }
    assert_eq!(above, "00000000-0000-4000-8000-000000000009");
}

#[test]
fn a_long_project_is_cut_and_told_apart() {
    assert_eq!(claude::project_folder("/home/me/a.b_c"), "-home-me-a-b-c");
    assert_eq!(claude::project_folder("/é/日"), "----");
    let long = format!("/{}", "a".repeat(300));
    let folder = claude::project_folder(&long);
    assert_eq!(folder.get(..200), Some(format!("-{}", "a".repeat(199)).as_str()));
    assert_ne!(folder, claude::project_folder(&format!("{long}b")));
}
