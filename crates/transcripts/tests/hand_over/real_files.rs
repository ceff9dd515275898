//! Session files of real programs, where the folder with them is at hand: each is handed over to every program.

use std::path::{Path, PathBuf};

use offshoot_session::SessionTree;
use offshoot_transcripts::read;

use crate::conversation::{TARGETS, assert_calls_are_answered, handed_over, tree_of};

#[test]
fn sessions_of_real_programs_are_handed_over() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let mut open = vec![shared.join("fixtures")];
    if !open[0].is_dir() {
        println!(
            "skipped: sessions_of_real_programs_are_handed_over (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    }
    let mut count = 0;
    while let Some(folder) = open.pop() {
        for path in std::fs::read_dir(&folder).expect("a folder").flatten().map(|item| item.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl" || end == "json") {
                count += usize::from(check(&path));
            }
        }
    }
    assert!(count > 50, "only {count} sessions were found");
}

/// Whether it is a session that can be handed over.
fn check(path: &Path) -> bool {
    let bytes = std::fs::read(path).expect("readable");
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    let Ok(transcript) = read(name.as_deref(), &bytes) else { return false };
    let (tree, _) = SessionTree::replay(transcript.records);
    let Some(head) = tree.main_head() else { return false };
    for target in TARGETS {
        let written = handed_over(target, &tree, head);
        if written.report.prompts == 0 {
            continue;
        }
        let again = tree_of(&written.bytes);
        let prompts = |tree: &SessionTree| {
            let path = tree.path_to(tree.main_head());
            let prompts = path.iter().filter(|entry| entry.body.is_prompt());
            prompts.map(|entry| entry.body.text()).collect::<Vec<_>>()
        };
        let is_cleared = tree.entries().any(|entry| matches!(entry.body, offshoot_session::Body::Cleared));
        if !is_cleared {
            assert_eq!(prompts(&again).len(), prompts(&tree).len(), "{} for {target:?}", path.display());
        }
        // pi keeps its own lines as they are, whatever they are
        if transcript.dialect != offshoot_transcripts::Dialect::OpenCode && !is_of_pi(path) {
            assert_calls_are_answered(&again);
        }
    }
    true
}

fn is_of_pi(path: &Path) -> bool {
    path.components().any(|part| matches!(part.as_os_str().to_str(), Some("pi" | "omp")))
}
