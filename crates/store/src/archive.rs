//! Files of other programs, kept for ever.
//!
//! Agents clean up: a transcript that nobody opened for a month is deleted, some are cut, some are written anew. What
//! was seen once is kept in the archive of the home, under the path it had (`place`). Why a kept file is what it is,
//! is told in `docs/decisions/0005-keep-for-ever.md`; in short:
//!
//! | what | holds | survives |
//! |---|---|---|
//! | a compressed copy, made of frames (`frames`) | what was there at the last look | anything that happens to the original |
//! | a second name of the file itself (a hard link) | what the program wrote since | deleting and replacing, not cutting |
//!
//! | idea | module |
//! |---|---|
//! | where a file is kept | `place` |
//! | the bytes of a kept file | `frames` |
//! | one file, kept as it is now | `keep` |
//! | the files that belong to it | `beside` |
//! | which of two states of a file says more | `compare` |
//! | sessions of a database as lines | `rows` |
//! | a database whole | `backup` |
//! | titles that stood beside sessions | `titles` |
//! | how much is kept, and proof that it is whole | `survey` |
//! | copies that are damaged, to be packed again | `damage` |
//! | sessions that are not to be kept, and where their copies go | `forgotten`, `trash` |
//! | files that are about several sessions | `shared` |
//!
//! A kept file only grows, or is replaced whole. A process that is killed leaves an end that nobody reads, and the next
//! one cuts it off.

mod backup;
mod beside;
mod compare;
mod damage;
mod forgotten;
mod frames;
mod keep;
mod place;
mod rows;
mod shared;
mod survey;
mod titles;
mod trash;

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use offshoot_transcripts::{Transcript, Unreadable};

use crate::home::Home;
use crate::private;
use crate::short_lines::Collected;

pub use damage::Depth;
pub use forgotten::{Forgotten, ForgottenSession};
pub use frames::Mark;
pub(crate) use keep::Part;
pub use keep::{AsItIs, Inode, KeepError, SecondName, State, Stood, Taken, Wrote};
pub use place::{Kept, Version};
pub use rows::lines_of;
pub use survey::{Proof, Survey};
pub use trash::{Copies, Forget, Moved};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    root: PathBuf,
}

/// So many files are made safe one by one.
const FEW: usize = 16;

/// Nobody else changes the archive as long as this lives.
#[derive(Debug)]
pub struct Hold {
    _file: File,
    /// What must not be kept. It only changes while the archive is held.
    forgotten: Forgotten,
}

impl Hold {
    /// Whether nothing may be kept of this file.
    pub fn forgets(&self, original: &Path) -> bool {
        self.forgotten.includes(original)
    }
}

impl Archive {
    pub fn of(home: &Home) -> Self {
        Self { root: home.root().join("archive") }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The kept file that is called so, where it is one.
    pub fn kept_at(&self, path: &Path) -> Option<Kept> {
        place::kept_at(&self.root, path)
    }

    /// What is kept of this file of another program, wherever that is now.
    pub fn kept(&self, original: &Path) -> Option<Kept> {
        let kept = place::kept(&self.root, original)?;
        kept.mark().is_some().then_some(kept)
    }

    /// Where a file would be kept.
    pub fn place_of(&self, original: &Path) -> Option<PathBuf> {
        place::kept(&self.root, original).map(|kept| kept.path)
    }

    /// All that is kept of files below this folder or, for a database, in it.
    pub fn kept_below(&self, folder: &Path) -> Vec<Kept> {
        let Some(top) = place::mirrored(&self.root, folder) else { return Vec::new() };
        let mut found = Vec::new();
        let mut open = vec![top];
        while let Some(folder) = open.pop() {
            for item in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                match item.file_type() {
                    Ok(kind) if kind.is_dir() => open.push(item.path()),
                    Ok(_) => found.extend(self.kept_at(&item.path())),
                    Err(_) => {}
                }
            }
        }
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    }

    /// The files and folders that a folder of another program has, or had, as it named them.
    pub fn names_in(&self, folder: &Path) -> Vec<PathBuf> {
        let Some(mirrored) = place::mirrored(&self.root, folder) else { return Vec::new() };
        let items = std::fs::read_dir(mirrored).into_iter().flatten().flatten();
        let name = |item: std::fs::DirEntry| match item.file_type().ok()?.is_dir() {
            true => Some(folder.join(item.file_name())),
            false => self
                .kept_at(&item.path())
                .filter(|kept| kept.version == Version::Last)
                .map(|kept| kept.original),
        };
        items.filter_map(name).collect()
    }

    /// The bytes of a file of another program: its own, unless they say less than what was kept, or are gone.
    pub fn bytes_now(&self, original: &Path) -> io::Result<Vec<u8>> {
        match (self.look(original), self.kept(original)) {
            (Ok(Stood::Kept(kept)), _) | (Err(_), Some(kept)) => kept.bytes(),
            (Ok(Stood::Original { .. } | Stood::Both(_)), _) | (Err(_), None) => {
                crate::private::read_foreign(original)
            }
        }
    }

    /// All that is kept of a file, the newest state first.
    pub fn states_of(&self, original: &Path) -> impl Iterator<Item = Vec<u8>> {
        let earlier = self.earlier(original).into_iter().rev();
        self.kept(original).into_iter().chain(earlier).filter_map(|kept| kept.bytes().ok())
    }

    /// Waits for nobody: whoever keeps at this moment does what there is to do.
    pub fn try_hold(&self) -> io::Result<Option<Hold>> {
        private::create_directory(&self.root)?;
        let file = private::open_lock(&self.root.join("lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Hold { _file: file, forgotten: self.forgotten()? })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Makes what is kept of these originals safe. For a few that is their own names and bytes; for many it is quicker
    /// to let the whole disk write what it has.
    pub fn sync(&self, _: &Hold, originals: &[(&Path, Wrote)]) -> io::Result<()> {
        if originals.len() > FEW {
            return Ok(rustix::fs::syncfs(File::open(&self.root)?)?);
        }
        let mut folders = BTreeSet::new();
        for (original, wrote) in originals {
            let Some(kept) = place::kept(&self.root, original) else { continue };
            kept.open_to_read()?.sync_all()?;
            if *wrote != Wrote::New {
                continue;
            }
            let above = kept.path.ancestors().skip(1).take_while(|folder| folder.starts_with(&self.root));
            folders.extend(above.map(Path::to_owned));
        }
        folders.into_iter().try_for_each(|folder| File::open(folder)?.sync_all())
    }
}

impl Kept {
    pub fn bytes(&self) -> io::Result<Vec<u8>> {
        let mut lines = Collected::default();
        frames::unpack(self.open_to_read()?, &mut lines)?;
        Ok(lines.finish().bytes)
    }

    /// The same as a file without a name, for whoever wants only a part.
    pub fn content(&self) -> io::Result<File> {
        let mut file = tempfile::tempfile()?;
        frames::unpack(self.open_to_read()?, &mut file)?;
        file.rewind()?;
        Ok(file)
    }

    /// As its program wrote it. The files beside it are left out.
    pub fn read(&self, bytes: &[u8]) -> Result<Transcript, Unreadable> {
        transcript_of(&self.original.to_string_lossy(), bytes)
    }

    /// It lay in a database, and these are its rows.
    pub fn is_of_database(&self) -> bool {
        self.database().is_some()
    }

    pub fn database(&self) -> Option<&Path> {
        let folder = self.original.parent()?;
        folder.extension().is_some_and(|end| end == "db").then_some(folder)
    }

    /// What a session of a database is called there.
    pub fn id_in_database(&self) -> Option<&str> {
        self.database().and_then(|_| self.original.file_name()?.to_str())
    }
}

/// A session by the bytes of its file, or by the lines that a database is kept as.
pub(crate) fn transcript_of(name: &str, bytes: &[u8]) -> Result<Transcript, Unreadable> {
    match rows::read(bytes) {
        Some(transcript) => Ok(transcript),
        None => offshoot_transcripts::read(Some(name), bytes),
    }
}
