//! Where the engine listens: `run/engine.sock` in the home. The path of a socket may not be long; where the home's is, the
//! socket is in a private directory of its own and `run/engine.at` names it.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use offshoot_store::private;
use tokio::net::UnixListener;

use super::run_directory::{self, make_private};

/// The shortest limit of the systems we know is 104 with the zero behind it.
const LONGEST: usize = 103;

/// Nobody finds a socket of this name.
const HIDDEN: &str = ".off";

/// Where a client connects.
pub(super) fn known(home: &Path) -> PathBuf {
    match private::read(&pointer(home)) {
        Ok(path) => PathBuf::from(OsStr::from_bytes(path.strip_suffix(b"\n").unwrap_or(&path))),
        Err(_) => usual(home),
    }
}

/// A socket that is listened on. Only for the process that holds the lock of the home.
#[derive(Debug)]
pub(super) struct Socket {
    path: PathBuf,
    pointer: Option<PathBuf>,
}

/// Listens, in the place of a socket that a crash has left. `short` is a directory with a short path.
pub(super) fn listen(home: &Path, short: &Path) -> io::Result<(UnixListener, Socket)> {
    let usual = usual(home);
    if usual.as_os_str().as_bytes().len() + HIDDEN.len() <= LONGEST {
        remove_if_there(&pointer(home))?;
        return Ok((listen_at(&usual)?, Socket { path: usual, pointer: None }));
    }
    let directory = short.join(format!("offshoot-{}-{}", rustix::process::geteuid().as_raw(), name_of(home)));
    make_private(&directory)?;
    let path = directory.join("engine.sock");
    let listener = listen_at(&path)?;
    let text = path.to_str().ok_or(ErrorKind::InvalidFilename)?;
    let pointer = pointer(home);
    offshoot_store::private::replace(&pointer, format!("{text}\n").as_bytes())?;
    Ok((listener, Socket { path, pointer: Some(pointer) }))
}

impl Socket {
    /// New clients find nothing; those that are connecting already are still accepted.
    pub(super) fn hide(&self) -> io::Result<()> {
        std::fs::rename(&self.path, self.hidden())
    }

    pub(super) fn show(&self) -> io::Result<()> {
        std::fs::rename(self.hidden(), &self.path)
    }

    /// Removes it. What cannot be removed is replaced by the next engine.
    pub(super) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_file(self.hidden());
        if let Some(pointer) = self.pointer {
            let _ = std::fs::remove_file(pointer);
            let _ = self.path.parent().map(std::fs::remove_dir);
        }
    }

    fn hidden(&self) -> PathBuf {
        let mut hidden = self.path.as_os_str().to_owned();
        hidden.push(HIDDEN);
        hidden.into()
    }
}

/// The directory is private, so nobody connects before the socket is ours alone too.
fn listen_at(path: &Path) -> io::Result<UnixListener> {
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(found) if found.file_type().is_socket() && is_ours(&found) => std::fs::remove_file(path)?,
        Ok(_) => {
            let problem = format!("`{}` is not a socket of yours; it was left as it is", path.display());
            return Err(io::Error::other(problem));
        }
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

fn is_ours(found: &std::fs::Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// The same for the same home, another one for others: FNV-1a, because the standard hash may change between versions.
fn name_of(home: &Path) -> String {
    let hash = home.as_os_str().as_bytes().iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn usual(home: &Path) -> PathBuf {
    run_directory::path(home).join("engine.sock")
}

fn pointer(home: &Path) -> PathBuf {
    run_directory::path(home).join("engine.at")
}
