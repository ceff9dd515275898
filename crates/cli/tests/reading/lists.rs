//! `ls` and `versions`.

use serde_json::Value;

use crate::check;
use crate::home::{BURST_ID, TestHome, flipped, of_tomorrow, session};

#[test]
fn an_empty_home_says_how_to_begin() {
    check(
        "ls-empty",
        &TestHome::empty(),
        &["ls", "ls --width 80", "ls --json", "versions", "tree", "fsck", "doctor --json"],
    );
}

#[test]
fn sessions_are_listed_in_threads() {
    check(
        "ls",
        &TestHome::filled(),
        &[
            "ls --width 120",
            "ls --width 80",
            "ls --width 62",
            "ls --width 50",
            "ls --width 80 --ascii",
            "ls --width 80 --quiet",
            "ls",
        ],
    );
}

/// sessions are nested below their parents. A parent that is gone, a circle or a parent that is filtered out loses no session.
#[test]
fn a_tree_of_sessions_has_every_session_once() {
    let home = TestHome::empty();
    let put = |id: &str, parent: Option<&str>, project: &str| {
        home.put(&session(id, "2025-03-04T13:00:00Z", Some(project), Some(id), parent, "u1 - a1*"));
    };
    put("root", None, "/a");
    put("child", Some("root"), "/a");
    put("grandchild", Some("child"), "/b");
    put("orphan", Some("gone"), "/a");
    put("ring-1", Some("ring-2"), "/a");
    put("ring-2", Some("ring-1"), "/a");
    put("self", Some("self"), "/a");
    assert_eq!(
        nested(&home, "ls --tree --json"),
        ["orphan()", "ring-1(ring-2())", "root(child(grandchild()))", "self()"]
    );
    assert_eq!(nested(&home, "ls --tree child --json"), ["child(grandchild())"]);
    assert_eq!(nested(&home, "ls --tree --project /b --json"), ["grandchild()"], "its parent is not listed");
    let text = home.run("ls --tree --width 70");
    assert!(text.contains("  ╰ grandchild") && text.ends_with("7 sessions.\n"), "{text}");
}

/// Each root with its children in brackets.
fn nested(home: &TestHome, line: &str) -> Vec<String> {
    fn node(item: &Value) -> String {
        assert_eq!(item["session"]["id"], item["header"]["id"]);
        let children = item["children"].as_array().expect("a list");
        let children: Vec<String> = children.iter().map(node).collect();
        format!("{}({})", item["session"]["id"].as_str().expect("an id"), children.join(" "))
    }
    let printed: Value = serde_json::from_slice(&home.output(line).stdout).expect("JSON");
    let mut roots: Vec<String> = printed["sessions"].as_array().expect("a list").iter().map(node).collect();
    roots.sort();
    roots
}

/// JSON does not nest without end, because its readers have limits; all sessions are there.
#[test]
fn a_long_chain_of_sessions_is_listed_whole() {
    let home = TestHome::empty();
    for at in 0..70 {
        let parent = (at > 0).then(|| format!("s{:02}", at - 1));
        let id = format!("s{at:02}");
        home.put(&session(&id, "2025-03-04T13:00:00Z", None, None, parent.as_deref(), "u1 - a1*"));
    }
    let roots = nested(&home, "ls --tree --json");
    assert_eq!(roots.len(), 1);
    assert_eq!(roots.concat().matches('s').count(), 70);
    assert!(roots.concat().contains("s47(s48() s49() "), "{roots:?}");
}

#[test]
fn a_list_for_scripts_has_fixed_names() {
    check("ls-json", &TestHome::filled(), &["ls --json", "ls --json=lines", "--list-sessions --json=lines"]);
}

#[test]
fn a_list_can_be_narrowed() {
    check(
        "ls-narrowed",
        &TestHome::filled(),
        &[
            "ls --width 80 --project /home/dev/ledger",
            "ls --width 80 --project /home/../home/dev",
            "ls --width 80 --since 5m",
            "ls --width 80 --since 2025-01-01",
            "ls --width 80 --label DONE",
            "ls --width 80 --agent claude",
            "ls --width 80 --agent nobody",
            "ls --since soon",
            "list --all --label done",
        ],
    );
}

#[test]
fn only_people_are_spared_long_lists() {
    let home = TestHome::empty();
    for n in 0..25 {
        let opened_at = format!("2025-03-04T13:{n:02}:00Z");
        home.put(&session(&format!("{n:02}aaaaaa"), &opened_at, None, None, None, "u1 - a1*"));
    }
    let spared = home.run("ls --width 80");
    assert!(spared.ends_with("20 of 25 sessions. All: offshoot ls --all\n"), "{spared}");
    assert!(spared.contains("24aaaa") && !spared.contains("04aaaa"), "the newest are shown: {spared}");
    assert_eq!(home.run("ls --width 80 --all").lines().count(), 27);
    assert_eq!(home.run("ls").lines().count(), 25);
}

#[test]
fn damage_hides_nobody() {
    let home = TestHome::filled();
    home.change_journal("b81c0700-fork", |bytes| flipped(bytes, 2));
    home.change_journal("c70a1f00-old", |bytes| of_tomorrow(&bytes));
    check(
        "ls-damaged",
        &home,
        &["ls --width 100", "ls", "ls --json=lines", "tree b81c", "tree 6f2a --width 80"],
    );
}

#[test]
fn versions_are_listed_with_the_one_that_is_shown() {
    check(
        "versions",
        &TestHome::filled(),
        &[
            "versions 6f2a --width 120",
            "versions 6f2a --width 80",
            "versions 6f2a --width 50",
            "versions 6f2a --width 80 --ascii",
            "versions 6f2a 1 --width 80",
            "versions 6f2a",
            "versions 6f2a 2 --json",
            "versions --session 6f2a 2",
            "versions 3e90 --width 80",
            "versions 3e90 --json",
        ],
    );
}

#[test]
fn one_word_is_a_number_a_session_or_a_point() {
    let home = TestHome::empty();
    let project = home.folder().to_string_lossy().into_owned();
    let drawing = "u1\"Why?\" - a1\n a1 - u2\"So\"[so] - a2\n a1 - u3\"Else\" - a3*";
    home.put(&session("1234abcd", "2025-03-04T13:00:00Z", Some(&project), Some("Numbers"), None, drawing));
    check(
        "versions-words",
        &home,
        &[
            "versions 2 --width 60",
            "versions #2 --width 60",
            "versions 1234abcd --width 60",
            "versions 1234 --width 60",
            "versions numbers --width 60",
            "versions so --width 60",
            "versions nothing",
            "versions 1 2 3",
            "versions 1234abcd 9",
        ],
    );
}

#[test]
fn a_session_file_is_looked_at_in_place() {
    let home = TestHome::empty();
    std::fs::write(home.folder().join("burst.jsonl"), crate::home::BURST).expect("a file");
    let stored = TestHome::filled();
    let in_place = home.run("versions burst.jsonl 2 --json");
    assert_eq!(in_place, stored.run(&format!("versions {BURST_ID} 2 --json")));
}
