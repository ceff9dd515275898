//! A long file of Claude Code or Codex, read for its shape; what was said is read when it is asked for.
//!
//! Those programs write the message before the id, and what an entry means depends on lines far from it. So the
//! whole file is gone through once, line by line, and what is long in a line is left out
//! ([`offshoot_transcripts::light`]); the ordinary reader makes the tree of what is left. An entry is made whole
//! from its line in the file. The price against our own journals: every byte is looked at, and about a kilobyte
//! for each line stays in memory.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_session::context::Message;
use offshoot_session::{Change, Entry, EntryId, Oddity, Record, SessionTree};
use offshoot_transcripts::light::{Rests, lighten, lighten_first, marks_in};
use offshoot_transcripts::{Dialect, Unreadable, read};
use thiserror::Error;

use crate::files::{About, DiskFiles, FileError, Files, Open, OpenFile, Pages, Stat, read_exactly};

const CHUNK: u64 = 512 << 10;

#[derive(Debug)]
pub struct LightSession {
    path: PathBuf,
    file: Box<dyn OpenFile>,
    stat: Stat,
    dialect: Dialect,
    /// Long texts end in a mark.
    tree: SessionTree,
    oddities: Vec<Oddity>,
    unknown_types: BTreeMap<String, u64>,
    /// Where each line begins, and where the last one ends.
    lines: Vec<u64>,
    /// The line each entry was read from, or that it came before.
    line_of: HashMap<EntryId, u32>,
}

#[derive(Debug, Error)]
pub enum LightError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error("`{}`: {source}", path.display())]
    Unreadable { path: PathBuf, source: Unreadable },
    /// Readers of other programs' files may look at more of a line.
    #[error("`{}` is a file of {}", path.display(), dialect.name())]
    OtherDialect { path: PathBuf, dialect: Dialect },
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("`{}` was changed while it was read", path.display())]
    Changed { path: PathBuf },
}

impl LightSession {
    pub fn open(path: &Path) -> Result<Self, LightError> {
        let file = DiskFiles.open(path, Open::Read).about("open", path)?;
        let stat = file.stat().about("read", path)?;
        let (light, lines) = lightened(file.as_ref(), stat.length).about("read", path)?;
        let name = path.file_name().map(|name| name.to_string_lossy());
        let transcript = read(name.as_deref(), &light)
            .map_err(|source| LightError::Unreadable { path: path.to_owned(), source })?;
        drop(light);
        if !matches!(transcript.dialect, Dialect::ClaudeCode | Dialect::Codex) {
            return Err(LightError::OtherDialect { path: path.to_owned(), dialect: transcript.dialect });
        }
        let mut records = transcript.records;
        let line_of = lines_of(&mut records);
        let (tree, more_oddities) = SessionTree::replay(records);
        let mut oddities = transcript.oddities;
        oddities.extend(more_oddities);
        let (dialect, unknown_types) = (transcript.dialect, transcript.unknown_types);
        Ok(Self { path: path.to_owned(), file, stat, dialect, tree, oddities, unknown_types, lines, line_of })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The tree, with the beginnings of what was said.
    pub fn tree(&self) -> &SessionTree {
        &self.tree
    }

    pub fn oddities(&self) -> &[Oddity] {
        &self.oddities
    }

    pub fn unknown_types(&self) -> &BTreeMap<String, u64> {
        &self.unknown_types
    }

    /// An entry with all that was said.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, LightError> {
        let light = self.tree.entry(id).ok_or_else(|| LightError::NotFound(id.clone()))?;
        // What is made up behind the last line has none.
        let has_line = |line: &&u32| (**line as usize) + 1 < self.lines.len();
        let own = match self.line_of.get(id).filter(has_line) {
            Some(line) => Rests::of(&self.line(*line as usize)?),
            None => Rests::default(),
        };
        if let Some(entry) = own.restored(light) {
            return Ok(Arc::new(entry));
        }
        // Some bodies have words of another line: the output of a command, the task of a sub-agent.
        let marks = marks_in(light);
        let mut all = own;
        for line in 0..self.lines.len().saturating_sub(1) {
            all.add_marked(&self.line(line)?, &marks);
        }
        all.restored(light).map(Arc::new).ok_or_else(|| self.changed())
    }

    /// The last messages on the way to a place (`None`: the main head), oldest first.
    pub fn last_messages(&self, at: Option<&EntryId>, count: usize) -> Result<Vec<Message>, LightError> {
        let path = self.tree.path_to(at.or(self.tree.main_head()));
        let speaking = path.into_iter().rev().filter(|entry| Message::from_entry(entry).is_some());
        let mut messages = Vec::new();
        for entry in speaking.take(count) {
            messages.extend(Message::from_entry(&self.entry(&entry.id)?));
        }
        messages.reverse();
        Ok(messages)
    }

    fn line(&self, number: usize) -> Result<Vec<u8>, LightError> {
        let (Some(from), Some(to)) = (self.lines.get(number), self.lines.get(number + 1)) else {
            return Err(self.changed());
        };
        let mut line = vec![0; usize::try_from(to - from).map_err(|_| self.changed())?];
        let is_there = read_exactly(self.file.as_ref(), *from, &mut line).about("read", &self.path)?;
        let stat = self.file.stat().about("read", &self.path)?;
        // A file that only grew still has its old lines.
        if !is_there || stat.length < self.stat.length {
            return Err(self.changed());
        }
        Ok(line)
    }

    fn changed(&self) -> LightError {
        LightError::Changed { path: self.path.clone() }
    }
}

/// The light lines one after the other, and where the true ones begin.
fn lightened(file: &dyn OpenFile, length: u64) -> std::io::Result<(Vec<u8>, Vec<u64>)> {
    let (mut light, mut lines) = (Vec::new(), vec![0]);
    let mut begun: Vec<u8> = Vec::new();
    let mut pages = Pages::default();
    let mut offset = 0;
    while offset < length {
        let room = pages.room(CHUNK.min(length - offset) as usize);
        if !read_exactly(file, offset, room)? {
            break; // it became shorter: the last line is not complete
        }
        let mut chunk: &[u8] = room;
        let mut at = offset;
        while let Some(end) = memchr::memchr(b'\n', chunk) {
            let (line, behind) = chunk.split_at(end + 1);
            at += line.len() as u64;
            let is_first = lines.len() == 1;
            if begun.is_empty() {
                add(line, is_first, &mut light);
            } else {
                begun.extend_from_slice(line);
                add(&begun, is_first, &mut light);
                begun.clear();
            }
            lines.push(at);
            chunk = behind;
        }
        begun.extend_from_slice(chunk);
        offset += room.len() as u64;
    }
    if !begun.is_empty() {
        add(&begun, lines.len() == 1, &mut light);
        lines.push(offset);
    }
    Ok((light, lines))
}

fn add(line: &[u8], is_first: bool, light: &mut Vec<u8>) {
    match is_first {
        true => lighten_first(line, light),
        false => lighten(line, light),
    }
}

/// Sources stand in the order of the lines, one line each. They are not needed any more.
fn lines_of(records: &mut [Record]) -> HashMap<EntryId, u32> {
    let mut line_of = HashMap::new();
    let mut line = 0;
    for record in records {
        if let Change::Entry(entry) = &record.change {
            line_of.entry(entry.id.clone()).or_insert(line);
        }
        line += u32::from(record.source.take().is_some());
    }
    line_of
}
