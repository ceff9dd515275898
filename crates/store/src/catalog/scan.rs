//! Looking through the files themselves, on two threads.
//!
//! A file is looked at as bytes first: a line is only taken apart where the longest word of the query stands in it.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use offshoot_session::long_lines::LONGEST_LINE;
use offshoot_session::{SessionId, SessionTree};
use offshoot_transcripts::gist::{Lines, Place, Role, Said, words_of_line, words_of_tree};
use regex::bytes::Regex;

use super::in_archive;
use super::query::Query;
use super::rows::SessionRow;
use super::search::Within;
use super::walk::Sources;
use crate::archive::{Archive, transcript_of};
use crate::files::{PAGE, Pages};
use crate::journal_store::JournalStore;
use crate::lock::Locking;
use crate::opencode_database::OpencodeDatabase;
use crate::opencode_storage::{self, Messages};
use crate::store::SessionStore;

pub(super) type LinesByKey = HashMap<i64, Lines>;

/// A match in a file.
pub(super) struct Looked {
    pub(super) key: i64,
    /// The order of writing.
    pub(super) place: u64,
    pub(super) said: Said,
}

const READERS: usize = 2;
/// Small enough to stay in the cache of a processor.
const PIECE: usize = 256 << 10;

pub(super) fn look_through(
    mut rows: Vec<&SessionRow>,
    lines: &LinesByKey,
    query: &Query,
    within: Within,
    sources: &Sources,
) -> Vec<Looked> {
    // long ones first, so that no thread is left alone with one at the end
    rows.sort_unstable_by_key(|row| (std::cmp::Reverse(row.length), row.key));
    let look = Look { query, in_json: query.in_json(), within, sources };
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..READERS.min(rows.len()) {
            scope.spawn(|| {
                let mut pages = Pages::default();
                let mut found = Vec::new();
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // a file that went meanwhile holds nothing any more
                    let _ = look.at(row, lines.get(&row.key).copied(), &mut pages, &mut found);
                }
                // nobody panics while holding it
                all.lock().unwrap_or_else(std::sync::PoisonError::into_inner).append(&mut found);
            });
        }
    });
    all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
}

struct Look<'q> {
    query: &'q Query,
    in_json: Option<Regex>,
    within: Within,
    sources: &'q Sources,
}

impl Look<'_> {
    fn at(
        &self,
        row: &SessionRow,
        lines: Option<Lines>,
        pages: &mut Pages,
        found: &mut Vec<Looked>,
    ) -> io::Result<()> {
        if let Some(lines) = lines {
            return self.at_lines(row, lines, pages, found);
        }
        for (place, said) in words_in_whole(row, self.sources).into_iter().enumerate() {
            if self.wants(said.role) && self.query.finds(&said.text) {
                found.push(Looked { key: row.key, place: place as u64, said });
            }
        }
        Ok(())
    }

    fn wants(&self, role: Role) -> bool {
        role != Role::Tool || self.within == Within::Everything
    }

    fn at_lines(
        &self,
        row: &SessionRow,
        lines: Lines,
        pages: &mut Pages,
        found: &mut Vec<Looked>,
    ) -> io::Result<()> {
        let file = in_archive::open(row, self.sources)?;
        let end = file.metadata()?.len();
        let mut size = PIECE;
        // what was read lies from `start` to `filled`, and begins at byte `at` of the file
        let (mut at, mut start, mut filled) = (0_u64, 0, 0);
        let mut is_in_long_line = false;
        loop {
            let buffer = pages.room(size);
            let room = buffer.get_mut(filled..).unwrap_or_default();
            let count = file.read_at(room, at + (filled - start) as u64)?;
            filled += count;
            let is_last = count == 0 || at + (filled - start) as u64 >= end;
            let bytes = buffer.get(start..filled).unwrap_or_default();
            let whole =
                if is_last { bytes.len() } else { memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1) };
            if !is_in_long_line {
                self.at_piece(row.key, lines, bytes.get(..whole).unwrap_or_default(), at, found);
            } else if whole > 0 {
                let end = memchr::memchr(b'\n', bytes).map_or(whole, |end| end + 1);
                let behind = bytes.get(end..whole).unwrap_or_default();
                self.at_piece(row.key, lines, behind, at + end as u64, found);
                is_in_long_line = false;
            }
            if is_last {
                return Ok(());
            }
            let mut rest = bytes.get(whole..).unwrap_or_default().to_vec();
            at += whole as u64;
            if is_in_long_line || rest.len() > LONGEST_LINE {
                is_in_long_line = true;
                at += rest.len() as u64;
                rest.clear();
            }
            if rest.len() + PAGE as usize > size / 2 {
                size *= 2; // one line is longer
            }
            // the next page of the file is read to the beginning of a page
            start = rest.len().next_multiple_of(PAGE as usize) - rest.len();
            filled = start + rest.len();
            if let Some(place) = pages.room(size).get_mut(start..filled) {
                place.copy_from_slice(&rest);
            }
        }
    }

    /// Whole lines.
    fn at_piece(&self, key: i64, lines: Lines, bytes: &[u8], offset: u64, found: &mut Vec<Looked>) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let hit = match &self.in_json {
                Some(pattern) => match pattern.find(rest) {
                    Some(hit) => at + hit.start(),
                    None => return,
                },
                None => at,
            };
            let (before, behind) = bytes.split_at(hit);
            let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
            let end = memchr::memchr(b'\n', behind).map_or(bytes.len(), |newline| hit + newline);
            let line = bytes.get(start..end).unwrap_or_default();
            for (piece_at, piece) in lines.pieces(line) {
                self.at_line(key, lines, piece, offset + (start + piece_at) as u64, found);
            }
            at = end + 1;
        }
    }

    fn at_line(&self, key: i64, lines: Lines, line: &[u8], offset: u64, found: &mut Vec<Looked>) {
        for (nth, (entry, role, text)) in words_of_line(lines, line).into_iter().enumerate() {
            if self.wants(role) && self.query.finds(&text) {
                let at = offshoot_transcripts::gist::moment_of_line(line);
                let place = Some(Place { offset, length: line.len() as u32 });
                let said = Said { entry, role, turn: None, branch: None, at, text, place };
                found.push(Looked { key, place: offset + nth as u64, said });
            }
        }
    }
}

/// All that tools were given and answered in a session, as one text.
pub(super) fn tools_of(row: &SessionRow, lines: Option<Lines>, sources: &Sources) -> io::Result<String> {
    let mut all = String::new();
    let mut add = |role: Role, text: &str| {
        if role == Role::Tool {
            all.push_str(text);
            all.push('\n');
        }
    };
    match lines {
        None => words_in_whole(row, sources).iter().for_each(|said| add(said.role, &said.text)),
        Some(lines) => {
            let mut file = BufReader::with_capacity(PIECE, in_archive::open(row, sources)?);
            let mut line = Vec::new();
            while file.by_ref().take(LONGEST_LINE as u64).read_until(b'\n', &mut line)? > 0 {
                if line.len() == LONGEST_LINE && line.last() != Some(&b'\n') {
                    file.skip_until(b'\n')?;
                    line.clear();
                }
                for (_, piece) in lines.pieces(line.trim_ascii_end()) {
                    let words = words_of_line(lines, piece);
                    words.iter().for_each(|(_, role, text)| add(*role, text));
                }
                line.clear();
            }
        }
    }
    Ok(all)
}

/// All words of a session that is not taken line by line.
pub(super) fn words_in_whole(row: &SessionRow, sources: &Sources) -> Vec<Said> {
    tree_of(row, sources).map(|tree| words_of_tree(&tree)).unwrap_or_default()
}

fn tree_of(row: &SessionRow, sources: &Sources) -> Option<SessionTree> {
    if row.is_own {
        let store = JournalStore::at(sources.home.clone(), Locking::by("offshoot"));
        return Some(store.read(&SessionId::from(row.id.as_str())).ok()??.tree);
    }
    let records =
        match row.path.parent().filter(|database| sources.databases.iter().any(|known| known == database)) {
            Some(database) => {
                OpencodeDatabase::open(database, &sources.scratch).ok()?.read(&row.id).ok()??.records
            }
            None => {
                let archive = Archive::of(&sources.home);
                let (bytes, path, messages) = match archive.kept_at(&row.path) {
                    Some(kept) => (kept.bytes().ok()?, kept.original, Messages::ThatWereThere),
                    None => (
                        crate::private::read_foreign(&row.path).ok()?,
                        row.path.clone(),
                        Messages::ThatAreThere,
                    ),
                };
                let in_storage = opencode_storage::read(&path, &bytes, messages, &archive);
                in_storage.or_else(|| transcript_of(&path.to_string_lossy(), &bytes).ok())?.records
            }
        };
    Some(SessionTree::replay(records).0)
}
