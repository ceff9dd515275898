//! The processes of this machine, as `/proc` lists them. Where there is none, nothing is known of any process.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, getpid, test_kill_process};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    pub(super) group: i32,
    /// Clock ticks between the start of the machine and that of the process.
    pub(super) started: u64,
}

/// All that run. Those that have ended and are only waited for are left out.
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(process).collect()
}

pub(super) fn process(pid: i32) -> Option<Process> {
    parsed(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Whether a process runs that began at this time, in the unit of `/proc`. Where there is no `/proc`, only the process is
/// looked for.
pub(crate) fn is_alive(pid: u32, started: Option<&str>) -> bool {
    let Ok(pid) = i32::try_from(pid) else { return false };
    if Path::new("/proc/self/stat").exists() {
        return process(pid).is_some_and(|process| began(&process, started));
    }
    as_pid(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

fn began(process: &Process, started: Option<&str>) -> bool {
    started.is_none_or(|started| started.parse() == Ok(process.started))
}

/// The name of the program is in parentheses and may contain anything.
fn parsed(pid: i32, stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let field = |at: usize| fields.get(at)?.parse().ok();
    if matches!(*fields.first()?, "Z" | "X") {
        return None;
    }
    let started = fields.get(19)?.parse().ok()?;
    Some(Process { pid, parent: field(1)?, group: field(2)?, started })
}

/// Names the time since the machine was started: process ids and start times begin again with it.
pub(super) fn boot() -> Option<String> {
    Some(fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned())
}

/// Whether this variable was in the environment when the process began.
pub(super) fn has_variable(pid: i32, name: &str, value: &str) -> bool {
    let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) else { return false };
    let variable = format!("{name}={value}");
    environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
}

/// Whether it is an engine: our own executable, started as `offshoot engine`. A tool can give any program our name and that
/// argument, so the file itself is compared.
pub(super) fn is_engine(pid: i32) -> bool {
    let Ok(command) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    if command.split(|byte| *byte == 0).nth(1) != Some(b"engine") {
        return false;
    }
    // It leads to the file also where that was renamed or removed.
    let Some(theirs) = file(Path::new(&format!("/proc/{pid}/exe"))) else { return false };
    let ours = Path::new("/proc/self/exe");
    file(ours) == Some(theirs) || updated(ours).and_then(|path| file(&path)) == Some(theirs)
}

/// Device and number of a file.
fn file(path: &Path) -> Option<(u64, u64)> {
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

/// Where our executable was before an update has replaced it.
fn updated(ours: &Path) -> Option<PathBuf> {
    let path = fs::read_link(ours).ok()?;
    let path = path.as_os_str().as_bytes().strip_suffix(b" (deleted)")?;
    Some(PathBuf::from(OsStr::from_bytes(path)))
}

/// This process and those that started it.
pub(super) fn us_and_above(processes: &[Process]) -> Vec<i32> {
    let mut found = vec![getpid().as_raw_nonzero().get()];
    let above = |pid: i32| processes.iter().find(|process| process.pid == pid).map(|process| process.parent);
    while let Some(parent) = found.last().copied().and_then(above).filter(|pid| !found.contains(pid)) {
        found.push(parent);
    }
    found
}

pub(super) fn as_pid(pid: i32) -> Option<Pid> {
    // Zero and negative numbers are groups.
    Pid::from_raw(pid).filter(|_| pid > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_program_may_look_like_its_end() {
        let stat = "7 (a) S 9) S 3 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 100 5";
        let found = parsed(7, stat);
        assert_eq!(found, Some(Process { pid: 7, parent: 3, group: 7, started: 4711 }));
        assert_eq!(parsed(7, &stat.replace(") S 3", ") Z 3")), None);
    }

    #[test]
    fn a_process_is_known_by_its_start() {
        let process = Process { pid: 7, parent: 3, group: 7, started: 92958 };
        assert!(began(&process, Some("92958")));
        assert!(began(&process, None), "an older version does not say when it started");
        assert!(!began(&process, Some("1")), "another process has its number now");
        assert!(is_alive(std::process::id(), None) && !is_alive(std::process::id(), Some("1")));
    }
}
