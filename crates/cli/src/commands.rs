//! One file per command: open, ask, draw.

mod answered;
mod head;
mod json;
mod wanted;

pub(crate) mod abort;
pub(crate) mod agent_exec;
pub(crate) mod agents;
pub(crate) mod answer;
pub(crate) mod chat;
pub(crate) mod permissions;
pub(crate) mod queue;
pub(crate) mod send;
pub(crate) mod status;

pub(crate) mod append;
pub(crate) mod archive;
pub(crate) mod branch;
pub(crate) mod edit;
pub(crate) mod engine;
pub(crate) mod forget;
pub(crate) mod fork;
pub(crate) mod import;
pub(crate) mod ops;
pub(crate) mod rename;
pub(crate) mod retry;
pub(crate) mod rewind;
pub(crate) mod switch;
pub(crate) mod undo;
pub(crate) mod version;

pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod cost;
pub(crate) mod doctor;
pub(crate) mod export;
pub(crate) mod fsck;
pub(crate) mod inspect;
pub(crate) mod keep;
pub(crate) mod label;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod search;
pub(crate) mod show;
pub(crate) mod sync;
pub(crate) mod tree;
pub(crate) mod versions;

use offshoot_session::about::prompts;
use offshoot_session::outline::one_line;
use offshoot_session::{Lineage, SessionTree};

use crate::look::{Ink, Look, Sign};
use crate::table::Painted;
use crate::{text, words};

/// Room that a title leaves for what stands right of it.
const TITLE_ROOM: usize = 20;

/// A first prompt that stands for a title is never printed whole.
const BORROWED_TITLE: usize = 72;

/// Why a session branched, in a few words.
fn reason_of(lineage: &Lineage, look: &Look) -> Option<String> {
    let reason = text::harmless_line(&lineage.describe()?, look.ascii);
    Some(reason.replace('→', look.sign(Sign::GoesTo)))
}

fn title_of(tree: &SessionTree, look: &Look) -> String {
    title_or_prompt(tree, look.ascii, look.sign(Sign::Cut))
}

/// The title; without one, the beginning of the first prompt, cut with this sign.
fn title_or_prompt(tree: &SessionTree, ascii: bool, cut: &str) -> String {
    let first_prompt = || {
        let first =
            prompts(tree).into_iter().map(|prompt| one_line(&prompt.body)).find(|text| !text.is_empty())?;
        Some(text::cut(&text::harmless_line(&first, ascii), BORROWED_TITLE, cut))
    };
    let title = tree.title().map(|title| text::harmless_line(title, ascii)).or_else(first_prompt);
    title.unwrap_or_else(|| words::UNTITLED.to_owned())
}

/// Title and short id of a session, cut so that `right` still fits beside it.
fn heading(tree: &SessionTree, right: &Painted, look: &Look) -> Painted {
    let id = tree.header().map(|header| header.id.as_str().chars().take(6).collect::<String>());
    let id = text::harmless_line(&id.unwrap_or_default(), look.ascii);
    let taken = text::width(&id) + 2;
    let mut title = title_of(tree, look);
    if let Some(width) = look.width {
        let beside = width.saturating_sub(taken + right.columns + 2);
        let room = if beside >= TITLE_ROOM { beside } else { width.saturating_sub(taken) };
        title = text::cut(&title, room, look.sign(Sign::Cut));
    }
    let mut heading = Painted::default();
    heading.push(look, Ink::Bold, &title);
    if !id.is_empty() {
        heading.push(look, Ink::Plain, "  ");
        heading.push(look, Ink::Faint, &id);
    }
    heading
}
