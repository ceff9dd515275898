//! A session out of a part of another one.
//!
//! The copy is complete in itself and keeps the ids of the entries, so two sessions of one origin can be compared
//! and united. It keeps what was said and how it was named; steps and costs belong to the origin. So do the agent's own
//! sessions: they are named here as inherited, so that an agent that can fork them need not be told the branch as text.
//!
//! ```text
//! u1 - a1 - u2 - a2      fork at a1:      u1 - a1*
//!      a1 - u3 - a3*     fork before u3:  u1 - a1*
//! ```

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use thiserror::Error;

use super::child_title::child_title;
use crate::in_force::InForce;
use crate::versions::slot_place;
use crate::{
    Binding, Body, BranchReason, Change, Entry, EntryId, Fact, HeadMove, HeadName, Lineage, RawLine, Record,
    SessionHeader, SessionId, SessionTree, Stamps, TitleSource, TurnId,
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fork {
    pub scope: ForkScope,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ForkScope {
    /// The way to one message; `None` is where the main head stands.
    Branch { at: Option<EntryId>, position: ForkPosition },
    /// Every branch, with all heads.
    Tree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkPosition {
    At,
    /// Without the message itself, to say something else in its place.
    Before,
}

/// The journal of a session that does not exist yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewSession {
    pub id: SessionId,
    pub records: Vec<Record>,
    /// Where its main head stands.
    pub head: Option<EntryId>,
}

/// The place above a prompt, to say something else there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeforePrompt {
    pub prompt: EntryId,
    /// The settings of that version excluded; `None` is before the first entry.
    pub place: Option<EntryId>,
    /// The text of the prompt, to be changed and sent again.
    pub editor_text: String,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ForkRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("entry `{0}` is not a message")]
    NotAMessage(EntryId),
    /// Asked for the place before it: an answer is left as a whole, with its prompt.
    #[error("entry `{0}` is inside a turn")]
    InsideTurn(EntryId),
}

pub fn fork_records(
    tree: &SessionTree,
    fork: &Fork,
    stamps: &mut dyn Stamps,
) -> Result<NewSession, ForkRefused> {
    match &fork.scope {
        ForkScope::Branch { at, position } => {
            let Some(at) = at.as_ref().or_else(|| tree.main_head()) else {
                return Ok(copy_path(tree, None, Copied::as_fork(tree), stamps));
            };
            let entry = tree.entry(at).ok_or_else(|| ForkRefused::NotFound(at.clone()))?;
            if !is_message(&entry.body) {
                return Err(ForkRefused::NotAMessage(at.clone()));
            }
            let leaf = match position {
                ForkPosition::At => Some(at),
                ForkPosition::Before => tree.parent(at).map(|parent| &parent.id),
            };
            Ok(copy_path(tree, leaf, Copied::as_fork(tree), stamps))
        }
        ForkScope::Tree => Ok(copy_tree(tree, stamps)),
    }
}

/// The path to any entry as a new session, named after its parent; `None` is a session without history.
pub fn branched_session(
    tree: &SessionTree,
    leaf: Option<&EntryId>,
    stamps: &mut dyn Stamps,
) -> Result<NewSession, ForkRefused> {
    match leaf {
        Some(leaf) if !tree.contains(leaf) => Err(ForkRefused::NotFound(leaf.clone())),
        Some(_) | None => {
            let title = child_title(tree, "fork");
            Ok(copy_path(tree, leaf, Copied { title, ..Copied::as_fork(tree) }, stamps))
        }
    }
}

/// Where a fork before a prompt begins.
pub fn before_prompt(tree: &SessionTree, at: &EntryId) -> Result<BeforePrompt, ForkRefused> {
    let entry = tree.entry(at).ok_or_else(|| ForkRefused::NotFound(at.clone()))?;
    if !entry.body.is_prompt() {
        let is_answer = is_message(&entry.body) || matches!(entry.body, Body::Interrupted(_));
        let why = if is_answer { ForkRefused::InsideTurn } else { ForkRefused::NotAMessage };
        return Err(why(at.clone()));
    }
    let (place, editor_text) = (slot_place(tree, at), entry.body.text());
    Ok(BeforePrompt { prompt: at.clone(), place, editor_text })
}

/// Why a copy is made, as its header tells, and what its header has of its own.
pub(super) struct Copied<'c> {
    pub(super) reason: BranchReason,
    pub(super) metadata: Option<Value>,
    /// With what it begins; `None` as in the origin.
    pub(super) in_force: Option<&'c InForce>,
    /// It branches at the message behind the last one it shares.
    pub(super) begins_at_next_message: bool,
    pub(super) title: Option<(String, TitleSource)>,
}

impl Copied<'_> {
    fn as_fork(tree: &SessionTree) -> Self {
        let source = if tree.title_is_by_user() { TitleSource::User } else { TitleSource::Auto };
        let title = tree.title().map(|title| (title.to_owned(), source));
        let reason = BranchReason::Fork;
        Self { reason, metadata: None, in_force: None, begins_at_next_message: false, title }
    }
}

pub(super) fn copy_path(
    tree: &SessionTree,
    leaf: Option<&EntryId>,
    copied: Copied<'_>,
    stamps: &mut dyn Stamps,
) -> NewSession {
    let mut copy = Copy::begin(tree, leaf, copied, stamps);
    let mut parent = None;
    for entry in tree.path_to(leaf) {
        copy.entry(entry, parent.replace(entry.id.clone()));
    }
    copy.facts(stamps);
    copy.place_head(HeadName::main(), leaf, stamps);
    copy.session
}

fn copy_tree(tree: &SessionTree, stamps: &mut dyn Stamps) -> NewSession {
    let mut copy = Copy::begin(tree, tree.main_head(), Copied::as_fork(tree), stamps);
    for entry in tree.entries() {
        copy.entry(entry, tree.parent(&entry.id).map(|parent| parent.id.clone()));
    }
    copy.facts(stamps);
    for (name, at) in tree.heads() {
        copy.place_head(name, at, stamps);
    }
    copy.session
}

/// A copy in the making.
struct Copy<'t> {
    tree: &'t SessionTree,
    sources: HashMap<&'t EntryId, &'t RawLine>,
    kept: HashSet<&'t EntryId>,
    turns: Vec<&'t TurnId>,
    title: Option<(String, TitleSource)>,
    session: NewSession,
}

impl<'t> Copy<'t> {
    fn begin(
        tree: &'t SessionTree,
        last_shared: Option<&EntryId>,
        copied: Copied<'_>,
        stamps: &mut dyn Stamps,
    ) -> Self {
        let id = stamps.session_id();
        let mut header = SessionHeader::new(id.clone(), stamps.now());
        if let Some(origin) = tree.header() {
            header.project = origin.project.clone();
            header.agent = match copied.in_force {
                Some(in_force) => in_force.agent().map(str::to_owned),
                None => origin.agent.clone(),
            };
            header.model = match copied.in_force {
                Some(in_force) => in_force.chosen_model().cloned(),
                None => origin.model.clone(),
            };
            let messages = messages_to(tree, last_shared);
            header.lineage = Some(Lineage {
                parent: origin.id.to_string(),
                at: last_shared.cloned(),
                message_index: match copied.begins_at_next_message {
                    true => Some(messages),
                    false => messages.checked_sub(1),
                },
                reason: Some(copied.reason),
                metadata: copied.metadata,
            });
        }
        let session = NewSession { id, records: vec![Record::opened(header)], head: None };
        let (kept, turns, title) = (HashSet::new(), Vec::new(), copied.title);
        Self { tree, sources: sources(tree), kept, turns, title, session }
    }

    /// Below its nearest ancestor in the copy. The line it was read from names the old parent: where that is
    /// another one, the line would pull the entry out of its place, so it is left behind.
    fn entry(&mut self, entry: &'t Entry, parent: Option<EntryId>) {
        let source = self.sources.get(&entry.id).filter(|_| entry.parent == parent);
        let mut record = Record::entry(Entry { parent, ..entry.clone() });
        record.source = source.map(|line| (*line).clone());
        self.session.records.push(record);
        self.kept.insert(&entry.id);
        self.turns.extend(entry.turn.as_ref());
    }

    /// What is known about the entries of the copy, and the title.
    fn facts(&mut self, stamps: &mut dyn Stamps) {
        let tree = self.tree;
        let mut facts = Vec::new();
        if let Some((title, source)) = self.title.take() {
            facts.push(Fact::Title { title: Some(title), source });
        }
        for (target, label) in tree.labels() {
            facts.push(Fact::Label { target: target.clone(), label: Some(label.to_owned()) });
        }
        for (at, name) in tree.branch_names() {
            facts.push(Fact::BranchName { at: at.clone(), name: Some(name.to_owned()) });
        }
        for entry in tree.entries() {
            let id = &entry.id;
            if let Some(snapshot) = tree.checkpoint(id) {
                facts.push(Fact::Checkpoint { at: id.clone(), snapshot: snapshot.to_owned() });
            }
            if tree.is_archived(id) {
                facts.push(Fact::Archived { target: id.clone(), archived: true });
            }
        }
        facts.extend(self.inherited());
        facts.retain(|fact| fact.target().is_none_or(|target| self.kept.contains(target)));
        // A turn that ended there must not look unfinished here.
        self.turns.dedup();
        for turn in self.turns.iter().filter(|turn| tree.turn_ended(turn)) {
            facts.push(Fact::TurnEnded { turn: (*turn).clone() });
        }
        self.session.records.extend(facts.into_iter().map(|fact| Record::marked(stamps.now(), fact)));
    }

    /// The agent's sessions of turns that came to their end and are here as a whole: of any other turn the agent knows
    /// more than the copy.
    fn inherited(&self) -> Vec<Fact> {
        let tree = self.tree;
        let left = tree.entries().filter(|entry| !self.kept.contains(&entry.id));
        let cut: HashSet<&TurnId> = left.filter_map(|entry| entry.turn.as_ref()).collect();
        let is_whole = |turn: &&TurnId| tree.turn_ended(turn) && !cut.contains(turn);
        let inherited = tree.entries().filter_map(|entry| {
            entry.turn.as_ref().filter(is_whole)?;
            inherited_binding(&entry.id, tree.binding(&entry.id)?)
        });
        inherited.collect()
    }

    fn place_head(&mut self, head: HeadName, at: Option<&EntryId>, stamps: &mut dyn Stamps) {
        let is_main = head == HeadName::main();
        if is_main {
            self.session.head = at.cloned();
        }
        if at.is_some() || !is_main {
            let head_move = HeadMove { head, moved_at: stamps.now(), from: None, to: at.cloned() };
            self.session.records.push(Record::head_moved(head_move));
        }
    }
}

/// The agent's own session at an entry, as a copy of the entry has it. `None`: the agent has none.
pub fn inherited_binding(at: &EntryId, binding: &Binding) -> Option<Fact> {
    let Binding { agent_session, provenance, last_message, agent, missing, inherited: _, model } =
        binding.clone();
    let (at, agent_session) = (at.clone(), Some(agent_session?));
    Some(Fact::Bound { at, agent_session, provenance, last_message, agent, missing, inherited: true, model })
}

/// The line each entry was read from.
fn sources(tree: &SessionTree) -> HashMap<&EntryId, &RawLine> {
    let mut sources = HashMap::new();
    for record in tree.log() {
        if let (Change::Entry(entry), Some(line)) = (&record.change, &record.source) {
            sources.entry(&entry.id).or_insert(line);
        }
    }
    sources
}

/// So many messages are on the path.
fn messages_to(tree: &SessionTree, at: Option<&EntryId>) -> u64 {
    tree.path_to(at).into_iter().filter(|entry| is_message(&entry.body)).count() as u64
}

/// Said by the person, the agent or a tool.
fn is_message(body: &Body) -> bool {
    match body {
        Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_) | Body::Shell(_) => true,
        Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Setting(_)
        | Body::Merge(_)
        | Body::CustomMessage(_)
        | Body::Note(_)
        | Body::System(_)
        | Body::Cleared
        | Body::ContextEdit(_)
        | Body::Foreign(_) => false,
    }
}
