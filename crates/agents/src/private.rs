//! Files of the home that agents write: for the owner only, replaced as a whole, and never through a link.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Creates a folder and those above it. One that exists stays as it is.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Replaces a file: others see the old content or the new one.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = path.with_file_name(unused_name()?);
    // A new file, so what is there is neither followed nor opened.
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&draft)
        .and_then(|mut file| file.write_all(bytes))
        .and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        // It may not have been created.
        let _ = fs::remove_file(&draft);
    }
    written
}

/// All of a regular file that has at most so many bytes. A FIFO is refused instead of waited for.
pub(crate) fn read(path: &Path, longest: u64) -> io::Result<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let found = file.metadata()?;
    if !found.is_file() || found.len() > longest {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a short regular file"));
    }
    let mut bytes = Vec::new();
    file.take(longest).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unused_name() -> io::Result<OsString> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(format!(".new-{:016x}", u64::from_be_bytes(bytes)).into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::*;

    #[test]
    fn a_file_is_private_and_a_link_is_replaced_instead_of_followed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        create_folder(&at("a/b")).unwrap();
        assert_eq!(at("a/b").metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(at("victim"), "mine").unwrap();
        symlink(at("victim"), at("link")).unwrap();
        assert!(read(&at("link"), 10).is_err());
        replace(&at("link"), b"new").unwrap();
        assert_eq!(read(&at("link"), 10).unwrap(), b"new");
        assert!(read(&at("link"), 2).is_err());
        assert_eq!(at("link").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read(at("victim")).unwrap(), b"mine");
        mkfifoat(CWD, at("fifo"), Mode::RWXU).unwrap();
        assert!(read(&at("fifo"), 10).is_err());
    }
}
