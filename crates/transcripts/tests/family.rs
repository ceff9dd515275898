//! What a file is to the conversations beside it.

use offshoot_transcripts::{Dialect, FileRole, classify};

fn check(path: &str, bytes: &str, expected: FileRole) {
    assert_eq!(classify(path, bytes.as_bytes()), expected, "`{path}`");
}

fn side_file_of(owner: &str) -> FileRole {
    FileRole::SideFileOf(owner.to_owned())
}

#[test]
fn sessions_are_known_by_what_they_say() {
    let codex = r#"{"type":"session_meta","payload":{"id":"t"}}"#;
    check("a/rollout.jsonl", codex, FileRole::Session(Dialect::Codex));
    let bare = r#"{"id":"t","timestamp":"2025-09-01T00:00:00Z","instructions":null}"#;
    check("a/rollout.jsonl", bare, FileRole::Session(Dialect::Codex));
    let gemini = r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}"#;
    check("a/session-1.jsonl", gemini, FileRole::Session(Dialect::Gemini));
    let pi = r#"{"type":"session","version":3,"id":"s"}"#;
    check("a/b.jsonl", pi, FileRole::Session(Dialect::Pi { version: 3 }));
    let rollouts = r#"{"type":"session","id":"s","parent_id":"p"}"#;
    check("a/session_s.jsonl", rollouts, FileRole::Session(Dialect::Rollouts));
    let opencode = r#"{"id":"ses","projectID":"p","directory":"/","time":{"created":1}}"#;
    check("storage/session/p/ses.json", opencode, FileRole::Session(Dialect::OpenCode));
}

#[test]
fn the_beginning_of_a_file_is_enough() {
    let gemini = "{\n  \"kind\": \"chat\",\n  \"projectHash\": \"h\",\n  \"sessionId\": \"s\",\n  \"messages\": [\n    {";
    check("chats/session-1.json", gemini, FileRole::Session(Dialect::Gemini));
    let line = r#"{"type":"event_msg","payload":{"type":"token_count"}}"#;
    let long = format!("{line}\n").repeat(5_000);
    check("a.jsonl", &long, FileRole::Session(Dialect::Codex));
    let late = format!("{}{line}\n", "not JSON\n".repeat(10_000));
    check("a.jsonl", &late, FileRole::Session(Dialect::Codex));
}

#[test]
fn side_files_name_their_owner() {
    check("s/subagents/agent-1.meta.json", "{}", side_file_of("`agent-1.jsonl`"));
    let step = r#"{"type":"started","key":"a","agentId":"x1"}"#;
    let owner = side_file_of("session `s` (the journal of a workflow run)");
    check("p/s/subagents/workflows/run-1/journal.jsonl", step, owner);
    check("codex/session_index.jsonl", "{}", side_file_of("the Codex sessions beside it (their names)"));
    check("p/sessions-index.json", "{}", side_file_of("the Claude Code sessions beside it (their index)"));
    check("MANIFEST.md", "# Files", side_file_of("the files beside it (their manifest)"));
    check("storage/session_diff/ses_1.json", "[]", side_file_of("session `ses_1`"));
    let message = r#"{"id":"m","sessionID":"ses","role":"user","time":{"created":1}}"#;
    check("storage/message/ses/m.json", message, side_file_of("session `ses`"));
    check("storage\\part\\m\\p.json", r#"{"id":"p","type":"text"}"#, side_file_of("message `m`"));
}

#[test]
fn everything_else_is_no_session() {
    let role = |path: &str, bytes: &[u8]| classify(path, bytes);
    assert_eq!(role("x.db", b"SQLite format 3\0"), FileRole::NotASession("a SQLite database".to_owned()));
    for (path, bytes) in
        [("package.json", r#"{"name":"x","type":"module"}"#), ("a.jsonl", ""), ("b.txt", "hello")]
    {
        assert!(matches!(role(path, bytes.as_bytes()), FileRole::NotASession(_)), "`{path}`");
    }
}
