//! Branches that go on in other programs, their titles there, and what it all has cost.

use std::path::PathBuf;

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::Value;

use crate::support::Folder;

impl Folder {
    /// Runs with a home for agents.
    fn for_agents(&self, words: &[&str]) -> (String, String, Option<i32>) {
        let output = self
            .command()
            .args(words)
            .env("HOME", self.path().join("me"))
            .bounded_output()
            .expect("it starts");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (text(output.stdout), text(output.stderr), output.status.code())
    }

    fn json_for_agents(&self, words: &[&str]) -> Value {
        let (told, ..) = self.for_agents(words);
        serde_json::from_str(&told).expect("JSON")
    }

    fn installed(&self, format: &str) -> (Value, PathBuf) {
        let (told, _, code) =
            self.for_agents(&["export", "--at", "1", "--to", format, "--install", "--json"]);
        assert_eq!(code, Some(0), "{told}");
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let file = PathBuf::from(told["file"].as_str().expect("a file"));
        (told, file)
    }
}

#[test]
fn a_branch_is_put_where_its_program_looks() {
    let folder = Folder::with_talk();
    for (format, below, tool) in [
        ("claude", "me/.claude/projects", "Read"),
        ("codex", "me/.codex/sessions", "exec_command"),
        ("pi", "me/.pi/agent/sessions", "read"),
    ] {
        let (told, file) = folder.installed(format);
        assert!(file.starts_with(folder.path().join(below)), "{}", file.display());
        assert!(file.to_string_lossy().contains(told["id"].as_str().expect("an id")));
        let text = std::fs::read_to_string(&file).expect("a file");
        assert!(
            text.contains(tool) && text.contains("struct Bucket") && text.contains("built anew"),
            "{text}"
        );
        assert!(!text.contains("Write a failing test"), "cut behind the first turn");
        let (again, ..) = folder.for_agents(&["show", "--json", &file.to_string_lossy()]);
        assert!(again.contains("Burst credit is lost when the config reloads"), "{again}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(std::fs::metadata(&file).expect("a file").permissions().mode() & 0o077, 0);
        }
    }
}

#[test]
fn only_programs_go_on() {
    let folder = Folder::with_talk();
    let (_, error, code) = folder.for_agents(&["export", "--to", "markdown", "--install"]);
    assert_eq!((code, error.contains("no program goes on with `markdown`")), (Some(2), true), "{error}");
    let (_, _, code) = folder.for_agents(&["export", "--to", "claude", "--json"]);
    assert_eq!(code, Some(2));
}

/// R-093: a session of Claude Code is renamed in its file, not by a message to the model.
/// R-114: a rename appends a title line to the file of Claude Code.
#[test]
fn a_title_is_appended_to_the_file_of_claude_code_and_to_no_other() {
    let folder = Folder::with_talk();
    let (_, claude) = folder.installed("claude");
    let before = std::fs::read(&claude).expect("a file");
    let name = claude.to_string_lossy().into_owned();
    let (said, error, code) = folder.for_agents(&["rename", &name, "Mine", "--write-back"]);
    assert_eq!(code, Some(0), "{said}{error}");
    let after = std::fs::read(&claude).expect("a file");
    assert!(after.starts_with(&before), "nothing is rewritten");
    let line = String::from_utf8_lossy(after.get(before.len()..).expect("a line")).into_owned();
    assert!(line.starts_with(r#"{"type":"custom-title","customTitle":"Mine","sessionId":""#), "{line}");
    folder.for_agents(&["rename", &name, "Mine", "--write-back"]);
    assert_eq!(std::fs::read(&claude).expect("a file"), after, "the same is not said twice");
    // R-114: an index that lists the session shows the title too, even if the file has it already
    let id = claude.file_stem().expect("a name").to_string_lossy().into_owned();
    let index = claude.with_file_name("sessions-index.json");
    std::fs::write(&index, format!("{{\"version\": 1, \"entries\": [{{\"sessionId\":\"{id}\"}}, 7]}}\n"))
        .expect("a file");
    let (_, error, code) = folder.for_agents(&["rename", &name, "Mine", "--write-back"]);
    assert_eq!(code, Some(0), "{error}");
    let mirrored = format!(
        "{{\"version\": 1, \"entries\": [{{\"sessionId\":\"{id}\",\"customTitle\":\"Mine\"}}, 7]}}\n"
    );
    assert_eq!(std::fs::read_to_string(&index).expect("a file"), mirrored);
    assert_eq!(std::fs::read(&claude).expect("a file"), after);
    std::fs::remove_file(&index).expect("own file");
    let (_, pi) = folder.installed("pi");
    let before = std::fs::read(&pi).expect("a file");
    let (_, _, code) = folder.for_agents(&["rename", &pi.to_string_lossy(), "Mine", "--write-back"]);
    assert_eq!((code, std::fs::read(&pi).expect("a file") == before), (Some(4), true));
}

#[test]
fn every_turn_is_paid_once() {
    let folder = Folder::with_talk();
    folder.write("home/prices.toml", b"[[model]]\nname = \"*\"\ninput = 1000\noutput = 10000\n");
    folder.run("edit 2 Elsewise");
    let told = folder.json_for_agents(&["cost", "--json"]);
    assert_eq!(told["total"]["tokens"], 940);
    let rows = told["rows"].as_array().expect("rows");
    assert_eq!(rows[0]["kind"], "shared");
    assert_eq!(rows[0]["tokens"], 940);
    let forked = folder.run("fork --new-session");
    assert!(!forked.is_empty());
    let all = folder.json_for_agents(&["cost", "--by", "project", "--json"]);
    assert_eq!(all["total"]["tokens"], 940, "a fork holds what was paid before");
    assert_eq!(folder.json_for_agents(&["cost", "--prices", "--json"])["prices"][0]["from"], "file");
}
