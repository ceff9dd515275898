//! What may go wrong on the way to a list.

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

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

/// The process is killed while it writes, at many points; what it leaves is brought up to date by the next.
#[test]
fn a_killed_sync_loses_nothing() {
    let person = Person::alone();
    for n in 0..150 {
        let said = |id: &str, role: &str, words: &str| json!({"type":"message","id":id,"parentId":null,"timestamp":"2025-03-04T12:00:01.000Z","message":{"role":role,"content":words}});
        let words = format!("number{n} {}", "word of it ".repeat(200));
        let id = format!("{n:08}-0000-7000-8000-000000000001");
        person.write(&format!(".pi/agent/sessions/p/{id}.jsonl"), &[
            json!({"type":"session","version":3,"id":id,"timestamp":"2025-03-04T12:00:00.000Z","cwd":"/home/dev"}),
            said("u1", "user", &words),
            said("a1", "assistant", &words),
        ]);
    }
    let answers = |person: &Person| {
        (person.json_lines("ls --json=lines"), person.json_lines("search number7* --json=lines"))
    };
    let expected = answers(&person);
    assert_eq!((expected.0.len(), expected.1.len()), (150, 22));
    let points =
        if std::env::var_os("OFFSHOOT_PROOFS").is_some_and(|proofs| proofs == "full") { 100 } else { 12 };
    for point in 0..points {
        std::fs::remove_dir_all(person.home()).expect("own folder");
        let mut child =
            person.command_at(NOW).arg("sync").stdout(Stdio::null()).spawn().expect("the program starts");
        let log = person.home().join("catalog.db-wal");
        // when the log has grown so far, or when it is done
        let enough = 40_000 * point;
        while child.try_wait().expect("a child").is_none() {
            if std::fs::metadata(&log).is_ok_and(|log| log.len() >= enough) {
                child.kill().expect("own child");
            }
        }
        child.wait().expect("a child");
        assert!(
            answers(&person) == expected,
            "killed at {enough} bytes: other answers than of one that was not"
        );
    }
}
