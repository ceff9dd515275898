//! What may be done while turns are running.
//!
//! Looking is always allowed, and so is whatever writes no node on a running turn's path. What would change that path
//! under the turn is refused, with the hint to interrupt it first; what is sent there waits in the queue. Elsewhere in
//! the tree a second turn starts on request. A turn whose prompt is not written yet ([`PendingTurn`]) is as busy as one
//! that runs.

use thiserror::Error;

use crate::address::{Place as Where, short_id};
use crate::pending::{Landing, PendingTurn};
use crate::status::WaitingFor;
use crate::turn::Phase;
use crate::versions::versions_of;
use crate::{EntryId, HeadName, SessionTree, TurnId};

/// What somebody wants to do. `at` is the entry it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action<'a> {
    /// Anything that only reads; also whatever marks without touching a path: label, rename, archive, fork to a new
    /// session.
    Look,
    Send {
        words: &'a str,
        place: Place,
    },
    Edit {
        at: &'a EntryId,
        words: &'a str,
        place: Place,
    },
    Retry {
        at: &'a EntryId,
        place: Place,
    },
    /// The version arrows.
    Version {
        at: &'a EntryId,
    },
    /// The head goes elsewhere: switch, navigate, rewind, undo.
    MoveHead,
    /// An entry that no turn has written, and the head upon it; `None` is before the first entry.
    Append {
        below: Option<&'a EntryId>,
    },
    /// Model, thinking, tools, permissions; compaction; clearing.
    Change,
}

/// Where a turn is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the branch of the head.
    Here,
    /// On a branch of its own, while others run.
    Beside,
}

/// What is known of a session at the moment.
#[derive(Clone, Copy, Debug)]
pub struct SessionState<'s> {
    pub tree: &'s SessionTree,
    pub head: &'s HeadName,
    pub turns: &'s [RunningTurn],
    /// Accepted messages without a prompt, in the order in which they were accepted.
    pub pending: &'s [PendingTurn],
    pub agent: AgentState,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningTurn {
    pub turn: TurnId,
    pub prompt: EntryId,
    pub phase: Phase,
    pub waits_for: Option<WaitingFor>,
}

/// Whether a turn could be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentState {
    /// It is there, or will be when it is needed.
    Reachable,
    /// There is none to be reached: none was chosen, or it is not installed.
    Missing,
    /// It is broken in a way that another prompt cannot mend.
    Broken,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allowed {
    Now,
    /// It waits for this turn.
    Queued {
        behind: TurnId,
    },
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    #[error("the agent is still answering on this branch")]
    Running { turn: TurnId, prompt: EntryId },
    #[error("the agent is being reached for this branch")]
    Connecting { turn: TurnId, prompt: EntryId },
    #[error("a message is being prepared for this branch")]
    Preparing { turn: TurnId, below: Option<EntryId> },
    #[error("this branch waits for your answer")]
    Waiting { turn: TurnId, prompt: EntryId, kind: WaitingFor },
    #[error("a prompt needs some text")]
    Blank,
    /// Counted from 1, as a person reads it.
    #[error("this is the same text as version {version}")]
    SameText { version: usize },
    #[error("there is no agent to answer")]
    NoAgent,
    #[error("the agent is not able to go on")]
    AgentBroken,
    #[error("nothing is running")]
    NothingRuns,
    /// Each as a person finds it again.
    #[error("several turns run, and none of them on the branch of the head: {}", .places.join(", "))]
    SeveralRun { places: Vec<String> },
}

/// What would make a refused action possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Interrupt the turn, wait for its end, act.
    AbortFirst,
    /// Say which turn is meant.
    SayTurn,
}

impl Refusal {
    pub fn hint(&self) -> Option<Hint> {
        match self {
            Self::Running { .. }
            | Self::Connecting { .. }
            | Self::Preparing { .. }
            | Self::Waiting { .. } => Some(Hint::AbortFirst),
            Self::SeveralRun { .. } => Some(Hint::SayTurn),
            Self::Blank | Self::SameText { .. } | Self::NoAgent | Self::AgentBroken | Self::NothingRuns => {
                None
            }
        }
    }

    /// The turn to interrupt.
    pub fn turn(&self) -> Option<&TurnId> {
        match self {
            Self::Running { turn, .. }
            | Self::Connecting { turn, .. }
            | Self::Preparing { turn, .. }
            | Self::Waiting { turn, .. } => Some(turn),
            Self::Blank
            | Self::SameText { .. }
            | Self::NoAgent
            | Self::AgentBroken
            | Self::NothingRuns
            | Self::SeveralRun { .. } => None,
        }
    }
}

/// Whether it may be done now. Nothing has happened yet, and a refused action leaves no trace.
pub fn may(action: Action<'_>, state: &SessionState<'_>) -> Result<Allowed, Refusal> {
    match action {
        Action::Look => Ok(Allowed::Now),
        Action::Send { words, .. } if words.trim().is_empty() => Err(Refusal::Blank),
        Action::Send { place, .. } => may_send(place, state),
        Action::Edit { words, .. } if words.trim().is_empty() => Err(Refusal::Blank),
        Action::Edit { at, words, .. } if says(state.tree, at, words) => {
            Err(Refusal::SameText { version: version_number(state.tree, at) })
        }
        Action::Edit { place: Place::Beside, .. } | Action::Retry { place: Place::Beside, .. } => {
            Ok(Allowed::Now)
        }
        Action::Edit { at, .. } | Action::Retry { at, .. } | Action::Version { at } => {
            unless_busy(state, |turn| turn.has_on_path(state.tree, at))
        }
        Action::MoveHead | Action::Change => unless_busy(state, |turn| turn.has_head(state)),
        Action::Append { below } => unless_busy(state, |turn| {
            let is_in_its_answer = below.is_some_and(|below| turn.answers_above(state.tree, below));
            is_in_its_answer || turn.has_head(state)
        }),
    }
}

/// The turn that is meant by whoever wants to interrupt and names none: the only one that runs; of several the one on
/// the branch of the head. Never one that merely happens to run.
pub fn turn_to_interrupt(state: &SessionState<'_>) -> Result<TurnId, Refusal> {
    let turns: Vec<Busy<'_>> = busy(state).collect();
    let meant = match turns.as_slice() {
        [] => return Err(Refusal::NothingRuns),
        [only] => Some(*only),
        several => several.iter().copied().find(|turn| turn.has_head(state)),
    };
    let places = || turns.iter().map(|turn| turn.in_words(state.tree)).collect();
    meant.map(|turn| turn.id().clone()).ok_or_else(|| Refusal::SeveralRun { places: places() })
}

/// The turn that is being answered above a point: a message for that point waits until it ends.
pub fn turn_above(at: &EntryId, state: &SessionState<'_>) -> Option<TurnId> {
    busy(state).find(|turn| turn.answers_above(state.tree, at)).map(|turn| turn.id().clone())
}

fn may_send(place: Place, state: &SessionState<'_>) -> Result<Allowed, Refusal> {
    match state.agent {
        AgentState::Missing => return Err(Refusal::NoAgent),
        AgentState::Broken => return Err(Refusal::AgentBroken),
        AgentState::Reachable => {}
    }
    let busy = busy(state).find(|turn| place == Place::Here && turn.has_head(state));
    Ok(busy.map_or(Allowed::Now, |turn| Allowed::Queued { behind: turn.id().clone() }))
}

fn unless_busy(state: &SessionState<'_>, touches: impl Fn(&Busy<'_>) -> bool) -> Result<Allowed, Refusal> {
    busy(state).find(touches).map_or(Ok(Allowed::Now), |turn| Err(turn.refusal()))
}

/// A turn that keeps others from its path.
#[derive(Clone, Copy, Debug)]
enum Busy<'s> {
    Running(&'s RunningTurn),
    Pending(&'s PendingTurn),
}

/// An interrupted turn is in nobody's way: requests that write below it wait until its agent has stopped.
fn busy<'s>(state: &SessionState<'s>) -> impl Iterator<Item = Busy<'s>> {
    let running = state.turns.iter().filter(|turn| !matches!(turn.phase, Phase::Interrupting | Phase::Ended));
    running.map(Busy::Running).chain(state.pending.iter().map(Busy::Pending))
}

impl<'s> Busy<'s> {
    fn id(self) -> &'s TurnId {
        match self {
            Self::Running(turn) => &turn.turn,
            Self::Pending(turn) => turn.id(),
        }
    }

    fn refusal(self) -> Refusal {
        match self {
            Self::Running(busy) => {
                let (turn, prompt) = (busy.turn.clone(), busy.prompt.clone());
                match (busy.waits_for, busy.phase) {
                    (Some(kind), _) => Refusal::Waiting { turn, prompt, kind },
                    (None, Phase::Accepted | Phase::Hook | Phase::Connecting) => {
                        Refusal::Connecting { turn, prompt }
                    }
                    (None, Phase::Running | Phase::Compacting | Phase::Interrupting | Phase::Ended) => {
                        Refusal::Running { turn, prompt }
                    }
                }
            }
            Self::Pending(busy) => {
                let turn = busy.id().clone();
                match busy.landing() {
                    Landing::Below(below) | Landing::Version { below, .. } => {
                        Refusal::Preparing { turn, below: below.clone() }
                    }
                    Landing::Answer(prompt) => Refusal::Connecting { turn, prompt: prompt.clone() },
                }
            }
        }
    }

    /// On the way from the root through the turn's prompt to what hangs below it.
    fn has_on_path(self, tree: &SessionTree, at: &EntryId) -> bool {
        match self {
            Self::Running(turn) => tree.is_ancestor(at, &turn.prompt) || tree.is_ancestor(&turn.prompt, at),
            Self::Pending(turn) => turn.landing().has_on_path(tree, at),
        }
    }

    fn has_head(self, state: &SessionState<'_>) -> bool {
        match self {
            Self::Running(turn) => {
                state.tree.head(state.head).is_some_and(|head| state.tree.is_ancestor(&turn.prompt, head))
            }
            Self::Pending(turn) => turn.landing().is_at_head(state.tree, state.head),
        }
    }

    fn answers_above(self, tree: &SessionTree, at: &EntryId) -> bool {
        match self {
            Self::Running(turn) => tree.is_ancestor(&turn.prompt, at),
            Self::Pending(turn) => turn.landing().answers_above(tree, at),
        }
    }

    /// `#4 6f2a91 on "draft"`: a number alone would be looked for on the branch of the head.
    fn in_words(self, tree: &SessionTree) -> String {
        let (prompt, number) = match self {
            Self::Running(turn) => (Some(&turn.prompt), None),
            Self::Pending(turn) => match turn.landing() {
                Landing::Answer(prompt) => (Some(prompt), None),
                landing => (landing.below(tree), Some(landing.number(tree))),
            },
        };
        let Some(at) = prompt else { return "#1".to_owned() };
        let Where { branch, number: last } = Where::of(tree, at);
        let named = branch.map(|name| format!(" on \"{name}\"")).unwrap_or_default();
        match number {
            Some(number) => format!("#{number} below {}{named}", short_id(tree, at)),
            None => format!("#{last} {}{named}", short_id(tree, at)),
        }
    }
}

fn says(tree: &SessionTree, at: &EntryId, words: &str) -> bool {
    tree.entry(at).is_some_and(|entry| entry.body.text() == words)
}

fn version_number(tree: &SessionTree, at: &EntryId) -> usize {
    let before = versions_of(tree, at).iter().position(|version| version.id == *at);
    before.unwrap_or_default() + 1
}
