//! The tree as rows to look at, for every surface: which entries are shown, in which order, below which lanes.
//!
//! [`Outline`] shows entries (the tree selector), [`TurnOutline`] shows one row per turn (`offshoot tree`). Both
//! are data: the characters and the widths are chosen by whoever draws. The active branch comes first at every
//! fork, then branches oldest first. What is hidden leaves no gap: its children hang below the nearest ancestor
//! that is shown.
//!
//! Rows keep their lanes in a shared list ([`Lanes`]), so a tree of 50,000 entries and 5,000 branches costs
//! memory by its rows, not by rows times depth; the price is one call to get the cells of a row.

mod lanes;
mod ledger;
mod line;
mod shape;
mod turn_tree;
mod turns;

use std::collections::HashSet;

pub use crate::versions::{Version, version_of};
use crate::{Block, Body, Entry, EntryId, SessionTree, Stop};
pub use lanes::{Cell, Lane, Lanes};
pub use ledger::{LedgerRow, ledger_row};
pub use line::{Lines, one_line};
use shape::{Archive, Shape};
pub use turn_tree::{FoldedTurns, HeadPlace, TurnOutline, TurnRow, TurnTreeRow, is_task};
pub use turns::{Turn, TurnEnd, turns_below, turns_of, turns_through};

/// Which entries are worth a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// The conversation, without settings and notes.
    #[default]
    Default,
    /// The same without results of tools.
    NoTools,
    /// Prompts.
    UserOnly,
    LabeledOnly,
    All,
}

#[derive(Clone, Debug, Default)]
pub struct OutlineOptions {
    pub filter: Filter,
    /// Words that must all occur in a row; blank shows every row.
    pub search: String,
    /// Entries whose descendants are folded away.
    pub folded: HashSet<EntryId>,
}

#[derive(Clone, Debug, Default)]
pub struct Outline {
    pub rows: Vec<Row>,
    lanes: Lanes,
}

#[derive(Clone, Debug)]
pub struct Row {
    pub entry: EntryId,
    /// The row this one hangs below.
    pub parent: Option<usize>,
    /// Levels to the right; each is a cell of [`Outline::cells`].
    pub indent: usize,
    pub label: Option<String>,
    pub branch_name: Option<String>,
    /// Which of several prompts at the same place this is.
    pub version: Option<Version>,
    pub on_active_path: bool,
    pub is_head: bool,
    /// How many entries lie hidden between this row and the one it hangs below.
    pub hidden_between: usize,
    pub fold: Fold,
    lane: Option<Lane>,
    connector: Option<Cell>,
    /// Number of rows right below this one, and the first of them.
    children: usize,
    first_child: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Not the beginning of a segment, or nothing below it.
    None,
    /// Begins a segment and can be folded.
    Open,
    Folded,
}

impl Outline {
    pub fn of(tree: &SessionTree, options: &OutlineOptions) -> Self {
        let words: Vec<String> = options.search.split_whitespace().map(str::to_lowercase).collect();
        let lines = (!words.is_empty()).then(|| Lines::of(tree));
        let archive = if options.filter == Filter::All { Archive::Open } else { Archive::Closed };
        Self::showing(tree, archive, &options.folded, |entry, label, is_head| {
            passes(entry, label, is_head, options.filter)
                && lines.as_ref().is_none_or(|lines| lines.matches(entry, label, &words))
        })
    }

    /// Everything, also replies that [`Filter::All`] takes for told by the results of their tools.
    pub fn every_entry(tree: &SessionTree) -> Self {
        Self::showing(tree, Archive::Open, &HashSet::new(), |_, _, _| true)
    }

    fn showing(
        tree: &SessionTree,
        archive: Archive,
        folded: &HashSet<EntryId>,
        shows: impl Fn(&Entry, Option<&str>, bool) -> bool,
    ) -> Self {
        let shape = Shape::of(tree, archive);
        let mut rows = VisibleRows::new(&shape);
        for &at in &shape.order {
            if let Some(entry) = shape.entry(at) {
                rows.visit(at, folded.contains(&entry.id), || {
                    shows(entry, shape.label(&entry.id), shape.head == Some(at))
                });
            }
        }
        rows.into_outline(folded)
    }

    /// What stands before the text of a row, one cell per level.
    pub fn cells(&self, row: &Row) -> Vec<Cell> {
        self.lanes.cells(row.lane, row.connector, row.indent)
    }

    /// The row of this entry or of its nearest ancestor that has one; else the last row.
    pub fn nearest(&self, tree: &SessionTree, entry: Option<&EntryId>) -> Option<usize> {
        let shown: std::collections::HashMap<&EntryId, usize> =
            self.rows.iter().enumerate().map(|(at, row)| (&row.entry, at)).collect();
        let mut above = entry.and_then(|id| tree.entry(id));
        while let Some(entry) = above {
            if let Some(row) = shown.get(&entry.id) {
                return Some(*row);
            }
            above = tree.parent(&entry.id);
        }
        self.rows.len().checked_sub(1)
    }

    /// Upwards to the beginning of a segment: the next row that is one of several below its parent, else the root.
    pub fn segment_above(&self, from: usize) -> usize {
        let mut at = from;
        while let Some(parent) = self.rows.get(at).and_then(|row| row.parent) {
            if at != from && self.rows.get(parent).is_some_and(|row| row.children > 1) {
                return at;
            }
            at = parent;
        }
        at
    }

    /// Downwards to the first row behind the next fork, else to the end.
    pub fn segment_below(&self, from: usize) -> usize {
        let mut at = from;
        while let Some((row, first)) = self.rows.get(at).and_then(|row| Some((row, row.first_child?))) {
            at = first;
            if row.children > 1 {
                break;
            }
        }
        at
    }
}

/// Whether an entry is part of the conversation that a person follows.
fn is_conversation(body: &Body) -> bool {
    match body {
        Body::Prompt(_)
        | Body::Reply(_)
        | Body::ToolResult(_)
        | Body::Shell(_)
        | Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Merge(_)
        | Body::CustomMessage(_)
        | Body::Cleared => true,
        Body::Setting(_) | Body::Note(_) | Body::System(_) | Body::ContextEdit(_) | Body::Foreign(_) => false,
    }
}

/// A reply that only calls tools is told by its results. The head is always shown.
fn says_something(body: &Body) -> bool {
    match body {
        Body::Reply(reply) => match &reply.stop {
            Some(Stop::Length | Stop::Aborted | Stop::Error(_) | Stop::Other(_)) => true,
            Some(Stop::EndTurn | Stop::ToolUse) | None => {
                reply.blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()))
            }
        },
        _ => true,
    }
}

fn passes(entry: &Entry, label: Option<&str>, is_head: bool, filter: Filter) -> bool {
    let kind_passes = match filter {
        Filter::Default => is_conversation(&entry.body),
        Filter::NoTools => is_conversation(&entry.body) && !matches!(entry.body, Body::ToolResult(_)),
        Filter::UserOnly => entry.body.is_prompt(),
        Filter::LabeledOnly => label.is_some(),
        Filter::All => true,
    };
    kind_passes && (is_head || says_something(&entry.body))
}

/// What one walk over the shape finds out: which nodes have rows, and below which row each hangs.
struct VisibleRows<'s, 't> {
    shape: &'s Shape<'t>,
    /// Hidden by a fold above.
    buried: Vec<bool>,
    /// For every node: the row at it or next above it.
    row_above: Vec<Option<usize>>,
    /// For every node: hidden nodes from that row down to it.
    hidden: Vec<usize>,
    rows: Vec<VisibleRow>,
}

struct VisibleRow {
    at: usize,
    parent: Option<usize>,
    hidden_between: usize,
    children: usize,
    first_child: Option<usize>,
    last_child: Option<usize>,
}

impl<'s, 't> VisibleRows<'s, 't> {
    fn new(shape: &'s Shape<'t>) -> Self {
        let len = shape.len();
        Self {
            shape,
            buried: vec![false; len],
            row_above: vec![None; len],
            hidden: vec![0; len],
            rows: Vec::new(),
        }
    }

    /// Parents are visited before their children.
    fn visit(&mut self, at: usize, folded: bool, shows: impl FnOnce() -> bool) {
        let above = self.shape.parent(at);
        let parent = above.and_then(|above| self.row_above.get(above).copied().flatten());
        let hidden_between = above.and_then(|above| self.hidden.get(above).copied()).unwrap_or(0);
        let buried = above.is_some_and(|above| self.buried.get(above).copied().unwrap_or(false));
        let row = (!buried && shows()).then_some(self.rows.len());
        if let Some(row) = row {
            if let Some(parent) = parent.and_then(|parent| self.rows.get_mut(parent)) {
                parent.children += 1;
                parent.first_child.get_or_insert(row);
                parent.last_child = Some(row);
            }
            self.rows.push(VisibleRow {
                at,
                parent,
                hidden_between,
                children: 0,
                first_child: None,
                last_child: None,
            });
        }
        set(&mut self.buried, at, buried || folded);
        set(&mut self.row_above, at, row.or(parent));
        set(&mut self.hidden, at, if row.is_some() { 0 } else { hidden_between + 1 });
    }

    fn into_outline(self, folded: &HashSet<EntryId>) -> Outline {
        let several_roots = self.rows.iter().filter(|row| row.parent.is_none()).count() > 1;
        let mut places: Vec<Place> = Vec::with_capacity(self.rows.len());
        let mut outline = Outline::default();
        for (index, row) in self.rows.iter().enumerate() {
            let parent = row.parent.and_then(|parent| self.rows.get(parent));
            let place_above = row.parent.and_then(|parent| places.get(parent));
            let place = match parent.zip(place_above) {
                None => Place::root(several_roots),
                Some((parent, above)) => above.below(parent, index, &mut outline.lanes),
            };
            places.push(place);
            let Some(entry) = self.shape.entry(row.at) else { continue };
            let begins_segment = parent.is_none_or(|parent| parent.children > 1);
            let fold = if folded.contains(&entry.id) {
                Fold::Folded
            } else if begins_segment && row.children > 0 {
                Fold::Open
            } else {
                Fold::None
            };
            outline.rows.push(Row {
                entry: entry.id.clone(),
                parent: row.parent,
                indent: place.shown_indent(several_roots),
                label: self.shape.label(&entry.id).map(String::from),
                branch_name: self.shape.branch_name(&entry.id).map(String::from),
                version: self.shape.version(row.at),
                on_active_path: self.shape.on_path(row.at),
                is_head: self.shape.head == Some(row.at),
                hidden_between: row.hidden_between,
                fold,
                lane: place.lane,
                connector: place.connector,
                children: row.children,
                first_child: row.first_child,
            });
        }
        outline
    }
}

/// Where a row stands. A fork moves its branches one level to the right, and what follows the first row of a
/// branch one more, so that a branch reads as a group; a line without forks stays where it is.
#[derive(Clone, Copy)]
struct Place {
    indent: usize,
    behind_fork: bool,
    connector: Option<Cell>,
    lane: Option<Lane>,
    /// Several roots count as branches of a fork that nobody sees.
    several_roots: bool,
}

impl Place {
    fn root(several_roots: bool) -> Self {
        let indent = usize::from(several_roots);
        Self { indent, behind_fork: several_roots, connector: None, lane: None, several_roots }
    }

    fn below(&self, parent: &VisibleRow, row: usize, lanes: &mut Lanes) -> Self {
        let at_fork = parent.children > 1;
        let moves_right = at_fork || (self.behind_fork && self.indent > 0);
        let is_last = parent.last_child == Some(row);
        let lane = match self.connector {
            Some(connector) => {
                let level = self.shown_indent(self.several_roots).saturating_sub(1);
                lanes.open(self.lane, level, connector == Cell::Tee)
            }
            None => self.lane,
        };
        Self {
            indent: self.indent + usize::from(moves_right),
            behind_fork: at_fork,
            connector: at_fork.then_some(if is_last { Cell::Corner } else { Cell::Tee }),
            lane,
            several_roots: self.several_roots,
        }
    }

    fn shown_indent(&self, several_roots: bool) -> usize {
        self.indent.saturating_sub(usize::from(several_roots))
    }
}

fn set<T>(list: &mut [T], at: usize, value: T) {
    if let Some(slot) = list.get_mut(at) {
        *slot = value;
    }
}
