//! Live agents.
//!
//! An [`Agent`] is reached with a [`Start`] and gives a [`Conversation`]: a way in and a way out. It translates and
//! decides nothing; what its events mean is for [`offshoot_session::turn`] to say.
//!
//! [`built_in`] needs no network and no key, so that everything works on a fresh machine. [`known`] are those of other makers,
//! whether they can be reached from here or not.

pub mod built_in;
pub mod known;

use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use offshoot_session::agent::{AgentEvent, AgentInput, Capabilities, Start};
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

    /// `None` where it has not said so.
    fn version(&self) -> Option<String> {
        None
    }

    fn capabilities(&self) -> Capabilities;

    /// Reaches the agent for a branch. Nothing is said before the first prompt.
    fn connect(&self, start: Start) -> Connecting<'_>;
}

/// An agent that is being reached. Dropping it gives up, and leaves nothing behind.
pub type Connecting<'a> = Pin<Box<dyn Future<Output = Result<Conversation, ConnectError>> + Send + 'a>>;

#[derive(Debug, Error)]
pub enum ConnectError {
    #[error("`{agent}` is not installed")]
    NotInstalled { agent: String },
    #[error("could not start `{agent}`")]
    NotStarted { agent: String, source: std::io::Error },
    #[error("`{agent}` cannot take up this branch: {reason}")]
    NotTakenUp { agent: String, reason: String },
}

/// A connection to an agent, and the task that serves it.
///
/// The agent ends when `inputs` is dropped, or when nobody takes its events any more.
pub struct Conversation {
    pub inputs: mpsc::Sender<AgentInput>,
    pub events: mpsc::Receiver<AgentEvent>,
    task: JoinHandle<()>,
}

/// The agent's task did not end as it should.
#[derive(Debug, Error)]
#[error("the agent broke down")]
pub struct BrokeDown(#[from] tokio::task::JoinError);

impl Conversation {
    /// Starts the task that serves a connection.
    pub fn served_by<F>(serve: impl FnOnce(mpsc::Receiver<AgentInput>, mpsc::Sender<AgentEvent>) -> F) -> Self
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

impl fmt::Debug for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversation").finish_non_exhaustive()
    }
}
