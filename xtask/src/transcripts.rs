//! `cargo xtask transcripts DIR`: reads every session file under a directory and says what it found.
//!
//! A file fails when reading it panics, when it should be a session and no dialect fits, or when the bytes that
//! were kept are not the bytes that were there. Files of the older opencode storage are read as the sessions
//! they make up together, and its database as all the sessions in it.

mod database;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use offshoot_session::outline::TurnOutline;
use offshoot_session::{Body, SessionTree};
use offshoot_store::OpencodeDatabase;
use offshoot_transcripts::opencode::{Storage, read_storage, stored};
use offshoot_transcripts::{FileRole, Transcript, Unreadable, classify};

/// What a file holds, as numbers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    dialect: String,
    entries: usize,
    branches: usize,
    prompts: usize,
    replies: usize,
    tool_calls: usize,
    oddities: usize,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed(Found),
    Failed(String),
    SideFile(String),
    NotASession(String),
}

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
}

pub(crate) fn run(dir: &Path) -> Result<ExitCode> {
    let mut paths = Vec::new();
    files_under(dir, &mut paths)?;
    paths.sort();
    if paths.is_empty() {
        bail!("no files under `{}`", dir.display());
    }
    let mut count = Count::default();
    let mut storages: BTreeMap<PathBuf, Vec<(String, Vec<u8>)>> = BTreeMap::new();
    for path in &paths {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let name = path.strip_prefix(dir).unwrap_or(path).to_string_lossy().into_owned();
        if OpencodeDatabase::is_database(&bytes) {
            count.database(&name, path);
            continue;
        }
        if is_stored(&name, &bytes) {
            storages.entry(storage_of(path)).or_default().push((name, bytes));
            continue;
        }
        let start = Instant::now();
        let outcome = look_at(&name, &bytes);
        count.report(&name, &outcome, start.elapsed());
    }
    for files in storages.into_values() {
        count.storage(&files);
    }
    say(format!("{} passed, {} failed", count.passed, count.failed));
    Ok(if count.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn is_stored(name: &str, bytes: &[u8]) -> bool {
    name.ends_with(".json") && stored(name, bytes).is_some()
}

/// The folder above `session`, `message` and `part`.
fn storage_of(path: &Path) -> PathBuf {
    let kinds = ["session", "message", "part"];
    let is_kind =
        |folder: &&Path| folder.file_name().is_some_and(|name| kinds.iter().any(|kind| name == *kind));
    let folder = path.ancestors().skip(1).find(is_kind).and_then(Path::parent);
    folder.or_else(|| path.parent()).unwrap_or(path).to_owned()
}

fn look_at(name: &str, bytes: &[u8]) -> Outcome {
    let Ok(role) = catch_unwind(AssertUnwindSafe(|| classify(name, bytes))) else {
        return Outcome::Failed("panicked while it was classified".to_owned());
    };
    match role {
        FileRole::SideFileOf(owner) => Outcome::SideFile(owner),
        FileRole::NotASession(reason) if looks_like_a_session(name) => Outcome::Failed(reason),
        FileRole::NotASession(reason) => Outcome::NotASession(reason),
        FileRole::Session(_) => judge(bytes, catch_unwind(|| offshoot_transcripts::read(Some(name), bytes))),
    }
}

/// Lines of JSON are sessions unless their name says otherwise; a document is one only under such a name.
fn looks_like_a_session(name: &str) -> bool {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.ends_with(".jsonl")
        || (file.ends_with(".json") && (file.starts_with("session-") || file.starts_with("ses_")))
}

fn judge(bytes: &[u8], read: std::thread::Result<Result<Transcript, Unreadable>>) -> Outcome {
    match read {
        Err(_) => Outcome::Failed("panicked while it was read".to_owned()),
        Ok(Err(reason)) => Outcome::Failed(reason.to_string()),
        Ok(Ok(transcript)) => found_in(bytes, &transcript),
    }
}

fn found_in(bytes: &[u8], transcript: &Transcript) -> Outcome {
    let kept = transcript.source_bytes();
    if kept != bytes {
        return Outcome::Failed(format!("{} bytes were read and {} were kept", bytes.len(), kept.len()));
    }
    found(transcript)
        .map_or_else(|| Outcome::Failed("panicked while its tree was built".to_owned()), Outcome::Passed)
}

fn found(transcript: &Transcript) -> Option<Found> {
    let replay = || SessionTree::replay(transcript.records.iter().cloned());
    let (tree, oddities) = catch_unwind(AssertUnwindSafe(replay)).ok()?;
    let mut found = Found {
        dialect: transcript.dialect.name(),
        entries: tree.len(),
        branches: TurnOutline::of(&tree).branches,
        oddities: transcript.oddities.len() + oddities.len(),
        ..Found::default()
    };
    for entry in tree.entries() {
        match &entry.body {
            Body::Prompt(_) => found.prompts += 1,
            Body::Reply(reply) => {
                found.replies += 1;
                found.tool_calls += reply.tool_uses().count();
            }
            _ => {}
        }
    }
    Some(found)
}

impl Count {
    fn report(&mut self, name: &str, outcome: &Outcome, took: Duration) {
        let milliseconds = took.as_secs_f64() * 1000.0;
        match outcome {
            Outcome::Passed(found) => {
                self.passed += 1;
                say(format!("ok    {name}: {found} · {milliseconds:.1} ms"));
            }
            Outcome::Failed(reason) => {
                self.failed += 1;
                say(format!("FAIL  {name}: {reason}"));
            }
            Outcome::SideFile(owner) => say(format!("side  {name}: belongs to {owner}")),
            Outcome::NotASession(reason) => say(format!("-     {name}: {reason}")),
        }
    }

    /// One line for each session of a storage; then its files, each with its owner.
    fn storage(&mut self, files: &[(String, Vec<u8>)]) {
        let start = Instant::now();
        let list: Vec<(&str, &[u8])> =
            files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
        let Ok(storage) = catch_unwind(AssertUnwindSafe(|| read_storage(&list))) else {
            let name = files.first().map_or("storage", |(name, _)| name);
            return self.report(
                name,
                &Outcome::Failed("panicked while its storage was read".to_owned()),
                start.elapsed(),
            );
        };
        let took = start.elapsed();
        let lost = lost_bytes(&storage, &list);
        for (id, transcript) in &storage.sessions {
            let outcome = match found(transcript) {
                Some(_) if lost != 0 => Outcome::Failed(format!("{lost} bytes of its storage were not kept")),
                Some(found) => Outcome::Passed(found),
                None => Outcome::Failed("panicked while its tree was built".to_owned()),
            };
            self.report(&format!("session `{id}`"), &outcome, took);
        }
        for (name, bytes) in &list {
            if let FileRole::SideFileOf(owner) = classify(name, bytes) {
                self.report(name, &Outcome::SideFile(owner), took);
            }
        }
    }
}

fn lost_bytes(storage: &Storage, files: &[(&str, &[u8])]) -> usize {
    let all: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let left: usize = storage.left.iter().filter_map(|at| files.get(*at)).map(|(_, bytes)| bytes.len()).sum();
    let kept: usize = storage.sessions.values().map(|session| session.source_bytes().len()).sum();
    all.abs_diff(left + kept)
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} · {} entries · {} branches · {} prompts · {} replies · {} tool calls · {} oddities",
            self.dialect,
            self.entries,
            self.branches,
            self.prompts,
            self.replies,
            self.tool_calls,
            self.oddities
        )
    }
}

fn files_under(dir: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let mut open = vec![dir.to_owned()];
    while let Some(dir) = open.pop() {
        let listed = std::fs::read_dir(&dir).with_context(|| format!("cannot list `{}`", dir.display()))?;
        for entry in listed {
            let entry = entry.with_context(|| format!("cannot list `{}`", dir.display()))?;
            let kind =
                entry.file_type().with_context(|| format!("cannot look at `{}`", entry.path().display()))?;
            if kind.is_dir() {
                open.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    Ok(())
}

fn say(line: impl AsRef<str>) {
    println!("{}", line.as_ref());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_counted() {
        let bytes = concat!(
            r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"t"}}"#,
            "\n",
            r#"{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":"hi"}}"#,
            "\n",
        );
        let Outcome::Passed(found) = look_at("rollout.jsonl", bytes.as_bytes()) else { panic!("not read") };
        assert_eq!((found.entries, found.prompts, found.dialect.as_str()), (1, 1, "codex"));
    }

    #[test]
    fn what_is_no_session_fails_only_under_the_name_of_one() {
        assert!(matches!(look_at("notes.json", b"{}"), Outcome::NotASession(_)));
        assert!(matches!(look_at("notes.jsonl", b"{}"), Outcome::Failed(_)));
        assert!(matches!(look_at("x/agent-1.meta.json", b"{}"), Outcome::SideFile(_)));
    }

    #[test]
    fn lost_bytes_fail() {
        let line = br#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z"}"#;
        let read = offshoot_transcripts::read(None, line).expect("a session");
        assert!(matches!(found_in(b"more than was kept", &read), Outcome::Failed(_)));
    }
}
