//! Processes of agents that an engine which crashed has left.

use std::path::PathBuf;

use offshoot_agents::process::sweep_leftovers;
use tokio::sync::watch;
use tracing::info;

/// Whether they have been ended. No agent is reached before.
#[derive(Clone, Debug)]
pub(crate) struct Swept(watch::Receiver<()>);

impl Swept {
    /// Nothing is left.
    pub(crate) fn already() -> Self {
        Self(watch::channel(()).1)
    }

    /// Ends them on a thread: it may take seconds. `runs` is the folder of run files.
    pub(crate) fn begin(runs: PathBuf) -> Self {
        let (done, swept) = watch::channel(());
        // Where no thread can be had, leftovers stay, and agents can still be reached.
        let _ = std::thread::Builder::new().name("sweep".to_owned()).spawn(move || {
            let count = sweep_leftovers(&runs).len() as u64;
            if count > 0 {
                info!(name: "agents of a crashed engine ended", count);
            }
            drop(done);
        });
        Self(swept)
    }

    pub(crate) async fn wait(&self) {
        // The sender only goes away.
        let _ = self.0.clone().changed().await;
    }
}
