//! Forgotten sessions whose agent keeps them in one list or in one database: what belongs to several of them is neither in
//! the way when one is restored, nor does it bring another one back.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::forget::{A_DAY, files_below, files_with};
use crate::kept::CLAUDE;
use crate::person::{NOW, Person};

const LIST: &str = ".claude/projects/-home-dev-ledger/sessions-index.json";
const FIRST: &str = "0f5c0000-0000-4000-8000-000000000001";
const SECOND: &str = "1d2e0000-0000-4000-8000-000000000002";

/// A second session of Claude Code in the project, and a list that names them.
fn two_in_a_list(person: &Person, named: &[(&str, &str)]) {
    let first = std::fs::read_to_string(person.user(CLAUDE)).expect("a file");
    let second = first.replace(FIRST, SECOND).replace("winnow", "quokka");
    std::fs::write(person.user(&CLAUDE.replace(FIRST, SECOND)), second).expect("own file");
    list(person, named);
}

fn list(person: &Person, named: &[(&str, &str)]) {
    let entry =
        |(id, title): &(&str, &str)| json!({ "sessionId": id, "firstPrompt": title, "summary": title });
    let entries: Vec<_> = named.iter().map(entry).collect();
    person.write(LIST, &[json!({ "version": 1, "entries": entries })]);
}

fn opencode_database(person: &Person) -> rusqlite::Connection {
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
    database
}

fn restored(person: &Person, id: &str) {
    let told = person.run_at(NOW + 5, &format!("forget --restore {id}"));
    assert!(told.starts_with("Restored the kept copy"), "{told}");
    assert!(!person.run_at(NOW + 5, "forget --list").contains(id));
}

/// `forget` took the list of the project though it does not name the session, the next sync kept it again, and `--restore` ended
/// with "already exists" from then on.
#[test]
fn a_list_that_does_not_name_a_session_stays_when_it_is_forgotten() {
    let person = Person::with_agents();
    two_in_a_list(&person, &[(SECOND, "Bandicoot")]);
    person.run("sync");
    let archive = person.home().join("archive");
    let lists =
        || files_below(&archive).into_iter().filter(|file| file.to_string_lossy().contains("sessions-index"));
    let before: Vec<_> = lists().collect();
    assert!(!before.is_empty(), "the list is kept");
    person.run(&format!("forget {FIRST}"));
    assert_eq!(lists().collect::<Vec<_>>(), before);
    restored(&person, FIRST);
    assert_eq!(lists().collect::<Vec<_>>(), before);
}

/// The agent removes the session from its list, and the list is kept again.
#[test]
fn a_session_is_restored_although_its_list_was_kept_again() {
    let person = Person::with_agents();
    two_in_a_list(&person, &[(FIRST, "Numbat"), (SECOND, "Bandicoot")]);
    person.run("sync");
    let archive = person.home().join("archive");
    person.run(&format!("forget {FIRST}"));
    assert!(files_with(&archive, "Numbat").is_empty());
    list(&person, &[(SECOND, "Potoroo")]);
    let second = person.user(&CLAUDE.replace(FIRST, SECOND));
    let mut grown = std::fs::read_to_string(&second).expect("a file");
    grown.push_str(&grown.lines().next().expect("a line").replace("\"c1\"", "\"c9\""));
    grown.push('\n');
    std::fs::write(&second, grown).expect("own file");
    person.run_at(NOW + 1, "sync");
    let kept_again = files_with(&archive, "Potoroo");
    assert!(
        kept_again.iter().any(|file| file.to_string_lossy().contains("sessions-index")),
        "{kept_again:?}"
    );
    restored(&person, FIRST);
    assert_eq!(files_with(&archive, "Potoroo"), kept_again, "the newer list stays");
    assert_eq!(files_below(&person.home().join("trash")), Vec::<PathBuf>::new());
    assert!(!files_with(&archive, "winnow").is_empty());
}

/// The backup of the day was made again under its name, and `--restore` ended with "already exists".
#[test]
fn a_session_of_a_database_is_restored_on_the_day_it_was_forgotten() {
    let person = Person::alone();
    let database = opencode_database(&person);
    person.run("sync");
    let archive = person.home().join("archive");
    person.run("forget ses_aaa");
    database
        .execute("UPDATE session SET time_updated = time_updated + 1 WHERE id = 'ses_bbb'", [])
        .expect("rows");
    person.run_at(NOW + 1, "sync");
    assert_eq!(files_with(&archive.join("backups"), "wombat").len(), 1, "the backup was made again");
    restored(&person, "ses_aaa");
    assert!(!files_with(&archive, "quokka").is_empty());
    assert_eq!(files_below(&person.home().join("trash")), Vec::<PathBuf>::new());
}

/// The list, or the backup, was in the trash of the first session with the words of the second.
#[test]
fn what_is_deleted_now_is_not_in_the_trash_of_another_session() {
    let check = |person: &Person, first: &str, second: &str, word: &str| {
        person.run("sync");
        let trash = person.home().join("trash");
        person.run(&format!("forget {first}"));
        assert!(!files_with(&trash, word).is_empty(), "{word}: the first took it to the trash");
        person.run(&format!("forget --now {second}"));
        // The catalog lists what its agent still has.
        let is_deleted =
            || [&trash, &person.home().join("archive")].iter().all(|top| files_with(top, word).is_empty());
        assert!(is_deleted(), "{word}: at once");
        restored(person, first);
        assert!(is_deleted(), "{word}: after the first is restored");
    };
    let person = Person::with_agents();
    two_in_a_list(&person, &[(FIRST, "Numbat"), (SECOND, "Bandicoot")]);
    check(&person, FIRST, SECOND, "Bandicoot");
    let person = Person::alone();
    let database = opencode_database(&person);
    check(&person, "ses_aaa", "ses_bbb", "wombat");
    drop(database);
}

/// Both are in the trash, and the shared list or backup went there with the first.
#[test]
fn a_restored_session_does_not_bring_back_another_one() {
    let check = |person: &Person, first: &str, second: &str, word: &str| {
        person.run("sync");
        person.run(&format!("forget {first}"));
        person.run(&format!("forget {second}"));
        restored(person, first);
        let archive = person.home().join("archive");
        assert_eq!(files_with(&archive, word), Vec::<PathBuf>::new());
        restored(person, second);
    };
    let person = Person::with_agents();
    two_in_a_list(&person, &[(FIRST, "Numbat"), (SECOND, "Bandicoot")]);
    check(&person, FIRST, SECOND, "Bandicoot");
    let person = Person::alone();
    let database = opencode_database(&person);
    check(&person, "ses_aaa", "ses_bbb", "wombat");
    drop(database);
}

/// What a second `forget` moved replaced the copy in the trash, and was deleted 30 days after the first one.
#[test]
fn a_copy_that_is_forgotten_again_is_in_the_trash_beside_the_first_for_30_days() {
    let person = Person::with_agents();
    person.run("sync");
    person.run(&format!("forget {FIRST}"));
    // Without the list of forgotten sessions it is kept again.
    let forgotten = person.home().join("archive/forgotten.json");
    let list = std::fs::read(&forgotten).expect("a list");
    std::fs::remove_file(&forgotten).expect("own file");
    let grown = std::fs::read_to_string(person.user(CLAUDE)).expect("a file").replace("winnow", "quokka");
    std::fs::write(person.user(CLAUDE), grown).expect("own file");
    person.run_at(NOW + 20 * A_DAY, "sync");
    std::fs::write(&forgotten, list).expect("own file");
    person.run_at(NOW + 20 * A_DAY, &format!("forget {FIRST}"));
    let trash = person.home().join("trash");
    let is_there = |word: &str| !files_with(&trash, word).is_empty();
    assert!(is_there("winnow") && is_there("quokka"), "{:?}", files_below(&trash));
    let of_session = |path: &Path| path.to_string_lossy().contains(FIRST);
    assert!(!files_below(&person.home().join("archive")).iter().any(|path| of_session(path)));
    person.run_at(NOW + 49 * A_DAY, "sync");
    assert!(is_there("winnow") && is_there("quokka"), "30 days after the second time");
    person.run_at(NOW + 51 * A_DAY, "sync");
    assert!(!is_there("winnow") && !is_there("quokka"));
}
