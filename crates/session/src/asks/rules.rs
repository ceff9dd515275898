//! What need not be asked again.
//!
//! A rule allows one tool, and of a command only what begins with the same words. A command that starts further
//! commands (`;`, `&&`, `|`, `$(…)`) is never allowed by the words it begins with: only that very command is.

use jiff::Timestamp;
use serde_json::Value;

use super::Permission;
use crate::SessionId;

/// So many words of a command say what it does: `cargo test`, `git commit`.
const TELLING_WORDS: usize = 2;

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(String);

/// How far a rule reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Session,
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub id: RuleId,
    pub scope: Scope,
    /// The session it was made in; a rule of a project reaches further.
    pub session: SessionId,
    pub project: Option<String>,
    pub tool: String,
    pub matches: Matches,
    pub made_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matches {
    /// Whatever the tool is given.
    Anything,
    /// A single command that begins with these words.
    Beginning(String),
    Exactly(String),
}

/// The rules that reach a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    rules: Vec<Rule>,
}

impl RuleId {
    pub fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Matches {
    /// What "always" would mean for this permission; it is shown before it is agreed to.
    pub fn from_permission(permission: &Permission) -> Self {
        let Some(command) = command_of(&permission.input) else { return Self::Anything };
        if starts_others(command) {
            return Self::Exactly(command.to_owned());
        }
        let words: Vec<&str> = command.split_whitespace().take(TELLING_WORDS).collect();
        // An option says how, not what: `rm -rf` is no reason to allow it everywhere.
        if words.len() < TELLING_WORDS || words.iter().any(|word| word.starts_with('-') || word.contains('='))
        {
            return Self::Exactly(command.to_owned());
        }
        Self::Beginning(words.join(" "))
    }

    fn covers(&self, input: &Value) -> bool {
        let command = command_of(input);
        match self {
            Self::Anything => command.is_none(),
            Self::Exactly(allowed) => command == Some(allowed),
            Self::Beginning(allowed) => command.is_some_and(|command| {
                let mut words = command.split_whitespace();
                !starts_others(command) && allowed.split(' ').all(|word| words.next() == Some(word))
            }),
        }
    }
}

impl std::fmt::Display for Matches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Anything => f.write_str("*"),
            Self::Beginning(words) => write!(f, "{words} *"),
            Self::Exactly(command) => f.write_str(command),
        }
    }
}

impl Rules {
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect() }
    }

    /// A rule that says what another says already is not added.
    pub fn add(&mut self, rule: Rule) -> bool {
        let is_new = !self.rules.iter().any(|known| {
            known.scope == rule.scope
                && known.session == rule.session
                && known.project == rule.project
                && known.tool == rule.tool
                && known.matches == rule.matches
        });
        if is_new {
            self.rules.push(rule);
        }
        is_new
    }

    pub fn revoke(&mut self, id: &RuleId) -> Option<Rule> {
        let at = self.rules.iter().position(|rule| rule.id == *id)?;
        Some(self.rules.remove(at))
    }

    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    /// Those that count in this session.
    pub fn reaching(&self, session: &SessionId, project: Option<&str>) -> Self {
        let reaches = |rule: &&Rule| match rule.scope {
            Scope::Session => rule.session == *session,
            Scope::Project => project.is_some() && rule.project.as_deref() == project,
        };
        Self { rules: self.rules.iter().filter(reaches).cloned().collect() }
    }

    /// The rule that allows this, if one does.
    pub fn allow(&self, permission: &Permission) -> Option<&Rule> {
        self.rules.iter().find(|rule| rule.tool == permission.tool && rule.matches.covers(&permission.input))
    }
}

fn command_of(input: &Value) -> Option<&str> {
    input.get("command").and_then(Value::as_str)
}

/// Whether a shell would run more than one command, or send what it prints into a file.
fn starts_others(command: &str) -> bool {
    command.contains(['\n', '\r', ';', '|', '&', '`', '<', '>', '$', '(', ')', '{', '}', '\\'])
}
