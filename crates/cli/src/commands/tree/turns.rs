//! One row per turn: `│ ● #4  cc9e13  Run the whole suite.   ‖ interrupted`.

use offshoot_session::SessionTree;
use offshoot_session::address::ShortIds;
use offshoot_session::outline::{Cell, TurnEnd, TurnOutline, TurnRow, TurnTreeRow, is_task};

use crate::living::{Running, state_in_words};
use crate::look::{Ink, Look, Sign};
use crate::numbers::counted;
use crate::table::{Painted, Row};
use crate::{text, words};

/// A branch name longer than this is cut where there is a width to keep.
const LONGEST_NAME: usize = 24;

pub(super) fn rows(tree: &SessionTree, outline: &TurnOutline, running: &Running, look: &Look) -> Vec<Row> {
    let short_ids = ShortIds::of(tree);
    let ids: Vec<String> = outline
        .rows
        .iter()
        .map(|row| match row {
            TurnTreeRow::Turn(turn) => text::harmless_line(&short_ids.get(&turn.entry), look.ascii),
            TurnTreeRow::Folded(_) => String::new(),
        })
        .collect();
    let columns = Columns {
        number: outline.rows.iter().map(|row| text::width(&number(row))).max().unwrap_or(0),
        id: ids.iter().map(|id| text::width(id)).max().unwrap_or(0),
    };
    let mut rows = Vec::with_capacity(outline.rows.len());
    for (at, (row, id)) in outline.rows.iter().zip(&ids).enumerate() {
        let lanes = lanes(outline.cells(row), at == 0, look);
        rows.push(match row {
            TurnTreeRow::Folded(run) => {
                let mut lead = Painted::default();
                lead.push(look, Ink::Plain, &lanes.before);
                lead.push(look, Ink::Faint, look.sign(Sign::Dotted));
                lead.push(look, Ink::Plain, &" ".repeat(columns.number + 5));
                let turns = counted(run.turns, "turn", "turns");
                let tools = counted(run.tools, "tool", "tools");
                Row { lead, text: format!("{turns}, {tools}"), ..Row::default() }
            }
            TurnTreeRow::Turn(turn) => {
                let mut row = turn_row(turn, id, &lanes, &columns, look);
                let is_task = tree.entry(&turn.entry).is_some_and(|prompt| is_task(tree, prompt));
                let state = running.of_prompt(&turn.entry).map(|status| state_in_words(&status.state, look));
                let context = tree.binding(&turn.entry).and_then(words::scripts::provenance_in_short);
                let notes = is_task.then_some(words::SUB_AGENT).into_iter().chain(context);
                let notes = notes.map(|told| (told.to_owned(), Ink::Faint));
                for (told, ink) in state.into_iter().chain(notes) {
                    row.right.push(look, Ink::Plain, if row.right.columns > 0 { "  " } else { "" });
                    row.right.push(look, ink, &told);
                }
                row
            }
        });
    }
    rows
}

struct Columns {
    number: usize,
    id: usize,
}

struct LanesDrawn {
    before: String,
    /// The same on a second line of the row.
    below: String,
}

fn turn_row(turn: &TurnRow, id: &str, lanes: &LanesDrawn, columns: &Columns, look: &Look) -> Row {
    let (node, ink) =
        if turn.on_active_path { (Sign::OnPath, Ink::Accent) } else { (Sign::OffPath, Ink::Plain) };
    let mut lead = Painted::default();
    lead.push(look, Ink::Plain, &lanes.before);
    lead.push(look, ink, look.sign(node));
    if columns.number > 0 {
        let number = turn.number.map(|number| format!("#{number}")).unwrap_or_default();
        lead.push(look, Ink::Plain, &format!(" {}", text::padded(&number, columns.number)));
    }
    lead.push(look, Ink::Plain, if columns.number > 0 { "  " } else { " " });
    lead.push(look, Ink::Faint, &text::padded(id, columns.id));
    lead.push(look, Ink::Plain, "  ");
    for label in &turn.labels {
        lead.push(look, Ink::Bold, &format!("[{}]", text::harmless_line(label.trim(), look.ascii)));
        lead.push(look, Ink::Plain, " ");
    }
    let line = if turn.goes_on { look.sign(Sign::Line) } else { "  " };
    let words = if turn.text.is_empty() { words::EMPTY_PROMPT } else { turn.text.as_str() };
    Row {
        lead,
        lead_below: format!("{}{line}{}", lanes.below, " ".repeat(columns.number + 1)),
        text: text::harmless_line(words, look.ascii),
        is_head: turn.is_head,
        right: right_of(turn, look),
    }
}

/// Branch name, version, how the turn ended.
fn right_of(turn: &TurnRow, look: &Look) -> Painted {
    let mut right = Painted::default();
    let mut part = |ink, words: &str| {
        let gap = if right.columns > 0 { "  " } else { "" };
        right.push(look, Ink::Plain, gap);
        right.push(look, ink, words);
    };
    for name in &turn.branch_names {
        let name = text::harmless_line(name.trim(), look.ascii);
        let room = look.width.map_or(usize::MAX, |_| LONGEST_NAME);
        part(Ink::Plain, &text::cut(&name, room, look.sign(Sign::Cut)));
    }
    if let Some(version) = turn.version {
        part(Ink::Faint, &format!("{}/{}", version.number, version.of));
    }
    if turn.is_head_before_answer {
        part(Ink::Faint, words::HEAD_BEFORE_ANSWER);
    }
    match turn.end {
        Some(TurnEnd::Interrupted(why)) => {
            let sign = look.sign(Sign::Interrupted);
            part(Ink::Faint, &format!("{sign} {}", words::interrupted_in_short(why)));
        }
        Some(TurnEnd::Failed) => part(Ink::Error, &format!("{} error", look.sign(Sign::Error))),
        None => {}
    }
    right
}

fn number(row: &TurnTreeRow) -> String {
    match row {
        TurnTreeRow::Turn(TurnRow { number: Some(number), .. }) => format!("#{number}"),
        TurnTreeRow::Turn(_) | TurnTreeRow::Folded(_) => String::new(),
    }
}

/// Of very many lanes the inner ones are counted, so that text has room: `│ │ +12 ├─`.
fn lanes(cells: Vec<Cell>, is_first: bool, look: &Look) -> LanesDrawn {
    let most = look.width.map_or(32, |width| (width / 8).max(3));
    let hidden = if cells.len() > most { cells.len() - (most - 1) } else { 0 };
    let mut before = String::new();
    let mut below = String::new();
    for (level, cell) in cells.iter().enumerate() {
        let is_innermost = level + 1 == cells.len();
        if hidden > 0 && level == most - 2 {
            let count = format!("+{hidden} ");
            below.push_str(&" ".repeat(count.len()));
            before.push_str(&count);
        }
        if hidden > 0 && level + 1 >= most - 1 && !is_innermost {
            continue;
        }
        let (drawn, drawn_below) = match cell {
            Cell::Empty => ("  ", "  "),
            Cell::Line => (look.sign(Sign::Line), look.sign(Sign::Line)),
            Cell::Tee if is_first => (look.sign(Sign::TopCorner), look.sign(Sign::Line)),
            Cell::Tee => (look.sign(Sign::Tee), look.sign(Sign::Line)),
            Cell::Corner => (look.sign(Sign::Corner), "  "),
        };
        before.push_str(drawn);
        below.push_str(drawn_below);
    }
    LanesDrawn { before, below }
}
