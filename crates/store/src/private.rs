//! Files and directories of the home: for their owner only, and never opened through a symbolic link.
//!
//! A link in the place of a lock, a log or a temporary file would make us write into the file that it points to. Files
//! are therefore opened with `O_NOFOLLOW`, and files that are replaced whole are written under a random name first.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use tempfile::NamedTempFile;

/// Opens a file of the home. A new file has mode 0600; a symbolic link is refused.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.mode(0o600).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK));
    let file = options.open(path).map_err(named_link)?;
    regular(file)
}

/// Opens a file of another program to read it. Links are followed; a FIFO or device is refused instead of waited for.
pub fn open_foreign(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK)).open(path)?)
}

/// Reads a whole file of another program; see [`open_foreign`].
pub fn read_foreign(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut open_foreign(path)?, &mut bytes)?;
    Ok(bytes)
}

/// Reads a whole file of the home.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::Read::read_to_end(&mut open(path, OpenOptions::new().read(true))?, &mut bytes)?;
    Ok(bytes)
}

/// Opens or creates a lock file.
pub fn open_lock(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true).write(true).create(true).truncate(false))
}

/// Opens or creates a file to append to.
pub fn open_append(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true).append(true).create(true))
}

/// Creates a directory and its parents with mode 0700. An existing directory stays as it is.
pub fn create_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Replaces a file as a whole: the new content is synced under a random name, then renamed.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = written_next_to(path, bytes)?;
    new.as_file().sync_all()?;
    new.persist(path).map(drop).map_err(|error| error.error)
}

/// Replaces a file as a whole without syncing it: a power cut may lose it.
pub fn replace_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    written_next_to(path, bytes)?.persist(path).map(drop).map_err(|error| error.error)
}

fn written_next_to(path: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let mut new =
        tempfile::Builder::new().prefix(".new-").tempfile_in(directory.unwrap_or(Path::new(".")))?;
    new.write_all(bytes)?;
    Ok(new)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

fn named_link(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) if code == Errno::LOOP.raw_os_error() => io::Error::other("it is a symbolic link"),
        _ => error,
    }
}

fn flags(flags: OFlags) -> i32 {
    flags.bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_is_refused_and_its_target_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (victim, link) = (dir.path().join("victim"), dir.path().join("link"));
        std::fs::write(&victim, "mine").unwrap();
        symlink(&victim, &link).unwrap();
        for opened in [open_lock(&link), open_append(&link)] {
            assert_eq!(opened.unwrap_err().to_string(), "it is a symbolic link");
        }
        replace(&link, b"new").unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"mine");
        assert!(std::fs::symlink_metadata(&link).unwrap().is_file(), "the link itself is replaced");
        assert_eq!(std::fs::metadata(&link).unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// Opening a FIFO that has no writer waits without end.
    #[test]
    fn only_regular_files_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let fifo = dir.path().join("fifo");
        rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RUSR).unwrap();
        for path in [fifo.as_path(), dir.path(), Path::new("/dev/zero")] {
            assert_eq!(open_foreign(path).unwrap_err().to_string(), "it is not a regular file", "{path:?}");
        }
    }
}
