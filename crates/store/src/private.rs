//! Files and directories of the home: for their owner only, and never opened through a symbolic link.
//!
//! A link in the place of a lock, a log or a temporary file would make us write into the file that it points to. Files
//! are therefore opened with `O_NOFOLLOW`, and files that are replaced whole are written under a random name first.
//! Directories of the home are checked once per command ([`secure`]) and those of the archive whenever a copy is opened
//! ([`refuse_links`]). A check before the open is enough: the home belongs to us and is closed, so no other user can
//! put a link there in between (docs/decisions/0012-the-home-is-private.md).

use std::fs::{DirBuilder, DirEntry, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use tempfile::NamedTempFile;

use crate::short_lines::read_short_lines;

/// Opens a file of the home. A new file has mode 0600, and an existing one is closed to others; a symbolic link is refused.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.mode(0o600).custom_flags(flags(OFlags::NOFOLLOW | OFlags::NONBLOCK));
    let file = regular(options.open(path).map_err(named_link)?)?;
    let found = file.metadata()?;
    // On a disk that cannot be written it stays as it is; the home around it is closed.
    if is_ours(&found) && is_to_be_closed(&found) && !is_closed(&found) {
        let _ = file.set_permissions(Permissions::from_mode(found.mode() & 0o600));
    }
    Ok(file)
}

/// Opens a file of another program to read it. Links are followed; a FIFO or device is refused instead of waited for.
pub fn open_foreign(path: &Path) -> io::Result<File> {
    regular(OpenOptions::new().read(true).custom_flags(flags(OFlags::NONBLOCK)).open(path)?)
}

/// Reads a whole file of another program without its longest lines; see [`open_foreign`] and [`read_short_lines`].
pub fn read_foreign(path: &Path) -> io::Result<Vec<u8>> {
    let file = open_foreign(path)?;
    let length = file.metadata()?.len();
    Ok(read_short_lines(file, length)?.bytes)
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

/// Fails if one of the `depth` directories above a file is a symbolic link. A directory that does not exist yet is fine.
pub fn refuse_links(path: &Path, depth: usize) -> io::Result<()> {
    for directory in path.ancestors().skip(1).take(depth) {
        match std::fs::symlink_metadata(directory) {
            Ok(found) if found.is_symlink() => {
                return Err(io::Error::other(format!("`{}` is a symbolic link", directory.display())));
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// How a home was found by [`secure`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// Closed to others, or missing.
    Private,
    /// Closed, but a file in it is not, such as one that was written with an editor.
    HasOpenFiles,
    /// Others can read it.
    Open,
    /// Another user owns it. That user can read what we write, and put rules, settings and sessions there.
    OfAnotherUser,
    /// Something in it is a symbolic link, which would lead our reading and writing elsewhere.
    HasLink(PathBuf),
}

/// The one file that may be a link: people write it, and some keep such files in a repository.
const LINKED_SETTINGS: &str = "settings.toml";

/// Checks a home, closes it if others can read or write it, and returns how it was. Files with a second name outside of the home keep their
/// mode, because it is the mode of the original; their directory protects them.
pub fn secure(home: &Path) -> io::Result<Privacy> {
    let privacy = inspect(home)?;
    if matches!(privacy, Privacy::Open | Privacy::HasOpenFiles) {
        close_all(home)?;
    }
    Ok(privacy)
}

/// What [`secure`] would find, without changing anything.
pub fn inspect(home: &Path) -> io::Result<Privacy> {
    let found = match std::fs::metadata(home) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Privacy::Private),
        found => found?,
    };
    if !found.is_dir() {
        return Ok(Privacy::Private);
    }
    if !is_ours(&found) {
        return Ok(Privacy::OfAnotherUser);
    }
    let mut has_open_files = false;
    // Blobs are spread over directories; all other directories of a home are at its top, or in the archive. Sessions can be
    // many thousand files: each of them is closed when it is opened.
    for directory in [home.to_owned(), home.join("blobs")] {
        let items = match std::fs::read_dir(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            items => items?,
        };
        for item in items.flatten() {
            let Ok(found) = item.metadata() else { continue };
            if found.is_symlink() && leads_elsewhere(&item) {
                return Ok(Privacy::HasLink(item.path()));
            }
            has_open_files |= is_to_be_closed(&found) && !is_closed(&found);
        }
    }
    Ok(match (is_closed(&found), has_open_files) {
        (false, _) => Privacy::Open,
        (true, true) => Privacy::HasOpenFiles,
        (true, false) => Privacy::Private,
    })
}

/// Whether a link stands for a directory, or for something that would be created at its target. A link to a file is
/// refused when that file is opened. Hidden links are made by editors for files that are open in them.
fn leads_elsewhere(link: &DirEntry) -> bool {
    let name = link.file_name();
    let is_exempt = name == LINKED_SETTINGS || name.as_encoded_bytes().starts_with(b".");
    !is_exempt && !std::fs::metadata(link.path()).is_ok_and(|target| target.is_file())
}

/// Takes every right from others. What the owner may do stays: a home that was made read-only is not opened for writing.
fn close_all(home: &Path) -> io::Result<()> {
    close(home, std::fs::metadata(home)?.mode() & 0o700)?;
    let mut open = vec![home.to_owned()];
    while let Some(directory) = open.pop() {
        for item in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let Ok(found) = item.metadata() else { continue };
            if found.is_dir() {
                open.push(item.path());
            }
            // The home itself is closed, so what cannot be changed here is out of reach for others.
            if is_to_be_closed(&found) && !is_closed(&found) {
                let owner = if found.is_dir() { 0o700 } else { 0o600 };
                let _ = close(&item.path(), found.mode() & owner);
            }
        }
    }
    Ok(())
}

fn is_to_be_closed(found: &Metadata) -> bool {
    found.is_dir() || (found.is_file() && found.nlink() == 1)
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
        assert_eq!(secure(&home).unwrap(), Privacy::Open);
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        for directory in ["", "archive", "archive/x"] {
            assert_eq!(mode(&home.join(directory)), 0o700, "{directory}");
        }
        for file in ["catalog.db", "permissions.json", "archive/x/kept.zst"] {
            assert_eq!(mode(&home.join(file)), 0o600, "{file}");
        }
        assert_eq!(mode(&original), 0o644, "the original keeps its mode");
        assert_eq!(secure(&home).unwrap(), Privacy::Private);
        close(&home.join("catalog.db"), 0o644).unwrap();
        assert_eq!(secure(&home).unwrap(), Privacy::HasOpenFiles);
        assert_eq!(secure(&home).unwrap(), Privacy::Private);
        assert_eq!(secure(&dir.path().join("missing")).unwrap(), Privacy::Private);
    }

    #[test]
    fn a_file_is_closed_when_it_is_opened() {
        let dir = tempfile::tempdir().unwrap();
        let (file, original) = (dir.path().join("file"), dir.path().join("original"));
        for path in [&file, &original] {
            std::fs::write(path, "").unwrap();
            close(path, 0o666).unwrap();
        }
        std::fs::hard_link(&original, dir.path().join("link")).unwrap();
        for path in [&file, &dir.path().join("link")] {
            open(path, OpenOptions::new().read(true)).unwrap();
        }
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(
            std::fs::metadata(&original).unwrap().mode() & 0o777,
            0o666,
            "the original keeps its mode"
        );
    }

    #[test]
    fn a_link_in_a_home_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let (home, elsewhere) = (dir.path().join("home"), dir.path().join("elsewhere"));
        std::fs::create_dir_all(home.join("blobs")).unwrap();
        std::fs::create_dir(&elsewhere).unwrap();
        symlink("dev@host.1:2", home.join(".#settings.toml")).unwrap();
        assert_eq!(secure(&home).unwrap(), Privacy::Open);
        std::fs::write(elsewhere.join("file"), "").unwrap();
        symlink(elsewhere.join("file"), home.join("prices.toml")).unwrap();
        symlink("nowhere", home.join("settings.toml")).unwrap();
        assert_eq!(secure(&home).unwrap(), Privacy::Private, "a link to a file is refused when it is opened");
        for link in ["sessions", "log", "blobs/ab"] {
            let link = home.join(link);
            symlink(&elsewhere, &link).unwrap();
            assert_eq!(secure(&home).unwrap(), Privacy::HasLink(link.clone()));
            std::fs::remove_file(&link).unwrap();
        }
        symlink(&elsewhere, home.join("archive")).unwrap();
        let copy = home.join("archive/u/a.zst");
        let told = refuse_links(&copy, 2).unwrap_err().to_string();
        assert_eq!(told, format!("`{}` is a symbolic link", home.join("archive").display()));
        assert!(refuse_links(&copy, 1).is_ok(), "only what is below the home");
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
