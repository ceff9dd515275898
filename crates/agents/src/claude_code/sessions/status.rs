//! Status files: every running Claude Code keeps one at `sessions/PID.json`.
//!
//! A process that was killed leaves its file. So the process has to exist and must have started when the file says.

use std::path::Path;

use jiff::Timestamp;
use offshoot_session::AgentSessionId;
use serde_json::Value;

use super::files;
use crate::Elsewhere;
use crate::process::is_alive;

/// The processes that run a session.
pub(super) fn running(home: &Path, session: &AgentSessionId) -> Vec<Elsewhere> {
    let Ok(entries) = std::fs::read_dir(home.join("sessions")) else { return Vec::new() };
    let paths = entries.flatten().map(|entry| entry.path());
    let statuses = paths.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let statuses = statuses.filter_map(|path| {
        let status: Value = serde_json::from_slice(&files::read(home, &path).ok()?).ok()?;
        running_in(&status, session)
    });
    statuses.collect()
}

fn running_in(status: &Value, session: &AgentSessionId) -> Option<Elsewhere> {
    if status.get("sessionId")?.as_str()? != session.as_str() {
        return None;
    }
    let pid = u32::try_from(status.get("pid")?.as_u64()?).ok()?;
    let started = status.get("procStart").and_then(Value::as_str);
    let since = status.get("startedAt").and_then(Value::as_i64);
    let since = since.and_then(|since| Timestamp::from_millisecond(since).ok());
    is_alive(pid, started).then_some(Elsewhere { pid, since })
}
