//! Sessions of other programs, read where they lie, for journals that go on with them.
//!
//! Nothing here writes to another program's files. Where the bytes of a session can be had now is asked of one
//! [`ForeignBytes`] after the other: first where the file lay, then wherever copies are kept. The first that can be read
//! counts; where it turns out to have been rewritten, or to lack what a journal hangs on, older copies tell what it has
//! lost.
//!
//! A journal is on the disk only when something is written. Until then a session that was [introduced] is there
//! under the id that its journal will have, as if that were empty.
//!
//! [introduced]: OtherPrograms::introduce

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use offshoot_session::foreign::{hang_on_missing, referring_header, with_what_is_missing};
use offshoot_session::{Change, ForeignSource, Oddity, Record, SessionHeader, SessionId};
use offshoot_transcripts::{Dialect, Transcript, Unreadable, Watched};
use thiserror::Error;

use crate::archive::{Archive, Kept, Version, transcript_of};
use crate::beside;
use crate::files::{DiskFiles, FileError, Files as _, Identity};
use crate::opencode_database::{DatabaseError, OpencodeDatabase};
use crate::opencode_storage::Messages;
use crate::steady::{Steady, read_steadily};
use crate::titles_beside::with_title;

/// A place where the bytes of another program's session can be had, if it has them.
pub trait ForeignBytes: fmt::Debug + Send + Sync {
    /// The bytes as they are now; `None` where this place does not have the session, or cannot give it.
    fn bytes_of(&self, source: &ForeignSource) -> Option<ForeignCopy>;
}

/// The bytes of a session, and the path they are to be read as: names of files and folders tell things too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignCopy {
    pub path: PathBuf,
    pub content: ForeignContent,
    pub of: Copied,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copied {
    /// The program's own file, wherever it lies now.
    Original,
    /// What somebody kept of it.
    Kept,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForeignContent {
    Bytes(Vec<u8>),
    /// A database in which the session lies.
    Database(PathBuf),
    /// What is kept of a session that lay in a database.
    Rows(Vec<u8>),
}

/// What there is to say about the session that a journal refers to.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum SourceTrouble {
    #[error("`{path}`, which it goes on with, is gone; only what was added here is left")]
    Gone { path: String },
    #[error("`{path}`, which it goes on with, is gone; a copy that was kept is read")]
    Kept { path: String },
    #[error("`{path}`, which it goes on with, was written anew since")]
    Rewritten { path: String },
}

/// What another program's session says now.
#[derive(Clone, Debug, Default)]
pub struct ForeignReading {
    pub records: Vec<Record>,
    /// What reading forgave.
    pub oddities: Vec<Oddity>,
    pub trouble: Option<SourceTrouble>,
    pub stamp: ForeignStamp,
}

/// Changes when the session may have changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignStamp(Vec<(u64, i128, Identity)>);

/// Why a file cannot be changed here.
#[derive(Debug, Error)]
pub enum IntroduceError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("{reason}")]
    Unreadable { path: PathBuf, bytes: Vec<u8>, reason: Unreadable },
    #[error("`{}` holds no session of that id", path.display())]
    NotInDatabase { path: PathBuf },
}

/// The sessions of other programs, as one store knows them. Cheap to clone.
#[derive(Clone, Debug)]
pub struct OtherPrograms {
    places: Vec<Arc<dyn ForeignBytes>>,
    moved: Moved,
    /// Has the files beside a session that are gone.
    archive: Option<Archive>,
    /// Where a database may be copied to while it is read.
    scratch: PathBuf,
    /// Sessions that may be changed, by the id their journal will have.
    introduced: Arc<Mutex<HashMap<SessionId, SessionHeader>>>,
    /// What was read last: a command asks several times.
    last: Arc<Mutex<Option<LastReading>>>,
}

#[derive(Debug)]
struct LastReading {
    source: ForeignSource,
    reading: ForeignReading,
}

/// A file of another program, understood.
#[derive(Debug)]
pub struct Understood {
    pub transcript: Transcript,
    pub source: ForeignSource,
}

impl OtherPrograms {
    /// Files and databases where they lie. `scratch` is where a copy may lie while it is needed.
    pub fn on_disk(scratch: PathBuf) -> Self {
        let moved = Moved::default();
        Self {
            places: vec![Arc::new(WhereItLay), Arc::new(moved.clone())],
            moved,
            archive: None,
            scratch,
            introduced: Arc::default(),
            last: Arc::default(),
        }
    }

    /// Asked when those before it do not have the session, or have lost a part of it.
    #[must_use]
    pub fn and_then(mut self, place: Arc<dyn ForeignBytes>) -> Self {
        self.places.push(place);
        self
    }

    /// What is kept of a session is asked for after all other places.
    #[must_use]
    pub fn keeping(mut self, archive: Archive) -> Self {
        let places = [ArchivePlace::Last, ArchivePlace::Earlier];
        self.places.extend(places.map(|place| Arc::new(InArchive { archive: archive.clone(), place }) as _));
        self.archive = Some(archive);
        self
    }

    /// The session lies elsewhere now.
    pub fn lies_at(&self, source: &ForeignSource, path: PathBuf) {
        locked(&self.moved.0).insert((source.agent.clone(), source.session.clone()), path);
    }

    /// A session that may be changed from now on, under the id that `name` finds for it.
    pub fn introduce(
        &self,
        path: &Path,
        name: impl FnOnce(&ForeignSource) -> SessionId,
    ) -> Result<SessionId, IntroduceError> {
        // Before it is read: what comes meanwhile is seen the next time.
        let stamp = stamp_of(path);
        let Understood { transcript, source } = self.understand(path)?;
        let id = name(&source);
        let header = header_in(&transcript.records).cloned();
        let header = header.unwrap_or_else(|| SessionHeader::new(id.clone(), jiff::Timestamp::UNIX_EPOCH));
        let Transcript { records, oddities, .. } = transcript;
        let reading = ForeignReading { records, oddities, trouble: None, stamp };
        *locked(&self.last) = Some(LastReading { source: source.clone(), reading });
        let header = referring_header(id.clone(), &header, source);
        locked(&self.introduced).insert(id.clone(), header);
        Ok(id)
    }

    /// Sessions that may be changed, and where they lie.
    pub fn introduced_sessions(&self) -> Vec<(SessionId, PathBuf)> {
        let introduced = locked(&self.introduced);
        let lies_at =
            |header: &SessionHeader| header.foreign.as_ref().map(|source| PathBuf::from(&source.path));
        introduced.iter().filter_map(|(id, header)| Some((id.clone(), lies_at(header)?))).collect()
    }

    /// The header of a journal that does not exist yet.
    pub(crate) fn introduced(&self, id: &SessionId) -> Option<SessionHeader> {
        locked(&self.introduced).get(id).cloned()
    }

    pub(crate) fn stamp(&self, source: &ForeignSource) -> ForeignStamp {
        stamp_of(Path::new(&source.path))
    }

    pub(crate) fn read(&self, source: &ForeignSource) -> ForeignReading {
        let stamp = self.stamp(source);
        let mut last = locked(&self.last);
        if let Some(last) = last.as_ref()
            && last.source == *source
            && last.reading.stamp == stamp
            && stamp != ForeignStamp::default()
        {
            return last.reading.clone();
        }
        let reading = ForeignReading { stamp, ..self.read_now(source) };
        *last = Some(LastReading { source: source.clone(), reading: reading.clone() });
        reading
    }

    /// The same for a journal that goes on with it. What its lines hang on may be in no file any more: programs cut and
    /// rewrite what they have, and not only at the end. Then what was kept of it is looked through, newest first.
    pub(crate) fn read_below(&self, source: &ForeignSource, ours: &[Record]) -> ForeignReading {
        let mut reading = self.read(source);
        for copy in self.kept_copies(source) {
            if !hang_on_missing(&reading.records, ours) {
                break;
            }
            if let Some(older) = self.transcript(source, copy) {
                reading.records = with_what_is_missing(reading.records, &older.records);
                let rewritten = SourceTrouble::Rewritten { path: source.path.clone() };
                reading.trouble.get_or_insert(rewritten);
            }
        }
        reading
    }

    /// All that is kept of a session, read only as far as it is asked for.
    fn kept_copies(&self, source: &ForeignSource) -> impl Iterator<Item = ForeignCopy> {
        let path = Path::new(&source.path);
        let archive = self.archive.as_ref();
        let last = archive.and_then(|archive| archive.kept_at(path).or_else(|| archive.kept(path)));
        let mut earlier = archive.map(|archive| archive.earlier(path)).unwrap_or_default();
        earlier.sort_by_key(|kept| Reverse(kept.version.number()));
        last.into_iter().chain(earlier).filter_map(copy_of)
    }

    fn read_now(&self, source: &ForeignSource) -> ForeignReading {
        let mut copies = self.places.iter().filter_map(|place| {
            let copy = place.bytes_of(source)?;
            let of = copy.of;
            let is_grown = match &copy.content {
                ForeignContent::Bytes(bytes) => only_grows(&copy.path).then(|| source.begins(bytes)),
                ForeignContent::Database(_) | ForeignContent::Rows(_) => None,
            };
            let transcript = self.transcript(source, copy)?;
            Some((of, is_grown != Some(false), transcript))
        });
        let Some((of, is_as_seen, Transcript { records, oddities, .. })) = copies.next() else {
            let trouble = Some(SourceTrouble::Gone { path: source.path.clone() });
            return ForeignReading { trouble, ..ForeignReading::default() };
        };
        if is_as_seen {
            let trouble = (of == Copied::Kept).then(|| SourceTrouble::Kept { path: source.path.clone() });
            return ForeignReading { records, oddities, trouble, ..ForeignReading::default() };
        }
        let records = copies.fold(records, |now, (_, _, older)| with_what_is_missing(now, &older.records));
        let trouble = Some(SourceTrouble::Rewritten { path: source.path.clone() });
        ForeignReading { records, oddities, trouble, ..ForeignReading::default() }
    }

    fn transcript(&self, source: &ForeignSource, copy: ForeignCopy) -> Option<Transcript> {
        let path = copy.path.clone();
        self.said_in(source, copy).map(|transcript| self.with_title(&path, transcript))
    }

    fn with_title(&self, path: &Path, transcript: Transcript) -> Transcript {
        let records = with_title(path, transcript.records, self.archive.as_ref());
        Transcript { records, ..transcript }
    }

    fn said_in(&self, source: &ForeignSource, copy: ForeignCopy) -> Option<Transcript> {
        match copy.content {
            ForeignContent::Bytes(bytes) => {
                let messages = match copy.of {
                    Copied::Original => Messages::ThatAreThere,
                    Copied::Kept => Messages::ThatWereThere,
                };
                let file = Watched::from(bytes.as_slice());
                beside::read(&copy.path, file, self.archive.as_ref(), messages).ok()
            }
            ForeignContent::Rows(bytes) => transcript_of(&copy.path.to_string_lossy(), &bytes).ok(),
            ForeignContent::Database(path) => {
                OpencodeDatabase::open(&path, &self.scratch).ok()?.read(&source.session).ok()?
            }
        }
    }

    /// Reads a file, or `database/session`, and says what it is.
    pub fn understand(&self, path: &Path) -> Result<Understood, IntroduceError> {
        let shown = path.to_string_lossy().into_owned();
        if let Some((database, session)) = in_database(path) {
            let transcript = OpencodeDatabase::open(&database, &self.scratch)?.read(&session)?;
            let transcript =
                transcript.ok_or_else(|| IntroduceError::NotInDatabase { path: path.to_owned() })?;
            let source = ForeignSource::of("opencode", &session, shown, &transcript.source_bytes());
            return Ok(Understood { transcript, source });
        }
        if let Some(kept) = self.archive.as_ref().and_then(|archive| archive.kept_at(path)) {
            return self.understand_kept(&kept);
        }
        let Steady { bytes, .. } = read_steadily(&DiskFiles, path)?;
        let file = Watched::from(bytes.as_slice());
        match beside::read(path, file, self.archive.as_ref(), Messages::ThatAreThere) {
            Ok(transcript) => Ok(understood(self.with_title(path, transcript), shown, &bytes)),
            Err(reason) => Err(IntroduceError::Unreadable { path: path.to_owned(), bytes, reason }),
        }
    }

    /// A session of which only the archive knows. The last version goes on under the name that its program gave it, in
    /// case it comes back; an earlier one is only here.
    fn understand_kept(&self, kept: &Kept) -> Result<Understood, IntroduceError> {
        let failed = |source| FileError { doing: "read", path: kept.path.clone(), source };
        let bytes = kept.bytes().map_err(failed)?;
        let transcript = match kept.is_of_database() {
            true => kept.read(&bytes),
            false => {
                let file = Watched::from(bytes.as_slice());
                beside::read(&kept.original, file, self.archive.as_ref(), Messages::ThatWereThere)
            }
        };
        let path = match kept.version {
            Version::Last => &kept.original,
            Version::Was(_) | Version::Old(_) => &kept.path,
        };
        match transcript {
            Ok(transcript) => {
                let transcript = self.with_title(&kept.original, transcript);
                Ok(understood(transcript, path.to_string_lossy().into_owned(), &bytes))
            }
            Err(reason) => Err(IntroduceError::Unreadable { path: kept.path.clone(), bytes, reason }),
        }
    }
}

fn understood(transcript: Transcript, path: String, bytes: &[u8]) -> Understood {
    let header = header_in(&transcript.records);
    let agent = header.and_then(|header| header.agent.as_deref()).unwrap_or(family_word(transcript.dialect));
    let session = header.map_or("", |header| header.id.as_str());
    let source = ForeignSource::of(agent, session, path, bytes);
    Understood { transcript, source }
}

fn header_in(records: &[Record]) -> Option<&SessionHeader> {
    records.iter().find_map(|record| match &record.change {
        Change::Opened(header) => Some(header.as_ref()),
        Change::Entry(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
    })
}

fn family_word(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Codex => "codex",
        Dialect::Gemini => "gemini",
        Dialect::OpenCode => "opencode",
        Dialect::Pi { .. } | Dialect::OhMyPi { .. } => "pi",
        Dialect::Rollouts => "rollouts",
        Dialect::ClaudeCode => "claude-code",
    }
}

/// Lines are added to files of lines; a document is written anew each time.
fn only_grows(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl")
}

/// The original place.
#[derive(Debug)]
struct WhereItLay;

impl ForeignBytes for WhereItLay {
    fn bytes_of(&self, source: &ForeignSource) -> Option<ForeignCopy> {
        original_at(PathBuf::from(&source.path))
    }
}

/// Places that somebody has told since.
#[derive(Clone, Debug, Default)]
struct Moved(Arc<Mutex<HashMap<(String, String), PathBuf>>>);

impl ForeignBytes for Moved {
    fn bytes_of(&self, source: &ForeignSource) -> Option<ForeignCopy> {
        let path = locked(&self.0).get(&(source.agent.clone(), source.session.clone())).cloned()?;
        original_at(path)
    }
}

/// What is kept of a session: as it was last seen, or the version before it was written anew that a journal goes on with.
#[derive(Debug)]
struct InArchive {
    archive: Archive,
    place: ArchivePlace,
}

#[derive(Clone, Copy, Debug)]
enum ArchivePlace {
    Last,
    Earlier,
}

impl ForeignBytes for InArchive {
    fn bytes_of(&self, source: &ForeignSource) -> Option<ForeignCopy> {
        let path = Path::new(&source.path);
        let (kept, bytes) = match self.place {
            ArchivePlace::Last => {
                let kept = self.archive.kept_at(path).or_else(|| self.archive.kept(path))?;
                let bytes = kept.bytes().ok()?;
                (kept, bytes)
            }
            ArchivePlace::Earlier => self.archive.earlier(path).into_iter().find_map(|kept| {
                let bytes = kept.bytes().ok().filter(|bytes| source.begins(bytes))?;
                Some((kept, bytes))
            })?,
        };
        Some(kept_copy(kept, bytes))
    }
}

fn copy_of(kept: Kept) -> Option<ForeignCopy> {
    let bytes = kept.bytes().ok()?;
    Some(kept_copy(kept, bytes))
}

fn kept_copy(kept: Kept, bytes: Vec<u8>) -> ForeignCopy {
    let content = match kept.is_of_database() {
        true => ForeignContent::Rows(bytes),
        false => ForeignContent::Bytes(bytes),
    };
    ForeignCopy { path: kept.original, content, of: Copied::Kept }
}

/// The program's own file, or its session in a database, if it is there.
pub fn original_at(path: PathBuf) -> Option<ForeignCopy> {
    let content = match in_database(&path) {
        Some((database, _)) => ForeignContent::Database(database),
        None if is_file(&path) => ForeignContent::Bytes(read_steadily(&DiskFiles, &path).ok()?.bytes),
        None => return None,
    };
    Some(ForeignCopy { path, content, of: Copied::Original })
}

/// The database, and the session in it.
fn in_database(path: &Path) -> Option<(PathBuf, String)> {
    let (folder, session) = (path.parent()?, path.file_name()?.to_str()?);
    is_file(folder).then(|| (folder.to_owned(), session.to_owned()))
}

fn is_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file())
}

/// The file itself; of a database, what SQLite writes beside it too.
fn stamp_of(path: &Path) -> ForeignStamp {
    let places = match in_database(path) {
        Some((database, _)) => {
            let beside = |ending: &str| {
                let mut name = database.clone().into_os_string();
                name.push(ending);
                PathBuf::from(name)
            };
            vec![database.clone(), beside("-wal"), beside("-journal")]
        }
        None => vec![path.to_owned()],
    };
    let stats = places.iter().filter_map(|place| DiskFiles.stat(place).ok());
    ForeignStamp(stats.map(|stat| (stat.length, stat.modified, stat.identity)).collect())
}

/// Nothing is done under the lock that could leave half of a change.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
