//! Session files that Claude Code wrote, where the folder with them is at hand: nothing of them is lost, and what a
//! sample of them holds was counted by hand with other programs.

#![expect(clippy::expect_used, clippy::panic, reason = "a helper that cannot go on fails the test")]
#![expect(clippy::print_stdout, reason = "a test that cannot run says so by name")]

use std::path::{Path, PathBuf};

use offshoot_session::{Body, SessionTree, cost};
use offshoot_transcripts::claude::{self, AgentFile, StartedBy};
use offshoot_transcripts::{Dialect, read};

fn shared() -> Option<PathBuf> {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    Some(shared).filter(|folder| folder.join("fixtures").is_dir())
}

/// All session files of Claude Code, those of sub-agents too.
fn files(test: &str) -> Vec<PathBuf> {
    let Some(shared) = shared() else {
        println!("skipped: {test} (set OFFSHOOT_SHARED to a folder with `fixtures`)");
        return Vec::new();
    };
    let parts = ["fixtures/claude", "fixtures/generated/claude", "recordings/claude-code/sessions"];
    let mut open: Vec<PathBuf> = parts.iter().map(|part| shared.join(part)).collect();
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                files.push(path);
            }
        }
    }
    assert!(!files.is_empty(), "`{}` holds no files of Claude Code", shared.display());
    files
}

fn load(path: &Path) -> SessionTree {
    let name = path.display();
    let bytes = std::fs::read(path).expect("a readable file");
    let transcript = read(path.to_str(), &bytes).unwrap_or_else(|error| panic!("`{name}`: {error}"));
    assert_eq!(transcript.dialect, Dialect::ClaudeCode, "`{name}`");
    assert!(transcript.source_bytes() == bytes, "`{name}` keeps its bytes");
    let (tree, _) = SessionTree::replay(transcript.records);
    assert_eq!(tree.main_head().is_some(), !tree.is_empty(), "`{name}` has a head where it has entries");
    tree
}

#[test]
fn files_of_claude_code_lose_nothing() {
    for path in files("files_of_claude_code_lose_nothing") {
        load(&path);
    }
}

#[test]
fn a_sample_holds_what_others_counted_in_it() {
    // file, prompts, replies, calls, answers, branches, tokens of output
    let sample = [
        ("37f83ec9", [6, 177, 101, 101, 1, 2573]),
        ("0d3a8e6f", [4, 32, 14, 14, 3, 5057]),
        ("a7da6a22", [7, 177, 108, 108, 1, 31430]),
        ("ccviewer-fe5e1c67", [6, 262, 167, 167, 6, 51933]),
        ("agent-a2271d1", [1, 34, 24, 24, 1, 18]),
        ("29f1c3b6", [3, 4, 1, 1, 1, 48]),
        ("tui-session-rename-rewind", [20, 29, 11, 11, 6, 326]),
        ("compacted", [3, 3, 0, 0, 1, 15]),
    ];
    let files = files("a_sample_holds_what_others_counted_in_it");
    if files.is_empty() {
        return;
    }
    for (name, expected) in sample {
        let is_it = |path: &&PathBuf| {
            path.file_name().and_then(|file| file.to_str()).is_some_and(|file| file.starts_with(name))
        };
        let path = files.iter().find(is_it).unwrap_or_else(|| panic!("`{name}` is not among the files"));
        assert_eq!(counts(&load(path)), expected, "`{name}`");
    }
}

fn counts(tree: &SessionTree) -> [i64; 6] {
    let count =
        |is: &dyn Fn(&Body) -> usize| tree.entries().map(|entry| is(&entry.body)).sum::<usize>() as i64;
    [
        count(&|body| usize::from(body.is_prompt())),
        count(&|body| usize::from(matches!(body, Body::Reply(_)))),
        count(&|body| if let Body::Reply(reply) = body { reply.tool_uses().count() } else { 0 }),
        count(&|body| usize::from(matches!(body, Body::ToolResult(result) if !result.tool.is_empty()))),
        tree.leaves().len() as i64,
        cost::usage_of(tree).output,
    ]
}

#[test]
fn sub_agents_beside_a_session_are_linked_to_their_calls() {
    for path in files("sub_agents_beside_a_session_are_linked_to_their_calls") {
        let folder = path.with_extension("").join("subagents");
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        let mut beside: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        beside.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        beside.sort();
        let parts: Vec<(String, Vec<u8>, Option<Vec<u8>>)> = beside
            .iter()
            .map(|path| {
                let bytes = std::fs::read(path).expect("a readable file");
                (path.display().to_string(), bytes, std::fs::read(path.with_extension("meta.json")).ok())
            })
            .collect();
        let agents: Vec<AgentFile<'_>> = parts
            .iter()
            .map(|(name, bytes, meta)| AgentFile { name, bytes, meta: meta.as_deref() })
            .collect();
        let bytes = std::fs::read(&path).expect("a readable file");
        let transcript = claude::read_with_agents(path.to_str(), &bytes, &agents);
        let all = parts.iter().fold(bytes, |all, (_, bytes, _)| [all, bytes.clone()].concat());
        assert!(transcript.source_bytes() == all, "`{}` keeps all bytes", path.display());
        let (tree, _) = SessionTree::replay(transcript.records);
        let starts = tree.roots().into_iter().filter_map(|root| StartedBy::of(root)).count();
        assert_eq!(starts, agents.len(), "`{}` has a tree for each sub-agent", path.display());
        assert_eq!(tree.roots().len(), agents.len() + 1, "`{}` has one tree of its own", path.display());
    }
}
