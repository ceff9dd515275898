//! From a log to its tree. The rules are those of [`crate::SessionTree::replay`], told by numbers.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{NONE, Name, Node, Skeleton, Told, Unusual};
use crate::skeleton::Log;
use crate::{
    Binding, Change, EntryId, Fact, HeadMove, HeadName, Mark, OperationId, Record, SessionHeader, TitleSource,
};

const KNOWN: u8 = 1;
const HIDDEN: u8 = 2;
const MARKED: u8 = 4;
const PASS: u8 = 8;

impl Skeleton {
    pub fn fold(mut log: Log, told: Told) -> Result<Self, Unusual> {
        for (_, record) in &told.records {
            for id in named(record).into_iter().chain(record.operation.as_ref().map(OperationId::as_str)) {
                log.names.number(id).ok_or(Unusual::TooLarge)?;
            }
        }
        let undone = undone_operations(&log, &told);
        let mut fold = Fold::new(log, &undone);
        told.passes.keys().for_each(|name| fold.set(*name, PASS));
        let mut records = told.records.iter().peekable();
        for at in 0..fold.skeleton.log.envelopes().len() {
            while let Some((_, record)) = records.next_if(|(before, _)| *before as usize <= at) {
                fold.take(record, &undone);
            }
            fold.take_entry(at, &told, &undone)?;
        }
        for (_, record) in records {
            fold.take(record, &undone);
        }
        let mut skeleton = fold.finish();
        skeleton.passes = told.passes;
        Ok(skeleton)
    }
}

struct Fold {
    skeleton: Skeleton,
    /// By name: what is known of an id.
    flags: Vec<u8>,
    /// By node, while it grows.
    last_child: Vec<u32>,
    last_root: u32,
    heads: Vec<Head>,
    /// Steps of heads, counted from 1.
    steps: u32,
    /// By node: the last step that sent a head there.
    sent: Vec<u32>,
    /// By node: the last step by which a turn carried a head to a child of it, and the child.
    carried: Vec<(u32, u32, u32)>,
    /// Where a head was last put.
    last_visited: u32,
}

struct Head {
    name: HeadName,
    at: u32,
    /// The turn whose entries carry the head along.
    follows: Option<Name>,
}

impl Fold {
    fn new(log: Log, undone: &HashSet<Name>) -> Self {
        let mut flags = vec![0_u8; log.names.len()];
        for envelope in log.envelopes() {
            let is_undone = envelope.operation().is_some_and(|operation| undone.contains(&operation));
            if let Some(flag) = flags.get_mut(envelope.id.0 as usize) {
                *flag |= if is_undone { HIDDEN } else { KNOWN };
            }
        }
        let count = log.envelopes().len();
        let skeleton = Skeleton {
            node_of: vec![NONE; log.names.len()],
            nodes: Vec::with_capacity(count),
            parents: Vec::with_capacity(count),
            first_root: NONE,
            remembered_root: NONE,
            log,
            ..Skeleton::default()
        };
        Self {
            skeleton,
            flags,
            last_child: Vec::with_capacity(count),
            last_root: NONE,
            heads: Vec::new(),
            steps: 0,
            sent: Vec::new(),
            carried: Vec::new(),
            last_visited: NONE,
        }
    }

    fn take_entry(&mut self, at: usize, told: &Told, undone: &HashSet<Name>) -> Result<(), Unusual> {
        let Some(envelope) = self.skeleton.log.envelopes().get(at).copied() else { return Ok(()) };
        if !undone.is_empty() && envelope.operation().is_some_and(|operation| undone.contains(&operation)) {
            return Ok(());
        }
        if self.node(envelope.id) != NONE || self.has(envelope.id, MARKED) {
            self.skeleton.oddities += 1;
            return Ok(());
        }
        let mut parent = envelope.parent();
        if parent.is_some_and(|parent| self.has(parent, PASS)) {
            parent = entry_above(parent, &told.passes);
        }
        let parent = match parent {
            None => NONE,
            Some(parent) if self.has(parent, HIDDEN) => {
                self.set(envelope.id, HIDDEN);
                return Ok(());
            }
            Some(parent) => match self.node(parent) {
                NONE if self.has(parent, KNOWN) => return Err(Unusual::ParentBehindChild),
                NONE => {
                    self.skeleton.oddities += 1;
                    NONE
                }
                node => node,
            },
        };
        self.place(at as u32, parent);
        Ok(())
    }

    fn place(&mut self, envelope: u32, parent: u32) {
        let index = self.skeleton.nodes.len() as u32;
        let Some(line) = self.skeleton.log.envelopes().get(envelope as usize).copied() else { return };
        let above = self.skeleton.nodes.get(parent as usize).copied();
        let inherited = |own: bool, above: Option<u32>| if own { index } else { above.unwrap_or(NONE) };
        self.skeleton.nodes.push(Node {
            envelope,
            first_child: NONE,
            next_sibling: NONE,
            depth: above.map_or(0, |above| above.depth + 1),
            boundary: inherited(line.kind.is_boundary(), above.map(|above| above.boundary)),
            setting: inherited(line.kind.is_setting(), above.map(|above| above.setting)),
            remembered: NONE,
        });
        self.skeleton.parents.push(parent);
        self.last_child.push(NONE);
        if let Some(node_of) = self.skeleton.node_of.get_mut(line.id.0 as usize) {
            *node_of = index;
        }
        let last = self.last_child.get_mut(parent as usize).unwrap_or(&mut self.last_root);
        let before = std::mem::replace(last, index);
        if let Some(before) = self.skeleton.nodes.get_mut(before as usize) {
            before.next_sibling = index;
        } else if let Some(parent) = self.skeleton.nodes.get_mut(parent as usize) {
            parent.first_child = index;
        } else {
            self.skeleton.first_root = index;
        }
        if line.turn().is_some() {
            self.carry_heads_along(parent, index, line.turn());
        }
    }

    fn carry_heads_along(&mut self, parent: u32, index: u32, turn: Option<Name>) {
        if parent == NONE {
            return;
        }
        let mut is_carried = false;
        for head in self.heads.iter_mut().filter(|head| head.at == parent && head.follows == turn) {
            head.at = index;
            is_carried = true;
        }
        // A turn that runs elsewhere does not change where the person has been.
        if is_carried && self.last_visited == parent {
            self.steps += 1;
            self.carried.push((parent, self.steps, index));
            self.last_visited = index;
        }
    }

    fn take(&mut self, record: &Record, undone: &HashSet<Name>) {
        let names = &self.skeleton.log.names;
        let operation = record.operation.as_ref().and_then(|operation| names.find(operation.as_str()));
        if operation.is_some_and(|operation| undone.contains(&operation)) {
            self.skeleton.is_taken_back |= is_beginning(record);
            return;
        }
        match &record.change {
            Change::Opened(header) => match &self.skeleton.header {
                Some(_) => self.skeleton.oddities += 1,
                None => self.skeleton.header = Some(SessionHeader::clone(header)),
            },
            Change::HeadMoved(head_move) => self.take_head_move(head_move),
            Change::Marked(mark) => self.take_mark(mark),
            Change::Entry(_) | Change::Unknown => {}
        }
    }

    fn take_head_move(&mut self, head_move: &HeadMove) {
        let to = match &head_move.to {
            None => NONE,
            Some(to) => {
                let name = self.skeleton.log.names.find(to.as_str());
                if name.is_some_and(|name| self.has(name, HIDDEN)) {
                    return;
                }
                match name.map(|name| self.node(name)) {
                    None | Some(NONE) => {
                        self.skeleton.oddities += 1;
                        return;
                    }
                    Some(node) => node,
                }
            }
        };
        let node = self.skeleton.nodes.get(to as usize);
        let line = node.and_then(|node| self.skeleton.log.envelopes().get(node.envelope as usize));
        let follows = line.and_then(|line| line.turn());
        match self.heads.iter_mut().find(|head| head.name == head_move.head) {
            Some(head) => (head.at, head.follows) = (to, follows),
            None => self.heads.push(Head { name: head_move.head.clone(), at: to, follows }),
        }
        if to != NONE {
            self.last_visited = to;
            self.steps += 1;
            if self.sent.len() <= to as usize {
                self.sent.resize(to as usize + 1, 0);
            }
            if let Some(sent) = self.sent.get_mut(to as usize) {
                *sent = self.steps;
            }
        }
    }

    fn take_mark(&mut self, mark: &Mark) {
        let find = |fold: &Self, id: &EntryId| fold.skeleton.log.names.find(id.as_str());
        let own = mark.id.as_ref().and_then(|id| find(self, id));
        if own.is_some_and(|own| self.node(own) != NONE || self.has(own, MARKED)) {
            self.skeleton.oddities += 1;
            return;
        }
        if let Some(target) = mark.fact.target() {
            let target = find(self, target);
            if target.is_some_and(|target| self.has(target, HIDDEN)) {
                return;
            }
            if target.is_none_or(|target| !self.has(target, KNOWN)) {
                self.skeleton.oddities += 1;
            }
        }
        if let Some(own) = own {
            self.set(own, MARKED);
        }
        let skeleton = &mut self.skeleton;
        let filled = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        match &mark.fact {
            Fact::Label { target, label } => set(&mut skeleton.labels, target, filled(label)),
            Fact::BranchName { at, name } => set(&mut skeleton.branch_names, at, filled(name)),
            Fact::Checkpoint { at, snapshot } => {
                set(&mut skeleton.checkpoints, at, Some(snapshot.clone()));
            }
            Fact::Title { title, source } => {
                let title = filled(title).map(|title| title.trim().to_owned());
                match source {
                    TitleSource::User => skeleton.user_title = title,
                    TitleSource::Auto => skeleton.auto_title = title,
                }
            }
            Fact::Archived { target, archived: true } => {
                skeleton.archived.insert(target.clone());
            }
            Fact::Archived { target, archived: false } => {
                skeleton.archived.remove(target);
            }
            Fact::TurnEnded { turn } => {
                skeleton.ended_turns.insert(turn.clone());
            }
            Fact::Bound { .. } => {
                if let Some((at, binding)) = Binding::told_by(&mark.fact) {
                    skeleton.bindings.insert(at.clone(), binding);
                }
            }
            Fact::Delivered { .. }
            | Fact::Spent { .. }
            | Fact::Operation { .. }
            | Fact::Began { .. }
            | Fact::Forked { .. }
            | Fact::Undone { .. }
            | Fact::Redone { .. } => {}
        }
    }

    fn finish(mut self) -> Skeleton {
        self.remember();
        let mut skeleton = self.skeleton;
        skeleton.heads = self.heads.into_iter().map(|head| (head.name, head.at)).collect();
        skeleton
    }

    /// The child on the way to where a head was last sent. A head that a turn carries along is remembered one
    /// step up only: it was sent to where it came from.
    fn remember(&mut self) {
        if self.steps == 0 {
            return;
        }
        let Skeleton { nodes, parents, remembered_root, .. } = &mut self.skeleton;
        self.last_child = Vec::new();
        let mut latest = std::mem::take(&mut self.sent);
        latest.resize(nodes.len(), 0);
        let mut best = vec![0; nodes.len()];
        for (parent, step, child) in &self.carried {
            if let (Some(best), Some(node)) =
                (best.get_mut(*parent as usize), nodes.get_mut(*parent as usize))
            {
                (*best, node.remembered) = (*step, *child); // steps only grow
            }
        }
        let mut best_root = 0;
        for index in (0..nodes.len()).rev() {
            let Some(parent) = parents.get(index).copied() else { continue };
            let step = latest.get(index).copied().unwrap_or(0);
            if step == 0 {
                continue;
            }
            match nodes.get_mut(parent as usize) {
                Some(node) => {
                    if let Some(best) = best.get_mut(parent as usize).filter(|best| **best < step) {
                        (*best, node.remembered) = (step, index as u32);
                    }
                    if let Some(above) = latest.get_mut(parent as usize) {
                        *above = (*above).max(step);
                    }
                }
                None if best_root < step => {
                    (best_root, *remembered_root) = (step, index as u32);
                }
                None => {}
            }
        }
    }

    fn node(&self, name: Name) -> u32 {
        self.skeleton.node_of.get(name.0 as usize).copied().unwrap_or(NONE)
    }

    fn has(&self, name: Name, flag: u8) -> bool {
        self.flags.get(name.0 as usize).is_some_and(|flags| flags & flag != 0)
    }

    fn set(&mut self, name: Name, flag: u8) {
        if let Some(flags) = self.flags.get_mut(name.0 as usize) {
            *flags |= flag;
        }
    }
}

/// Ids that facts have need a number, so that entries cannot take them again.
fn named(record: &Record) -> Option<&str> {
    match &record.change {
        Change::Marked(mark) => mark.id.as_ref().map(EntryId::as_str),
        Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => None,
    }
}

/// The nearest id that is an entry. Lines that only lead to each other lead nowhere.
pub(super) fn entry_above(from: Option<Name>, passes: &HashMap<Name, Option<Name>>) -> Option<Name> {
    let mut at = from?;
    for _ in 0..=passes.len() {
        match passes.get(&at) {
            None => return Some(at),
            Some(above) => at = (*above)?,
        }
    }
    None
}

fn is_beginning(record: &Record) -> bool {
    matches!(&record.change, Change::Marked(mark) if matches!(mark.fact, Fact::Began { .. }))
}

fn undone_operations(log: &Log, told: &Told) -> HashSet<Name> {
    let mut undone = HashSet::new();
    for (_, record) in &told.records {
        if let Change::Marked(mark) = &record.change {
            match &mark.fact {
                Fact::Undone { operation } => undone.extend(log.names.find(operation.as_str())),
                Fact::Redone { operation } => {
                    if let Some(operation) = log.names.find(operation.as_str()) {
                        undone.remove(&operation);
                    }
                }
                _ => {}
            }
        }
    }
    undone
}

fn set(map: &mut BTreeMap<EntryId, String>, key: &EntryId, text: Option<String>) {
    match text {
        Some(text) => {
            map.insert(key.clone(), text);
        }
        None => {
            map.remove(key);
        }
    }
}
