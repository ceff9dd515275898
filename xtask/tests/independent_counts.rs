//! What our readers count in files of real programs is what jq counts, which knows nothing of them.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]

use std::path::Path;
use std::process::Command;

use offshoot_session::{Body, SessionTree};
use offshoot_testkit::{NO_REAL_FILES, real_files};
use offshoot_transcripts::read;
use serde_json::{Value, json};

const TEST: &str = "readers_and_jq_count_the_same";

#[test]
fn readers_and_jq_count_the_same() {
    let files =
        real_files(std::env::var_os("OFFSHOOT_SHARED"), env!("CARGO_MANIFEST_DIR"), &["fixtures"], ".jsonl");
    if files.is_empty() {
        println!("skipped: {TEST} ({NO_REAL_FILES})");
        return;
    }
    if !Command::new("jq").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: {TEST} (jq is not installed)");
        return;
    }
    let compared = files.iter().filter(|path| compare(path)).count();
    println!("{compared} files were counted twice");
    assert!(compared > 20, "{compared} files are too few");
}

/// False for kinds of files that jq is not taught to count.
fn compare(path: &Path) -> bool {
    let bytes = std::fs::read(path).expect("a file");
    let name = path.file_name().map(|name| name.to_string_lossy());
    let Ok(transcript) = read(name.as_deref(), &bytes) else { return false };
    let dialect = transcript.dialect.name();
    let is_counted = ["claude code", "codex"].contains(&dialect.as_str()) || dialect.contains("pi v");
    // Files without ids of version 1 are linked by their order.
    if !is_counted || dialect == "pi v1" {
        return false;
    }
    let (tree, _) = SessionTree::replay(transcript.records);
    let count =
        |is_meant: fn(&Body) -> usize| tree.entries().map(|entry| is_meant(&entry.body)).sum::<usize>();
    let ours = json!({
        "prompts": count(|body| usize::from(matches!(body, Body::Prompt(_)))),
        "replies": count(|body| usize::from(matches!(body, Body::Reply(_)))),
        "calls": count(|body| match body {
            Body::Reply(reply) => reply.tool_uses().count(),
            _ => 0,
        }),
        "results": count(|body| usize::from(matches!(body, Body::ToolResult(_)))),
    });
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/independent_counts.jq");
    let output = Command::new("jq")
        .args(["-n", "-R", "--arg", "dialect", &dialect, "-f"])
        .args([&script, path])
        .output()
        .expect("jq runs");
    assert!(
        output.status.success(),
        "jq on `{}`: {}",
        path.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let theirs: Value = serde_json::from_slice(&output.stdout).expect("JSON of jq");
    for (what, number) in theirs.as_object().expect("an object") {
        assert_eq!(&ours[what], number, "{what} in `{}` ({dialect})", path.display());
    }
    true
}
