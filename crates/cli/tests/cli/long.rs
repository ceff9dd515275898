//! A long session is read in parts. What is printed is the same as if it were read whole.

use std::fs;

use serde_json::{Value, json};

use crate::support::Folder;
use crate::talking::{Talk, run};

/// Longer than what is read whole anyway, with branches, a label, a name, and a person who speaks between a call and
/// its result. `titled`: the session has a title of its own.
fn long_talk(titled: bool) -> Folder {
    let folder = Folder::new();
    folder.run(if titled { "new Long" } else { "new" });
    let filler = "lorem ipsum ".repeat(1_000);
    let mut lines = String::new();
    for n in 1..=90 {
        for line in [
            serde_json::json!({"role": "user", "text": format!("question {n}")}),
            serde_json::json!({"role": "assistant", "text": "", "stop": "tool_use",
                "tool_calls": [{"id": format!("call-{n}"), "name": "read", "input": {"path": format!("src/{n}.rs")}}]}),
            serde_json::json!({"role": "user", "text": format!("wait, {n}")}),
            serde_json::json!({"role": "tool_result", "call": format!("call-{n}"), "tool": "read",
                "text": format!("{n} {filler} {filler} {filler}")}),
            serde_json::json!({"role": "assistant", "text": format!("answer {n} {filler}")}),
        ] {
            lines.push_str(&format!("{line}\n"));
        }
    }
    let told = folder.run_with("append --batch", &lines);
    assert!(!told.contains("error:"), "{told}");
    for step in [
        "label 3 early",
        "edit 120 Another_question",
        "branch name 120 other",
        "switch 60",
        "edit 50 Elsewhere",
    ] {
        folder.run(step);
    }
    let told = folder.run_with("append", "{\"role\":\"assistant\",\"text\":\"From here.\"}");
    assert!(!told.contains("error:"), "{told}");
    let length = fs::metadata(folder.journals().remove(0)).expect("a journal").len();
    assert!(length > 4 << 20, "{length}");
    folder
}

const LOOKS: [&str; 16] = [
    "show --last 3",
    "show --last 3 --width 90",
    "show --last 1 --quiet",
    "show --last 4 --json",
    "show --last 200 --json=lines",
    "show --at 2",
    "show --at #7 --width 80",
    "show --at early",
    "show --at other --json --last 3",
    "show --at other",
    "show --at m:9",
    "show --at 900",
    "show --at nowhere",
    "show --context --last 2",
    "show --context --json --at 3",
    "tree --width 100",
];

#[test]
fn a_part_looks_as_it_does_in_the_whole() {
    for titled in [true, false] {
        let folder = long_talk(titled);
        let journal = folder.journals().remove(0);
        let in_parts: Vec<String> = LOOKS.iter().map(|look| folder.run(look)).collect();
        assert!(journal.with_extension("idx").exists(), "the shape is kept for the next look");
        let with_index: Vec<String> = LOOKS.iter().map(|look| folder.run(look)).collect();
        assert_eq!(in_parts, with_index);

        // An unfinished line at the end calls for the whole reading.
        let mut bytes = fs::read(&journal).expect("a journal");
        bytes.extend_from_slice(b"{\"k\":\"entry\",\"id\":\"unfini");
        fs::write(&journal, bytes).expect("a journal");
        for (look, in_parts) in LOOKS.iter().zip(in_parts) {
            let whole: String = folder
                .run(look)
                .lines()
                .filter(|line| !line.contains("unfinished"))
                .map(|line| format!("{line}\n"))
                .collect();
            assert_eq!(whole, in_parts, "{look}");
        }
    }
}

/// The parts of a long session have what its replies cost.
#[test]
fn a_turn_of_a_part_costs_what_it_costs_in_the_whole() {
    let folder = Folder::new();
    folder.write("long.jsonl", usual_file_of_claude().as_bytes());
    folder.run("import long.jsonl");
    let journal = folder.journals().remove(0);
    let looks = ["show --last 3", "show --at 2", "show --at 60"];
    let in_parts = looks.map(|look| folder.run(look));
    in_parts.iter().for_each(|part| assert!(part.contains("  $0."), "{part}"));

    // An unfinished line at the end calls for the whole reading.
    let mut bytes = fs::read(&journal).expect("a journal");
    bytes.extend_from_slice(b"{\"k\":\"entry\",\"id\":\"unfini");
    fs::write(&journal, bytes).expect("a journal");
    for (look, part) in looks.iter().zip(in_parts) {
        assert!(folder.run(look).starts_with(&part), "{look}");
    }
}

/// Also where the crash came before any word of the answer was kept.
#[test]
fn what_a_crash_has_cut_off_is_seen_in_a_part_too() {
    let folder = long_talk(true);
    let journal = folder.journals().remove(0);
    let mut chat = Talk::begin(&folder, &["chat", "Long"]);
    chat.say("run sleep 100");
    chat.until("sleep 100");
    chat.kill_with_engine(&folder);
    let drafts = journal.with_extension("drafts");
    for has_words in [true, false] {
        if !has_words && drafts.exists() {
            fs::remove_file(&drafts).expect("the drafts");
        }
        let (shown, _) = run(&folder, &["show", "Long", "--last", "1"]);
        assert!(shown.contains("‖ Offshoot stopped during this answer"), "{has_words}: {shown}");
        let (tree, _) = run(&folder, &["tree", "Long"]);
        assert!(tree.contains("‖ interrupted, Offshoot stopped"), "{has_words}: {tree}");
    }
    let before = fs::metadata(&journal).expect("a journal").len();
    assert_eq!(run(&folder, &["send", "Long", "and on"]).1, Some(0));
    let (tree, _) = run(&folder, &["tree", "Long"]);
    assert!(tree.contains("‖ interrupted, Offshoot stopped"), "{tree}");
    assert!(fs::metadata(&journal).expect("a journal").len() > before);
}

/// A line of Claude Code.
fn of_claude(id: &str, parent: Option<&str>, role: &str, content: &Value, more: &Value) -> String {
    let message = match role {
        "user" => json!({"role": role, "content": content}),
        _ => json!({"id": format!("m-{id}"), "role": role, "model": "claude-sonnet-4-5", "content": content,
            "usage": {"input_tokens": 20_000, "output_tokens": 1_000}}),
    };
    let mut line = json!({
        "parentUuid": parent, "isSidechain": false, "cwd": "/home/dev/gatehouse", "sessionId": "s-long",
        "type": role, "message": message, "uuid": id, "timestamp": "2026-03-04T14:00:00.000Z",
    });
    if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
        line.extend(more.clone());
    }
    format!("{line}\n")
}

/// More than is read whole anyway: long prompts, calls with long arguments, a rewind now and then, a person who speaks
/// between a call and its result, commands of the person, sub-agents, and an unfinished line at the end.
fn long_file_of_claude(titled: bool) -> String {
    let filler = "lorem ipsum\ndolor \"sit\"\t".repeat(250);
    let (mut file, mut tip) = (String::new(), None::<String>);
    let plain = json!({});
    for n in 1..=90 {
        let mut say = |id: String, parent: Option<&str>, role: &str, content: Value, more: &Value| {
            file.push_str(&of_claude(&id, parent, role, &content, more));
            id
        };
        let asked = format!("question {n}    {}", "and  more \n".repeat(n % 40));
        let prompt = say(format!("u{n:04}"), tip.as_deref(), "user", json!(asked), &plain);
        let input = json!({"command": format!("echo {n} {filler}"), "path": format!("src/{n}.rs")});
        let call = json!([{"type": "thinking", "thinking": filler.clone(), "signature": ""},
            {"type": "tool_use", "id": format!("call-{n}"), "name": if n % 2 == 0 { "Bash" } else { "Read" }, "input": input}]);
        let called = say(format!("c{n:04}"), Some(&prompt), "assistant", call, &plain);
        let between = match n % 5 {
            0 => say(format!("w{n:04}"), Some(&called), "user", json!(format!("wait, {n}")), &plain),
            _ => called,
        };
        let result = json!([{"type": "tool_result", "tool_use_id": format!("call-{n}"), "content": format!("{n} {filler}{filler}")}]);
        let answered = say(format!("t{n:04}"), Some(&between), "user", result, &plain);
        if n % 30 == 0 {
            let beside = json!({"isSidechain": true, "agentId": format!("ag{n}")});
            let task = say(format!("x{n:04}"), None, "user", json!(format!("task {n} {filler}")), &beside);
            say(
                format!("y{n:04}"),
                Some(&task),
                "assistant",
                json!([{"type": "text", "text": filler.clone()}]),
                &beside,
            );
        }
        let shell = format!("<bash-input>ls {n} {filler}</bash-input>");
        let shell = say(format!("b{n:04}"), Some(&answered), "user", json!(shell), &plain);
        let printed = format!("<bash-stdout>{filler}</bash-stdout><bash-stderr></bash-stderr>");
        let printed = say(format!("o{n:04}"), Some(&shell), "user", json!(printed), &plain);
        let said = json!([{"type": "text", "text": format!("answer {n} {filler}")}]);
        let last = say(format!("a{n:04}"), Some(&printed), "assistant", said, &plain);
        // Now and then the person goes back.
        tip = Some(if n % 17 == 0 { format!("a{:04}", n - 9) } else { last });
    }
    if titled {
        file.push_str(
            "{\"type\":\"custom-title\",\"customTitle\":\"A long one\",\"sessionId\":\"s-long\"}\n",
        );
    }
    file.push_str("{\"type\":\"user\",\"uuid\":\"unfini");
    file
}

fn long_file_of_codex() -> String {
    let filler = "lorem ipsum\ndolor \"sit\"\t".repeat(400);
    let mut lines =
        vec![json!({"type": "session_meta", "payload": {"id": "t-long", "cwd": "/home/dev/gatehouse"}})];
    for n in 1..=90 {
        let item = |payload: Value| json!({"type": "response_item", "payload": payload});
        let event = |payload: Value| json!({"type": "event_msg", "payload": payload});
        let asked = format!("question {n} {}", "and  more \n".repeat(n % 40));
        lines.push(event(json!({"type": "task_started", "turn_id": format!("turn-{n}")})));
        lines.push(item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": asked}]}),
        ));
        lines.push(event(json!({"type": "user_message", "message": asked})));
        lines.push(item(json!({"type": "function_call", "name": "shell", "call_id": format!("call-{n}"),
            "arguments": json!({"command": ["bash", filler.clone()]}).to_string()})));
        lines.push(item(json!({"type": "function_call_output", "call_id": format!("call-{n}"), "output": format!("{n} {filler}{filler}")})));
        lines.push(item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("answer {n} {filler}")}]})));
        lines.push(event(json!({"type": "agent_message", "message": format!("answer {n} {filler}")})));
        if n % 17 == 0 {
            lines.push(event(json!({"type": "thread_rolled_back", "num_turns": 3})));
        }
    }
    lines
        .iter_mut()
        .map(|line| {
            line["timestamp"] = json!("2026-03-04T14:00:00.000Z");
            format!("{line}\n")
        })
        .collect()
}

const LOOKS_AT_FILES: [&str; 13] = [
    "show FILE --last 3",
    "show FILE --last 4 --json",
    "show FILE --last 200 --json=lines",
    "show FILE --width 60",
    "show FILE --at 2",
    "show FILE --at m:9",
    "show FILE --at 900",
    "show FILE --at nowhere",
    "show FILE --context --last 2",
    "show FILE --context --json --at 3",
    "tree FILE",
    "inspect FILE --all",
    "inspect FILE --json",
];

/// What comes through a pipe is read whole, however long it is.
fn check_file(file: &str, looks: &[&str]) {
    assert!(file.len() > 4 << 20, "{}", file.len());
    let folder = Folder::new();
    folder.write("long.jsonl", file.as_bytes());
    for look in looks {
        let in_parts = folder.run(&look.replace("FILE", "long.jsonl"));
        let whole = folder.run_with(&look.replace("FILE", "/dev/stdin"), file);
        assert!(in_parts.len() > 20, "{look}: {in_parts}");
        assert_eq!(in_parts, whole.replace("/dev/stdin", "long.jsonl"), "{look}");
    }
}

#[test]
fn a_part_of_a_file_of_claude_code_looks_as_it_does_in_the_whole() {
    check_file(&long_file_of_claude(false), &LOOKS_AT_FILES);
    check_file(&long_file_of_claude(true), &["show FILE --last 2", "tree FILE --width 100"]);
}

/// As the program writes it: ids are UUIDs. Rewinds, settings, a compaction, prompts that hang below lines of progress,
/// and several answers in a line.
fn usual_file_of_claude() -> String {
    let uuid = |n: usize, nth: usize| format!("{n:04x}{nth:04x}-0000-4000-8000-00000000{nth:04x}");
    let filler = "lorem ipsum\ndolor \"sit\"\t".repeat(600);
    let (mut file, mut tip) = (String::new(), None::<String>);
    let plain = json!({});
    for n in 1..=120 {
        if n % 7 == 0 {
            let mode = if n % 14 == 0 { "plan" } else { "default" };
            file.push_str(&format!(
                "{{\"type\":\"permission-mode\",\"permissionMode\":\"{mode}\",\"sessionId\":\"s-long\"}}\n"
            ));
        }
        let asked = json!(format!("question {n}"));
        let (prompt, call, answer, last) = (uuid(n, 1), uuid(n, 2), uuid(n, 3), uuid(n, 4));
        file.push_str(&of_claude(&prompt, tip.as_deref(), "user", &asked, &plain));
        let called = json!([{"type": "tool_use", "id": format!("call-{n}"), "name": "Read", "input": {"path": format!("src/{n}.rs")}},
            {"type": "tool_use", "id": format!("more-{n}"), "name": "Bash", "input": {"command": "ls"}}]);
        file.push_str(&of_claude(&call, Some(&prompt), "assistant", &called, &plain));
        let result = |id: &str| json!({"tool_use_id": format!("{id}-{n}"), "type": "tool_result", "content": format!("{n} {filler}")});
        if n % 3 == 0 {
            let both = json!([result("call"), result("more")]);
            file.push_str(&of_claude(&answer, Some(&call), "user", &both, &plain));
        } else {
            let second = uuid(n, 5);
            file.push_str(&of_claude(&second, Some(&call), "user", &json!([result("call")]), &plain));
            file.push_str(&of_claude(&answer, Some(&call), "user", &json!([result("more")]), &plain));
        }
        let said = json!([{"type": "text", "text": format!("answer {n} {filler}")}]);
        file.push_str(&of_claude(&last, Some(&answer), "assistant", &said, &plain));
        let at = uuid(n, 6);
        let progress = json!({"parentUuid": last, "isSidechain": false, "type": "progress", "data": {"uuid": "x"},
            "uuid": at, "timestamp": "2026-03-04T14:00:00.000Z"});
        file.push_str(&format!("{progress}\n"));
        tip = Some(match n {
            _ if n % 11 == 0 => uuid(n - 5, 6),
            118 => uuid(116, 4),
            _ => at,
        });
        if n == 60 {
            let boundary = json!({"parentUuid": null, "logicalParentUuid": tip, "isSidechain": false, "type": "system",
                "subtype": "compact_boundary", "content": "Compacted", "compactMetadata": {"trigger": "auto", "preTokens": 9},
                "uuid": uuid(n, 7), "timestamp": "2026-03-04T14:00:00.000Z", "sessionId": "s-long"});
            file.push_str(&format!("{boundary}\n"));
            tip = Some(uuid(n, 7));
        }
    }
    file
}

#[test]
fn the_end_of_a_file_of_claude_code_looks_as_it_does_in_the_whole() {
    let looks = [
        "show FILE --last 1",
        "show FILE --last 3",
        "show FILE --last 12 --width 70",
        "show FILE --last 30 --quiet",
        "show FILE --last 500",
        "show FILE --last 1 --json",
        "show FILE --last 4 --json",
        "show FILE --last 60 --json=lines",
        "show FILE --last 0 --json",
    ];
    let usual = usual_file_of_claude();
    check_file(&usual, &looks);
    let titled = format!(
        "{{\"type\":\"custom-title\",\"customTitle\":\"A long one\",\"sessionId\":\"s-long\"}}\n{usual}"
    );
    check_file(&titled, &["show FILE --last 2", "show FILE --last 2 --json"]);
    // The program went on elsewhere, after the last line or before it.
    let leaf = "{\"type\":\"last-prompt\",\"leafUuid\":\"00640006-0000-4000-8000-000000000006\",\"sessionId\":\"s-long\"}\n";
    check_file(&format!("{usual}{leaf}"), &["show FILE --last 2", "show FILE --last 5 --json"]);
    check_file(&format!("{leaf}{usual}"), &["show FILE --last 2"]);
}

/// Damage in the middle cuts the way to the beginning for whoever reads all lines. Whoever skims them does not see it,
/// so a silent way back to reading fails here.
#[test]
fn the_last_turns_are_shown_without_reading_those_before() {
    let usual = usual_file_of_claude();
    // a character that has to be escaped makes the line no JSON
    let answer = "\"more-13\",\"type\":\"tool_result\",\"content\":\"13 ";
    let damaged = usual.replacen(answer, &format!("{answer}\u{1}"), 1);
    assert_ne!(usual, damaged);
    let folder = Folder::new();
    folder.write("usual.jsonl", usual.as_bytes());
    folder.write("damaged.jsonl", damaged.as_bytes());
    for look in ["show FILE --last 2", "show FILE --last 100 --json=lines"] {
        let [as_it_was, skimmed] =
            ["usual.jsonl", "damaged.jsonl"].map(|name| folder.run(&look.replace("FILE", name)));
        assert_eq!(as_it_was, skimmed, "{look}");
        assert_ne!(skimmed, folder.run_with(&look.replace("FILE", "/dev/stdin"), &damaged), "{look}");
    }
}

#[test]
fn a_part_of_a_rollout_of_codex_looks_as_it_does_in_the_whole() {
    let looks = ["show FILE --last 3", "show FILE --last 20 --json", "tree FILE", "inspect FILE --json"];
    check_file(&long_file_of_codex(), &looks);
}
