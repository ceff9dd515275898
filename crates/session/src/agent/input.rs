//! What an agent is given.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::{AgentTurn, Environment, Provider};
use crate::asks::Answer;
use crate::handoff::Handoff;
use crate::{Entry, EntryId, Prompt, SessionId, SessionTree, Setting, TaskId, TurnId};

/// An agent has at most one prompt of ours at a time: the next one is sent when the turn of the last one has ended.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentInput {
    /// `entry` is the prompt's id in the tree, and `delivered_as` the id that an agent with ids of its own gives it: the
    /// same at the first delivery, a new one whenever the prompt is sent again. `before` are entries of the branch that
    /// the agent has not seen, root first; only agents that can inject them get any. An agent that was given the whole
    /// branch when it was connected has seen them.
    Prompt {
        turn: TurnId,
        entry: EntryId,
        delivered_as: EntryId,
        prompt: Prompt,
        before: Vec<Unseen>,
    },
    /// At least once: it is sent again until the agent confirms the request. A second answer to the same request has no
    /// effect. The turn is the one in which the agent asked, also where that began by itself or has ended: an agent
    /// that reconnects confirms the request as `AgentTurn::Prompted(turn)`.
    Answer {
        turn: TurnId,
        request: String,
        answer: Answer,
    },
    Interrupt {
        turn: AgentTurn,
    },
    StopTask(TaskId),
    /// In force when [`super::Abilities::setting`] says.
    Configure(Vec<Setting>),
    /// The title of the agent's own session.
    Rename(String),
}

/// An entry that an agent has not seen, and the id under which it gets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Unseen {
    pub entry: Arc<Entry>,
    pub delivered_as: EntryId,
}

/// What an agent needs to answer on a branch.
#[derive(Clone, Debug)]
pub struct AgentStart {
    pub session: SessionId,
    /// The folder in which it works.
    pub workspace: Option<PathBuf>,
    pub handoff: Handoff,
    /// The latest setting of each kind on the path.
    pub settings: Vec<Setting>,
    /// The branch above the prompt that comes next.
    pub context: Arc<dyn PathSource>,
    /// For the agent and the programs it runs. It keeps this one as long as it is connected.
    pub environment: Environment,
    pub host: Host,
    /// Whether a person watches what it writes.
    pub is_watched: bool,
    pub lease: Lease,
}

/// Held until everything that was started for an agent has ended, also where nobody waits for that any more.
#[derive(Clone, Debug, Default)]
pub struct Lease(
    #[expect(dead_code, reason = "it only has to be dropped")] Option<Arc<dyn Any + Send + Sync>>,
);

impl Lease {
    pub fn of(held: Arc<impl Any + Send + Sync>) -> Self {
        Self(Some(held))
    }
}

/// How the program of an agent is found and run here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// Set by the person; otherwise the program is found on the `PATH` of the environment.
    pub program: Option<PathBuf>,
    /// Our own executable: started as `LAUNCHER agent-exec …` it becomes the program, and ends when the engine dies.
    /// `None` starts the program directly.
    pub launcher: Option<PathBuf>,
    /// The folder of run files: one for each process, from which the next engine ends what a crash has left.
    pub runs: Option<PathBuf>,
    /// A folder for what can be asked for again, such as the models of a provider.
    pub cache: Option<PathBuf>,
    /// Servers of models that the person has set, by name.
    pub providers: BTreeMap<String, Provider>,
    pub waits: Waits,
}

/// How long the program of an agent may take; `None` leaves it to its driver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// From its start to its first answer.
    pub start: Option<Duration>,
    /// Without output while a turn runs, until the person is told.
    pub silence: Option<Duration>,
}

/// The entries of a path, for agents that need them. An agent that continues a session of its own needs none, so nothing
/// is read before `entries` is called.
pub trait PathSource: Send + Sync + fmt::Debug {
    /// Root first.
    fn entries(&self) -> EntryIter<'_>;

    /// The id under which the agent got an entry last.
    fn delivered_as(&self, id: &EntryId) -> EntryId {
        id.clone()
    }
}

pub type EntryIter<'a> = Box<dyn Iterator<Item = Arc<Entry>> + 'a>;

/// The path to an entry of a tree; `None` is before the first one.
#[derive(Clone, Debug)]
pub struct TreePath {
    pub tree: SessionTree,
    pub to: Option<EntryId>,
}

impl PathSource for TreePath {
    fn entries(&self) -> EntryIter<'_> {
        Box::new(self.tree.path_to(self.to.as_ref()).into_iter().cloned())
    }

    fn delivered_as(&self, id: &EntryId) -> EntryId {
        self.tree.delivered_as(id).clone()
    }
}

/// A path that is in memory.
impl PathSource for Vec<Arc<Entry>> {
    fn entries(&self) -> EntryIter<'_> {
        Box::new(self.iter().cloned())
    }
}
