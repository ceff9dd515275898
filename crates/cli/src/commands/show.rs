//! `offshoot show [SESSION]`: a branch turn by turn, one turn, or what the model reads at a point.

mod context;
mod turn;

use std::collections::HashMap;

use offshoot_session::outline::{Outline, Version, turns_of, turns_through};
use offshoot_session::{EntryId, SessionTree};
use serde_json::{Value, json};

use super::heading;
use super::json::{entry, printed, version};
use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::look::Look;
use crate::opened::{Opened, open, point};
use crate::table::Painted;
use crate::{Answer, words};

pub(crate) fn run(args: &ShowArgs, here: &Here) -> Result<Answer, Failure> {
    let look = &here.look;
    let Opened { tree, notes } = &open(here, args.session.named())?;
    let at = args.at.as_deref().map(|text| point(tree, text)).transpose()?;
    let text = match (args.context, args.json.json) {
        (true, shape) => {
            let place = at.as_ref().or(tree.main_head());
            let read = context::Read::at(tree, place, args.last);
            shape.map_or_else(
                || read.drawn(look),
                |shape| printed(read.as_json(tree, place), "messages", shape),
            )
        }
        (false, Some(shape)) => printed(as_json(tree, at.as_ref(), args.last), "entries", shape),
        (false, None) => drawn(tree, at.as_ref(), args.last, look),
    };
    Ok(Answer { text, notes: notes.clone(), ..Answer::default() })
}

fn drawn(tree: &SessionTree, at: Option<&EntryId>, last: Option<usize>, look: &Look) -> String {
    let about = About::of(tree);
    if let Some(at) = at {
        let turns = turns_through(tree, at);
        let found = turns.iter().rev().find(|turn| turn.contains(at));
        return found.map(|found| turn::drawn(tree, found, &about, None, look)).unwrap_or_default();
    }
    let turns = turns_of(tree, tree.main_head());
    let mut text = String::new();
    if !look.quiet {
        text.push_str(&heading(tree, &Painted::default(), look).text);
        text.push_str("\n\n");
    }
    if turns.is_empty() {
        let nothing = if tree.is_empty() { words::NOTHING_SAID } else { words::HEAD_AT_START };
        text.push_str(nothing);
        text.push('\n');
    }
    let mut before = None;
    let mut shown = Vec::new();
    for one in last_of(&turns, last).iter().filter(|turn| turn::says_anything(turn)) {
        shown.push(turn::drawn(tree, one, &about, before, look));
        before = one.entries.first().map(|entry| entry.written_at);
    }
    text.push_str(&shown.join("\n"));
    text
}

fn last_of<T>(list: &[T], last: Option<usize>) -> &[T] {
    let from = last.map_or(0, |last| list.len().saturating_sub(last));
    list.get(from..).unwrap_or_default()
}

/// What a turn's title line says beyond the turn itself.
struct About<'t> {
    short_ids: offshoot_session::address::ShortIds<'t>,
    versions: HashMap<EntryId, Version>,
    lines: offshoot_session::outline::Lines<'t>,
}

impl<'t> About<'t> {
    fn of(tree: &'t SessionTree) -> Self {
        let rows = Outline::every_entry(tree).rows;
        Self {
            short_ids: offshoot_session::address::ShortIds::of(tree),
            versions: rows.into_iter().filter_map(|row| Some((row.entry, row.version?))).collect(),
            lines: offshoot_session::outline::Lines::of(tree),
        }
    }
}

/// The path to a point, or to the head.
fn as_json(tree: &SessionTree, at: Option<&EntryId>, last: Option<usize>) -> Value {
    let about = About::of(tree);
    let turns = turns_of(tree, at.or(tree.main_head()));
    let path: Vec<_> =
        turns.iter().flat_map(|turn| turn.entries.iter().map(|entry| (turn.number, *entry))).collect();
    let entries: Vec<Value> = last_of(&path, last)
        .iter()
        .map(|(number, one)| {
            let mut fields = entry(tree, one);
            fields.insert("turn".to_owned(), json!(Some(*number).filter(|number| *number > 0)));
            fields.insert("version".to_owned(), version(about.versions.get(&one.id).copied()));
            Value::Object(fields)
        })
        .collect();
    json!({
        "session": tree.header().map(|header| header.id.as_str()),
        "title": tree.title(),
        "head": tree.main_head().map(|head| head.as_str()),
        "at": at.or(tree.main_head()).map(|at| at.as_str()),
        "entries": entries,
    })
}
