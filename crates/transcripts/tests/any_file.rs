//! Files of any kind, also those that are no sessions.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]

use offshoot_session::SessionTree;
use offshoot_transcripts::{Dialect, Unreadable, claude, pi, read, rollouts};
use proptest::prelude::*;

fn dialect(file: &str) -> Dialect {
    read(None, file.as_bytes()).expect("a session file").dialect
}

fn refusal(bytes: &[u8]) -> String {
    read(None, bytes).expect_err("no session").to_string()
}

#[test]
fn the_content_tells_who_wrote_a_file() {
    let header = r#"{"type":"session","id":"x","timestamp":"2025-01-01T00:00:00Z","cwd":"/"}"#;
    let nested = r#"{"type":"message","message":{"role":"user","content":"hi"}}"#;
    let flat = r#"{"type":"message","role":"user","content":"hi"}"#;
    assert_eq!(dialect(&format!("{header}\n{nested}\n")), Dialect::Pi { version: 1 });
    assert_eq!(dialect(&format!("{header}\n{flat}\n")), Dialect::Rollouts);
    assert_eq!(dialect(r#"{"type":"session","version":3,"id":"x"}"#), Dialect::Pi { version: 3 });
    assert_eq!(dialect(r#"{"type":"session","id":"x","parent_id":null}"#), Dialect::Rollouts);
    assert_eq!(dialect(r#"{"type":"session","id":"x","provider":"p","model":"m"}"#), Dialect::Rollouts);
    assert_eq!(dialect(flat), Dialect::Rollouts);
    let of_claude = |line: &str| assert_eq!(dialect(line), Dialect::ClaudeCode, "{line}");
    of_claude(r#"{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"hi"}}"#);
    of_claude(r#"{"type":"user","sessionId":"s","message":{"role":"user","content":"hi"}}"#);
    of_claude(r#"{"type":"summary","summary":"old","leafUuid":"u"}"#);
    of_claude(r#"{"type":"custom-title","customTitle":"x","sessionId":"s"}"#);
    of_claude(r#"{"type":"file-history-snapshot","messageId":"u","snapshot":{}}"#);
}

#[test]
fn the_name_tells_where_the_content_does_not() {
    let header = br#"{"type":"session","id":"x"}"#;
    let named = |name: &str| read(Some(name), header).expect("a session file").dialect;
    assert_eq!(named("/home/session_x.jsonl"), Dialect::Rollouts);
    assert_eq!(named("2025-01-01_x.jsonl"), Dialect::Pi { version: 1 });
}

#[test]
fn what_is_no_session_is_refused_in_words() {
    assert_eq!(read(None, b"").expect_err("empty"), Unreadable::Empty);
    assert_eq!(refusal(b""), "the file is empty");
    assert_eq!(refusal(b"\n \r\n\n"), "this is not a session file: it holds only blank lines");
    let not_json = "this is not a session file: no line of it is a JSON object";
    assert_eq!(refusal(b"\x7fELF\x02\x01\0\0\xff\n\xfe"), not_json);
    assert_eq!(refusal(b"[1,2]\n\"session\"\n"), not_json);
    assert_eq!(
        refusal(b"{\"type\":\"user\",\"message\":{\"role\":\"user\"}}\n"),
        "this is not a session file: no line of it is of a kind that a program we know writes"
    );
}

#[test]
fn a_line_of_a_hundred_megabytes_is_a_line() {
    let words = "x".repeat(100_000_000);
    let file = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{{\"type\":\"message\",\"id\":\"u1\",\"parentId\":null,\
         \"timestamp\":1,\"message\":{{\"role\":\"user\",\"content\":\"{words}\"}}}}\n"
    );
    let transcript = read(None, file.as_bytes()).expect("a session file");
    let length: usize = transcript
        .records
        .iter()
        .filter_map(|record| record.source.as_ref())
        .map(|line| line.bytes().len())
        .sum();
    assert_eq!(length, file.len());
    let entry = transcript.records.iter().find_map(|record| record.as_entry()).expect("an entry");
    assert_eq!(entry.body.text().len(), words.len());
}

#[test]
fn json_nested_without_end_is_one_bad_line() {
    let deep = format!("{}{}", "{\"a\":".repeat(10_000), "}".repeat(10_000));
    let file = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{deep}\n");
    let transcript = read(None, file.as_bytes()).expect("a session file");
    assert_eq!(transcript.source_bytes(), file.as_bytes());
    assert!(
        transcript.oddities[0].to_string().starts_with("line 2: not readable"),
        "{:?}",
        transcript.oddities
    );
}

/// Pieces that make almost a session.
fn soup() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}",
        "{\"type\":\"session\"}",
        "{\"type\":\"label\",\"id\":\"b\",\"parentId\":\"a\",\"targetId\":\"b\"}",
        "{\"type\":\"message\",\"id\":\"a\",\"parentId\":\"b\",\"message\":7}",
        "{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":[7,{}]}}",
        "{\"type\":\"compaction\",\"firstKeptEntryIndex\":1e99,\"tokensBefore\":-1e300}",
        "{\"type\":\"leaf\",\"id\":\"a\",\"targetId\":\"b\"}",
        "{\"type\":\"message\",\"role\":\"user\",\"content\":null}",
        "{\"type\":\"config_change\",\"endpoint\":{\"model\":\"m\"}}",
        "{\"type\":7}",
        "{\"type\":\"usage\",\"id\":1,\"usage\":{\"input\":1e400}}",
        "{\"type\":\"usage\",\"id\":1,\"usage\":{\"input\":1e40,\"cost\":1e40}}",
        "{\"type\":\"model_change\",\"id\":\"m\",\"parentId\":\"m\",\"model\":\"\"}",
        "\n",
        "\r\n",
        "\n",
        "\u{feff}",
        "\0",
        "{",
        "}",
        "\"",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..30)
        .prop_map(|pieces| pieces.concat().into_bytes())
}

fn loses_nothing(bytes: &[u8]) -> Result<(), TestCaseError> {
    for transcript in [pi::read(None, bytes), rollouts::read(None, bytes), claude::read(None, bytes)] {
        prop_assert_eq!(transcript.source_bytes(), bytes);
        let (tree, _) = SessionTree::replay(transcript.records.clone());
        pi::write(&transcript.records);
        rollouts::write_all(&tree);
    }
    if let Ok(transcript) = read(None, bytes) {
        prop_assert_eq!(transcript.source_bytes(), bytes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_are_survived_and_kept(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        loses_nothing(&bytes)?;
    }

    #[test]
    fn almost_sessions_are_survived_and_kept(bytes in soup()) {
        loses_nothing(&bytes)?;
    }
}
