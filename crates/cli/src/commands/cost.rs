//! `offshoot cost [SESSION] [--by …]`: tokens and money, every reply counted once.

use std::collections::{BTreeMap, HashMap};

use jiff::tz::TimeZone;
use offshoot_session::SessionTree;
use offshoot_session::cost::{
    BranchCost, BranchKind, Charge, CountedOnce, PriceLookup, Prices, Tally, TurnCost, by_branch, by_turn,
    priced,
};
use offshoot_store::catalog::State;
use serde_json::{Value, json};

use super::json::printed;
use crate::Answer;
use crate::args::{CostArgs, CostBy};
use crate::cataloged::{Fresh, cataloged};
use crate::columns::{Cell, Column, Room, Side, drawn};
use crate::failure::Failure;
use crate::here::Here;
use crate::living::looked_at;
use crate::look::{Ink, Look, Sign};
use crate::numbers::{grouped, money, thousands};
use crate::opened::Opened;
use crate::prices::{self, PriceTable, charges_of};
use crate::text::harmless_line;
use crate::which::which;
use crate::words::reading as words;

/// One line of the answer.
struct Row {
    what: String,
    tally: Tally,
    turns: Option<usize>,
    /// What scripts read beside the sums.
    about: Value,
}

pub(crate) fn run(args: &CostArgs, here: &Here) -> Result<Answer, Failure> {
    let table = prices::load(here)?;
    if args.prices {
        return Ok(Answer { text: shown(&table, args, &here.look), ..Answer::default() });
    }
    let by = args.by.unwrap_or(CostBy::Branch);
    let is_about_one = args.session.named().is_some() || matches!(by, CostBy::Branch | CostBy::Turn);
    let (rows, charges, total, mut notes) = if is_about_one {
        let which = which(here, args.session.named())?;
        let Opened { tree, notes } = looked_at(here, &which)?;
        let all = charges_of(&tree, &table.prices);
        let rows = match by {
            CostBy::Branch => {
                by_branch(&tree, &all).into_iter().map(|branch| of_branch(branch, &here.look)).collect()
            }
            CostBy::Turn => by_turn(&tree, &all).into_iter().map(of_turn).collect(),
            CostBy::Project => grouped_by(Group::Project, with_project(&all, &project_of(&tree))),
            CostBy::Model => grouped_by(Group::Model, with_project(&all, "")),
            CostBy::Day => grouped_by(Group::Day, with_project(&all, "")),
        };
        let turns = offshoot_session::about::prompts(&tree).len();
        (rows, all, ("session", Some(turns)), notes)
    } else {
        let (all, notes) = of_all_sessions(table.prices, here)?;
        let group = match by {
            CostBy::Model => Group::Model,
            CostBy::Day => Group::Day,
            CostBy::Project | CostBy::Branch | CostBy::Turn => Group::Project,
        };
        let rows = grouped_by(group, all.iter().map(|(charge, project)| (charge, project.as_str())));
        (rows, all.into_iter().map(|(charge, _)| charge).collect(), ("all sessions", None), notes)
    };
    let tally = Tally::of(&charges);
    if tally.unpriced > 0 {
        notes.push(words::unpriced(usize::try_from(tally.unpriced).unwrap_or(usize::MAX)));
    }
    let (what, turns) = total;
    let text = match args.json.json {
        Some(shape) => {
            let list: Vec<Value> = rows.iter().map(Row::as_json).collect();
            let sum = Row { what: what.to_owned(), tally, turns, about: json!({}) };
            printed(json!({ "rows": list, "total": sum.as_json() }), "rows", shape)
        }
        None => {
            let sum = Row { what: what.to_owned(), tally, turns, about: Value::Null };
            drawn_rows(&rows, &sum, &here.look)
        }
    };
    Ok(Answer { text, notes, ..Answer::default() })
}

fn project_of(tree: &SessionTree) -> String {
    tree.header().and_then(|header| header.project.clone()).unwrap_or_default()
}

type OfProject = (Charge, String);

/// All sessions of all agents, the oldest first: what several of them hold is counted with the first. The catalog has
/// what each of them used, so no file is read for it.
fn of_all_sessions(prices: Prices, here: &Here) -> Result<(Vec<OfProject>, Vec<String>), Failure> {
    let mut ready = cataloged(here, &[], Fresh::Now)?;
    let (mut rows, charges) = ready.ask(here, |catalog, _| Ok((catalog.sessions()?, catalog.charges()?)))?;
    rows.sort_by(|one, other| (one.opened_at, &one.path).cmp(&(other.opened_at, &other.path)));
    let mut charges: HashMap<i64, Vec<Charge>> =
        charges.into_iter().map(|of| (of.session, of.charges)).collect();
    let prices = PriceLookup::new(prices);
    let (mut all, mut once, mut unread) = (Vec::new(), CountedOnce::default(), 0);
    for row in rows {
        unread += usize::from(row.is_own && matches!(row.state, State::Unreadable(_)));
        let project = row.project.unwrap_or_default();
        let of_row = priced(charges.remove(&row.key).unwrap_or_default(), |model| prices.price_of(model));
        all.extend(once.new_among(of_row).into_iter().map(|charge| (charge, project.clone())));
    }
    let mut notes = ready.notes;
    if unread > 0 {
        notes.push(words::sessions_damaged(unread).trim_end().to_owned());
    }
    Ok((all, notes))
}

/// What sums over many sessions are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Project,
    Model,
    Day,
}

fn with_project<'c>(charges: &'c [Charge], project: &'c str) -> impl Iterator<Item = (&'c Charge, &'c str)> {
    charges.iter().map(move |charge| (charge, project))
}

fn grouped_by<'c>(by: Group, charges: impl Iterator<Item = (&'c Charge, &'c str)>) -> Vec<Row> {
    let mut groups: BTreeMap<String, Vec<&Charge>> = BTreeMap::new();
    for (charge, project) in charges {
        let group = match by {
            Group::Project => project.to_owned(),
            Group::Model => charge
                .model
                .as_ref()
                .map(|model| format!("{}/{}", model.provider, model.name))
                .unwrap_or_default(),
            Group::Day => charge.at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d").to_string(),
        };
        groups.entry(group).or_default().push(charge);
    }
    let key = match by {
        Group::Project => "project",
        Group::Model => "model",
        Group::Day => "day",
    };
    let row = |(name, charges): (String, Vec<&Charge>)| Row {
        what: if name.is_empty() { words::NOT_SAID.to_owned() } else { name.clone() },
        tally: Tally::of(charges),
        turns: None,
        about: json!({ key: Some(&name).filter(|name| !name.is_empty()) }),
    };
    let mut rows: Vec<Row> = groups.into_iter().map(row).collect();
    if by != Group::Day {
        rows.sort_by_key(|row| std::cmp::Reverse((row.tally.usage.cost_micros, row.tally.tokens())));
    }
    rows
}

fn of_turn(turn: TurnCost) -> Row {
    let TurnCost { prompt, number, version, versions, text, tally } = turn;
    let what = match (&prompt, versions) {
        (None, _) => words::BESIDE_TURNS.to_owned(),
        (Some(_), 1) => format!("#{number} {text}"),
        (Some(_), _) => format!("#{number} {version}/{versions} {text}"),
    };
    let turn = prompt.as_ref().map(|_| number);
    let prompt = prompt.map(|prompt| prompt.to_string());
    Row { what, tally, turns: None, about: json!({ "turn": turn, "version": version, "entry": prompt }) }
}

fn of_branch(branch: BranchCost, look: &Look) -> Row {
    let BranchCost { kind, tally, turns, tip } = branch;
    let tip = tip.as_ref().map(|tip| tip.to_string());
    let (what, name, kind) = match kind {
        BranchKind::Shared { to: 1 } => ("shared #1".to_owned(), None, "shared"),
        BranchKind::Shared { to } => {
            let dash = if look.ascii { "-" } else { "–" };
            (format!("shared #1{dash}#{to}"), None, "shared")
        }
        BranchKind::Branch { name: Some(name), .. } => (name.clone(), Some(name), "branch"),
        BranchKind::Branch { name: None, turn, version } => {
            (format!("#{turn} version {version}"), None, "branch")
        }
        BranchKind::SubAgents => ("sub-agents".to_owned(), None, "sub_agents"),
        BranchKind::Beside => (words::BESIDE_TURNS.to_owned(), None, "beside"),
    };
    let turns = (!matches!(kind, "sub_agents" | "beside")).then_some(turns);
    Row { what, tally, turns, about: json!({ "kind": kind, "name": name, "tip": tip }) }
}

const COLUMNS: [Column; 5] = [
    Column { title: "", side: Side::Left, room: Room::Text(16) },
    Column { title: "added", side: Side::Right, room: Room::Fixed },
    Column { title: "tokens", side: Side::Right, room: Room::Fixed },
    Column { title: "turns", side: Side::Right, room: Room::Fixed },
    Column { title: "", side: Side::Left, room: Room::GivesWay(8) },
];

fn drawn_rows(rows: &[Row], total: &Row, look: &Look) -> String {
    let cells = |row: &Row, ink: Ink, note: &str| {
        let tokens = row.tally.tokens();
        let tokens = if look.for_a_person { thousands(tokens) } else { tokens.to_string() };
        // In a pipe as at a terminal, and as `ls` has it; `--json` has millionths of a dollar.
        let cost = match row.tally.money() {
            Some(micros) => money(micros).unwrap_or_else(|| "$0.00".to_owned()),
            None if look.for_a_person => look.sign(Sign::Unknown).to_owned(),
            None => String::new(),
        };
        vec![
            Cell::new(ink, harmless_line(&row.what, look.ascii)),
            Cell::plain(cost),
            Cell::plain(tokens),
            Cell::plain(row.turns.map(grouped).unwrap_or_default()),
            Cell::faint(note),
        ]
    };
    let mut lines: Vec<Vec<Cell>> = rows.iter().map(|row| cells(row, Ink::Plain, "")).collect();
    let note = if look.for_a_person && !look.quiet { words::COUNTED_ONCE } else { "" };
    lines.push(cells(total, Ink::Bold, note));
    drawn(&COLUMNS, &lines, look)
}

impl Row {
    fn as_json(&self) -> Value {
        let usage = &self.tally.usage;
        let mut row = json!({
            "what": self.what,
            "cost_micros": self.tally.money(),
            "tokens": self.tally.tokens(),
            "input": usage.input,
            "output": usage.output,
            "cache_read": usage.cache_read,
            "cache_write": usage.cache_write,
            "turns": self.turns,
            "unpriced": self.tally.unpriced,
        });
        if let (Some(row), Value::Object(about)) = (row.as_object_mut(), &self.about) {
            row.extend(about.clone());
        }
        row
    }
}

/// `--prices`: the table and where each row comes from.
fn shown(table: &PriceTable, args: &CostArgs, look: &Look) -> String {
    let dollars = |micros: i64| format!("{}", micros as f64 / 1e6);
    let origin =
        |at: usize| if at < table.own { table.file.display().to_string() } else { words::LISTED.to_owned() };
    if let Some(shape) = args.json.json {
        let list: Vec<Value> = table
            .prices
            .0
            .iter()
            .enumerate()
            .map(|(at, price)| {
                json!({
                    "model": price.model, "input_micros": price.input, "output_micros": price.output,
                    "cache_read_micros": price.cache_read, "cache_write_micros": price.cache_write,
                    "from": if at < table.own { "file" } else { "listed" },
                })
            })
            .collect();
        return printed(json!({ "file": table.file, "prices": list }), "prices", shape);
    }
    let column = |title, side, room| Column { title, side, room };
    let columns = [
        column("model", Side::Left, Room::Text(16)),
        column("input", Side::Right, Room::Fixed),
        column("output", Side::Right, Room::Fixed),
        column("cache read", Side::Right, Room::Fixed),
        column("cache write", Side::Right, Room::Fixed),
        column("from", Side::Left, Room::GivesWay(8)),
    ];
    let rows: Vec<Vec<Cell>> = table
        .prices
        .0
        .iter()
        .enumerate()
        .map(|(at, price)| {
            vec![
                Cell::plain(harmless_line(&price.model, look.ascii)),
                Cell::plain(dollars(price.input)),
                Cell::plain(dollars(price.output)),
                Cell::plain(dollars(price.cache_read)),
                Cell::plain(dollars(price.cache_write)),
                Cell::faint(harmless_line(&origin(at), look.ascii)),
            ]
        })
        .collect();
    let mut text = drawn(&columns, &rows, look);
    if look.for_a_person && !look.quiet {
        text.push_str(&words::edit_prices(&table.file));
    }
    text
}
