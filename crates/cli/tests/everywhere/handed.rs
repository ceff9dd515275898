//! A session of every program as a file for each other one, and what is told of the way there.

use std::path::{Path, PathBuf};
use std::process::Output;

use offshoot_testkit::deadline::BoundedCommand;
use offshoot_transcripts::{FileRole, classify};
use serde_json::{Value, json};

use crate::person::Person;

const TARGETS: [(&str, &str); 3] = [("claude", "Bash"), ("codex", "exec_command"), ("pi", "bash")];

/// A program, the name of its file and of its shell, and a session in which the shell and a tool of nobody were called.
struct Story {
    program: &'static str,
    file: &'static str,
    shell: &'static str,
    text: String,
}

fn lines(lines: &[Value]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn stories() -> Vec<Story> {
    let claude = |uuid: &str, parent: Option<&str>, kind: &str, content: Value| {
        json!({
            "parentUuid": parent, "isSidechain": false, "type": kind, "uuid": uuid, "cwd": "/w", "sessionId": "0f5c0000-0000-4000-8000-000000000001",
            "timestamp": "2025-03-04T09:00:01.000Z", "message": {"role": kind, "content": content, "id": uuid, "model": "claude-opus-4"},
        })
    };
    let codex = |kind: &str, payload: Value| json!({"timestamp":"2025-03-04T05:00:00.000Z","type":kind,"payload":payload});
    let pi = |id: &str, parent: Option<&str>, message: Value| json!({"type":"message","id":id,"parentId":parent,"timestamp":"2025-03-04T12:00:01.000Z","message":message});
    let pi_lines = || {
        [
            json!({"type":"session","version":3,"id":"6f2a91c0-0000-7000-8000-000000000001","timestamp":"2025-03-04T12:00:00.000Z","cwd":"/w"}),
            pi("u1", None, json!({"role":"user","content":"What is there?"})),
            pi(
                "a1",
                Some("u1"),
                json!({"role":"assistant","model":"m","content":[{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"make all"}},{"type":"toolCall","id":"c2","name":"deploy","arguments":{"to":"moon"}}]}),
            ),
            pi(
                "r1",
                Some("a1"),
                json!({"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{"type":"text","text":"quokka.txt"}]}),
            ),
            pi(
                "r2",
                Some("r1"),
                json!({"role":"toolResult","toolCallId":"c2","toolName":"deploy","content":[{"type":"text","text":"landed"}]}),
            ),
            pi(
                "a2",
                Some("r2"),
                json!({"role":"assistant","model":"m","content":[{"type":"text","text":"A quokka."}]}),
            ),
        ]
    };
    vec![
        Story {
            program: "claude",
            file: "0f5c0000-0000-4000-8000-000000000001.jsonl",
            shell: "Bash",
            text: lines(&[
                claude("u1", None, "user", json!("What is there?")),
                claude("a1", Some("u1"), "assistant", json!([{"type":"tool_use","id":"c1","name":"Bash","input":{"command":"make all"}}])),
                claude("r1", Some("a1"), "user", json!([{"type":"tool_result","tool_use_id":"c1","content":"quokka.txt"}])),
                claude("a2", Some("r1"), "assistant", json!([{"type":"tool_use","id":"c2","name":"deploy","input":{"to":"moon"}}])),
                claude("r2", Some("a2"), "user", json!([{"type":"tool_result","tool_use_id":"c2","content":"landed"}])),
                claude("a3", Some("r2"), "assistant", json!([{"type":"text","text":"A quokka."}])),
            ]),
        },
        Story {
            program: "codex",
            file: "rollout-2025-03-04T05-00-00-01a1e09c-0000-7000-8000-000000000001.jsonl",
            shell: "exec_command",
            text: lines(&[
                codex("session_meta", json!({"id":"01a1e09c-0000-7000-8000-000000000001","timestamp":"2025-03-04T05:00:00.000Z","cwd":"/w"})),
                codex("response_item", json!({"type":"message","role":"user","content":[{"type":"input_text","text":"What is there?"}]})),
                codex("response_item", json!({"type":"function_call","name":"exec_command","call_id":"c1","arguments":"{\"cmd\":\"make all\"}"})),
                codex("response_item", json!({"type":"function_call_output","call_id":"c1","output":"quokka.txt"})),
                codex("response_item", json!({"type":"function_call","name":"deploy","call_id":"c2","arguments":"{\"to\":\"moon\"}"})),
                codex("response_item", json!({"type":"function_call_output","call_id":"c2","output":"landed"})),
                codex("response_item", json!({"type":"message","role":"assistant","content":[{"type":"output_text","text":"A quokka."}]})),
            ]),
        },
        Story {
            program: "gemini",
            file: "session-2025-03-04.json",
            shell: "run_shell_command",
            text: json!({"sessionId":"g1","projectHash":"p","startTime":"2025-03-04T05:00:00.000Z","lastUpdated":"2025-03-04T05:00:00.000Z","messages":[
                {"id":"u1","timestamp":"2025-03-04T05:00:01.000Z","type":"user","content":"What is there?"},
                {"id":"a1","timestamp":"2025-03-04T05:00:02.000Z","type":"gemini","content":"","toolCalls":[
                    {"id":"c1","name":"run_shell_command","args":{"command":"make all"},"status":"success","result":[{"functionResponse":{"id":"c1","name":"run_shell_command","response":{"output":"quokka.txt"}}}]},
                    {"id":"c2","name":"deploy","args":{"to":"moon"},"status":"success","result":[{"functionResponse":{"id":"c2","name":"deploy","response":{"output":"landed"}}}]}]},
                {"id":"a2","timestamp":"2025-03-04T05:00:03.000Z","type":"gemini","content":"A quokka."}]})
            .to_string(),
        },
        Story {
            program: "opencode",
            file: "export.json",
            shell: "bash",
            text: json!({"info":{"id":"ses_1","projectID":"p","directory":"/w","title":"About it","time":{"created":1_741_000_000_000_i64,"updated":1_741_000_000_000_i64}},"messages":[
                {"info":{"id":"m1","sessionID":"ses_1","role":"user","time":{"created":1_741_000_000_000_i64}},"parts":[{"id":"q1","type":"text","text":"What is there?"}]},
                {"info":{"id":"m2","sessionID":"ses_1","role":"assistant","parentID":"m1","time":{"created":1_741_000_001_000_i64}},"parts":[
                    {"id":"q2","type":"tool","tool":"bash","callID":"c1","state":{"status":"completed","input":{"command":"make all"},"output":"quokka.txt"}},
                    {"id":"q3","type":"tool","tool":"deploy","callID":"c2","state":{"status":"completed","input":{"to":"moon"},"output":"landed"}}]},
                {"info":{"id":"m3","sessionID":"ses_1","role":"assistant","parentID":"m1","time":{"created":1_741_000_002_000_i64}},"parts":[{"id":"q4","type":"text","text":"A quokka."}]}]})
            .to_string(),
        },
        Story { program: "pi", file: "pi.jsonl", shell: "bash", text: lines(&pi_lines()) },
        Story {
            program: "omp",
            file: "omp.jsonl",
            shell: "bash",
            text: lines(&[json!({"type":"title","v":1,"title":"Things","pad":"   "})]) + &lines(&pi_lines()),
        },
    ]
}

fn exported(person: &Person, file: &Path, target: &str, to: &Path) -> (Output, Value) {
    let mut command = person.command_at(crate::NOW);
    command.arg("export").arg(file).args(["--to", target, "--json", "--force", "-o"]).arg(to);
    let output = command.bounded_output().expect("the program starts");
    let report = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, report)
}

fn shown(person: &Person, file: &Path) -> String {
    let output = person.command_at(crate::NOW).arg("show").arg(file).bounded_output();
    String::from_utf8(output.expect("the program starts").stdout).expect("text")
}

fn is_family(program: &str, target: &str) -> bool {
    program == target || (program == "omp" && target == "pi")
}

#[test]
fn a_session_of_every_program_goes_on_in_every_other() {
    let person = Person::alone();
    for Story { program, file, shell, text } in stories() {
        let from = person.user(file);
        std::fs::write(&from, text).expect("own file");
        for (target, its_shell) in TARGETS {
            let what = format!("{program} to {target}");
            let to = person.user(&format!("to-{target}.jsonl"));
            let (output, report) = exported(&person, &from, target, &to);
            assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
            let handed = std::fs::read_to_string(&to).expect("a file");
            for words in ["What is there?", "quokka.txt", "landed", "A quokka."] {
                assert!(handed.contains(words), "{what}: `{words}` in {handed}");
            }
            if is_family(program, target) && target == "pi" {
                assert_eq!(report, json!({ "file": to }), "{what}: every branch, as it was");
                continue;
            }
            assert_eq!(report["prompts"], 1, "{what}: {report}");
            let fate = |tool: &str| {
                let tools = report["tools"].as_array().cloned().unwrap_or_default();
                tools.into_iter().find(|told| told["tool"] == tool).unwrap_or_default()
            };
            if is_family(program, target) {
                assert_eq!(fate(shell)["fate"], "kept", "{what}: {report}");
                continue;
            }
            match shell == its_shell {
                true => assert_eq!(fate(shell)["fate"], "kept", "{what}: {report}"),
                false => {
                    let told = fate(shell);
                    assert_eq!(
                        (&told["fate"], &told["into"]),
                        (&json!("translated"), &json!(its_shell)),
                        "{what}"
                    );
                }
            }
            assert_eq!(fate("deploy")["fate"], "summarised", "{what}: {report}");
            assert_eq!(fate("deploy")["calls"], 1, "{what}");
            // and a person is told the same
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(told.contains("deploy"), "{what}: {told}");
            assert!(handed.contains(&format!("\"{its_shell}\"")), "{what}: {handed}");
            assert!(shown(&person, &to).contains("A quokka."), "{what}");
        }
    }
}

#[test]
fn who_names_no_branch_is_told_of_the_others() {
    let person = Person::alone();
    let Some(story) = stories().into_iter().find(|story| story.program == "claude") else { return };
    let other = json!({
        "parentUuid": null, "isSidechain": false, "type": "user", "uuid": "u9", "cwd": "/w", "sessionId": "0f5c0000-0000-4000-8000-000000000001",
        "timestamp": "2025-03-04T09:10:01.000Z", "message": {"role": "user", "content": "Where is it?"},
    });
    let file = person.user(story.file);
    std::fs::write(&file, format!("{}{other}\n", story.text)).expect("own file");
    for (target, _) in TARGETS {
        let (output, _) = exported(&person, &file, target, &person.user("out.jsonl"));
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("1 other branch"), "{target}: {told}");
    }
}

#[test]
fn sessions_of_real_programs_are_handed_over_with_a_report() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let fixtures = shared.join("fixtures");
    if !fixtures.is_dir() {
        println!(
            "skipped: sessions_of_real_programs_are_handed_over_with_a_report (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    }
    let person = Person::alone();
    let mut handed: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    let mut open = vec![fixtures];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            let mut items: Vec<PathBuf> = std::fs::read_dir(&path)
                .expect("a folder")
                .map(|item| item.expect("an item").path())
                .collect();
            items.sort();
            open.extend(items);
            continue;
        }
        let bytes = std::fs::read(&path).expect("a file");
        let FileRole::Session(dialect) = classify(&path.to_string_lossy(), &bytes) else { continue };
        let count = handed.entry(dialect.name()).or_default();
        if *count >= 3 || bytes.len() > 1 << 20 {
            continue; // some of each are enough, and long ones take long
        }
        for (target, _) in TARGETS {
            let to = person.user("handed.jsonl");
            let (output, report) = exported(&person, &path, target, &to);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            if told.contains("nothing has been said") {
                continue;
            }
            assert!(output.status.success(), "{} to {target}: {told}", path.display());
            let goes_whole = target == "pi" && report["tools"].is_null();
            let is_told =
                report["prompts"].is_u64() && report["tools"].is_array() && report["left_out"].is_array();
            assert!(is_told || goes_whole, "{} to {target}: {report}", path.display());
            let length = std::fs::metadata(&to).expect("a file").len();
            // what a program says to warm up is no conversation
            assert!(length > 0 || report["prompts"] == 0, "{} to {target}: {report}", path.display());
            *count += usize::from(target == "pi");
        }
    }
    for agent in ["claude code", "codex", "gemini", "opencode", "pi v3"] {
        assert!(handed.iter().any(|(name, count)| name.contains(agent) && *count > 0), "{agent}: {handed:?}");
    }
}
