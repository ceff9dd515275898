//! Lists in columns: one row per thing. Where the room is short the text gives way first, then the columns that
//! say they can; under 60 columns a thing takes two lines. A pipe gets all of it between tabs.

use crate::look::{Ink, Look, Sign};
use crate::text;

/// Under this width a row takes two lines.
const ONE_LINE: usize = 60;
const GAP: usize = 2;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) title: &'static str,
    pub(crate) side: Side,
    pub(crate) room: Room,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// What a column does when the terminal is narrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Never cut; first on the first line.
    Lead,
    /// Never cut; on the second line where there are two.
    Fixed,
    /// Cut first, down to this many columns.
    Text(usize),
    /// Cut after the text, from left to right; then left out.
    GivesWay(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) ink: Ink,
    pub(crate) text: String,
    /// Where a second line has no heading above it, a number needs a word.
    pub(crate) alone: Option<String>,
}

impl Cell {
    pub(crate) fn new(ink: Ink, text: impl Into<String>) -> Self {
        Self { ink, text: text.into(), alone: None }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::new(Ink::Plain, text)
    }

    pub(crate) fn faint(text: impl Into<String>) -> Self {
        Self::new(Ink::Faint, text)
    }

    pub(crate) fn or_alone(mut self, alone: impl Into<String>) -> Self {
        self.alone = Some(alone.into());
        self
    }
}

pub(crate) fn drawn(columns: &[Column], rows: &[Vec<Cell>], look: &Look) -> String {
    match look.width {
        None => rows.iter().map(|row| tabbed(row)).collect(),
        Some(width) if width < ONE_LINE => {
            let leads = lead_widths(columns, rows);
            rows.iter().map(|row| two_lines(columns, row, &leads, width, look)).collect()
        }
        Some(width) => {
            let widths = fitted(columns, natural(columns, rows, look.quiet), width);
            let mut drawn = String::new();
            let has_titles = columns.iter().any(|column| !column.title.is_empty());
            if has_titles && !look.quiet && !rows.is_empty() {
                let titles: Vec<Cell> = columns.iter().map(|column| Cell::faint(column.title)).collect();
                drawn.push_str(&one_line(columns, &titles, &widths, look));
            }
            drawn.extend(rows.iter().map(|row| one_line(columns, row, &widths, look)));
            drawn
        }
    }
}

fn tabbed(row: &[Cell]) -> String {
    let cells: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
    format!("{}\n", cells.join("\t"))
}

/// How wide each column would like to be. One that is empty everywhere has no width and no title.
fn natural(columns: &[Column], rows: &[Vec<Cell>], without_titles: bool) -> Vec<usize> {
    let widest = |at: usize| {
        rows.iter().filter_map(|row| row.get(at)).map(|cell| text::width(&cell.text)).max().unwrap_or(0)
    };
    let with_title = |(at, column): (usize, &Column)| match widest(at) {
        0 => 0,
        widest if without_titles => widest,
        widest => widest.max(text::width(column.title)),
    };
    columns.iter().enumerate().map(with_title).collect()
}

/// Cuts what may be cut; where that is not enough, leaves columns out one by one.
fn fitted(columns: &[Column], mut natural: Vec<usize>, width: usize) -> Vec<usize> {
    loop {
        let (widths, fits) = cut_to(columns, &natural, width);
        let may_go = columns
            .iter()
            .zip(&natural)
            .position(|(column, width)| matches!(column.room, Room::GivesWay(_)) && *width > 0);
        match may_go.and_then(|at| natural.get_mut(at)).filter(|_| !fits) {
            Some(column) => *column = 0,
            None => return widths,
        }
    }
}

/// The text is cut first, then the others from left to right. Says whether it was enough.
fn cut_to(columns: &[Column], natural: &[usize], width: usize) -> (Vec<usize>, bool) {
    let mut widths = natural.to_vec();
    let excess = |widths: &[usize]| {
        let shown = widths.iter().filter(|width| **width > 0);
        let gaps = shown.clone().count().saturating_sub(1) * GAP;
        (shown.sum::<usize>() + gaps).saturating_sub(width)
    };
    let texts = columns.iter().enumerate().filter_map(|(at, column)| match column.room {
        Room::Text(least) => Some((at, least)),
        Room::Lead | Room::Fixed | Room::GivesWay(_) => None,
    });
    let others = columns.iter().enumerate().filter_map(|(at, column)| match column.room {
        Room::GivesWay(least) => Some((at, least)),
        Room::Lead | Room::Fixed | Room::Text(_) => None,
    });
    for (at, least) in texts.chain(others) {
        let over = excess(&widths);
        if let Some(column) = widths.get_mut(at) {
            *column -= over.min(column.saturating_sub(least));
        }
    }
    let fits = excess(&widths) == 0;
    (widths, fits)
}

fn one_line(columns: &[Column], row: &[Cell], widths: &[usize], look: &Look) -> String {
    let mut line = String::new();
    for ((column, cell), width) in columns.iter().zip(row).zip(widths).filter(|(_, width)| **width > 0) {
        let words = text::cut(&cell.text, *width, look.sign(Sign::Cut));
        let blank = " ".repeat(width.saturating_sub(text::width(&words)));
        let painted = look.paint(cell.ink, &words);
        match column.side {
            Side::Left => line.push_str(&format!("{painted}{blank}")),
            Side::Right => line.push_str(&format!("{blank}{painted}")),
        }
        line.push_str(&" ".repeat(GAP));
    }
    format!("{}\n", line.trim_end())
}

fn lead_widths(columns: &[Column], rows: &[Vec<Cell>]) -> Vec<usize> {
    let mut widths = natural(columns, rows, true);
    for (column, width) in columns.iter().zip(&mut widths) {
        if column.room != Room::Lead {
            *width = 0;
        }
    }
    widths
}

/// Leads and text on the first line, all others below.
fn two_lines(columns: &[Column], row: &[Cell], leads: &[usize], width: usize, look: &Look) -> String {
    let mut first = String::new();
    let mut indent = 0;
    for (cell, lead) in row.iter().zip(leads).filter(|(_, lead)| **lead > 0) {
        let blank = " ".repeat(lead.saturating_sub(text::width(&cell.text)) + GAP);
        first.push_str(&format!("{}{blank}", look.paint(cell.ink, &cell.text)));
        indent += lead + GAP;
    }
    let mut second = String::new();
    let mut left = width.saturating_sub(indent);
    for (column, cell) in columns.iter().zip(row) {
        match column.room {
            Room::Lead => {}
            Room::Text(_) => {
                let room = width.saturating_sub(indent);
                first.push_str(&look.paint(cell.ink, &text::cut(&cell.text, room, look.sign(Sign::Cut))));
            }
            Room::Fixed | Room::GivesWay(_) => {
                let words = cell.alone.as_deref().filter(|_| !cell.text.is_empty()).unwrap_or(&cell.text);
                let gap = if second.is_empty() { 0 } else { GAP };
                if words.is_empty() || left < gap + text::width(words) {
                    continue;
                }
                left -= gap + text::width(words);
                second.push_str(&" ".repeat(gap));
                second.push_str(&look.paint(cell.ink, words));
            }
        }
    }
    let mut lines = format!("{}\n", first.trim_end());
    if !second.is_empty() {
        lines.push_str(&format!("{}{second}\n", " ".repeat(indent)));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column { title: "ID", side: Side::Left, room: Room::Lead },
        Column { title: "SESSION", side: Side::Left, room: Room::Text(10) },
        Column { title: "PROJECT", side: Side::Left, room: Room::GivesWay(4) },
        Column { title: "COST", side: Side::Right, room: Room::Fixed },
    ];

    fn list(width: Option<usize>) -> String {
        let row = |cells: [&str; 4]| cells.map(Cell::plain).to_vec();
        let rows = [
            row(["6f2a91", "Burst credit is lost after a reload of the config", "gatehouse", "$1.84"]),
            row(["b81c07", "日本語の題", "", ""]),
        ];
        drawn(&COLUMNS, &rows, &Look::plain(width))
    }

    #[test]
    fn the_text_gives_way_first() {
        let expected = "\
ID      SESSION                             PROJECT     COST
6f2a91  Burst credit is lost after a relo…  gatehouse  $1.84
b81c07  日本語の題
";
        assert_eq!(list(Some(60)), expected);
    }

    #[test]
    fn columns_that_do_not_fit_at_all_are_left_out() {
        let widths = fitted(&COLUMNS, vec![6, 40, 9, 5], 24);
        assert_eq!(widths, [6, 10, 0, 5]);
        assert_eq!(fitted(&COLUMNS, vec![6, 40, 9, 5], 30), [6, 15, 0, 5], "what is freed is used");
        assert_eq!(fitted(&COLUMNS, vec![6, 40, 9, 5], 32), [6, 10, 5, 5]);
    }

    #[test]
    fn a_narrow_terminal_gets_two_lines() {
        let expected = "\
6f2a91  Burst credit is lost…
        gatehouse  $1.84
b81c07  日本語の題
";
        assert_eq!(list(Some(29)), expected);
    }

    #[test]
    fn a_pipe_gets_all_of_it() {
        assert_eq!(
            list(None),
            "6f2a91\tBurst credit is lost after a reload of the config\tgatehouse\t$1.84\nb81c07\t日本語の題\t\t\n"
        );
    }
}
