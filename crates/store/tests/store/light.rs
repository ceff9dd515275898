//! A file that is read for its shape has the tree of the file, and every entry when it is asked for.

use std::path::{Path, PathBuf};

use offshoot_session::SessionTree;
use offshoot_store::LightSession;
use offshoot_store::light::LightError;
use serde_json::{Value, json};

use crate::support::claude_files::claude_file;
use crate::support::{Dice, rounds};

/// How many bytes of texts were left out of the tree.
fn check(path: &Path) -> usize {
    let bytes = std::fs::read(path).unwrap();
    let name = path.file_name().map(|name| name.to_string_lossy());
    let whole = match offshoot_transcripts::read(name.as_deref(), &bytes) {
        Ok(whole) => whole,
        Err(reason) => {
            let light = LightSession::open(path).unwrap_err();
            assert!(matches!(light, LightError::Unreadable { source, .. } if source == reason));
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
fn real_files() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let folders =
        ["fixtures/claude", "fixtures/codex", "fixtures/generated/claude", "fixtures/generated/codex"];
    let mut open: Vec<PathBuf> =
        folders.iter().map(|folder| shared.join(folder)).filter(|folder| folder.is_dir()).collect();
    if open.is_empty() {
        println!("skipped: light::real_files (set OFFSHOOT_SHARED to a folder with `fixtures`)");
        return;
    }
    let (mut files, mut left_out) = (0, 0);
    while let Some(folder) = open.pop() {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                files += 1;
                left_out += check(&path);
            }
        }
    }
    assert!(files > 0 && left_out > 0);
}
