//! Commands in the workspace, which end with everything that they have started.

use std::io;
use std::time::Duration;

use offshoot_session::agent::{Environment, ExitStatus, Lease};
use tokio::time::Instant;

use super::Workspace;
use super::kept::Kept;
use crate::cancel::Cancel;
use crate::process::{Launch, Printed, RunningCommand, sleep_until};

const SHELL: &str = "/bin/sh";

/// What goes wrong is printed in its order. The command is a shell of its own, so its lines have their own numbers.
const WITH_ITS_ERRORS: &str = r#"exec "$0" -c "$1" 2>&1"#;

/// Of a longer output the first and the last so many bytes are kept. Written as JSON they may be six times as long, and have to
/// fit into one line of a connection to the engine.
const KEPT_BYTES: usize = 1024 * 1024;

const READ_AT_ONCE: usize = 64 * 1024;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

impl Workspace {
    /// Runs a command to its end, at most for `limit`, and gives what it has printed. Nothing that it has started is left.
    /// Dropping the future ends it, too.
    pub(crate) async fn run(
        &self,
        environment: &Environment,
        command: &str,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> io::Result<(String, CommandEnd)> {
        let mut running = RunningCommand::start(self.launch(environment, command)).await?;
        let mut kept = Kept::new(KEPT_BYTES);
        let mut buffer = vec![0; READ_AT_ONCE];
        let until = limit.map(|limit| Instant::now() + limit);
        let mut stopped = None;
        loop {
            tokio::select! {
                printed = running.next(&mut buffer) => match printed {
                    Printed::Bytes(bytes) => kept.push(buffer.get(..bytes).unwrap_or_default()),
                    Printed::Exited(status) => {
                        return Ok((kept.text(), stopped.unwrap_or(CommandEnd::Exited(status))));
                    }
                },
                () = sleep_until(until), if stopped.is_none() => {
                    stopped = Some(CommandEnd::TimedOut);
                    running.end();
                }
                () = cancel.cancelled(), if stopped.is_none() => {
                    stopped = Some(CommandEnd::Cancelled);
                    running.end();
                }
            }
        }
    }

    fn launch(&self, environment: &Environment, command: &str) -> Launch {
        let variables = environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
        Launch {
            program: SHELL.into(),
            arguments: ["-c", WITH_ITS_ERRORS, SHELL, command].map(str::to_owned).into(),
            variables: variables.collect(),
            workspace: Some(self.path().to_owned()),
            host: self.host.clone(),
            agent: self.agent,
            session: self.session.as_str().into(),
            lease: Lease::default(),
        }
    }
}
