//! One file, kept as it is now.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::compare::{Says, newer_says};
use super::frames::{Effort, Mark, add, damaged, finished, unpacked};
use super::place::{self, Version};
use super::{Archive, Hold, Kept};
use crate::private;
use crate::short_lines::read_short_lines;
use crate::titles_beside::is_index;

/// What tells one state of an original from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub length: u64,
    /// In nanoseconds since 1970.
    pub modified: i64,
    pub inode: u64,
    pub device: u64,
}

/// What stands for a session after it was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stood {
    /// The original. It is kept as it is, and if it `rests` there is nothing left to do.
    Original { rests: bool },
    /// What was kept: the original says less by now, or nothing.
    Kept(Kept),
    /// The original, and beside it what it was before it was written anew.
    Both(Kept),
}

/// What was written for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrote {
    Nothing,
    /// Behind what was there, or in its place.
    More,
    /// Under a new name.
    New,
}

/// What keeping a file came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    pub stood: Stood,
    pub wrote: Wrote,
}

/// A file that is kept as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AsItIs {
    pub taken: Taken,
    pub state: State,
    /// `None` where it has one already, or cannot have one.
    pub second_name: Option<SecondName>,
    /// It was laid there, and not packed yet.
    pub is_loose: bool,
}

/// Giving a file another name changes its stat, and nothing in it: what it was before, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondName {
    pub before: Inode,
    pub now: Inode,
}

/// What a stat says of the file itself and not of what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inode {
    /// The disk's own time of the last change, in nanoseconds since 1970.
    pub changed: i64,
    pub links: u64,
}

#[derive(Debug, Error)]
#[error("could not keep `{}`", path.display())]
pub struct KeepError {
    pub path: PathBuf,
    pub source: io::Error,
}

/// A file that was not written for so long has come to rest, in nanoseconds.
const REST: i64 = 60 * 60 * 1_000_000_000;

/// What is shorter is packed at once.
const LITTLE: u64 = 64 << 10;

const HEAD: u64 = 512;
const TAIL: u64 = 4_096;

/// Where the bytes of a state come from.
enum Source<'s> {
    File(&'s File),
    Bytes(&'s [u8]),
}

impl State {
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            length: metadata.len(),
            modified: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    fn is_in(&self, mark: &Mark) -> bool {
        (self.length, self.modified, self.inode, self.device)
            == (mark.length, mark.modified, mark.inode, mark.device)
    }

    fn rests(&self, now: i64) -> bool {
        now.saturating_mul(1_000).saturating_sub(self.modified) > REST
    }
}

impl Archive {
    /// Keeps a file as it is now; `now` is in microseconds since 1970.
    pub fn keep(&self, hold: &Hold, original: &Path, now: i64) -> Result<AsItIs, KeepError> {
        let keep = || -> io::Result<AsItIs> {
            let kept = place::kept(&self.root, original).ok_or(ErrorKind::InvalidInput)?;
            let file = crate::private::open_foreign(original)?;
            let before = file.metadata()?;
            let state = State::of(&before);
            if self.is_unwanted(hold, original, &file)? {
                let taken = Taken { stood: Stood::Original { rests: true }, wrote: Wrote::Nothing };
                return Ok(AsItIs { taken, state, second_name: None, is_loose: false });
            }
            self.take_link(hold, &kept, Some(&state), now)?;
            let taken = take(&kept, &Source::File(&file), &state, now)?;
            link(original, &kept, &state);
            let second_name = file.metadata().ok().and_then(|now| second_name(&before, &now));
            let is_loose = kept.mark().is_some_and(|mark| mark.is_loose);
            Ok(AsItIs { taken, state, second_name, is_loose })
        };
        keep().map_err(|source| KeepError { path: original.to_owned(), source })
    }

    /// Whether a file, or a session that it lists, is forgotten.
    fn is_unwanted(&self, hold: &Hold, original: &Path, file: &File) -> io::Result<bool> {
        if hold.forgets(original) {
            return Ok(true);
        }
        Ok(is_index(original) && hold.forgotten.is_named_in(&Source::File(file).all()?))
    }

    /// Keeps what a database says of a session. `original` names it as if the database were a folder.
    pub fn keep_lines(
        &self,
        _: &Hold,
        original: &Path,
        lines: &[u8],
        modified: i64,
        now: i64,
    ) -> Result<Taken, KeepError> {
        let state = State { length: lines.len() as u64, modified, ..State::default() };
        let kept = place::kept(&self.root, original).ok_or_else(|| io::Error::from(ErrorKind::InvalidInput));
        kept.and_then(|kept| take(&kept, &Source::Bytes(lines), &state, now))
            .map_err(|source| KeepError { path: original.to_owned(), source })
    }

    /// The original is gone: what it still had under its second name is kept too, and then that name is given up.
    pub fn take_up(&self, hold: &Hold, original: &Path, now: i64) -> Result<Option<Kept>, KeepError> {
        let Some(kept) = place::kept(&self.root, original) else { return Ok(None) };
        self.clear_for_link(&kept)
            .and_then(|()| self.take_link(hold, &kept, None, now))
            .map_err(|source| KeepError { path: original.to_owned(), source })?;
        Ok(kept.mark().is_some().then_some(kept))
    }

    /// Packs what was only laid there. What it holds stays the same, whatever its original is by now.
    pub fn pack(&self, _: &Hold, kept: &Kept) -> io::Result<()> {
        let Some(mark) = kept.mark().filter(|mark| mark.is_loose) else { return Ok(()) };
        let content = kept.content()?;
        put_anew(kept, &Source::File(&content), mark.length, |_| Mark { frames: 1, is_loose: false, ..mark })
    }

    /// What stands for a session, without keeping anything: for whoever does not want more to be kept.
    pub fn look(&self, original: &Path) -> io::Result<Stood> {
        let rests = Stood::Original { rests: true };
        let Some(kept) = self.kept(original) else { return Ok(rests) };
        let Some(mark) = kept.mark() else { return Ok(rests) };
        let file = crate::private::open_foreign(original)?;
        let (state, source) = (State::of(&file.metadata()?), Source::File(&file));
        if state.is_in(&mark) || goes_on(&kept, &mark, &source, &state)? {
            return Ok(rests);
        }
        Ok(match newer_says(&kept, &kept.bytes()?, &source.all()?) {
            Says::AllOfTheOlder => rests,
            Says::LessThanTheOlder => Stood::Kept(kept),
            Says::SomethingElse => Stood::Both(kept),
        })
    }

    /// Earlier states of a file, in their order.
    pub fn earlier(&self, original: &Path) -> Vec<Kept> {
        place::kept(&self.root, original).map_or_else(Vec::new, |kept| versions(&kept))
    }

    fn take_link(&self, _: &Hold, kept: &Kept, now_at: Option<&State>, now: i64) -> io::Result<()> {
        let link = kept.link();
        let file = match private::open(&link, OpenOptions::new().read(true)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let state = State::of(&file.metadata()?);
        if now_at.is_some_and(|at| (at.inode, at.device) == (state.inode, state.device)) {
            return Ok(());
        }
        take(kept, &Source::File(&file), &state, now)?;
        // it is gone from the disk with this name, so what was taken from it has to be there before
        kept.open_to_read()?.sync_all()?;
        std::fs::remove_file(link)
    }
}

/// Gives the original a second name where the disk can. Where it cannot, the copy has to do.
fn link(original: &Path, kept: &Kept, state: &State) {
    let link = kept.link();
    let only_grows = original.extension().is_some_and(|end| end == "jsonl");
    let is_itself = original.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    if only_grows && is_itself && !link.exists() {
        let _ = std::fs::hard_link(original, &link);
        // it may have been replaced between the two
        if std::fs::metadata(&link).is_ok_and(|metadata| metadata.ino() != state.inode) {
            let _ = std::fs::remove_file(&link);
        }
    }
}

fn second_name(before: &Metadata, now: &Metadata) -> Option<SecondName> {
    let inode = |metadata: &Metadata| Inode {
        changed: metadata.ctime().saturating_mul(1_000_000_000).saturating_add(metadata.ctime_nsec()),
        links: metadata.nlink(),
    };
    let (before_it, now_it) = (inode(before), inode(now));
    let is_one_more = now_it.links == before_it.links.saturating_add(1);
    (is_one_more && State::of(before) == State::of(now))
        .then_some(SecondName { before: before_it, now: now_it })
}

fn take(kept: &Kept, source: &Source<'_>, state: &State, now: i64) -> io::Result<Taken> {
    let rests = state.rests(now);
    let held = match kept.open_to_read() {
        Ok(file) => finished(&file)?,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some((end, mark)) = held else {
        begin_after(kept, source, state, now)?;
        return Ok(Taken { stood: Stood::Original { rests }, wrote: Wrote::New });
    };
    if state.is_in(&mark) || goes_on(kept, &mark, source, state)? {
        let is_in_pieces = mark.frames > 1 && rests;
        if is_in_pieces && !is_beginning(kept, source)? {
            // its ends are the same, and something between them is not
            return written_anew(kept, source, state, now, &mark);
        }
        let wrote = if is_in_pieces {
            pack_anew(kept, source, state, now, mark.since)?;
            Wrote::More
        } else if state.is_in(&mark) {
            Wrote::Nothing
        } else {
            go_on(kept, end, &mark, source, state, now)?;
            Wrote::More
        };
        return Ok(Taken { stood: Stood::Original { rests }, wrote });
    }
    written_anew(kept, source, state, now, &mark)
}

/// The original is not what was kept and more. Which of the two stands for the session depends on what they say.
fn written_anew(kept: &Kept, source: &Source<'_>, state: &State, now: i64, mark: &Mark) -> io::Result<Taken> {
    let rests = state.rests(now);
    let (older, newer) = (kept.bytes()?, source.all()?);
    let is_document = kept.is_of_database() || kept.original.extension().is_none_or(|end| end != "jsonl");
    let older_stays = match newer_says(kept, &older, &newer) {
        Says::LessThanTheOlder => {
            return Ok(Taken { stood: Stood::Kept(kept.clone()), wrote: Wrote::Nothing });
        }
        // a document is written anew with each turn, and the newer one has it all
        Says::AllOfTheOlder if is_document => {
            pack_anew(kept, source, state, now, mark.since)?;
            return Ok(Taken { stood: Stood::Original { rests }, wrote: Wrote::More });
        }
        Says::AllOfTheOlder => set_aside(kept, &older, Version::Old)?,
        Says::SomethingElse => set_aside(kept, &older, Version::Was)?,
    };
    begin_after(kept, source, state, now)?;
    let stood = match older_stays.version {
        Version::Was(_) => Stood::Both(older_stays),
        Version::Old(_) | Version::Last => Stood::Original { rests },
    };
    Ok(Taken { stood, wrote: Wrote::New })
}

/// Gives what was kept the next free number; one that is there already in the same words is not kept twice.
fn set_aside(kept: &Kept, bytes: &[u8], version: fn(u32) -> Version) -> io::Result<Kept> {
    let earlier = versions(kept);
    let is_same = |one: &&Kept| {
        one.mark().is_some_and(|mark| mark.length == bytes.len() as u64)
            && one.bytes().is_ok_and(|own| own == bytes)
    };
    let (from, number) = match earlier.iter().find(is_same) {
        Some(same) => (same, same.version.number()),
        None => (kept, earlier.len() as u32 + 1),
    };
    let aside = kept.as_version(version(number));
    std::fs::rename(&from.path, &aside.path)?;
    if from != kept {
        std::fs::remove_file(&kept.path)?;
    }
    Ok(aside)
}

/// Numbers have no gaps, and one number is one state, whichever of the two it is.
fn versions(kept: &Kept) -> Vec<Kept> {
    let numbered = |number| {
        let both = [Version::Was(number), Version::Old(number)].map(|version| kept.as_version(version));
        both.into_iter().find(|one| one.path.exists())
    };
    (1..).map_while(numbered).collect()
}

/// Whether what was kept is how the original begins. A file that only grew is known by its ends; any other is compared
/// whole.
fn goes_on(kept: &Kept, mark: &Mark, source: &Source<'_>, state: &State) -> io::Result<bool> {
    if state.length < mark.length {
        return Ok(false);
    }
    let is_same_file = (state.inode, state.device) == (mark.inode, mark.device) && mark.inode != 0;
    if is_same_file && state.length > mark.length {
        return Ok(source.ends(mark.length)? == (mark.head, mark.tail));
    }
    is_beginning(kept, source)
}

fn is_beginning(kept: &Kept, source: &Source<'_>) -> io::Result<bool> {
    let (mut held, mut now) = (unpacked(kept.open_to_read()?)?.bytes, source.from(0, u64::MAX));
    let (mut one, mut other) = (vec![0; 256 << 10], vec![0; 256 << 10]);
    loop {
        let count = held.read(&mut one)?;
        if count == 0 {
            return Ok(true);
        }
        let same = other.get_mut(..count).unwrap_or_default();
        match now.read_exact(same) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            read => read?,
        }
        if one.get(..count) != Some(&*same) {
            return Ok(false);
        }
    }
}

/// Begins anew beside earlier states. Those that are said again need no place of their own in a list; that is seen to
/// before there is a mark, so that whoever comes after a process that was killed sees to it again.
fn begin_after(kept: &Kept, source: &Source<'_>, state: &State, now: i64) -> io::Result<()> {
    for one in versions(kept) {
        if let Version::Was(number) = one.version
            && newer_says(kept, &one.bytes()?, &source.all()?) == Says::AllOfTheOlder
        {
            std::fs::rename(&one.path, kept.as_version(Version::Old(number)).path)?;
        }
    }
    begin(kept, source, state, now)
}

fn begin(kept: &Kept, source: &Source<'_>, state: &State, now: i64) -> io::Result<()> {
    kept.refuse_links()?;
    make_folder(&kept.path)?;
    let mut file = kept.open(OpenOptions::new().read(true).write(true).create(true).truncate(true))?;
    let effort = match source {
        Source::File(_) if state.length >= LITTLE => Effort::Loose,
        Source::File(_) | Source::Bytes(_) => Effort::Quick,
    };
    add_from(&mut file, source, 0, state.length, effort, |ends| mark_for(state, ends, 1, now, now))?;
    // nobody reads it soon; the disk begins to write it now, so there is less to wait for when it has to be safe
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    Ok(())
}

fn go_on(kept: &Kept, end: u64, mark: &Mark, source: &Source<'_>, state: &State, now: i64) -> io::Result<()> {
    let mut file = kept.open(OpenOptions::new().read(true).write(true))?;
    file.set_len(end)?; // whatever was never finished
    let of = |ends| {
        let frames = mark.frames.saturating_add(1);
        Mark { is_loose: mark.is_loose, ..mark_for(state, ends, frames, mark.since, now) }
    };
    add_from(&mut file, source, mark.length, state.length, Effort::Quick, of).map(drop)
}

fn pack_anew(kept: &Kept, source: &Source<'_>, state: &State, now: i64, since: i64) -> io::Result<()> {
    put_anew(kept, source, state.length, |ends| mark_for(state, ends, 1, since, now))
}

/// Writes it whole under another name, reads that again, and only then gives it the place of what was kept.
fn put_anew(
    kept: &Kept,
    source: &Source<'_>,
    length: u64,
    of: impl FnOnce((u64, (u32, u32))) -> Mark,
) -> io::Result<()> {
    let folder = kept.path.parent().ok_or(ErrorKind::InvalidInput)?;
    // always the same name: what a process leaves that is killed is written over by the next
    let written = Kept { path: kept.unfinished(), ..kept.clone() };
    let write = || -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(true);
        let mut file = written.open(&mut options)?;
        let mark = add_from(&mut file, source, 0, length, Effort::Thorough, of)?;
        file.sync_all()?;
        let is_whole = written.mark() == Some(mark) && is_beginning(&written, source)?;
        if is_whole { std::fs::rename(&written.path, &kept.path) } else { Err(damaged()) }
    };
    if let Err(error) = write() {
        let _ = std::fs::remove_file(&written.path);
        return Err(error);
    }
    File::open(folder)?.sync_all()
}

/// Ends are those of what was read, which may be less than the state says: somebody may be cutting it just now.
fn add_from(
    file: &mut File,
    source: &Source<'_>,
    from: u64,
    end: u64,
    effort: Effort,
    of: impl FnOnce((u64, (u32, u32))) -> Mark,
) -> io::Result<Mark> {
    let mut ends = Ok((0, 0));
    let mark = add(file, &mut source.from(from, end), effort, |length| {
        ends = source.ends(from + length);
        of((from + length, ends.as_ref().copied().unwrap_or_default()))
    })?;
    ends.map(|_| mark)
}

fn mark_for(
    state: &State,
    (length, (head, tail)): (u64, (u32, u32)),
    frames: u32,
    since: i64,
    now: i64,
) -> Mark {
    let State { modified, inode, device, .. } = *state;
    Mark { length, modified, inode, device, head, tail, frames, is_loose: false, since, kept_at: now }
}

/// Checksums of the first and last bytes of the beginning of a file.
pub(super) fn ends_of(file: &File, length: u64) -> io::Result<(u32, u32)> {
    Source::File(file).ends(length)
}

pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(ErrorKind::InvalidInput)?;
    private::create_directory(folder)
}

impl Source<'_> {
    fn from(&self, offset: u64, end: u64) -> Box<dyn Read + '_> {
        match self {
            Self::File(file) => Box::new(Part { file, at: offset, end }),
            Self::Bytes(bytes) => {
                let offset = usize::try_from(offset).unwrap_or(usize::MAX);
                Box::new(bytes.get(offset..).unwrap_or_default())
            }
        }
    }

    fn all(&self) -> io::Result<Vec<u8>> {
        let length = match self {
            Self::File(file) => file.metadata()?.len(),
            Self::Bytes(bytes) => bytes.len() as u64,
        };
        Ok(read_short_lines(self.from(0, u64::MAX), length)?.bytes)
    }

    /// Checksums of the first and last bytes of a beginning of this length.
    fn ends(&self, length: u64) -> io::Result<(u32, u32)> {
        let hash = |from: u64, to: u64| -> io::Result<u32> {
            let mut bytes = Vec::new();
            self.from(from, to).take(to - from).read_to_end(&mut bytes)?;
            Ok(crc32fast::hash(&bytes))
        };
        Ok((hash(0, HEAD.min(length))?, hash(length.saturating_sub(TAIL), length)?))
    }
}

/// A part of a file, whatever others read of it.
pub(crate) struct Part<'f> {
    pub(crate) file: &'f File,
    pub(crate) at: u64,
    pub(crate) end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(buffer.get_mut(..left).unwrap_or_default(), self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}
