//! From records to the tree.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Binding, Children, Head, Node, Operation, Parent, Rejected, SessionTree};
use crate::{
    Change, Entry, EntryId, Fact, HeadMove, HeadName, Mark, Odd, Oddity, OperationId, Record, SessionHeader,
    TitleSource,
};

impl SessionTree {
    /// Reads what is there and tells what it forgave. Never fails: the fold is total.
    pub fn replay(records: impl IntoIterator<Item = Record>) -> (Self, Vec<Oddity>) {
        let log: Vec<Record> = records.into_iter().collect();
        let (mut tree, oddities) = Self::replay_to_look(&log);
        tree.log = log.into_iter().collect();
        (tree, oddities)
    }

    /// The same without the log, which only whoever writes needs.
    pub fn replay_to_look(records: &[Record]) -> (Self, Vec<Oddity>) {
        Replay::default().run(records, &undone_operations(records))
    }

    /// Takes one record, or says why not and changes nothing.
    pub fn apply(&mut self, record: &Record) -> Result<(), Rejected> {
        match &record.change {
            Change::Opened(header) => self.open(header)?,
            Change::Entry(entry) => self.add_entry(entry)?,
            Change::HeadMoved(head_move) => self.move_head(head_move)?,
            Change::Marked(mark) => self.take_mark(mark, record)?,
            Change::Unknown => {}
        }
        if !is_history(record) {
            self.log.push_back_mut(record.clone());
        }
        Ok(())
    }

    /// The tree after all of these records, or the first reason against them.
    pub fn extended<'r>(&self, records: impl IntoIterator<Item = &'r Record>) -> Result<Self, Rejected> {
        let mut next = self.clone();
        for record in records {
            next.apply(record)?;
        }
        Ok(next)
    }

    /// Takes all of these records, or says why not and is what it was. What nobody else holds is changed in place: next to a
    /// clone every record copies its way down the tables, and that costs more than the record.
    pub fn extend<'r>(&mut self, records: impl IntoIterator<Item = &'r Record>) -> Result<(), Rejected> {
        let before = self.log.len();
        let taken = records.into_iter().try_for_each(|record| self.apply(record));
        if taken.is_err() {
            self.take_back_to(before);
        }
        taken
    }

    /// Is again what it was when its log had this length.
    pub fn take_back_to(&mut self, records: usize) {
        let log: Vec<Record> = self.log.iter().take(records).cloned().collect();
        *self = Self::replay(log).0;
    }

    fn open(&mut self, header: &SessionHeader) -> Result<(), Rejected> {
        if self.header.is_some() {
            return Err(Rejected::AlreadyOpened);
        }
        self.header = Some(header.clone());
        Ok(())
    }

    fn add_entry(&mut self, entry: &Arc<Entry>) -> Result<(), Rejected> {
        self.require_free(&entry.id)?;
        let parent = match &entry.parent {
            None => None,
            Some(parent) if *parent == entry.id => return Err(Rejected::Cycle(parent.clone())),
            Some(parent) => Some(self.require(parent)?),
        };
        let index = self.push_node(entry.clone(), parent);
        self.carry_heads_along(parent, index);
        Ok(())
    }

    fn move_head(&mut self, head_move: &HeadMove) -> Result<(), Rejected> {
        let to = head_move.to.as_ref().map(|to| self.require(to)).transpose()?;
        let found = self.head(&head_move.head).cloned();
        if found != head_move.from {
            return Err(Rejected::StaleHead {
                head: head_move.head.clone(),
                believed: head_move.from.clone(),
                found,
            });
        }
        self.place_head(&head_move.head, to);
        Ok(())
    }

    fn take_mark(&mut self, mark: &Mark, record: &Record) -> Result<(), Rejected> {
        if let Some(id) = &mark.id {
            self.require_free(id)?;
        }
        if let Some(target) = mark.fact.target() {
            self.require(target)?;
        }
        match &mark.fact {
            Fact::Undone { operation } => {
                if self.require_operation(operation)?.undone {
                    return Err(Rejected::AlreadyUndone(operation.clone()));
                }
                self.refold_with(record);
            }
            Fact::Redone { operation } => {
                if !self.require_operation(operation)?.undone {
                    return Err(Rejected::NotUndone(operation.clone()));
                }
                self.refold_with(record);
            }
            _ => self.note(mark, record),
        }
        Ok(())
    }

    fn refold_with(&mut self, record: &Record) {
        let log: Vec<Record> = self.log.iter().chain(std::iter::once(record)).cloned().collect();
        *self = Self::replay(log).0;
    }

    /// Whether an entry or a mark has this id, hidden or not, or an agent has a prompt under it.
    pub fn is_id_taken(&self, id: &EntryId) -> bool {
        self.by_id.contains_key(id)
            || self.mark_ids.contains(id)
            || self.hidden.contains(id)
            || self.aliases.contains_key(id)
    }

    fn require_free(&self, id: &EntryId) -> Result<(), Rejected> {
        if self.is_id_taken(id) {
            return Err(Rejected::IdTaken(id.clone()));
        }
        Ok(())
    }

    fn require(&self, id: &EntryId) -> Result<u32, Rejected> {
        self.by_id.get(id).copied().ok_or_else(|| Rejected::NotFound(id.clone()))
    }

    fn require_operation(&self, id: &OperationId) -> Result<&Operation, Rejected> {
        self.operations
            .iter()
            .find(|operation| operation.id == *id)
            .ok_or_else(|| Rejected::UnknownOperation(id.clone()))
    }

    pub(super) fn push_node(&mut self, entry: Arc<Entry>, parent: Option<u32>) -> u32 {
        let index = self.nodes.len() as u32;
        self.by_id.insert_mut(entry.id.clone(), index);
        let depth =
            parent.and_then(|parent| self.nodes.get(parent as usize)).map_or(0, |node| node.depth + 1);
        let link = parent.map_or(Parent::None, Parent::Of);
        self.nodes.push_back_mut(Node {
            entry,
            parent: link,
            depth,
            next_sibling: None,
            children: Children::default(),
        });
        self.append_child(parent, index);
        index
    }

    fn append_child(&mut self, parent: Option<u32>, child: u32) {
        let mut siblings = self.children_of(parent);
        match siblings.last {
            Some(last) => self.update(last, |node| node.next_sibling = Some(child)),
            None => siblings.first = Some(child),
        }
        siblings.last = Some(child);
        self.set_children(parent, siblings);
    }

    /// A head on the tip of a turn goes along with what the turn writes.
    fn carry_heads_along(&mut self, parent: Option<u32>, index: u32) {
        let Some(turn) = self.nodes.get(index as usize).and_then(|node| node.entry.turn.clone()) else {
            return;
        };
        let carried: Vec<HeadName> = self
            .heads
            .iter()
            .filter(|(_, head)| {
                head.at.is_some() && head.at == parent && head.follows.as_ref() == Some(&turn)
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in carried {
            self.heads.insert_mut(name, Head { at: Some(index), follows: Some(turn.clone()) });
        }
        // A turn that runs elsewhere does not change where the person has been.
        if self.last_visited.is_some() && self.last_visited == parent && self.is_at_head(index) {
            self.visit(index);
        }
    }

    fn is_at_head(&self, index: u32) -> bool {
        self.heads.values().any(|head| head.at == Some(index))
    }

    fn place_head(&mut self, name: &HeadName, to: Option<u32>) {
        let follows = to.and_then(|to| self.nodes.get(to as usize)).and_then(|node| node.entry.turn.clone());
        self.heads.insert_mut(name.clone(), Head { at: to, follows });
        if let Some(to) = to {
            self.visit(to);
        }
    }

    /// Remembers the way to this entry at every fork. The way to the entry visited before is remembered whole, so
    /// only the part below the point where the two ways meet has to be gone: a short move is cheap in a deep tree.
    fn visit(&mut self, to: u32) {
        let depth = |tree: &Self, at: u32| tree.nodes.get(at as usize).map_or(0, |node| node.depth);
        let (mut new, mut old) = (Some(to), self.last_visited);
        while let Some(at) = new.filter(|_| new != old) {
            match old {
                Some(before) if depth(self, before) > depth(self, at) => old = self.parent_of(before),
                _ => {
                    new = self.parent_of(at);
                    self.remember(new, at);
                }
            }
        }
        self.last_visited = Some(to);
    }

    pub(super) fn remember(&mut self, parent: Option<u32>, child: u32) {
        let mut children = self.children_of(parent);
        if children.remembered != Some(child) {
            children.remembered = Some(child);
            self.set_children(parent, children);
        }
    }

    fn note(&mut self, mark: &Mark, record: &Record) {
        if let Some(id) = &mark.id {
            self.mark_ids.insert_mut(id.clone());
        }
        match &mark.fact {
            Fact::Label { target, label } => set_text(&mut self.labels, target, label.as_deref()),
            Fact::Title { title, source } => {
                let title =
                    title.as_deref().map(str::trim).filter(|title| !title.is_empty()).map(String::from);
                match source {
                    TitleSource::User => self.user_title = title,
                    TitleSource::Auto => self.auto_title = title,
                }
            }
            Fact::BranchName { at, name } => set_text(&mut self.branch_names, at, name.as_deref()),
            Fact::Checkpoint { at, snapshot } => self.checkpoints.insert_mut(at.clone(), snapshot.clone()),
            Fact::Bound { .. } => {
                if let Some((at, binding)) = Binding::told_by(&mark.fact) {
                    self.bindings.insert_mut(at.clone(), binding);
                }
            }
            Fact::TurnEnded { turn } => self.ended_turns.insert_mut(turn.clone()),
            Fact::Archived { target, archived: true } => self.archived.insert_mut(target.clone()),
            Fact::Archived { target, archived: false } => {
                self.archived.remove_mut(target);
            }
            Fact::Delivered { prompt, delivered_as } => {
                self.aliases.insert_mut(delivered_as.clone(), prompt.clone());
                self.delivered_as.insert_mut(prompt.clone(), delivered_as.clone());
            }
            Fact::Spent { usage, model: _ } => self.spent.push_back_mut(*usage),
            Fact::Operation { name } => self.list_step(name, mark, record),
            Fact::Began { name } => {
                self.list_step(name, mark, record);
                self.began.clone_from(&record.operation);
            }
            Fact::Forked { .. } => {} // told by the session that began
            Fact::Undone { .. } | Fact::Redone { .. } => {} // folded before everything else
        }
    }

    fn list_step(&mut self, name: &str, mark: &Mark, record: &Record) {
        if let Some(id) = &record.operation {
            let (id, name) = (id.clone(), name.to_owned());
            self.operations.push_back_mut(Operation { id, name, at: mark.marked_at, undone: false });
        }
    }

    /// Of what is hidden nothing counts, but whoever heard it remembers it.
    fn note_hidden(&mut self, fact: &Fact) {
        if let Fact::Bound { agent_session: Some(session), .. } = fact {
            self.know_undone.insert_mut(session.clone());
        }
    }

    fn set_children(&mut self, parent: Option<u32>, children: Children) {
        match parent {
            Some(parent) => self.update(parent, |node| node.children = children),
            None => self.roots = children,
        }
    }

    fn update(&mut self, index: u32, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(index as usize) {
            change(node);
        }
    }
}

/// The lenient fold. A parent may stand behind its children in the log: they are held back until it comes.
#[derive(Default)]
struct Replay {
    tree: SessionTree,
    oddities: Vec<Oddity>,
    /// Ids of entries that undo hides, with all below them.
    hidden: HashSet<EntryId>,
    /// Ids of all entries in the log.
    known: HashSet<EntryId>,
    /// Entries whose parent is still to come, by that parent.
    held: HashMap<EntryId, Vec<Arc<Entry>>>,
    /// The same in the order of the log.
    held_order: Vec<Arc<Entry>>,
    held_ids: HashSet<EntryId>,
    /// Moves to entries that are held back.
    late_moves: Vec<HeadMove>,
}

impl Replay {
    fn run(mut self, log: &[Record], undone: &HashSet<OperationId>) -> (SessionTree, Vec<Oddity>) {
        let is_undone =
            |record: &Record| record.operation.as_ref().is_some_and(|operation| undone.contains(operation));
        for record in log {
            if let Some(entry) = record.as_entry() {
                let ids = if is_undone(record) { &mut self.hidden } else { &mut self.known };
                ids.insert(entry.id.clone());
            }
        }
        for record in log {
            if is_undone(record) {
                self.list_undone(record);
            } else {
                self.take(record);
            }
        }
        self.cut_cycles();
        for head_move in std::mem::take(&mut self.late_moves) {
            self.take_head_move(&head_move);
        }
        self.tree.hidden = self.hidden.into_iter().collect();
        (self.tree, self.oddities)
    }

    fn take(&mut self, record: &Record) {
        match &record.change {
            Change::Opened(header) => {
                if self.tree.open(header).is_err() {
                    self.odd(Odd::SecondHeader);
                }
            }
            Change::Entry(entry) => self.take_entry(entry),
            Change::HeadMoved(head_move) => self.take_head_move(head_move),
            Change::Marked(mark) => self.take_mark(mark, record),
            Change::Unknown => {}
        }
    }

    /// An undone operation stays in the list of steps.
    fn list_undone(&mut self, record: &Record) {
        if let Change::Marked(mark) = &record.change
            && matches!(mark.fact, Fact::Operation { .. } | Fact::Began { .. })
        {
            self.tree.note(mark, record);
            let last = self.tree.operations.len().saturating_sub(1);
            if let Some(operation) = self.tree.operations.get_mut(last) {
                operation.undone = true;
            }
        }
    }

    fn take_entry(&mut self, entry: &Arc<Entry>) {
        if self.held_ids.contains(&entry.id) || self.tree.require_free(&entry.id).is_err() {
            self.odd(Odd::DuplicateId(entry.id.clone()));
            return;
        }
        match &entry.parent {
            None => self.place(entry.clone()),
            Some(parent) if self.hidden.contains(parent) => {
                self.hidden.insert(entry.id.clone());
            }
            Some(parent) if self.tree.contains(parent) => self.place(entry.clone()),
            Some(parent) if self.known.contains(parent) => {
                self.held.entry(parent.clone()).or_default().push(entry.clone());
                self.held_order.push(entry.clone());
                self.held_ids.insert(entry.id.clone());
            }
            Some(parent) => {
                self.odd(Odd::MissingParent { entry: entry.id.clone(), parent: parent.clone() });
                self.place(entry.clone());
            }
        }
    }

    /// Puts an entry into the tree, then whatever was waiting for it.
    fn place(&mut self, entry: Arc<Entry>) {
        let mut open = vec![entry];
        while let Some(entry) = open.pop() {
            let parent = entry.parent.as_ref().and_then(|parent| self.tree.by_id.get(parent).copied());
            let mut waiting = self.held.remove(&entry.id).unwrap_or_default();
            let index = self.tree.push_node(entry, parent);
            self.tree.carry_heads_along(parent, index);
            waiting.retain(|child| !self.tree.contains(&child.id));
            waiting.reverse();
            open.append(&mut waiting);
        }
    }

    /// What is still held back waits for itself. Each cycle is cut at its first entry in the log.
    fn cut_cycles(&mut self) {
        let held = std::mem::take(&mut self.held_order);
        self.held_ids.clear();
        let position: HashMap<&EntryId, usize> = held.iter().enumerate().map(|(at, e)| (&e.id, at)).collect();
        let mut cuts = Vec::new();
        for entry in &held {
            if self.tree.contains(&entry.id) {
                continue;
            }
            let Some(first) = first_of_cycle(entry, &held, &position) else { continue };
            self.odd(Odd::Cycle(first.id.clone()));
            cuts.push(first.id.clone());
            self.place(first.clone());
        }
        for id in cuts {
            let parent = self.tree.entry(&id).and_then(|entry| entry.parent.clone());
            let parent = parent.and_then(|parent| self.tree.by_id.get(&parent).copied());
            if let (Some(index), Some(parent)) = (self.tree.by_id.get(&id).copied(), parent) {
                self.tree.update(index, |node| node.parent = Parent::Cut(parent));
            }
        }
    }

    fn take_head_move(&mut self, head_move: &HeadMove) {
        match &head_move.to {
            None => self.tree.place_head(&head_move.head, None),
            Some(to) if self.hidden.contains(to) => {}
            Some(to) => match self.tree.by_id.get(to).copied() {
                Some(index) => self.tree.place_head(&head_move.head, Some(index)),
                None if self.held_ids.contains(to) => {
                    self.late_moves.push(head_move.clone());
                }
                None => self.odd(Odd::HeadToMissing { head: head_move.head.clone(), to: to.clone() }),
            },
        }
    }

    fn take_mark(&mut self, mark: &Mark, record: &Record) {
        if let Some(id) = &mark.id
            && self.tree.require_free(id).is_err()
        {
            self.odd(Odd::DuplicateId(id.clone()));
            return;
        }
        match mark.fact.target() {
            Some(target) if self.hidden.contains(target) => return self.tree.note_hidden(&mark.fact),
            Some(target) if !self.known.contains(target) => self.odd(Odd::MarkOnMissing(target.clone())),
            Some(_) | None => {}
        }
        self.tree.note(mark, record);
    }

    fn odd(&mut self, what: Odd) {
        self.oddities.push(Oddity::new(what));
    }
}

/// Follows parents from an entry that waits, until one repeats; of the entries that repeat, the first in the log.
fn first_of_cycle<'h>(
    from: &'h Arc<Entry>,
    held: &'h [Arc<Entry>],
    position: &HashMap<&EntryId, usize>,
) -> Option<&'h Arc<Entry>> {
    let parent_of = |at: usize| -> Option<usize> {
        let parent = held.get(at)?.parent.as_ref()?;
        position.get(parent).copied()
    };
    let mut seen = HashSet::new();
    let mut at = *position.get(&from.id)?;
    while seen.insert(at) {
        at = parent_of(at)?;
    }
    let around = std::iter::successors(parent_of(at), |next| parent_of(*next)).take_while(|next| *next != at);
    let first = around.fold(at, usize::min);
    held.get(first)
}

impl Fact {
    /// The entry a fact is about; a fact about a missing entry is refused.
    pub fn target(&self) -> Option<&EntryId> {
        match self {
            Self::Label { target, .. } | Self::Archived { target, .. } => Some(target),
            Self::Delivered { prompt, .. } => Some(prompt),
            Self::BranchName { at, .. } | Self::Checkpoint { at, .. } | Self::Bound { at, .. } => Some(at),
            Self::Title { .. }
            | Self::TurnEnded { .. }
            | Self::Spent { .. }
            | Self::Operation { .. }
            | Self::Began { .. }
            | Self::Forked { .. }
            | Self::Undone { .. }
            | Self::Redone { .. } => None,
        }
    }
}

fn undone_operations(log: &[Record]) -> HashSet<OperationId> {
    let mut undone = HashSet::new();
    for record in log {
        if let Change::Marked(mark) = &record.change {
            match &mark.fact {
                Fact::Undone { operation } => {
                    undone.insert(operation.clone());
                }
                Fact::Redone { operation } => {
                    undone.remove(operation);
                }
                _ => {}
            }
        }
    }
    undone
}

/// Undo and redo have put themselves into the log by folding it again.
fn is_history(record: &Record) -> bool {
    matches!(&record.change, Change::Marked(mark) if matches!(mark.fact, Fact::Undone { .. } | Fact::Redone { .. }))
}

fn set_text(map: &mut rpds::HashTrieMapSync<EntryId, String>, key: &EntryId, text: Option<&str>) {
    match text.filter(|text| !text.trim().is_empty()) {
        Some(text) => map.insert_mut(key.clone(), text.to_owned()),
        None => {
            map.remove_mut(key);
        }
    }
}
