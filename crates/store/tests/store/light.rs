//! A file that is read for its shape has the tree of the file, and every entry when it is asked for.

use std::path::Path;

use offshoot_session::SessionTree;
use offshoot_store::LightSession;
use offshoot_store::light::{AgentBeside, LightError};
use offshoot_transcripts::claude::{AgentFile, read_with_agents};
use serde_json::{Value, json};

use crate::support::claude_files::claude_file;
use crate::support::{Dice, real_files_of, rounds};

/// How many bytes of texts were left out of the tree.
fn check(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let name = path.to_string_lossy();
    let whole = match offshoot_transcripts::read(Some(&name), &bytes) {
        Ok(whole) => whole,
        Err(_) => {
            let light = LightSession::open(path).unwrap_err();
            assert!(matches!(light, LightError::OtherDialect { .. }), "{light}");
            return 0;
        }
    };
    let (tree, more) = SessionTree::replay(whole.records);
    let oddities = [whole.oddities, more].concat();
    let light = LightSession::open(path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    let place = path.display();
    assert_eq!(light.dialect(), whole.dialect, "`{place}`");
    assert_eq!(light.oddities(), oddities, "`{place}`");
    assert_eq!(light.unknown_types(), &whole.unknown_types, "`{place}`");
    assert_eq!(light.tree().main_head(), tree.main_head(), "`{place}`");
    assert_eq!(light.tree().header(), tree.header(), "`{place}`");
    assert_eq!(light.tree().title(), tree.title(), "`{place}`");
    assert_eq!(light.tree().len(), tree.len(), "`{place}`");
    let mut left_out = 0;
    for (light_entry, entry) in light.tree().entries().zip(tree.entries()) {
        assert_eq!((&light_entry.id, &light_entry.parent), (&entry.id, &entry.parent), "`{place}`");
        assert_eq!(*light.entry(&entry.id).unwrap(), **entry, "`{place}`: `{}`", entry.id);
        let length = |body: &offshoot_session::Body| format!("{body:?}").len();
        left_out += length(&entry.body).saturating_sub(length(&light_entry.body));
    }
    let messages = light.last_messages(None, 5).unwrap();
    let path = tree.path_to(tree.main_head());
    let expected =
        path.iter().rev().filter_map(|entry| offshoot_session::context::Message::from_entry(entry));
    let mut expected: Vec<_> = expected.take(5).collect();
    expected.reverse();
    assert_eq!(messages, expected, "`{place}`");
    left_out
}

fn check_bytes(bytes: &[u8]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    std::fs::write(&path, bytes).unwrap();
    check(&path)
}

#[test]
fn files_of_claude_code() {
    let mut dice = Dice::seeded(5);
    let mut left_out = 0;
    for round in 0..rounds(8, 400) {
        let lines = 20 + dice.roll(120);
        left_out += check_bytes(&claude_file(&mut dice, lines, round % 2 == 1));
    }
    assert!(left_out > 10_000, "{left_out} bytes are too little to prove anything");
}

#[test]
fn rollouts_of_codex() {
    let mut dice = Dice::seeded(6);
    let mut left_out = 0;
    for _ in 0..rounds(8, 400) {
        left_out += check_bytes(&codex_file(&mut dice));
    }
    assert!(left_out > 10_000, "{left_out} bytes are too little to prove anything");
}

fn codex_file(dice: &mut Dice) -> Vec<u8> {
    let mut lines = vec![json!({"type": "session_meta", "payload": {"id": "t", "cwd": "/w"}})];
    let item = |payload: Value| json!({"type": "response_item", "payload": payload});
    let event = |payload: Value| json!({"type": "event_msg", "payload": payload});
    for turn in 0..20 + dice.roll(20) {
        let words = |dice: &mut Dice, word: &str| word.repeat(dice.roll(120)).trim_end().to_owned();
        lines.push(event(json!({"type": "task_started", "turn_id": format!("turn-{turn}")})));
        let asked = format!("ask {turn} {}", words(dice, "more and more "));
        lines.push(item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked}]}),
        ));
        if dice.roll(2) == 0 {
            lines.push(event(json!({"type": "user_message", "message": asked})));
        }
        lines.push(item(
            json!({"type": "reasoning", "summary": [{"type": "summary_text", "text": words(dice, "hm \n")}]}),
        ));
        let call = format!("call_{turn}");
        lines.push(item(json!({"type": "function_call", "name": "shell", "call_id": call,
            "arguments": json!({"command": ["bash", words(dice, "echo \"x\" ")]}).to_string()})));
        let output = match dice.roll(4) {
            0 => format!("Exit code: {}\nWall time: 1\nOutput:\n{}", dice.roll(2), words(dice, "line\n")),
            1 => json!({"output": words(dice, "a b "), "metadata": {"exit_code": dice.roll(2)}}).to_string(),
            2 => format!("{}\nExit code: 1\n", words(dice, "first ")),
            _ => format!("  {}\n ", words(dice, "é \u{1F600} ]")),
        };
        lines.push(item(json!({"type": "function_call_output", "call_id": call, "output": output})));
        let said = words(dice, "said. ");
        lines.push(item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": said}]})));
        lines.push(event(json!({"type": "agent_message", "message": said})));
        match dice.roll(9) {
            0 => lines.push(event(json!({"type": "thread_rolled_back", "num_turns": 1 + dice.roll(2)}))),
            1 => lines.push(json!({"type": "compacted", "payload": {"message": words(dice, "in short ")}})),
            _ => lines.push(event(json!({"type": "task_complete", "turn_id": format!("turn-{turn}")}))),
        }
    }
    let mut bytes = Vec::new();
    for (second, line) in lines.iter_mut().enumerate() {
        line["timestamp"] = json!(format!("2026-01-01T00:{:02}:{:02}.000Z", second / 60 % 60, second % 60));
        bytes.extend_from_slice(format!("{line}\n").as_bytes());
    }
    bytes
}

/// What a reader looks for may stand just where a text is cut.
#[test]
fn the_exit_code_of_a_command_is_found_wherever_it_stands() {
    for before in 0..130 {
        let output = format!("{}\nExit code: 17\n{}", "x".repeat(before), "more and more ".repeat(40));
        let lines = [
            json!({"type": "session_meta", "payload": {"id": "t", "cwd": "/w"}}),
            json!({"type": "response_item", "payload": {"type": "function_call", "name": "shell", "call_id": "c", "arguments": "{}"}}),
            json!({"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": output}}),
        ];
        check_bytes(lines.map(|line| format!("{line}\n")).concat().as_bytes());
    }
}

/// Each of these would be read otherwise if its rest were not looked at.
#[test]
fn texts_that_must_stay_whole() {
    let long = "x ".repeat(400);
    let texts = [
        format!(r#"[Request interrupted by user {long}]\n"#),
        format!("<bash-stdout>{long}</bash-stdout>{long}"),
        format!(r#"{long}\n\n  \t"#),
        format!(r#"  \n{long}"#),
        " ".repeat(900),
        format!(r#"{}\ud83d\ude00{long}"#, "y".repeat(91)),
        format!(r#"{}é{long}"#, "y".repeat(95)),
        format!(r#"{long}\ud83d"#),
        format!(r#"{long}\q{long}"#),
        format!("{long}\u{f8ff}{long}"),
        // What looks like a mark.
        format!("{long}\u{f8ff}{}\u{f8ff}{long}", "0123456789abcdef".repeat(2)),
        format!("{long}\u{f8ff}{}\u{f8ff}{long}", "0123456789abcdef".repeat(3)),
        format!(r#"\uf8ff{}\uF8FF"#, "0123456789abcdef".repeat(3)),
        format!("{long}\u{a0}"),
        format!(r#"{long}\u00a0"#),
        format!(r#"{long}\\n"#),
        format!("{long}\ttab"),
    ];
    for text in texts {
        let line = |id: &str, text: &str| {
            format!(
                r#"{{"parentUuid":null,"type":"user","message":{{"role":"user","content":"{text}"}},"uuid":"{id}","timestamp":"2026-01-01T00:00:00Z","isVisibleInTranscriptOnly":true,"{text}":1}}"#
            )
        };
        let file = format!("{}\n{}\n{}", line("a", "short"), line("b", &text), line("c", "last"));
        check_bytes(file.as_bytes());
        check_bytes(file.replace(r#","isVisibleInTranscriptOnly":true"#, "").as_bytes());
        let torn = file.len() - 30;
        check_bytes(&file.as_bytes()[..torn]);
    }
    check_bytes(
        &[
            br#"{"parentUuid":null,"type":"user","uuid":"a","message":{"content":""#.as_slice(),
            &[0xff; 600],
            br#""}}"#,
        ]
        .concat(),
    );
}

/// The lines of sub-agents are counted on behind those of the session.
#[test]
fn sub_agents_beside_a_session_are_read_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let words = "many words ".repeat(60);
    let line = |id: &str, parent: Option<&str>, agent: Option<&str>, content: Value| {
        let role = if id.starts_with('a') { "assistant" } else { "user" };
        let line = json!({"parentUuid": parent, "isSidechain": agent.is_some(), "agentId": agent, "type": role,
            "message": {"id": format!("m-{id}"), "role": role, "content": content}, "uuid": id, "sessionId": "s",
            "timestamp": "2026-01-01T00:00:00.000Z"});
        format!("{line}\n")
    };
    let call = json!([{"type": "tool_use", "id": "c1", "name": "Agent", "input": {"prompt": format!("task {words}")}}]);
    let session = line("u1", None, None, json!(format!("ask {words}"))) + &line("a1", Some("u1"), None, call);
    let agent = |id: &str| {
        line(&format!("u{id}"), None, Some(id), json!(format!("task {words}")))
            + &line(
                &format!("a{id}"),
                Some(&format!("u{id}")),
                Some(id),
                json!([{"type": "text", "text": format!("{id} {words}")}]),
            )
    };
    let path = folder.path().join("session.jsonl");
    std::fs::write(&path, &session).unwrap();
    let meta = br#"{"toolUseId":"c1"}"#.to_vec();
    let beside: Vec<(AgentBeside, String)> = ["x7", "y8"]
        .into_iter()
        .map(|id| {
            let path = folder.path().join(format!("agent-{id}.jsonl"));
            std::fs::write(&path, agent(id)).unwrap();
            (AgentBeside { path, meta: (id == "x7").then(|| meta.clone()) }, agent(id))
        })
        .collect();
    let files: Vec<AgentFile<'_>> = beside
        .iter()
        .zip(["agent-x7.jsonl", "agent-y8.jsonl"])
        .map(|((file, bytes), name)| AgentFile { name, bytes: bytes.as_bytes(), meta: file.meta.as_deref() })
        .collect();
    let name = path.to_string_lossy();
    let (tree, _) = SessionTree::replay(read_with_agents(Some(&name), &session, &files).records);
    let paths: Vec<AgentBeside> = beside.iter().map(|(file, _)| file.clone()).collect();
    let light = LightSession::open_with(&path, &path, &paths).unwrap();
    assert_eq!(light.tree().header(), tree.header());
    let ids: Vec<_> = tree.entries().map(|entry| entry.id.clone()).collect();
    assert_eq!(ids.len(), 8, "two in the session, and a note and two lines for each sub-agent: {ids:?}");
    let whole: Vec<_> = tree.entries().cloned().collect();
    assert_eq!(light.entries(&ids).unwrap(), whole);
    let light_entries: Vec<_> = light.tree().entries().cloned().collect();
    assert_ne!(light_entries, whole, "something was left out");
}

#[test]
fn a_file_that_changes_under_its_reader_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let bytes = claude_file(&mut Dice::seeded(9), 60, false);
    std::fs::write(&path, &bytes).unwrap();
    let light = LightSession::open(&path).unwrap();
    let last = light.tree().entries().last().unwrap().id.clone();
    std::fs::write(&path, [bytes.as_slice(), b"{\"type\":\"mode\"}\n"].concat()).unwrap();
    assert!(light.entry(&last).is_ok(), "a file that grew has all it had");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(bytes.len() as u64 / 2).unwrap();
    assert!(matches!(light.entry(&last), Err(LightError::Changed { .. })));
}

#[test]
fn real_files_have_their_shape() {
    let files = real_files_of("real_files_have_their_shape", &["claude", "codex"]);
    let left_out: usize = files.iter().map(|path| check(path)).sum();
    assert!(files.is_empty() || left_out > 0);
}
