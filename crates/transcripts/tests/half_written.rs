//! Files that end in the middle, as they do when somebody reads what is being written: what is whole is read, what is
//! not is kept, and it is said.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use offshoot_session::{Odd, SessionTree};
use offshoot_transcripts::{Transcript, Unreadable, read};

const PI: &str = concat!(
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
    "\n",
    r#"{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hello"}}"#,
    "\n",
    r#"{"type":"message","id":"a1","parentId":"u1","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}"#,
    "\n",
);
const OH_MY_PI: &str = concat!(
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w","title":"T"}"#,
    "\n",
    r#"{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"hello"}}"#,
    "\n",
    r#"{"type":"mode_change","id":"m1","parentId":"u1","timestamp":"2026-01-01T00:00:02.000Z","mode":"plan"}"#,
    "\n",
);
const ROLLOUTS: &str = concat!(
    r#"{"type":"session","id":"s","timestamp":"2026-01-01T00:00:00Z","parent_id":null,"model":"m"}"#,
    "\n",
    r#"{"type":"message","role":"user","content":"hello","timestamp":"2026-01-01T00:00:01Z"}"#,
    "\n",
    r#"{"type":"message","role":"assistant","content":"hi","timestamp":"2026-01-01T00:00:02Z"}"#,
    "\n",
);
const CLAUDE: &str = concat!(
    r#"{"parentUuid":null,"type":"user","message":{"role":"user","content":"hello"},"uuid":"u1","timestamp":"2026-01-01T00:00:01Z","sessionId":"s"}"#,
    "\n",
    r#"{"parentUuid":"u1","type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]},"uuid":"a1","timestamp":"2026-01-01T00:00:02Z","sessionId":"s"}"#,
    "\n",
    r#"{"type":"last-prompt","leafUuid":"a1","sessionId":"s"}"#,
    "\n",
);
const CODEX: &str = concat!(
    r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"t","cwd":"/w"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":"hello"}}"#,
    "\n",
    r#"{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}"#,
    "\n",
);
const GEMINI: &str = concat!(
    r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"2026-01-01T00:00:00Z","kind":"main"}"#,
    "\n",
    r#"{"id":"u1","timestamp":"2026-01-01T00:00:01Z","type":"user","content":"hello"}"#,
    "\n",
    r#"{"id":"a1","timestamp":"2026-01-01T00:00:02Z","type":"gemini","content":"hi"}"#,
    "\n",
);
const GEMINI_DOCUMENT: &str = r#"{
  "sessionId": "s",
  "projectHash": "h",
  "startTime": "2026-01-01T00:00:00Z",
  "messages": [
    {"id": "u1", "timestamp": "2026-01-01T00:00:01Z", "type": "user", "content": "hello"},
    {"id": "a1", "timestamp": "2026-01-01T00:00:02Z", "type": "gemini", "content": "hi"}
  ]
}"#;
const OPENCODE: &str = r#"{"info":{"id":"s","projectID":"p","directory":"/w","time":{"created":1}},"messages":[{"info":{"id":"m","role":"user","time":{"created":1}},"parts":[{"id":"q","type":"text","text":"hello"}]}]}"#;

fn says_so(transcript: &Transcript) -> bool {
    transcript.oddities.iter().any(|oddity| matches!(oddity.what, Odd::TornTail { .. }))
}

fn entries(transcript: Transcript) -> usize {
    SessionTree::replay(transcript.records).0.len()
}

/// Cut at every byte of the last line.
fn check_lines(name: &str, file: &str) {
    let whole = read(None, file.as_bytes()).unwrap();
    assert!(!says_so(&whole), "{name}: nothing is wrong with the whole file");
    let last = file.trim_end().rfind('\n').unwrap() + 1;
    let before = entries(read(None, &file.as_bytes()[..last]).unwrap());
    for cut in last + 1..file.len() - 1 {
        let torn = &file.as_bytes()[..cut];
        let transcript = read(None, torn).unwrap();
        assert_eq!(transcript.source_bytes(), torn, "{name}: nothing is lost at {cut}");
        assert!(says_so(&transcript), "{name}: cut at {cut}, and not a word");
        let told = transcript.oddities.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
        assert!(told.contains("the last line is unfinished"), "{name}: {told}");
        assert_eq!(entries(transcript), before, "{name}: what is whole is read at {cut}");
    }
    // A line that only lacks its end is a whole line.
    let transcript = read(None, file.trim_end().as_bytes()).unwrap();
    assert!(!says_so(&transcript), "{name}");
    assert_eq!(entries(transcript), entries(whole), "{name}");
}

#[test]
fn the_last_line_is_not_complete() {
    let files = [
        ("pi", PI),
        ("oh-my-pi", OH_MY_PI),
        ("rollouts", ROLLOUTS),
        ("claude", CLAUDE),
        ("codex", CODEX),
        ("gemini", GEMINI),
    ];
    for (name, file) in files {
        check_lines(name, file);
    }
}

#[test]
fn a_document_that_breaks_off_is_said_too() {
    for cut in 60..GEMINI_DOCUMENT.len() {
        let torn = &GEMINI_DOCUMENT.as_bytes()[..cut];
        let transcript = read(Some("session-1.json"), torn).unwrap();
        assert_eq!(transcript.source_bytes(), torn);
        assert!(says_so(&transcript), "cut at {cut}, and not a word: {:?}", transcript.oddities);
    }
    for cut in 1..OPENCODE.len() {
        match read(Some("export.json"), &OPENCODE.as_bytes()[..cut]) {
            Err(Unreadable::NotASession(_)) => {}
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

/// Found by cargo-fuzz: such a document was taken for no session at all.
#[test]
fn a_document_with_a_byte_that_is_not_text_is_still_a_session() {
    for (name, document) in [("session-1.json", GEMINI_DOCUMENT), ("ses_x.json", OPENCODE)] {
        let whole = read(Some(name), document).unwrap();
        let mut bytes = document.as_bytes().to_vec();
        let at = document.find("hello").unwrap();
        bytes[at] = 0xff;
        let repaired = read(Some(name), &bytes).unwrap();
        assert_eq!(repaired.dialect, whole.dialect);
        assert_eq!(repaired.source_bytes(), bytes);
        assert_eq!(repaired.records.len(), whole.records.len());
        let said = repaired
            .oddities
            .iter()
            .any(|oddity| matches!(&oddity.what, Odd::Repaired(what) if what.contains("UTF-8")));
        assert!(said, "{name}: {:?}", repaired.oddities);
    }
}
