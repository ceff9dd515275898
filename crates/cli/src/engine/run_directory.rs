//! `<home>/run/`: the files by which the engine of a home is found. The directory is private before anything is put into
//! it, so nobody else can open the socket or put another one in its place. A directory that is not ours is refused and
//! left as it is.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use offshoot_store::private;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

#[derive(Clone, Debug)]
pub(super) struct RunDirectory(PathBuf);

impl RunDirectory {
    /// Creates it where it is missing, with the home.
    pub(super) fn prepare(home: &Path) -> io::Result<Self> {
        private::create_directory(home)?;
        let path = path(home);
        make_private(&path)?;
        Ok(Self(path))
    }

    /// Creates the folder of run files of agents.
    pub(super) fn prepare_agents(&self) -> io::Result<()> {
        make_private(&self.0.join(AGENTS))
    }

    /// Creates an empty folder for copies that are needed for a moment. What a crash has left of an engine is removed, so this is
    /// only for the process that holds `engine.lock`.
    pub(super) fn prepare_scratch(&self) -> io::Result<PathBuf> {
        let path = self.0.join("scratch");
        make_private(&path)?;
        std::fs::remove_dir_all(&path)?;
        make_private(&path)?;
        Ok(path)
    }

    /// Held by the one command that starts an engine. `None` while another one does.
    pub(super) fn lock_start(&self) -> io::Result<Option<File>> {
        try_lock(&self.0.join("start.lock"))
    }

    /// Counts one further engine process, and keeps the number before anybody sees it.
    pub(super) fn next_epoch(&self) -> io::Result<u64> {
        let path = self.0.join("epoch");
        let last = match private::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes)
                .trim()
                .parse()
                .map_err(|_| io::Error::new(ErrorKind::InvalidData, NO_EPOCH))?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0_u64,
            Err(error) => return Err(error),
        };
        let next = last + 1;
        private::replace(&path, format!("{next}\n").as_bytes())?;
        File::open(&self.0)?.sync_all()?;
        Ok(next)
    }
}

/// Which engine process of the home runs, or ran last; 0 if none did.
pub(super) fn epoch(home: &Path) -> u64 {
    let bytes = private::read(&path(home).join("epoch")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim().parse().unwrap_or_default()
}

const NO_EPOCH: &str = "`run/epoch` is not a number";

/// Run files of agents, one for each process. Engines in a command's own process leave it to the first agent to create it.
pub(super) fn agents_path(home: &Path) -> PathBuf {
    path(home).join(AGENTS)
}

const AGENTS: &str = "agents";

pub(super) fn path(home: &Path) -> PathBuf {
    home.join("run")
}

/// A directory that only we can look into. `lstat` decides, so a link to somewhere else is refused.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = std::fs::symlink_metadata(path)?;
    let is_ours = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    if is_ours && found.mode() & 0o077 == 0 {
        return Ok(());
    }
    let problem = format!("`{}` is not a private directory of yours; it was left as it is", path.display());
    Err(io::Error::other(problem))
}

/// `None` while another process holds it. A lock ends with its process, however that ends.
pub(super) fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = private::open_lock(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn every_engine_has_a_number_of_its_own() {
        let home = tempfile::tempdir().expect("a directory");
        let run = RunDirectory::prepare(home.path()).expect("prepared");
        let epochs: Vec<u64> = (0..3).filter_map(|_| run.next_epoch().ok()).collect();
        assert_eq!(epochs, [1, 2, 3]);
        std::fs::write(path(home.path()).join("epoch"), "many").expect("a file");
        assert!(run.next_epoch().is_err(), "numbers that were given may not come again");
    }

    #[test]
    fn what_is_not_private_or_not_a_directory_is_refused_and_left_alone() {
        let home = tempfile::tempdir().expect("a directory");
        let run = path(home.path());
        std::fs::write(&run, "mine").expect("a file");
        assert!(RunDirectory::prepare(home.path()).is_err());
        assert_eq!(std::fs::read_to_string(&run).expect("still there"), "mine");
        std::fs::remove_file(&run).expect("gone");
        let elsewhere = tempfile::tempdir().expect("a directory");
        std::os::unix::fs::symlink(elsewhere.path(), &run).expect("a link");
        assert!(RunDirectory::prepare(home.path()).is_err());
        std::fs::remove_file(&run).expect("gone");
        std::fs::create_dir(&run).expect("a directory");
        std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).expect("own directory");
        assert!(RunDirectory::prepare(home.path()).is_err());
        std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o700)).expect("own directory");
        assert!(RunDirectory::prepare(home.path()).is_ok());
    }
}
