//! Where the programs of other agents are looked for.

use std::path::PathBuf;

pub(crate) use offshoot_engine::installed::known::{Program, named};

/// By the variable `PATH`.
pub(crate) fn folders() -> Vec<PathBuf> {
    std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

pub(crate) fn on_path(program: &Program) -> Option<PathBuf> {
    program.found_in(&folders())
}
