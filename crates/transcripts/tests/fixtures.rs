//! Session files of real programs, where the folder with them is at hand: nothing of them is lost, and those of
//! version 3 are written back as they are.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper that cannot go on fails the test")]

use std::path::{Path, PathBuf};

use offshoot_session::SessionTree;
use offshoot_transcripts::{Dialect, pi, read};

fn folder() -> Option<PathBuf> {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    Some(shared.join("fixtures")).filter(|folder| folder.is_dir())
}

#[test]
fn files_of_real_programs_lose_nothing() {
    let Some(folder) = folder() else {
        println!(
            "skipped: files_of_real_programs_lose_nothing (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    };
    let mut count = 0;
    for part in ["pi", "pi-1.5", "omp", "omp-18.3", "generated/pi", "generated/omp"] {
        let Ok(files) = std::fs::read_dir(folder.join(part)) else { continue };
        for path in files
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        {
            count += 1;
            check(&path);
        }
    }
    assert!(count > 0, "`{}` holds no session files", folder.display());
}

fn check(path: &Path) {
    let name = path.display();
    let bytes = std::fs::read(path).expect("a readable file");
    let transcript = read(path.to_str(), &bytes).unwrap_or_else(|error| panic!("`{name}`: {error}"));
    assert_eq!(transcript.source_bytes(), bytes, "`{name}` keeps its bytes");
    let (tree, _) = SessionTree::replay(transcript.records.clone());
    assert!(!tree.is_empty() && tree.main_head().is_some(), "`{name}` has entries and a head");
    let written = pi::write(&transcript.records);
    assert!(written.lost.is_empty(), "`{name}` loses {:?}", written.lost);
    match transcript.dialect {
        Dialect::Pi { version: 3 } | Dialect::OhMyPi { version: 3 } => {
            assert_eq!(written.bytes, bytes, "`{name}` is written as it was");
        }
        Dialect::Pi { .. } | Dialect::OhMyPi { .. } => {
            let again = read(None, &written.bytes).expect("readable");
            assert_eq!(again.dialect.name().split(' ').next_back(), Some("v3"), "`{name}` is migrated");
            let (again, _) = SessionTree::replay(again.records);
            assert_eq!(
                offshoot_testkit::draw(&again),
                offshoot_testkit::draw(&tree),
                "`{name}` keeps its tree"
            );
        }
        Dialect::Rollouts | Dialect::ClaudeCode | Dialect::Codex | Dialect::Gemini | Dialect::OpenCode => {
            panic!("`{name}` is taken for {}", transcript.dialect.name())
        }
    }
}
