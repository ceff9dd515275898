//! `sessions/<pid>.json`: what the process is doing, for other programs to read.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use super::config::Config;

pub(super) struct StatusFile {
    path: PathBuf,
    version: String,
    workspace: String,
    started: Option<String>,
}

impl StatusFile {
    pub(super) fn new(config: &Config, workspace: String) -> std::io::Result<Self> {
        let folder = config.folder.join("sessions");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{}.json", std::process::id()));
        Ok(Self { path, version: config.version.clone(), workspace, started: start_of_process() })
    }

    pub(super) fn write(&self, session: &str, status: &str) -> std::io::Result<()> {
        let line = json!({
            "pid": std::process::id(), "sessionId": session, "cwd": self.workspace, "version": self.version,
            "kind": "interactive", "entrypoint": entrypoint(), "name": "fake", "status": status,
            "procStart": self.started,
        });
        fs::write(&self.path, line.to_string())
    }

    pub(super) fn remove(&self) {
        // Nothing to remove is as good.
        let _ = fs::remove_file(&self.path);
    }
}

pub(super) fn entrypoint() -> String {
    std::env::var("CLAUDE_CODE_ENTRYPOINT").unwrap_or_else(|_| "sdk-cli".to_owned())
}

/// Field 22 of `/proc/self/stat`, where there is one.
fn start_of_process() -> Option<String> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(19).map(str::to_owned)
}
