//! Why a file of the workspace cannot be read or written. Each text says which file and why; a model acts on it.

use std::io;

use rustix::fs::FileType;
use rustix::io::Errno;
use thiserror::Error;

use super::WorkspacePath;

#[derive(Debug, Error)]
pub(crate) enum FileError {
    #[error("the path is empty")]
    Empty,
    /// By its text, or by a link.
    #[error("`{0}` is not in the workspace")]
    Outside(String),
    #[error("`{0}` does not exist")]
    Missing(String),
    #[error("`{0}` is a folder")]
    Folder(String),
    /// It or something on the way to it.
    #[error("`{0}` is not a folder")]
    NotFolder(String),
    #[error("`{path}` is {kind}, not a regular file")]
    NotRegular { path: String, kind: &'static str },
    #[error("`{path}` is a link to `{to}`; use that path")]
    Link { path: String, to: String },
    #[error("`{0}` belongs to Git, which is changed only by its own commands")]
    Git(String),
    #[error("`{path}` has {bytes} bytes, and at most {limit} are read")]
    TooLarge { path: String, bytes: u64, limit: u64 },
    /// It is written in place where its folder takes no new file.
    #[error("`{0}` has a second name, which would be changed too")]
    HardLink(String),
    #[error("`{path}`: {source}")]
    Io { path: String, source: io::Error },
}

impl FileError {
    pub(super) fn of(path: &WorkspacePath, source: io::Error) -> Self {
        let path = path.written.clone();
        match Errno::from_io_error(&source) {
            // The way leads out, or is a circle of links.
            Some(Errno::XDEV | Errno::LOOP) => Self::Outside(path),
            Some(Errno::NOENT) => Self::Missing(path),
            Some(Errno::ISDIR) => Self::Folder(path),
            Some(Errno::NOTDIR) => Self::NotFolder(path),
            // A socket, or a device without a driver.
            Some(Errno::NXIO) => Self::NotRegular { path, kind: "a socket or a device" },
            Some(_) | None => Self::Io { path, source },
        }
    }
}

pub(super) fn kind_word(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a regular file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a link",
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    }
}
