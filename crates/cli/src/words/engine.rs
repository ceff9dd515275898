//! Sentences about the engine process.

use std::fmt::Display;
use std::path::Path;

use offshoot_api::views::{EngineView, StatusRow};

use crate::numbers::counted;

pub(crate) fn not_started(home: &Path, error: &dyn Display) -> String {
    format!("could not start the engine of `{}`: {error}", home.display())
}

pub(crate) fn engine_silent(home: &Path) -> String {
    format!("another process is the engine of `{}` and does not answer", home.display())
}

pub(crate) fn start_silent(home: &Path) -> String {
    format!("another command starts the engine of `{}` and does not finish", home.display())
}

pub(crate) const ENGINE_SILENT_HINT: &str = "it may be stopped; `offshoot doctor` says who holds what";

pub(crate) fn not_connected(home: &Path, error: &std::io::Error) -> String {
    format!("could not connect to the engine of `{}`: {error}", home.display())
}

pub(crate) const STOPPING: &str = "the engine is stopping";
pub(crate) const NONE_RUNS: &str = "No engine runs.\n";
pub(crate) const STOPPED: &str = "Stopped.\n";
pub(crate) const STILL_STOPPING: &str = "the engine was asked to stop and has not ended yet";
pub(crate) const FORCE_HINT: &str = "`--force` interrupts them; what has arrived is kept";

pub(crate) fn restarted(engine: &EngineView) -> String {
    format!("Restarted: process {}, version {}.\n", engine.process, engine.version)
}

/// `2 turns are running: 6f2a91 #3, b81c07 #1`
pub(crate) fn still_running(turns: &[StatusRow]) -> String {
    let names: Vec<String> = turns.iter().map(turn).collect();
    let running = counted(turns.len(), "turn is running", "turns are running");
    format!("{running}: {}", names.join(", "))
}

fn turn(row: &StatusRow) -> String {
    let session = row.session.get(..6).unwrap_or(&row.session);
    format!("{session} #{}", row.number)
}

pub(crate) fn status(engine: &EngineView, age: &str) -> String {
    let mut text = format!(
        "Engine {}, process {}, since {age}: {}, {}, {}.\n",
        engine.version,
        engine.process,
        counted(engine.sessions, "open session", "open sessions"),
        counted(engine.connections, "connection", "connections"),
        counted(engine.turns.len(), "running turn", "running turns"),
    );
    for row in &engine.turns {
        text.push_str(&format!("  {} {}\n", turn(row), row.status.state));
    }
    text
}

/// The engine is older than this program and busy.
pub(crate) fn outdated(engine: &str, turns: &str) -> String {
    let ours = env!("CARGO_PKG_VERSION");
    format!("the engine that runs is version {engine}, this is version {ours}, and {turns}")
}

pub(crate) const OUTDATED_HINT: &str =
    "`offshoot engine restart` replaces it when they have ended, `--force` now";

/// This program is older than the engine.
pub(crate) fn we_are_older(engine: &str) -> String {
    let ours = env!("CARGO_PKG_VERSION");
    format!("this is version {ours}, and the engine that runs is version {engine}, which is newer")
}

pub(crate) const WE_ARE_OLDER_HINT: &str =
    "use the newer program, or stop the engine with it: `offshoot engine stop`";
pub(crate) const CANNOT_STOP: &str = "it cannot be asked to stop";
