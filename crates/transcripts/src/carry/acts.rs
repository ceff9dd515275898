//! What a call of a tool does, whoever's tool it is.

use offshoot_session::ToolUse;
use serde_json::Value;

use super::patch_text;
use crate::json::Map;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    /// Lines count from 1.
    Read {
        path: String,
        first: Option<i64>,
        lines: Option<i64>,
    },
    Write {
        path: String,
        content: String,
    },
    Edit {
        path: String,
        changes: Vec<Exchanged>,
        everywhere: bool,
    },
    Shell {
        command: String,
    },
    Search {
        pattern: String,
        path: Option<String>,
        files: Option<String>,
    },
    Find {
        pattern: String,
        path: Option<String>,
    },
    List {
        path: Option<String>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exchanged {
    pub(super) old: String,
    pub(super) new: String,
}

/// `None` where no tool that several programs have does this, or where a part is missing that it needs.
pub(super) fn act_of(call: &ToolUse) -> Option<Act> {
    if let Value::String(patch) = &call.input {
        return (call.name == "apply_patch").then(|| patch_text::act_of(patch))?;
    }
    let input = call.input.as_object()?;
    let path = || one_of(input, &["file_path", "filePath", "path", "absolute_path"]);
    let folder = || one_of(input, &["path", "dir_path", "directory"]);
    Some(match call.name.as_str() {
        "Read" | "read" | "read_file" => {
            Act::Read { path: path()?, first: whole(input, "offset"), lines: whole(input, "limit") }
        }
        "Write" | "write" | "write_file" => {
            Act::Write { path: path()?, content: one_of(input, &["content"])? }
        }
        "Edit" | "MultiEdit" | "edit" | "multiedit" | "replace" => Act::Edit {
            path: path()?,
            changes: changes(input)?,
            everywhere: ["replace_all", "replaceAll"]
                .iter()
                .any(|key| input.get(*key) == Some(&Value::Bool(true))),
        },
        "apply_patch" => patch_text::act_of(&one_of(input, &["input", "patch"])?)?,
        "Bash" | "bash" | "shell" | "shell_command" | "exec_command" | "local_shell"
        | "run_shell_command" => Act::Shell { command: command(input)? },
        "Grep" | "grep" | "search_file_content" | "grep_search" => Act::Search {
            pattern: one_of(input, &["pattern"])?,
            path: folder(),
            files: one_of(input, &["glob", "include"]),
        },
        "Glob" | "glob" | "find" => Act::Find { pattern: one_of(input, &["pattern"])?, path: folder() },
        "LS" | "ls" | "list" | "list_directory" => Act::List { path: folder() },
        _ => return None,
    })
}

fn one_of(input: &Map, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| input.get(*key)?.as_str()).map(str::to_owned)
}

fn whole(input: &Map, key: &str) -> Option<i64> {
    input.get(key).and_then(Value::as_i64)
}

/// As one text, or as the words of a command line; a shell that is only there to run a text is left away.
fn command(input: &Map) -> Option<String> {
    match input.get("command").or_else(|| input.get("cmd"))? {
        Value::String(command) => Some(command.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().map(Value::as_str).collect::<Option<_>>()?;
            match words.as_slice() {
                [shell, flag, text] if shell.ends_with("sh") && flag.starts_with('-') => {
                    Some((*text).to_owned())
                }
                [] => None,
                words => Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn changes(input: &Map) -> Option<Vec<Exchanged>> {
    let change = |input: &Map| {
        Some(Exchanged {
            old: one_of(input, &["old_string", "oldString", "oldText"])?,
            new: one_of(input, &["new_string", "newString", "newText"])?,
        })
    };
    match input.get("edits").and_then(Value::as_array) {
        Some(edits) if !edits.is_empty() => edits.iter().map(|edit| change(edit.as_object()?)).collect(),
        Some(_) | None => Some(vec![change(input)?]),
    }
}

/// A word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
    if !word.is_empty() && word.bytes().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
