//! How programs of agents are started by the engines of this program.

use std::path::{Path, PathBuf};

use offshoot_session::agent::Host;

use super::run_directory::agents_path;

/// What this folder of the home holds can be asked for again.
const CACHE: &str = "cache";

/// Our own executable starts agents. The program of an agent is a setting, so it is not known here.
pub(super) fn host(home: &Path) -> Host {
    Host { runs: Some(agents_path(home)), cache: Some(home.join(CACHE)), ..host_in_memory() }
}

/// An engine that writes no file leaves no run files either; what it starts ends with it all the same.
pub(super) fn host_in_memory() -> Host {
    Host { launcher: launcher(), ..Host::default() }
}

/// On Linux this name leads to the executable that runs, also after an update has replaced or removed its file.
const RUNNING_EXECUTABLE: &str = "/proc/self/exe";

pub(crate) fn launcher() -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?;
    Some(if cfg!(target_os = "linux") { PathBuf::from(RUNNING_EXECUTABLE) } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_launcher_is_the_executable_that_runs() {
        let host = host(Path::new("/home"));
        let launcher = host.launcher.expect("an executable");
        assert_eq!(
            std::fs::canonicalize(launcher).expect("a file"),
            std::fs::canonicalize(std::env::current_exe().expect("ours")).expect("a file"),
        );
        assert_eq!(host.runs.as_deref(), Some(Path::new("/home/run/agents")));
    }
}
