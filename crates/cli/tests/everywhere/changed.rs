//! Sessions of other programs are changed here, and their files stay as those programs wrote them.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::SystemTime;

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand};
use offshoot_transcripts::{FileRole, classify};
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

use crate::person::{NOW, Person};

#[path = "../../../../fuzz/src/samples.rs"]
#[expect(dead_code, unreachable_pub, reason = "shared with the fuzz targets, which look at more")]
mod samples;

const CODEX: &str = r#"{"timestamp":"2025-03-04T05:00:00.000Z","type":"session_meta","payload":{"id":"01a1e09c-0000-7000-8000-000000000001","timestamp":"2025-03-04T05:00:00.000Z","cwd":"/w","originator":"codex_cli_rs"}}
{"timestamp":"2025-03-04T05:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Why is the burst refused?"}]}}
{"timestamp":"2025-03-04T05:00:03.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"A burst needs credit."}]}}
"#;

const OPENCODE: &str = r#"{"info":{"id":"ses_1","projectID":"p","directory":"/w","title":"About it","time":{"created":1741000000000,"updated":1741000000000}},"messages":[{"info":{"id":"m1","sessionID":"ses_1","role":"user","time":{"created":1741000000000}},"parts":[{"id":"q1","type":"text","text":"hello"}]}]}"#;

/// One file of another program in a folder, a home beside it.
struct Desk {
    folder: TempDir,
    file: PathBuf,
    /// How the person names the session.
    named: String,
    /// Seconds on the clock of the program: each command has its own.
    now: std::cell::Cell<u64>,
}

#[derive(Debug, PartialEq, Eq)]
struct Untouched {
    bytes: Vec<u8>,
    modified: SystemTime,
    beside: Vec<String>,
}

impl Desk {
    fn with(name: &str, bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("theirs").join(name);
        std::fs::create_dir(folder.path().join("theirs")).expect("a folder");
        std::fs::write(&file, bytes).expect("a file");
        let named = file.to_string_lossy().into_owned();
        // later than anything that was said there
        Self { folder, file, named, now: (NOW + 60_000_000).into() }
    }

    fn output(&self, words: &[&str]) -> Output {
        self.command(words).bounded_output().expect("the program starts")
    }

    fn command(&self, words: &[&str]) -> Command {
        self.now.set(self.now.get() + 100);
        let mut command = Command::new(env!("CARGO_BIN_EXE_offshoot"));
        command.current_dir(self.folder.path()).env_clear().env("TZ", "UTC");
        command.env("OFFSHOOT_HOME", self.folder.path().join("home")).env("OFFSHOOT_AUTO_SYNC", "false");
        let is_database = self.file.extension().is_some_and(|end| end == "db");
        let source = if is_database { self.file.clone() } else { self.folder.path().join("theirs") };
        command.env("OFFSHOOT_SOURCES", source);
        command.env("OFFSHOOT_FIXED_STAMPS", self.now.get().to_string());
        command.args(words);
        command
    }

    /// What was printed; it has to go well.
    fn done(&self, words: &[&str]) -> String {
        let output = self.output(words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?} on `{}`: {told}", self.named);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn append(&self, text: &str) {
        let line = serde_json::json!({"role":"assistant","text":text});
        let mut child =
            self.command(&["append", &self.named]).stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child = child.as_mut().expect("the program starts");
        writeln!(child.stdin.take().expect("a pipe"), "{line}").expect("a reader");
        assert!(child.bounded_wait().success(), "append to `{}`", self.named);
    }

    fn untouched(&self) -> Untouched {
        let names = std::fs::read_dir(self.file.parent().expect("a folder")).expect("a folder");
        let mut beside: Vec<String> =
            names.map(|name| name.expect("a name").file_name().to_string_lossy().into_owned()).collect();
        beside.sort();
        Untouched {
            bytes: std::fs::read(&self.file).expect("a file"),
            modified: self.file.metadata().and_then(|file| file.modified()).expect("a time"),
            beside,
        }
    }

    fn tree(&self) -> Value {
        serde_json::from_str(&self.done(&["tree", &self.named, "--json"])).expect("JSON")
    }

    /// Everything that changes a session, and what hands it out. `false`: nobody asked anything in it.
    fn change_everything(&self) -> bool {
        let before = self.untouched();
        let named = self.named.as_str();
        let at_first = self.tree();
        let prompts = self.done(&["inspect", named, "--json"]);
        let prompts: Value = serde_json::from_str(&prompts).expect("JSON");
        let labelled = self.output(&["label", named, "1", "a label"]);
        if !labelled.status.success() {
            let told = String::from_utf8_lossy(&labelled.stderr).into_owned();
            assert!(told.contains("no turn"), "`{named}`: {told}\n{prompts}");
            assert_eq!(self.untouched(), before, "`{named}`");
            return false;
        }
        self.done(&["edit", named, "1", "said differently"]);
        self.done(&["branch", "name", named, "1", "mine"]);
        self.done(&["prev", named, "1"]);
        self.done(&["archive", named, "mine"]);
        assert!(!self.done(&["branch", named]).contains("mine"), "`{named}`: it is put away");
        self.done(&["unarchive", named, "mine"]);
        self.done(&["next", named, "1"]);
        self.done(&["switch", named, "--before-first"]);
        self.done(&["switch", named, "mine"]);
        self.append("answered here");
        self.done(&["fork", named, "--at", "1"]);
        self.done(&["retry", named]);
        self.done(&["rename", named, "another title"]);
        assert!(self.done(&["versions", named, "1"]).contains("said differently"), "`{named}`");
        let changed = self.tree();
        assert_ne!(changed, at_first, "`{named}`");
        let steps = self.done(&["ops", named]).lines().count();
        let mut undone = 0;
        while self.output(&["undo", named]).status.success() {
            undone += 1;
        }
        assert!(undone >= 11, "`{named}`: {undone} of {steps} steps");
        assert_eq!(without_id(self.tree()), without_id(at_first), "`{named}`: undone is as it was");
        while self.output(&["redo", named]).status.success() {}
        assert_eq!(self.tree(), changed, "`{named}`: done again");
        for format in ["pi", "markdown", "offshoot"] {
            assert!(self.done(&["export", named, "--to", format]).contains("said differently"), "{format}");
        }
        let journal = self.done(&["export", named, "--to", "offshoot"]);
        assert!(journal.starts_with(r#"{"k":"open","more":1,"v":1,"#), "a copy is complete in itself");
        self.done(&["fork", named, "--new-session", "--at", "1"]);
        self.done(&["fsck"]);
        assert_eq!(self.untouched(), before, "`{named}` is theirs");
        true
    }
}

/// The same session has an id of its own here once it was changed.
fn without_id(mut tree: Value) -> Value {
    if let Some(tree) = tree.as_object_mut() {
        tree.remove("session");
    }
    tree
}

#[test]
fn a_session_of_every_program_can_be_changed() {
    let uuid = "01a1e09c-0000-7000-8000-000000000001";
    let rollout = format!("rollout-2025-03-04T05-00-00-{uuid}.jsonl");
    let files: [(&str, &str); 8] = [
        ("s.jsonl", samples::CLAUDE[0]),
        (&rollout, CODEX),
        ("session-2026-01-01.jsonl", samples::GEMINI[0]),
        ("session-2026-01-01.json", samples::GEMINI[1]),
        ("pi.jsonl", samples::PI[0]),
        ("omp.jsonl", samples::OH_MY_PI[0]),
        ("session_x.jsonl", samples::ROLLOUTS[0]),
        ("export.json", OPENCODE),
    ];
    for (name, text) in files {
        assert!(Desk::with(name, text.as_bytes()).change_everything(), "{name}");
    }
}

/// opencode with one session of one prompt.
fn desk_with_database() -> Desk {
    let mut desk = Desk::with("opencode.db", b"");
    std::fs::remove_file(&desk.file).expect("own file");
    let connection = Connection::open(&desk.file).expect("a database");
    connection
        .execute_batch(
            r#"CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, directory text,
                title text, revert text, time_created integer, time_updated integer);
            CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
            CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, data text);
            INSERT INTO session VALUES ('ses_One', 'p', NULL, '/w', 'About it', NULL, 1741000000000, 1741000000000);
            INSERT INTO message VALUES ('m1', 'ses_One', 1741000000000, '{"role":"user"}');
            INSERT INTO part VALUES ('p1', 'm1', 'ses_One', '{"type":"text","text":"hello"}');"#,
        )
        .expect("tables and rows");
    drop(connection);
    desk.named = desk.file.join("ses_One").to_string_lossy().into_owned();
    desk
}

#[test]
fn a_session_in_a_database_can_be_changed() {
    let desk = desk_with_database();
    assert!(desk.change_everything());
    let before = desk.tree();
    let connection = Connection::open(&desk.file).expect("a database");
    let rows = r#"INSERT INTO message VALUES ('m2', 'ses_One', 1741000001000, '{"role":"assistant","parentID":"m1"}');
        INSERT INTO part VALUES ('p2', 'm2', 'ses_One', '{"type":"text","text":"later"}');"#;
    connection.execute_batch(rows).expect("rows");
    drop(connection);
    assert_ne!(desk.tree(), before, "what the program adds is there");
    assert!(
        desk.done(&["show", "ses_one", "--at", "m2"]).contains("later"),
        "by the id that the program gave it"
    );
}

/// What was added hangs on something that its program takes away after it was kept.
fn check_that_nothing_hangs_in_the_air(desk: &Desk, take_away: impl FnOnce(&Path)) {
    desk.done(&["sync"]);
    desk.done(&["edit", &desk.named, "2", "said differently"]);
    desk.append("answered here");
    let before = desk.done(&["show", &desk.named]);
    assert!(before.contains("hello") && before.contains("answered here"), "{before}");
    take_away(&desk.file);
    assert_eq!(desk.done(&["show", &desk.named]), before, "`{}`", desk.named);
    desk.done(&["sync"]);
    assert_eq!(desk.done(&["show", &desk.named]), before, "`{}`", desk.named);
    assert_eq!(desk.done(&["ls"]).lines().count(), 1, "one session: {}", desk.done(&["ls"]));
    desk.done(&["fsck"]);
}

#[test]
fn what_a_program_takes_away_stays_below_what_was_added() {
    let gemini = |messages: usize| {
        let message = |n: usize| {
            let (kind, text) = if n.is_multiple_of(2) { ("user", "hello") } else { ("gemini", "hi") };
            serde_json::json!({"id":format!("m{n}"),"timestamp":format!("2026-01-01T00:00:0{n}Z"),"type":kind,"content":text})
        };
        let messages: Vec<Value> = (0..messages).map(message).collect();
        let document = serde_json::json!({"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","lastUpdated":"2026-01-01T00:00:00Z","messages":messages});
        document.to_string()
    };
    let desk = Desk::with("session-2026-01-01.json", gemini(4).as_bytes());
    check_that_nothing_hangs_in_the_air(&desk, |file| std::fs::write(file, gemini(1)).expect("own file"));

    let line = |n: usize| {
        let parent = n.checked_sub(1).map(|n| format!("m{n}"));
        let message = serde_json::json!({"role":if n.is_multiple_of(2) { "user" } else { "assistant" },"content":[{"type":"text","text":"hello"}]});
        let line = serde_json::json!({"type":"message","id":format!("m{n}"),"parentId":parent,"timestamp":"2025-01-01T00:00:01.000Z","message":message});
        format!("{line}\n")
    };
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"their-session\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\"cwd\":\"/w\"}\n";
    let first: String = [header.to_owned(), line(0)].concat();
    let desk = Desk::with("2025_their-session.jsonl", first.as_bytes());
    desk.done(&["label", &desk.named, "1", "seen when it was short"]);
    let grown: String = (1..4).map(line).collect();
    std::fs::write(&desk.file, first.clone() + &grown).expect("own file");
    check_that_nothing_hangs_in_the_air(&desk, |file| std::fs::write(file, &first).expect("own file"));

    let desk = desk_with_database();
    let connection = Connection::open(&desk.file).expect("a database");
    let rows = r#"INSERT INTO message VALUES ('m2', 'ses_One', 1741000001000, '{"role":"assistant","parentID":"m1"}');
        INSERT INTO part VALUES ('p2', 'm2', 'ses_One', '{"type":"text","text":"hi"}');
        INSERT INTO message VALUES ('m3', 'ses_One', 1741000002000, '{"role":"user"}');
        INSERT INTO part VALUES ('p3', 'm3', 'ses_One', '{"type":"text","text":"and then"}');
        UPDATE session SET time_updated = 1741000002000;"#;
    connection.execute_batch(rows).expect("rows");
    check_that_nothing_hangs_in_the_air(&desk, |_| {
        let less = "DELETE FROM part WHERE message_id <> 'm1'; DELETE FROM message WHERE id <> 'm1';
            UPDATE session SET time_updated = 1741000003000;";
        connection.execute_batch(less).expect("rows");
    });
}

/// A copy of the file alone would have its id, and what was changed would seem lost.
#[test]
fn a_file_that_was_changed_here_is_not_taken_over_without_the_changes() {
    let person = Person::with_agents();
    let path = person.user(".claude/projects/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl");
    person.run("edit 0f5c 1 Differently");
    let import = |now: u64, more: &str| person.run_at(now, &format!("import {}{more}", path.display()));
    let told = import(NOW + 100, "");
    assert!(told.contains("was changed here, as session `0f5c00`") && told.contains("--again"), "{told}");
    assert!(person.run_at(NOW + 200, "show 0f5c").contains("Differently"));
    let told = import(NOW + 300, " --again");
    let copy = told.split('\t').next().expect("an id").to_owned();
    assert!(
        !copy.contains("0f5c") && person.run_at(NOW + 400, &format!("show {copy}")).contains("Differently"),
        "{told}"
    );
    assert!(person.run_at(NOW + 500, &format!("tree {copy} --width 80")).contains("winnow"));
    assert_eq!(person.json_lines_at(NOW + 600, "ls --json=lines").len(), 5);
}

/// Taken away here, it is gone from every list.
#[test]
fn a_title_or_label_that_was_taken_away_is_not_listed() {
    let person = Person::with_agents();
    let labels = |now: u64| {
        let rows = person.json_lines_at(now, "ls --json=lines");
        let row = rows.into_iter().find(|row| row["id"].as_str().is_some_and(|id| id.starts_with("6f2a")));
        row.expect("a row")["labels"].to_string()
    };
    assert_eq!(labels(NOW), r#"["ugly"]"#);
    person.run_at(NOW + 100, "label 6f2a 2 nice");
    assert_eq!(labels(NOW + 200), r#"["nice"]"#);
    person.run_at(NOW + 300, "undo 6f2a");
    assert_eq!(labels(NOW + 400), r#"["ugly"]"#);
    let no_label = person.command_at(NOW + 500).args(["label", "6f2a", "2", ""]).bounded_output();
    assert!(no_label.expect("a start").status.success());
    assert_eq!(labels(NOW + 600), "[]");
    let desk = Desk::with("export.json", OPENCODE.as_bytes());
    assert!(desk.done(&["ls"]).contains("About it"));
    desk.done(&["rename", &desk.named, ""]);
    let title = |told: String| serde_json::from_str::<Value>(&told).expect("JSON")["title"].clone();
    let (listed, shown) =
        (title(desk.done(&["ls", "--json=lines"])), title(desk.done(&["show", &desk.named, "--json"])));
    assert_eq!(listed, shown);
}

#[test]
fn files_of_real_programs_can_be_changed() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let fixtures = shared.join("fixtures");
    if !fixtures.is_dir() {
        println!(
            "skipped: files_of_real_programs_can_be_changed (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    }
    let mut changed: BTreeMap<String, usize> = BTreeMap::new();
    let mut open = vec![fixtures];
    while let Some(folder) = open.pop() {
        let mut items: Vec<PathBuf> =
            std::fs::read_dir(folder).expect("a folder").map(|item| item.expect("an item").path()).collect();
        items.sort();
        for path in items {
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).expect("a file");
            let FileRole::Session(dialect) = classify(&path.to_string_lossy(), &bytes) else { continue };
            let count = changed.entry(dialect.name()).or_default();
            // some of each are enough, and long ones take long
            if *count < 4 && bytes.len() < 1 << 20 {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                *count += usize::from(Desk::with(&name, &bytes).change_everything());
            }
        }
    }
    println!("{changed:?}");
    for agent in ["claude code", "codex", "gemini", "opencode", "pi v3"] {
        assert!(changed.get(agent).is_some_and(|count| *count > 0), "none of {agent}: {changed:?}");
    }
}

#[test]
fn what_the_program_adds_later_appears_and_the_head_stays() {
    let person = Person::with_agents();
    person.run("rename 6f2a Bursts");
    person.append_to_pi("And then?");
    assert!(person.run("tree 6f2a --width 80").contains("And then?  ← head"), "nobody has moved it");
    person.run_at(NOW + 100, "edit 6f2a 1 Differently");
    person.append_to_pi("Even later?");
    let tree = person.run("tree 6f2a --width 80");
    assert!(tree.contains("Differently  ← head") && tree.contains("Even later?"), "{tree}");
}

#[test]
fn a_file_and_its_journal_are_one_session() {
    let person = Person::with_agents();
    let before = person.bytes_of_agents();
    person.run("edit 6f2a 1 Quokka?");
    person.run_at(NOW + 100, "rename 6f2a Bursts");
    let rows = person.json_lines("ls --json=lines");
    assert_eq!(rows.len(), 4, "{rows:?}");
    let row = rows.iter().find(|row| row["title"] == "Bursts").expect("the row of the file");
    let (id, ours) = (row["id"].as_str().expect("an id"), row["changed_as"].as_str().expect("an id"));
    assert_eq!(
        (id, ours),
        ("6f2a91c0-0000-7000-8000-000000000001", "6f2a91c0-0000-7000-8000-000000000001.pi")
    );
    assert_eq!((&row["prompts"], &row["entries"]), (&3.into(), &4.into()));
    assert!(person.run("ls --width 95").contains("Bursts (changed here)"));
    assert_eq!(person.run(&format!("tree {id}")), person.run(&format!("tree {ours}")));
    let hits = person.json_lines_at(NOW + 700, "search quokka --json=lines");
    assert_eq!((hits.len(), &hits[0]["session"]), (1, &id.into()));
    let entry = hits[0]["entry"].as_str().expect("an id");
    assert!(person.run(&format!("show {id} --at {entry}")).contains("Quokka?"));
    assert!(person.run("fsck").contains("clean"));
    assert!(person.run("inspect 6f2a").contains("goes on   with "));
    assert!(person.run("doctor").contains("1 session goes on with a file of another program, all there"));
    assert!(
        person.run("cost 6f2a").contains("session\t$0.01\t"),
        "what the program spent counts: {}",
        person.run("cost 6f2a")
    );
    assert_eq!(person.bytes_of_agents(), before);
}

/// R-115: a rename needs neither the agent nor the ids of messages.
#[test]
fn a_title_for_claude_code_is_written_only_when_asked() {
    let person = Person::with_agents();
    let before = person.bytes_of_agents();
    person.run("rename 0f5c Mine");
    assert_eq!(person.bytes_of_agents(), before);
    person.run_at(NOW + 100, "rename 0f5c Both --write-back");
    assert_ne!(person.bytes_of_agents(), before);
    assert!(person.run("tree 0f5c --width 80").starts_with("Both  0f5c00"));
}

#[test]
fn a_file_that_is_gone_is_told_of() {
    let person = Person::with_agents();
    person.run("keep --off");
    person.run("edit 0f5c 1 Differently");
    let file = person.user(".claude/projects/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl");
    let elsewhere = person.user(".claude/projects/elsewhere/0f5c0000-0000-4000-8000-000000000001.jsonl");
    std::fs::create_dir(elsewhere.parent().expect("a folder")).expect("a folder");
    std::fs::rename(&file, &elsewhere).expect("own file");
    person.run_at(NOW + 10, "sync");
    assert!(person.run_at(NOW + 20, "tree 0f5c --width 80").contains("winnow"), "it only moved");
    std::fs::remove_file(&elsewhere).expect("own file");
    person.run_at(NOW + 30, "sync");
    let told = person.run_at(NOW + 40, "tree 0f5c --width 80");
    assert!(told.contains("Differently") && told.contains("is gone"), "{told}");
    assert!(person.run_at(NOW + 45, "doctor").contains("not there any more"));
    let fsck = person.command_at(NOW + 50).arg("fsck").bounded_output().expect("the program starts");
    assert_eq!(fsck.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&fsck.stdout).contains("which it goes on with, is gone"));
}

#[test]
fn what_was_added_stands_on_what_is_kept() {
    let person = Person::with_agents();
    person.run("sync");
    person.run("edit 0f5c 1 Differently");
    let before = person.run("tree 0f5c --width 80");
    let file = person.user(".claude/projects/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl");
    std::fs::remove_file(&file).expect("own file");
    person.run_at(NOW + 10, "sync");
    let told = person.run_at(NOW + 20, "tree 0f5c --width 80");
    assert!(told.contains("A copy that was kept is shown"), "{told}");
    assert!(told.contains("winnow") && told.contains("Differently"), "{told}");
    assert_eq!(told.lines().filter(|line| before.contains(line)).count(), before.lines().count(), "{told}");
    person.run_at(NOW + 30, "edit 0f5c 1 Once_more");
    assert!(person.run_at(NOW + 40, "tree 0f5c --width 80").contains("Once_more"));
    let fsck = person.command_at(NOW + 50).arg("fsck").bounded_output().expect("the program starts");
    assert_eq!(fsck.status.code(), Some(0), "{}", String::from_utf8_lossy(&fsck.stdout));
}

/// One that was never changed here can be changed when only the archive has it.
#[test]
fn what_only_the_archive_has_can_be_changed() {
    let person = Person::with_agents();
    person.run("sync");
    let file = person.user(".claude/projects/-home-dev-ledger/0f5c0000-0000-4000-8000-000000000001.jsonl");
    std::fs::remove_file(&file).expect("own file");
    person.run_at(NOW + 10, "sync");
    person.run_at(NOW + 20, "edit 0f5c 1 Differently");
    let told = person.run_at(NOW + 30, "tree 0f5c --width 80");
    assert!(told.contains("winnow") && told.contains("Differently"), "{told}");
}

/// No test leaves an engine behind.
impl Drop for Desk {
    fn drop(&mut self) {
        offshoot_testkit::stop_engine(env!("CARGO_BIN_EXE_offshoot"), &self.folder.path().join("home"));
    }
}
