//! Going to an entry picked in the tree, if wished with a summary of what is left behind.
//!
//! It takes two steps, because a summary takes time and may be called off: [`plan_navigation`] says what would
//! happen, [`Navigation::into_plan`] makes it records. Nothing has moved in between; to cancel is to drop the
//! [`Navigation`].

use serde_json::Value;
use thiserror::Error;

use super::Plan;
use super::switch::{SwitchRefused, require_place};
use crate::branch_summary::collect_left_behind;
use crate::{Body, BranchSummary, Entry, EntryId, FileLists, HeadName, SessionTree, Stamps};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryChoice {
    NoSummary,
    Summarize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Navigation {
    /// The head is there already.
    NoOp,
    Move {
        /// `None` is before the first entry.
        to: Option<EntryId>,
        /// The words of the entry that was picked, to be changed and sent again.
        editor_text: Option<String>,
        /// The last entry on both ways: to the old tip and to the entry that was picked.
        common_ancestor: Option<EntryId>,
        /// The old way below the common ancestor, downwards.
        to_summarize: Vec<EntryId>,
        /// A summary was asked for and there is something to summarise.
        wants_summary: bool,
    },
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum NavigationRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
    #[error("there is no model to write the summary")]
    NoModel,
}

/// A summary of what was left, ready to be kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenSummary {
    pub summary: String,
    pub files: FileLists,
    /// What an extension attached.
    pub details: Option<Value>,
    pub from_extension: bool,
}

/// Picking words that can be said again, a prompt or a message of an extension, goes to the place before them and
/// gives the words back. Picking anything else goes to it.
pub fn plan_navigation(
    tree: &SessionTree,
    head: &HeadName,
    target: &EntryId,
    summary: SummaryChoice,
    has_model: bool,
) -> Result<Navigation, NavigationRefused> {
    let entry = tree.entry(target).ok_or_else(|| NavigationRefused::NotFound(target.clone()))?;
    going(tree, head, target, landing(tree, entry), summary, has_model)
}

/// Goes exactly to an entry, whatever it is.
pub fn plan_navigation_to(
    tree: &SessionTree,
    head: &HeadName,
    to: &EntryId,
    summary: SummaryChoice,
    has_model: bool,
) -> Result<Navigation, NavigationRefused> {
    if !tree.contains(to) {
        return Err(NavigationRefused::NotFound(to.clone()));
    }
    going(tree, head, to, (Some(to.clone()), None), summary, has_model)
}

fn going(
    tree: &SessionTree,
    head: &HeadName,
    target: &EntryId,
    (to, editor_text): (Option<EntryId>, Option<String>),
    summary: SummaryChoice,
    has_model: bool,
) -> Result<Navigation, NavigationRefused> {
    if !tree.has_head(head) {
        return Err(NavigationRefused::UnknownHead(head.clone()));
    }
    let old_tip = tree.head(head);
    if old_tip == Some(target) {
        return Ok(Navigation::NoOp);
    }
    let left = collect_left_behind(tree, old_tip, target);
    let to_summarize: Vec<EntryId> = left.entries.iter().map(|entry| entry.id.clone()).collect();
    let wants_summary = summary == SummaryChoice::Summarize && !to_summarize.is_empty();
    if wants_summary && !has_model {
        return Err(NavigationRefused::NoModel);
    }
    Ok(Navigation::Move {
        to,
        editor_text,
        common_ancestor: left.common_ancestor,
        to_summarize,
        wants_summary,
    })
}

/// One summary below `at`, and the head upon it.
pub fn branch_with_summary(
    tree: &SessionTree,
    head: &HeadName,
    at: Option<&EntryId>,
    summary: WrittenSummary,
    stamps: &mut dyn Stamps,
) -> Result<Plan, SwitchRefused> {
    require_place(tree, head, at)?;
    Ok(arrive_with_summary(tree, head, at.cloned(), summary, stamps))
}

impl Navigation {
    /// `None` where nothing would change: the head stands there, and there is no summary to keep.
    pub fn into_plan(
        self,
        tree: &SessionTree,
        head: &HeadName,
        summary: Option<WrittenSummary>,
        stamps: &mut dyn Stamps,
    ) -> Option<Plan> {
        let Self::Move { to, .. } = self else { return None };
        if let Some(summary) = summary {
            return Some(arrive_with_summary(tree, head, to, summary, stamps));
        }
        if tree.head(head) == to.as_ref() {
            return None;
        }
        let mut plan = Plan::named("navigate", stamps);
        plan.move_head(tree, head, to, stamps);
        Some(plan)
    }
}

/// The summary hangs below the new place, not at the tail that was left: only who goes on from here reads it.
fn arrive_with_summary(
    tree: &SessionTree,
    head: &HeadName,
    at: Option<EntryId>,
    summary: WrittenSummary,
    stamps: &mut dyn Stamps,
) -> Plan {
    let WrittenSummary { summary, files, details, from_extension } = summary;
    let left = tree.head(head).cloned();
    let body = BranchSummary { summary, from: at.clone(), left, files, details, from_extension, usage: None };
    let mut plan = Plan::named("navigate with summary", stamps);
    let entry = plan.write(at, None, Body::BranchSummary(body), stamps);
    plan.move_head(tree, head, Some(entry), stamps);
    plan
}

fn landing(tree: &SessionTree, entry: &Entry) -> (Option<EntryId>, Option<String>) {
    match &entry.body {
        Body::Prompt(_) | Body::CustomMessage(_) => {
            (tree.parent(&entry.id).map(|parent| parent.id.clone()), Some(entry.body.text()))
        }
        Body::Reply(_)
        | Body::ToolResult(_)
        | Body::Shell(_)
        | Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Setting(_)
        | Body::Merge(_)
        | Body::Note(_)
        | Body::System(_)
        | Body::Cleared
        | Body::ContextEdit(_)
        | Body::Foreign(_) => (Some(entry.id.clone()), None),
    }
}
