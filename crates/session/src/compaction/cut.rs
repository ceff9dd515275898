//! Where to cut a path.

use std::sync::Arc;

use crate::context::Message;
use crate::tokens::estimate;
use crate::{Body, Entry};

/// Indices into the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CutPoint {
    pub first_kept_index: usize,
    /// Where the turn began whose end is kept; `None` where the cut lies between turns.
    pub turn_start_index: Option<usize>,
}

impl CutPoint {
    pub fn is_split_turn(&self) -> bool {
        self.turn_start_index.is_some()
    }
}

/// What an entry is to the cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Counted, and a clean place to begin.
    Prompt,
    /// Counted, a place to begin, and the start of a turn all the same.
    Shell,
    /// Counted, a place to begin in the middle of a turn.
    Reply,
    /// Counted, but never without the call before it.
    ToolResult,
    /// Read as the user's words, a place to begin; goes with the message behind it and is not counted.
    Aside,
    /// Not read; goes with the message behind it.
    Silent,
    /// Nothing goes over this.
    Boundary,
}

/// Keeps about `keep_recent_tokens` of `path[start..end]`.
///
/// Goes back from the end until the messages seen fill the budget, and cuts at the first possible place from
/// there on: never between a call and its result. Where everything fits, the cut is before the first message.
/// Settings, notes and summaries directly before the cut are kept too, since they speak about what follows.
pub fn find_cut_point(path: &[&Arc<Entry>], start: usize, end: usize, keep_recent_tokens: i64) -> CutPoint {
    let range = path.get(start..end.min(path.len())).unwrap_or_default();
    let Some(cut) = first_place_within(range, keep_recent_tokens) else {
        return CutPoint { first_kept_index: start, turn_start_index: None };
    };
    let cut = cut - goes_with_the_next(range, cut);
    let turn_start = turn_start_of(range, cut);
    CutPoint { first_kept_index: start + cut, turn_start_index: turn_start.map(|at| start + at) }
}

fn first_place_within(range: &[&Arc<Entry>], budget: i64) -> Option<usize> {
    let first_place = range.iter().position(|entry| can_begin(part(entry)))?;
    let mut tokens: i64 = 0;
    let mut place = None;
    for (at, entry) in range.iter().enumerate().rev() {
        if can_begin(part(entry)) {
            place = Some(at);
        }
        if is_counted(part(entry)) {
            tokens += Message::from_entry(entry).as_ref().map_or(0, estimate);
            if tokens >= budget {
                return Some(place.unwrap_or(first_place));
            }
        }
    }
    Some(first_place)
}

/// How many entries directly before the cut belong to what follows.
fn goes_with_the_next(range: &[&Arc<Entry>], cut: usize) -> usize {
    let before = range.iter().take(cut).rev();
    before.take_while(|entry| matches!(part(entry), Part::Aside | Part::Silent)).count()
}

/// Judged at the first message that is kept: a setting before a prompt does not split a turn.
fn turn_start_of(range: &[&Arc<Entry>], cut: usize) -> Option<usize> {
    let first_message = range.iter().skip(cut).position(|entry| part(entry) != Part::Silent)? + cut;
    if range.get(first_message).is_some_and(|entry| part(entry) == Part::Prompt) {
        return None;
    }
    let up_to_it = range.iter().take(first_message + 1);
    up_to_it.rev().position(|entry| starts_turn(part(entry))).map(|back| first_message - back)
}

fn can_begin(part: Part) -> bool {
    matches!(part, Part::Prompt | Part::Shell | Part::Reply | Part::Aside)
}

fn is_counted(part: Part) -> bool {
    matches!(part, Part::Prompt | Part::Shell | Part::Reply | Part::ToolResult)
}

fn starts_turn(part: Part) -> bool {
    matches!(part, Part::Prompt | Part::Shell | Part::Aside)
}

fn part(entry: &Entry) -> Part {
    match &entry.body {
        Body::Prompt(_) => Part::Prompt,
        Body::Shell(_) => Part::Shell,
        Body::Reply(_) => Part::Reply,
        Body::ToolResult(_) => Part::ToolResult,
        Body::BranchSummary(_) | Body::CustomMessage(_) | Body::Merge(_) => Part::Aside,
        Body::Interrupted(_)
        | Body::Setting(_)
        | Body::Note(_)
        | Body::System(_)
        | Body::ContextEdit(_)
        | Body::Foreign(_) => Part::Silent,
        Body::Compaction(_) | Body::Cleared => Part::Boundary,
    }
}
