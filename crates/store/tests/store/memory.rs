//! Memory grows with how many lines there are, by a stated amount for each, and not with what they say.
//!
//! Each reader runs in a process of its own, which is this test again, and tells the most it ever had.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::Command;

use offshoot_store::ending::{Last, ending};
use offshoot_store::lazy::{Format, UseIndex};
use offshoot_store::recent::recent_messages;
use offshoot_store::{LazySession, LightSession};
use offshoot_testkit::deadline::BoundedCommand;
use offshoot_transcripts::gist::{Follow, lines_of};
use serde_json::{Value, json};

const LINES: usize = 600;
/// What a line says, in bytes; far more than what any reader may keep of it.
const SAID: usize = 16 << 10;

/// Told to the process of its own: how to read, and what.
const READS: &str = "OFFSHOOT_TEST_READS";
const FILE: &str = "OFFSHOOT_TEST_FILE";

fn write_file(path: &Path, lines: usize, line: fn(usize) -> Value) {
    let mut out = BufWriter::new(File::create(path).unwrap());
    for number in 0..lines {
        writeln!(out, "{}", line(number)).unwrap();
    }
    out.flush().unwrap();
}

fn words(number: usize) -> String {
    format!("{number} {}", "some words\nand \"more\" ".repeat(SAID / 21))
}

fn line_of_claude(number: usize) -> Value {
    let content = match number % 3 {
        0 => json!(format!("question {number}")),
        1 => {
            json!([{"type": "tool_use", "id": format!("call-{number}"), "name": "Write", "input": {"content": words(number)}}])
        }
        _ => {
            json!([{"type": "tool_result", "tool_use_id": format!("call-{}", number - 1), "content": words(number)}])
        }
    };
    let role = if number % 3 == 1 { "assistant" } else { "user" };
    json!({
        "parentUuid": number.checked_sub(1).map(|above| format!("entry-{above}")), "isSidechain": false,
        "sessionId": "s", "type": role, "message": {"id": format!("m-{number}"), "role": role, "content": content},
        "uuid": format!("entry-{number}"), "timestamp": "2026-01-01T00:00:00.000Z",
    })
}

fn line_of_codex(number: usize) -> Value {
    let call = format!("call-{}", number / 3);
    let payload = match number % 3 {
        _ if number == 0 => {
            return json!({"timestamp": "2026-01-01T00:00:00Z", "type": "session_meta", "payload": {"id": "t", "cwd": "/w"}});
        }
        0 => {
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": format!("question {number}")}]})
        }
        1 => json!({"type": "function_call", "name": "shell", "call_id": call, "arguments": "{}"}),
        _ => json!({"type": "function_call_output", "call_id": call, "output": words(number)}),
    };
    json!({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload})
}

/// The same with ids as the program makes them, which is what skimming rests on.
fn line_of_claude_with_uuids(number: usize) -> Value {
    let id = |number: usize| format!("{number:08x}-0000-4000-8000-{number:012x}");
    let mut line = line_of_claude(number);
    line["parentUuid"] = number.checked_sub(1).map(|above| id(above + 1)).into();
    line["uuid"] = id(number + 1).into();
    line["cwd"] = "/w".into();
    line
}

fn line_of_pi(number: usize) -> Value {
    if number == 0 {
        return json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"});
    }
    let message = match number % 3 {
        1 => json!({"role": "user", "content": format!("question {number}")}),
        2 => {
            json!({"role": "assistant", "content": [{"type": "toolCall", "id": format!("call-{number}"), "name": "write", "arguments": {"content": words(number)}}]})
        }
        _ => {
            json!({"role": "toolResult", "toolCallId": format!("call-{}", number - 1), "toolName": "write", "content": [{"type": "text", "text": words(number)}]})
        }
    };
    json!({
        "type": "message", "id": format!("entry-{number}"),
        "parentId": (number > 1).then(|| format!("entry-{}", number - 1)),
        "timestamp": "2026-01-01T00:00:00.000Z", "message": message,
    })
}

fn line_of_a_branch(number: usize) -> Value {
    let time = "2026-01-01T00:00:00Z";
    match number {
        0 => json!({"type": "session", "id": "s", "timestamp": time, "parent_id": null, "model": "m"}),
        _ => {
            let role = if number % 2 == 1 { "user" } else { "assistant" };
            json!({"type": "message", "role": role, "content": words(number), "timestamp": time})
        }
    }
}

/// In the process of its own this reads; elsewhere there is nothing to do.
#[test]
fn reads_in_a_process_of_its_own() {
    let (Some(how), Some(file)) = (std::env::var_os(READS), std::env::var_os(FILE)) else { return };
    let path = Path::new(&file);
    let found = match how.to_str() {
        Some("shape") => LightSession::open(path).unwrap().tree().len(),
        Some("last") => LightSession::open(path).unwrap().last_messages(None, 5).unwrap().len(),
        Some("recent") => recent_messages(path, 5).unwrap().messages.len(),
        Some("ending") => ending(path, path, Last::Entries(5)).unwrap().unwrap().tree.len(),
        Some("lazy") => {
            let session = LazySession::of_file(path, Format::Pi, None, UseIndex::No).unwrap();
            session.unwrap().last_messages(None, 5).unwrap().len()
        }
        Some("gist") => gist_of(path),
        _ => panic!("no way to read: {how:?}"),
    };
    assert!(found > 0);
    println!("peak {} kilobytes", peak_kilobytes().unwrap());
}

/// The way of the catalog: one line after the other, and what was said is taken away.
fn gist_of(path: &Path) -> usize {
    let mut file = BufReader::new(File::open(path).unwrap());
    let (mut line, mut offset, mut said) = (Vec::new(), 0, Vec::new());
    let mut follow: Option<Follow> = None;
    while file.read_until(b'\n', &mut line).unwrap() > 0 {
        let follow = follow
            .get_or_insert_with(|| Follow::begin(lines_of(Some("session.jsonl"), &line).unwrap(), None));
        follow.take(line.trim_ascii_end(), offset, &mut said).unwrap();
        offset += line.len() as u64;
        line.clear();
        said.clear();
    }
    follow.unwrap().gist(Some("session.jsonl")).unwrap().entries as usize
}

fn peak_kilobytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn peak_of(how: &str, file: &Path) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::reads_in_a_process_of_its_own", "--nocapture", "--test-threads=1"])
        .envs([(READS, how.as_ref()), (FILE, file.as_os_str())])
        .bounded_output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let number = told.split("peak ").nth(1).and_then(|behind| behind.split(' ').next());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| {
        panic!("{how} of `{}`: {told}{}", file.display(), String::from_utf8_lossy(&output.stderr))
    })
}

/// `most`: bytes for each further line.
#[expect(
    clippy::print_stdout,
    reason = "a test that cannot run says so by name, and one that runs what it found"
)]
fn check(test: &str, how: &str, line: fn(usize) -> Value, most: u64) {
    if peak_kilobytes().is_none() {
        println!("skipped: {test} (the system does not tell how much memory a process had)");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let peaks = [LINES, 4 * LINES].map(|lines| {
        let path = folder.path().join(format!("{lines}.jsonl"));
        write_file(&path, lines, line);
        peak_of(how, &path)
    });
    let [few, many] = peaks;
    let each = many.saturating_sub(few) * 1024 / (3 * LINES as u64);
    println!("{how}: {few} and {many} kilobytes, {each} bytes for a line");
    assert!(each < most, "{how}: {few} and {many} kilobytes, {each} bytes for a line");
}

#[test]
fn the_shape_of_a_file_of_claude_code() {
    check("the_shape_of_a_file_of_claude_code", "shape", line_of_claude, 4 << 10);
}

#[test]
fn the_shape_of_a_rollout() {
    check("the_shape_of_a_rollout", "shape", line_of_codex, 4 << 10);
}

#[test]
fn the_last_messages_of_a_shape() {
    check("the_last_messages_of_a_shape", "last", line_of_claude, 4 << 10);
}

#[test]
fn the_last_messages_from_the_end() {
    check("the_last_messages_from_the_end", "recent", line_of_claude, 512);
}

#[test]
fn the_gist_of_a_file_of_claude_code() {
    check("the_gist_of_a_file_of_claude_code", "gist", line_of_claude, 512);
}

#[test]
fn the_last_turns_of_a_skimmed_file() {
    check("the_last_turns_of_a_skimmed_file", "ending", line_of_claude_with_uuids, 512);
}

#[test]
fn the_last_messages_of_a_file_of_pi() {
    check("the_last_messages_of_a_file_of_pi", "lazy", line_of_pi, 512);
}

#[test]
fn the_gist_of_a_file_of_pi() {
    check("the_gist_of_a_file_of_pi", "gist", line_of_pi, 512);
}

#[test]
fn the_gist_of_a_rollout() {
    check("the_gist_of_a_rollout", "gist", line_of_codex, 512);
}

#[test]
fn the_gist_of_a_branch() {
    check("the_gist_of_a_branch", "gist", line_of_a_branch, 512);
}
