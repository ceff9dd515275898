//! A hook that is a program. It ends with the call, and so does whatever it started; with this process, too, however that ends.

use std::path::Path;
use std::process::Stdio;

use offshoot_session::agent::Environment;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

use super::{HookError, Surroundings};

/// An answer is short; whatever goes on without end is not one.
pub(super) const LONGEST: u64 = 1024 * 1024;

pub(super) async fn run(
    program: &Path,
    arguments: &[String],
    place: &Surroundings,
    body: &str,
) -> Result<Vec<u8>, HookError> {
    let environment = &place.environment;
    let mut command = Command::new(program);
    // A folder that is gone is no reason not to tell.
    if let Some(folder) = place.folder.as_ref().filter(|folder| folder.is_dir()) {
        command.current_dir(folder);
    }
    let mut child = command
        .args(arguments)
        .env_clear()
        .envs(environment.iter())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(HookError::NotRun)?;
    let group = Group(child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw));
    let watcher = group.0.and_then(|group| watched(group, environment));
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
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
    // Whatever it leaves running may hold its output open, and would be waited for.
    let ended = async {
        let status = child.wait().await;
        drop((watcher, group));
        status
    };
    let ((), answer, status) = tokio::join!(tell, hear, ended);
    let status = status.map_err(HookError::NotRun)?;
    if status.success() { answer } else { Err(HookError::Failed(status.to_string())) }
}

/// Somebody who reads what this process will never write: where the pipe ends, this process has ended, also by a signal that
/// nobody hears, and the group is ended. It ends when it is dropped. `None`: the hook is run all the same.
fn watched(group: Pid, environment: &Environment) -> Option<Child> {
    Command::new("sh")
        .env_clear()
        .envs(environment.iter())
        .args(["-c", "read -r _; kill -s KILL -- \"-$1\"", "sh"])
        .arg(group.as_raw_nonzero().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .ok()
}

/// Ends everything that was started, however the call ends.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // A group in which everybody has ended by itself needs no end.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
