//! The lines left of a row, shared between rows.
//!
//! ```text
//! ├─ a        Tee
//! │     b     Line, Empty
//! └─ c        Corner
//! ```

/// What one level shows on one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Empty,
    /// A fork above has more branches below.
    Line,
    /// This row is a branch, and another one follows.
    Tee,
    /// This row is the last branch of its fork.
    Corner,
}

/// A lane of some row; its outer lanes are found through it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(usize);

#[derive(Clone, Debug, Default)]
pub struct Lanes {
    all: Vec<OneLane>,
}

#[derive(Clone, Copy, Debug)]
struct OneLane {
    outer: Option<Lane>,
    level: usize,
}

impl Lanes {
    /// The lane of what hangs below a branch. Below the last branch of a fork no line goes on.
    pub(super) fn open(&mut self, outer: Option<Lane>, level: usize, goes_on: bool) -> Option<Lane> {
        if !goes_on {
            return outer;
        }
        self.all.push(OneLane { outer, level });
        Some(Lane(self.all.len() - 1))
    }

    /// All cells of a row: the lanes it stands in, and its connector at the innermost level.
    pub(super) fn cells(&self, lane: Option<Lane>, connector: Option<Cell>, indent: usize) -> Vec<Cell> {
        let mut cells = vec![Cell::Empty; indent];
        if let (Some(connector), Some(cell)) = (connector, cells.last_mut()) {
            *cell = connector;
        }
        let mut open = lane;
        while let Some(lane) = open.and_then(|lane| self.all.get(lane.0)) {
            if let Some(cell) = cells.get_mut(lane.level) {
                *cell = Cell::Line;
            }
            open = lane.outer;
        }
        cells
    }
}
