//! What may go wrong on the way to a list.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Instant;

use offshoot_testkit::deadline::{BoundedChild, Deadline};
use serde_json::json;

use crate::person::{NOW, Person};

#[test]
fn a_folder_that_may_not_be_read_hides_nobody_else() {
    let person = Person::with_agents();
    let closed = person.user(".claude/projects/-home-dev-ledger");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).expect("own folder");
    let listed = person.run_as_ordinary_user("ls --width 95");
    let synced = person.run_as_ordinary_user("sync");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).expect("own folder");
    assert!(listed.contains("6f2a91") && !listed.contains("0f5c00"), "{listed}");
    assert!(listed.contains("1 file or folder could not be read. Which: offshoot sync"), "{listed}");
    assert!(
        synced.contains("could not read `") && synced.contains("-home-dev-ledger`: Permission denied"),
        "{synced}"
    );
    assert!(
        person.run_as_ordinary_user("ls --width 95").contains("0f5c00"),
        "it is found when it can be read"
    );
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o000)).expect("own folder");
    let kept = person.run_as_ordinary_user("ls --width 95");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o755)).expect("own folder");
    assert!(kept.contains("0f5c00"), "what is known of it stays: {kept}");
}

#[test]
fn whoever_may_not_write_gets_a_list_all_the_same() {
    let person = Person::with_agents();
    std::fs::create_dir_all(person.home()).expect("a folder");
    std::fs::set_permissions(person.home(), std::fs::Permissions::from_mode(0o555)).expect("own folder");
    let listed = person.run_as_ordinary_user("ls --width 95");
    std::fs::set_permissions(person.home(), std::fs::Permissions::from_mode(0o755)).expect("own folder");
    assert!(listed.contains("6f2a91"), "{listed}");
    assert!(listed.contains("The list of sessions cannot be kept for the next time"), "{listed}");
}

#[test]
fn a_damaged_catalog_is_made_anew_and_that_is_said() {
    let person = Person::with_agents();
    let before = person.run("search burst --width 95");
    std::fs::write(person.home().join("catalog.db"), "no catalog at all".repeat(1_000)).expect("own file");
    let after = person.run("search burst --width 95");
    assert_eq!(
        after,
        format!("{before}The catalog was damaged and has been made anew. No session is lost by that.\n")
    );
    assert_eq!(person.run("search burst --width 95"), before);
}

fn many_sessions(count: u64) -> Person {
    let person = Person::alone();
    for n in 0..count {
        write_session(&person, n, "word of it");
    }
    person
}

fn write_session(person: &Person, n: u64, words: &str) {
    let said = |id: &str, role: &str, words: &str| json!({"type":"message","id":id,"parentId":null,"timestamp":"2025-03-04T12:00:01.000Z","message":{"role":role,"content":words}});
    let words = format!("number{n} {}", format!("{words} ").repeat(200));
    let id = format!("{n:08}-0000-7000-8000-000000000001");
    person.write(&format!(".pi/agent/sessions/p/{id}.jsonl"), &[
        json!({"type":"session","version":3,"id":id,"timestamp":"2025-03-04T12:00:00.000Z","cwd":"/home/dev"}),
        said("u1", "user", &words),
        said("a1", "assistant", &words),
    ]);
}

fn answers(person: &Person) -> [Vec<serde_json::Value>; 3] {
    ["ls --json=lines", "search number7* --json=lines", "search umber14 --inside --json=lines"]
        .map(|line| person.json_lines(line))
}

#[test]
fn several_syncs_at_once_do_no_harm() {
    let person = many_sessions(60);
    let mut children: Vec<_> = (0..4)
        .map(|_| {
            person.command_at(NOW).args(["sync", "--finish"]).stdout(Stdio::null()).spawn().expect("a start")
        })
        .collect();
    for child in &mut children {
        assert!(child.bounded_wait().success());
    }
    let together = answers(&person);
    std::fs::remove_dir_all(person.home()).expect("own folder");
    assert_eq!(together, answers(&person), "other answers than of a catalog made afresh");
    assert_eq!(together.each_ref().map(Vec::len), [60, 2, 2]);
}

/// The process is killed at many points: when the log has grown so far, or after a part of the time that a whole sync
/// takes. What it leaves is brought up to date by the next, and files change between two of them: then what they said for
/// a while is listed too.
#[test]
fn a_killed_sync_loses_nothing() {
    let points: u64 =
        if std::env::var_os("OFFSHOOT_PROOFS").is_some_and(|proofs| proofs == "full") { 100 } else { 10 };
    let person = many_sessions(150);
    let begun = Instant::now();
    person.run("sync --finish");
    let takes = begun.elapsed();
    let untouched = answers(&person);
    assert_eq!(untouched.each_ref().map(Vec::len), [150, 22, 22]);
    let say_something_else_for_a_while = || {
        (0..150).step_by(7).for_each(|n| write_session(&person, n, "something else"));
        person.run("sync");
        (0..150).step_by(7).for_each(|n| write_session(&person, n, "word of it"));
    };
    say_something_else_for_a_while();
    let written_anew = answers(&person);
    assert_eq!(written_anew.each_ref().map(Vec::len), [150 + 22, 22 + 6, 22 + 6]);
    let mut killed = 0;
    for point in 0..points {
        let expected = if point % 3 == 0 {
            std::fs::remove_dir_all(person.home()).expect("own folder");
            &untouched
        } else {
            say_something_else_for_a_while();
            &written_anew
        };
        let mut child =
            person.command_at(NOW).args(["sync", "--finish"]).stdout(Stdio::null()).spawn().expect("a start");
        let begun = Instant::now();
        let log = person.home().join("catalog.db-wal");
        let (enough, late) = (20_000 * point, takes.mul_f64(point as f64 / points as f64));
        let deadline = Deadline::begin("the end of `sync`");
        while child.try_wait().expect("a child").is_none() {
            deadline.check();
            let is_there = match point % 2 {
                0 => std::fs::metadata(&log).is_ok_and(|log| log.len() >= enough),
                _ => begun.elapsed() >= late,
            };
            if is_there {
                child.kill().expect("own child");
            }
        }
        killed += u64::from(child.bounded_wait().code().is_none());
        assert!(
            answers(&person) == *expected,
            "killed at point {point}: other answers than of one that was not"
        );
    }
    assert!(killed * 2 > points, "{killed} of {points} were killed before they were done");
}
