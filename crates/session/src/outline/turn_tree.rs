//! The tree with one row per turn.
//!
//! ```text
//! ● #1  first
//! ├─● #2  an edited prompt
//! │ ● #3  and what followed
//! ╰─○ #2  the prompt before the edit
//!   ┊     4 turns, 17 tools
//!   ○ #7  its tip
//! ```
//! A turn is drawn in one line with the turn it continues. Where a turn has several continuations, or goes on by
//! itself beside the one it has, each continuation is a branch. Two kinds of rows are not prompts: what stands
//! before the first prompt, and a second answer that forked off inside a turn.
//!
//! What an agent asked of another one is a tree beside the conversation. It is drawn below the turn that asked, before what
//! comes after that turn, and its turns have no number: numbers count what a person said.
//!
//! Runs of quiet turns off the active path are folded to one row. Tips of branches, forks, labels, names, the
//! head and turns that ended badly are never folded.

use std::collections::HashSet;

use serde_json::Value;

use super::lanes::{Cell, Lane, Lanes};
use super::line::{Lines, one_line};
use super::shape::{Archive, Shape};
use super::turns::{TurnEnd, end_of};
use super::{is_conversation, says_something, set};
use crate::versions::Version;
use crate::{Body, Entry, EntryId, Note, SessionTree};

/// Shorter runs of quiet turns are shown.
const SHORTEST_FOLD: usize = 4;

#[derive(Clone, Debug, Default)]
pub struct TurnOutline {
    pub rows: Vec<TurnTreeRow>,
    /// Ways that end in different places. What agents asked of others is a tree beside them, and no branch.
    pub branches: usize,
    /// Without the tasks that agents gave to others.
    pub prompts: usize,
    pub head: HeadPlace,
    lanes: Lanes,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HeadPlace {
    /// Before the first entry.
    #[default]
    Nowhere,
    /// Behind some entry, but before the first prompt.
    BeforeFirstTurn,
    Turn(usize),
}

#[derive(Clone, Debug)]
pub enum TurnTreeRow {
    Turn(TurnRow),
    Folded(FoldedTurns),
}

#[derive(Clone, Debug)]
pub struct TurnRow {
    /// The prompt, or the first entry that is shown.
    pub entry: EntryId,
    /// The turn's number on its path; `None` where the row is not a prompt.
    pub number: Option<usize>,
    pub text: String,
    pub labels: Vec<String>,
    pub branch_names: Vec<String>,
    pub version: Option<Version>,
    pub on_active_path: bool,
    pub is_head: bool,
    /// The head is on the prompt, and an answer follows it.
    pub is_head_before_answer: bool,
    pub end: Option<TurnEnd>,
    /// Tools called in this turn.
    pub tools: usize,
    /// Whether the turn after it stands right below it, in the same lane.
    pub goes_on: bool,
    lane: Option<Lane>,
    connector: Option<Cell>,
    indent: usize,
}

#[derive(Clone, Debug)]
pub struct FoldedTurns {
    pub turns: usize,
    pub tools: usize,
    lane: Option<Lane>,
    indent: usize,
}

impl TurnOutline {
    pub fn of(tree: &SessionTree) -> Self {
        let shape = Shape::of(tree, Archive::Closed);
        let turns = Turns::of(&shape).with_tasks_below_their_turns(tree, &shape);
        turns.into_outline(tree, &shape)
    }

    pub fn cells(&self, row: &TurnTreeRow) -> Vec<Cell> {
        match row {
            TurnTreeRow::Turn(row) => self.lanes.cells(row.lane, row.connector, row.indent),
            TurnTreeRow::Folded(row) => self.lanes.cells(row.lane, None, row.indent),
        }
    }
}

/// Whether an agent was asked this by another one.
pub fn is_task(tree: &SessionTree, prompt: &Entry) -> bool {
    tree.parent(&prompt.id).is_some_and(|above| is_sub_agent(&above.body))
}

fn is_sub_agent(body: &Body) -> bool {
    matches!(body, Body::Note(note) if note.kind == Note::SUB_AGENT)
}

/// The turns of a whole tree, in the order they are drawn.
struct Turns {
    all: Vec<OneTurn>,
    /// For every node: the turn it belongs to.
    turn_of: Vec<Option<usize>>,
    /// For every node: whether it is on its turn's own line, not beside it.
    in_line: Vec<bool>,
}

struct OneTurn {
    first: usize,
    parent: Option<usize>,
    /// The node it hangs below.
    attached_to: Option<usize>,
    /// In the tree of a sub-agent.
    is_delegated: bool,
    /// Of the first turn of a sub-agent: the turn that started it.
    started_by: Option<usize>,
    /// In the tree of a sub-agent that is drawn below the turn that started it.
    is_aside: bool,
    /// Sub-agents that this turn has started, and the last of them.
    started: usize,
    last_started: Option<usize>,
    number: usize,
    /// The last node on its own line.
    tip: usize,
    children: usize,
    last_child: Option<usize>,
    tools: usize,
    end: Option<TurnEnd>,
    has_head: bool,
    labels: Vec<String>,
    branch_names: Vec<String>,
}

impl Turns {
    fn of(shape: &Shape<'_>) -> Self {
        let main_children = main_children(shape);
        let len = shape.len();
        let mut turns = Self { all: Vec::new(), turn_of: vec![None; len], in_line: vec![false; len] };
        for &at in &shape.order {
            if let Some(entry) = shape.entry(at) {
                turns.take(shape, at, entry, &main_children);
            }
        }
        turns
    }

    fn take(&mut self, shape: &Shape<'_>, at: usize, entry: &Entry, main_children: &[Option<usize>]) {
        let above = shape.parent(at);
        let turn_above = above.and_then(|above| self.turn_of.get(above).copied().flatten());
        let continues = above.is_some_and(|above| {
            self.in_line.get(above).copied().unwrap_or(false) && main_children.get(above) == Some(&Some(at))
        });
        let begins = entry.body.is_prompt() || (!continues && is_shown(shape, at, entry));
        let turn = if begins { Some(self.begin(shape, at, turn_above, entry)) } else { turn_above };
        set(&mut self.turn_of, at, turn);
        set(&mut self.in_line, at, begins || continues);
        if let Some(turn) = turn.and_then(|turn| self.all.get_mut(turn)) {
            turn.absorb(shape, at, entry, begins || continues);
        }
    }

    fn begin(&mut self, shape: &Shape<'_>, at: usize, parent: Option<usize>, entry: &Entry) -> usize {
        let index = self.all.len();
        let above = shape.parent(at);
        let starts_agent = |above| shape.entry(above).is_some_and(|above| is_sub_agent(&above.body));
        let (mut number, mut is_delegated) = (0, above.is_some_and(starts_agent));
        if let Some(parent) = parent.and_then(|parent| self.all.get_mut(parent)) {
            parent.children += 1;
            parent.last_child = Some(index);
            number = parent.number;
            is_delegated |= parent.is_delegated;
        }
        self.all.push(OneTurn {
            first: at,
            parent,
            attached_to: above,
            is_delegated,
            started_by: None,
            is_aside: false,
            started: 0,
            last_started: None,
            number: number + usize::from(entry.body.is_prompt()),
            tip: at,
            children: 0,
            last_child: None,
            tools: 0,
            end: None,
            has_head: false,
            labels: Vec::new(),
            branch_names: Vec::new(),
        });
        index
    }

    /// A sub-agent whose call is not in the tree stays a tree beside it.
    fn with_tasks_below_their_turns(mut self, tree: &SessionTree, shape: &Shape<'_>) -> Self {
        let tasks: Vec<(usize, usize)> = (0..self.all.len())
            .filter_map(|turn| Some((turn, self.starter_of(turn, tree, shape)?)))
            .collect();
        if tasks.is_empty() {
            return self;
        }
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); self.all.len()];
        let hangs: HashSet<usize> = tasks.iter().map(|(task, _)| *task).collect();
        let children = self.all.iter().enumerate().filter_map(|(at, turn)| Some((at, turn.parent?)));
        for (turn, above) in tasks.iter().copied().chain(children) {
            if let Some(below) = below.get_mut(above) {
                below.push(turn);
            }
        }
        let mut roots: Vec<usize> =
            (0..self.all.len()).filter(|turn| self.is_root(*turn) && !hangs.contains(turn)).collect();
        roots.reverse();
        let mut order: Vec<usize> = Vec::with_capacity(self.all.len());
        while let Some(turn) = roots.pop() {
            order.push(turn);
            roots.extend(below.get(turn).into_iter().flatten().rev());
        }
        // Sub-agents that seem to have started each other hang below nothing.
        if order.len() != self.all.len() {
            return self;
        }
        let mut place = vec![0; order.len()];
        for (now, before) in order.iter().enumerate() {
            set(&mut place, *before, now);
        }
        let moved = |turn: usize| place.get(turn).copied();
        for turn in &mut self.all {
            turn.parent = turn.parent.and_then(moved);
            turn.last_child = turn.last_child.and_then(moved);
        }
        for turn in &mut self.turn_of {
            *turn = turn.and_then(moved);
        }
        let mut all: Vec<Option<OneTurn>> = self.all.into_iter().map(Some).collect();
        self.all = order.iter().filter_map(|turn| all.get_mut(*turn)?.take()).collect();
        for (task, starter) in tasks {
            self.hang(moved(task), moved(starter));
        }
        for at in 0..self.all.len() {
            let above = self.all.get(at).and_then(|turn| turn.parent).and_then(|above| self.all.get(above));
            let is_aside = above.is_some_and(|above| above.is_aside);
            if let Some(turn) = self.all.get_mut(at) {
                turn.is_aside |= is_aside || turn.started_by.is_some();
            }
        }
        self
    }

    fn hang(&mut self, task: Option<usize>, starter: Option<usize>) {
        if let Some(turn) = starter.and_then(|starter| self.all.get_mut(starter)) {
            turn.started += 1;
            turn.last_started = task;
        }
        if let Some(turn) = task.and_then(|task| self.all.get_mut(task)) {
            turn.started_by = starter;
        }
    }

    /// The turn in which the call stands that started this one.
    fn starter_of(&self, turn: usize, tree: &SessionTree, shape: &Shape<'_>) -> Option<usize> {
        let turn = self.all.get(turn).filter(|turn| turn.parent.is_none() && turn.is_delegated)?;
        let note = shape.entry(turn.first).and_then(|first| tree.parent(&first.id))?;
        let Body::Note(Note { data: Some(data), .. }) = &note.body else { return None };
        let entry = data.get("entry").and_then(Value::as_str)?;
        let at = tree.index_of(&EntryId::from(entry))?;
        self.turn_of.get(usize::try_from(at).ok()?).copied().flatten()
    }

    fn into_outline(self, tree: &SessionTree, shape: &Shape<'_>) -> TurnOutline {
        let roots: Vec<usize> = (0..self.all.len()).filter(|turn| self.is_root(*turn)).collect();
        let mut outline = TurnOutline {
            branches: self.ends_of_branches(),
            prompts: shape
                .order
                .iter()
                .filter(|at| shape.entry(**at).is_some_and(|e| e.body.is_prompt() && !is_task(tree, e)))
                .count(),
            head: self.head_place(tree, shape),
            ..TurnOutline::default()
        };
        let lines = Lines::of(tree);
        let mut places: Vec<Place> = Vec::with_capacity(self.all.len());
        let mut quiet_run: Vec<usize> = Vec::new();
        for (index, turn) in self.all.iter().enumerate() {
            let place = match turn.started_by.or(turn.parent).and_then(|above| places.get(above)) {
                Some(above) => above.below(self.branch_of(index), &mut outline.lanes),
                None => Place::root(&roots, index),
            };
            places.push(place);
            if self.is_quiet(index, shape) {
                quiet_run.push(index);
                continue;
            }
            self.show_run(&mut quiet_run, &places, shape, &lines, &mut outline);
            self.show(index, &places, shape, &lines, &mut outline);
        }
        self.show_run(&mut quiet_run, &places, shape, &lines, &mut outline);
        outline
    }

    /// A branch ends where no turn hangs below the end of a turn's own line.
    fn ends_of_branches(&self) -> usize {
        let goes_on: HashSet<usize> = self
            .all
            .iter()
            .filter_map(|turn| turn.parent.zip(turn.attached_to))
            .filter(|(parent, attached_to)| {
                self.all.get(*parent).is_some_and(|parent| parent.tip == *attached_to)
            })
            .map(|(parent, _)| parent)
            .collect();
        let is_end = |(at, turn): &(usize, &OneTurn)| !turn.is_delegated && !goes_on.contains(at);
        let ends = self.all.iter().enumerate().filter(is_end).count();
        // The file of a sub-agent alone has a way too.
        ends.max(usize::from(!self.all.is_empty()))
    }

    fn is_root(&self, turn: usize) -> bool {
        self.all.get(turn).is_some_and(|turn| turn.parent.is_none() && turn.started_by.is_none())
    }

    /// Whether this turn stands right below its parent, in the same lane.
    fn is_straight(&self, turn: &OneTurn) -> bool {
        turn.parent
            .and_then(|parent| self.all.get(parent))
            .is_some_and(|parent| parent.children == 1 && turn.attached_to == Some(parent.tip))
    }

    fn branch_of(&self, index: usize) -> Branch {
        let Some(turn) = self.all.get(index) else { return Branch::Straight };
        if let Some(starter) = turn.started_by.and_then(|starter| self.all.get(starter)) {
            let is_last = starter.children == 0 && starter.last_started == Some(index);
            return if is_last { Branch::Last } else { Branch::OneOfSeveral };
        }
        let parent = turn.parent.and_then(|parent| self.all.get(parent));
        match parent {
            Some(_) if self.is_straight(turn) => Branch::Straight,
            Some(parent) if parent.last_child == Some(index) => Branch::Last,
            Some(_) => Branch::OneOfSeveral,
            None => Branch::Straight,
        }
    }

    fn goes_on(&self, index: usize) -> bool {
        self.all
            .get(index)
            .and_then(|turn| turn.last_child)
            .and_then(|child| self.all.get(child))
            .is_some_and(|child| self.is_straight(child))
    }

    fn is_quiet(&self, index: usize, shape: &Shape<'_>) -> bool {
        self.all.get(index).is_some_and(|turn| {
            !shape.on_path(turn.first)
                && self.is_straight(turn)
                && self.goes_on(index)
                && turn.started == 0
                && !turn.has_head
                && turn.end.is_none()
                && turn.labels.is_empty()
                && turn.branch_names.is_empty()
        })
    }

    fn show_run(
        &self,
        run: &mut Vec<usize>,
        places: &[Place],
        shape: &Shape<'_>,
        lines: &Lines<'_>,
        outline: &mut TurnOutline,
    ) {
        let run = std::mem::take(run);
        if run.len() < SHORTEST_FOLD {
            for turn in run {
                self.show(turn, places, shape, lines, outline);
            }
            return;
        }
        if let Some(place) = run.first().and_then(|first| places.get(*first)) {
            outline.rows.push(TurnTreeRow::Folded(FoldedTurns {
                turns: run.len(),
                tools: run.iter().filter_map(|turn| self.all.get(*turn)).map(|turn| turn.tools).sum(),
                lane: place.lane,
                indent: place.indent,
            }));
        }
    }

    fn show(
        &self,
        index: usize,
        places: &[Place],
        shape: &Shape<'_>,
        lines: &Lines<'_>,
        outline: &mut TurnOutline,
    ) {
        let (Some(turn), Some(place)) = (self.all.get(index), places.get(index)) else { return };
        let Some(entry) = shape.entry(turn.first) else { return };
        let is_prompt = entry.body.is_prompt();
        outline.rows.push(TurnTreeRow::Turn(TurnRow {
            entry: entry.id.clone(),
            number: (is_prompt && !turn.is_aside).then_some(turn.number),
            text: if is_prompt { one_line(&entry.body) } else { lines.line(entry) },
            labels: turn.labels.clone(),
            branch_names: turn.branch_names.clone(),
            version: shape.version(turn.first),
            on_active_path: shape.on_path(turn.first),
            is_head: turn.has_head,
            is_head_before_answer: is_prompt && shape.head == Some(turn.first) && turn.tip != turn.first,
            end: turn.end,
            tools: turn.tools,
            goes_on: self.goes_on(index),
            lane: place.lane,
            connector: place.connector,
            indent: place.indent,
        }));
    }

    fn head_place(&self, tree: &SessionTree, shape: &Shape<'_>) -> HeadPlace {
        if tree.main_head().is_none() {
            return HeadPlace::Nowhere;
        }
        let turn = shape.head.and_then(|head| self.turn_of.get(head).copied().flatten());
        match turn.and_then(|turn| self.all.get(turn)).map(|turn| turn.number) {
            Some(number) if number > 0 => HeadPlace::Turn(number),
            Some(_) | None => HeadPlace::BeforeFirstTurn,
        }
    }
}

impl OneTurn {
    fn absorb(&mut self, shape: &Shape<'_>, at: usize, entry: &Entry, in_line: bool) {
        self.has_head |= shape.head == Some(at);
        self.labels.extend(shape.label(&entry.id).map(String::from));
        self.branch_names.extend(shape.branch_name(&entry.id).map(String::from));
        if !in_line {
            return;
        }
        self.tip = at;
        if let Some(end) = end_of(&entry.body) {
            self.end = end;
        }
        if let Body::Reply(reply) = &entry.body {
            self.tools += reply.tool_uses().count();
        }
    }
}

#[derive(Clone, Copy)]
enum Branch {
    Straight,
    OneOfSeveral,
    Last,
}

#[derive(Clone, Copy)]
struct Place {
    indent: usize,
    connector: Option<Cell>,
    lane: Option<Lane>,
}

impl Place {
    /// Several roots are branches of a fork that nobody sees.
    fn root(roots: &[usize], root: usize) -> Self {
        let connector = match roots {
            [] | [_] => None,
            [.., last] if *last == root => Some(Cell::Corner),
            _ => Some(Cell::Tee),
        };
        Self { indent: usize::from(connector.is_some()), connector, lane: None }
    }

    fn below(&self, branch: Branch, lanes: &mut Lanes) -> Self {
        let lane = match self.connector {
            Some(connector) => lanes.open(self.lane, self.indent.saturating_sub(1), connector == Cell::Tee),
            None => self.lane,
        };
        match branch {
            Branch::Straight => Self { indent: self.indent, connector: None, lane },
            Branch::OneOfSeveral => Self { indent: self.indent + 1, connector: Some(Cell::Tee), lane },
            Branch::Last => Self { indent: self.indent + 1, connector: Some(Cell::Corner), lane },
        }
    }
}

fn is_shown(shape: &Shape<'_>, at: usize, entry: &Entry) -> bool {
    is_conversation(&entry.body) && (shape.head == Some(at) || says_something(&entry.body))
}

/// For every node: whether it or something below it is shown.
fn nodes_that_matter(shape: &Shape<'_>) -> Vec<bool> {
    let mut matters = vec![false; shape.len()];
    for &at in shape.order.iter().rev() {
        let shown = shape.entry(at).is_some_and(|entry| is_shown(shape, at, entry));
        if shown || matters.get(at).copied().unwrap_or(false) {
            set(&mut matters, at, true);
            if let Some(parent) = shape.parent(at) {
                set(&mut matters, parent, true);
            }
        }
    }
    matters
}

/// For every node: the child by which a turn goes on by itself. It is the one on the active path, else the first
/// that leads anywhere; where that one is a prompt, the next turn begins and there is none.
fn main_children(shape: &Shape<'_>) -> Vec<Option<usize>> {
    let matters = nodes_that_matter(shape);
    let leads = |at: &&usize| shape.on_path(**at) || matters.get(**at).copied().unwrap_or(false);
    (0..shape.len())
        .map(|above| {
            let children = shape.children(above);
            let main = children.iter().find(leads).or(children.first()).copied()?;
            shape.entry(main).filter(|entry| !entry.body.is_prompt()).map(|_| main)
        })
        .collect()
}
