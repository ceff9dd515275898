//! The tools of the agent `llm`: what models are told about them, and what they do.
//!
//! Results are texts that a model acts on, and so are errors. A result is kept whole; [`for_model`] is the part of it that a
//! model reads.

mod change;
mod definitions;
mod input;
mod list;
mod output;
mod read;
mod search;
mod secrets;
mod shell;
#[cfg(test)]
mod tests;

use offshoot_session::Block;
use offshoot_session::agent::Environment;
use offshoot_session::asks::Permission;
use serde_json::Value;

pub(crate) use crate::cancel::Cancel;
pub(crate) use crate::workspace::Workspace;
pub(crate) use definitions::{ToolDefinition, definitions};
pub(crate) use output::for_model;
pub(crate) use secrets::without_secrets;

use input::Input;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    ReadOnly,
    NeedsPermission,
}

/// What a call gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ToolOutput {
    pub(crate) text: String,
    pub(crate) is_error: bool,
    pub(crate) images: Vec<Block>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    Read,
    Write,
    Edit,
    List,
    Search,
    Shell,
}

const TOOLS: [Tool; 6] = [Tool::Read, Tool::Write, Tool::Edit, Tool::List, Tool::Search, Tool::Shell];

/// Returns `None` if there is no such tool.
pub(crate) fn access(name: &str) -> Option<Access> {
    Tool::named(name).map(Tool::access)
}

/// Runs a call. It returns soon after `cancel`, and then nothing that it has started is left. Commands get `environment`
/// without the variables that hold secrets.
pub(crate) async fn run(
    workspace: &Workspace,
    environment: &Environment,
    name: &str,
    input: &Value,
    cancel: &Cancel,
) -> ToolOutput {
    let Some(tool) = Tool::named(name) else { return ToolOutput::error(output::no_such_tool(name)) };
    let input = match Input::of(input) {
        Ok(input) => input,
        Err(error) => return ToolOutput::error(error),
    };
    let done = match tool {
        Tool::Shell => shell::shell(workspace, environment, &input, cancel).await,
        Tool::Read | Tool::Write | Tool::Edit | Tool::List | Tool::Search => {
            on_disk(workspace.clone(), tool, input, cancel.clone()).await
        }
    };
    match done {
        Ok(_) if cancel.is_cancelled() && tool != Tool::Shell => ToolOutput::error(output::CANCELLED),
        Ok(output) => output,
        Err(error) => ToolOutput::error(error),
    }
}

/// What a person is asked before a call runs. A call that cannot succeed is answered without asking.
pub(crate) fn preview(workspace: &Workspace, name: &str, input: &Value) -> Result<Permission, ToolOutput> {
    let Some(tool) = Tool::named(name) else { return Err(ToolOutput::error(output::no_such_tool(name))) };
    let checked = Input::of(input).and_then(|input| match tool {
        Tool::Write => change::check_write(workspace, &input),
        Tool::Edit => change::check_edit(workspace, &input).map(|()| None),
        Tool::Shell => shell::check(&input).map(|()| None),
        Tool::Read | Tool::List | Tool::Search => Ok(None),
    });
    let reason = checked.map_err(ToolOutput::error)?;
    let (tool, input) = (name.to_owned(), input.clone());
    Ok(Permission { tool, input, call: None, reason: reason.map(str::to_owned), suggestions: Vec::new() })
}

/// Disks may be slow, and the connection answers meanwhile.
async fn on_disk(
    workspace: Workspace,
    tool: Tool,
    input: Input,
    cancel: Cancel,
) -> Result<ToolOutput, String> {
    let work = move || match tool {
        Tool::Read => read::read(&workspace, &input, &cancel),
        Tool::Write => change::write(&workspace, &input),
        Tool::Edit => change::edit(&workspace, &input),
        Tool::List => list::list(&workspace, &input, &cancel),
        Tool::Search => search::search(&workspace, &input, &cancel),
        Tool::Shell => Err(output::CANCELLED.to_owned()),
    };
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}

impl Tool {
    fn named(name: &str) -> Option<Self> {
        TOOLS.into_iter().find(|tool| tool.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::List => "list",
            Self::Search => "search",
            Self::Shell => "shell",
        }
    }

    fn access(self) -> Access {
        match self {
            Self::Read | Self::List | Self::Search => Access::ReadOnly,
            Self::Write | Self::Edit | Self::Shell => Access::NeedsPermission,
        }
    }
}

impl ToolOutput {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_error: true, images: Vec::new() }
    }
}
