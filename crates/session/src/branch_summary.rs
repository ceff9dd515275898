//! What is left behind when a head moves, prepared for a summary.
//!
//! The summary becomes one entry below the new position, so the branch that goes on knows what the other one
//! found out. The branch itself stays where it is.

use std::collections::HashSet;
use std::sync::Arc;

use crate::compaction::FilesTouched;
use crate::context::{Edits, Message};
use crate::render::prompts::with_files;
use crate::tokens::estimate;
use crate::{Body, BranchSummary, Entry, EntryId, FileLists, SessionTree};

/// The stretch from where two branches part to the old tip, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LeftBehind<'t> {
    pub entries: Vec<&'t Arc<Entry>>,
    /// The deepest entry on both paths; `None` where they share nothing.
    pub common_ancestor: Option<EntryId>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BranchPreparation {
    /// Oldest first.
    pub messages: Vec<Message>,
    pub total_tokens: i64,
    pub files: FileLists,
}

/// Compactions on the way do not stop it: their summaries are part of what is left behind.
pub fn collect_left_behind<'t>(
    tree: &'t SessionTree,
    from: Option<&EntryId>,
    to: &EntryId,
) -> LeftBehind<'t> {
    let old_path = tree.path_to(from);
    if old_path.is_empty() {
        return LeftBehind::default();
    }
    let old_ids: HashSet<&EntryId> = old_path.iter().map(|entry| &entry.id).collect();
    let new_path = tree.path_to(Some(to));
    let common_ancestor = new_path.iter().rev().map(|entry| &entry.id).find(|id| old_ids.contains(id));
    let shared = old_path.iter().position(|entry| Some(&entry.id) == common_ancestor).map_or(0, |at| at + 1);
    LeftBehind {
        entries: old_path.into_iter().skip(shared).collect(),
        common_ancestor: common_ancestor.cloned(),
    }
}

/// Takes messages from the newest back until `token_budget` would be passed; 0 sets no limit. What does not fit is
/// the oldest part, except that an earlier summary is still taken while a tenth of the budget is free: it stands
/// for all that lies before it.
///
/// Results of tools are left out, the calls say enough.
pub fn prepare_branch_summary(entries: &[&Arc<Entry>], token_budget: i64) -> BranchPreparation {
    let mut files = FilesTouched::default();
    for entry in entries {
        if let Body::BranchSummary(nested) = &entry.body
            && !nested.from_extension
        {
            files.carry_on(&nested.files);
        }
    }
    let mut messages = Vec::new();
    let mut total_tokens: i64 = 0;
    let edits = Edits::of(entries.iter().copied());
    let read = entries.iter().rev().filter_map(|entry| edits.apply(entry));
    for message in read.filter_map(|entry| Message::from_entry(&entry)) {
        if !is_worth_telling(&message.entry.body) {
            continue;
        }
        files.read_calls_of(&message);
        let tokens = estimate(&message);
        let fits = token_budget <= 0 || total_tokens + tokens <= token_budget;
        let has_room = total_tokens.saturating_mul(10) < token_budget.saturating_mul(9);
        if fits || (is_summary(&message.entry.body) && has_room) {
            messages.push(message);
            total_tokens += tokens;
        }
        if !fits {
            break;
        }
    }
    messages.reverse();
    BranchPreparation { messages, total_tokens, files: files.lists() }
}

/// The entry to write below the new position. `from` is that position, `left` the old tip.
pub fn summarized(
    preparation: &BranchPreparation,
    summary: &str,
    from: Option<EntryId>,
    left: Option<EntryId>,
) -> BranchSummary {
    BranchSummary {
        summary: with_files(summary, &preparation.files),
        from,
        left,
        files: preparation.files.clone(),
        details: None,
        from_extension: false,
        usage: None,
    }
}

fn is_worth_telling(body: &Body) -> bool {
    !matches!(body, Body::ToolResult(_) | Body::System(_))
}

fn is_summary(body: &Body) -> bool {
    matches!(body, Body::Compaction(_) | Body::BranchSummary(_))
}
