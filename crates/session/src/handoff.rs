//! How an agent comes to know a branch.
//!
//! A branch belongs to the person, an agent's session belongs to the agent, and the two need not fit. [`plan_handoff`]
//! takes the first way that works, the most faithful first:
//!
//! 1. **continue**: the agent's session ends exactly where the branch does.
//! 2. **fork at a message**: the agent has been there, went on elsewhere, and can go back in a session of its own.
//! 3. **rebuilt transcript**: the branch is written as a session file of that agent.
//! 4. **replayed context**: the branch is told as text ([`Reconstruction`]). Tools and their results are lost, and every
//!    front end says so.
//!
//! Nothing is made before it is needed: an agent's session begins with the first prompt that is sent on a branch.

mod reconstruction;

use std::collections::HashSet;
use std::sync::Arc;

pub use reconstruction::{Reconstruction, reconstruct};

use crate::agent::Capabilities;
use crate::context::Reach;
use crate::versions::versions_of;
use crate::{AgentSessionId, Binding, Body, Entry, EntryId, Missing, Provenance, SessionTree, Setting};

#[derive(Clone, Debug, PartialEq)]
pub enum Handoff {
    /// The agent goes on in its own session; `None` begins one, and there is nothing to be told.
    Continue {
        session: Option<AgentSessionId>,
    },
    ForkAtMessage {
        session: AgentSessionId,
        /// The agent's own name for the last message that counts; `None` is the end of the session.
        message: Option<String>,
    },
    RebuiltTranscript,
    ReplayedContext(Reconstruction, Gap),
}

/// Why an agent cannot go on in a session of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gap {
    /// It was not there when the branch was said, or not at all of it.
    NeverThere,
    /// It was, and cannot take up that session again.
    CannotReturn,
    /// Its session has gone on elsewhere, and it cannot begin another one from the middle of it.
    CannotFork,
    /// It could, but not from within a turn, where there is no message to name.
    InsideTurn,
}

/// The agent that shall answer.
#[derive(Clone, Copy, Debug)]
pub struct AgentAtHand<'a> {
    pub name: &'a str,
    pub can: &'a Capabilities,
    /// The session that its process has open, if one runs.
    pub live: Option<&'a AgentSessionId>,
}

/// What has to happen to the agent when a head has moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentSwitch {
    /// The agent at hand is that of the branch.
    Stay,
    /// The branch has a session that is not at hand.
    Resume(AgentSessionId),
    /// The branch has none: the next prompt makes one.
    LetGo,
}

impl Handoff {
    pub fn provenance(&self) -> Provenance {
        match self {
            Self::Continue { .. } => Provenance::Continued,
            Self::ForkAtMessage { .. } => Provenance::ForkedAtMessage,
            Self::RebuiltTranscript => Provenance::RebuiltTranscript,
            Self::ReplayedContext(..) => Provenance::ReplayedContext,
        }
    }

    /// What the agent is not told. Where it goes on in a session of its own, that was told when the session began.
    pub fn missing(&self) -> Missing {
        match self {
            Self::ReplayedContext(told, _) => told.missing,
            Self::Continue { .. } | Self::ForkAtMessage { .. } | Self::RebuiltTranscript => {
                Missing::default()
            }
        }
    }
}

/// The way to an agent for a prompt that has been written.
pub fn plan_handoff(tree: &SessionTree, prompt: &EntryId, agent: &AgentAtHand<'_>) -> Handoff {
    let above = tree.parent(prompt).map(|parent| &parent.id);
    let path = tree.path_to(above);
    // What was cleared is nobody's to know: a session that begins behind it lacks nothing.
    let counts = path.get(Reach::of(&path).start..).unwrap_or_default();
    if !counts.iter().any(|entry| is_heard(&entry.body)) {
        return Handoff::Continue { session: None };
    }
    let can = agent.can;
    let known = known_session(tree, &path).filter(|known| known.agent == Some(agent.name));
    match known {
        Some(Known { session, at: At::Tip, .. })
            if can.resume || (can.many_turns && agent.live == Some(&session)) =>
        {
            Handoff::Continue { session: Some(session) }
        }
        Some(Known { session, at: At::Tip, .. }) if can.fork_at_tip => {
            Handoff::ForkAtMessage { session, message: None }
        }
        Some(Known { session, message: Some(message), .. }) if can.fork_at_message => {
            Handoff::ForkAtMessage { session, message: Some(message) }
        }
        Some(_) | None if can.rebuilt_transcript => Handoff::RebuiltTranscript,
        known => {
            let gap = match known.map(|known| known.at) {
                None => Gap::NeverThere,
                Some(At::Tip) => Gap::CannotReturn,
                Some(At::Within) if can.fork_at_message => Gap::InsideTurn,
                Some(At::Within) => Gap::CannotFork,
            };
            Handoff::ReplayedContext(reconstruct(&path, &earlier_attachments(tree, prompt)), gap)
        }
    }
}

/// The agent's own session of a branch: that of the deepest turn on its path that has one, back to where the context was
/// cleared. The session may have continued elsewhere; [`plan_handoff`] decides whether the branch can be continued in it.
pub fn branch_session(tree: &SessionTree, at: Option<&EntryId>) -> Option<AgentSessionId> {
    let path = tree.path_to(at);
    let mut since_clear = path.iter().rev().take_while(|entry| !matches!(entry.body, Body::Cleared));
    since_clear.find_map(|entry| tree.binding(&entry.id)?.agent_session.clone())
}

/// How the agent of this branch came to know it; where nothing was sent yet, nobody has been told anything.
pub fn branch_provenance(tree: &SessionTree, at: Option<&EntryId>) -> Option<Provenance> {
    Some(bound_turn(tree, &tree.path_to(at))?.binding.provenance)
}

/// What the agent of this branch was not told when its session began; nothing where it was there from the start.
pub fn branch_missing(tree: &SessionTree, at: Option<&EntryId>) -> Missing {
    let path = tree.path_to(at);
    let Some(BoundTurn { binding: last, .. }) = bound_turn(tree, &path) else { return Missing::default() };
    let bindings = path.iter().rev().filter_map(|entry| tree.binding(&entry.id));
    let mut same = bindings.take_while(|binding| binding.agent_session == last.agent_session);
    let began = same.find(|binding| binding.provenance != Provenance::Continued);
    began.map_or_else(Missing::default, |binding| binding.missing)
}

/// From the session of the agent at hand and that of the branch.
pub fn switch_agent(at_hand: Option<&AgentSessionId>, branch: Option<&AgentSessionId>) -> AgentSwitch {
    match (at_hand, branch) {
        (_, None) => AgentSwitch::LetGo,
        (Some(at_hand), Some(branch)) if at_hand == branch => AgentSwitch::Stay,
        (_, Some(branch)) => AgentSwitch::Resume(branch.clone()),
    }
}

/// A session of an agent in which all of a path was said.
struct Known<'t> {
    agent: Option<&'t str>,
    session: AgentSessionId,
    at: At,
    message: Option<String>,
}

enum At {
    /// It ends here.
    Tip,
    /// It goes on, or may have where this session came from.
    Within,
}

/// The last turn on a path, where an agent has answered it.
struct BoundTurn<'t> {
    binding: &'t Binding,
    /// Index of its prompt.
    prompt: usize,
    /// Index of the entry the binding was made at.
    bound: usize,
}

/// A turn that no agent has answered has no binding, and then the branch has none.
fn bound_turn<'t>(tree: &'t SessionTree, path: &[&'t Arc<Entry>]) -> Option<BoundTurn<'t>> {
    let prompt = path.iter().rposition(|entry| entry.body.is_prompt())?;
    let mut bindings =
        path.iter().enumerate().skip(prompt).filter_map(|(at, entry)| Some((at, tree.binding(&entry.id)?)));
    let (bound, binding) = bindings.next_back()?;
    Some(BoundTurn { binding, prompt, bound })
}

fn known_session<'t>(tree: &'t SessionTree, path: &[&'t Arc<Entry>]) -> Option<Known<'t>> {
    let BoundTurn { binding, prompt, bound } = bound_turn(tree, path)?;
    let session = binding.agent_session.clone()?;
    let turn = &path.get(prompt)?.turn;
    // Whatever was put into the branch afterwards, such as a summary or what a script has appended, the agent has never
    // heard. What belongs to no turn was written by none.
    let is_of_turn = |entry: &Entry| entry.turn.is_some() && entry.turn == *turn;
    let is_unheard = |entry: &Entry| !is_of_turn(entry) && is_heard(&entry.body);
    if path.iter().skip(bound + 1).any(|entry| is_unheard(entry)) {
        return None;
    }
    let last = path.iter().rfind(|entry| is_heard(&entry.body))?;
    let says_more = |child: &&Arc<Entry>| child.turn.is_some() && child.turn == *turn;
    let is_whole = !tree.children(Some(&last.id)).iter().any(says_more);
    let here: HashSet<&EntryId> = path.iter().map(|entry| &entry.id).collect();
    let mut elsewhere = tree.bindings().filter(|(at, _)| !here.contains(at));
    let went_on = elsewhere.any(|(_, other)| other.agent_session.as_ref() == Some(&session))
        || tree.knows_undone(&session);
    let at = if is_whole && !went_on && !binding.inherited { At::Tip } else { At::Within };
    // In the middle of a turn there is no message that we could name.
    let message = binding.last_message.clone().filter(|_| is_whole);
    let agent = binding.agent.as_deref().or_else(|| agent_at(tree, path.get(..prompt).unwrap_or_default()));
    Some(Known { agent, session, at, message })
}

/// The agent in force behind a path.
fn agent_at<'t>(tree: &'t SessionTree, path: &[&'t Arc<Entry>]) -> Option<&'t str> {
    let chosen = path.iter().rev().find_map(|entry| match &entry.body {
        Body::Setting(Setting::Agent(agent)) => Some(agent.as_str()),
        _ => None,
    });
    chosen.or_else(|| tree.header().and_then(|header| header.agent.as_deref()))
}

/// The files of the version before this one: the answers that the agent does not see may speak of them, whether or not
/// the new version attaches them too. Empty for a prompt that is not a new version.
fn earlier_attachments(tree: &SessionTree, prompt: &EntryId) -> Vec<String> {
    let versions = versions_of(tree, prompt);
    let earlier = versions.iter().take_while(|version| version.id != *prompt).last();
    match earlier.map(|version| &version.body) {
        Some(Body::Prompt(earlier)) => earlier.attachments.clone(),
        _ => Vec::new(),
    }
}

/// Whether an agent would have to know of it.
fn is_heard(body: &Body) -> bool {
    match body {
        Body::Setting(_) | Body::Note(_) | Body::ContextEdit(_) | Body::Foreign(_) => false,
        Body::Shell(shell) => !shell.private,
        Body::Prompt(_)
        | Body::Reply(_)
        | Body::ToolResult(_)
        | Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Merge(_)
        | Body::CustomMessage(_)
        | Body::System(_)
        | Body::Cleared => true,
    }
}
