//! What a program has to itself: a home and a project in a folder that goes away with it, nothing of the person's
//! environment, and time to come to its end.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// A program that has not come to an end by then never will.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);

/// How often to look for what cannot be awaited: the end of a process, a line in somebody's file.
const LOOK: Duration = Duration::from_millis(20);

/// Names in the folder of a program.
const HOME: &str = "home";
const PROJECT: &str = "project";
const TEMPORARY: &str = "tmp";

/// The home and the project in this folder, which are created.
pub(super) fn folders(root: &Path) -> Result<(PathBuf, PathBuf)> {
    for name in [HOME, PROJECT, TEMPORARY] {
        let folder = root.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
    }
    Ok((root.join(HOME), root.join(PROJECT)))
}

/// Nothing is inherited but the path. Whatever a program would ask of the world goes to a port where nobody listens.
pub(super) fn isolate(command: &mut Command, root: &Path) {
    let nobody = "http://127.0.0.1:9";
    command.current_dir(root.join(PROJECT)).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("HOME", root.join(HOME)).env("TMPDIR", root.join(TEMPORARY));
    command.env("LC_ALL", "C.UTF-8").env("TERM", "dumb").env("DO_NOT_TRACK", "1");
    command.env("HTTPS_PROXY", nobody).env("HTTP_PROXY", nobody).env("NO_PROXY", "127.0.0.1,localhost");
}

/// Looks again and again until there is something to see.
pub(super) fn await_some<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let started = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if started.elapsed() > PATIENCE {
            bail!("{what} never came");
        }
        std::thread::sleep(LOOK);
    }
}

/// What a program printed, and its exit code.
pub(super) struct Said {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

/// A program that runs. It ends when this is dropped.
pub(super) struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    /// What it prints goes to files in this folder.
    pub(super) fn start(command: &mut Command, root: &Path, input: &str) -> Result<Self> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (out, err) = (root.join(format!("out-{number}")), root.join(format!("err-{number}")));
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(File::create(&out)?)
            .stderr(File::create(&err)?)
            .spawn()
            .context("the program cannot be started")?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read closes its side.
            let _ = stdin.write_all(input.as_bytes());
        }
        Ok(Self { child, out, err })
    }

    pub(super) fn has_ended(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    pub(super) fn end(&mut self) -> Result<Said> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Said { code: status.code(), out: read(&self.out), err: read(&self.err) });
            }
            if started.elapsed() > PATIENCE {
                let (out, err) = (read(&self.out), read(&self.err));
                bail!("it did not end; it said `{}` and `{}`", last_words(&out), last_words(&err));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends also what it has started, where it has a process group of its own.
    pub(super) fn end_group(&mut self) {
        kill_group(&mut self.child);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended needs no signal.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends a program and all that it has started, also after it has gone: its process group is its own.
pub(super) fn kill_group(child: &mut Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let _ = child.kill();
    let _ = child.wait();
}

pub(super) fn last_words(text: &str) -> &str {
    let from = text.char_indices().rev().nth(400).map_or(0, |(at, _)| at);
    text.get(from..).unwrap_or_default().trim()
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}
