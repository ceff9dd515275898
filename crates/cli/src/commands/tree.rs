//! `offshoot tree FILE`: the tree, one row per turn; with a filter or a search, one row per entry.

mod entries;
mod turns;

use offshoot_session::SessionTree;
use offshoot_session::outline::{Filter, HeadPlace, Outline, OutlineOptions, TurnOutline};
use serde_json::{Value, json};

use super::heading;
use super::json::{entry, printed, version};
use crate::args::{FilterName, TreeArgs};
use crate::failure::Failure;
use crate::look::{Ink, Look};
use crate::numbers::counted;
use crate::session_file::open;
use crate::table::{self, Painted};
use crate::{Answer, words};

/// From this width on the right column stands below the counts of the title line.
const WIDE: usize = 100;

pub(crate) fn run(args: &TreeArgs, look: &Look) -> Result<Answer, Failure> {
    let file = open(&args.session)?;
    let tree = &file.tree;
    let by_entry = (args.filter.is_some() || args.search.is_some()).then(|| OutlineOptions {
        filter: args.filter.map_or(Filter::Default, FilterName::into),
        search: args.search.clone().unwrap_or_default(),
        ..OutlineOptions::default()
    });
    if let Some(shape) = args.json.json {
        return Ok(text(printed(as_json(tree, by_entry), "nodes", shape)));
    }
    let turns = TurnOutline::of(tree);
    let counts = counts(&turns, look);
    let mut drawing = String::new();
    if !look.quiet {
        drawing.push_str(&table::spread(&heading(tree, &counts, look), &counts, look));
    }
    let rows = match &by_entry {
        Some(options) => entries::rows(tree, options, look),
        None => turns::rows(tree, &turns, look),
    };
    let least_right = look.width.filter(|width| *width >= WIDE).map_or(0, |_| counts.columns);
    drawing.push_str(&table::drawn(&rows, look, least_right));
    if rows.is_empty() && !look.quiet {
        drawing.push_str(&nothing(tree, args));
        drawing.push('\n');
    }
    Ok(text(drawing))
}

fn text(text: String) -> Answer {
    Answer { text, ..Answer::default() }
}

fn nothing(tree: &SessionTree, args: &TreeArgs) -> String {
    match args.search.as_deref().map(str::trim) {
        _ if tree.is_empty() => words::NOTHING_SAID.to_owned(),
        Some(search) if !search.is_empty() => words::nothing_matches(search),
        _ if args.filter.is_some() => words::NOTHING_PASSES.to_owned(),
        _ => words::NOTHING_SAID.to_owned(),
    }
}

/// `3 branches, 14 prompts, head #5`
fn counts(turns: &TurnOutline, look: &Look) -> Painted {
    let head = match turns.head {
        HeadPlace::Turn(number) => format!("head #{number}"),
        HeadPlace::BeforeFirstTurn | HeadPlace::Nowhere => "head before #1".to_owned(),
    };
    let branches = counted(turns.branches, "branch", "branches");
    let prompts = counted(turns.prompts, "prompt", "prompts");
    let mut counts = Painted::default();
    counts.push(look, Ink::Faint, &format!("{branches}, {prompts}, {head}"));
    counts
}

/// All nodes in the order they are drawn; with a filter or a search, those that pass.
fn as_json(tree: &SessionTree, options: Option<OutlineOptions>) -> Value {
    let (passing, is_whole) = match options {
        Some(options) => (Outline::of(tree, &options), false),
        None => (Outline::every_entry(tree), true),
    };
    let nodes: Vec<Value> = passing
        .rows
        .iter()
        .filter_map(|row| {
            let mut fields = entry(tree, tree.entry(&row.entry)?);
            fields.insert("active".to_owned(), json!(row.on_active_path));
            fields.insert("head".to_owned(), json!(row.is_head));
            fields.insert("version".to_owned(), version(row.version));
            Some(Value::Object(fields))
        })
        .collect();
    json!({
        "session": tree.header().map(|header| header.id.as_str()),
        "title": tree.title(),
        "head": tree.main_head().map(|head| head.as_str()),
        "complete": is_whole,
        "nodes": nodes,
    })
}
