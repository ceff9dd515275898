//! What models are told about the tools. The bytes are part of every request's cached prefix, so they never depend on
//! anything but the version.

use serde_json::{Value, json};

use super::TOOLS;
use super::Tool;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolDefinition {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Value,
}

const PATH: &str = "Path of a file, relative to the workspace.";

pub(crate) fn definitions() -> Vec<ToolDefinition> {
    TOOLS.into_iter().map(definition).collect()
}

fn definition(tool: Tool) -> ToolDefinition {
    let (required, properties) = fields(tool);
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    ToolDefinition { name: tool.name(), description: description(tool), schema }
}

fn description(tool: Tool) -> &'static str {
    match tool {
        Tool::Read => {
            "Read a text file or an image of the workspace. A long file is read in parts: the end of the result says with \
             which `offset` to continue."
        }
        Tool::Write => {
            "Create a file of the workspace, or replace all of it. Missing folders are created. Use `edit` to change a part \
             of a file."
        }
        Tool::Edit => {
            "Replace a text in a file of the workspace. `old` has to be exactly what is in the file, with its white space, \
             and has to occur once; include lines around it to make it unique."
        }
        Tool::List => {
            "List a folder of the workspace: folders end in `/` and links in `@`. With `pattern`, list all files below it \
             whose path matches. Files that Git ignores are left out."
        }
        Tool::Search => {
            "Search the files of the workspace for a regular expression (Rust syntax). Each line of the result is \
             `path:line:text`. Files that Git ignores and binary files are left out."
        }
        Tool::Shell => {
            "Run a command with `/bin/sh` in the workspace. Its standard input is closed. Output and errors are returned \
             together. Everything that it has started ends with it, so nothing can be left running in the background. \
             Variables that hold keys or passwords are not in its environment."
        }
    }
}

fn fields(tool: Tool) -> (&'static [&'static str], Value) {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let number = |description: &str| json!({ "type": "integer", "minimum": 1, "description": description });
    match tool {
        Tool::Read => {
            let offset = number("The first line to read. The default is 1.");
            let limit = number("The number of lines to read. The default is 2000.");
            (&["path"], json!({ "path": text(PATH), "offset": offset, "limit": limit }))
        }
        Tool::Write => {
            let content = text("All of the new content.");
            (&["path", "content"], json!({ "path": text(PATH), "content": content }))
        }
        Tool::Edit => {
            let (old, new) = (text("The text to replace."), text("The text that takes its place."));
            let all = json!({
                "type": "boolean",
                "description": "Replace every occurrence. The default is false.",
            });
            let fields = json!({ "path": text(PATH), "old": old, "new": new, "replace_all": all });
            (&["path", "old", "new"], fields)
        }
        Tool::List => {
            let path = text("Path of a folder, relative to the workspace. The default is the workspace.");
            (&[], json!({ "path": path, "pattern": text("A glob such as `*.rs` or `src/**/*.rs`.") }))
        }
        Tool::Search => {
            let fields = json!({
                "pattern": text("A regular expression. It is matched against single lines."),
                "path": text("Path of a file or folder, relative to the workspace. The default is the workspace."),
                "glob": text("Search only in files whose path matches, such as `*.rs`."),
            });
            (&["pattern"], fields)
        }
        Tool::Shell => {
            let timeout = json!({
                "type": "integer",
                "minimum": 1,
                "maximum": super::shell::LONGEST.as_secs(),
                "description": "Seconds after which the command is ended. The default is 120.",
            });
            (&["command"], json!({ "command": text("The command."), "timeout": timeout }))
        }
    }
}
