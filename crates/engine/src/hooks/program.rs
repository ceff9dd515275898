//! A hook that is a program. It ends with the call, and so does whatever it started.

use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::HookError;

/// An answer is short; whatever goes on without end is not one.
pub(super) const LONGEST: u64 = 1024 * 1024;

pub(super) async fn run(program: &Path, arguments: &[String], body: &str) -> Result<Vec<u8>, HookError> {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(HookError::NotRun)?;
    let mut group = Group(child);
    let (stdin, stdout) = (group.0.stdin.take(), group.0.stdout.take());
    let tell = async {
        if let Some(mut stdin) = stdin {
            // A program need not read what it is told.
            let _ = stdin.write_all(body.as_bytes()).await;
        }
    };
    let hear = async {
        let mut answer = Vec::new();
        if let Some(stdout) = stdout {
            stdout.take(LONGEST).read_to_end(&mut answer).await.map_err(HookError::NotRun)?;
        }
        Ok::<_, HookError>(answer)
    };
    let ((), answer) = tokio::join!(tell, hear);
    let status = group.0.wait().await.map_err(HookError::NotRun)?;
    if status.success() { answer } else { Err(HookError::Failed(status.to_string())) }
}

/// Ends everything that was started, however the call ends.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let pid = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // One that has ended by itself needs no end.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}
