//! Files that are handed out: whole or not at all, and never over another one unasked.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::words::reading as words;

/// Who may read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Whoever may read what this person makes.
    Usual,
    /// Nobody else, as agents keep what was said to them.
    OnlyMe,
}

/// Writes beside the place, then puts it there in one step.
pub(crate) fn write(path: &Path, bytes: &[u8], replace: bool) -> Result<(), Failure> {
    write_for(Readers::Usual, path, bytes, replace)
}

pub(crate) fn write_for(readers: Readers, path: &Path, bytes: &[u8], replace: bool) -> Result<(), Failure> {
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::refused(words::is_there(path)).hint(words::IS_THERE_HINT),
        _ => Failure::failed(words::not_written(path, &error)),
    };
    if !replace && path.symlink_metadata().is_ok() {
        return Err(failed(ErrorKind::AlreadyExists.into()));
    }
    let beside = beside(path);
    let placed = written(&beside, bytes, readers).and_then(|()| placed(&beside, path, replace));
    if placed.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    placed.map_err(failed)
}

fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}", std::process::id()))
}

fn written(path: &Path, bytes: &[u8], readers: Readers) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    if readers == Readers::OnlyMe {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut file: File = options.open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn placed(beside: &Path, path: &Path, replace: bool) -> io::Result<()> {
    if replace {
        return std::fs::rename(beside, path);
    }
    // A link, unlike a rename, does not replace what somebody else put there meanwhile.
    match std::fs::hard_link(beside, path) {
        Ok(()) => std::fs::remove_file(beside),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Not every disk has links.
        Err(_) => std::fs::rename(beside, path),
    }
}
