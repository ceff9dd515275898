//! Commands that look at session files.

use std::process::Stdio;

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand};

use crate::support::{BURST, Folder};

#[track_caller]
fn check(name: &str, lines: &[&str]) {
    let folder = Folder::new();
    insta::assert_snapshot!(name, folder.story(lines));
}

#[test]
fn inspect_says_what_a_file_holds() {
    check(
        "inspect",
        &["inspect burst.jsonl", "inspect burst.jsonl --width 60", "inspect burst.jsonl --json"],
    );
}

#[test]
fn inspect_lists_what_is_odd() {
    let folder = Folder::new();
    let mut odd = BURST.to_owned();
    odd.push_str("{\"type\":\"tomorrow\",\"id\":\"tm000001\",\"parentId\":\"6f708101\",\"timestamp\":\"2025-03-04T14:09:00.000Z\"}\n");
    for _ in 0..11 {
        odd.push_str("not json\n");
    }
    folder.write("odd.jsonl", odd.as_bytes());
    let short = folder.run("inspect odd.jsonl");
    insta::assert_snapshot!("inspect-odd", short);
    let all = folder.run("inspect odd.jsonl --all");
    assert!(all.lines().count() > short.lines().count() && !all.contains("more;"), "{all}");
}

#[test]
fn inspect_goes_on_behind_a_file_it_cannot_read() {
    check(
        "inspect-several",
        &[
            "inspect burst.jsonl gone.jsonl burst.jsonl",
            "inspect burst.jsonl gone.jsonl --json=lines",
            "inspect gone.jsonl --json",
        ],
    );
}

#[test]
fn tree_draws_one_row_per_turn() {
    check(
        "tree",
        &[
            "tree burst.jsonl",
            "tree burst.jsonl --width 100",
            "tree burst.jsonl --width 60",
            "tree burst.jsonl --width 48",
            "tree burst.jsonl --width 80 --ascii",
            "tree burst.jsonl --quiet",
        ],
    );
}

#[test]
fn tree_draws_one_row_per_entry_on_request() {
    check(
        "tree-entries",
        &[
            "tree burst.jsonl --filter default --width 80",
            "tree burst.jsonl --filter no-tools --ascii --width 60",
            "tree burst.jsonl --filter user-only",
            "tree burst.jsonl --filter labeled-only",
            "tree burst.jsonl --filter all",
            "tree burst.jsonl --search bucket",
            "tree burst.jsonl --search nothing_like_this",
        ],
    );
}

/// the tree can be printed with parents and labels.
#[test]
fn tree_is_data_for_scripts() {
    let folder = Folder::new();
    let printed = folder.run("tree burst.jsonl --json");
    let tree: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    assert_eq!(tree["head"], "6f708101");
    let nodes: Vec<String> = tree["nodes"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|node| {
            format!(
                "{} below {} {} label {} active {} version {}",
                node["id"], node["parent"], node["role"], node["label"], node["active"], node["version"]
            )
        })
        .collect();
    insta::assert_snapshot!("tree-json", nodes.join("\n"));
    assert_eq!(folder.run("tree burst.jsonl --json=lines").lines().count(), nodes.len());
    let found = folder.run("tree burst.jsonl --json=lines --filter labeled-only");
    assert!(found.starts_with("{\"id\":\"90aa5101\"") && found.lines().count() == 1, "{found}");
}

/// the active branch is a flat list of prompts and responses.
/// the flat list is computed from the tree, so there is nothing to migrate.
#[test]
fn show_prints_the_branch_turn_by_turn() {
    check(
        "show",
        &[
            "show burst.jsonl",
            "show burst.jsonl --width 80",
            "show burst.jsonl --width 60 --ascii",
            "show burst.jsonl --last 1 --quiet",
        ],
    );
}

#[test]
fn show_prints_one_turn() {
    check(
        "show-at",
        &[
            "show burst.jsonl --at 2",
            "show burst.jsonl --at #1 --width 72",
            "show burst.jsonl --at works,_ugly",
            "show burst.jsonl --at 5e6f70",
            "show burst.jsonl --at head --width 60",
        ],
    );
}

#[test]
fn show_is_data_for_scripts() {
    check(
        "show-json",
        &["show burst.jsonl --last 1 --json", "show burst.jsonl --at 90aa51 --last 1 --json=lines"],
    );
}

#[test]
fn show_prints_what_the_model_reads() {
    check(
        "show-context",
        &[
            "show burst.jsonl --context --width 80",
            "show burst.jsonl --context --at 1 --json",
            "show burst.jsonl --context --last 1 --quiet",
        ],
    );
}

#[test]
fn a_point_that_does_not_exist_is_explained() {
    check(
        "points",
        &[
            "show burst.jsonl --at 9",
            "show burst.jsonl --at m:40",
            "show burst.jsonl --at nobody",
            "show burst.jsonl --at 4d",
        ],
    );
}

#[test]
fn every_kind_of_bad_file_has_a_sentence_and_a_hint() {
    let folder = Folder::new();
    folder.write("empty.jsonl", b"");
    folder.write("notes.txt", b"buy milk\n");
    folder.write("picture.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    std::fs::create_dir(folder.path().join("folder")).expect("a folder");
    let lines = [
        "tree gone.jsonl",
        "tree burst.jsonl/inside",
        "tree folder",
        "tree empty.jsonl",
        "tree notes.txt",
        "tree picture.png",
        "tree gone.jsonl --quiet",
        #[cfg(unix)]
        "tree /dev/null",
    ];
    let told: Vec<String> =
        lines.iter().map(|line| format!("$ offshoot {line}\n{}", folder.run(line))).collect();
    insta::assert_snapshot!("bad-files", told.join("\n"));
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_read_says_so() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let path = folder.path().join("burst.jsonl");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("own file");
    assert_eq!(
        folder.run_as_ordinary_user("tree burst.jsonl"),
        "error: no permission to read `burst.jsonl`\nhint: `ls -l burst.jsonl` shows who may\nexit 1\n"
    );
}

#[test]
fn wrong_usage_is_told_by_its_own_code() {
    let folder = Folder::new();
    for line in ["tree burst.jsonl --filter some", "grow burst.jsonl", "tree burst.jsonl --width 5"] {
        let told = folder.run(line);
        assert!(told.contains("error: ") && told.ends_with("exit 2\n"), "{line}: {told}");
    }
}

/// Text of others can neither move the cursor nor reverse a line.
#[test]
fn control_characters_are_shown_as_symbols() {
    let folder = Folder::new();
    let evil = BURST.replace(
        "Keep the old bucket alive across reloads",
        "Clear\\u001b[2J screen\\u0007 and\\u009b31m \\u202ereverse\\u202c it\\u0000",
    );
    let evil = evil
        .replace("works, ugly", "la\\u001bbel")
        .replace("I move the bucket", "one\\ttab\\r\\n\\u001b]0;title\\u0007");
    let evil = evil
        .replace("Burst credit lost after reload", "Ti\\u001btle\\nline")
        .replace("90aa5101", "90\\u001ba5101");
    folder.write("evil.jsonl", evil.as_bytes());
    let lines = [
        "tree evil.jsonl",
        "tree evil.jsonl --ascii",
        "tree evil.jsonl --filter all",
        "show evil.jsonl --at la\u{1b}bel",
        "show evil.jsonl --at no\u{1b}body",
        "inspect evil.jsonl",
    ];
    let told: Vec<String> = lines
        .iter()
        .map(|line| format!("$ offshoot {}\n{}", line.replace('\u{1b}', "ESC"), folder.run(line)))
        .collect();
    for (line, told) in lines.iter().zip(&told) {
        let is_harmless = |c: char| c == '\n' || !(c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(told.chars().all(is_harmless), "{line}: {told:?}");
    }
    let json = folder.run("tree evil.jsonl --json");
    assert!(json.chars().all(|c| c == '\n' || (!c.is_control() && c != '\u{202e}')));
    let tree: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let texts: Vec<&str> =
        tree["nodes"].as_array().into_iter().flatten().filter_map(|node| node["text"].as_str()).collect();
    assert!(texts.iter().any(|text| text.contains("\u{9b}31m \u{202e}reverse")), "data stays what it is");
    insta::assert_snapshot!("control-characters", told.join("\n"));
}

#[test]
fn a_session_in_which_nothing_was_said_is_no_error() {
    let folder = Folder::new();
    let header = BURST.lines().next().expect("a header");
    folder.write("quiet.jsonl", format!("{header}\n").as_bytes());
    let lines =
        ["inspect quiet.jsonl", "tree quiet.jsonl", "show quiet.jsonl", "tree quiet.jsonl --filter all"];
    let told: Vec<String> =
        lines.iter().map(|line| format!("$ offshoot {line}\n{}", folder.run(line))).collect();
    insta::assert_snapshot!("nothing-said", told.join("\n"));
}

#[test]
fn colour_is_for_terminals_and_ascii_for_old_locales() {
    let folder = Folder::new();
    let piped = folder.run("tree burst.jsonl");
    assert!(!piped.contains('\u{1b}'));
    let output = folder
        .command()
        .args(["tree", "burst.jsonl"])
        .env("LC_ALL", "C")
        .bounded_output()
        .expect("it starts");
    let old = String::from_utf8(output.stdout).expect("text");
    assert!(old.contains("`-o #2") && !old.contains('●'), "{old}");
    let output = folder
        .command()
        .args(["tree", "burst.jsonl"])
        .env("LANG", "de_DE.UTF-8")
        .bounded_output()
        .expect("it starts");
    assert_eq!(String::from_utf8(output.stdout).expect("text"), piped);
}

/// `offshoot tree | head -1`
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    let mut long = BURST.to_owned();
    for n in 0..5000 {
        long.push_str(&format!(
            "{{\"type\":\"message\",\"id\":\"n{n}\",\"parentId\":\"b7720e01\",\"timestamp\":\"2025-03-04T15:00:00.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"another version of the same prompt, number {n}\"}}}}\n"
        ));
    }
    folder.write("long.jsonl", long.as_bytes());
    let mut child = folder
        .command()
        .args(["tree", "long.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    drop(child.stdout.take());
    let output = child.bounded_output();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success(), "{:?}", output.status);
}
