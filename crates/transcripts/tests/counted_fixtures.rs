//! Sessions that the programs themselves have written, where they lie beside the repository. The numbers were
//! counted from the files by other means.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a helper that cannot go on fails the test, and a skipped test says so"
)]

use std::path::{Path, PathBuf};

use offshoot_session::{Body, SessionTree};
use offshoot_transcripts::codex::{RolloutFile, belongs, families, resolve};
use offshoot_transcripts::{FileRole, Transcript, classify, read};

/// The folder of sessions, or a word that the test is skipped.
fn fixtures(test: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let folder = Some(shared.join("fixtures")).filter(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: {test} (set OFFSHOOT_SHARED to a folder with `fixtures`)");
    }
    folder
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    prompts: usize,
    replies: usize,
    calls: usize,
    results: usize,
    leaves: usize,
    tokens: i64,
}

fn counted(transcript: &Transcript) -> Counted {
    let (tree, oddities) = SessionTree::replay(transcript.records.iter().cloned());
    assert_eq!(oddities, []);
    let mut counted = Counted { leaves: tree.leaves().len(), ..Counted::default() };
    counted.tokens = tree.spent().map(|usage| usage.total).sum();
    for entry in tree.entries() {
        match &entry.body {
            Body::Prompt(_) => counted.prompts += 1,
            Body::ToolResult(_) => counted.results += 1,
            Body::Reply(reply) => {
                counted.replies += 1;
                counted.calls += reply.tool_uses().count();
                counted.tokens += reply.usage.map_or(0, |usage| usage.total);
            }
            _ => {}
        }
    }
    counted
}

fn file(folder: &Path, name: &str) -> Counted {
    let bytes = std::fs::read(folder.join(name)).expect(name);
    let transcript = read(Some(name), &bytes).expect(name);
    assert_eq!(transcript.source_bytes(), bytes, "no byte of `{name}` is lost");
    assert_eq!(transcript.oddities, [], "`{name}`");
    counted(&transcript)
}

#[test]
fn samples_hold_what_was_counted() {
    let Some(folder) = fixtures("samples_hold_what_was_counted") else { return };
    let count = |prompts, replies, calls, results, tokens| Counted {
        prompts,
        replies,
        calls,
        results,
        leaves: 1,
        tokens,
    };
    let long = "codex/localpush-rollout-2026-02-23T12-54-34-019c8a59-e9dd-71f0-9ae3-4079fe9726a9.jsonl";
    assert_eq!(file(&folder, long), count(38, 846, 372, 365, 33_944_484));
    let older = "generated/codex/rollout-2026-11-15T19-15-50-01a1e0a3-256e-7251-8587-da906f39549f.jsonl";
    assert_eq!(file(&folder, older), count(3, 4, 1, 1, 528));
    let newer = "generated/codex/rollout-2026-11-15T19-09-51-01a1e09d-ab78-7de0-a18b-b30f4c175bd1.jsonl";
    assert_eq!(file(&folder, newer), count(3, 4, 1, 1, 528));
    let gemini = "generated/gemini/session-2026-11-15T19-17-69834004.jsonl";
    assert_eq!(file(&folder, gemini), count(3, 5, 2, 2, 660));
    assert_eq!(file(&folder, "gemini/agsess-jsonl_v040.jsonl"), count(1, 2, 1, 1, 24_152));
    assert_eq!(file(&folder, "gemini/agsess-small.json"), count(1, 1, 0, 0, 15));
    assert_eq!(file(&folder, "generated/opencode/export.json"), count(3, 4, 1, 1, 528));
}

#[test]
fn the_families_of_codex_are_trees() {
    let Some(folder) = fixtures("the_families_of_codex_are_trees") else { return };
    let listed = std::fs::read_dir(folder.join("generated/codex")).expect("a folder");
    let mut paths: Vec<PathBuf> = listed.map(|entry| entry.expect("a file").path()).collect();
    paths.sort();
    let files: Vec<(String, Vec<u8>)> = paths
        .iter()
        .map(|path| (path.to_string_lossy().into_owned(), std::fs::read(path).expect("a file")))
        .filter(|(name, bytes)| matches!(classify(name, bytes), FileRole::Session(_)))
        .collect();
    let all: Vec<_> = files.iter().filter_map(|(name, bytes)| belongs(Some(name), bytes)).collect();
    assert_eq!(all.len(), files.len());
    let families = families(&all);
    let sizes: Vec<usize> = families.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 4, 2, 1, 2]);
    let of = |family: &[usize]| -> Vec<RolloutFile<'_>> {
        family
            .iter()
            .filter_map(|at| files.get(*at))
            .map(|(name, bytes)| RolloutFile { name, bytes })
            .collect()
    };
    let trees: Vec<Counted> = families
        .iter()
        .map(|family| {
            let files = of(family);
            let thread = family.first().and_then(|at| all.get(*at)).expect("a thread");
            let transcript = resolve(&thread.thread, &files);
            assert_eq!(transcript.oddities, []);
            counted(&transcript)
        })
        .collect();
    let shape: Vec<(usize, usize, usize)> =
        trees.iter().map(|tree| (tree.prompts, tree.replies, tree.leaves)).collect();
    assert_eq!(shape, [(1, 2, 1), (5, 7, 3), (4, 5, 2), (3, 4, 1), (1, 1, 1)]);
}
