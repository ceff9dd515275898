//! `tree` and `show` on stored sessions.

use crate::check;
use crate::home::{BURST_ID, TestHome, flipped, of_tomorrow};

#[test]
fn a_stored_session_looks_like_its_file() {
    let home = TestHome::filled();
    std::fs::write(home.folder().join("burst.jsonl"), crate::home::BURST).expect("a file");
    for view in
        ["tree --width 80", "tree", "tree --json", "show --width 80", "show --at 1", "show --json --last 2"]
    {
        let (verb, options) = view.split_once(' ').unwrap_or((view, "--quiet"));
        let stored = home.run(&format!("{verb} {BURST_ID} {options}"));
        assert_eq!(stored, home.run(&format!("{verb} burst.jsonl {options}")), "{view}");
        assert!(stored.contains("limiter") || stored.contains("deadline"), "{stored}");
    }
}

#[test]
fn the_end_of_a_branch_is_shown() {
    check(
        "show-last",
        &TestHome::filled(),
        &[
            "show 6f2a --last 1 --width 80",
            "show 6f2a --last 1 --width 50",
            "show Burst_credit_lost_after_reload --last 1 --json",
            "show 6f2a --last 0",
        ],
    );
}

#[test]
fn damage_is_told_beside_the_answer() {
    let home = TestHome::filled();
    home.change_journal(BURST_ID, |bytes| flipped(bytes, 9));
    check("tree-damaged", &home, &["tree 6f2a --width 80", "show 6f2a --last 1 --width 80"]);
}

#[test]
fn a_torn_end_is_left_out_and_told() {
    let home = TestHome::filled();
    let whole = home.run("tree 6f2a --width 80");
    home.change_journal(BURST_ID, |mut bytes| {
        bytes.extend_from_slice(b"{\"k\":\"entry\",\"id\":\"unfin");
        bytes
    });
    let before = std::fs::read(home.journal(BURST_ID)).expect("a journal");
    let torn = home.run("tree 6f2a --width 80");
    assert!(torn.starts_with(&whole), "{torn}");
    insta::assert_snapshot!("tree-torn", torn);
    assert_eq!(std::fs::read(home.journal(BURST_ID)).expect("a journal"), before, "looking changes nothing");
}

#[test]
fn a_newer_format_is_refused_with_a_sentence() {
    let home = TestHome::filled();
    home.change_journal(BURST_ID, |bytes| of_tomorrow(&bytes));
    let before = std::fs::read(home.journal(BURST_ID)).expect("a journal");
    check(
        "newer-format",
        &home,
        &["tree 6f2a", "show 6f2a", "versions 6f2a", "export 6f2a --to pi", "label 6f2a 1 text", "fsck"],
    );
    assert_eq!(std::fs::read(home.journal(BURST_ID)).expect("a journal"), before);
}

#[test]
fn a_journal_is_inspected_like_a_file() {
    let home = TestHome::filled();
    home.change_journal(BURST_ID, |bytes| flipped(bytes, 9));
    check("inspect-stored", &home, &["inspect 6f2a --width 80", "inspect 3e90 --json", "inspect nothing"]);
}

#[test]
fn sessions_that_are_not_there_are_named() {
    check(
        "no-session",
        &TestHome::filled(),
        &["tree nothing", "tree", "show 6f", "tree --session 6f2a 6f2a"],
    );
}
