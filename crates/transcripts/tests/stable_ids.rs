//! Whoever hangs something on an entry finds it again when the program has gone on: what is added to a file gives no
//! entry that was there another id or another parent.
//!
//! Limitation: Codex tells of a message twice, as an event and as an item, and either may come first. While a file has no
//! item of a kind, the event stands for it; when the item comes, it takes over its id. But what stands between the two then
//! hangs on what was before both, and of several events that tell one thought only the first has an item.

#![expect(clippy::expect_used, reason = "a helper that cannot go on fails the test")]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use offshoot_session::{Block, Body, Change, EntryId, Record};
use offshoot_transcripts::{Dialect, FileRole, classify, read};

#[path = "../../../fuzz/src/samples.rs"]
#[expect(dead_code, unreachable_pub, reason = "shared with the fuzz targets, which look at more")]
mod samples;

/// Long files are cut at so many places.
const CUTS: usize = 10;
/// And behind each of the first lines.
const BEGINNING: usize = 12;

#[test]
fn what_is_added_renames_nothing_that_was_there() {
    let files = [samples::CLAUDE, samples::CODEX, samples::GEMINI, samples::PI, samples::ROLLOUTS];
    for sample in files.into_iter().flatten() {
        check("a sample", sample.as_bytes(), usize::MAX);
    }
}

#[test]
fn files_of_real_programs_rename_nothing_either() {
    let shared = std::env::var_os("OFFSHOOT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let fixtures = shared.join("fixtures");
    if !fixtures.is_dir() {
        println!(
            "skipped: files_of_real_programs_rename_nothing_either (set OFFSHOOT_SHARED to a folder with `fixtures`)"
        );
        return;
    }
    let mut open = vec![fixtures];
    let mut count = 0;
    while let Some(folder) = open.pop() {
        for file in std::fs::read_dir(folder).expect("a folder") {
            let path = file.expect("a file").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "jsonl") {
                let bytes = std::fs::read(&path).expect("a file");
                let name = path.to_string_lossy().into_owned();
                if matches!(classify(&name, &bytes), FileRole::Session(_)) {
                    check(&name, &bytes, CUTS);
                    count += 1;
                }
            }
        }
    }
    assert!(count > 50, "only {count} files");
}

struct Understood {
    session: String,
    /// Every entry with what it hangs on.
    places: HashMap<EntryId, Option<EntryId>>,
    /// Entries of Codex that an event told, for want of an item.
    told_by_events: HashSet<EntryId>,
    /// Those of them that say what was thought.
    thoughts: HashSet<EntryId>,
}

fn understood(name: &str, bytes: &[u8]) -> Option<Understood> {
    let transcript = read(Some(name), bytes).ok()?;
    let session = transcript.records.iter().find_map(|record| match &record.change {
        Change::Opened(header) => Some(header.id.to_string()),
        _ => None,
    });
    let is_event = |record: &Record| {
        let line = record.source.as_ref().map(|line| String::from_utf8_lossy(line.bytes()).into_owned());
        transcript.dialect == Dialect::Codex
            && line.is_some_and(|line| line.contains(r#""type":"event_msg""#))
    };
    let entries = || transcript.records.iter().filter_map(|record| Some((record, record.as_entry()?)));
    Some(Understood {
        session: session.unwrap_or_default(),
        places: entries().map(|(_, entry)| (entry.id.clone(), entry.parent.clone())).collect(),
        told_by_events: entries()
            .filter(|(record, _)| is_event(record))
            .map(|(_, entry)| entry.id.clone())
            .collect(),
        thoughts: entries()
            .filter(
                |(_, entry)| matches!(&entry.body, Body::Reply(reply) if reply.blocks.iter().all(is_thought)),
            )
            .map(|(_, entry)| entry.id.clone())
            .collect(),
    })
}

fn is_thought(block: &Block) -> bool {
    matches!(block, Block::Thinking(_) | Block::Other { .. })
}

fn check(name: &str, bytes: &[u8], cuts: usize) {
    let whole = understood(name, bytes).expect("a session");
    let ends: Vec<usize> =
        bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
    let step = ends.len().div_ceil(cuts).max(1);
    // programs say most about a session at its beginning
    let beginning = if cuts == usize::MAX { 0 } else { BEGINNING };
    for end in ends.iter().take(beginning).chain(ends.iter().step_by(step)) {
        let Some(before) = understood(name, &bytes[..*end]) else { continue };
        // A file whose first line says nothing yet is nobody's.
        if before.places.is_empty() {
            continue;
        }
        assert_eq!(before.session, whole.session, "{name} cut at {end}");
        for (entry, parent) in before.places {
            let is_of_event = |id: &EntryId| before.told_by_events.contains(id);
            if is_of_event(&entry) && !before.thoughts.contains(&entry) {
                assert!(whole.places.contains_key(&entry), "{name} cut at {end}: `{entry}`");
            }
            if is_of_event(&entry) || parent.as_ref().is_some_and(is_of_event) {
                continue;
            }
            assert_eq!(whole.places.get(&entry), Some(&parent), "{name} cut at {end}: `{entry}`");
        }
    }
}
