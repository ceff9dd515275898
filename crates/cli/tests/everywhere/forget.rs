//! Copies of other agents' sessions that are not wanted: announced, forgotten, restored.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::json;

use crate::kept::{CLAUDE, opencode_storage, sub_agent};
use crate::person::{NOW, Person};

const ID: &str = "0f5c0000-0000-4000-8000-000000000001";
pub(crate) const A_DAY: u64 = 24 * 60 * 60;

pub(crate) fn files_below(top: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![top.to_owned()]);
    while let Some(path) = open.pop() {
        match std::fs::read_dir(&path) {
            Ok(items) => open.extend(items.map(|item| item.expect("an item").path())),
            Err(_) => found.extend(path.exists().then_some(path)),
        }
    }
    found.sort();
    found
}

/// The bytes of every file, unpacked where they are packed.
fn all_text(top: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).expect("own file");
        let unpacked = zstd::decode_all(bytes.as_slice()).unwrap_or_default();
        (path, [bytes, unpacked].concat())
    };
    files_below(top).into_iter().map(read).collect()
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

pub(crate) fn files_with(top: &Path, text: &str) -> Vec<PathBuf> {
    all_text(top).into_iter().filter(|(_, bytes)| has(bytes, text)).map(|(path, _)| path).collect()
}

/// Copies of a session in the archive, by their names.
fn copies(person: &Person) -> Vec<PathBuf> {
    let mut files = files_below(&person.home().join("archive"));
    files.retain(|path| path.to_string_lossy().contains(ID));
    files
}

/// A19: a secret in a kept session could not be removed, and a sync would have kept it again.
#[test]
fn a_forgotten_session_is_in_the_trash_and_not_kept_again() {
    let person = Person::with_agents();
    sub_agent(&person);
    let list = json!({ "version": 1, "entries": [{ "sessionId": ID, "firstPrompt": "Port", "summary": "Winnowing" }] });
    person.write(".claude/projects/-home-dev-ledger/sessions-index.json", &[list]);
    person.run("sync");
    let before = copies(&person);
    assert!(before.iter().any(|path| path.extension().is_some_and(|end| end == "link")), "{before:?}");
    assert!(files_with(&person.home().join("archive"), "Winnowing").len() >= 2, "a title and a list");
    let original = std::fs::read(person.user(CLAUDE)).expect("a file");

    let told = person.run("forget 0f5c00");
    assert!(
        told.contains("to the trash") && told.contains(&format!("offshoot forget --restore {ID}")),
        "{told}"
    );
    assert_eq!(std::fs::read(person.user(CLAUDE)).expect("a file"), original, "the agent's file stays");
    let is_forgotten = |when: &str| {
        assert_eq!(copies(&person), Vec::<PathBuf>::new(), "{when}");
        assert_eq!(files_with(&person.home().join("archive"), "Winnowing"), Vec::<PathBuf>::new(), "{when}");
    };
    is_forgotten("at once");
    person.run_at(NOW + 1, "sync");
    is_forgotten("after a sync");
    person.run("keep --now");
    is_forgotten("after keep --now");
    std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
    person.run("sync");
    is_forgotten("with a new catalog");
    let elsewhere = person.user(".claude/projects/-home-dev-moved");
    std::fs::create_dir_all(&elsewhere).expect("a directory");
    let moved = elsewhere.join(format!("{ID}.jsonl"));
    std::fs::rename(person.user(CLAUDE), &moved).expect("own file");
    person.run_at(NOW + 2, "sync");
    is_forgotten("after the agent moved it");
    std::fs::rename(&moved, person.user(CLAUDE)).expect("own file");
    assert!(!person.run("fsck").contains("finding") && !person.run("keep").contains("damaged"));
    assert!(person.run("keep").contains("1 session is forgotten, 1 of them in the trash"));
    assert!(person.run("doctor").contains("1 session is forgotten"));
    let status = person.json("keep --json");
    assert_eq!((&status["forgotten"], &status["in_trash"]), (&json!(1), &json!(1)));
    assert_eq!(
        person.json("fsck --json")["in_trash"],
        4,
        "the session, its sub-agent with its description, and the list"
    );
    let listed = person.json("forget --list --json");
    assert_eq!(listed["forgotten"][0]["session"], ID);
    assert_eq!(listed["forgotten"][0]["in_trash_until"], "2025-04-03T14:10:00Z");

    let told = person.run(&format!("forget --restore {ID}"));
    assert!(told.starts_with("Restored the kept copy"), "{told}");
    for path in &before {
        assert!(path.exists(), "{path:?}");
    }
    assert_eq!(files_below(&person.home().join("trash")), Vec::<PathBuf>::new());
    let shown = person.run("show 0f5c00");
    std::fs::remove_file(person.user(CLAUDE)).expect("own file");
    assert!(person.run_at(NOW + 3, "sync").contains("1 kept"));
    assert_eq!(person.run("show 0f5c00"), shown);
}

#[test]
fn a_session_that_is_deleted_now_leaves_nothing_in_the_home() {
    let person = Person::with_agents();
    person.run("sync");
    std::fs::remove_file(person.user(CLAUDE)).expect("own file");
    person.run_at(NOW + 1, "sync");
    person.run(&format!("sync --source {}", person.user(".claude").display()));
    assert!(person.run("ls --width 95").contains("(kept) Port the parser"));
    assert!(!files_with(&person.home(), "winnow").is_empty());
    person.run("forget 0f5c00");
    assert!(!person.run("ls --width 95").contains("Port the parser"));
    assert!(!files_with(&person.home(), "winnow").is_empty(), "it is in the trash");
    let told = person.run("forget --now 0f5c00");
    assert!(told.starts_with("Deleted the kept copy"), "{told}");
    assert_eq!(files_with(&person.home(), "winnow"), Vec::<PathBuf>::new());
    let told = person.run(&format!("forget --restore {ID}"));
    assert!(told.contains("No earlier copy was in the trash"), "{told}");
}

#[test]
fn the_trash_is_emptied_after_30_days_and_the_session_stays_forgotten() {
    let person = Person::with_agents();
    person.run("sync");
    person.run("forget 0f5c00");
    person.run_at(NOW + 29 * A_DAY, "sync");
    assert!(!files_below(&person.home().join("trash")).is_empty());
    person.run_at(NOW + 31 * A_DAY, "sync");
    assert_eq!(files_below(&person.home().join("trash")), Vec::<PathBuf>::new());
    assert!(person.run("forget --list").contains("deleted"));
    assert_eq!(copies(&person), Vec::<PathBuf>::new());
    // Restored, it is kept from its original.
    person.run(&format!("forget --restore {ID}"));
    assert!(!copies(&person).is_empty());
}

/// Rows are kept session by session, and the whole database once a day.
#[test]
fn a_session_of_a_database_is_forgotten_in_its_backups_too() {
    let person = Person::alone();
    let path = person.user(".local/share/opencode/opencode.db");
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    let database = rusqlite::Connection::open(&path).expect("a database");
    database
        .execute_batch(
            "CREATE TABLE session(id TEXT PRIMARY KEY, parent_id TEXT, title TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
             CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
             CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);
             CREATE TABLE todo(session_id TEXT, content TEXT);",
        )
        .expect("tables");
    for (id, said) in [("ses_aaa", "quokka"), ("ses_bbb", "wombat")] {
        database
            .execute_batch(&format!(
                "INSERT INTO session VALUES ('{id}', NULL, 'Marsupials', '/home/dev/x', 1741096800000, 1741096800000);
                 INSERT INTO message VALUES ('{id}m', '{id}', 1741096800000, '{{\"role\":\"user\"}}');
                 INSERT INTO part VALUES ('{id}p', '{id}m', '{id}', '{{\"type\":\"text\",\"text\":\"{said}\"}}');
                 INSERT INTO todo VALUES ('{id}', '{said}');"
            ))
            .expect("rows");
    }
    person.run("sync");
    let archive = person.home().join("archive");
    assert_eq!(files_with(&archive, "quokka").len(), 2, "its rows, and a backup");
    person.run("forget ses_aaa");
    assert_eq!(files_with(&archive, "quokka"), Vec::<PathBuf>::new());
    database.execute("UPDATE session SET time_updated = time_updated + 1", []).expect("rows");
    person.run_at(NOW + A_DAY, "sync");
    assert_eq!(files_with(&archive, "quokka"), Vec::<PathBuf>::new());
    assert_eq!(files_with(&archive, "wombat").len(), 2, "the other one is kept, and backed up");
    person.run("forget --restore ses_aaa");
    assert!(!files_with(&archive, "quokka").is_empty());
}

/// In the older storage of opencode every message and every part is a file.
#[test]
fn a_session_of_many_files_is_forgotten_with_all_of_them() {
    let person = Person::alone();
    opencode_storage(&person);
    person.run("sync");
    let archive = person.home().join("archive");
    assert_eq!(files_with(&archive, "saltbush").len(), 1);
    let before = files_below(&archive).len();
    person.run("forget ses_ccc");
    person.run_at(NOW + 1, "sync");
    let left: Vec<PathBuf> = files_below(&archive)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "zst"))
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    person.run("forget --restore ses_ccc");
    assert_eq!(files_below(&archive).len(), before + 1, "and the list of forgotten sessions");
}

#[test]
fn what_cannot_be_forgotten_is_refused() {
    let person = Person::with_agents();
    person.run("new Mine");
    let exit = |line: &str| {
        let output = person.command_at(NOW).args(line.split(' ')).stdin(Stdio::null()).bounded_output();
        output.expect("the program starts").status.code()
    };
    assert_eq!(exit("forget Mine"), Some(4));
    assert_eq!(exit("forget nothing-like-it"), Some(3));
    assert_eq!(exit("forget --restore 0f5c00"), Some(4), "it is not forgotten");
    assert_eq!(exit("forget"), Some(2));
    assert_eq!(exit("forget 0f5c00"), Some(0));
    assert_eq!(exit("forget 0f5c00"), Some(0), "twice is once");
    assert_eq!(exit(&format!("forget {}", person.user(CLAUDE).display())), Some(0), "by its path");
}

/// Without the list a forgotten session would be kept again.
#[test]
fn nothing_is_kept_while_the_list_of_forgotten_sessions_is_damaged() {
    let person = Person::with_agents();
    person.run("sync");
    person.run("forget 0f5c00");
    let list = person.home().join("archive/forgotten.json");
    std::fs::write(&list, "{").expect("own file");
    person.append_to_pi("one more");
    let told = person.run_at(NOW + 1, "sync");
    assert!(told.contains("forgotten.json` cannot be read"), "{told}");
    assert_eq!(copies(&person), Vec::<PathBuf>::new());
    assert!(person.run("doctor").contains("forgotten.json` cannot be read"));
    assert!(person.run("forget 0f5c00").contains("cannot be read"));
}

/// A19: the first `ls` linked 220 files into the home, and nothing said so.
#[test]
fn copies_are_announced_once() {
    let announced = |person: &Person, line: &str| {
        let mut command = person.command_at(NOW);
        let output = command.args(line.split(' ')).stdin(Stdio::null()).bounded_output();
        let output = output.expect("the program starts");
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
        assert!(!stdout.contains("keeps copies"), "{line}: {stdout}");
        stderr.matches("note: Offshoot keeps copies of other agents' sessions in `").count()
    };
    let person = Person::with_agents();
    assert_eq!(announced(&person, "ls --json"), 1);
    assert_eq!(announced(&person, "ls"), 0);
    // A sync in the background writes to no one; the next command tells it.
    let person = Person::with_agents();
    let mut unheard = person.command_at(NOW);
    unheard.args(["sync", "--quiet"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    assert!(unheard.bounded_status().expect("the program starts").success());
    assert_eq!(announced(&person, "new Mine"), 1);
    assert_eq!(announced(&person, "status"), 0);
    let person = Person::with_agents();
    person.run("keep --off");
    assert_eq!(announced(&person, "ls"), 0, "nothing is kept");
    assert_eq!(announced(&Person::alone(), "ls"), 0);
}
