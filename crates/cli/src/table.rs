//! Rows with text that gives way and a right column that does not.

use crate::look::{Ink, Look, Sign};
use crate::text;

/// Under this width the right column goes to a line of its own.
const ONE_LINE: usize = 60;

#[derive(Debug, Default)]
pub(crate) struct Row {
    /// Lanes, number, id; never cut.
    pub(crate) lead: Painted,
    /// What the lead becomes on a second line.
    pub(crate) lead_below: String,
    pub(crate) text: String,
    pub(crate) is_head: bool,
    pub(crate) right: Painted,
}

/// Text with the columns it takes, whatever its colour.
#[derive(Clone, Debug, Default)]
pub(crate) struct Painted {
    pub(crate) columns: usize,
    pub(crate) text: String,
}

impl Painted {
    pub(crate) fn push(&mut self, look: &Look, ink: Ink, text: &str) {
        self.columns += text::width(text);
        self.text.push_str(&look.paint(ink, text));
    }
}

/// Left and right end of one line; where both do not fit, two lines.
pub(crate) fn spread(left: &Painted, right: &Painted, look: &Look) -> String {
    if right.columns == 0 {
        return format!("{}\n", left.text);
    }
    let gap = match look.width {
        None => Some(2),
        Some(width) => width.checked_sub(left.columns + right.columns).filter(|gap| *gap >= 2),
    };
    match gap {
        Some(gap) => format!("{}{}{}\n", left.text, " ".repeat(gap), right.text),
        None => format!("{}\n{}\n", left.text, right.text),
    }
}

/// `least_right` is how much the right column wants at least, to stand below a title.
pub(crate) fn drawn(rows: &[Row], look: &Look, least_right: usize) -> String {
    let widest = rows.iter().map(|row| row.right.columns).max().unwrap_or(0);
    let right_columns = if widest > 0 { widest.max(least_right) } else { 0 };
    let mut drawn = String::new();
    for row in rows {
        let right_at =
            look.width.filter(|width| *width >= ONE_LINE).map(|width| width.saturating_sub(right_columns));
        push_row(&mut drawn, row, look, right_at);
    }
    drawn
}

fn push_row(drawn: &mut String, row: &Row, look: &Look, right_at: Option<usize>) {
    let has_right = row.right.columns > 0;
    let end = if has_right { right_at.map(|at| at.saturating_sub(2)).or(look.width) } else { look.width };
    let head = look.sign(Sign::Head);
    let head_columns = if row.is_head { text::width(head) + 2 } else { 0 };
    let words = match end {
        Some(end) => {
            text::cut(&row.text, end.saturating_sub(row.lead.columns + head_columns), look.sign(Sign::Cut))
        }
        None => row.text.clone(),
    };
    let mut line = row.lead.clone();
    line.push(look, Ink::Plain, &words);
    if row.is_head {
        line.push(look, Ink::Plain, "  ");
        line.push(look, Ink::Accent, head);
    }
    match (has_right, right_at, look.width) {
        (false, _, _) => drawn.push_str(line.text.trim_end()),
        (true, Some(at), _) => {
            let gap = " ".repeat(at.saturating_sub(line.columns).max(2));
            drawn.push_str(&format!("{}{gap}{}", line.text, row.right.text));
        }
        (true, None, None) => drawn.push_str(&format!("{}  {}", line.text, row.right.text)),
        (true, None, Some(_)) => {
            drawn.push_str(&format!("{}\n{}{}", line.text.trim_end(), row.lead_below, row.right.text));
        }
    }
    drawn.push('\n');
}
