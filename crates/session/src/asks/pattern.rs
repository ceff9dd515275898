//! What a permission rule allows, and which rules are offered for a request.
//!
//! "Always" means the very command, or the very file. A wider rule is a choice of its own, which shows what it would
//! allow, and it is offered only for commands on a short list ([`super::command`]). An input with a field that is not known
//! is allowed only as it is: `{"command": "create", "path": "a"}` is about a file, and `cwd` decides where `rm -r out` runs.

use serde_json::Value;

use super::Permission;
use super::command::{is_harmless, simple_words};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RulePattern {
    /// This command, character by character.
    Exact(String),
    /// One command whose first words are these, split as a shell splits them.
    Prefix(Vec<String>),
    /// The tool on this file, whatever it does there.
    File(String),
    /// The tool on any file.
    AnyFile,
    /// This input and no other.
    Input(Value),
}

/// Fields that say which file a tool is about.
const FILE_FIELDS: &[&str] = &["file_path", "notebook_path", "path"];

/// Fields next to `command` that do not change what is run, or where.
const ABOUT_A_COMMAND: &[&str] = &["description", "run_in_background", "timeout", "timeout_ms"];

/// Fields next to a file that say what is done in it. A tool that also names a second file, an address or a program is
/// not understood.
const ABOUT_A_FILE: &[&str] = &[
    "cell_id",
    "cell_type",
    "content",
    "description",
    "edit_mode",
    "edits",
    "file_text",
    "insert_line",
    "insert_text",
    "limit",
    "new",
    "new_source",
    "new_str",
    "new_string",
    "offset",
    "old",
    "old_str",
    "old_string",
    "replace_all",
    "text",
    "view_range",
];

/// Names of tools that delete, move or run things, as parts of their names.
const RISKY_TOOLS: &[&str] = &[
    "bash", "clean", "command", "delete", "destroy", "eval", "exec", "kill", "move", "process", "purge",
    "remove", "rename", "run", "script", "shell", "terminal", "trash", "unlink",
];

impl RulePattern {
    /// What "always" means.
    pub fn exact(permission: &Permission) -> Self {
        match understood(&permission.input) {
            Some(Understood::Command(command)) => Self::Exact(command.to_owned()),
            Some(Understood::File(path)) => Self::File(path.to_owned()),
            None => Self::Input(permission.input.clone()),
        }
    }

    /// The second choice, where there is one.
    pub fn wider(permission: &Permission) -> Option<Self> {
        match understood(&permission.input)? {
            Understood::Command(command) => {
                let words = simple_words(command)?;
                is_harmless(&words).then(|| Self::Prefix(words.into_iter().take(2).collect()))
            }
            Understood::File(_) => (!is_risky(&permission.tool)).then_some(Self::AnyFile),
        }
    }

    /// Whether such a rule could be offered today. Lists of earlier versions have others, such as `rm junk *`.
    pub fn is_offered(&self, tool: &str) -> bool {
        match self {
            Self::Exact(_) | Self::File(_) | Self::Input(_) => true,
            Self::Prefix(words) => words.len() == 2 && is_harmless(words),
            Self::AnyFile => !is_risky(tool),
        }
    }

    /// A rule that could not be offered any more allows nothing, however it came into the list.
    pub(super) fn covers(&self, permission: &Permission) -> bool {
        match (self, understood(&permission.input)) {
            (Self::Exact(allowed), Some(Understood::Command(command))) => command == allowed,
            (Self::Prefix(allowed), Some(Understood::Command(command))) => simple_words(command)
                .is_some_and(|words| words.starts_with(allowed) && allowed.len() == 2 && is_harmless(&words)),
            (Self::File(allowed), Some(Understood::File(path))) => path == allowed,
            (Self::AnyFile, Some(Understood::File(_))) => !is_risky(&permission.tool),
            (Self::Input(allowed), None) => permission.input == *allowed,
            _ => false,
        }
    }
}

/// As it is shown before it is agreed to: `cargo test *`.
impl std::fmt::Display for RulePattern {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exact(text) | Self::File(text) => f.write_str(text),
            Self::Prefix(words) => write!(f, "{} *", words.join(" ")),
            Self::AnyFile => f.write_str("*"),
            Self::Input(input) => write!(f, "{input}"),
        }
    }
}

enum Understood<'i> {
    Command(&'i str),
    File(&'i str),
}

/// What a tool is asked to do. Returns `None` if one field of its input is not known: it may change what is run, where it
/// is run, or which other file is written.
fn understood(input: &Value) -> Option<Understood<'_>> {
    let fields = input.as_object()?;
    let is_about = |known: &[&str], subject: &str| {
        fields
            .iter()
            .all(|(name, value)| name == subject || (known.contains(&name.as_str()) && is_flat(value)))
    };
    if let Some(command) = fields.get("command") {
        return command.as_str().filter(|_| is_about(ABOUT_A_COMMAND, "command")).map(Understood::Command);
    }
    let named = FILE_FIELDS.iter().copied().find(|name| fields.contains_key(*name))?;
    fields.get(named)?.as_str().filter(|_| is_about(ABOUT_A_FILE, named)).map(Understood::File)
}

/// Texts, numbers and lists of edits. The objects of a list are checked as their tool's input is.
fn is_flat(value: &Value) -> bool {
    let is_known = |fields: &serde_json::Map<String, Value>| {
        fields.iter().all(|(name, value)| {
            ABOUT_A_FILE.contains(&name.as_str()) && !value.is_object() && !value.is_array()
        })
    };
    match value {
        Value::Array(items) => items.iter().all(|item| match item {
            Value::Object(fields) => is_known(fields),
            Value::Array(_) => false,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }),
        Value::Object(_) => false,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

fn is_risky(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    RISKY_TOOLS.iter().any(|part| tool.contains(part))
}
