//! Where a program runs: a home and a project of its own, nothing of the person's environment, and a model.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use offshoot_testkit::model::ModelServer;

use super::catalog::Program;
use super::install::Installed;
use super::story;

/// A program that has not come to an end by then never will.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);

/// How often to look for what cannot be awaited: the end of a process, a line in somebody's file.
const LOOK: Duration = Duration::from_millis(20);

pub(super) struct Place {
    words: Vec<PathBuf>,
    root: PathBuf,
    pub(super) home: PathBuf,
    pub(super) project: PathBuf,
    pub(super) server: ModelServer,
}

impl Place {
    pub(super) fn new(program: &Program, installed: &Installed) -> Result<Self> {
        let name = format!("offshoot-{}-{}-{}", program.name, program.version, std::process::id());
        let root = std::env::temp_dir().join(name);
        let (home, project) = (root.join("home"), root.join("project"));
        for folder in [&home, &project, &root.join("tmp")] {
            fs::create_dir_all(folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        }
        fs::write(project.join("note.txt"), format!("{}\n", story::NOTE))?;
        let server = ModelServer::start(story::script(program.name)).context("cannot start the model")?;
        Ok(Self { words: installed.words.clone(), root, home, project, server })
    }

    /// A file of the home, written before the program starts.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<PathBuf> {
        let path = self.home.join(path);
        fs::create_dir_all(path.parent().unwrap_or(&self.home))?;
        fs::write(&path, text).with_context(|| format!("cannot write `{}`", path.display()))?;
        Ok(path)
    }

    /// A file beside the program's own script; `None` if the program is not a script.
    pub(super) fn module(&self, name: &str) -> Option<PathBuf> {
        self.words.get(1).map(|script| script.with_file_name(name))
    }

    /// What runs the program's script, ready to run another one in the same place.
    pub(super) fn runtime(&self) -> Option<Command> {
        self.words.get(1)?;
        self.words.first().map(|runtime| self.isolated(runtime.as_os_str()))
    }

    /// The program in its project, with nothing inherited but the path. Whatever it would ask of the world goes to a
    /// port where nobody listens.
    pub(super) fn command(&self) -> Command {
        let mut words = self.words.iter();
        let mut command = self.isolated(words.next().map_or(OsStr::new(""), |word| word.as_os_str()));
        command.args(words);
        command
    }

    fn isolated(&self, program: &OsStr) -> Command {
        let nobody = "http://127.0.0.1:9";
        let mut command = Command::new(program);
        command.current_dir(&self.project).env_clear().process_group(0);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.home).env("TMPDIR", self.root.join("tmp"));
        command.env("LC_ALL", "C.UTF-8").env("TERM", "dumb").env("DO_NOT_TRACK", "1");
        command.env("HTTPS_PROXY", nobody).env("HTTP_PROXY", nobody).env("NO_PROXY", "127.0.0.1,localhost");
        command
    }

    /// Runs it to its end; what it printed comes back.
    pub(super) fn finish(&self, command: &mut Command, stdin: &str) -> Result<String> {
        let said = self.root.join("said");
        let complained = self.root.join("complained");
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(File::create(&said)?)
            .stderr(File::create(&complained)?)
            .spawn()
            .context("it cannot be started")?;
        if let Some(mut input) = child.stdin.take() {
            // A program that does not read closes its side.
            let _ = input.write_all(stdin.as_bytes());
        }
        let started = Instant::now();
        let mut status = child.try_wait()?;
        while status.is_none() && started.elapsed() < PATIENCE {
            std::thread::sleep(LOOK);
            status = child.try_wait()?;
        }
        end(&mut child);
        let Some(status) = status else { bail!("it did not end; {}", last_words(&said, &complained)) };
        if !status.success() {
            bail!("it ended with {status}; {}", last_words(&said, &complained));
        }
        Ok(String::from_utf8_lossy(&fs::read(&said)?).into_owned())
    }

    /// All files under the home with a name that fits, sorted by their path.
    pub(super) fn files(&self, fits: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.home.clone()];
        while let Some(folder) = open.pop() {
            // A running program may take away what was seen a moment ago.
            let items = fs::read_dir(&folder).into_iter().flatten().flatten();
            for (item, kind) in items.filter_map(|item| Some((item.path(), item.file_type().ok()?))) {
                if kind.is_dir() {
                    open.push(item);
                } else if fits(&item) {
                    found.push(item);
                }
            }
        }
        found.sort();
        found
    }

    /// The one file that fits.
    pub(super) fn file(&self, what: &str, fits: impl Fn(&Path) -> bool) -> Result<PathBuf> {
        let found = self.files(fits);
        match found.as_slice() {
            [only] => Ok(only.clone()),
            _ => bail!("{} files are {what}: {found:?}", found.len()),
        }
    }

    /// Looks again and again until there is something to see.
    pub(super) fn await_some<T>(&self, what: &str, look: impl Fn() -> Result<Option<T>>) -> Result<T> {
        let started = Instant::now();
        loop {
            if let Some(seen) = look()? {
                return Ok(seen);
            }
            if started.elapsed() > PATIENCE {
                bail!("{what} never came");
            }
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Ends a program and all that it has started, also after it has gone: its process group is its own.
pub(super) fn end(child: &mut Child) {
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    let _ = child.kill();
    let _ = child.wait();
}

fn last_words(said: &Path, complained: &Path) -> String {
    let end_of = |path: &Path| {
        let text = fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let from = text.char_indices().rev().nth(400).map_or(0, |(at, _)| at);
        text.get(from..).unwrap_or_default().trim().to_owned()
    };
    format!("it said `{}` and `{}`", end_of(said), end_of(complained))
}
