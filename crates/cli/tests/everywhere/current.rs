//! The current session (C25): which session a command without SESSION means, and that every change names it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use offshoot_testkit::deadline::{BoundedChild, BoundedCommand};
use serde_json::json;

use crate::names::{exit_of, pi};
use crate::person::{NOW, Person};

/// Each command runs a minute after the one before.
struct Story {
    person: Person,
    minute: std::cell::Cell<u64>,
}

impl Story {
    fn new() -> Self {
        Self { person: Person::alone(), minute: 0.into() }
    }

    fn now(&self) -> u64 {
        self.minute.set(self.minute.get() + 1);
        NOW + 60 * self.minute.get()
    }

    fn run(&self, line: &str) -> String {
        self.person.run_at(self.now(), line)
    }

    /// With words in quotes, in any directory below the one for work.
    fn run_in(&self, directory: &Path, words: &[&str]) -> String {
        let mut command = self.person.command_at(self.now());
        let output = command.current_dir(directory).args(words).stdin(Stdio::null()).bounded_output();
        let output = output.expect("the program starts");
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }

    fn exit_of(&self, line: &str) -> Option<i32> {
        exit_of(&self.person, self.now(), line).0
    }

    /// The name of the session that a command without SESSION means.
    fn current(&self) -> String {
        self.current_in(&self.person.work())
    }

    fn current_in(&self, directory: &Path) -> String {
        let told = self.run_in(directory, &["tree", "--width", "80"]);
        told.split("  ").next().unwrap_or_default().to_owned()
    }

    fn pi_at(&self, number: u32, directory: &Path, time: &str, text: &str) -> String {
        let id = format!("{}-0000-7000-8000-000000000001", number.to_string().repeat(4));
        pi(&self.person, &id, directory, time, text);
        id
    }

    fn last_used(&self) -> Vec<PathBuf> {
        let files = std::fs::read_dir(self.person.home().join("last-used")).into_iter().flatten();
        files.map(|file| file.expect("a file").path()).collect()
    }
}

/// use.md A3: `tree` showed the newest session of any agent, and `undo` changed another one without saying which.
#[test]
fn a_reading_and_a_writing_command_mean_the_same_session() {
    let story = Story::new();
    let work = story.person.work();
    story.pi_at(11, &work, "12:00:00", "Of pi");
    story.run_in(&work, &["new", "My own session"]);
    story.run("label 1 nothing");
    let append = r#"{"role":"user","text":"hello"}"#;
    let mut command = story.person.command_at(story.now());
    let mut child =
        command.arg("append").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a start");
    std::io::Write::write_all(child.stdin.as_mut().expect("a pipe"), append.as_bytes()).expect("a line");
    assert!(child.bounded_wait().success());
    // Another agent writes in the folder between two commands.
    story.pi_at(22, &work, "23:00:00", "Newer, of pi");
    assert_eq!(story.current(), "My own session");
    let undone = story.run("undo");
    assert!(undone.starts_with("Undid  append"), "{undone}");
    assert!(undone.contains("\n  in     ") && undone.contains("  My own session\n"), "{undone}");
    // What is named for reading is meant by the next change, too.
    story.run("tree 222222");
    let labelled = story.run("label 1 noted");
    assert!(labelled.contains("is labelled [noted]\n  in     222222"), "{labelled}");
    assert!(labelled.ends_with("  Newer, of pi\n"), "{labelled}");
    assert_eq!(story.current(), "Newer, of pi");
    // It does not depend on the catalog.
    story.run("tree 111111");
    std::fs::remove_file(story.person.home().join("catalog.db")).expect("own file");
    assert_eq!(story.current(), "Of pi");
}

/// C25: reading the current session without naming it, and lists, move nothing.
#[test]
fn lists_and_unnamed_reading_use_no_session() {
    let story = Story::new();
    let work = story.person.work();
    story.pi_at(11, &work, "12:00:00", "First");
    for line in ["ls", "search First", "status", "tree", "show", "branch", "cost", "queue"] {
        story.run(line);
    }
    let file = story.person.user(".pi/agent/sessions/x/2025_11111111-0000-7000-8000-000000000001.jsonl");
    story.run(&format!("tree {}", file.display()));
    assert!(story.last_used().is_empty(), "{:?}", story.last_used());
    story.pi_at(22, &work, "13:00:00", "Second");
    assert_eq!(story.current(), "Second", "the newest of any agent");
    story.run("tree 111111");
    assert_eq!(story.last_used().len(), 1);
    story.pi_at(33, &work, "14:00:00", "Third");
    assert_eq!(story.current(), "First", "the one that was used");
}

/// C25: the nearest directory decides. A session used in a parent directory counts below it if it belongs there.
#[test]
fn a_parent_directory_counts_where_the_directory_itself_has_no_session() {
    let story = Story::new();
    let work = story.person.work();
    let [inner, deep] = ["inner", "inner/deep"].map(|name| work.join(name));
    std::fs::create_dir_all(&deep).expect("folders");
    let elsewhere = story.pi_at(11, Path::new("/home/dev/x"), "12:00:00", "Elsewhere");
    let old = story.pi_at(22, &work, "12:00:00", "Old");
    story.pi_at(33, &work, "13:00:00", "New");
    assert_eq!(story.current_in(&deep), "New");
    story.run(&format!("tree {old}"));
    assert_eq!(story.current_in(&deep), "Old", "used in a directory above");
    story.run(&format!("tree {elsewhere}"));
    assert_eq!(story.current(), "Elsewhere");
    assert_eq!(story.current_in(&deep), "Old", "a session of another project was used above");
    story.pi_at(44, &inner, "11:00:00", "Inner");
    assert_eq!(story.current_in(&deep), "Inner", "a session of a nearer directory");
    story.run_in(&deep, &["tree", &old]);
    assert_eq!(story.current_in(&deep), "Old", "used in this very directory");
    assert_eq!(story.current_in(&inner), "Inner");
    let link = work.join("link");
    std::os::unix::fs::symlink(&deep, &link).expect("a link");
    assert_eq!(story.current_in(&link), "Old", "links are resolved");
}

/// C25: `redo` finds a session whose beginning was undone; other commands do not act on it.
#[test]
fn an_undone_session_is_meant_by_redo_alone() {
    let story = Story::new();
    let work = story.person.work();
    story.run("new One");
    story.run("undo");
    assert_eq!(story.exit_of("tree"), Some(3));
    assert_eq!(story.exit_of("label 1 x"), Some(3));
    story.run("redo");
    assert_eq!(story.current(), "One");
    story.run("new Two");
    story.run("undo");
    story.pi_at(11, &work, "23:00:00", "Newer, of pi");
    assert_eq!(story.current(), "One", "used before it");
    let redone = story.run("redo");
    assert!(redone.contains("  Two\n"), "{redone}");
    assert_eq!(story.current(), "Two");
    story.run("fork --new-session --title Three");
    assert_eq!(story.current(), "Three");
    story.run("undo");
    assert_eq!(story.current(), "Two");
    story.run("redo");
    assert_eq!(story.current(), "Three");
}

/// C25: a session that is gone counts no more, and one that only the archive has still does.
#[test]
fn a_session_that_is_gone_is_not_current() {
    let story = Story::new();
    let work = story.person.work();
    let id = story.pi_at(11, &work, "12:00:00", "Used");
    story.pi_at(22, &work, "13:00:00", "Newest");
    story.run(&format!("tree {id}"));
    story.run("sync");
    let file = story.person.user(&format!(".pi/agent/sessions/x/2025_{id}.jsonl"));
    std::fs::remove_file(&file).expect("own file");
    assert_eq!(story.current(), "Used", "the archive has it");
    std::fs::remove_dir_all(story.person.home().join("archive")).expect("own folder");
    story.run("sync");
    assert_eq!(story.current(), "Newest");
    story.run("new Mine");
    let journals = std::fs::read_dir(story.person.home().join("sessions")).expect("a folder");
    journals.for_each(|file| std::fs::remove_file(file.expect("a file").path()).expect("own file"));
    assert_eq!(story.current(), "Newest");
}

/// C25: a damaged file, or one that cannot be written, is no failure.
#[test]
fn a_damaged_last_use_counts_as_absent() {
    use std::os::unix::fs::PermissionsExt;
    let story = Story::new();
    let work = story.person.work();
    let id = story.pi_at(11, &work, "12:00:00", "Used");
    story.pi_at(22, &work, "13:00:00", "Newest");
    story.run(&format!("tree {id}"));
    let [file] = &story.last_used()[..] else { panic!("{:?}", story.last_used()) };
    assert_eq!(file.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    assert_eq!(story.current(), "Used");
    for damaged in ["", "{\"directory\":", "null", "\u{0}"] {
        std::fs::write(file, damaged).expect("own file");
        assert_eq!(story.current(), "Newest", "{damaged:?}");
    }
    let folder = file.parent().expect("a folder").to_owned();
    std::fs::remove_dir_all(&folder).expect("own folder");
    std::fs::write(&folder, "in the way").expect("own file");
    assert_eq!(story.exit_of(&format!("tree {id}")), Some(0));
    assert_eq!(story.exit_of(&format!("label {id} 1 x")), Some(0));
    assert_eq!(std::fs::read_to_string(&folder).expect("a file"), "in the way");
}

/// C25: what is begun is current, and so is a session that a message is sent to.
#[test]
fn new_sessions_imports_chats_and_messages_are_uses() {
    let story = Story::new();
    let work = story.person.work();
    let elsewhere = story.pi_at(11, Path::new("/home/dev/x"), "12:00:00", "Elsewhere");
    story.run("new One");
    assert_eq!(story.current(), "One");
    let file = story.person.user(&format!(".pi/agent/sessions/x/2025_{elsewhere}.jsonl"));
    story.run(&format!("import {}", file.display()));
    assert_eq!(story.current(), "Elsewhere", "also one of another directory");
    let mut command = story.person.command_at(story.now());
    let mut chat = command.arg("chat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a start");
    std::io::Write::write_all(chat.stdin.as_mut().expect("a pipe"), b"Said in a chat\n").expect("a line");
    assert!(chat.bounded_wait().success());
    assert_eq!(story.current(), "Said in a chat");
    story.run("tree One");
    assert_eq!(story.current(), "One");
    let told = story.run_in(&work, &["send", "said in a chat", "again"]);
    assert!(told.contains("again"), "{told}");
    assert_eq!(story.current(), "Said in a chat", "the engine runs, and the command records it");
    story.run("new Two");
    assert_eq!(story.current(), "Two");
}

/// C25: `ls` marks the current session.
#[test]
fn the_list_marks_the_current_session() {
    let story = Story::new();
    let work = story.person.work();
    let id = story.pi_at(11, &work, "12:00:00", "Used");
    story.pi_at(22, &work, "13:00:00", "Newest");
    let marked = |story: &Story| {
        let told = story.run("ls --width 80");
        let marked: Vec<String> =
            told.lines().filter(|line| line.starts_with('›')).map(str::to_owned).collect();
        let rows = story.person.json_lines_at(story.now(), "ls --json=lines");
        let current: Vec<&str> =
            rows.iter().filter(|row| row["current"] == true).filter_map(|row| row["id"].as_str()).collect();
        assert_eq!((marked.len(), current.len()), (1, 1), "{told}");
        assert!(marked[0].starts_with(&format!("›  {}", &current[0][..6])), "{told}");
        marked[0].clone()
    };
    assert!(marked(&story).contains("Newest"));
    story.run(&format!("label {id} 1 x"));
    assert!(marked(&story).contains("Used (changed here)"));
    assert!(!story.run("ls").contains('›'), "scripts read `--json`");
    assert!(!story.run_in(Path::new("/"), &["ls", "--width", "80"]).contains('›'), "none is current there");
}

/// use.md A13: the name in `ls` is a name, whole or cut.
#[test]
fn a_name_that_ls_shows_can_be_typed() {
    let story = Story::new();
    let work = story.person.work();
    let said = "Show me around in this rather long repository, please, and take your time";
    story.pi_at(11, &work, "12:00:00", said);
    story.pi_at(22, &work, "13:00:00", "The same words");
    story.pi_at(33, &work, "14:00:00", "The same words");
    let shows = |typed: &str, text: &str| {
        let told = story.run_in(&work, &["tree", typed, "--width", "200"]);
        assert!(told.contains(text), "{typed}: {told}");
    };
    shows(said, said);
    shows(&said.to_uppercase(), said);
    for width in ["60", "70", "80", "100"] {
        let listed = story.run_in(&work, &["ls", "--width", width]);
        let row = listed.lines().find(|row| row.contains("Show")).expect("a row");
        let shown = &row[row.find("Show").expect("a name")..];
        let cut = &shown[..shown.find('…').expect("a cut") + '…'.len_utf8()];
        shows(cut, said);
    }
    let told = story.run_in(&work, &["tree", "the same words"]);
    let both = "error: `the same words` names 2 sessions\n  222222  The same words  pi  1h\n  333333  The same words  pi  ";
    assert!(told.starts_with(both) && told.ends_with("hint: the id tells them apart\n"), "{told}");
    assert_eq!(story.exit_of("tree Show"), Some(3), "a beginning alone is no name");
    // A title that was given wins, and hides the prompt.
    story.run_in(&work, &["rename", "333333", said]);
    shows(said, "time  333333");
    shows("the same words", "The same words  222222");
}

/// A13: a word that is a point of the current session stays one, whatever was said first in another session.
#[test]
fn a_label_is_not_hidden_by_the_first_prompt_of_another_session() {
    let story = Story::new();
    let work = story.person.work();
    story.pi_at(11, Path::new("/home/dev/x"), "12:00:00", "works");
    story.pi_at(22, &work, "13:00:00", "Hello");
    story.run("label 1 works");
    assert!(story.run("retry works").contains("  Hello\n"));
    assert!(story.run("fork works").contains("  Hello\n"));
    assert!(story.run("fork --session works --at 1").contains("  works\n"), "as a session");
}

/// C25: every changing command names the session, `--quiet` leaves it out, and `--json` has its id.
#[test]
fn every_change_names_its_session() {
    let story = Story::new();
    let work = story.person.work();
    let id = story.pi_at(11, &work, "12:00:00", "A prompt");
    for line in [
        "edit 1 Another",
        "prev",
        "next",
        "label 1 mine",
        "branch name 1 named",
        "switch --before-first",
        "undo",
        "redo",
        "undo",
        "rewind 1 --before",
        "undo",
        "retry 1",
        "archive named",
        "unarchive named",
        "fork named",
    ] {
        let told = story.run(line);
        assert!(told.contains("\n  in     111111  A prompt\n"), "{line}: {told}");
    }
    assert!(!story.run("edit 1 Third --quiet").contains("  in  "));
    let told: serde_json::Value = serde_json::from_str(&story.run("undo --json")).expect("JSON");
    assert_eq!(told["session"], json!(format!("{id}.pi")));
}
