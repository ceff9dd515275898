//! Making a long path short: which part a summary stands for, and which stays word for word.
//!
//! Nothing is removed. A compaction is one more entry, and the context reads it instead of what lies before its
//! first kept entry; other branches are not touched. Where to cut is decided by estimates
//! ([`crate::tokens`]), so what stays is about, not exactly, the size that was asked for.
//!
//! What an earlier compaction kept word for word is summarised by the next one, together with the earlier summary:
//! otherwise those messages would be in neither.

mod cut;
mod files;

use std::sync::Arc;

pub use cut::{CutPoint, find_cut_point};
pub(crate) use files::FilesTouched;

use crate::context::{ContextOptions, Edits, Message, Reach, as_compaction, context_of_path};
use crate::render::prompts::with_files;
use crate::tokens::context_tokens;
use crate::{Compaction, Entry, EntryId, FileLists};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionSettings {
    pub enabled: bool,
    /// Room in the window for the answer and for the summary itself.
    pub reserve_tokens: i64,
    /// About how much stays word for word.
    pub keep_recent_tokens: i64,
}

/// Everything that is needed to ask for the summary, and to write the compaction once it is there.
#[derive(Clone, Debug, PartialEq)]
pub struct CompactionPreparation {
    pub first_kept: EntryId,
    pub messages_to_summarize: Vec<Message>,
    /// The beginning of the turn whose end is kept; it gets a summary of its own.
    pub turn_prefix: Vec<Message>,
    pub is_split_turn: bool,
    pub tokens_before: i64,
    pub previous_summary: Option<String>,
    pub files: FileLists,
}

pub fn should_compact(context_tokens: i64, window: i64, settings: &CompactionSettings) -> bool {
    settings.enabled && context_tokens > window.saturating_sub(settings.reserve_tokens)
}

/// `None` where there is nothing to do: nothing was said since the last compaction, or at all.
pub fn prepare_compaction(
    path: &[&Arc<Entry>],
    settings: &CompactionSettings,
) -> Option<CompactionPreparation> {
    if as_compaction(path.last()?).is_some() {
        return None;
    }
    let reach = Reach::of(path);
    let previous = reach.compaction.and_then(|at| as_compaction(path.get(at)?));
    let start = if reach.compaction == Some(reach.start) { reach.start + 1 } else { reach.start };
    // From here on the path is what the model reads: omitted entries are neither counted nor summarised.
    let edits = Edits::of(path.iter().copied());
    let read: Vec<Arc<Entry>> = path.iter().skip(start).filter_map(|entry| edits.apply(entry)).collect();
    let path_read: Vec<&Arc<Entry>> = read.iter().collect();
    let cut = find_cut_point(&path_read, 0, path_read.len(), settings.keep_recent_tokens);
    let first_kept = path_read.get(cut.first_kept_index)?.id.clone();
    let history_end = cut.turn_start_index.unwrap_or(cut.first_kept_index);
    let messages_to_summarize = messages_between(&path_read, 0, history_end);
    let turn_prefix = messages_between(&path_read, history_end, cut.first_kept_index);

    let mut files = FilesTouched::default();
    if let Some(previous) = previous.filter(|previous| !previous.from_extension) {
        files.carry_on(&previous.files);
    }
    messages_to_summarize.iter().chain(&turn_prefix).for_each(|message| files.read_calls_of(message));

    Some(CompactionPreparation {
        first_kept,
        messages_to_summarize,
        turn_prefix,
        is_split_turn: cut.is_split_turn(),
        tokens_before: tokens_of(path),
        previous_summary: previous.map(|previous| previous.summary.clone()),
        files: files.lists(),
    })
}

/// The compaction to write. `turn_prefix` is the summary of [`CompactionPreparation::turn_prefix`].
pub fn compacted(
    preparation: &CompactionPreparation,
    summary: &str,
    turn_prefix: Option<&str>,
) -> Compaction {
    let summary = match turn_prefix {
        Some(prefix) => {
            format!("{summary}\n\n---\n\nThe turn that goes on below began like this:\n\n{prefix}")
        }
        None => summary.to_owned(),
    };
    Compaction {
        summary: with_files(&summary, &preparation.files),
        first_kept: Some(preparation.first_kept.clone()),
        tokens_before: preparation.tokens_before,
        files: preparation.files.clone(),
        details: None,
        from_extension: false,
        usage: None,
        system: None,
    }
}

fn messages_between(path: &[&Arc<Entry>], start: usize, end: usize) -> Vec<Message> {
    let stretch = path.get(start..end).unwrap_or_default().iter();
    let spoken = stretch.filter(|entry| as_compaction(entry).is_none());
    spoken.filter_map(|entry| Message::from_entry(entry)).collect()
}

/// A reply tells how full the window was even while its calls are unanswered, so nothing is left out here.
fn tokens_of(path: &[&Arc<Entry>]) -> i64 {
    context_tokens(&context_of_path(path, &ContextOptions::pi()).messages).tokens
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self { enabled: true, reserve_tokens: 16_384, keep_recent_tokens: 20_000 }
    }
}
