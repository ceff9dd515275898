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

use std::collections::HashSet;
use std::sync::Arc;

use offshoot_session::in_force::InForce;
use offshoot_session::lineage::{TURN, changed_settings, changes_between, edited_text};
use offshoot_session::versions::versions_of;
use offshoot_session::{
    Body, BranchReason, Entry, EntryId, Lineage, Model, Prompt, SessionHeader, SessionId, SessionTree,
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

/// The trajectory that ends with this entry.
pub(super) fn trajectory_to<'t>(tree: &'t SessionTree, leaf: &EntryId) -> Trajectory<'t> {
    let path = tree.path_to(Some(leaf));
    let cuts = cuts(tree, &path);
    trajectory(tree, &path, &cuts, cuts.len().saturating_sub(1))
}

/// All trajectories of a tree, each once, in the order in which the paths to its leaves complete them.
pub(super) fn trajectories(tree: &SessionTree) -> Vec<Trajectory<'_>> {
    let mut found: Vec<Trajectory<'_>> = Vec::new();
    let mut known = HashSet::new();
    for leaf in tree.leaves() {
        let path = tree.path_to(Some(&leaf.id));
        let cuts = cuts(tree, &path);
        for at in 0..cuts.len() {
            // one that goes on is complete on the path to another leaf
            let is_complete = cuts.get(at + 1).is_none_or(|next| !next.is_continued);
            if is_complete && known.insert(id_at(tree, &path, &cuts, at)) {
                found.push(trajectory(tree, &path, &cuts, at));
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

fn cuts(tree: &SessionTree, path: &[&Arc<Entry>]) -> Vec<Cut> {
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
        let divides = |child: &Entry| has_messages && changes(tree, &in_force, child);
        let siblings = tree.children(above);
        let continuing = siblings.iter().find(|child| !divides(child));
        let is_continued = continuing.is_some();
        if divides(entry) || continuing.is_some_and(|child| child.id != entry.id) {
            let because = if divides(entry) { Because::ConfigurationChanges } else { Because::PathLeaves };
            let (before, after) = (in_force.clone(), in_force.clone());
            cuts.push(Cut { at, because, is_continued, before, after });
            has_messages = false;
        }
        in_force.pass(&entry.body);
        if let Some(reply) = first_reply(tree, entry) {
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
fn changes(tree: &SessionTree, in_force: &InForce, entry: &Entry) -> bool {
    let answered_by = |model: Option<&Model>| {
        let before = in_force.model().filter(|_| in_force.chosen_model().is_none());
        before.zip(model).is_some_and(|(before, model)| before != model)
    };
    match &entry.body {
        Body::Setting(setting) => !in_force.holds(setting),
        Body::Reply(reply) => answered_by(reply.model.as_ref()),
        Body::Prompt(_) => answered_by(first_reply(tree, entry).and_then(|reply| model_of(&reply.body))),
        _ => false,
    }
}

/// The first reply to a prompt that names its model. It decides with which model the prompt was sent.
fn first_reply<'t>(tree: &'t SessionTree, prompt: &Entry) -> Option<&'t Arc<Entry>> {
    let mut at = prompt.body.is_prompt().then(|| tree.entry(&prompt.id))??;
    loop {
        at = tree.children(Some(&at.id)).first().copied()?;
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

fn trajectory<'t>(tree: &'t SessionTree, path: &[&'t Arc<Entry>], cuts: &[Cut], at: usize) -> Trajectory<'t> {
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
        header.lineage = Some(lineage(tree, parent, cut, shared, path.get(cut.at..).unwrap_or_default()));
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
fn lineage(
    tree: &SessionTree,
    parent: String,
    cut: &Cut,
    shared: &[&Arc<Entry>],
    own: &[&Arc<Entry>],
) -> Lineage {
    let messages = shared.iter().filter(|entry| is_message(&entry.body)).count() as u64;
    let prompts = shared.iter().filter(|entry| entry.body.is_prompt()).count();
    let changed = changes_between(&cut.before, &cut.after);
    let is_changed = cut.because == Because::ConfigurationChanges || !changed.is_empty();
    let last_shared = messages.checked_sub(1);
    let (reason, message_index, mut metadata) = match (difference(tree, shared, own), is_changed) {
        (Difference::Repeated, _) => (BranchReason::Retry, Some(messages), of_turn(prompts + 1)),
        (_, true) => (BranchReason::ConfigChange, last_shared, Map::new()),
        (Difference::Edited { old, new }, false) => {
            let mut metadata = of_turn(prompts + 1);
            metadata.extend(edited_text(&old, &new));
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
enum Difference {
    /// The same prompt is sent again.
    Repeated,
    Edited {
        old: String,
        new: String,
    },
    /// The same prompt has another answer.
    AnsweredAgain,
    Other,
}

fn difference(tree: &SessionTree, shared: &[&Arc<Entry>], own: &[&Arc<Entry>]) -> Difference {
    let Some(first) = own.iter().find(|entry| !matches!(entry.body, Body::Setting(_))) else {
        return Difference::Other;
    };
    let oldest = tree.children(shared.last().map(|entry| &entry.id)).first().copied();
    let oldest = oldest.and_then(|oldest| behind_settings(tree, oldest));
    let oldest = oldest.filter(|oldest| oldest.id != first.id);
    match (&first.body, oldest.map(|oldest| &oldest.body)) {
        (Body::Prompt(prompt), oldest) => {
            let earlier = versions_of(tree, &first.id).into_iter().take_while(|other| other.id != first.id);
            let says_the_same = |body: &Body| matches!(body, Body::Prompt(other) if is_same(prompt, other));
            match oldest {
                Some(oldest) if says_the_same(oldest) => Difference::Repeated,
                _ if earlier.into_iter().any(|other| says_the_same(&other.body)) => Difference::Repeated,
                Some(old @ Body::Prompt(_)) => Difference::Edited { old: old.text(), new: first.body.text() },
                Some(_) | None => Difference::Other,
            }
        }
        (Body::Reply(_), Some(Body::Reply(_))) => Difference::AnsweredAgain,
        _ => Difference::Other,
    }
}

fn is_same(one: &Prompt, other: &Prompt) -> bool {
    one.blocks == other.blocks && one.attachments == other.attachments
}

fn behind_settings<'t>(tree: &'t SessionTree, mut entry: &'t Arc<Entry>) -> Option<&'t Arc<Entry>> {
    while matches!(entry.body, Body::Setting(_)) {
        entry = tree.children(Some(&entry.id)).first().copied()?;
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
