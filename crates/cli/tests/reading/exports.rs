//! `export`.

use crate::check;
use crate::home::{BURST, BURST_ID, TestHome, read, session};

#[test]
fn a_session_of_pi_goes_back_byte_by_byte() {
    let home = TestHome::filled();
    let output = home.output("export 6f2a --to pi");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), BURST);
    check(
        "export-pi-file",
        &home,
        &["export 6f2a --to pi -o burst.jsonl", "export 6f2a --to pi -o burst.jsonl"],
    );
    assert_eq!(read(&home.folder().join("burst.jsonl")), BURST.as_bytes());
    let left: Vec<_> = std::fs::read_dir(home.folder()).expect("a folder").flatten().collect();
    assert_eq!(left.len(), 1, "nothing half lies around: {left:?}");
}

#[test]
fn what_a_format_has_no_place_for_is_told() {
    check(
        "export-lost",
        &TestHome::filled(),
        &[
            "export 6f2a --to rollouts --branch 90aa",
            "export 6f2a --to pi --branch works,_ugly",
            "export 3e90 --to pi",
        ],
    );
}

#[test]
fn rollouts_are_one_file_per_branch() {
    let home = TestHome::filled();
    check(
        "export-rollouts",
        &home,
        &[
            "export 6f2a --to rollouts",
            "export 6f2a --to rollouts -o out",
            "export 6f2a --to rollouts -o out",
        ],
    );
    assert_eq!(std::fs::read_dir(home.folder().join("out")).expect("a folder").count(), 2);
    let forced = home.run("export 6f2a --to rollouts -o out --force");
    assert!(!forced.contains("exit"), "{forced}");
}

/// a branch is exported to read it.
#[test]
fn a_branch_can_be_read() {
    check(
        "export-markdown",
        &TestHome::filled(),
        &["export 6f2a --to markdown", "export 6f2a --to markdown --branch 90aa"],
    );
}

#[test]
fn what_agents_write_is_text_in_markdown() {
    let home = TestHome::empty();
    let drawing = "u1\"Add <script>alert(1)</script> to `Vec<T>`\" - a1\"<img src=x onerror=alert(1)>\"*";
    home.put(&session("feed0000", "2025-03-04T13:00:00Z", None, Some("<b>Title</b>"), None, drawing));
    let markdown = home.run("export feed --to markdown");
    assert!(
        !markdown.contains("<script") && !markdown.contains("<img") && !markdown.contains("<b>"),
        "{markdown}"
    );
    assert!(markdown.contains("`Vec<T>`"), "{markdown}");
}

#[test]
fn a_journal_is_copied_as_it_is() {
    let home = TestHome::filled();
    let output = home.output("export 6f2a --to offshoot");
    assert_eq!(output.stdout, read(&home.journal(BURST_ID)));
    check("export-offshoot-branch", &home, &["export 6f2a --to offshoot --branch 1"]);
}

#[test]
fn a_journal_in_a_folder_is_a_home() {
    let home = TestHome::empty();
    let long = format!("u1\"{}\" - a1*", "long ".repeat(20_000));
    home.put(&session("b10b0000", "2025-03-04T13:00:00Z", None, Some("Long"), None, &long));
    check(
        "export-offshoot-folder",
        &home,
        &[
            "export b10b --to offshoot -o b10b.jsonl",
            "export b10b --to offshoot -o copy/",
            "--home copy fsck",
        ],
    );
    let whole = home.run("show b10b --json");
    assert_eq!(home.run("--home copy show b10b --json"), whole);
    assert!(whole.len() > 100_000);
}

#[test]
fn places_that_cannot_be_written_are_named() {
    check(
        "export-no-place",
        &TestHome::filled(),
        &["export 6f2a --to pi -o nowhere/burst.jsonl", "export 6f2a --to rust", "export nothing --to pi"],
    );
}
