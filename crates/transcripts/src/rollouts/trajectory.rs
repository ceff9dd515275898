//! How the paths of a tree are divided into files: every file is one trajectory with one configuration.
//!
//! The trajectory that goes down by the oldest child carries the session's id. Another one begins where a path leaves
//! it, or where the configuration changes behind a message. It is named after its first entry of its own, and its
//! parent is the trajectory that this entry leaves.
//!
//! ```text
//! u1 - a1 - m2 - u3 - a3      s: u1 a1      s_m2, config_change at 1: u1 a1 u3 a3
//!      a1 - u4 - a4           u4 keeps the configuration, so s continues with it: u1 a1 u4 a4
//! ```
//!
//! The configuration is what [`InForce`] says. Where no model was ever chosen, it is the model of the replies, and it
//! changes with the prompt that another model answers.

use std::collections::{HashMap, HashSet};
use std::mem::discriminant;
use std::sync::Arc;

use offshoot_session::edited::edited_messages;
use offshoot_session::in_force::InForce;
use offshoot_session::lineage::{TURN, changed_settings, changes_between, edited_message};
use offshoot_session::versions::repeated_prompts;
use offshoot_session::{
    Body, BranchReason, Entry, EntryId, Lineage, Model, SessionHeader, SessionId, SessionTree,
};

use crate::json::Map;

/// The messages of one file, with its header.
#[derive(Clone, Debug)]
pub(super) struct Trajectory<'t> {
    pub(super) header: SessionHeader,
    /// From the root of the tree: what is shared with the parent, then what is its own.
    pub(super) path: Vec<&'t Arc<Entry>>,
    /// It carries the session's own id.
    pub(super) is_trunk: bool,
}

/// Where a path is cut, and the configuration on both sides.
struct Cut {
    /// The first entry behind it.
    at: usize,
    because: Because,
    /// The trajectory that is left goes on with another child. If not, it ends here.
    is_continued: bool,
    before: InForce,
    /// At the end of the trajectory, as far as the path goes.
    after: InForce,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Because {
    SessionBegins,
    ConfigurationChanges,
    PathLeaves,
}

/// What is asked about the children of one entry on every path through it, found out once for the tree.
struct Siblings<'t> {
    tree: &'t SessionTree,
    oldest: HashMap<Option<&'t EntryId>, &'t Arc<Entry>>,
    /// By parent: the first child that keeps the configuration.
    continuing: HashMap<Option<&'t EntryId>, Option<&'t EntryId>>,
    repeated: HashSet<&'t EntryId>,
    edited: HashSet<&'t EntryId>,
}

impl<'t> Siblings<'t> {
    fn of(tree: &'t SessionTree) -> Self {
        let mut oldest: HashMap<Option<&EntryId>, &Arc<Entry>> = HashMap::new();
        for entry in tree.entries() {
            let parent = tree.parent(&entry.id).map(|parent| &parent.id);
            let first = oldest.entry(parent).or_insert(entry);
            if entry.written_at < first.written_at {
                *first = entry;
            }
        }
        Self {
            tree,
            oldest,
            continuing: HashMap::new(),
            repeated: repeated_prompts(tree),
            edited: edited_messages(tree),
        }
    }

    fn oldest_below(&self, parent: Option<&EntryId>) -> Option<&'t Arc<Entry>> {
        self.oldest.get(&parent).copied()
    }

    /// The path to `parent` alone decides which of its children keep the configuration, so one answer holds for all of
    /// them.
    fn continuing(
        &mut self,
        parent: Option<&'t EntryId>,
        divides: impl Fn(&Self, &Entry) -> bool,
    ) -> Option<&'t EntryId> {
        if let Some(known) = self.continuing.get(&parent) {
            return *known;
        }
        let children = self.tree.children(parent).into_iter();
        let found = children.map(|child| (child, divides(self, child))).find(|(_, divides)| !divides);
        let found = found.map(|(child, _)| &child.id);
        self.continuing.insert(parent, found);
        found
    }
}

/// The trajectory that ends with this entry.
pub(super) fn trajectory_to<'t>(tree: &'t SessionTree, leaf: &EntryId) -> Trajectory<'t> {
    let mut siblings = Siblings::of(tree);
    let path = tree.path_to(Some(leaf));
    let cuts = cuts(&mut siblings, &path);
    trajectory(&siblings, &path, &cuts, cuts.len().saturating_sub(1))
}

/// All trajectories of a tree, each once, in the order in which the paths to its leaves complete them.
pub(super) fn trajectories(tree: &SessionTree) -> Vec<Trajectory<'_>> {
    let mut found: Vec<Trajectory<'_>> = Vec::new();
    let mut known = HashSet::new();
    let mut siblings = Siblings::of(tree);
    for leaf in tree.leaves() {
        let path = tree.path_to(Some(&leaf.id));
        let cuts = cuts(&mut siblings, &path);
        for at in 0..cuts.len() {
            // one that goes on is complete on the path to another leaf
            let is_complete = cuts.get(at + 1).is_none_or(|next| !next.is_continued);
            if is_complete && known.insert(id_at(tree, &path, &cuts, at)) {
                found.push(trajectory(&siblings, &path, &cuts, at));
            }
        }
    }
    found
}

/// The path to an entry in one piece, with the session's own header.
pub(super) fn undivided<'t>(tree: &'t SessionTree, leaf: &EntryId) -> Trajectory<'t> {
    let path = tree.path_to(Some(leaf));
    let header = own_header(tree, &path);
    Trajectory { header, path, is_trunk: true }
}

fn cuts<'t>(siblings: &mut Siblings<'t>, path: &[&'t Arc<Entry>]) -> Vec<Cut> {
    let tree = siblings.tree;
    let mut in_force = InForce::on(tree.header(), []);
    let begins = Cut {
        at: 0,
        because: Because::SessionBegins,
        is_continued: false,
        before: in_force.clone(),
        after: in_force.clone(),
    };
    let mut cuts = vec![begins];
    // what was copied from a parent session ran with whatever configuration
    let mut is_copied = copied_to(tree).is_some_and(|at| path.iter().any(|entry| entry.id == *at));
    let mut has_messages = false;
    for (at, entry) in path.iter().enumerate() {
        let above = at.checked_sub(1).and_then(|above| path.get(above)).map(|above| &above.id);
        // what is chosen before the first message divides nothing
        let divides =
            |siblings: &Siblings<'t>, child: &Entry| has_messages && changes(siblings, &in_force, child);
        let continuing = siblings.continuing(above, divides);
        let is_continued = continuing.is_some();
        let is_divided = divides(siblings, entry);
        if is_divided || continuing.is_some_and(|child| *child != entry.id) {
            let because = if is_divided { Because::ConfigurationChanges } else { Because::PathLeaves };
            let (before, after) = (in_force.clone(), in_force.clone());
            cuts.push(Cut { at, because, is_continued, before, after });
            has_messages = false;
        }
        in_force.pass(&entry.body);
        if let Some(reply) = first_reply(siblings, entry) {
            in_force.pass(&reply.body);
        }
        if let Some(cut) = cuts.last_mut() {
            cut.after.clone_from(&in_force);
        }
        if is_copied {
            is_copied = copied_to(tree) != Some(&entry.id);
        } else {
            has_messages |= is_message(&entry.body);
        }
    }
    cuts
}

/// The last entry that this session shares with its parent session.
fn copied_to(tree: &SessionTree) -> Option<&EntryId> {
    tree.header()?.lineage.as_ref()?.at.as_ref()
}

/// Whether the configuration is another one from this entry on.
fn changes(siblings: &Siblings<'_>, in_force: &InForce, entry: &Entry) -> bool {
    let answered_by = |model: Option<&Model>| {
        let before = in_force.model().filter(|_| in_force.chosen_model().is_none());
        before.zip(model).is_some_and(|(before, model)| before != model)
    };
    match &entry.body {
        Body::Setting(setting) => !in_force.holds(setting),
        Body::Reply(reply) => answered_by(reply.model.as_ref()),
        Body::Prompt(_) => answered_by(first_reply(siblings, entry).and_then(|reply| model_of(&reply.body))),
        _ => false,
    }
}

/// The first reply to a prompt that names its model. It decides with which model the prompt was sent.
fn first_reply<'t>(siblings: &Siblings<'t>, prompt: &Entry) -> Option<&'t Arc<Entry>> {
    let mut at = prompt.body.is_prompt().then(|| siblings.tree.entry(&prompt.id))??;
    loop {
        at = siblings.oldest_below(Some(&at.id))?;
        match &at.body {
            Body::Prompt(_) => return None,
            Body::Reply(reply) if reply.model.is_some() => return Some(at),
            _ => {}
        }
    }
}

fn model_of(body: &Body) -> Option<&Model> {
    match body {
        Body::Reply(reply) => reply.model.as_ref(),
        _ => None,
    }
}

fn trajectory<'t>(
    siblings: &Siblings<'t>,
    path: &[&'t Arc<Entry>],
    cuts: &[Cut],
    at: usize,
) -> Trajectory<'t> {
    let tree = siblings.tree;
    let end = cuts.get(at + 1).map_or(path.len(), |next| next.at);
    let path = path.get(..end).unwrap_or(path);
    let mut header = own_header(tree, path);
    let Some(cut) = cuts.get(at) else { return Trajectory { header, path: path.to_vec(), is_trunk: true } };
    header.model = cut.after.model().cloned();
    let is_trunk = cut.because == Because::SessionBegins;
    if let Some((shared, [first, ..])) = path.split_at_checked(cut.at).filter(|_| !is_trunk) {
        header.id = id_at(tree, path, cuts, at);
        header.opened_at = first.written_at;
        let parent = id_at(tree, path, cuts, at.saturating_sub(1)).to_string();
        header.lineage = Some(lineage(siblings, parent, cut, shared, path.get(cut.at..).unwrap_or_default()));
    }
    Trajectory { header, path: path.to_vec(), is_trunk }
}

fn own_header(tree: &SessionTree, path: &[&Arc<Entry>]) -> SessionHeader {
    let first_time = path.first().map_or(jiff::Timestamp::UNIX_EPOCH, |entry| entry.written_at);
    tree.header().cloned().unwrap_or_else(|| SessionHeader::new("rollout".into(), first_time))
}

fn id_at(tree: &SessionTree, path: &[&Arc<Entry>], cuts: &[Cut], at: usize) -> SessionId {
    let session = tree.header().map_or("rollout", |header| header.id.as_str());
    let cut = cuts.get(at).filter(|cut| cut.because != Because::SessionBegins);
    match cut.and_then(|cut| path.get(cut.at)) {
        Some(first) => format!("{session}_{}", first.id).into(),
        None => session.into(),
    }
}

/// Why a trajectory leaves its parent. `own` begins with the entry behind the cut.
fn lineage<'t>(
    siblings: &Siblings<'t>,
    parent: String,
    cut: &Cut,
    shared: &[&'t Arc<Entry>],
    own: &[&'t Arc<Entry>],
) -> Lineage {
    let messages = shared.iter().filter(|entry| is_message(&entry.body)).count() as u64;
    let prompts = shared.iter().filter(|entry| entry.body.is_prompt()).count();
    let changed = changes_between(&cut.before, &cut.after);
    let is_changed = cut.because == Because::ConfigurationChanges || !changed.is_empty();
    let last_shared = messages.checked_sub(1);
    let (reason, message_index, mut metadata) = match (difference(siblings, shared, own), is_changed) {
        (Difference::Repeated, _) => (BranchReason::Retry, Some(messages), of_turn(prompts + 1)),
        (_, true) => (BranchReason::ConfigChange, last_shared, Map::new()),
        (Difference::Edited { old, new }, false) => {
            let mut metadata = of_turn(prompts + usize::from(new.is_prompt()));
            metadata.extend(edited_message(old, new));
            (BranchReason::MessageEdit, Some(messages), metadata)
        }
        (Difference::AnsweredAgain, false) => (BranchReason::Retry, last_shared, of_turn(prompts)),
        (Difference::Other, false) => (BranchReason::Fork, last_shared, Map::new()),
    };
    if is_changed {
        metadata.extend(changed_settings(&cut.before, &cut.after, &changed));
    }
    let metadata = (!metadata.is_empty()).then_some(metadata.into());
    Lineage { parent, at: None, message_index, reason: Some(reason), metadata }
}

fn of_turn(number: usize) -> Map {
    [(TURN.to_owned(), number.into())].into_iter().collect()
}

/// How a trajectory begins, compared with what is in its place in the tree.
enum Difference<'t> {
    /// The same prompt is sent again.
    Repeated,
    Edited {
        old: &'t Body,
        new: &'t Body,
    },
    /// The same prompt has another answer.
    AnsweredAgain,
    Other,
}

fn difference<'t>(
    siblings: &Siblings<'t>,
    shared: &[&'t Arc<Entry>],
    own: &[&'t Arc<Entry>],
) -> Difference<'t> {
    let Some(first) = own.iter().find(|entry| !matches!(entry.body, Body::Setting(_))) else {
        return Difference::Other;
    };
    let oldest = siblings.oldest_below(shared.last().map(|entry| &entry.id));
    let oldest = oldest.and_then(|oldest| behind_settings(siblings, oldest));
    let oldest = oldest.filter(|oldest| oldest.id != first.id);
    match (&first.body, oldest.map(|oldest| &oldest.body)) {
        (Body::Prompt(prompt), oldest) => {
            let repeats = |body: &Body| matches!(body, Body::Prompt(other) if prompt.says_the_same(other));
            match oldest {
                Some(oldest) if repeats(oldest) => Difference::Repeated,
                _ if siblings.repeated.contains(&first.id) => Difference::Repeated,
                Some(old @ Body::Prompt(_)) => Difference::Edited { old, new: &first.body },
                Some(_) | None => Difference::Other,
            }
        }
        (new, Some(old)) if is_same_role(new, old) && siblings.edited.contains(&first.id) => {
            Difference::Edited { old, new }
        }
        (Body::Reply(_), Some(Body::Reply(_))) => Difference::AnsweredAgain,
        _ => Difference::Other,
    }
}

fn is_same_role(one: &Body, other: &Body) -> bool {
    discriminant(one) == discriminant(other)
}

fn behind_settings<'t>(siblings: &Siblings<'t>, mut entry: &'t Arc<Entry>) -> Option<&'t Arc<Entry>> {
    while matches!(entry.body, Body::Setting(_)) {
        entry = siblings.oldest_below(Some(&entry.id))?;
    }
    Some(entry)
}

/// Headers count messages: what becomes a line of that type.
pub(super) fn is_message(body: &Body) -> bool {
    match body {
        Body::Prompt(_)
        | Body::Reply(_)
        | Body::ToolResult(_)
        | Body::System(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::CustomMessage(_) => true,
        Body::Shell(shell) => !shell.private,
        Body::Merge(merge) => merge.summary.is_some(),
        Body::Interrupted(_)
        | Body::Setting(_)
        | Body::Note(_)
        | Body::Cleared
        | Body::ContextEdit(_)
        | Body::Foreign(_) => false,
    }
}
