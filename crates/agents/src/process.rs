//! Processes of agents.

use std::path::Path;

/// A process that an engine has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leftover;

/// Ends the processes of agents that an engine which is gone has left. `runs` is the folder of run files.
pub fn sweep_leftovers(_runs: &Path) -> Vec<Leftover> {
    Vec::new()
}
