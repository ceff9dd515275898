//! Where the engine listens: `engine.sock` in the home. The path of a socket may not be long; where the home's is, the
//! socket lies in a folder of its own and `engine.at` in the home says where.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// The shortest limit of the systems we know is 104 with the zero behind it.
const LONGEST: usize = 103;

/// While it is made it has this name, so that nobody finds a socket that others may open.
const NEW: &str = ".new";

/// Where whoever looks for the engine connects.
pub(super) fn known(home: &Path) -> PathBuf {
    match std::fs::read_to_string(pointer(home)) {
        Ok(path) => PathBuf::from(path.trim_end_matches('\n')),
        Err(_) => usual(home),
    }
}

/// Listens, in the place of whatever a crash has left there. Only for who holds the lock.
pub(super) fn listen(home: &Path, short: &Path) -> io::Result<(UnixListener, PathBuf)> {
    let _ = std::fs::remove_file(pointer(home));
    let usual = usual(home);
    if usual.as_os_str().as_bytes().len() + NEW.len() <= LONGEST {
        return Ok((listen_at(&usual)?, usual));
    }
    let folder = short.join(format!("offshoot-{}", std::process::id()));
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        // A folder of that name that is not ours alone is refused below.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => must_be_ours(&folder)?,
        made => made?,
    }
    let path = folder.join("engine.sock");
    let listener = listen_at(&path)?;
    let text = path.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
    let new = home.join("engine.at.new");
    std::fs::write(&new, format!("{text}\n"))?;
    std::fs::rename(new, pointer(home))?;
    Ok((listener, path))
}

/// Takes the socket away; the lock is still held.
pub(super) fn forget(home: &Path, socket: &Path) {
    // What stays is taken over by the next engine.
    let _ = std::fs::remove_file(socket);
    if std::fs::remove_file(pointer(home)).is_ok()
        && let Some(folder) = socket.parent()
    {
        let _ = std::fs::remove_dir(folder);
    }
}

fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let mut new = path.as_os_str().to_owned();
    new.push(NEW);
    let _ = std::fs::remove_file(&new);
    let listener = UnixListener::bind(&new)?;
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&new, path)?;
    Ok(listener)
}

fn must_be_ours(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let found = std::fs::symlink_metadata(folder)?;
    let is_ours =
        found.is_dir() && found.uid() == rustix::process::geteuid().as_raw() && found.mode() & 0o077 == 0;
    if is_ours { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

fn usual(home: &Path) -> PathBuf {
    home.join("engine.sock")
}

fn pointer(home: &Path) -> PathBuf {
    home.join("engine.at")
}
