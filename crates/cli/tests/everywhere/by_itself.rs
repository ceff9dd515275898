//! What is done behind every command: a sync that nobody waits for.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use offshoot_store::catalog::Catalog;
use offshoot_testkit::deadline::{BoundedChild, BoundedCommand, until};

use crate::person::{NOW, Person};

/// Ten minutes and a second later.
const LATER: u64 = NOW + 601;

/// Whom nothing is said to in the environment.
fn as_set_by_default(mut command: Command) -> Command {
    command.env_remove("OFFSHOOT_AUTO_SYNC").stdin(Stdio::null());
    command
}

fn run(person: &Person, now: u64, words: &[&str]) -> String {
    let output = as_set_by_default(person.command_at(now)).args(words).bounded_output().expect("a start");
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Waits until nobody is bringing the catalog up to date. Whoever begins holds the file before the command ends.
fn when_all_is_done(person: &Person) {
    let file = File::options().create(true).append(true).open(person.home().join("sync.lock"));
    file.expect("a home").lock().expect("a lock");
}

fn synced_at(person: &Person) -> Option<i64> {
    Catalog::synced_at_in(&person.home().join("catalog.db")).expect("a catalog")
}

#[test]
fn every_command_has_new_sessions_looked_for_when_the_last_look_is_long_ago() {
    let words: [&[&str]; 6] =
        [&["new"], &["status"], &["agents"], &["config", "show"], &["doctor"], &["chat"]];
    for words in words {
        let person = Person::with_agents();
        person.run("sync");
        let before = synced_at(&person);
        run(&person, NOW + 599, words);
        when_all_is_done(&person);
        assert_eq!(synced_at(&person), before, "{words:?}: the last look was lately");
        let claude = person.user(".claude");
        person.append_to_pi("And the quokka?");
        run(&person, LATER, words);
        when_all_is_done(&person);
        assert_ne!(synced_at(&person), before, "{words:?}");
        // it is known and kept, though nobody asked
        std::fs::remove_dir_all(claude).expect("own folder");
        std::fs::remove_dir_all(person.user(".pi")).expect("own folder");
        let said = person.json_lines_at(LATER + 60, "search quokka --json=lines");
        assert_eq!(said.len(), 1, "{words:?}");
    }
}

#[test]
fn the_first_look_needs_a_home_and_agents() {
    let alone = Person::alone();
    run(&alone, NOW, &["new"]);
    assert!(!alone.home().join("sync.lock").exists(), "there is nothing to look for");
    let person = Person::with_agents();
    run(&person, NOW, &["config", "show"]);
    assert!(!person.home().exists(), "who keeps nothing here gets no home");
    run(&person, NOW, &["new"]);
    when_all_is_done(&person);
    assert!(synced_at(&person).is_some());
    assert!(person.home().join("archive").is_dir());
}

#[test]
fn whoever_does_not_want_that_says_so() {
    let said = "auto_sync=false";
    let flag = |person: &Person| run(person, LATER, &["new", "--set", said]);
    let file = |person: &Person| run(person, LATER, &["config", "set", "auto_sync", "false"]);
    let variable = |person: &Person| person.run_at(LATER, "new");
    let ways: [&dyn Fn(&Person) -> String; 3] = [&flag, &file, &variable];
    for way in ways {
        let person = Person::with_agents();
        person.run("sync");
        let before = synced_at(&person);
        way(&person);
        when_all_is_done(&person);
        assert_eq!(synced_at(&person), before);
    }
}

#[test]
fn what_is_about_the_program_looks_for_nothing() {
    let person = Person::with_agents();
    person.run("sync");
    let before = synced_at(&person);
    let words: [&[&str]; 5] =
        [&["completions", "bash"], &["man"], &["--help"], &["--version"], &["ls", "--help"]];
    for words in words {
        run(&person, LATER, words);
        when_all_is_done(&person);
        assert_eq!(synced_at(&person), before, "{words:?}");
    }
}

#[test]
fn nobody_begins_while_another_is_at_it() {
    let person = Person::with_agents();
    person.run("sync");
    let before = synced_at(&person);
    let lock = File::options().create(true).append(true).open(person.home().join("sync.lock"));
    let lock = lock.expect("a home");
    lock.lock().expect("a lock");
    run(&person, LATER, &["new"]);
    assert_eq!(synced_at(&person), before);
    assert_eq!(
        person.json_lines_at(LATER, "search burst --json=lines").len(),
        5,
        "who asks gets an answer all the same"
    );
}

/// What the other process was told on the way: the home, and what was set for this command.
#[test]
fn it_looks_where_the_command_looked_and_does_what_was_set() {
    let person = Person::with_agents();
    let words = ["--home", "elsewhere", "--set", "keep=false", "new"];
    let output = as_set_by_default(person.command_at(NOW)).args(words).bounded_output().expect("a start");
    assert!(output.status.success(), "{output:?}");
    let home = person.work().join("elsewhere");
    File::options().append(true).open(home.join("sync.lock")).expect("a turn").lock().expect("a lock");
    assert!(Catalog::synced_at_in(&home.join("catalog.db")).expect("a catalog").is_some());
    assert!(!person.home().exists());
    let kept = person.json("keep --json --home elsewhere");
    assert_eq!(kept["files"], 0, "{kept}");
}

/// What goes wrong there is told in the log and to nobody else.
#[test]
fn a_look_that_fails_disturbs_nobody() {
    let person = Person::with_agents();
    run(&person, NOW, &["new"]);
    when_all_is_done(&person);
    person.run("status"); // it says that copies are kept
    // a folder cannot be a catalog
    std::fs::remove_file(person.home().join("catalog.db")).expect("own file");
    std::fs::create_dir(person.home().join("catalog.db")).expect("own folder");
    let output = as_set_by_default(person.command_at(LATER)).arg("status").bounded_output().expect("a start");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    when_all_is_done(&person);
}

#[test]
fn a_long_conversation_has_them_looked_for_again_and_again() {
    let person = Person::with_agents();
    person.run("sync");
    let mut command = as_set_by_default(person.command_at(NOW));
    command.env_remove("OFFSHOOT_FIXED_STAMPS").env("OFFSHOOT_SYNC_INTERVAL", "1ms");
    // its own group, as a shell would give it
    command.arg("chat").stdin(Stdio::piped()).stdout(Stdio::null()).process_group(0);
    let mut chat = command.spawn().expect("a start");
    for words in ["And the quokka?", "And the numbat?"] {
        person.append_to_pi(words);
        let length =
            i64::try_from(std::fs::metadata(person.pi_file()).expect("a file").len()).expect("a short file");
        until(&format!("`{words}` is read"), || read_to(&person) == length);
    }
    assert!(chat.try_wait().expect("own child").is_none(), "it goes on");
    drop(chat.stdin.take().map(|mut stdin| stdin.flush()));
    assert!(chat.bounded_wait().success());
    when_all_is_done(&person);
}

fn read_to(person: &Person) -> i64 {
    let catalog = rusqlite::Connection::open(person.home().join("catalog.db")).expect("a catalog");
    catalog.busy_timeout(std::time::Duration::from_secs(30)).expect("a connection");
    let sql = "SELECT max(read_to) FROM session WHERE id LIKE '6f2a91c0%'";
    catalog.query_row(sql, [], |row| row.get(0)).expect("a row")
}
