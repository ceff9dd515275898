//! Where a command runs: the look of its output, the home of the sessions, the folder it was called in.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_store::catalog::Sources;
use offshoot_store::{Archive, Home, JournalStore, Locking, OtherPrograms};

use crate::failure::Failure;
use crate::foreign::InCatalog;
use crate::look::Look;
use crate::sources::{Variables, sources};
use crate::stamps::{SharedStamps, SystemStamps};
use crate::words;

#[derive(Debug)]
pub(crate) struct Here {
    pub(crate) look: Look,
    /// The folder a session is about, where the person does not say otherwise.
    pub(crate) folder: PathBuf,
    home: Option<PathBuf>,
    home_from: &'static str,
    /// Those that other programs keep, and which of them may be changed in this command.
    others: OtherPrograms,
}

impl Here {
    pub(crate) fn new(home: Option<&Path>, look: Look) -> Self {
        // Whoever stands in a folder that is gone can still name files and sessions.
        let folder = std::env::current_dir().unwrap_or_default();
        let home_from = match home {
            Some(home) if std::env::var_os("OFFSHOOT_HOME").is_some_and(|told| *told == *home) => {
                "from OFFSHOOT_HOME"
            }
            Some(_) => "from --home",
            None if data_home().is_some() => "from XDG_DATA_HOME",
            None => "the usual place",
        };
        let home = home.map(Path::to_owned).or_else(usual_home);
        let others = OtherPrograms::on_disk(std::env::temp_dir());
        let others = match &home {
            Some(home) => {
                let home = Home::at(home);
                let archive = Archive::of(&home);
                others.and_then(Arc::new(InCatalog { home })).keeping(archive)
            }
            None => others,
        };
        Self { look, folder, home, home_from, others }
    }

    /// Who says that the home is there.
    pub(crate) fn home_from(&self) -> &'static str {
        self.home_from
    }

    /// Only commands on stored sessions need a home.
    pub(crate) fn store(&self) -> Result<JournalStore, Failure> {
        let home =
            self.home.as_ref().ok_or_else(|| Failure::failed(words::NO_HOME).hint(words::NO_HOME_HINT))?;
        Ok(JournalStore::at(Home::at(home), Locking::by("offshoot")).with(self.others.clone()))
    }

    pub(crate) fn others(&self) -> &OtherPrograms {
        &self.others
    }

    /// Where sessions may lie: the home, and the places of other programs, or those that are named instead.
    pub(crate) fn sources(&self, named: &[PathBuf]) -> Result<Sources, Failure> {
        let store = self.store()?;
        let named: Vec<PathBuf> = named.iter().map(|path| self.folder.join(path)).collect();
        let variable = |name: &str| std::env::var_os(name);
        Ok(sources(store.home().root(), &named, &Variables(&variable), std::env::temp_dir()))
    }

    /// What is kept of other programs. Without a home there is nothing.
    pub(crate) fn archive(&self) -> Option<Archive> {
        self.home.as_ref().map(|home| Archive::of(&Home::at(home)))
    }

    /// Time and new ids for one command.
    pub(crate) fn stamps(&self) -> SystemStamps {
        SystemStamps::new()
    }

    /// The same for all sessions of an engine: no two of them get the same id.
    pub(crate) fn stamps_for_many(&self) -> SharedStamps {
        SharedStamps::new()
    }

    /// Where things lie that need not outlive a restart of the machine.
    pub(crate) fn short_lived(&self) -> PathBuf {
        folder_in("XDG_RUNTIME_DIR").unwrap_or_else(std::env::temp_dir)
    }
}

/// `$XDG_DATA_HOME/offshoot`, else `~/.local/share/offshoot`.
fn usual_home() -> Option<PathBuf> {
    let data = data_home().or_else(|| Some(folder_in("HOME")?.join(".local/share")))?;
    Some(data.join("offshoot"))
}

fn data_home() -> Option<PathBuf> {
    folder_in("XDG_DATA_HOME")
}

fn folder_in(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Where an agent keeps what is its own: where its variable says, else in the usual place below the person's home.
pub(crate) fn agent_home(variable: &str, usual: &str) -> Option<PathBuf> {
    folder_in(variable).or_else(|| Some(folder_in("HOME")?.join(usual)))
}
