//! `offshoot versions [SESSION] [POINT]`: the versions of a turn, the one that is shown marked.

use std::collections::HashMap;
use std::sync::Arc;

use offshoot_session::address::{ShortIds, Want};
use offshoot_session::cost::Tally;
use offshoot_session::outline::{Turn, one_line, turns_below};
use offshoot_session::versions::{active_version, edit_group, last_with_versions, turn_prompt, versions_of};
use offshoot_session::{Entry, EntryId, HeadName, SessionTree};
use serde_json::{Value, json};

use super::json::printed;
use crate::args::VersionsArgs;
use crate::columns::{Cell, Column, Room, Side, drawn};
use crate::failure::Failure;
use crate::here::Here;
use crate::living::{Running, looked_at, state_in_words};
use crate::look::{Ink, Look, Sign};
use crate::numbers::{counted, money};
use crate::opened::{Opened, point};
use crate::which::{Which, session_or_point};
use crate::words::reading as words;
use crate::{Answer, prices, text};

const COLUMNS: [Column; 7] = [
    Column { title: "", side: Side::Left, room: Room::Lead },
    Column { title: "", side: Side::Left, room: Room::Lead },
    Column { title: "", side: Side::Left, room: Room::GivesWay(6) },
    Column { title: "", side: Side::Left, room: Room::Text(16) },
    Column { title: "", side: Side::Right, room: Room::Fixed },
    Column { title: "", side: Side::Right, room: Room::Fixed },
    Column { title: "", side: Side::Left, room: Room::Fixed },
];

pub(crate) fn run(args: &VersionsArgs, here: &Here) -> Result<Answer, Failure> {
    let (which, at) = asked(args, here)?;
    let Opened { tree, notes } = looked_at(here, &which)?;
    let running = Running::now(here);
    let prompt = match at.as_deref() {
        Some(text) => {
            let entry = point(&tree, &text.into(), Want::Turn)?;
            let prompt = turn_prompt(&tree, &entry).map(|prompt| prompt.id.clone());
            let none = || Failure::not_found(words::no_prompt(text)).hint(words::NO_PROMPT_HINT);
            Some(prompt.ok_or_else(none)?)
        }
        None => last_with_versions(&tree),
    };
    let versions = prompt.as_ref().map(|prompt| Version::all(&tree, prompt)).unwrap_or_default();
    let about = About { running, costs: prices::of_turns(&tree, &prices::usable(here)) };
    let text = match args.json.json {
        Some(shape) => printed(as_json(&tree, prompt.as_ref(), &versions, &about), "versions", shape),
        None if versions.is_empty() && here.look.for_a_person => format!("{}\n", words::NO_VERSIONS),
        None => table(&tree, &versions, &about, &here.look),
    };
    Ok(Answer { text, notes, ..Answer::default() })
}

/// A plain number is a point. Any other single word is a session if it names one, else a point.
fn asked(args: &VersionsArgs, here: &Here) -> Result<(Which, Option<String>), Failure> {
    match (args.words.as_slice(), args.session.as_deref()) {
        ([], session) => Ok((crate::which::which(here, session)?, None)),
        ([at], Some(session)) => Ok((crate::which::which(here, Some(session))?, Some(at.clone()))),
        ([session, at], None) => Ok((crate::which::which(here, Some(session))?, Some(at.clone()))),
        ([word], None) => session_or_point(here, word),
        _ => Err(Failure::usage(crate::words::too_many_words("[POINT]"))),
    }
}

/// What the tree alone does not tell.
struct About {
    running: Running,
    /// What each turn has used, by its prompt.
    costs: HashMap<EntryId, Tally>,
}

/// One prompt of several at the same place, and the branch that goes on from it.
struct Version<'t> {
    entry: &'t Arc<Entry>,
    is_shown: bool,
    /// From the prompt to the end of the branch.
    turns: Vec<Turn<'t>>,
}

impl<'t> Version<'t> {
    fn all(tree: &'t SessionTree, prompt: &EntryId) -> Vec<Self> {
        let shown = active_version(tree, &HeadName::main(), prompt).map(|entry| &entry.id);
        let versions = versions_of(tree, prompt);
        let turns = turns_below(tree, &versions);
        let one = |(entry, turns): (&'t Arc<Entry>, Vec<Turn<'t>>)| Self {
            entry,
            is_shown: shown == Some(&entry.id),
            turns,
        };
        versions.into_iter().zip(turns).map(one).collect()
    }

    /// The name of the branch, where somebody has named it at this turn.
    fn branch(&self, tree: &'t SessionTree) -> Option<&'t str> {
        let own = self.turns.first()?;
        own.entries.iter().find_map(|entry| tree.branch_name(&entry.id))
    }

    /// In millionths of a dollar; `None` if no price is known.
    fn cost_micros(&self, costs: &HashMap<EntryId, Tally>) -> Option<i64> {
        let tallies = self.turns.iter().filter_map(|turn| costs.get(&turn.prompt()?.id));
        tallies.copied().fold(Tally::default(), Tally::plus).money()
    }

    fn tip(&self) -> Option<&'t str> {
        self.turns.last()?.entries.last().map(|entry| entry.id.as_str())
    }
}

fn table(tree: &SessionTree, versions: &[Version<'_>], about: &About, look: &Look) -> String {
    let About { running, costs } = about;
    let short_ids = ShortIds::of(tree);
    let harmless = |words: &str| text::harmless_line(words, look.ascii);
    let digits = versions.len().to_string().len();
    let runs = |version: &Version<'_>| running.at_or_below(tree, &version.entry.id).is_some();
    let any_runs = versions.iter().any(runs);
    let rows: Vec<Vec<Cell>> = versions
        .iter()
        .enumerate()
        .map(|(at, version)| {
            let (mark, ink) =
                if version.is_shown { (look.sign(Sign::Shown), Ink::Accent) } else { (" ", Ink::Plain) };
            let id = &version.entry.id;
            let id = if look.for_a_person { short_ids.get(id) } else { id.to_string() };
            let said = one_line(&version.entry.body);
            let said = if said.is_empty() { crate::words::EMPTY_PROMPT } else { said.as_str() };
            let number = (at + 1).to_string();
            let mut row = if look.for_a_person {
                vec![Cell::new(ink, format!("{mark} {}", text::padded_left(&number, digits)))]
            } else {
                vec![Cell::plain(mark.trim()), Cell::plain(number)]
            };
            row.extend([
                Cell::faint(harmless(&id)),
                Cell::plain(version.branch(tree).map(|name| harmless(name.trim())).unwrap_or_default()),
                Cell::plain(harmless(said)),
                Cell::faint(counted(version.turns.len(), "turn", "turns")),
                Cell::faint(version.cost_micros(costs).and_then(money).unwrap_or_default()),
            ]);
            // Where nothing runs nobody has asked for a state.
            if any_runs {
                let state =
                    running.at_or_below(tree, &version.entry.id).map_or("ready", |status| &status.state);
                let (words, ink) = state_in_words(state, look);
                row.push(Cell::new(ink, words));
            }
            row
        })
        .collect();
    drawn(&COLUMNS, &rows, look)
}

fn as_json(tree: &SessionTree, prompt: Option<&EntryId>, versions: &[Version<'_>], about: &About) -> Value {
    let About { running, costs } = about;
    let number = versions.iter().find_map(|version| version.turns.first()).map(|turn| turn.number);
    let list: Vec<Value> = versions
        .iter()
        .enumerate()
        .map(|(at, version)| {
            json!({
                "number": at + 1,
                "id": version.entry.id.as_str(),
                "text": version.entry.body.text(),
                "branch": version.branch(tree),
                "label": tree.label(&version.entry.id),
                "turns": version.turns.len(),
                "active": version.is_shown,
                "tip": version.tip(),
                "written_at": version.entry.written_at.to_string(),
                "cost_micros": version.cost_micros(costs),
                "status": running.at_or_below(tree, &version.entry.id),
            })
        })
        .collect();
    json!({
        "session": tree.header().map(|header| header.id.as_str()),
        "point": prompt.map(|prompt| prompt.as_str()),
        "turn": number,
        "edit_group": prompt.and_then(|prompt| edit_group(tree, prompt)).map(|group| group.to_string()),
        "versions": list,
    })
}
