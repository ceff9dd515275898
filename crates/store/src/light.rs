//! A long file of Claude Code or Codex, read for its shape; what was said is read when it is asked for.
//!
//! Those programs write the message before the id, and what an entry means depends on lines far from it. So the
//! whole file is gone through once, line by line, and what is long in a line is left out
//! ([`offshoot_transcripts::light`]) by one thread, while another reads what is left and makes the tree of it. An entry
//! is made whole from its line in the file. The price against our own journals: every byte is looked at, and about a
//! kilobyte for each line stays in memory.

mod lines;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use offshoot_session::context::Message;
use offshoot_session::{Change, Entry, EntryId, Oddity, Record, SessionTree};
use offshoot_transcripts::Dialect;
use offshoot_transcripts::light::{Beginning, Marks, Rests, ShapeReader};
use thiserror::Error;

use self::lines::{Batch, FirstLine, batches, each_line};
use crate::files::{About, DiskFiles, FileError, Files, Open, OpenFile, Stat, read_exactly};
use crate::steady::Changed;

/// So much of a light file tells which program wrote it.
const BEGINNING: usize = 1 << 20;

#[derive(Debug)]
pub struct LightSession {
    /// The session, then the sub-agents beside it. Lines are counted through all of them.
    parts: Vec<Part>,
    dialect: Dialect,
    /// Long texts end in a mark.
    tree: SessionTree,
    marks: Marks,
    oddities: Vec<Oddity>,
    unknown_types: BTreeMap<String, u64>,
    /// The line each entry was read from, or that it came before.
    line_of: HashMap<EntryId, u32>,
    grew: Option<Changed>,
}

#[derive(Debug)]
struct Part {
    path: PathBuf,
    file: Box<dyn OpenFile>,
    stat: Stat,
    /// Where each line begins, and where the last one ends.
    lines: Vec<u64>,
}

/// The file of a sub-agent that lies beside a session of Claude Code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentBeside {
    pub path: PathBuf,
    pub meta: Option<Vec<u8>>,
}

#[derive(Debug, Error)]
pub enum LightError {
    #[error(transparent)]
    File(#[from] FileError),
    /// Readers of other programs' files may look at more of a line.
    #[error("`{}` does not begin like a file of Claude Code or Codex", path.display())]
    OtherDialect { path: PathBuf },
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("`{}` was changed while it was read", path.display())]
    Changed { path: PathBuf },
}

impl LightSession {
    pub fn open(path: &Path) -> Result<Self, LightError> {
        Self::open_with(path, path, &[])
    }

    /// The same with the sub-agents whose files lie beside it. `name` may tell more than the path by which the file is
    /// reached.
    pub fn open_with(path: &Path, name: &Path, agents: &[AgentBeside]) -> Result<Self, LightError> {
        let name = name.to_string_lossy();
        let marks = Marks::keyed(RandomState::new().hash_one(path));
        let mut session = Part::open(path)?;
        let mut reader = session.begin(&name, marks)?;
        let mut parts = vec![session];
        for AgentBeside { path, meta } in agents {
            let mut part = Part::open(path)?;
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            reader.begin_agent(&name, meta.as_deref());
            part.go_on(&mut reader, marks)?;
            parts.push(part);
        }
        let mut transcript = reader.finish(Some(&name));
        let line_of = lines_of(&mut transcript.records);
        let (tree, more_oddities) = SessionTree::replay_to_look(&transcript.records);
        let mut oddities = transcript.oddities;
        oddities.extend(more_oddities);
        let mut grew = None;
        for part in &parts {
            grew = grew.or(part.grew()?);
        }
        let (dialect, unknown_types) = (transcript.dialect, transcript.unknown_types);
        Ok(Self { parts, dialect, tree, marks, oddities, unknown_types, line_of, grew })
    }

    pub fn path(&self) -> &Path {
        self.parts.first().map_or(Path::new(""), |own| &own.path)
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

    /// What came while it was read, and is not in here.
    pub fn grew(&self) -> Option<Changed> {
        self.grew
    }

    /// How long the session's own file is, in bytes and in lines.
    pub fn size(&self) -> (u64, usize) {
        self.parts.first().map_or((0, 0), |own| (own.stat.length, own.line_count()))
    }

    /// An entry with all that was said.
    pub fn entry(&self, id: &EntryId) -> Result<Arc<Entry>, LightError> {
        self.entries(std::slice::from_ref(id))?.pop().ok_or_else(|| LightError::NotFound(id.clone()))
    }

    /// Entries with all that was said, in the order they are asked for.
    pub fn entries(&self, ids: &[EntryId]) -> Result<Vec<Arc<Entry>>, LightError> {
        let mut whole: HashMap<&EntryId, Arc<Entry>> = HashMap::new();
        let mut elsewhere: Vec<&Arc<Entry>> = Vec::new();
        for id in ids {
            let light = self.tree.entry(id).ok_or_else(|| LightError::NotFound(id.clone()))?;
            match self.rests_of(id)?.restored(light) {
                Some(entry) => drop(whole.insert(id, Arc::new(entry))),
                None => elsewhere.push(light),
            }
        }
        // Some bodies have words of another line: the output of a command, the task of a sub-agent.
        if !elsewhere.is_empty() {
            let none = Rests::new(self.marks);
            let missing = elsewhere.iter().flat_map(|entry| none.missing_for(entry)).collect();
            let rests = self.rests_marked(&missing)?;
            for light in elsewhere {
                let entry = rests.restored(light).ok_or_else(|| self.changed())?;
                whole.insert(&light.id, Arc::new(entry));
            }
        }
        self.parts.iter().try_for_each(Part::must_be_there)?;
        Ok(ids.iter().filter_map(|id| whole.get(id).cloned()).collect())
    }

    /// The tree, in which these entries say all that was said.
    pub fn tree_with(&self, ids: &[EntryId]) -> Result<SessionTree, LightError> {
        Ok(self.tree.retold(self.entries(ids)?))
    }

    /// The last messages on the way to a place (`None`: the main head), oldest first.
    pub fn last_messages(&self, at: Option<&EntryId>, count: usize) -> Result<Vec<Message>, LightError> {
        let path = self.tree.path_to(at.or(self.tree.main_head()));
        let speaking = path.into_iter().rev().filter(|entry| Message::from_entry(entry).is_some());
        let mut ids: Vec<EntryId> = speaking.take(count).map(|entry| entry.id.clone()).collect();
        ids.reverse();
        Ok(self.entries(&ids)?.iter().filter_map(Message::from_entry).collect())
    }

    /// What was left out of the line of an entry.
    fn rests_of(&self, id: &EntryId) -> Result<Rests, LightError> {
        let mut rests = Rests::new(self.marks);
        let Some(line) = self.line_of.get(id) else { return Ok(rests) };
        let mut line = *line as usize;
        for part in &self.parts {
            if line < part.line_count() {
                rests.add(&part.line(line)?);
                break;
            }
            line -= part.line_count();
        }
        Ok(rests) // what is made up behind the last line has none
    }

    fn rests_marked(&self, marks: &HashSet<String>) -> Result<Rests, LightError> {
        let mut rests = Rests::new(self.marks);
        for part in &self.parts {
            each_line(part.file.as_ref(), part.stat.length, |line, _| {
                rests.add_marked(line, marks);
                true
            })
            .about("read", &part.path)?;
        }
        Ok(rests)
    }

    fn changed(&self) -> LightError {
        LightError::Changed { path: self.path().to_owned() }
    }
}

impl Part {
    fn open(path: &Path) -> Result<Self, LightError> {
        let file = DiskFiles.open(path, Open::ReadForeign).about("open", path)?;
        let stat = file.stat().about("read", path)?;
        Ok(Self { path: path.to_owned(), file, stat, lines: vec![0] })
    }

    /// Reads the file of a session, whose first lines tell how it is read.
    fn begin(&mut self, name: &str, marks: Marks) -> Result<ShapeReader, LightError> {
        let Self { path, file, stat, lines } = self;
        batches(file.as_ref(), stat.length, FirstLine::Names, marks, |made| {
            let (first, beginning) = first_batches(&made).about("read", path)?;
            let light: Vec<u8> = first.iter().flat_map(Batch::light).copied().collect();
            let mut reader = ShapeReader::of(Some(name), &light, beginning)
                .ok_or_else(|| LightError::OtherDialect { path: path.clone() })?;
            drop(light);
            for batch in first.into_iter().map(Ok).chain(made) {
                take(&batch.about("read", path)?, file.as_ref(), lines, &mut reader).about("read", path)?;
            }
            Ok(reader)
        })
    }

    fn go_on(&mut self, reader: &mut ShapeReader, marks: Marks) -> Result<(), LightError> {
        let Self { path, file, stat, lines } = self;
        batches(file.as_ref(), stat.length, FirstLine::IsLikeOthers, marks, |made| {
            for batch in made {
                take(&batch.about("read", path)?, file.as_ref(), lines, reader).about("read", path)?;
            }
            Ok(())
        })
    }

    /// Whether something was appended while it was read. A file that was written anew is not what was read.
    fn grew(&self) -> Result<Option<Changed>, LightError> {
        let now = self.file.stat().about("read", &self.path)?;
        if now.length > self.stat.length {
            return Ok(Some(Changed::Grew { by: now.length - self.stat.length }));
        }
        let is_read = self.lines.last() == Some(&self.stat.length);
        match is_read && now == self.stat {
            true => Ok(None),
            false => Err(self.changed()),
        }
    }

    fn line_count(&self) -> usize {
        self.lines.len().saturating_sub(1)
    }

    fn line(&self, number: usize) -> Result<Vec<u8>, LightError> {
        let (Some(from), Some(to)) = (self.lines.get(number), self.lines.get(number + 1)) else {
            return Err(self.changed());
        };
        let mut line = vec![0; usize::try_from(to - from).map_err(|_| self.changed())?];
        match read_exactly(self.file.as_ref(), *from, &mut line).about("read", &self.path)? {
            true => Ok(line),
            false => Err(self.changed()),
        }
    }

    /// A file that only grew still has its old lines.
    fn must_be_there(&self) -> Result<(), LightError> {
        match self.file.stat().about("read", &self.path)?.length < self.stat.length {
            true => Err(self.changed()),
            false => Ok(()),
        }
    }

    fn changed(&self) -> LightError {
        LightError::Changed { path: self.path.clone() }
    }
}

fn first_batches(made: &Receiver<io::Result<Batch>>) -> io::Result<(Vec<Batch>, Beginning)> {
    let (mut first, mut length) = (Vec::new(), 0);
    while length < BEGINNING {
        let Ok(batch) = made.recv() else { return Ok((first, Beginning::All)) };
        let batch = batch?;
        length += batch.light().len();
        first.push(batch);
    }
    Ok((first, Beginning::Some))
}

fn take(
    batch: &Batch,
    file: &dyn OpenFile,
    lines: &mut Vec<u64>,
    reader: &mut ShapeReader,
) -> io::Result<()> {
    for (light, end) in batch.lines() {
        if !reader.take_light(light) {
            let from = lines.last().copied().unwrap_or_default();
            let mut line = vec![0; end.saturating_sub(from) as usize];
            read_exactly(file, from, &mut line)?;
            reader.take(&line);
        }
        lines.push(end);
    }
    Ok(())
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
