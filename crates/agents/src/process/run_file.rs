//! The file of a run: from it the next engine ends a process that this one has left.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::processes;
use crate::private;

/// What is known of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) id: String,
    pub(super) process: Identity,
    /// The engine that started it.
    pub(super) engine: Identity,
    pub(super) agent: String,
    pub(super) session: String,
}

/// A process that no later one can be mistaken for. Nothing but the pid is known where there is no `/proc`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) pid: i32,
    pub(super) started: Option<u64>,
    pub(super) boot: Option<String>,
}

impl Identity {
    pub(super) fn of(pid: i32) -> Self {
        let started = processes::process(pid).map(|process| process.started);
        Self { pid, started, boot: processes::boot() }
    }

    /// Whether it runs now.
    pub(super) fn is_alive(&self) -> bool {
        self.started.is_some() && Self::of(self.pid) == *self
    }
}

/// The file is removed with this.
#[derive(Debug)]
pub(super) struct RunFile(PathBuf);

impl RunFile {
    /// It is there as a whole or not at all.
    pub(super) fn write(folder: &Path, run: &Run) -> io::Result<Self> {
        private::create_folder(folder)?;
        let path = folder.join(format!("{}.json", run.id));
        match private::replace(&path, format!("{}\n", as_json(run)).as_bytes()) {
            Ok(()) => Ok(Self(path)),
            Err(error) => Err(io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))),
        }
    }
}

impl Drop for RunFile {
    fn drop(&mut self) {
        // The next engine removes one that is left.
        let _ = fs::remove_file(&self.0);
    }
}

/// All run files of a folder.
pub(super) fn read_all(folder: &Path) -> Vec<(RunFile, Run)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let files = entries.flatten().map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.filter_map(|path| Some((read(&path)?, RunFile(path)))).map(|(run, file)| (file, run)).collect()
}

impl RunFile {
    /// Leaves the file where it is.
    pub(super) fn keep(self) {
        std::mem::forget(self);
    }
}

/// Its name says enough where its content does not.
fn read(path: &Path) -> Option<Run> {
    let id = path.file_stem()?.to_str()?.to_owned();
    let value = fs::read(path).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    let value = value.unwrap_or_default();
    let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let boot = value.get("boot").and_then(Value::as_str).map(str::to_owned);
    let identity = |of: &Value| Identity {
        pid: of.get("pid").and_then(Value::as_i64).and_then(|pid| pid.try_into().ok()).unwrap_or_default(),
        started: of.get("started").and_then(Value::as_u64),
        boot: boot.clone(),
    };
    let engine = value.get("engine").map(identity).unwrap_or_default();
    Some(Run { id, process: identity(&value), engine, agent: text("agent"), session: text("session") })
}

fn as_json(run: &Run) -> Value {
    json!({
        "run": run.id,
        "pid": run.process.pid,
        "started": run.process.started,
        "boot": run.process.boot,
        "agent": run.agent,
        "session": run.session,
        "engine": { "pid": run.engine.pid, "started": run.engine.started },
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_run_file_is_private_and_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        let us = Identity::of(std::process::id().cast_signed());
        let run = Run {
            id: "0123".into(),
            process: Identity { pid: 4711, ..us.clone() },
            engine: us,
            agent: "claude-code".into(),
            session: "s".into(),
        };
        let file = RunFile::write(&runs, &run).unwrap();
        assert_eq!(runs.join("0123.json").metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let mut all = read_all(&runs);
        let (read, found) = all.pop().unwrap();
        assert_eq!((found, all.len()), (run, 0));
        read.keep();
        drop(file);
        assert!(read_all(&runs).is_empty());
        fs::write(runs.join("77.json"), "{").unwrap();
        assert_eq!(read_all(&runs).pop().unwrap().1.id, "77");
    }
}
