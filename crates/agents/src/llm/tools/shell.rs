//! `shell`: a command in the workspace, which ends with everything that it has started.

use std::time::Duration;

use offshoot_session::agent::{Environment, ExitStatus};

use super::input::Input;
use super::output::{CANCELLED, Kept};
use super::{Cancel, ToolOutput, without_secrets};
use crate::process::{Launch, Printed, RunningCommand};
use crate::workspace::Workspace;

const SHELL: &str = "/bin/sh";

/// What goes wrong is printed in its order. The command is a shell of its own, so its lines have their own numbers.
const WITH_ITS_ERRORS: &str = r#"exec "$0" -c "$1" 2>&1"#;

const USUAL: Duration = Duration::from_secs(120);
pub(super) const LONGEST: Duration = Duration::from_secs(600);

/// Of a longer output the first and the last so many bytes are kept.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

const READ_AT_ONCE: usize = 64 * 1024;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandEnd {
    Exited(ExitStatus),
    TimedOut,
    Cancelled,
}

pub(super) fn check(input: &Input) -> Result<(), String> {
    command(input).map(|_| ())
}

fn command(input: &Input) -> Result<(&str, Duration), String> {
    let command = input.text("command")?;
    if command.trim().is_empty() {
        return Err("the command is empty".to_owned());
    }
    let limit = input.number("timeout")?.map_or(USUAL, Duration::from_secs);
    Ok((command, limit.min(LONGEST)))
}

pub(super) async fn shell(
    workspace: &Workspace,
    environment: &Environment,
    input: &Input,
    cancel: &Cancel,
) -> Result<ToolOutput, String> {
    let (command, limit) = command(input)?;
    let environment = without_secrets(environment, []);
    let ran = run_command(workspace, &environment, command, limit, cancel).await;
    let (mut text, end) = ran.map_err(|error| format!("could not run it: {error}"))?;
    if let Some(note) = note(end, limit) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&note);
    } else if text.is_empty() {
        text.push_str("[no output]");
    }
    Ok(ToolOutput { is_error: end != CommandEnd::Exited(ExitStatus::Code(0)), ..ToolOutput::text(text) })
}

/// Runs a command to its end, at most for `limit`, and gives what it has printed. Nothing that it has started is left.
pub(crate) async fn run_command(
    workspace: &Workspace,
    environment: &Environment,
    command: &str,
    limit: Duration,
    cancel: &Cancel,
) -> std::io::Result<(String, CommandEnd)> {
    let variables = environment.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    let launch = Launch {
        program: SHELL.into(),
        arguments: ["-c", WITH_ITS_ERRORS, SHELL, command].map(str::to_owned).into(),
        variables: variables.collect(),
        workspace: Some(workspace.path().to_owned()),
        host: workspace.host.clone(),
        agent: workspace.agent,
        session: workspace.session.as_str().into(),
    };
    let mut running = RunningCommand::start(launch).await?;
    let mut kept = Kept::new(KEPT_BYTES);
    let mut buffer = vec![0; READ_AT_ONCE];
    let mut timer = std::pin::pin!(tokio::time::sleep(limit));
    let mut stopped = None;
    loop {
        tokio::select! {
            printed = running.next(&mut buffer) => match printed {
                Printed::Bytes(bytes) => kept.push(buffer.get(..bytes).unwrap_or_default()),
                Printed::Exited(status) => {
                    return Ok((kept.text(), stopped.unwrap_or(CommandEnd::Exited(status))));
                }
            },
            () = &mut timer, if stopped.is_none() => {
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

/// What a model reads about the end; nothing about a good one.
fn note(end: CommandEnd, limit: Duration) -> Option<String> {
    match end {
        CommandEnd::Exited(ExitStatus::Code(0)) => None,
        CommandEnd::Exited(ExitStatus::Code(code)) => Some(format!("[exit status {code}]")),
        CommandEnd::Exited(ExitStatus::Signal(signal)) => Some(format!("[ended by signal {signal}]")),
        CommandEnd::Exited(ExitStatus::Unknown) => Some("[ended, nothing is known of how]".to_owned()),
        CommandEnd::TimedOut => {
            Some(format!("[ended after {} seconds; `timeout` allows more]", limit.as_secs()))
        }
        CommandEnd::Cancelled => Some(format!("[{CANCELLED}]")),
    }
}
