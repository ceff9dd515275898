//! How an agent comes to know a branch.
//!
//! A branch belongs to the person, an agent's session belongs to the agent, and the two need not fit. [`plan_handoff`]
//! takes the first method that works, the most faithful first:
//!
//! 1. **stateless**: the agent keeps no session and reads the branch for every prompt.
//! 2. **continue**: the agent's session ends exactly where the branch does.
//! 3. **fork**: the agent has been there, continued elsewhere, and can return in a session of its own.
//! 4. **rebuild**: the branch is written as a session file of that agent.
//! 5. **replay**: the branch is sent as text ([`Reconstruction`]). Tools and their results are lost, and every front end
//!    says so.
//!
//! Nothing is made before it is needed: an agent's session begins with the first prompt that is sent on a branch.

mod reconstruction;

use std::collections::HashSet;
use std::sync::Arc;

pub use reconstruction::{Reconstruction, reconstruct};

use crate::agent::Abilities;
use crate::context::Reach;
use crate::versions::versions_of;
use crate::{
    AgentSessionId, Binding, Body, Change, Entry, EntryId, Fact, Missing, Model, Provenance, SessionTree,
    Setting, ToolCallId, TurnId,
};

/// The model that an agent used on the way to an entry when it last said so.
pub fn model_in_use<'t>(tree: &'t SessionTree, at: Option<&EntryId>, agent: &str) -> Option<&'t Model> {
    let path = tree.path_to(at);
    let bindings = path.iter().rev().filter_map(|entry| tree.binding(&entry.id));
    let of_agent = bindings.filter(|binding| binding.agent.as_deref() == Some(agent));
    of_agent.filter_map(|binding| binding.model.as_ref()).next()
}

/// The model that an agent used last anywhere in the session: for a new first prompt, above which there is no answer.
pub fn model_of_session<'t>(tree: &'t SessionTree, agent: &str) -> Option<&'t Model> {
    let facts = tree.log().filter_map(|record| match &record.change {
        Change::Marked(mark) => Some(&mark.fact),
        Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => None,
    });
    let models = facts.filter_map(|fact| match fact {
        Fact::Bound { agent: Some(of), model: Some(model), .. } if of == agent => Some(model),
        _ => None,
    });
    models.last()
}

/// `session` is the id that a new session of the agent shall have, for agents that take one from us.
#[derive(Clone, Debug, PartialEq)]
pub enum Handoff {
    /// The branch is empty: the agent begins a session.
    New { session: Option<AgentSessionId> },
    /// The agent continues its own session. `at` is the last message of the branch, by the agent's own name, where that is
    /// known: a session that has gone further than that is forked there.
    Continue { session: AgentSessionId, at: Option<EntryId> },
    /// The agent continues `from` in a new session. `at` is the last entry of it that counts, by the agent's own name;
    /// `None` is the end.
    Fork { from: AgentSessionId, at: Option<EntryId>, session: Option<AgentSessionId> },
    /// The branch is written as a session of the agent.
    Rebuild { session: Option<AgentSessionId> },
    /// The agent begins a session and is told the branch as text.
    Replay { text: Reconstruction, reason: ReplayReason },
    /// The agent keeps no session: it reads the branch for every prompt.
    Stateless,
}

/// Why an agent cannot continue in a session of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayReason {
    /// It did not answer on this branch, or not on all of it.
    NewToBranch,
    /// It did, and cannot resume that session.
    CannotResume,
    /// Its session has continued elsewhere, and it cannot begin another one from the middle of it.
    CannotFork,
    /// It could, but not from within a turn, where there is no message to name.
    InsideTurn,
}

/// The agent that shall answer.
#[derive(Clone, Copy, Debug)]
pub struct HandoffAgent<'a> {
    pub name: &'a str,
    pub abilities: &'a Abilities,
    /// The session that its process has open, if one runs.
    pub live: Option<&'a AgentSessionId>,
    /// The id for a session that it begins, where it takes one from us.
    pub new_session: Option<&'a AgentSessionId>,
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
            Self::New { .. } | Self::Continue { .. } | Self::Stateless => Provenance::Continued,
            Self::Fork { .. } => Provenance::ForkedAtMessage,
            Self::Rebuild { .. } => Provenance::RebuiltTranscript,
            Self::Replay { .. } => Provenance::ReplayedContext,
        }
    }

    /// What the agent is not told. Where it continues a session of its own, that was told when the session began.
    pub fn missing(&self) -> Missing {
        match self {
            Self::Replay { text, .. } => text.missing,
            Self::New { .. }
            | Self::Continue { .. }
            | Self::Fork { .. }
            | Self::Rebuild { .. }
            | Self::Stateless => Missing::default(),
        }
    }
}

/// The method for a prompt that has been written.
pub fn plan_handoff(tree: &SessionTree, prompt: &EntryId, agent: &HandoffAgent<'_>) -> Handoff {
    let above = tree.parent(prompt).map(|parent| &parent.id);
    handoff(tree, above, agent, || earlier_attachments(tree, prompt))
}

/// The method for a prompt that may be written below an entry; `None` is before the first one.
pub fn plan_handoff_below(tree: &SessionTree, below: Option<&EntryId>, agent: &HandoffAgent<'_>) -> Handoff {
    handoff(tree, below, agent, Vec::new)
}

fn handoff(
    tree: &SessionTree,
    above: Option<&EntryId>,
    agent: &HandoffAgent<'_>,
    earlier_attachments: impl FnOnce() -> Vec<String>,
) -> Handoff {
    let (can, new) = (agent.abilities, || agent.new_session.cloned());
    if can.stateless {
        return Handoff::Stateless;
    }
    let path = tree.path_to(above);
    // Nobody needs to know what was cleared: a session that begins behind it lacks nothing.
    let counts = path.get(Reach::of(&path).start..).unwrap_or_default();
    let untaken = UntakenTurns::of(tree, &path);
    let is_told = |entry: &Arc<Entry>| is_heard(&entry.body) && !(can.inject && untaken.has(entry));
    if !counts.iter().any(|entry| is_told(entry)) {
        return Handoff::New { session: new() };
    }
    match known_to(agent, tree, &path) {
        Some(Known { session, at: At::Tip, message, .. })
            if can.resume || (can.many_turns && agent.live == Some(&session)) =>
        {
            Handoff::Continue { session, at: message.map(Into::into) }
        }
        Some(Known { session, at: At::Tip, .. }) if can.fork_at_tip => {
            Handoff::Fork { from: session, at: None, session: new() }
        }
        Some(Known { session, message: Some(message), .. }) if can.fork_at_message => {
            Handoff::Fork { from: session, at: Some(message.into()), session: new() }
        }
        Some(_) | None if can.rebuilt_transcript => Handoff::Rebuild { session: new() },
        known => {
            let reason = match known.map(|known| known.at) {
                None => ReplayReason::NewToBranch,
                Some(At::Tip) => ReplayReason::CannotResume,
                Some(At::Within) if can.fork_at_message => ReplayReason::InsideTurn,
                Some(At::Within) => ReplayReason::CannotFork,
            };
            let text = reconstruct(&path, &earlier_attachments());
            Handoff::Replay { text, reason }
        }
    }
}

/// The agent's own session that a prompt below an entry would continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuedSession {
    pub session: AgentSessionId,
    /// The last message of the branch in it.
    pub last: Option<EntryId>,
    /// The branch goes on behind that message with entries that the agent has not seen.
    pub has_unseen: bool,
}

pub fn continued_session(
    tree: &SessionTree,
    below: Option<&EntryId>,
    agent: &HandoffAgent<'_>,
) -> Option<ContinuedSession> {
    let path = tree.path_to(below);
    match known_to(agent, tree, &path)? {
        Known { session, at: At::Tip, message, .. } => {
            let has_unseen = seen_by(agent, tree, &path).len() < path.len();
            Some(ContinuedSession { session, last: message.map(Into::into), has_unseen })
        }
        Known { at: At::Within, .. } => None,
    }
}

/// Whether the agent would answer below this entry in a session of its own that has the branch.
pub fn has_own_session(tree: &SessionTree, below: Option<&EntryId>, agent: &HandoffAgent<'_>) -> bool {
    let is_reachable = |known: &Known<'_>| match known.at {
        At::Tip => agent.abilities.resume || agent.abilities.fork_at_tip,
        At::Within => agent.abilities.fork_at_message && known.message.is_some(),
    };
    known_to(agent, tree, &tree.path_to(below)).is_some_and(|known| is_reachable(&known))
}

/// The entries above a prompt that its agent has not seen, root first: they are sent before the prompt. An agent that is
/// given the branch in another way than its own session gets them with that.
pub fn unseen_entries(
    tree: &SessionTree,
    prompt: &EntryId,
    agent: &HandoffAgent<'_>,
    handoff: &Handoff,
) -> Vec<Arc<Entry>> {
    let path = tree.path_to(tree.parent(prompt).map(|parent| &parent.id));
    let seen = match handoff {
        Handoff::Continue { .. } | Handoff::Fork { .. } if known_to(agent, tree, &path).is_some() => {
            seen_by(agent, tree, &path).len()
        }
        // What is above are at most prompts that no agent has taken.
        Handoff::New { .. } if agent.abilities.inject => Reach::of(&path).start,
        Handoff::New { .. }
        | Handoff::Continue { .. }
        | Handoff::Fork { .. }
        | Handoff::Rebuild { .. }
        | Handoff::Replay { .. }
        | Handoff::Stateless => return Vec::new(),
    };
    let unseen = path.iter().skip(seen).filter(|entry| has_words(entry));
    unseen.map(|entry| Arc::clone(entry)).collect()
}

/// The beginning of a path that the agent may have seen. The rest was put in beside it, and can be sent to it.
fn seen_by<'p, 't>(
    agent: &HandoffAgent<'_>,
    tree: &SessionTree,
    path: &'p [&'t Arc<Entry>],
) -> &'p [&'t Arc<Entry>] {
    if !agent.abilities.inject {
        return path;
    }
    // In a session that refers to a file, what the file has belongs to no turn either.
    let here = tree.header().filter(|header| header.foreign.is_some()).map(|_| written_here(tree));
    let untaken = UntakenTurns::of(tree, path);
    let is_appended = |entry: &Entry| {
        entry.turn.is_none()
            && tree.binding(&entry.id).is_none()
            && here.as_ref().is_none_or(|here| here.contains(&entry.id))
    };
    let is_beside = |entry: &&&Arc<Entry>| is_appended(entry) || untaken.has(entry);
    let count = path.iter().rev().take_while(is_beside).count();
    let (seen, beside) = path.split_at(path.len() - count);
    let mut unseen = beside.iter().filter(|entry| has_words(entry)).peekable();
    let has_any = unseen.peek().is_some();
    if has_any && unseen.all(|entry| can_be_injected(&entry.body)) { seen } else { path }
}

/// Whether an agent that was not there lacks something without it.
fn has_words(entry: &Entry) -> bool {
    is_heard(&entry.body) && !is_end_without_words(entry)
}

/// How a turn of ours ended to which no agent has said anything.
fn is_end_without_words(entry: &Entry) -> bool {
    entry.turn.is_some()
        && match &entry.body {
            Body::Interrupted(_) => true,
            Body::Reply(reply) => reply.blocks.is_empty(),
            _ => false,
        }
}

/// Turns of a path that no agent has taken: its program was missing, nobody was signed in, or the turn was aborted while
/// it was connected. There is a prompt, perhaps a reply without words that has the failure, and no binding.
struct UntakenTurns<'t>(HashSet<&'t TurnId>);

impl<'t> UntakenTurns<'t> {
    fn of(tree: &SessionTree, path: &[&'t Arc<Entry>]) -> Self {
        let turn = |entry: &&'t Arc<Entry>| entry.turn.as_ref();
        let is_taken = |entry: &&&Arc<Entry>| {
            let has_answer = has_words(entry) && !entry.body.is_prompt();
            tree.binding(&entry.id).is_some() || has_answer
        };
        let taken: HashSet<&TurnId> = path.iter().filter(is_taken).filter_map(turn).collect();
        let prompted = path.iter().filter(|entry| entry.body.is_prompt()).filter_map(turn);
        Self(prompted.filter(|turn| !taken.contains(turn)).collect())
    }

    fn has(&self, entry: &Entry) -> bool {
        entry.turn.as_ref().is_some_and(|turn| self.0.contains(turn))
    }
}

/// Whether an agent that gets it as a message knows what it says. Calls and their results need a transcript, and what
/// makes a branch shorter has no effect in a session that has all of it.
fn can_be_injected(body: &Body) -> bool {
    match body {
        Body::Reply(reply) => reply.tool_uses().next().is_none(),
        Body::Prompt(_)
        | Body::BranchSummary(_)
        | Body::Merge(_)
        | Body::CustomMessage(_)
        | Body::System(_)
        | Body::Shell(_) => true,
        Body::ToolResult(_)
        | Body::Interrupted(_)
        | Body::Compaction(_)
        | Body::Cleared
        | Body::Setting(_)
        | Body::Note(_)
        | Body::ContextEdit(_)
        | Body::Foreign(_) => false,
    }
}

/// The session of this agent in which a path was said, as far as the agent may have seen it.
fn known_to<'t>(
    agent: &HandoffAgent<'_>,
    tree: &'t SessionTree,
    path: &[&'t Arc<Entry>],
) -> Option<Known<'t>> {
    let path = seen_by(agent, tree, path);
    let known = known_session(tree, path).filter(|known| known.agent == Some(agent.name));
    match agent.abilities.entry_ids {
        true => known.or_else(|| known_in_file(tree, path, agent.name)).map(|known| known.named(tree, path)),
        false => known,
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

impl Known<'_> {
    /// Names the last message by its entry, for agents whose ids the entries have: so a point within a turn has a name too.
    fn named(self, tree: &SessionTree, path: &[&Arc<Entry>]) -> Self {
        let message = match self.at {
            At::Tip => path.iter().rev().find(|entry| is_message(&entry.body)).map(|entry| &entry.id),
            At::Within => resume_point(path),
        };
        Self { message: message.map(|id| tree.delivered_as(id).to_string()), ..self }
    }
}

/// Where an agent that uses the ids of entries resumes to know a path: at its last message. A tool call without a result on
/// the path is no such point, because the agent would have to make up the result; then it is the message above the call.
/// `None`: the agent begins a session.
fn resume_point<'t>(path: &[&'t Arc<Entry>]) -> Option<&'t EntryId> {
    let answered: HashSet<&ToolCallId> = path.iter().filter_map(|entry| answered_call(&entry.body)).collect();
    let is_open = |entry: &Arc<Entry>| match &entry.body {
        Body::Reply(reply) => reply.tool_uses().any(|call| !answered.contains(&call.id)),
        _ => false,
    };
    let open = path.iter().position(|entry| is_open(entry)).unwrap_or(path.len());
    // An old call that was never answered does not matter: the agent has continued behind it.
    let behind = path.get(open..).unwrap_or_default();
    let counts = match behind.iter().any(|entry| entry.body.is_prompt()) {
        true => path,
        false => path.get(..open).unwrap_or_default(),
    };
    counts.iter().rev().find(|entry| is_message(&entry.body)).map(|entry| &entry.id)
}

fn answered_call(body: &Body) -> Option<&ToolCallId> {
    if let Body::ToolResult(result) = body { Some(&result.call) } else { None }
}

/// Whether an agent with ids of its own can be asked to resume at it.
fn is_message(body: &Body) -> bool {
    match body {
        Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_) => true,
        Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Merge(_)
        | Body::CustomMessage(_)
        | Body::System(_)
        | Body::Cleared
        | Body::Setting(_)
        | Body::Note(_)
        | Body::ContextEdit(_)
        | Body::Foreign(_)
        | Body::Shell(_) => false,
    }
}

/// The session file that this session refers to, where all of the path was said in it.
fn known_in_file<'t>(tree: &'t SessionTree, path: &[&'t Arc<Entry>], agent: &str) -> Option<Known<'t>> {
    let source = tree.header()?.foreign.as_deref().filter(|source| source.agent == agent)?;
    let here = written_here(tree);
    let is_theirs = |entry: &Entry| entry.turn.is_none() && !here.contains(&entry.id);
    let mut heard = path.iter().filter(|entry| is_heard(&entry.body));
    if !heard.all(|entry| is_theirs(entry)) {
        return None;
    }
    let session = AgentSessionId::from(source.session.as_str());
    let last = path.iter().rfind(|entry| is_heard(&entry.body))?;
    let goes_on = is_continued(tree, &last.id, is_theirs)
        || tree.bindings().any(|(_, other)| other.agent_session.as_ref() == Some(&session));
    let at = if goes_on { At::Within } else { At::Tip };
    Some(Known { agent: Some(source.agent.as_str()), session, at, message: None })
}

/// What was written in this session, and not in the file that it refers to, belongs to a turn or to a step.
fn written_here(tree: &SessionTree) -> HashSet<&EntryId> {
    let of_steps = tree.log().filter(|record| record.operation.is_some());
    of_steps.filter_map(|record| record.as_entry().map(|entry| &entry.id)).collect()
}

/// Whether anything that an agent hears follows an entry, among the entries that count.
fn is_continued(tree: &SessionTree, at: &EntryId, counts: impl Fn(&Entry) -> bool) -> bool {
    let mut below: Vec<&Arc<Entry>> = tree.children(Some(at));
    while let Some(entry) = below.pop() {
        match counts(entry) && is_heard(&entry.body) {
            true => return true,
            // Notes and settings may stand between two messages.
            false if counts(entry) => below.extend(tree.children(Some(&entry.id))),
            false => {}
        }
    }
    false
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
    // A turn that the agent began by itself is bound at its first entry, below the last prompt.
    let turn = [bound, prompt].into_iter().find_map(|at| path.get(at)?.turn.clone());
    let turn = &turn;
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
