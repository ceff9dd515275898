//! One row per entry: `b7720e  ├─ • [label] user: Store the credit as a deadline.`

use offshoot_session::SessionTree;
use offshoot_session::address::ShortIds;
use offshoot_session::outline::{Cell, Lines, Outline, OutlineOptions};

use crate::living::{Running, state_in_words};
use crate::look::{Ink, Look, Sign};
use crate::table::{Painted, Row};
use crate::text;

/// Deeper levels than these are counted, so that text has room.
const MOST_LEVELS: usize = 12;

pub(super) fn rows(tree: &SessionTree, options: &OutlineOptions, running: &Running, look: &Look) -> Vec<Row> {
    let outline = Outline::of(tree, options);
    let lines = Lines::of(tree);
    let short_ids = ShortIds::of(tree);
    let ids: Vec<String> =
        outline.rows.iter().map(|row| text::harmless_line(&short_ids.get(&row.entry), look.ascii)).collect();
    let id_columns = ids.iter().map(|id| text::width(id)).max().unwrap_or(0);
    let mut rows = Vec::with_capacity(outline.rows.len());
    for (row, id) in outline.rows.iter().zip(&ids) {
        let Some(entry) = tree.entry(&row.entry) else { continue };
        let mut lead = Painted::default();
        lead.push(look, Ink::Faint, &text::padded(id, id_columns));
        lead.push(look, Ink::Plain, "  ");
        lead.push(look, Ink::Plain, &levels(&outline.cells(row), look));
        if row.on_active_path {
            lead.push(look, Ink::Accent, look.sign(Sign::PathMark));
        }
        if let Some(label) = &row.label {
            lead.push(look, Ink::Bold, &format!("[{}] ", text::harmless_line(label.trim(), look.ascii)));
        }
        let mut right = Painted::default();
        if let Some(name) = &row.branch_name {
            right.push(look, Ink::Plain, &text::harmless_line(name.trim(), look.ascii));
        }
        if let Some(version) = row.version {
            let gap = if right.columns > 0 { "  " } else { "" };
            right.push(look, Ink::Faint, &format!("{gap}{}/{}", version.number, version.of));
        }
        if let Some(status) = running.of_prompt(&row.entry) {
            let (words, ink) = state_in_words(&status.state, look);
            right.push(look, Ink::Plain, if right.columns > 0 { "  " } else { "" });
            right.push(look, ink, &words);
        }
        rows.push(Row {
            lead,
            lead_below: " ".repeat(id_columns + 2),
            text: text::harmless_line(&lines.line(entry), look.ascii),
            is_head: row.is_head,
            right,
        });
    }
    rows
}

fn levels(cells: &[Cell], look: &Look) -> String {
    let hidden = cells.len().saturating_sub(MOST_LEVELS);
    let mut drawn = String::new();
    if hidden > 0 {
        drawn.push_str(&format!("+{hidden} "));
    }
    for cell in cells.iter().skip(hidden) {
        drawn.push_str(match cell {
            Cell::Empty => "   ",
            Cell::Line => look.sign(Sign::EntryLine),
            Cell::Tee => look.sign(Sign::EntryTee),
            Cell::Corner => look.sign(Sign::EntryCorner),
        });
    }
    drawn
}
