//! The command line and the environment of the CLI: the only place that knows its option names.

use std::ffi::OsStr;
use std::fmt;
use std::str::FromStr;

use offshoot_session::{AgentSessionId, EntryId};

/// What the CLI is started for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LaunchSpec<'a> {
    pub(super) case: LaunchCase<'a>,
    /// The model of the branch. A resumed session restores the model that it has saved, so only a session that begins may
    /// leave the choice to the CLI.
    pub(super) model: Option<&'a str>,
    pub(super) permission_mode: &'a str,
    /// The only built-in tools that it has; `None` leaves the choice to its own settings.
    pub(super) tools: Option<&'a [String]>,
    pub(super) version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaunchCase<'a> {
    /// A session begins under this id.
    New { session: &'a AgentSessionId },
    /// A session is continued in its own file; also one whose file we have written.
    Resume { session: &'a AgentSessionId },
    /// `session` begins with what `from` has up to and including `at`; `None` is its end.
    Fork { from: &'a AgentSessionId, at: Option<&'a EntryId>, session: &'a AgentSessionId },
}

/// The version of the CLI, as `--version` and `initialize` state it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version {
    pub(super) major: u32,
    pub(super) minor: u32,
    pub(super) patch: u32,
}

/// The first version that forwards text of sub-agents. Earlier ones exit on the option.
const FORWARDS_SUB_AGENT_TEXT: Version = Version { major: 2, minor: 1, patch: 325 };

pub(super) fn arguments(spec: &LaunchSpec<'_>) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--output-format",
        "stream-json",
        "--verbose",
        "--input-format",
        "stream-json",
        "--include-partial-messages",
        "--replay-user-messages",
        "--permission-prompt-tool",
        "stdio",
        "--session-mirror",
    ]
    .map(str::to_owned)
    .into();
    if spec.version >= FORWARDS_SUB_AGENT_TEXT {
        arguments.push("--forward-subagent-text".to_owned());
    }
    let mut option = |name: &str, value: &str| arguments.extend([name.to_owned(), value.to_owned()]);
    if let Some(model) = spec.model {
        option("--model", model);
    }
    if let Some(tools) = spec.tools {
        option("--tools", &tools.join(","));
    }
    option("--permission-mode", spec.permission_mode);
    match spec.case {
        LaunchCase::New { session } => option("--session-id", session.as_str()),
        LaunchCase::Resume { session } => option("--resume", session.as_str()),
        LaunchCase::Fork { from, at, session } => {
            option("--resume", from.as_str());
            option("--session-id", session.as_str());
            if let Some(at) = at {
                option("--resume-session-at", at.as_str());
            }
            arguments.push("--fork-session".to_owned());
        }
    }
    arguments
}

/// Variables that the process gets on top of its environment. Its tools inherit the run id.
pub(super) fn variables(run: &str) -> [(&'static str, String); 5] {
    [
        ("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "1".to_owned()),
        ("CLAUDE_CODE_ENTRYPOINT", "offshoot".to_owned()),
        ("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("OFFSHOOT_AGENT_RUN", run.to_owned()),
    ]
}

/// Whether a variable of the caller's environment is withheld from the process: our own, and what a Claude Code around
/// us has set for its tools.
pub(super) fn is_withheld(variable: &OsStr) -> bool {
    let name = variable.to_string_lossy();
    name == "CLAUDECODE" || name == "CLAUDE_CODE_ENTRYPOINT" || name.starts_with("OFFSHOOT_")
}

/// Reads `2.1.325` and `2.1.325 (Claude Code)`.
impl FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let not = || NotAVersion(text.to_owned());
        let number = text.split_whitespace().next().ok_or_else(not)?;
        let number = number.split(['-', '+']).next().unwrap_or(number);
        let mut parts = number.split('.').map(|part| part.parse().ok());
        let mut part = || parts.next().flatten();
        match (part(), part(), part()) {
            (Some(major), Some(minor), Some(patch)) => Ok(Self { major, minor, patch }),
            _ => Err(not()),
        }
    }
}

#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is not a version")]
pub(super) struct NotAVersion(String);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Version = FORWARDS_SUB_AGENT_TEXT;
    const OLD: Version = Version { major: 2, minor: 1, patch: 197 };

    fn check(version: Version, case: LaunchCase<'_>, model: Option<&str>, behind: &str) {
        let permission_mode = "default";
        let spec = LaunchSpec { case, model, permission_mode, tools: None, version };
        let all = arguments(&spec).join(" ");
        let always = "--output-format stream-json --verbose --input-format stream-json --include-partial-messages \
                      --replay-user-messages --permission-prompt-tool stdio --session-mirror ";
        let rest = all.strip_prefix(always).expect("the options that are always there");
        let (is_new, rest) = match rest.strip_prefix("--forward-subagent-text ") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        assert_eq!(is_new, version >= NEW);
        assert_eq!(rest, behind);
    }

    /// first, branch and resumed agent sessions are configured alike.
    /// a fork of a session forks the agent session, at its end or at a message, under an id of our choice.
    #[test]
    fn options_by_case() {
        let (s, n, at) = ("S".into(), "N".into(), EntryId::from("U"));
        let mode = "--permission-mode default";
        check(NEW, LaunchCase::New { session: &n }, None, &format!("{mode} --session-id N"));
        check(
            OLD,
            LaunchCase::New { session: &n },
            Some("m[1m]"),
            &format!("--model m[1m] {mode} --session-id N"),
        );
        check(OLD, LaunchCase::Resume { session: &s }, Some("m"), &format!("--model m {mode} --resume S"));
        check(
            NEW,
            LaunchCase::Fork { from: &s, at: Some(&at), session: &n },
            Some("m"),
            &format!("--model m {mode} --resume S --session-id N --resume-session-at U --fork-session"),
        );
        check(
            NEW,
            LaunchCase::Fork { from: &s, at: None, session: &n },
            Some("m"),
            &format!("--model m {mode} --resume S --session-id N --fork-session"),
        );
    }

    #[test]
    fn chosen_tools_are_one_option_of_the_start() {
        let session = "N".into();
        let told = |tools: Option<&[&str]>| {
            let tools = tools.map(|tools| tools.iter().map(|&tool| tool.to_owned()).collect::<Vec<_>>());
            let arguments = arguments(&LaunchSpec {
                case: LaunchCase::New { session: &session },
                model: None,
                permission_mode: "default",
                tools: tools.as_deref(),
                version: NEW,
            });
            let at = arguments.iter().position(|argument| argument == "--tools");
            at.and_then(|at| arguments.get(at + 1).cloned())
        };
        assert_eq!(told(None), None);
        assert_eq!(told(Some(&["Read", "Bash"])).as_deref(), Some("Read,Bash"));
        assert_eq!(told(Some(&[])).as_deref(), Some(""), "it has none");
    }

    #[test]
    fn versions() {
        let parsed = |text: &str| text.parse::<Version>().ok().map(|version| version.to_string());
        assert_eq!(parsed("2.1.325 (Claude Code)").as_deref(), Some("2.1.325"));
        assert_eq!(parsed("2.1.197").as_deref(), Some("2.1.197"));
        assert_eq!(parsed("3.0.0-beta.1").as_deref(), Some("3.0.0"));
        assert_eq!(parsed(""), None);
        assert_eq!(parsed("Claude"), None);
        assert!(OLD < NEW);
    }

    #[test]
    fn variables_of_ours_do_not_reach_the_process() {
        for name in ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "OFFSHOOT_HOME", "OFFSHOOT_AGENT_RUN"] {
            assert!(is_withheld(OsStr::new(name)), "{name}");
        }
        for name in ["HOME", "ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "HTTPS_PROXY"] {
            assert!(!is_withheld(OsStr::new(name)), "{name}");
        }
        assert!(variables("r1").contains(&("OFFSHOOT_AGENT_RUN", "r1".to_owned())));
    }
}
