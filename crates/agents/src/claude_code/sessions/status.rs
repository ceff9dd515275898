//! Status files: every running Claude Code keeps one at `sessions/PID.json`.
//!
//! A process that was killed leaves its file. So the process has to exist and must have started when the file says.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use offshoot_session::AgentSessionId;
use rustix::process::{Pid, test_kill_process};
use serde_json::Value;

use super::files;
use crate::Elsewhere;

/// The processes that run a session.
pub(super) fn running(home: &Path, session: &AgentSessionId) -> Vec<Elsewhere> {
    let Ok(entries) = fs::read_dir(home.join("sessions")) else { return Vec::new() };
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

/// `started` is the time of its start in the unit of `/proc`. Where there is no `/proc`, only the process is looked for.
fn is_alive(pid: u32, started: Option<&str>) -> bool {
    if Path::new("/proc/self/stat").exists() {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        return stat.is_ok_and(|stat| is_running(&stat, started));
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// From the line of a process in `/proc`: its name may hold blanks and brackets, everything behind it not.
fn is_running(stat: &str, started: Option<&str>) -> bool {
    let Some((_, fields)) = stat.rsplit_once(')') else { return false };
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let is_zombie = matches!(fields.first(), Some(&("Z" | "X")));
    let began = fields.get(19).copied();
    !is_zombie && started.is_none_or(|started| began == Some(started))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let stat =
            |state: &str| format!("7 (a (b) c) {state} 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 92958 0 0");
        assert!(is_running(&stat("S"), Some("92958")));
        assert!(is_running(&stat("R"), None), "an older version does not say when it started");
        assert!(!is_running(&stat("S"), Some("1")), "another process has its number now");
        assert!(!is_running(&stat("Z"), Some("92958")), "it has ended, and its parent has not noticed");
        assert!(!is_running("", None));
    }
}
