//! Files and commands in the folder of the session, and nowhere else.

use std::io::Read;

use offshoot_session::agent::{AgentStart, Environment, ExitStatus};

use super::words;
use crate::cancel::Cancel;
use crate::workspace::{self, CommandEnd, FileError, WorkspacePath};

/// So much of what a file says is told.
const TOLD_BYTES: u64 = 64 * 1024;

/// Nothing is appended to a larger file.
const LARGEST: u64 = 16 * 1024 * 1024;

/// What a tool answers: the words, and whether it went wrong.
pub(super) type Outcome = Result<String, String>;

#[derive(Clone, Debug)]
pub(super) struct Workspace {
    /// Or why there is none.
    folder: Result<workspace::Workspace, String>,
    /// Commands run in it.
    environment: Environment,
}

impl Workspace {
    /// May block.
    pub(super) fn of(start: &AgentStart) -> Self {
        let folder = match &start.workspace {
            None => Err(words::NO_WORKSPACE.to_owned()),
            Some(path) => workspace::Workspace::open(path)
                .map(|folder| folder.for_session(start.host.clone(), super::NAME, &start.session))
                .map_err(|error| format!("`{}`: {error}", path.display())),
        };
        Self { folder, environment: start.environment.clone() }
    }

    pub(super) fn write(&self, file: &str, text: &str) -> Outcome {
        let (folder, path) = self.path(file)?;
        told(folder.write(&path, text.as_bytes()))?;
        Ok(format!("wrote {} bytes", text.len()))
    }

    /// Whether writing the file would replace something.
    pub(super) fn would_replace(&self, file: &str) -> bool {
        let is_there = |(folder, path): (&workspace::Workspace, WorkspacePath)| {
            folder.file(&path).and_then(|file| {
                let about = |source| FileError::Io { path: path.to_string(), source };
                Ok(file.metadata().map_err(about)?.len() > 0)
            })
        };
        self.path(file).is_ok_and(|found| is_there(found).unwrap_or(false))
    }

    pub(super) fn append(&self, file: &str, text: &str) -> Outcome {
        let (folder, path) = self.path(file)?;
        let mut all = match folder.read(&path, LARGEST) {
            Err(FileError::Missing(_)) => Vec::new(),
            read => told(read)?,
        };
        all.extend_from_slice(text.as_bytes());
        told(folder.write(&path, &all))?;
        Ok(format!("wrote {} bytes", text.len()))
    }

    pub(super) fn read(&self, file: &str) -> Outcome {
        let (folder, path) = self.path(file)?;
        let mut bytes = Vec::new();
        let read = told(folder.file(&path))?.take(TOLD_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| format!("`{file}`: {error}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Dropping the future ends the command and everything it has started.
    pub(super) async fn run(&self, command: &str) -> Outcome {
        let folder = self.folder.as_ref().map_err(Clone::clone)?;
        let ran = folder.run(&self.environment, command, None, &Cancel::new()).await;
        let (text, end) = ran.map_err(|error| format!("could not run it: {error}"))?;
        match end {
            CommandEnd::Exited(ExitStatus::Code(0)) => Ok(text),
            CommandEnd::Exited(ExitStatus::Code(code)) => Err(format!("{text}(exit status: {code})")),
            CommandEnd::Exited(ExitStatus::Signal(signal)) => Err(format!("{text}(signal: {signal})")),
            CommandEnd::Exited(ExitStatus::Unknown) | CommandEnd::TimedOut | CommandEnd::Cancelled => {
                Err(text)
            }
        }
    }

    fn path(&self, file: &str) -> Result<(&workspace::Workspace, WorkspacePath), String> {
        let folder = self.folder.as_ref().map_err(Clone::clone)?;
        Ok((folder, told(folder.inside(file))?))
    }
}

fn told<T>(result: Result<T, FileError>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}
