//! `offshoot status`: what runs in all sessions, and what waits for a person first.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use offshoot_api::views::StatusRow;
use offshoot_session::Stamps;
use serde_json::json;

use super::json::printed;
use crate::Answer;
use crate::ago::ago;
use crate::args::StatusArgs;
use crate::columns::{Cell, Column, Room, Side, drawn};
use crate::engine;
use crate::failure::Failure;
use crate::here::Here;
use crate::living::sign_of;
use crate::look::{Look, Sign};
use crate::talk::wait_for;
use crate::text::{harmless_command, harmless_line};
use crate::which::short;
use crate::words::{scripts, talking as words};

const COLUMNS: [Column; 7] = [
    Column { title: "", side: Side::Left, room: Room::Lead },
    Column { title: "", side: Side::Left, room: Room::Fixed },
    Column { title: "", side: Side::Left, room: Room::Lead },
    Column { title: "", side: Side::Left, room: Room::Fixed },
    Column { title: "", side: Side::Left, room: Room::Text(20) },
    Column { title: "", side: Side::Left, room: Room::GivesWay(6) },
    Column { title: "", side: Side::Left, room: Room::Fixed },
];

pub(crate) fn run(args: &StatusArgs, here: &Here) -> Result<Answer, Failure> {
    let rows = wait_for(engine::status(here))?.map(|engine| engine.turns).unwrap_or_default();
    let text = match args.json.json {
        Some(shape) => printed(json!({ "rows": rows }), "rows", shape),
        None if rows.is_empty() => words::NOTHING_RUNS.to_owned(),
        None => table(&rows, here),
    };
    Ok(Answer { text, ..Answer::default() })
}

/// `◆ waiting  2m  b81c07  gcra #4  permission: cargo test  (stream)  9c02fd`
fn table(rows: &[StatusRow], here: &Here) -> String {
    let (look, now) = (&here.look, here.stamps().now());
    let cells: Vec<Vec<Cell>> = rows.iter().map(|row| cells(row, rows, now, here)).collect();
    let mut text = drawn(&COLUMNS, &cells, look);
    let waiting = rows.iter().find(|row| row.ask.is_some()).filter(|_| look.for_a_person && !look.quiet);
    if let Some(row) = waiting {
        let session = short(here, &row.session.as_str().into());
        let alike = rows.iter().filter(|other| other.ask.is_some() && other.session == row.session).count();
        text.push_str(&match (alike, &row.ask) {
            (2.., Some(ask)) => scripts::answer_which_ask(&session, short_ask(ask, rows)),
            _ => scripts::answer_which(&session),
        });
    }
    text
}

fn cells(row: &StatusRow, rows: &[StatusRow], now: Timestamp, here: &Here) -> Vec<Cell> {
    let look = &here.look;
    let harmless = |text: &str| harmless_line(text, look.ascii);
    let (sign, ink) = sign_of(&row.status.state);
    let since = row.asked_at.unwrap_or(row.since);
    let session = match look.for_a_person {
        true => short(here, &row.session.as_str().into()),
        false => row.session.clone(),
    };
    let branch = row.branch.as_deref().map(|branch| format!("{branch} ")).unwrap_or_default();
    // A message whose prompt is not written yet says what it waits for.
    let phase = row.phase.as_deref().filter(|phase| *phase == "hook");
    let kind = row.status.kind.as_deref().or(phase).map(|kind| format!("{kind}: ")).unwrap_or_default();
    let ask = row.ask.as_deref().unwrap_or_default();
    vec![
        Cell::new(ink, format!("{} {}", look.sign(sign), row.status.state)),
        Cell::faint(age(since, now, look)),
        Cell::faint(harmless(&session)),
        Cell::plain(harmless(&format!("{branch}#{}", row.number))),
        Cell::plain(harmless_command(&format!("{kind}{}", cut_here(&row.what, look)), look.ascii)),
        Cell::faint(harmless(&format!("({})", row.status.source))),
        Cell::faint(harmless(if look.for_a_person { short_ask(ask, rows) } else { ask })),
    ]
}

/// The engine says by a sign that it has cut something.
fn cut_here(what: &str, look: &Look) -> String {
    match what.strip_suffix('…').filter(|_| look.ascii) {
        Some(begin) => format!("{begin}{}", look.sign(Sign::Cut)),
        None => what.to_owned(),
    }
}

/// `17s`, `2m`; in a pipe the moment itself.
fn age(since: Timestamp, now: Timestamp, look: &Look) -> String {
    if !look.for_a_person {
        return since.to_string();
    }
    match now.duration_since(since).as_secs() {
        seconds @ 0..60 => format!("{seconds}s"),
        _ => ago(since, now, &TimeZone::system()),
    }
}

/// As much of its id as tells it from the others.
fn short_ask<'a>(ask: &'a str, rows: &[StatusRow]) -> &'a str {
    let others = || rows.iter().filter_map(|row| row.ask.as_deref()).filter(|other| *other != ask);
    let is_enough = |length: &usize| {
        ask.get(..*length).is_some_and(|begin| others().all(|other| !other.starts_with(begin)))
    };
    let length = (SHORTEST..ask.len()).find(is_enough).unwrap_or(ask.len());
    ask.get(..length).unwrap_or(ask)
}

const SHORTEST: usize = 6;
