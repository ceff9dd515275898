//! What may be done while turns are running.
//!
//! Looking is always allowed, and so is whatever writes no node on a running turn's path. What would change that path
//! under the turn is refused, with the hint to interrupt it first; what is sent there waits in the queue. Elsewhere in
//! the tree a second turn starts on request.

use thiserror::Error;

use crate::address::{Place as Where, short_id};
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
            Self::Running { .. } | Self::Connecting { .. } | Self::Waiting { .. } => Some(Hint::AbortFirst),
            Self::SeveralRun { .. } => Some(Hint::SayTurn),
            Self::Blank | Self::SameText { .. } | Self::NoAgent | Self::AgentBroken | Self::NothingRuns => {
                None
            }
        }
    }

    /// The turn to interrupt.
    pub fn turn(&self) -> Option<&TurnId> {
        match self {
            Self::Running { turn, .. } | Self::Connecting { turn, .. } | Self::Waiting { turn, .. } => {
                Some(turn)
            }
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
            unless_running(state, |turn| is_on_path_of(state.tree, turn, at))
        }
        Action::MoveHead | Action::Change => unless_running(state, |turn| head_is_on(state, turn)),
        Action::Append { below } => unless_running(state, |turn| {
            let is_in_its_answer = below.is_some_and(|below| state.tree.is_ancestor(&turn.prompt, below));
            is_in_its_answer || head_is_on(state, turn)
        }),
    }
}

/// The turn that is meant by whoever wants to interrupt and names none: the only one that runs; of several the one on
/// the branch of the head. Never one that merely happens to run.
pub fn turn_to_interrupt(state: &SessionState<'_>) -> Result<TurnId, Refusal> {
    let turns: Vec<&RunningTurn> = running(state).collect();
    let meant = match turns.as_slice() {
        [] => return Err(Refusal::NothingRuns),
        [only] => Some(*only),
        several => several.iter().copied().find(|turn| head_is_on(state, turn)),
    };
    let places = || turns.iter().map(|turn| place_in_words(state.tree, &turn.prompt)).collect();
    meant.map(|turn| turn.turn.clone()).ok_or_else(|| Refusal::SeveralRun { places: places() })
}

/// `#4 6f2a91 on "draft"`: a number alone would be looked for on the branch of the head.
fn place_in_words(tree: &SessionTree, prompt: &EntryId) -> String {
    let Where { branch, number } = Where::of(tree, prompt);
    let named = branch.map(|name| format!(" on \"{name}\"")).unwrap_or_default();
    format!("#{number} {}{named}", short_id(tree, prompt))
}

fn may_send(place: Place, state: &SessionState<'_>) -> Result<Allowed, Refusal> {
    match state.agent {
        AgentState::Missing => return Err(Refusal::NoAgent),
        AgentState::Broken => return Err(Refusal::AgentBroken),
        AgentState::Reachable => {}
    }
    let busy = running(state).find(|turn| place == Place::Here && head_is_on(state, turn));
    Ok(busy.map_or(Allowed::Now, |turn| Allowed::Queued { behind: turn.turn.clone() }))
}

fn unless_running(
    state: &SessionState<'_>,
    touches: impl Fn(&RunningTurn) -> bool,
) -> Result<Allowed, Refusal> {
    let Some(busy) = running(state).find(|turn| touches(turn)) else { return Ok(Allowed::Now) };
    let (turn, prompt) = (busy.turn.clone(), busy.prompt.clone());
    Err(match (busy.waits_for, busy.phase) {
        (Some(kind), _) => Refusal::Waiting { turn, prompt, kind },
        (None, Phase::Connecting) => Refusal::Connecting { turn, prompt },
        (None, Phase::Running | Phase::Compacting | Phase::Interrupted | Phase::Ended) => {
            Refusal::Running { turn, prompt }
        }
    })
}

/// An interrupted turn writes nothing any more, so it is in nobody's way.
fn running<'s>(state: &SessionState<'s>) -> impl Iterator<Item = &'s RunningTurn> {
    let turns = state.turns.iter();
    turns.filter(|turn| !matches!(turn.phase, Phase::Interrupted | Phase::Ended))
}

/// On the way from the root through the turn's prompt to what hangs below it.
fn is_on_path_of(tree: &SessionTree, turn: &RunningTurn, at: &EntryId) -> bool {
    tree.is_ancestor(at, &turn.prompt) || tree.is_ancestor(&turn.prompt, at)
}

fn head_is_on(state: &SessionState<'_>, turn: &RunningTurn) -> bool {
    state.tree.head(state.head).is_some_and(|head| state.tree.is_ancestor(&turn.prompt, head))
}

fn says(tree: &SessionTree, at: &EntryId, words: &str) -> bool {
    tree.entry(at).is_some_and(|entry| entry.body.text() == words)
}

fn version_number(tree: &SessionTree, at: &EntryId) -> usize {
    let before = versions_of(tree, at).iter().position(|version| version.id == *at);
    before.unwrap_or_default() + 1
}
