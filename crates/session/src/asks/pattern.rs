//! What a permission rule allows, and which rules are offered for a request.
//!
//! "Always" means the very command, or the very file. A wider rule is a choice of its own, which shows what it would
//! allow, and it is offered only for commands on a short list: those whose first two words say what is done whatever
//! follows. Everything else a shell can be told ends elsewhere than it began: `rm a` becomes `rm a -rf ..`, `cat a`
//! becomes `cat a /etc/shadow`, and `env`, `find`, `xargs` or `sh` run whatever they are given.

use serde_json::Value;

use super::Permission;

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

/// Programs and those of their commands that neither delete, nor run what they are given, nor take scripts.
const WIDENED: &[(&str, &[&str])] = &[
    ("cargo", &["bench", "build", "check", "clippy", "doc", "fmt", "metadata", "test", "tree"]),
    (
        "git",
        &["add", "blame", "commit", "describe", "diff", "log", "ls-files", "rev-parse", "show", "status"],
    ),
    ("go", &["build", "doc", "fmt", "list", "test", "vet"]),
    ("npm", &["ls", "outdated", "test"]),
    ("pnpm", &["list", "outdated", "test"]),
    ("yarn", &["list", "outdated", "test"]),
];

/// Options that make a program of the list run another one, or write where it is told to.
const REACHING_OPTIONS: &[&str] =
    &["--config", "--exec", "--ext-diff", "--output", "--textconv", "-exec", "-o", "-toolexec"];

/// Fields that say which file a tool is about.
const FILE_FIELDS: &[&str] = &["file_path", "notebook_path", "path"];

/// Fields by which a tool is told what to run.
const RUNNING_FIELDS: &[&str] =
    &["args", "arguments", "argv", "cmd", "code", "command", "executable", "program", "script", "shell"];

/// Names of tools that delete or run things, as parts of their names.
const RISKY_TOOLS: &[&str] = &["bash", "delete", "eval", "exec", "kill", "remove", "run", "shell", "trash"];

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
                is_widened(&words).then(|| Self::Prefix(words.into_iter().take(2).collect()))
            }
            Understood::File(_) => (!is_risky(&permission.tool)).then_some(Self::AnyFile),
        }
    }

    /// A rule that could not be offered any more allows nothing, however it came into the list.
    pub(super) fn covers(&self, permission: &Permission) -> bool {
        match (self, understood(&permission.input)) {
            (Self::Exact(allowed), Some(Understood::Command(command))) => command == allowed,
            (Self::Prefix(allowed), Some(Understood::Command(command))) => simple_words(command)
                .is_some_and(|words| words.starts_with(allowed) && allowed.len() >= 2 && is_widened(&words)),
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

/// What a tool is asked to do, where its input says so in one of the ways that are known.
fn understood(input: &Value) -> Option<Understood<'_>> {
    let fields = input.as_object()?;
    let running: Vec<&str> =
        RUNNING_FIELDS.iter().copied().filter(|name| fields.contains_key(*name)).collect();
    let files: Vec<&str> = FILE_FIELDS.iter().copied().filter(|name| fields.contains_key(*name)).collect();
    match (running.as_slice(), files.as_slice()) {
        (["command"], _) => fields.get("command")?.as_str().map(Understood::Command),
        ([], [file]) => fields.get(*file)?.as_str().map(Understood::File),
        _ => None,
    }
}

/// The words of a single command as a shell splits them. `None` where a shell would do more than run it, or sees something
/// else than we do.
fn simple_words(command: &str) -> Option<Vec<String>> {
    const MEANT_FOR_SHELLS: &[char] =
        &[';', '|', '&', '`', '<', '>', '$', '(', ')', '{', '}', '\\', '#', '!', '*', '?', '[', ']', '~'];
    let is_plain = |character: char| character == '\t' || !character.is_control();
    if command.contains(MEANT_FOR_SHELLS) || !command.chars().all(is_plain) {
        return None;
    }
    shlex::split(command)
}

fn is_widened(words: &[String]) -> bool {
    let [program, verb, rest @ ..] = words else { return false };
    let is_listed = WIDENED.iter().any(|(name, verbs)| name == program && verbs.contains(&verb.as_str()));
    let reaches = |word: &String| {
        REACHING_OPTIONS.iter().any(|option| {
            word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    is_listed && !rest.iter().any(reaches)
}

fn is_risky(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    RISKY_TOOLS.iter().any(|part| tool.contains(part))
}
