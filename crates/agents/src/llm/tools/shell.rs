//! `shell`: a command in the workspace, which ends with everything that it has started.

use std::time::Duration;

use offshoot_session::agent::{Environment, ExitStatus};

use super::input::Input;
use super::output::CANCELLED;
use super::{Cancel, ToolOutput, without_secrets};
use crate::workspace::{CommandEnd, Workspace};

const USUAL: Duration = Duration::from_secs(120);
pub(super) const LONGEST: Duration = Duration::from_secs(600);

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
    let ran = workspace.run(&environment, command, Some(limit), cancel).await;
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
