//! `inspect`, `tree`, `show` and `import` on every session file of real programs that is at hand.

use std::path::Path;

use offshoot_testkit::deadline::BoundedCommand;
use offshoot_testkit::{NO_REAL_FILES, real_files};
use offshoot_transcripts::{FileRole, classify};

use crate::home::TestHome;

const TEST: &str = "every_command_works_on_every_fixture";

#[test]
fn every_command_works_on_every_fixture() {
    let files =
        real_files(std::env::var_os("OFFSHOOT_SHARED"), env!("CARGO_MANIFEST_DIR"), &["fixtures"], "");
    if files.is_empty() {
        println!("skipped: {TEST} ({NO_REAL_FILES})");
        return;
    }
    let mut dialects = std::collections::BTreeMap::new();
    for path in files {
        if let Some(dialect) = dialect_of(&path) {
            check(&path);
            *dialects.entry(dialect).or_insert(0) += 1;
        }
    }
    println!("{dialects:?}");
    for agent in ["claude code", "codex", "gemini", "opencode"] {
        assert!(dialects.contains_key(agent), "no file of {agent} among {dialects:?}");
    }
}

fn dialect_of(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).expect("a file");
    if bytes.starts_with(b"SQLite format 3\0") {
        return Some("opencode database".to_owned());
    }
    match classify(&path.to_string_lossy(), &bytes) {
        FileRole::Session(dialect) => Some(dialect.name()),
        FileRole::SideFileOf(_) | FileRole::NotASession(_) => None,
    }
}

fn check(path: &Path) {
    let home = TestHome::empty();
    let is_database = path.extension().is_some_and(|ending| ending == "db");
    for command in ["inspect", "tree", "show", "import"] {
        let output = home.command().arg(command).arg(path).bounded_output().expect("a start");
        let told = String::from_utf8_lossy(&output.stderr);
        let place = path.display();
        // A database with several sessions asks which one.
        if is_database && matches!(command, "tree" | "show") {
            assert_eq!(output.status.code(), Some(3), "{command} `{place}`: {told}");
            assert!(told.contains("hint:"), "{command} `{place}`: {told}");
            continue;
        }
        assert!(output.status.success(), "{command} `{place}`: {told}");
        assert!(!output.stdout.is_empty(), "{command} `{place}` says nothing");
    }
}
