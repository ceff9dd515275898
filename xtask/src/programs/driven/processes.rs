//! Processes by what their environment says, and their CPU time.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Those whose environment has variables that begin like all of these.
pub(super) fn with_variables(beginnings: &[String]) -> Vec<u32> {
    let all = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = all.filter_map(|item| item.file_name().to_str()?.parse::<u32>().ok());
    numbers.filter(|process| has_variables(*process, beginnings) && !is_zombie(*process)).collect()
}

fn has_variables(process: u32, beginnings: &[String]) -> bool {
    // A process that has gone meanwhile has none.
    let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let variables: Vec<&[u8]> = environment.split(|byte| *byte == 0).collect();
    beginnings
        .iter()
        .all(|beginning| variables.iter().any(|variable| variable.starts_with(beginning.as_bytes())))
}

fn is_zombie(process: u32) -> bool {
    field(process, 0).is_none_or(|state| state == "Z")
}

/// A field of `/proc/PID/stat`, counted from the state.
fn field(process: u32, number: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, behind_name) = stat.rsplit_once(')')?;
    behind_name.split_whitespace().nth(number).map(str::to_owned)
}

pub(super) fn kill(process: u32) {
    signal(process, "-KILL");
}

fn signal(process: u32, signal: &str) {
    let mut kill = Command::new("kill");
    kill.args([signal, &process.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // One that has ended needs no signal.
    let _ = kill.status();
}

/// What a process and its dead children have used, in clock ticks of 10 ms.
pub(crate) fn cpu_time(process: u32) -> Option<Duration> {
    let ticks = (11..=14).map(|number| field(process, number)?.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 10))
}
