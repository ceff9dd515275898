//! Starting the engine of a home on demand.
//!
//! Commands that find no engine queue for `start.lock`. The first spawns the process and waits for its one line; the
//! others find it when their turn comes. The process waits for `engine.lock` itself, so a predecessor that is about to
//! exit is in nobody's way, and a parent that is killed leaves either no engine or a whole one.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use offshoot_store::private;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::time::Instant;

use super::run_directory::RunDirectory;
use super::socket;
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::words::{disk_says, engine as words, not_saved_hint};

const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// The line by which a process says whether it is the engine.
#[derive(Debug)]
pub(super) enum Started {
    Ready,
    Failed(Told),
}

/// A failure of another process.
#[derive(Debug)]
pub(super) struct Told {
    message: String,
    hint: Option<String>,
    is_locked: bool,
}

impl From<&Failure> for Told {
    fn from(failure: &Failure) -> Self {
        Self {
            message: failure.message().to_owned(),
            hint: failure.hinted().map(str::to_owned),
            is_locked: failure.exit == Exit::Locked,
        }
    }
}

impl From<Told> for Failure {
    fn from(told: Told) -> Self {
        let failure = match told.is_locked {
            true => Self::locked(told.message),
            false => Self::failed(told.message),
        };
        match told.hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl Started {
    pub(super) fn line(&self) -> String {
        match self {
            Self::Ready => "ready".to_owned(),
            Self::Failed(told) => {
                json!({ "message": told.message, "hint": told.hint, "locked": told.is_locked }).to_string()
            }
        }
    }

    /// `None`: it ended before it said anything whole.
    fn read(line: &str) -> Option<Self> {
        if line.trim() == "ready" {
            return Some(Self::Ready);
        }
        let value: Value = serde_json::from_str(line).ok()?;
        let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
        let is_locked = value.get("locked").and_then(Value::as_bool).unwrap_or_default();
        Some(Self::Failed(Told { message: text("message")?, hint: text("hint"), is_locked }))
    }
}

/// Whether an engine listens. One that is stopped listens too, and is found silent later.
pub(super) async fn answers(home: &Path) -> bool {
    UnixStream::connect(socket::known(home)).await.is_ok()
}

/// Starts an engine unless another command does, and returns when one should be there.
pub(super) async fn start(here: &Here, home: &Path, until: Instant) -> Result<(), Failure> {
    let not_written = |error: std::io::Error| {
        Failure::failed(words::not_started(home, &disk_says(&error))).hint(not_saved_hint(&error))
    };
    let run = RunDirectory::prepare(home).map_err(not_written)?;
    let _lock = loop {
        if let Some(lock) = run.lock_start().map_err(not_written)? {
            break lock;
        }
        if Instant::now() >= until {
            return Err(Failure::locked(words::start_silent(home)).hint(words::ENGINE_SILENT_HINT));
        }
        tokio::time::sleep(BETWEEN_TRIES).await;
    };
    if answers(home).await {
        return Ok(());
    }
    let mut child = command(here, home).and_then(|mut command| command.spawn()).map_err(not_written)?;
    let Some(stdout) = child.stdout.take() else { return Ok(()) };
    let mut line = String::new();
    let read = tokio::time::timeout_at(until, BufReader::new(stdout).read_line(&mut line)).await;
    match (read, Started::read(&line)) {
        (Err(_), _) => Err(Failure::locked(words::start_silent(home)).hint(words::ENGINE_SILENT_HINT)),
        (Ok(_), Some(Started::Failed(told))) => Err(told.into()),
        // One that was killed while it started is looked for again by the caller.
        (Ok(_), Some(Started::Ready) | None) => Ok(()),
    }
}

/// What the process itself needs: folders, the language, certificates. Every connection brings the environment of its agents
/// and hooks, and a command that an agent runs can read ours in `/proc`, so there is no key in it.
const INHERITED: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "RUST_BACKTRACE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];

fn is_inherited(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("LC_") || INHERITED.contains(&name))
}

/// The process inherits its log and a few variables: no terminal, no pipe of the caller.
fn command(here: &Here, home: &Path) -> std::io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("engine").arg("--home").arg(here.folder.join(home));
    command.env_clear().envs(std::env::vars_os().filter(|(name, _)| is_inherited(name)));
    let log = log_file(home).or_else(|error| match error.kind() {
        // Without a log it works all the same.
        ErrorKind::PermissionDenied | ErrorKind::StorageFull => {
            OpenOptions::new().write(true).open("/dev/null")
        }
        _ => Err(error),
    })?;
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
    // What others have opened for us without close-on-exec would be open in the engine for hours.
    close_fds::set_fds_cloexec(3, &[]);
    Ok(command)
}

fn log_file(home: &Path) -> std::io::Result<std::fs::File> {
    let directory = home.join("log");
    private::create_directory(&directory)?;
    private::open_append(&directory.join("offshoot.log"))
}
