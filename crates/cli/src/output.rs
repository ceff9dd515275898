//! Files that are handed out: whole or not at all, and never over another one unasked.

use std::fs::Permissions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::NamedTempFile;

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
    written(path, bytes, readers.mode()).and_then(|new| placed(new, path, replace)).map_err(failed)
}

/// Replaces a file as a whole, or creates it with this mode.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    written(path, bytes, mode).and_then(|new| placed(new, path, true))
}

impl Readers {
    /// The mode of a new file, before the umask.
    fn mode(self) -> u32 {
        match self {
            Self::Usual => 0o666,
            Self::OnlyMe => 0o600,
        }
    }
}

/// A synced file in the directory of `path`. Its name is random and new, so no link can be waiting there.
fn written(path: &Path, bytes: &[u8], mode: u32) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let mut new = tempfile::Builder::new()
        .prefix(".offshoot-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(directory.unwrap_or(Path::new(".")))?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    Ok(new)
}

fn placed(new: NamedTempFile, path: &Path, replace: bool) -> io::Result<()> {
    if replace {
        return new.persist(path).map(drop).map_err(|error| error.error);
    }
    match new.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => Err(failed.error),
        // Not every file system can rename without replacing.
        Err(failed) => failed.file.persist(path).map(drop).map_err(|error| error.error),
    }
}
