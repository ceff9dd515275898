//! Programs and endpoints that are told what happens, and may have a say in it.
//!
//! A hook is given one JSON object and may answer with one. Whoever answers nothing has no opinion. Each has its time;
//! one that hangs, breaks or answers nonsense is reported and counts as one without an opinion.

mod http;
mod program;
mod said;

use std::path::PathBuf;
use std::time::Duration;

use offshoot_api::Request;
use offshoot_api::request::{ForkTo, VersionTo};
use offshoot_session::agent::Environment;
use serde_json::{Map, Value};
use thiserror::Error;
use tokio::time::Instant;
use tracing::{debug, warn};

use said::Said;
pub(crate) use said::{HookRequest, Supplied, Verdict, Wish};

#[derive(Clone, Debug)]
pub struct Hook {
    /// As it is reported.
    pub name: String,
    pub events: Vec<HookEvent>,
    pub run: Run,
    pub limit: Duration,
}

#[derive(Clone, Debug)]
pub enum Run {
    /// Reads the object from its input and writes its answer to its output.
    Program { program: PathBuf, arguments: Vec<String> },
    /// Is given the object as the body of a POST; plain `http`, for this machine.
    Http { url: String },
}

/// Moments at which hooks are told. Those that say `before` can call it off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    SessionBeforeTree,
    SessionTree,
    SessionBeforeBranch,
    SessionBranch,
    SessionBeforeCompact,
    SessionCompacting,
    SessionCompact,
    BeforeSend,
    TurnEnded,
    SubAgentStarted,
    SubAgentEnded,
    StatusChanged,
    PromptWaiting,
}

/// Where a program runs: those of the caller that has caused it, not those of the engine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    pub(crate) folder: Option<PathBuf>,
}

#[derive(Debug, Error)]
pub(crate) enum HookError {
    #[error("took longer than {} ms", .0.as_millis())]
    TooSlow(Duration),
    #[error("could not be run: {0}")]
    NotRun(std::io::Error),
    #[error("could not be reached: {0}")]
    NotReached(String),
    #[error("failed with {0}")]
    Failed(String),
    #[error("`{0}` is no address of a hook")]
    BadUrl(String),
    #[error("answered nonsense: {0}")]
    Nonsense(String),
}

impl HookError {
    /// For the log, which does not quote anybody.
    fn word(&self) -> &'static str {
        match self {
            Self::TooSlow(_) => "too_slow",
            Self::NotRun(_) => "not_run",
            Self::NotReached(_) => "not_reached",
            Self::Failed(_) => "failed",
            Self::BadUrl(_) => "bad_url",
            Self::Nonsense(_) => "nonsense",
        }
    }
}

/// A hook that did not do its part.
#[derive(Clone, Debug)]
pub(crate) struct HookFailure {
    pub(crate) hook: String,
    pub(crate) message: String,
}

/// The events of a request that changes nothing but the session and asks no agent. Requests that an agent answers have more
/// of them, and the engine process runs for those anyway.
pub fn hook_events(request: &Request) -> &'static [HookEvent] {
    use HookEvent::{SessionBeforeBranch, SessionBeforeTree, SessionBranch, SessionTree};
    const MOVE: &[HookEvent] = &[SessionBeforeTree, SessionTree];
    const BRANCH: &[HookEvent] = &[SessionBeforeBranch, SessionBranch];
    // Another agent or model begins a session where `config_change_branching` says so.
    let may_branch = |to: VersionTo, has_choice: bool| to == VersionTo::NewSession || has_choice;
    match request {
        Request::Switch(_) | Request::Navigate(_) | Request::Rewind(_) => MOVE,
        Request::Fork(fork) if fork.to == ForkTo::Here => MOVE,
        Request::Fork(_) | Request::Configure(_) => BRANCH,
        Request::Edit(edit) if may_branch(edit.to, edit.agent.is_some() || edit.model.is_some()) => BRANCH,
        Request::Retry(retry) if may_branch(retry.to, retry.agent.is_some() || retry.model.is_some()) => {
            BRANCH
        }
        _ => &[],
    }
}

/// Whether a request can be answered without knowing what is set: no agent runs for it, and no hook has a say in it.
pub(crate) fn works_without_settings(request: &Request) -> bool {
    !request.needs_agent() && hook_events(request).is_empty()
}

impl HookEvent {
    pub const ALL: [Self; 13] = [
        Self::SessionBeforeTree,
        Self::SessionTree,
        Self::SessionBeforeBranch,
        Self::SessionBranch,
        Self::SessionBeforeCompact,
        Self::SessionCompacting,
        Self::SessionCompact,
        Self::BeforeSend,
        Self::TurnEnded,
        Self::SubAgentStarted,
        Self::SubAgentEnded,
        Self::StatusChanged,
        Self::PromptWaiting,
    ];

    /// As settings and payloads call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::SessionBeforeTree => "session_before_tree",
            Self::SessionTree => "session_tree",
            Self::SessionBeforeBranch => "session_before_branch",
            Self::SessionBranch => "session_branch",
            Self::SessionBeforeCompact => "session_before_compact",
            Self::SessionCompacting => "session_compacting",
            Self::SessionCompact => "session_compact",
            Self::BeforeSend => "before_send",
            Self::TurnEnded => "turn_ended",
            Self::SubAgentStarted => "sub_agent_started",
            Self::SubAgentEnded => "sub_agent_ended",
            Self::StatusChanged => "status_changed",
            Self::PromptWaiting => "prompt_waiting",
        }
    }

    /// The event that a setting names. Hooks written for pi may keep its spelling `session.compacting`.
    pub fn named(word: &str) -> Option<Self> {
        let word = if word == "session.compacting" { Self::SessionCompacting.word() } else { word };
        Self::ALL.into_iter().find(|event| event.word() == word)
    }
}

/// Tells the hooks one after the other. The first that calls it off ends it; the first summary counts.
pub(crate) async fn ask(
    hooks: Vec<Hook>,
    place: &Surroundings,
    event: HookEvent,
    session: String,
    payload: Value,
) -> Verdict {
    let mut object = Map::new();
    object.insert("type".to_owned(), event.word().into());
    object.insert("session".to_owned(), session.into());
    if let Value::Object(payload) = payload {
        object.extend(payload);
    }
    let body = Value::Object(object).to_string();
    let mut verdict = Verdict::default();
    for hook in hooks {
        let began = Instant::now();
        let answer = ask_one(&hook, place, &body).await;
        let (name, event, ms) = (hook.name.as_str(), event.word(), began.elapsed().as_millis() as u64);
        match answer {
            Ok(said) => {
                debug!(name: "hook answered", hook = name, event, ms);
                verdict.hear(said, &hook.name);
            }
            Err(error) => {
                warn!(name: "hook failed", hook = name, event, ms, code = error.word());
                verdict.failures.push(HookFailure { hook: hook.name.clone(), message: error.to_string() });
            }
        }
        if verdict.cancelled.is_some() {
            break;
        }
    }
    verdict
}

async fn ask_one(hook: &Hook, place: &Surroundings, body: &str) -> Result<Said, HookError> {
    let answered = async {
        match &hook.run {
            Run::Program { program, arguments } => program::run(program, arguments, place, body).await,
            Run::Http { url } => http::post(url, body).await,
        }
    };
    let answer = tokio::time::timeout(hook.limit, answered).await;
    Said::read(&answer.map_err(|_| HookError::TooSlow(hook.limit))??)
}
