//! What lies there now.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use offshoot_session::SessionId;
use offshoot_transcripts::{FileRole, classify};

use crate::archive::Kept;
use crate::home::{Home, session_of};
use crate::opencode_storage::holds_no_sessions;
use crate::titles_beside::{index_beside, is_index};

/// Where sessions may lie. Nothing of it has to exist.
#[derive(Clone, Debug)]
pub struct Sources {
    pub home: Home,
    /// Folders in which other programs keep files of sessions, at any depth.
    pub folders: Vec<PathBuf>,
    /// Databases of opencode.
    pub databases: Vec<PathBuf>,
    /// Where a database may be copied to for a moment.
    pub scratch: PathBuf,
}

/// A folder in which something may happen that concerns us.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WatchedFolder {
    pub folder: PathBuf,
    /// Only names that begin so; a program writes much beside its sessions. `None`: all.
    pub only: Option<OsString>,
}

/// A file, as it lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) path: PathBuf,
    pub(super) stamp: Stamp,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Journal(SessionId),
    File,
    /// A list of titles, which is no session.
    Index,
    Database,
    /// Kept in the archive, because its original cannot stand for it any more.
    Kept(Box<Kept>),
}

impl Kind {
    /// What the session is called where it cannot say it itself.
    pub(super) fn id(&self) -> Option<&str> {
        match self {
            Self::Journal(id) => Some(id.as_str()),
            Self::Kept(kept) => kept.id_in_database(),
            Self::File | Self::Index | Self::Database => None,
        }
    }
}

/// What changes when a file does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) length: i64,
    pub(super) modified: i64,
    /// The disk's own time of the last change, which nobody can set.
    pub(super) changed: i64,
    pub(super) inode: i64,
    pub(super) device: i64,
    /// How many names the file has. Giving it another one changes its time, and nothing in it.
    pub(super) links: i64,
}

#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) seen: Vec<Seen>,
    /// Folders and files that could not be looked at. What is known of them stays.
    pub(super) unseen: Vec<(PathBuf, io::Error)>,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        let moment = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            length: metadata.len() as i64,
            modified: moment(metadata.mtime(), metadata.mtime_nsec()),
            changed: moment(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino() as i64,
            device: metadata.dev() as i64,
            links: metadata.nlink() as i64,
        }
    }
}

impl Sources {
    /// All folders that there are now in which a session may appear, or something about one.
    pub fn folders_now(&self) -> Vec<WatchedFolder> {
        let (mut walked, mut visited) = (Walked::default(), Visited::default());
        for folder in &self.folders {
            files(folder, &mut visited, &mut Vec::new(), &mut walked);
        }
        visited.folders.push(self.home.sessions());
        let all = visited.folders.into_iter().map(|folder| WatchedFolder { folder, only: None });
        let lists = self.folders.iter().filter_map(|folder| index_beside(folder));
        let beside = self.databases.iter().cloned().chain(lists).filter_map(|path| {
            let only = path.file_name().map(OsStr::to_owned);
            Some(WatchedFolder { folder: path.parent()?.to_owned(), only })
        });
        let mut folders: Vec<WatchedFolder> = all.chain(beside).collect();
        folders.sort_unstable();
        folders.dedup();
        folders.retain(|watched| watched.folder.is_dir());
        folders
    }
}

/// Folders that were looked into, each once.
#[derive(Default)]
struct Visited {
    seen: HashSet<(u64, u64)>,
    folders: Vec<PathBuf>,
}

pub(super) fn walk(sources: &Sources) -> Walked {
    let mut walked = Walked::default();
    let mut found = journals(&sources.home, &mut walked);
    let mut visited = Visited::default();
    for folder in &sources.folders {
        files(folder, &mut visited, &mut found, &mut walked);
    }
    let mut beside: Vec<PathBuf> = sources.folders.iter().filter_map(|folder| index_beside(folder)).collect();
    beside.dedup();
    beside.retain(|index| !found.iter().any(|(path, _)| path == index));
    found.extend(beside.into_iter().map(|index| (index, Kind::Index)));
    look_at(found, &mut walked);
    for path in &sources.databases {
        database(path, &mut walked);
    }
    walked
}

/// A file by its name only.
type Named = (PathBuf, Kind);

/// Most of what a walk costs is to ask for the stat of each file, so two ask.
fn look_at(mut found: Vec<Named>, walked: &mut Walked) {
    let rest = found.split_off(found.len() / 2);
    let look = |found: Vec<Named>| {
        let mut walked = Walked::default();
        found.into_iter().for_each(|(path, kind)| look(path, kind, &mut walked));
        walked
    };
    let (one, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| look(rest));
        (look(found), other.join().unwrap_or_default())
    });
    for part in [one, other] {
        walked.seen.extend(part.seen);
        walked.unseen.extend(part.unseen);
    }
}

fn journals(home: &Home, walked: &mut Walked) -> Vec<Named> {
    let listed = listing(&home.sessions(), walked).into_iter();
    listed.filter_map(|(path, name, _)| Some((path, Kind::Journal(session_of(&name)?)))).collect()
}

/// All files below a folder that may be sessions. A link is followed; a folder is visited once, so a loop ends.
fn files(folder: &Path, visited: &mut Visited, found: &mut Vec<Named>, walked: &mut Walked) {
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        match std::fs::metadata(&folder) {
            Ok(metadata) if metadata.is_dir() && visited.seen.insert((metadata.dev(), metadata.ino())) => {}
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                walked.unseen.push((folder, error));
                continue;
            }
            Ok(_) | Err(_) => continue,
        }
        visited.folders.push(folder.clone());
        for (path, name, kind) in listing(&folder, walked) {
            let is_link = kind.is_some_and(|kind| kind.is_symlink());
            if kind.is_some_and(|kind| kind.is_dir()) || (is_link && path.is_dir()) {
                if !holds_no_sessions(&path) {
                    open.push(path);
                }
            } else if is_index(&path) {
                found.push((path, Kind::Index));
            } else if may_be_a_session(&path, &name) {
                found.push((path, Kind::File));
            }
        }
    }
}

fn may_be_a_session(path: &Path, name: &str) -> bool {
    let has_ending = name.ends_with(".jsonl") || name.ends_with(".json");
    has_ending && !matches!(classify(&path.to_string_lossy(), b""), FileRole::SideFileOf(_))
}

type Listed = (PathBuf, String, Option<std::fs::FileType>);

/// By name, so that what is found comes in the same order everywhere.
fn listing(folder: &Path, walked: &mut Walked) -> Vec<Listed> {
    let items = match std::fs::read_dir(folder) {
        Ok(items) => items,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                walked.unseen.push((folder.to_owned(), error));
            }
            return Vec::new();
        }
    };
    let mut listed: Vec<Listed> = Vec::new();
    for item in items {
        match item {
            Ok(item) => {
                let name = item.file_name().to_string_lossy().into_owned();
                listed.push((item.path(), name, item.file_type().ok()));
            }
            Err(error) => walked.unseen.push((folder.to_owned(), error)),
        }
    }
    listed.sort_unstable_by(|one, other| one.1.cmp(&other.1));
    listed
}

fn look(path: PathBuf, kind: Kind, walked: &mut Walked) {
    match std::fs::metadata(&path) {
        Ok(metadata) if metadata.is_file() => {
            walked.seen.push(Seen { stamp: Stamp::of(&metadata), path, kind });
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => walked.unseen.push((path, error)),
    }
}

/// What is committed and not yet in the file itself lies beside it.
fn database(path: &Path, walked: &mut Walked) {
    let before = walked.seen.len();
    look(path.to_owned(), Kind::Database, walked);
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    if let (Some(seen), Ok(log)) = (walked.seen.get_mut(before), std::fs::metadata(log)) {
        let log = Stamp::of(&log);
        seen.stamp.length = seen.stamp.length.wrapping_add(log.length);
        seen.stamp.modified = seen.stamp.modified.max(log.modified);
        seen.stamp.changed = seen.stamp.changed.max(log.changed);
    }
}
