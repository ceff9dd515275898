//! Where a program runs: a home and a project of its own, nothing of the person's environment, and a model.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use offshoot_testkit::model::ModelServer;

use super::catalog::Program;
use super::install::Installed;
use super::isolated::{self, Running, isolate, last_words};
use super::story;

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
        let (home, project) = isolated::folders(&root)?;
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

    /// The program in its project.
    pub(super) fn command(&self) -> Command {
        let mut words = self.words.iter();
        let mut command = self.isolated(words.next().map_or(OsStr::new(""), |word| word.as_os_str()));
        command.args(words);
        command
    }

    fn isolated(&self, program: &OsStr) -> Command {
        let mut command = Command::new(program);
        isolate(&mut command, &self.root);
        command.process_group(0);
        command
    }

    /// Runs it to its end; what it printed comes back.
    pub(super) fn finish(&self, command: &mut Command, stdin: &str) -> Result<String> {
        let mut running = Running::start(command, &self.root, stdin)?;
        let said = running.end();
        running.end_group();
        let said = said?;
        match said.code {
            Some(0) => Ok(said.out),
            code => {
                let (out, err) = (last_words(&said.out), last_words(&said.err));
                bail!("it ended with {code:?}; it said `{out}` and `{err}`")
            }
        }
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
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}
