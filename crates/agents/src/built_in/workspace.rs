//! Files and commands in the folder of the session, and nowhere else.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;

use offshoot_session::agent::Environment;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStdin, Command};

use super::words;

/// So much of what a file says or a command prints is told.
const TOLD_BYTES: u64 = 64 * 1024;

/// Runs the command behind it, and beside it somebody who reads what this process will never write: where the pipe ends, this
/// process has ended, also by a signal that nobody hears, and the whole group is ended. The command is a shell of its own, which
/// knows nothing of the other and does not wait for it.
const BESIDE_A_WATCHER: &str = r#"exec 3<&0 </dev/null
{ read -r _ <&3; kill -s KILL 0; } >/dev/null 2>&1 &
exec sh -c "$1" 3<&-"#;

/// What a tool answers: the words, and whether it went wrong.
pub(super) type Outcome = Result<String, String>;

#[derive(Clone, Debug)]
pub(super) struct Workspace {
    root: Option<PathBuf>,
    /// Commands run in it.
    environment: Environment,
}

impl Workspace {
    pub(super) fn at(root: Option<PathBuf>, environment: Environment) -> Self {
        Self { root, environment }
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Outcome {
        let path = self.path(file)?;
        let write = || {
            let mut open = regular(OpenOptions::new().write(true).create(true), &path)?;
            open.set_len(0)?;
            io::Write::write_all(&mut open, text.as_bytes())
        };
        told(file, write()).map(|()| format!("wrote {} bytes", text.len()))
    }

    /// Whether writing the file would replace something.
    pub(super) fn would_replace(&self, file: &str) -> bool {
        self.path(file).is_ok_and(|path| path.metadata().is_ok_and(|found| found.len() > 0))
    }

    pub(super) fn append(&self, file: &str, text: &str) -> Outcome {
        let path = self.path(file)?;
        let append = || {
            let mut open = regular(OpenOptions::new().append(true).create(true), &path)?;
            io::Write::write_all(&mut open, text.as_bytes())
        };
        told(file, append()).map(|()| format!("wrote {} bytes", text.len()))
    }

    pub(super) fn read(&self, file: &str) -> Outcome {
        let path = self.path(file)?;
        let read = || {
            let mut bytes = Vec::new();
            let open = regular(OpenOptions::new().read(true), &path)?;
            io::Read::read_to_end(&mut io::Read::take(open, TOLD_BYTES), &mut bytes)?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        told(file, read())
    }

    /// A command that has been started, in a group of its own, so that all it starts can be ended with it.
    pub(super) fn start(&self, command: &str) -> Result<Running, String> {
        let root = self.root.as_deref().ok_or(words::NO_WORKSPACE)?;
        let started = Command::new("sh")
            .args(["-c", BESIDE_A_WATCHER, "sh"])
            // What goes wrong is told in the order in which it was printed.
            .arg(format!("exec 2>&1\n{command}"))
            .current_dir(root)
            .env_clear()
            .envs(self.environment.iter())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .kill_on_drop(true)
            .spawn();
        let running = |mut child: Child| {
            let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
            let alive = child.stdin.take();
            Running { child, group, _alive: alive }
        };
        started.map(running).map_err(|error| format!("could not run it: {error}"))
    }

    /// Only what lies in the workspace: no way up, and no link that leads out.
    fn path(&self, file: &str) -> Result<PathBuf, String> {
        let root = self.root.as_deref().ok_or(words::NO_WORKSPACE)?;
        let outside = || format!("`{file}` is not in the workspace");
        let parts = Path::new(file).components();
        if file.is_empty()
            || !parts.into_iter().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        {
            return Err(outside());
        }
        let path = root.join(file);
        let folder = path.parent().unwrap_or(root);
        let leads_out =
            |to: &Path| -> io::Result<bool> { Ok(!to.canonicalize()?.starts_with(root.canonicalize()?)) };
        if path.is_symlink() || told(file, leads_out(folder))? {
            return Err(outside());
        }
        Ok(path)
    }
}

/// Opens a regular file. A FIFO or a device could block, and nothing could interrupt it then; a link could lead out of the
/// workspace.
fn regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(flags.bits().cast_signed()).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

fn told<T>(file: &str, result: io::Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("`{file}`: {error}"))
}

/// A command that runs. Dropping it ends it, and all that it has started.
pub(super) struct Running {
    child: Child,
    /// Known beyond its end: what it has left in the background is still in it.
    group: Option<Pid>,
    /// The other end of the watcher's pipe: held by nobody else.
    _alive: Option<ChildStdin>,
}

impl Running {
    /// Waits for its end, and gives what it printed.
    pub(super) async fn done(&mut self) -> Outcome {
        let cannot = |error: io::Error| format!("could not read what it prints: {error}");
        let mut printed = Vec::new();
        if let Some(output) = self.child.stdout.take() {
            let mut told = output.take(TOLD_BYTES);
            told.read_to_end(&mut printed).await.map_err(cannot)?;
            // The rest is not told, but the command must be able to print it.
            tokio::io::copy(&mut told.into_inner(), &mut tokio::io::sink()).await.map_err(cannot)?;
        }
        let status = self.child.wait().await.map_err(|error| format!("could not wait for it: {error}"))?;
        let text = String::from_utf8_lossy(&printed).into_owned();
        if status.success() { Ok(text) } else { Err(format!("{text}({status})")) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(group) = self.group {
            // Nobody need be left in it.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
