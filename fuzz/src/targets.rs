//! One function for each reader.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot_agents::llm::wire::{Piece, Wire};
use offshoot_session::context::Message;
use offshoot_session::format::scan::{Position, scan};
use offshoot_session::format::{InBatch, NoBlobs, decode, encode};
use offshoot_session::outline::{Turn, Version, turns_of, version_of};
use offshoot_session::{Entry, EntryId, Odd, Record, SessionTree};
use offshoot_store::lazy::{Format, UseIndex};
use offshoot_store::{Home, LazySession};
use offshoot_transcripts::claude::excerpt::Last;
use offshoot_transcripts::claude::spine::{Skim, Spine};
use offshoot_transcripts::claude::{self, AgentFile};
use offshoot_transcripts::codex::{self, RolloutFile};
use offshoot_transcripts::gist::{Follow, lines_of};
use offshoot_transcripts::light::{Beginning, Marks, Rests, ShapeReader, lighten, lighten_first};
use offshoot_transcripts::opencode::{Row, Rows, Table, read_rows, read_storage, stored};
use offshoot_transcripts::{
    Dialect, FileRole, Transcript, classify, gemini, is_joined, pi as pi_files, read,
    rollouts as rollout_files,
};
use serde_json::Value;

/// Nothing is lost, and the records make a tree.
fn keeps(transcript: &Transcript, bytes: &[u8]) -> SessionTree {
    assert!(transcript.source_bytes() == bytes, "a byte was lost or made up");
    SessionTree::replay(transcript.records.iter().cloned()).0
}

pub fn any(bytes: &[u8]) {
    for name in
        [None, Some("session_x.jsonl"), Some("rollout-2026-01-01T00-00-00-t.jsonl"), Some("ses_x.json")]
    {
        if let Ok(transcript) = read(name, bytes) {
            keeps(&transcript, bytes);
        }
    }
}

pub fn classified(bytes: &[u8]) {
    for path in
        ["a/b.jsonl", "storage/message/s/m.json", "storage/part/m/p.json", "chats/session-1.json", "x.db"]
    {
        if let FileRole::Session(dialect) = classify(path, bytes) {
            let told = read(Some(path), bytes).map(|transcript| transcript.dialect);
            assert!(told.is_ok(), "called {} and not read", dialect.name());
        }
    }
}

pub fn pi(bytes: &[u8]) {
    let transcript = pi_files::read(None, bytes);
    keeps(&transcript, bytes);
    let written = pi_files::write(&transcript.records);
    keeps(&pi_files::read(None, &written.bytes), &written.bytes);
}

pub fn rollouts(bytes: &[u8]) {
    keeps(&rollout_files::read(Some("session_x.jsonl"), bytes), bytes);
}

pub fn claude(bytes: &[u8]) {
    keeps(&claude::read(Some("0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl"), bytes), bytes);
    claude::listing(bytes);
}

/// Output of a running Claude Code with our inputs between the lines.
pub fn claude_lines(bytes: &[u8]) {
    let broken = offshoot_agents::claude_code::broken_laws(bytes);
    assert!(broken.is_empty(), "{broken:?}");
}

/// A stream of a model, as Anthropic sends it.
pub fn llm_anthropic(bytes: &[u8]) {
    decodes_the_same_in_any_chunks(Wire::Anthropic, bytes);
}

/// A stream of a model, as OpenAI and many others send it.
pub fn llm_openai(bytes: &[u8]) {
    decodes_the_same_in_any_chunks(Wire::OpenAi, bytes);
}

fn decodes_the_same_in_any_chunks(wire: Wire, bytes: &[u8]) {
    let decoded = |length: usize| {
        let mut decoder = wire.decoder();
        let mut pieces: Vec<Piece> = bytes.chunks(length).flat_map(|chunk| decoder.push(chunk)).collect();
        pieces.extend(decoder.finish());
        pieces
    };
    let whole = decoded(bytes.len().max(1));
    for length in [1, 7, 64] {
        assert!(decoded(length) == whole, "in chunks of {length} bytes it is another answer");
    }
}

/// A session and a sub-agent beside it.
pub fn claude_beside(bytes: &[u8]) {
    let middle = memchr_line(bytes, bytes.len() / 2);
    let (session, agent) = bytes.split_at(middle);
    let agents = [AgentFile { name: "agent-ag.jsonl", bytes: agent, meta: Some(agent) }];
    keeps(&claude::read_with_agents(None, session, &agents), bytes);
}

pub fn codex(bytes: &[u8]) {
    let name = "rollout-2026-01-01T00-00-00-t.jsonl";
    keeps(&codex::read(Some(name), bytes), bytes);
    let (one, other) = bytes.split_at(memchr_line(bytes, bytes.len() / 2));
    let files = [
        RolloutFile { name, bytes: one },
        RolloutFile { name: "rollout-2026-01-01T00-00-01-t_r.jsonl", bytes: other },
    ];
    let family = codex::resolve("t", &files);
    assert_eq!(family.source_bytes().len(), bytes.len(), "a byte of a family was lost or made up");
    SessionTree::replay(family.records);
}

pub fn gemini(bytes: &[u8]) {
    keeps(&gemini::read(Some("session-2026-01-01T00-00-s.json"), bytes), bytes);
}

pub fn opencode_json(bytes: &[u8]) {
    if let Ok(transcript) = read(Some("ses_x.json"), bytes) {
        keeps(&transcript, bytes);
    }
    let files: Vec<(&str, &[u8])> =
        bytes.split(|byte| *byte == b'\n').map(|line| ("part/m/p.json", line)).collect();
    let storage = read_storage(&files);
    let kept: usize = storage.sessions.values().map(|session| session.source_bytes().len()).sum();
    let left: usize = storage.left.iter().map(|at| files[*at].1.len()).sum();
    let all: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    assert_eq!(kept + left, all, "a file of a storage was lost");
    stored("message/s/m.json", bytes);
}

/// Each line is a row with its columns, and the name of its table.
pub fn opencode_rows(bytes: &[u8]) {
    let mut rows = Rows::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let Ok(Value::Object(mut columns)) = serde_json::from_slice(line) else { continue };
        match columns.remove("table").as_ref().and_then(Value::as_str) {
            Some("session") => rows.session = Some(Row::of_table(Table::Session, columns)),
            Some("message") => rows.messages.push(Row::of_table(Table::Message, columns)),
            _ => rows.parts.push(Row::of_table(Table::Part, columns)),
        }
    }
    let bytes = |row: &Row| row.source.as_ref().map_or(0, |source| source.bytes().len());
    let all: usize = rows.session.iter().chain(&rows.messages).chain(&rows.parts).map(bytes).sum();
    let transcript = read_rows(rows);
    assert_eq!(transcript.source_bytes().len(), all, "a row was lost");
    SessionTree::replay(transcript.records);
}

/// Names that other files give to sessions.
pub fn side_files(bytes: &[u8]) {
    codex::thread_names(bytes);
    let _ = claude::read_index(bytes);
    codex::belongs(None, bytes);
}

/// Our own lines, also with the sums that belong to them.
pub fn journal(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), summed(bytes)] {
        if let Ok(scanned) = scan(&bytes, Position::default(), &NoBlobs) {
            SessionTree::replay(scanned.records);
        }
        for line in bytes.split(|byte| *byte == b'\n') {
            if let Ok(decoded) = decode(line, &NoBlobs) {
                let _ = encode(&decoded.record, InBatch::Last);
            }
        }
        let file = Scratch::with(&bytes);
        if let Ok(Some(mut session)) = LazySession::of_file(&file.0, Format::Journal, None, UseIndex::No) {
            session.rows();
            let _ = session.last_messages(None, 5);
        }
    }
}

/// Lines with the checksum that makes somebody look at them.
fn summed(bytes: &[u8]) -> Vec<u8> {
    let mut summed = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let Some((object, _)) = text.rsplit_once(",\"sum\":") else {
            summed.extend_from_slice(line);
            continue;
        };
        let sum = crc32fast::hash(object.as_bytes());
        summed.extend_from_slice(format!("{object},\"sum\":\"{sum:08x}\"}}\n").as_bytes());
    }
    summed
}

/// The envelopes of a file of pi tell the tree of the file.
pub fn pi_scan(bytes: &[u8]) {
    let file = Scratch::with(bytes);
    let Ok(Some(mut session)) = LazySession::of_file(&file.0, Format::Pi, None, UseIndex::No) else { return };
    let whole = pi_files::read(None, bytes);
    // A line that is damaged behind its envelope is noticed when it is looked at.
    let is_damaged = |what: &Odd| matches!(what, Odd::UnreadableLine(_) | Odd::TornTail { .. });
    if whole.oddities.iter().any(|oddity| is_damaged(&oddity.what)) {
        let _ = session.last_messages(None, 5);
        return;
    }
    let (tree, _) = SessionTree::replay(whole.records);
    let path: Vec<EntryId> = tree.path_to(tree.main_head()).iter().map(|entry| entry.id.clone()).collect();
    assert_eq!(session.path_ids(None).ok(), Some(path), "two ways to the head");
    let messages: Vec<EntryId> =
        last_of(&tree, 5).into_iter().map(|message| message.entry.id.clone()).collect();
    if let Ok(lazy) = session.last_messages(None, 5) {
        let lazy: Vec<EntryId> = lazy.into_iter().map(|message| message.entry.id.clone()).collect();
        assert_eq!(lazy, messages, "other messages");
    }
}

/// An index that somebody else wrote beside a file that is fine.
pub fn side_index(bytes: &[u8]) {
    let file = Scratch::with(super::samples::PI[0].as_bytes());
    let home = Home::at(file.0.with_extension("home"));
    let open = |index| LazySession::of_file(&file.0, Format::Pi, Some(&home), index);
    let plain = open(UseIndex::No);
    assert!(matches!(plain, Ok(Some(_))), "the sample cannot be opened");
    let Ok(Some(mut plain)) = plain else { return };
    let expected = plain.last_messages(None, 5).ok();
    if plain.save_index().is_err() {
        return;
    }
    let index = home.index_of(&file.0);
    // The index that was there with the bytes somewhere in it, and the bytes alone.
    let good = std::fs::read(&index).unwrap_or_default();
    let at = bytes.first().map_or(0, |byte| usize::from(*byte) * good.len() / 256);
    let mut mixed = good.clone();
    for (to, from) in mixed.iter_mut().skip(at).zip(bytes.iter().skip(1)) {
        *to = *from;
    }
    let cut = good.get(..at).unwrap_or_default().to_vec();
    for bad in [mixed, bytes.to_vec(), cut] {
        if std::fs::write(&index, &bad).is_ok()
            && let Ok(Some(mut session)) = open(UseIndex::Yes)
        {
            let messages = session.last_messages(None, 5).ok();
            if bad != good {
                session.rows();
            }
            assert!(messages == expected || messages.is_none(), "an index was believed");
        }
    }
    let _ = std::fs::remove_dir_all(file.0.with_extension("home"));
}

/// What is left out of a file for its shape comes back, and changes nothing.
pub fn light(bytes: &[u8]) {
    let name = Some("session.jsonl");
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.iter().any(|line| is_joined(line)) {
        return; // such files are read whole
    }
    // Another key each time: whoever looks for inputs may have seen the marks of the last.
    let marks = Marks::keyed(RandomState::new().hash_one(bytes));
    let mut rests = Rests::new(marks);
    let light_lines: Vec<Vec<u8>> = lines
        .iter()
        .enumerate()
        .map(|(number, line)| {
            rests.add(line);
            let mut light = Vec::new();
            match number {
                0 => lighten_first(line, marks, &mut light),
                _ => lighten(line, marks, &mut light),
            }
            light
        })
        .collect();
    let whole = read(name, bytes);
    let is_ours = |dialect| matches!(dialect, Dialect::ClaudeCode | Dialect::Codex);
    let half = light_lines.get(..lines.len() / 2).unwrap_or_default().concat();
    if ShapeReader::of(name, &half, Beginning::Some).is_some() {
        assert!(whole.as_ref().is_ok_and(|whole| is_ours(whole.dialect)), "the beginning misled");
    }
    let reader = ShapeReader::of(name, &light_lines.concat(), Beginning::All);
    let (Ok(whole), Some(mut reader)) = (&whole, reader) else {
        assert!(!whole.is_ok_and(|whole| is_ours(whole.dialect)), "a session was not seen");
        return;
    };
    for (line, light) in lines.iter().zip(&light_lines) {
        if !reader.take_light(light) {
            reader.take(line);
        }
    }
    let light = reader.finish(name);
    assert_eq!(light.dialect, whole.dialect);
    assert_eq!(light.oddities, whole.oddities);
    assert_eq!(light.unknown_types, whole.unknown_types);
    let replayed = |records: &[Record]| SessionTree::replay(records.iter().cloned()).0;
    let (whole, light) = (replayed(&whole.records), replayed(&light.records));
    assert_eq!(light.main_head(), whole.main_head());
    assert_eq!(light.title(), whole.title());
    assert_eq!(light.len(), whole.len());
    for (light, whole) in light.entries().zip(whole.entries()) {
        assert_eq!(rests.restored(light).as_ref(), Some(whole.as_ref()));
    }
}

/// The end of a file says what the file says, or nothing.
pub fn recent(bytes: &[u8]) {
    let whole = SessionTree::replay(claude::read(None, bytes).records).0;
    for share in 1..8 {
        let begin = memchr_line(bytes, bytes.len() * share / 8);
        let (before, end) = bytes.split_at(begin);
        for count in [1, 3] {
            if let Some(recent) = claude::recent::recent(end, count)
                && !recent.earlier.names_any(before)
            {
                assert_eq!(recent.messages, claude::recent::recent_of(&whole, count), "from byte {begin}");
            }
        }
    }
}

/// The last turns of a skimmed file are those of the file, where they can be told. Lines are written anew as the
/// program writes JSON, which is what skimming rests on.
pub fn ending(bytes: &[u8]) {
    let lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').filter_map(written_anew).collect();
    let bytes = lines.concat();
    let (mut before, mut behind, skim) = (Spine::default(), Spine::default(), Skim::default());
    let mut offset = 0;
    for (number, line) in lines.iter().enumerate() {
        let part = if number < lines.len() / 2 { &mut before } else { &mut behind };
        if part.take(&skim, line, offset as u64).is_err() {
            return;
        }
        offset += line.len();
    }
    let spine = Spine::joined(vec![before, behind]);
    let whole = SessionTree::replay(claude::read(Some("s.jsonl"), &bytes).records).0;
    for last in [Last::Entries(1), Last::Entries(4), Last::Turns(1), Last::Turns(2)] {
        let Some(excerpt) = spine.excerpt(last) else { continue };
        let length = bytes.len() as u64;
        let piece = |line: usize, to: Option<u64>| {
            let (from, end) = spine.bounds(line, length).unwrap_or_default();
            (line, bytes.get(from as usize..to.unwrap_or(end) as usize).unwrap_or_default())
        };
        let mut pieces: Vec<(usize, &[u8])> = excerpt.before.iter().map(|line| piece(*line, None)).collect();
        pieces.push(piece(excerpt.start, Some(length)));
        let Some(ending) = excerpt.read(&spine, "s.jsonl", &pieces) else { continue };
        assert_eq!(ending.tree.main_head(), whole.main_head());
        assert_eq!(ending.tree.header(), whole.header());
        assert_eq!(ending.tree.title(), whole.title());
        assert_eq!(told(&ending.tree, last, Some(ending.turn)), told(&whole, last, None), "{last:?}");
    }
}

/// `None` for what is not an object.
fn written_anew(line: &[u8]) -> Option<Vec<u8>> {
    let line: serde_json::Map<String, Value> = serde_json::from_slice(line).ok()?;
    let mut line = serde_json::to_vec(&line).ok()?;
    line.push(b'\n');
    Some(line)
}

type Told<'t> = (usize, &'t Entry, Option<Version>);

/// The last entries with their turns and versions. `turn` is the number of the last one where prompts are missing.
fn told(tree: &SessionTree, last: Last, turn: Option<usize>) -> Vec<Told<'_>> {
    let turns = turns_of(tree, tree.main_head());
    let missing = turn.map_or(0, |turn| turn - turns.last().map_or(0, |turn| turn.number));
    let of_turn = |turn: &Turn<'_>| turn.entries.len();
    let count = match last {
        Last::Entries(count) => count,
        Last::Turns(count) => turns.iter().rev().take(count).map(of_turn).sum(),
    };
    let all: Vec<Told<'_>> = turns
        .iter()
        .flat_map(|turn| turn.entries.iter().map(|entry| (turn.number + missing, &***entry)))
        .map(|(number, entry)| (number, entry, version_of(tree, &entry.id)))
        .collect();
    all.get(all.len().saturating_sub(count)..).unwrap_or_default().to_vec()
}

/// A file that is followed with pauses tells what it tells without them.
pub fn follow(bytes: &[u8]) {
    let name = Some("rollout-2026-01-01T00-00-00-t.jsonl");
    let Some(lines) = lines_of(name, bytes) else { return };
    let mut at_once = Follow::begin(lines, name);
    let mut with_pauses = Follow::begin(lines, name);
    let (mut offset, mut said, mut said_with_pauses) = (0, Vec::new(), Vec::new());
    for line in bytes.split(|byte| *byte == b'\n') {
        let taken = at_once.take(line, offset, &mut said);
        assert_eq!(with_pauses.take(line, offset, &mut said_with_pauses), taken);
        if taken.is_err() {
            return;
        }
        let resumed = Follow::resume(&with_pauses.keep());
        assert!(resumed.is_some(), "what was kept is not understood");
        let Some(resumed) = resumed else { return };
        with_pauses = resumed;
        offset += line.len() as u64 + 1;
    }
    assert_eq!(at_once.gist(name), with_pauses.gist(name));
    assert_eq!(said, said_with_pauses);
}

/// Whatever a catalog gives back as kept is understood or not, and nothing else.
pub fn resume(bytes: &[u8]) {
    let files = super::samples::FOLLOWED;
    let file = files.get(bytes.first().map_or(0, |byte| usize::from(*byte)) % files.len());
    let (file, bytes) = (file.copied().unwrap_or_default(), bytes.get(1..).unwrap_or_default());
    let Some(lines) = lines_of(None, file.as_bytes()) else { return };
    let mut follow = Follow::begin(lines, None);
    for line in file.lines() {
        if follow.take(line.as_bytes(), 0, &mut Vec::new()).is_err() {
            break;
        }
    }
    let good = follow.keep();
    let at = bytes.first().map_or(0, |byte| usize::from(*byte) * good.len() / 256);
    let mut mixed = good.clone();
    mixed.iter_mut().skip(at).zip(bytes.iter().skip(1)).for_each(|(to, from)| *to = *from);
    for kept in [&mixed, bytes, good.get(..at).unwrap_or_default()] {
        let Some(mut follow) = Follow::resume(kept) else { continue };
        let mut said = Vec::new();
        for line in file.lines() {
            if follow.take(line.as_bytes(), 0, &mut said).is_err() {
                break;
            }
        }
        drop(follow.gist(None));
        drop(follow.keep());
    }
}

fn last_of(tree: &SessionTree, count: usize) -> Vec<Message> {
    let path = tree.path_to(tree.main_head());
    let mut messages: Vec<Message> =
        path.into_iter().rev().filter_map(Message::from_entry).take(count).collect();
    messages.reverse();
    messages
}

/// Behind the first newline from here on.
fn memchr_line(bytes: &[u8], from: usize) -> usize {
    let behind = bytes.get(from..).unwrap_or_default();
    behind.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| from + at + 1)
}

/// A file that goes when this does.
struct Scratch(PathBuf);

impl Scratch {
    fn with(bytes: &[u8]) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let shared_memory = Path::new("/dev/shm");
        let folder = if shared_memory.is_dir() { shared_memory.to_owned() } else { std::env::temp_dir() };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("offshoot-fuzz-{}-{number}.jsonl", std::process::id()));
        assert!(std::fs::write(&path, bytes).is_ok(), "no room for a scratch file");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
