//! What our readers count in files of real programs is what jq and sqlite3 count, which know nothing of them.

#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a helper that cannot go on fails the test, and a skipped test says so"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use offshoot_session::{Body, SessionTree};
use offshoot_store::OpencodeDatabase;
use offshoot_testkit::{NO_REAL_FILES, real_files};
use offshoot_transcripts::{Transcript, read, rollouts};
use serde_json::{Value, json};

/// In a database: replies and calls of each session.
const OF_A_DATABASE: &str = "select session.id, \
     (select count(*) from message where session_id = session.id and json_extract(data, '$.role') = 'assistant'), \
     (select count(*) from part where session_id = session.id and json_extract(data, '$.type') = 'tool') \
     from session";

/// The files with this ending, or a word that the test is skipped.
fn files(test: &str, program: &str, ending: &str) -> Vec<PathBuf> {
    let files =
        real_files(std::env::var_os("OFFSHOOT_SHARED"), env!("CARGO_MANIFEST_DIR"), &["fixtures"], ending);
    if files.is_empty() {
        println!("skipped: {test} ({NO_REAL_FILES})");
        return files;
    }
    if !Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: {test} ({program} is not installed)");
        return Vec::new();
    }
    files
}

#[test]
fn readers_and_jq_count_the_same() {
    let mut compared: BTreeMap<String, usize> = BTreeMap::new();
    let test = "readers_and_jq_count_the_same";
    let all = [files(test, "jq", ".jsonl"), files(test, "jq", ".json")].concat();
    for path in &all {
        let bytes = std::fs::read(path).expect("a file");
        let name = path.file_name().map(|name| name.to_string_lossy());
        let Ok(transcript) = read(name.as_deref(), &bytes) else { continue };
        let dialect = transcript.dialect.name();
        // Files without ids of version 1 are linked by their order, and a storage of opencode is many files.
        let is_one_of_many = dialect == "opencode" && !path.ends_with("export.json");
        if dialect != "pi v1" && !is_one_of_many {
            compare(path, &transcript);
            let family = dialect.split_once(" v").map_or(dialect.clone(), |(family, _)| family.to_owned());
            *compared.entry(family).or_default() += 1;
        }
    }
    println!("counted twice: {compared:?}");
    let is_enough =
        |(dialect, least): (&str, usize)| compared.get(dialect).is_some_and(|count| *count >= least);
    let least =
        [("claude code", 20), ("codex", 10), ("gemini", 5), ("oh-my-pi", 2), ("opencode", 1), ("pi", 10)];
    assert!(all.is_empty() || least.into_iter().all(is_enough), "too few: {compared:?}");
}

/// No program that keeps rollouts is at hand, so they are made from the sessions of one that is.
#[test]
fn rollouts_and_jq_count_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut compared = 0;
    let files = files("rollouts_and_jq_count_the_same", "jq", ".jsonl");
    for path in &files {
        let bytes = std::fs::read(path).expect("a file");
        let Ok(transcript) = read(None, &bytes) else { continue };
        if !transcript.dialect.name().starts_with("pi v") {
            continue;
        }
        for written in rollouts::write_all(&SessionTree::replay(transcript.records).0) {
            let place = folder.path().join(&written.file_name);
            std::fs::write(&place, &written.bytes).expect("a written rollout");
            compare(&place, &read(Some(&written.file_name), &written.bytes).expect("a rollout"));
            compared += 1;
        }
    }
    println!("{compared} rollouts were counted twice");
    assert!(files.is_empty() || compared > 10, "{compared} are too few");
}

#[test]
fn the_reader_of_a_database_and_sqlite_count_the_same() {
    let test = "the_reader_of_a_database_and_sqlite_count_the_same";
    for path in files(test, "sqlite3", "opencode.db") {
        let mut sqlite = Command::new("sqlite3");
        sqlite.args(["-readonly", "-separator", " "]).arg(&path).arg(OF_A_DATABASE);
        let output = sqlite.output().expect("sqlite3 runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut database = OpencodeDatabase::open(&path, &std::env::temp_dir()).expect("a database");
        let told = String::from_utf8(output.stdout).expect("text");
        let mut compared = 0;
        for line in told.lines() {
            let id = line.split(' ').next().expect("an id");
            let ours = counted(&database.read(id).expect("a session").expect("a session"));
            assert_eq!(format!("{id} {} {}", ours["replies"], ours["calls"]), line);
            compared += 1;
        }
        assert!(compared > 5, "{compared} sessions are too few");
    }
}

fn counted(transcript: &Transcript) -> Value {
    let (tree, _) = SessionTree::replay(transcript.records.iter().cloned());
    let count =
        |is_meant: fn(&Body) -> usize| tree.entries().map(|entry| is_meant(&entry.body)).sum::<usize>();
    json!({
        "prompts": count(|body| usize::from(matches!(body, Body::Prompt(_)))),
        "replies": count(|body| usize::from(matches!(body, Body::Reply(_)))),
        "calls": count(|body| match body {
            Body::Reply(reply) => reply.tool_uses().count(),
            _ => 0,
        }),
        "results": count(|body| usize::from(matches!(body, Body::ToolResult(_)))),
    })
}

fn compare(path: &Path, transcript: &Transcript) {
    let (dialect, ours) = (transcript.dialect.name(), counted(transcript));
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
}
