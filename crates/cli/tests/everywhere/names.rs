//! What sessions are called: a word names one session or none, whoever holds it, and every printed name opens what it
//! stands for.

use std::path::Path;
use std::process::Stdio;

use offshoot_testkit::deadline::BoundedCommand;
use serde_json::{Value, json};

use crate::kept::{CLAUDE, sub_agent, threads_of_codex};
use crate::person::{NOW, Person, entry};

/// A session of pi about a folder, with one prompt.
pub(crate) fn pi(person: &Person, id: &str, folder: &Path, time: &str, text: &str) {
    let header = json!({"type":"session","version":3,"id":id,"timestamp":format!("2025-03-04T{time}.000Z"),"cwd":folder});
    let prompt = entry("p1", None, time, &json!({"role":"user","content":text}));
    person.write(&format!(".pi/agent/sessions/x/2025_{id}.jsonl"), &[header, prompt]);
}

fn opencode(person: &Person, sessions: &[(&str, &str)]) {
    let path = person.user(".local/share/opencode/opencode.db");
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    let database = rusqlite::Connection::open(&path).expect("a database");
    let tables = "CREATE TABLE session(id TEXT PRIMARY KEY, title TEXT, directory TEXT, time_created INTEGER, time_updated INTEGER);
        CREATE TABLE message(id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER, data TEXT);
        CREATE TABLE part(id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT);";
    database.execute_batch(tables).expect("tables");
    for (id, said) in sessions {
        let part = json!({"type":"text","text":said}).to_string();
        for (sql, more) in [
            ("INSERT INTO session VALUES (?1, ?2, '/home/dev/x', 1741096800000, 1741096800000)", "Untold"),
            ("INSERT INTO message VALUES (?1 || 'm', ?1, 1741096800000, ?2)", r#"{"role":"user"}"#),
            ("INSERT INTO part VALUES (?1 || 'p', ?1 || 'm', ?1, ?2)", &part),
        ] {
            database.execute(sql, [id, more]).expect("a row");
        }
    }
}

pub(crate) fn exit_of(person: &Person, now: u64, line: &str) -> (Option<i32>, String) {
    let output = person.command_at(now).args(line.split(' ')).stdin(Stdio::null()).bounded_output();
    let output = output.expect("the program starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The bug: as soon as one of several was changed here, its journal was the only one that a prefix was looked for among.
#[test]
fn letters_that_fit_several_sessions_change_none() {
    let person = Person::with_agents();
    pi(&person, "6f2a91c0-1111-7000-8000-000000000001", Path::new("/home/dev/x"), "12:00:00", "A neighbour");
    let foreign = person.bytes_of_agents();
    person.run("rename 6f2a91c0-0 Bursts");
    let journal = person.home().join("sessions/6f2a91c0-0000-7000-8000-000000000001.pi.jsonl");
    let before = std::fs::read(&journal).expect("a journal");
    for line in ["label 6f2a91 1 wrong", "label 6F2A91C0 1 wrong", "edit 6f2a91 1 wrong", "undo 6f2a91"] {
        let (code, told) = exit_of(&person, NOW + 100, line);
        assert_eq!(code, Some(3), "{line}: {told}");
        let sessions =
            "names 2 sessions\n  6f2a91c0-0  Bursts       pi  1m\n  6f2a91c0-1  A neighbour  pi  2h\n";
        assert!(told.contains(sessions) && told.contains("more letters"), "{told}");
    }
    assert_eq!(std::fs::read(&journal).expect("a journal"), before);
    assert!(person.run_at(NOW + 200, "label 6f2a91c0-0 1 right").contains("labelled [right]"));
    // one that came a moment ago counts too
    pi(&person, "6f2a91c0-0001-7000-8000-000000000001", Path::new("/home/dev/x"), "12:00:00", "Another");
    assert_eq!(exit_of(&person, NOW + 300, "label 6f2a91c0-0 1 wrong").0, Some(3));
    std::fs::remove_file(person.user(".pi/agent/sessions/x/2025_6f2a91c0-0001-7000-8000-000000000001.jsonl"))
        .expect("own file");
    assert_eq!(person.bytes_of_agents(), foreign);
}

#[test]
fn a_title_names_a_session_as_it_is_called_now() {
    let person = Person::with_agents();
    opencode(&person, &[("ses_e1aaaa", "Where is the quokka?")]);
    person.run("new Bursts");
    assert!(person.run("show untold --width 80").contains("quokka"));
    person.run_at(NOW + 100, "rename ses_e1 Bursts");
    let (code, told) = exit_of(&person, NOW + 200, "label bursts 1 wrong");
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("  Bursts  Built-in  3m\n  ses_e1  Bursts  opencode  1m\n"), "{told}");
    assert!(told.contains("hint: the id tells them apart"), "{told}");
    person.run_at(NOW + 300, "rename ses_e1 Marsupials");
    assert_eq!(exit_of(&person, NOW + 400, "tree untold").0, Some(3), "it is not called so any more");
    assert!(person.run_at(NOW + 500, "tree marsupials --width 80").contains("quokka"));
}

/// Runs the line that a search ends with, once for every hit.
fn open_every_hit(person: &Person, now: u64, query: &str) -> usize {
    let mut opened = 0;
    loop {
        let told = person.run_at(now, &format!("search {query} --width 200 -n {}", opened + 1));
        let rows = told.lines().count() - 1;
        if rows == opened {
            return opened;
        }
        opened = rows;
        let (_, line) = told.rsplit_once("Open one: offshoot ").expect(&told);
        let hit = told.lines().nth(rows - 1).expect("a row");
        let shown = person.run_at(now, line.trim_end());
        let word = hit.split_whitespace().last().expect("a word");
        let is_of_tool = hit.split_whitespace().nth(2) == Some("tool"); // a turn tells of those in a few words
        assert!(
            !shown.contains("error:") && (is_of_tool || shown.contains(word)),
            "`{hit}` by `{line}`: {shown}"
        );
    }
}

#[test]
fn the_line_that_a_search_prints_opens_the_hit() {
    let person = Person::with_agents();
    sub_agent(&person);
    pi(
        &person,
        "01a1e09c-0000-7000-8000-000000000002",
        Path::new("/home/dev/x"),
        "12:00:00",
        "burst and platypus",
    );
    opencode(&person, &[("ses_e1aaaa", "A burst of platypus"), ("ses_e1aaab", "Another burst, platypus")]);
    assert_eq!(open_every_hit(&person, NOW, "burst"), 8);
    assert_eq!(open_every_hit(&person, NOW, "platypus"), 5);
    assert_eq!(open_every_hit(&person, NOW, "lexer --tools"), 3);
    person.run_at(NOW + 100, "edit ses_e1aaaa 1 Yet_a_burst");
    person.run_at(NOW + 200, "edit 01a1e09c-0000-7000-8000-000000000002 1 Burst_again");
    person.run_at(NOW + 300, "sync");
    assert_eq!(open_every_hit(&person, NOW + 300, "burst"), 10);
}

#[test]
fn a_hit_in_another_place_is_opened_by_its_path() {
    let person = Person::with_agents();
    let elsewhere = person.user("elsewhere of mine");
    std::fs::rename(person.user(".claude"), &elsewhere).expect("own folder");
    let output = person
        .command_at(NOW)
        .arg("search")
        .args(["winnow", "--width", "200", "--source"])
        .arg(&elsewhere)
        .bounded_output();
    let told = String::from_utf8(output.expect("a start").stdout).expect("text");
    let (_, line) = told.rsplit_once("Open one: offshoot ").expect("a line");
    let mut shell = std::process::Command::new("/bin/sh");
    shell.arg("-c").arg(format!("{} {line}", env!("CARGO_BIN_EXE_offshoot"))).env_clear();
    shell.env("HOME", person.user("")).env("TZ", "UTC").env("OFFSHOOT_AUTO_SYNC", "false");
    let shown = shell.bounded_output().expect("a shell");
    assert!(String::from_utf8_lossy(&shown.stdout).contains("winnow"), "{line}: {shown:?}");
    assert!(told.starts_with("0f5c00 #1"), "{told}");
}

/// Every session that a list names is shown by that name, and every hit by its own.
fn every_name_is_right(person: &Person, now: u64, query: &str) -> Vec<String> {
    let mut names = Vec::new();
    for row in person.json_lines_at(now, "ls --json=lines") {
        let named = row["named"].as_str().expect("a name");
        let shown: Value =
            serde_json::from_str(&person.run_at(now, &format!("inspect {named} --json"))).expect("JSON");
        let file = shown["file"].as_str().expect("a file");
        let journal = row["changed_as"].as_str().map(|id| format!("/{id}.jsonl"));
        assert!(
            Some(file) == row["path"].as_str() || journal.is_some_and(|id| file.ends_with(&id)),
            "{row}: {shown}"
        );
        names.push(named.to_owned());
    }
    for hit in person.json_lines_at(now, &format!("search {query} --json=lines")) {
        let [named, entry, text] = ["named", "entry", "text"].map(|key| hit[key].as_str().expect("a text"));
        let told = person.run_at(now, &format!("show {named} --at {entry} --json"));
        assert!(told.contains(text), "{hit}: {told}");
    }
    names
}

#[test]
fn what_was_written_anew_and_what_it_was_can_both_be_named() {
    let person = Person::with_agents();
    person.run("sync");
    let before = person.run("show 0f5c00");
    let id = "0f5c0000-0000-4000-8000-000000000001";
    person.write(CLAUDE, &[json!({
        "parentUuid": null, "isSidechain": false, "type": "user", "uuid": "n1", "cwd": "/home/dev/ledger", "sessionId": id,
        "timestamp": "2025-03-04T10:00:00.000Z", "message": {"role": "user", "content": "Begin anew with winnow"},
    })]);
    person.run_at(NOW + 1, "sync");
    assert!(person.run_at(NOW + 2, "show 0f5c00").contains("Begin anew"), "what its program has now");
    assert_eq!(person.run_at(NOW + 2, "show 0f5c00~2"), before);
    assert_eq!(person.run_at(NOW + 2, &format!("show {id}~2")), before);
    assert_eq!(exit_of(&person, NOW + 2, "show 0f5c00~3").0, Some(3));
    assert!(person.run_at(NOW + 2, "ls --width 95").contains("0f5c00~2  (kept) Port the parser"));
    let names = every_name_is_right(&person, NOW + 2, "winnow");
    assert!(names.contains(&format!("{id}~2")), "{names:?}");
    person.run_at(NOW + 100, "edit 0f5c00 1 Quokka_with_winnow");
    person.run_at(NOW + 200, "edit 0f5c00~2 1 Wombat_with_winnow");
    person.run_at(NOW + 300, "sync");
    assert!(person.run_at(NOW + 300, "export 0f5c00 --to markdown").contains("Quokka"));
    assert!(person.run_at(NOW + 300, "export 0f5c00~2 --to markdown").contains("Wombat"));
    every_name_is_right(&person, NOW + 300, "winnow");
}

#[test]
fn a_thread_that_was_reverted_is_named_by_its_id() {
    let person = Person::alone();
    threads_of_codex(&person);
    let thread = "01a1e09a-0000-7000-8000-000000000001";
    let shown = person.run(&format!("show {thread}"));
    assert!(
        shown.contains("A bilby?") && shown.contains("A quokka?") && !shown.contains("wombat"),
        "{shown}"
    );
    assert!(person.run(&format!("show {thread}~2")).contains("A wombat?"));
    every_name_is_right(&person, NOW, "re:quokka|wombat|bilby|numbat");
    assert!(open_every_hit(&person, NOW, "wombat") == 1 && open_every_hit(&person, NOW, "bilby") == 1);
    person.run_at(NOW + 100, &format!("edit {thread} 2 A_platypus?"));
    assert!(person.run_at(NOW + 200, &format!("export {thread} --to markdown")).contains("A_platypus?"));
    every_name_is_right(&person, NOW + 200, "re:quokka|wombat|bilby|numbat");
}

#[test]
fn a_copy_and_the_file_it_was_made_of_can_both_be_named() {
    let person = Person::with_agents();
    let path = person.user(CLAUDE);
    person.run(&format!("import {}", path.display()));
    person.run_at(NOW + 100, "rename 0f5c00 Ours");
    assert!(person.run_at(NOW + 200, "tree 0f5c00 --width 80").starts_with("Ours  0f5c00"));
    assert!(person.run_at(NOW + 200, "tree 0f5c00~2 --width 80").starts_with("Port the parser"));
    every_name_is_right(&person, NOW + 900, "winnow");
}

#[test]
fn without_a_name_the_session_used_last_in_this_folder_is_meant() {
    let person = Person::with_agents();
    let work = person.work();
    pi(&person, "77777777-0000-7000-8000-000000000001", &work, "12:00:00", "Of pi");
    pi(
        &person,
        "88888888-0000-7000-8000-000000000001",
        work.parent().expect("a folder"),
        "15:00:00",
        "Above",
    );
    assert!(person.run("tree --width 80").starts_with("Of pi"), "{}", person.run("tree --width 80"));
    let line = json!({
        "parentUuid": null, "isSidechain": false, "type": "user", "uuid": "w1", "cwd": &work,
        "sessionId": "0f5c0000-0000-4000-8000-000000000002", "timestamp": "2025-03-04T13:00:00.000Z",
        "message": {"role": "user", "content": "Of Claude"},
    });
    person.write(".claude/projects/w/0f5c0000-0000-4000-8000-000000000002.jsonl", &[line]);
    assert!(person.run("tree --width 80").starts_with("Of Claude"), "it is seen at once");
    let (code, told) = exit_of(&person, NOW, "undo");
    assert_eq!(code, Some(4), "the session that `tree` shows, in which nothing was done: {told}");
    person.run("label 1 mine");
    assert!(person.run_at(NOW + 100, "tree --width 80").contains("[mine]"));
    assert!(person.run_at(NOW + 200, "ops").contains("label"));
    person.run_at(NOW + 300, "undo");
    assert!(!person.run_at(NOW + 400, "tree --width 80").contains("[mine]"));
    person.run_at(NOW + 500, "new Ours");
    assert!(person.run_at(NOW + 600, "tree --width 80").starts_with("Ours"));
}
