//! Laws of reading, for files in any state: no panic, no byte lost, the same answer every time, and records that
//! make a tree without complaint.

use offshoot_session::{Odd, SessionTree};
use offshoot_transcripts::codex::{RolloutFile, resolve};
use offshoot_transcripts::opencode::read_storage;
use offshoot_transcripts::{Transcript, classify, codex, gemini, read};
use proptest::collection::vec;
use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::{prop_assert, prop_assert_eq, proptest};

const CODEX: &[&str] = &[
    r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"t","cwd":"/w"}}"#,
    r#"{"ordinal":3,"type":"session_meta","payload":{"id":"t","history_base":{"thread_id":"t","end_ordinal_exclusive":3}}}"#,
    r#"{"id":"t","timestamp":"2025-01-01T00:00:00Z","instructions":null}"#,
    r#"{"record_type":"state"}"#,
    r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"bare"}]}"#,
    r#"{"type":"turn_context","payload":{"turn_id":"1","model":"m","approval_policy":"never","effort":"low"}}"#,
    r#"{"type":"turn_context","payload":{"turn_id":"2","model":"n","sandbox_policy":{"type":"x"},"effort":null}}"#,
    r#"{"ordinal":4,"type":"response_item","payload":{"type":"message","role":"user","content":"hello"}}"#,
    r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]}}"#,
    r#"{"type":"response_item","payload":{"type":"function_call","name":"f","arguments":"{}","call_id":"c"}}"#,
    r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Exit code: 1"}}"#,
    r#"{"type":"event_msg","payload":{"type":"task_started","turn_id":"1"}}"#,
    r#"{"type":"event_msg","payload":{"type":"task_complete","turn_id":"1"}}"#,
    r#"{"type":"event_msg","payload":{"type":"turn_aborted"}}"#,
    r#"{"type":"event_msg","payload":{"type":"user_message","message":"hello"}}"#,
    r#"{"type":"event_msg","payload":{"type":"agent_message","message":"hi"}}"#,
    r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#,
    r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":18446744073709551615}}"#,
    r#"{"type":"event_msg","payload":{"type":"token_count","info":{"last_token_usage":{"input_tokens":9}}}}"#,
    r#"{"type":"compacted","payload":{"message":"short"}}"#,
    r#"{"type":"new","payload":{}}"#,
];

const GEMINI: &[&str] = &[
    r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z"}"#,
    r#"{"id":"u1","type":"user","content":"hello"}"#,
    r#"{"id":"a1","type":"gemini","content":"hi"}"#,
    r#"{"id":"a1","type":"gemini","content":"","toolCalls":[{"id":"c","name":"f","status":"success"}]}"#,
    r#"{"id":"r1","type":"user","content":[{"functionResponse":{"id":"c","response":{"output":"x"}}}]}"#,
    r#"{"id":"a1/c","type":"user","content":"a name that is taken"}"#,
    r#"{"type":"user","content":"no id"}"#,
    r#"{"$rewindTo":"a1"}"#,
    r#"{"$rewindTo":"gone"}"#,
    r#"{"$set":{"messages":[]}}"#,
    r#"{"$set":{"messages":[{"id":"a1","type":"gemini","content":"x"},{"id":"u1","type":"user"},{"id":"a1","type":"gemini"}]}}"#,
    r#"{"$set":{"summary":"title"}}"#,
];

const OPENCODE: &[&str] = &[
    r#"{"id":"s","projectID":"p","directory":"/w","time":{"created":1},"revert":{"messageID":"m"}}"#,
    r#"{"id":"m","sessionID":"s","role":"user","time":{"created":1}}"#,
    r#"{"id":"n","sessionID":"s","role":"assistant","parentID":"m","time":{"created":2}}"#,
    r#"{"id":"n","sessionID":"s","role":"assistant","parentID":"n","time":{"created":2}}"#,
    r#"{"id":"p","messageID":"n","sessionID":"s","type":"tool","state":{"status":"completed"}}"#,
    r#"{"id":"p","messageID":"m","type":"text","text":"hello"}"#,
    r#"{"info":{"id":"s"},"messages":[{"info":{"id":"m","role":"user"},"parts":[]}]}"#,
];

/// A line of a file, mostly one that the program would write.
fn line(known: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => select(known).prop_map(|line| line.as_bytes().to_vec()),
        1 => (select(known), any::<proptest::sample::Index>()).prop_map(|(line, at)| {
            line.as_bytes().get(..at.index(line.len())).unwrap_or_default().to_vec()
        }),
        1 => vec(any::<u8>(), 0..20),
    ]
}

fn file(known: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    (vec(line(known), 0..40), any::<bool>()).prop_map(|(lines, ends)| {
        let mut bytes = lines.join(&b'\n');
        if ends {
            bytes.push(b'\n');
        }
        bytes
    })
}

fn keeps_the_laws(transcript: &Transcript, bytes: &[u8]) -> Result<(), proptest::test_runner::TestCaseError> {
    prop_assert_eq!(transcript.source_bytes(), bytes);
    let (_, oddities) = SessionTree::replay(transcript.records.iter().cloned());
    let complaints: Vec<_> = oddities.iter().filter(|oddity| oddity.what != Odd::SecondHeader).collect();
    prop_assert!(complaints.is_empty(), "{complaints:?}");
    let written = SessionTree::default().extended(&transcript.records);
    prop_assert!(written.is_ok(), "{:?}", written.err());
    Ok(())
}

proptest! {
    #[test]
    fn codex_files_in_any_state(bytes in file(CODEX)) {
        let transcript = codex::read(Some("rollout-2026-01-01T00-00-00-t.jsonl"), &bytes);
        keeps_the_laws(&transcript, &bytes)?;
        let again = codex::read(Some("rollout-2026-01-01T00-00-00-t.jsonl"), &bytes);
        prop_assert_eq!(transcript.records, again.records);
    }

    #[test]
    fn codex_families_in_any_state(one in file(CODEX), other in file(CODEX)) {
        let files = [
            RolloutFile { name: "rollout-2026-01-01T00-00-00-t.jsonl", bytes: &one },
            RolloutFile { name: "rollout-2026-01-01T00-00-01-t_r.jsonl", bytes: &other },
        ];
        let transcript = resolve("t", &files);
        prop_assert_eq!(transcript.source_bytes().len(), one.len() + other.len());
        let kept = transcript.source_bytes();
        keeps_the_laws(&transcript, &kept)?;
    }

    #[test]
    fn gemini_files_in_any_state(bytes in file(GEMINI)) {
        let transcript = gemini::read(None, &bytes);
        keeps_the_laws(&transcript, &bytes)?;
        prop_assert_eq!(transcript.records, gemini::read(None, &bytes).records);
    }

    #[test]
    fn opencode_storages_in_any_state(files in vec((select(&["a", "message/s/x", "part/m/y"][..]), line(OPENCODE)), 0..12)) {
        let list: Vec<(&str, &[u8])> = files.iter().map(|(path, bytes)| (*path, bytes.as_slice())).collect();
        let storage = read_storage(&list);
        for session in storage.sessions.values() {
            let kept = session.source_bytes();
            keeps_the_laws(session, &kept)?;
        }
    }

    #[test]
    fn mixed_files_in_any_state(lines in vec(prop_oneof![line(CODEX), line(GEMINI), line(OPENCODE)], 0..20)) {
        let bytes = lines.join(&b'\n');
        classify("x.json", &bytes);
        if let Ok(transcript) = read(Some("x.jsonl"), &bytes) {
            prop_assert_eq!(transcript.source_bytes(), bytes);
        }
    }
}
