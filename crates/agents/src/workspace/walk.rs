//! All files below a folder of the workspace, without those that Git ignores.
//!
//! Each folder is opened from the handle of the one above it and links are not followed, so a walk stays in the workspace
//! whatever is renamed meanwhile.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{Dir, FileType, OFlags, fstat};

use super::beneath::{kind_at, open_at};
use super::{FOLDER, FileError, Workspace, WorkspacePath};

/// Each level holds a handle.
const DEEPEST: usize = 100;

/// A longer file of patterns is not read.
const LONGEST_IGNORE_FILE: u64 = 1024 * 1024;

const IGNORE_FILE: &str = ".gitignore";

/// One file, folder or link.
#[derive(Debug)]
pub(crate) struct Found<'w> {
    /// Below the workspace.
    pub(crate) path: &'w Path,
    pub(crate) kind: FileType,
    folder: BorrowedFd<'w>,
    name: &'w OsStr,
}

/// How far a walk goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Walk {
    /// What is in one folder.
    Folder,
    /// Everything below it.
    Everything,
}

impl Found<'_> {
    /// Opens it if it is a regular file.
    pub(crate) fn file(&self) -> io::Result<File> {
        let file = open_at(self.folder, self.name, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(File::from(file)),
            _ => Err(io::Error::other("it is not a regular file")),
        }
    }
}

impl Workspace {
    /// Visits what is below a folder by name, parents first. A folder that cannot be read is skipped.
    pub(crate) fn walk(
        &self,
        from: &WorkspacePath,
        walk: Walk,
        visit: &mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
    ) -> Result<(), FileError> {
        let folder = self.folder(&from.relative).map_err(|error| FileError::of(from, error))?;
        let mut ignored: Vec<Gitignore> = Vec::new();
        for above in from.relative.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            // It was there a moment ago.
            if let Ok(handle) = self.folder(above) {
                ignored.extend(patterns_in(handle.as_fd(), above));
            }
        }
        let mut path = from.relative.clone();
        let _ = Walker { walk, ignored, visit }.enter(folder.as_fd(), &mut path, 0);
        Ok(())
    }
}

struct Walker<'v> {
    walk: Walk,
    /// The patterns of the folders above, outermost first.
    ignored: Vec<Gitignore>,
    visit: &'v mut dyn FnMut(&Found<'_>) -> ControlFlow<()>,
}

impl Walker<'_> {
    fn enter(&mut self, folder: BorrowedFd<'_>, path: &mut PathBuf, depth: usize) -> ControlFlow<()> {
        let patterns = patterns_in(folder, path);
        let is_added = patterns.is_some();
        self.ignored.extend(patterns);
        let mut walked = ControlFlow::Continue(());
        for (name, kind) in entries(folder) {
            path.push(&name);
            walked = self.take(folder, path, &name, kind, depth);
            path.pop();
            if walked.is_break() {
                break;
            }
        }
        if is_added {
            self.ignored.pop();
        }
        walked
    }

    fn take(
        &mut self,
        folder: BorrowedFd<'_>,
        path: &mut PathBuf,
        name: &OsStr,
        kind: FileType,
        depth: usize,
    ) -> ControlFlow<()> {
        if self.is_ignored(path, kind) {
            return ControlFlow::Continue(());
        }
        (self.visit)(&Found { path, kind, folder, name })?;
        if self.walk == Walk::Everything && kind == FileType::Directory && depth < DEEPEST {
            // It may be gone, or closed to us.
            if let Ok(below) = open_at(folder, name, FOLDER) {
                return self.enter(below.as_fd(), path, depth + 1);
            }
        }
        ControlFlow::Continue(())
    }

    /// The innermost folder decides first.
    fn is_ignored(&self, path: &Path, kind: FileType) -> bool {
        let is_folder = kind == FileType::Directory;
        let mut matches = self.ignored.iter().rev().map(|patterns| patterns.matched(path, is_folder));
        matches!(matches.find(|found| !found.is_none()), Some(Match::Ignore(_)))
    }
}

/// What is in a folder, by name, without what Git keeps.
fn entries(folder: BorrowedFd<'_>) -> Vec<(OsString, FileType)> {
    let Ok(entries) = Dir::read_from(folder) else { return Vec::new() };
    let named = entries.flatten().filter_map(|entry| {
        let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
        let kind = match entry.file_type() {
            // Not every file system says.
            FileType::Unknown => kind_at(folder, &name).ok()?,
            kind => kind,
        };
        let is_left_out = [".", "..", ".git"].iter().any(|other| name == *other);
        (!is_left_out).then_some((name, kind))
    });
    let mut named: Vec<(OsString, FileType)> = named.collect();
    named.sort_by(|(one, _), (other, _)| one.cmp(other));
    named
}

fn patterns_in(folder: BorrowedFd<'_>, path: &Path) -> Option<Gitignore> {
    let name = OsStr::new(IGNORE_FILE);
    if kind_at(folder, name).ok()? != FileType::RegularFile {
        return None;
    }
    let file = Found { path, kind: FileType::RegularFile, folder, name }.file().ok()?;
    let mut text = Vec::new();
    file.take(LONGEST_IGNORE_FILE).read_to_end(&mut text).ok()?;
    let mut patterns = GitignoreBuilder::new(path);
    for line in String::from_utf8_lossy(&text).lines() {
        // A pattern that is none is skipped, as Git does.
        let _ = patterns.add_line(None, line);
    }
    patterns.build().ok()
}
