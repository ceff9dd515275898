//! Files and directories of the home: for their owner only, and never opened through a symbolic link.
//!
//! A link in the place of a lock, a log or a temporary file would make us write into the file that it points to. Files
//! are therefore opened with `O_NOFOLLOW`, and files that are replaced whole are written under a random name first.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::short_lines::read_short_lines;

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

/// Reads a whole file of another program without its longest lines; see [`open_foreign`] and [`read_short_lines`].
pub fn read_foreign(path: &Path) -> io::Result<Vec<u8>> {
    Ok(read_short_lines(open_foreign(path)?)?.bytes)
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

/// How a home was found by [`secure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Closed to others, missing, or of another user and not writable by us.
    Kept,
    /// Others could read it until now.
    Tightened,
    /// Another user owns it and we could write to it: that user could read what we write and put rules and settings there.
    OfAnotherUser,
}

/// Closes a home that others can read or write. Files with a second name outside of the home keep their mode, because it
/// is the mode of the original; their directory protects them.
pub fn secure(home: &Path) -> io::Result<Privacy> {
    let found = match std::fs::metadata(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Privacy::Kept),
        found => found?,
    };
    if found.is_dir() && !is_ours(&found) {
        let is_writable = rustix::fs::access(home, rustix::fs::Access::WRITE_OK).is_ok();
        return Ok(if is_writable { Privacy::OfAnotherUser } else { Privacy::Kept });
    }
    if !found.is_dir() || is_closed(&found) {
        return Ok(Privacy::Kept);
    }
    close(home, 0o700)?;
    let mut open = vec![home.to_owned()];
    while let Some(directory) = open.pop() {
        for item in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(found) = item.metadata() else { continue };
            // The home itself is closed, so what cannot be changed here is out of reach for others.
            if found.is_dir() {
                open.push(item.path());
                let _ = if is_closed(&found) { Ok(()) } else { close(&item.path(), 0o700) };
            } else if found.is_file() && found.nlink() == 1 && !is_closed(&found) {
                let _ = close(&item.path(), 0o600);
            }
        }
    }
    Ok(Privacy::Tightened)
}

fn is_ours(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

fn is_closed(found: &Metadata) -> bool {
    found.mode() & 0o077 == 0
}

fn close(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
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
    use std::os::unix::fs::symlink;

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

    #[test]
    fn an_open_home_is_closed_with_all_that_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let (home, original) = (dir.path().join("home"), dir.path().join("original"));
        std::fs::create_dir_all(home.join("archive/x")).unwrap();
        for file in ["catalog.db", "permissions.json", "archive/x/kept.zst"] {
            std::fs::write(home.join(file), "").unwrap();
            close(&home.join(file), 0o666).unwrap();
        }
        std::fs::write(&original, "").unwrap();
        close(&original, 0o644).unwrap();
        std::fs::hard_link(&original, home.join("archive/x/kept.link")).unwrap();
        for directory in [home.join("archive/x"), home.join("archive"), home.clone()] {
            close(&directory, 0o755).unwrap();
        }
        assert_eq!(secure(&home).unwrap(), Privacy::Tightened);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        for directory in ["", "archive", "archive/x"] {
            assert_eq!(mode(&home.join(directory)), 0o700, "{directory}");
        }
        for file in ["catalog.db", "permissions.json", "archive/x/kept.zst"] {
            assert_eq!(mode(&home.join(file)), 0o600, "{file}");
        }
        assert_eq!(mode(&original), 0o644, "the original keeps its mode");
        assert_eq!(secure(&home).unwrap(), Privacy::Kept);
        assert_eq!(secure(&dir.path().join("missing")).unwrap(), Privacy::Kept);
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
