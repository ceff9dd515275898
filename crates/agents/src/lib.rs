//! Live agents.
//!
//! An [`Agent`] is connected with an [`AgentStart`] and gives an [`AgentConnection`]: a way in and a way out. A driver
//! reports facts; [`offshoot_session::turn`] decides what they mean.
//!
//! [`built_in`] needs no network and no key, so that everything works on a fresh machine. [`known`] are those of other makers,
//! whether they can be reached from here or not.

pub mod built_in;
mod cancel;
pub mod claude_code;
pub mod http;
pub mod known;
pub mod llm;
mod meanwhile;
mod private;
pub mod process;
mod workspace;

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use offshoot_session::agent::{Abilities, AgentInput, AgentStart, Environment, FailureKind, FromAgent, Host};
use offshoot_session::turn::CaughtUp;
use offshoot_session::{AgentSessionId, EntryId, Model};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// Events that may wait until somebody takes them; then the agent waits too.
pub const EVENTS_AHEAD: usize = 256;

/// Inputs that may wait until the agent takes them.
pub const INPUTS_AHEAD: usize = 64;

/// Something that answers.
pub trait Agent: Send + Sync {
    /// As settings and journals call it.
    fn name(&self) -> &str;

    /// As people call it.
    fn title(&self) -> &str;

    /// Finds out which version is installed and which models it has. May start a program; the agent remembers the result.
    /// An agent that says nothing about itself leaves it out.
    fn probe<'a>(&'a self, _host: &'a Host, _environment: &'a Environment) -> Probing<'a> {
        Box::pin(async { Ok(Probe::default()) })
    }

    /// Whether [`Agent::abilities`] does not know the models of this caller yet, and [`Agent::probe`] finds them out. From here
    /// on those of this caller count.
    fn needs_probe(&self, _host: &Host, _environment: &Environment) -> bool {
        false
    }

    /// What it can do with this model; `None` is the model it uses unless told otherwise.
    fn abilities(&self, model: Option<&Model>) -> Abilities;

    /// Looks at one of the agent's own sessions where the agent keeps them: who else runs it, and what its transcript has
    /// behind a message. Changes nothing. May block. An agent that keeps no sessions sees nothing.
    fn look(&self, _look: &Look<'_>) -> Seen {
        Seen::default()
    }

    /// Gives one of the agent's own sessions, which no process has open, a title. `false`: it has nowhere to keep one. May
    /// block.
    fn rename(&self, _rename: &Rename<'_>) -> Result<bool, NotRenamed> {
        Ok(false)
    }

    /// Why a message with this text is not sent to it, for commands that would change its sessions behind our back.
    fn refuses(&self, _text: &str) -> Option<String> {
        None
    }

    /// The prompt on which it makes its own context shorter; `None`: it does not, or not when it is asked to.
    fn compaction_prompt(&self, _instructions: Option<&str>) -> Option<String> {
        None
    }

    /// How long its process may take to end by itself.
    fn end_wait(&self) -> Duration {
        Duration::from_secs(2)
    }

    /// Connects the agent for a branch. It does nothing before the first prompt.
    fn connect(&self, start: AgentStart) -> Connecting<'_>;
}

/// What to look at.
pub struct Look<'l> {
    pub session: &'l AgentSessionId,
    /// The folder in which the agent works.
    pub workspace: Option<&'l Path>,
    pub environment: &'l Environment,
    /// The message behind which the transcript counts, by the agent's own name.
    pub after: Option<&'l EntryId>,
    /// Messages that are known are left out.
    pub is_known: &'l dyn Fn(&EntryId) -> bool,
    pub transcript: ReadTranscript,
}

/// How much of a transcript a look reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadTranscript {
    Whole,
    /// Only its end, where its last message is known. A process of ours has it open and waits, so whatever was written
    /// behind our last message is at the end.
    UnlessEndIsKnown,
}

/// A title for one of the agent's own sessions.
#[derive(Debug)]
pub struct Rename<'r> {
    pub session: &'r AgentSessionId,
    pub title: &'r str,
    /// The folder in which the agent works.
    pub workspace: Option<&'r Path>,
    pub environment: &'r Environment,
}

#[derive(Debug, Error)]
#[error("could not rename session `{session}` of `{agent}`: {reason}")]
pub struct NotRenamed {
    pub agent: String,
    pub session: AgentSessionId,
    pub reason: String,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Another process runs the session now.
    pub elsewhere: Option<Elsewhere>,
    /// The session was continued from an earlier message, so that its active branch has prompts that are not known and
    /// lacks the message behind which it was looked at.
    pub has_left: bool,
    pub caught_up: CaughtUp,
}

/// A process that we did not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    pub pid: u32,
    pub since: Option<Timestamp>,
}

/// What was found out about an agent that is installed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Probe {
    /// `None` where it does not say.
    pub version: Option<String>,
    /// The models that can be selected; `None` where it does not say.
    pub models: Option<Vec<Model>>,
    /// The servers that it asks, for agents that ask several.
    pub providers: Vec<ProbedProvider>,
}

/// A server of models that an agent asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbedProvider {
    /// As models name it.
    pub name: String,
    pub url: Option<String>,
    /// Why it cannot be asked.
    pub problem: Option<String>,
}

/// An agent that is being probed. Dropping it stops what was started.
pub type Probing<'a> = Pin<Box<dyn Future<Output = Result<Probe, ConnectError>> + Send + 'a>>;

/// An agent that is being connected. Dropping it stops what was started.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = Result<AgentConnection, ConnectError>> + Send + 'a>>;

#[derive(Debug, Error)]
pub enum ConnectError {
    /// `install` is the command that installs it.
    #[error("{agent} is not installed{}", .install.map(|by| format!("; install it with `{by}`")).unwrap_or_default())]
    NotInstalled { agent: String, install: Option<&'static str> },
    #[error(
        "{agent} {} at `{}` is not supported: version {oldest} or later is needed; update it with `{install}`",
        .version.as_deref().unwrap_or("of an unknown version"),
        .program.display()
    )]
    NotSupported {
        agent: String,
        program: PathBuf,
        version: Option<String>,
        oldest: String,
        install: &'static str,
    },
    /// Two processes that run one session would each lose what the other writes.
    #[error(
        "{agent} runs this session in another process ({elsewhere}); wait until that has ended, or fork the session"
    )]
    Elsewhere { agent: String, elsewhere: Elsewhere },
    /// It was started and ended again. The text is a sentence about the agent.
    #[error("{text}")]
    Failed { kind: FailureKind, text: String },
    #[error("could not start `{agent}`")]
    NotStarted { agent: String, source: std::io::Error },
    #[error("`{agent}` cannot take up this branch: {reason}")]
    NotTakenUp { agent: String, reason: String },
}

/// A connection to an agent, and the task that serves it.
///
/// The agent ends when the connection is dropped: it cannot receive inputs or deliver events any more.
pub struct AgentConnection {
    pub inputs: mpsc::Sender<AgentInput>,
    pub events: mpsc::Receiver<FromAgent>,
    task: JoinHandle<()>,
}

/// The agent's task did not end as it should.
#[derive(Debug, Error)]
#[error("the agent broke down")]
pub struct BrokeDown(#[from] tokio::task::JoinError);

impl AgentConnection {
    /// Starts the task that serves a connection.
    pub fn served_by<F>(serve: impl FnOnce(mpsc::Receiver<AgentInput>, mpsc::Sender<FromAgent>) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let (inputs, for_agent) = mpsc::channel(INPUTS_AHEAD);
        let (from_agent, events) = mpsc::channel(EVENTS_AHEAD);
        let task = tokio::spawn(serve(for_agent, from_agent));
        Self { inputs, events, task }
    }

    /// Tells the agent to end, and returns when it has.
    pub async fn close(self) -> Result<(), BrokeDown> {
        let Self { inputs, events, task } = self;
        drop((inputs, events));
        Ok(task.await?)
    }

    /// The same; one that has not ended by then is ended wherever it is.
    pub async fn close_within(self, wait: Duration) -> Result<(), BrokeDown> {
        let Self { inputs, events, mut task } = self;
        drop((inputs, events));
        match tokio::time::timeout(wait, &mut task).await {
            Ok(ended) => Ok(ended?),
            Err(_) => {
                task.abort();
                Ok(())
            }
        }
    }

    /// Ends the agent at once, wherever it is.
    pub fn abort(&self) {
        self.task.abort();
    }
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.since {
            Some(since) => write!(f, "process {}, since {since:.0}", self.pid),
            None => write!(f, "process {}", self.pid),
        }
    }
}

impl fmt::Debug for Look<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Look").field("session", &self.session).finish_non_exhaustive()
    }
}

impl fmt::Debug for AgentConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentConnection").finish_non_exhaustive()
    }
}
