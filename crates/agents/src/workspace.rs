//! The folder in which an agent works, as a directory handle: no path leads out of it.
//!
//! A path is checked as text first ([`Workspace::inside`]) and then opened below the handle (`beneath`), so a link that
//! is made between the two changes nothing. Only regular files are read or written; FIFOs, devices and sockets are never
//! opened in a way that could block.
//!
//! # Limitations
//!
//! A file that has a second name outside (a hard link) cannot be told from any other file when it is read. Writing gives
//! the name in the workspace a new file, and leaves the other name alone.

mod beneath;
mod command;
mod error;
mod files;
mod kept;
mod walk;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use offshoot_session::SessionId;
use offshoot_session::agent::Host;
use rustix::fs::{FileType, Mode, OFlags, fstat};

use beneath::open_beneath;
pub(crate) use command::CommandEnd;
pub(crate) use error::FileError;
pub(crate) use files::Written;
pub(crate) use walk::{Found, Walk};

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

#[derive(Clone, Debug)]
pub(crate) struct Workspace {
    root: Arc<Root>,
    /// How commands that run in it are started.
    pub(crate) host: Host,
    /// What they are recorded under.
    pub(crate) agent: &'static str,
    pub(crate) session: String,
}

#[derive(Debug)]
struct Root {
    handle: OwnedFd,
    path: PathBuf,
    /// Without links, as programs that run in it print it.
    real: PathBuf,
}

/// A path that was checked as text: names below the workspace, without `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkspacePath {
    relative: PathBuf,
    /// As it was given.
    written: String,
}

impl Workspace {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let handle = rustix::fs::open(path, FOLDER, Mode::empty())?;
        let real = path.canonicalize()?;
        let root = Arc::new(Root { handle, path: path.to_owned(), real });
        Ok(Self { root, host: Host::default(), agent: "", session: String::new() })
    }

    /// Without it, a crash leaves its commands running.
    pub(crate) fn for_session(self, host: Host, agent: &'static str, session: &SessionId) -> Self {
        Self { host, agent, session: session.to_string(), ..self }
    }

    /// Where it was opened. Programs run there.
    pub(crate) fn path(&self) -> &Path {
        &self.root.path
    }

    /// Checks a path as text. An absolute one has to begin with the path of the workspace.
    pub(crate) fn inside(&self, written: &str) -> Result<WorkspacePath, FileError> {
        let outside = || FileError::Outside(written.to_owned());
        if written.is_empty() {
            return Err(FileError::Empty);
        }
        let path = Path::new(written);
        let roots = [&self.root.path, &self.root.real];
        let below = match path.is_absolute() {
            true => roots.iter().find_map(|root| path.strip_prefix(root).ok()).ok_or_else(outside)?,
            false => path,
        };
        let mut relative = PathBuf::new();
        for part in below.components() {
            match part {
                Component::Normal(name) => relative.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(outside()),
            }
        }
        Ok(WorkspacePath { relative, written: written.to_owned() })
    }

    /// The workspace itself.
    pub(crate) fn root(&self) -> WorkspacePath {
        WorkspacePath { relative: PathBuf::new(), written: ".".to_owned() }
    }

    /// What is there: a link leads to what it names.
    pub(crate) fn kind(&self, path: &WorkspacePath) -> Result<FileType, FileError> {
        beneath::kind(self.handle(), &path.relative).map_err(|error| FileError::of(path, error))
    }

    /// Opens a regular file for reading.
    pub(crate) fn file(&self, path: &WorkspacePath) -> Result<File, FileError> {
        self.regular(path)?;
        // What is there may be another file by now, so it is opened without waiting, and looked at again.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let about = |error| FileError::of(path, error);
        let file = open_beneath(self.handle(), &path.relative, flags).map_err(about)?;
        let found = fstat(&file).map_err(|error| about(error.into()))?;
        let kind = FileType::from_raw_mode(found.st_mode);
        path.is_regular(kind)?;
        Ok(File::from(file))
    }

    fn regular(&self, path: &WorkspacePath) -> Result<(), FileError> {
        path.is_regular(self.kind(path)?)
    }

    fn folder(&self, path: &Path) -> io::Result<OwnedFd> {
        open_beneath(self.handle(), path, FOLDER)
    }

    fn handle(&self) -> BorrowedFd<'_> {
        self.root.handle.as_fd()
    }
}

impl WorkspacePath {
    /// Below the workspace; empty for the workspace itself.
    pub(crate) fn relative(&self) -> &Path {
        &self.relative
    }

    fn is_regular(&self, kind: FileType) -> Result<(), FileError> {
        match kind {
            FileType::RegularFile => Ok(()),
            FileType::Directory => Err(FileError::Folder(self.written.clone())),
            kind => Err(FileError::NotRegular { path: self.written.clone(), kind: error::kind_word(kind) }),
        }
    }
}

/// As it was given.
impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

#[cfg(test)]
mod tests;
