//! Reading a file whole, and replacing it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, fchmod, fstat, ftruncate, mkdirat, openat, readlinkat, renameat, statat,
    unlinkat,
};
use rustix::io::Errno;

use super::beneath::open_at;
use super::{FOLDER, FileError, Workspace, WorkspacePath, beneath};

/// What is known of a file that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    New,
    Replaced,
}

/// The permission bits that a new file may get; the mask of the process counts.
const NEW_FILE: Mode = Mode::from_raw_mode(0o666);
const NEW_FOLDER: Mode = Mode::from_raw_mode(0o777);
const PRIVATE: Mode = Mode::from_raw_mode(0o600);
const PERMISSIONS: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);

impl Workspace {
    /// All of a file that has at most so many bytes.
    pub(crate) fn read(&self, path: &WorkspacePath, limit: u64) -> Result<Vec<u8>, FileError> {
        let about = |source| FileError::Io { path: path.written.clone(), source };
        let file = self.file(path)?;
        let length = file.metadata().map_err(about)?.len();
        let mut bytes = Vec::new();
        // It may grow meanwhile.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(about)?;
        let read = length.max(bytes.len() as u64);
        if read > limit {
            return Err(FileError::TooLarge { path: path.written.clone(), bytes: read, limit });
        }
        Ok(bytes)
    }

    /// Writes a file in one step: others see the old content or the new one. It keeps its permissions. Folders that are
    /// missing are created.
    pub(crate) fn write(&self, path: &WorkspacePath, bytes: &[u8]) -> Result<Written, FileError> {
        let Some(name) = path.relative.file_name() else {
            return Err(FileError::Folder(path.written.clone()));
        };
        if is_git(&path.relative) {
            return Err(FileError::Git(path.written.clone()));
        }
        let about = |error: io::Error| FileError::of(path, error);
        let folder = self.parent(&path.relative).map_err(|error| self.above(path, error))?;
        let Some(mode) = self.replaceable(path, folder.as_fd(), name)? else {
            put(folder.as_fd(), name, bytes, None).map_err(about)?;
            return Ok(Written::New);
        };
        match put(folder.as_fd(), name, bytes, Some(mode)) {
            Err(error) if takes_no_file(&error) => write_in_place(path, folder.as_fd(), name, bytes)?,
            put => put.map_err(about)?,
        }
        Ok(Written::Replaced)
    }

    /// Whether a write would be refused, and else whether there is a file that it would replace.
    pub(crate) fn would_replace(&self, path: &WorkspacePath) -> Result<bool, FileError> {
        let Some(name) = path.relative.file_name() else {
            return Err(FileError::Folder(path.written.clone()));
        };
        if is_git(&path.relative) {
            return Err(FileError::Git(path.written.clone()));
        }
        match self.written_folder(path.relative.parent().unwrap_or(Path::new(""))) {
            Ok(folder) => Ok(self.replaceable(path, folder.as_fd(), name)?.is_some()),
            // It would be created.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.above(path, error)),
        }
    }

    fn written_folder(&self, path: &Path) -> io::Result<OwnedFd> {
        beneath::open_without_links(self.handle(), path, FOLDER)
    }

    /// Why the folder of a file is not opened. A link on the way to it is named, like one to a file.
    fn above(&self, path: &WorkspacePath, error: io::Error) -> FileError {
        let folders: Vec<&Path> = path.relative.ancestors().skip(1).collect();
        for folder in folders.into_iter().rev() {
            let (Some(name), Some(above)) = (folder.file_name(), folder.parent()) else { continue };
            let Ok(above) = self.written_folder(above) else { break };
            if let Ok(FileType::Symlink) = beneath::kind_at(above.as_fd(), name) {
                let written = folder.to_string_lossy().into_owned();
                let link = WorkspacePath { relative: folder.to_owned(), written };
                return match self.link(&link, above.as_fd(), name) {
                    FileError::Outside(_) => FileError::Outside(path.written.clone()),
                    named => named,
                };
            }
        }
        FileError::of(path, error)
    }

    /// The permissions of the file that would be replaced; `None` where there is none.
    fn replaceable(
        &self,
        path: &WorkspacePath,
        folder: BorrowedFd<'_>,
        name: &OsStr,
    ) -> Result<Option<Mode>, FileError> {
        let found = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(None),
            found => found.map_err(|error| FileError::of(path, error.into()))?,
        };
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => Err(self.link(path, folder, name)),
            kind => {
                path.is_regular(kind)?;
                Ok(Some(Mode::from_raw_mode(found.st_mode) & PERMISSIONS))
            }
        }
    }

    /// A link is not replaced and not followed: one in the workspace is named, so that its target can be written.
    fn link(&self, path: &WorkspacePath, folder: BorrowedFd<'_>, name: &OsStr) -> FileError {
        match beneath::kind(self.handle(), &path.relative) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => FileError::of(path, error),
            Ok(_) | Err(_) => match readlinkat(folder, name, Vec::new()) {
                Ok(to) => {
                    FileError::Link { path: path.written.clone(), to: to.to_string_lossy().into_owned() }
                }
                Err(error) => FileError::of(path, error.into()),
            },
        }
    }

    /// The folder of a file; it is created where it is missing.
    fn parent(&self, path: &Path) -> io::Result<OwnedFd> {
        self.made_folder(path.parent().unwrap_or(Path::new("")))
    }

    fn made_folder(&self, path: &Path) -> io::Result<OwnedFd> {
        match (self.written_folder(path), path.file_name()) {
            (Err(error), Some(name)) if error.kind() == io::ErrorKind::NotFound => {
                let above = self.parent(path)?;
                match mkdirat(&above, name, NEW_FOLDER) {
                    // Another process was faster.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                open_at(above.as_fd(), name, FOLDER)
            }
            (opened, _) => opened,
        }
    }
}

/// What Git keeps decides what its commands run, so no tool that writes files changes it.
fn is_git(path: &Path) -> bool {
    path.iter().any(is_git_name)
}

/// Whether some file system takes a name for `.git`: those of Windows have a short name for it and leave out dots and spaces
/// at the end, those of macOS leave out some characters. Git protects itself from the same names.
fn is_git_name(name: &OsStr) -> bool {
    const LEFT_OUT: [RangeInclusive<char>; 4] =
        ['\u{200c}'..='\u{200f}', '\u{202a}'..='\u{202e}', '\u{206a}'..='\u{206f}', '\u{feff}'..='\u{feff}'];
    let name = name.to_string_lossy();
    let name: String = name.chars().filter(|c| !LEFT_OUT.iter().any(|range| range.contains(c))).collect();
    let name = name.trim_end_matches(['.', ' ']);
    [".git", "git~1"].iter().any(|git| name.eq_ignore_ascii_case(git))
}

/// Writes a new file and gives it the name.
fn put(folder: BorrowedFd<'_>, name: &OsStr, bytes: &[u8], mode: Option<Mode>) -> io::Result<()> {
    let unfinished = unused_name()?;
    let written = write_new(folder, &unfinished, bytes, mode)
        .and_then(|()| Ok(renameat(folder, &unfinished, folder, name)?));
    if written.is_err() {
        // It may not have been created.
        let _ = unlinkat(folder, &unfinished, AtFlags::empty());
    }
    written
}

fn write_new(folder: BorrowedFd<'_>, name: &OsStr, bytes: &[u8], mode: Option<Mode>) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, name, flags, mode.map_or(NEW_FILE, |_| PRIVATE))?;
    if let Some(mode) = mode {
        fchmod(&file, mode)?;
    }
    File::from(file).write_all(bytes)
}

fn unused_name() -> io::Result<OsString> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!(".offshoot-{:016x}.tmp", u64::from_be_bytes(bytes)).into())
}

/// Whether the folder takes no new file, while one that exists may be writable.
fn takes_no_file(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

fn write_in_place(
    path: &WorkspacePath,
    folder: BorrowedFd<'_>,
    name: &OsStr,
    bytes: &[u8],
) -> Result<(), FileError> {
    let about = |error: io::Error| FileError::of(path, error);
    let file = open_at(folder, name, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY).map_err(about)?;
    let found = fstat(&file).map_err(|error| about(error.into()))?;
    path.is_regular(FileType::from_raw_mode(found.st_mode))?;
    if found.st_nlink > 1 {
        return Err(FileError::HardLink(path.written.clone()));
    }
    ftruncate(&file, 0).map_err(|error| about(error.into()))?;
    File::from(file).write_all(bytes).map_err(about)
}
