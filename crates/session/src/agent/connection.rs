//! Events of a connection, which belong to no turn.

use super::{AgentFailure, FailureKind};
use crate::{AgentSessionId, Missing, Model, Provenance, Setting, TaskId, ToolCallId};

#[derive(Clone, Debug, PartialEq)]
pub enum ConnectionEvent {
    /// The agent is ready, or knows more about itself than before. It comes before the first turn starts.
    Opened(AgentInfo),
    /// The agent continues in another session of its own.
    SessionChanged { to: AgentSessionId, cause: SessionChange },
    /// The agent changed a setting by itself, for example the permission mode at the end of planning.
    SettingChanged(Setting),
    /// The agent named its session.
    TitleChanged(String),
    /// All tasks that run in the background now; empty when none does.
    Background(Vec<BackgroundTask>),
    /// Signing in needs a person: all lines to show them so far, until `done`.
    SignIn { lines: Vec<String>, done: bool },
    /// Worth showing, not worth keeping.
    Notice(AgentNotice),
    /// The agent is gone. A turn that is open fails.
    Exited { status: ExitStatus, stderr: String },
}

/// What an agent says about itself when it opens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentInfo {
    /// `None` where it keeps no session of its own.
    pub session: Option<AgentSessionId>,
    pub version: Option<String>,
    pub model: Option<Model>,
    /// How many tokens that model reads at once, where the agent says it.
    pub context_window: Option<i64>,
    /// The models that can be selected; empty where it does not say.
    pub models: Vec<Model>,
    pub permission_mode: Option<String>,
    /// The account it is signed in with, as people call it.
    pub account: Option<String>,
    /// How it came to know the branch, where that is not how it was asked to: a session that is gone is rebuilt, for example.
    pub provenance: Option<Provenance>,
    /// What it was not told of the branch then.
    pub missing: Missing,
}

/// Why an agent changed its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionChange {
    /// The context was cleared: the new session knows nothing of the old one.
    Cleared,
    /// The new session knows everything the old one knew.
    Moved,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackgroundTask {
    pub id: TaskId,
    pub kind: BackgroundKind,
    pub description: String,
    /// The call that started it, where that is known.
    pub call: Option<ToolCallId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackgroundKind {
    Shell,
    SubAgent,
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentNotice {
    pub text: String,
}

/// How the process of an agent ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    Code(i32),
    Signal(i32),
    Unknown,
}

impl AgentNotice {
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into() }
    }
}

impl ExitStatus {
    /// The failure of the turn that was open. `stderr` is the end of what the agent wrote there.
    pub fn failure(self, agent: &str, stderr: &str) -> AgentFailure {
        let how = match self {
            Self::Code(code) => format!("{agent} ended (exit status {code})"),
            Self::Signal(signal) => format!("{agent} ended (signal {signal})"),
            Self::Unknown => format!("{agent} ended"),
        };
        let text = match stderr.trim() {
            "" => how,
            stderr => format!("{how}: {stderr}"),
        };
        AgentFailure::new(FailureKind::Process, text)
    }
}
