//! What each branch has added.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Charge, Tally};
use crate::versions::AllVersions;
use crate::{Body, Entry, EntryId, Note, SessionTree};

#[derive(Clone, Debug, PartialEq)]
pub struct BranchCost {
    pub kind: BranchKind,
    pub tally: Tally,
    /// Prompts that are counted here.
    pub turns: usize,
    /// Where it ends.
    pub tip: Option<EntryId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchKind {
    /// What all branches begin with, up to this turn.
    Shared {
        to: usize,
    },
    Branch {
        name: Option<String>,
        turn: usize,
        version: usize,
    },
    SubAgents,
    /// Belongs to no reply.
    Beside,
}

/// Every entry belongs to one row: what all branches share, then the branch of the head, then all others, each with
/// what no row before it has.
pub fn by_branch(tree: &SessionTree, charges: &[Charge]) -> Vec<BranchCost> {
    let mut rows = Rows::of(tree, charges);
    let shared = rows.shared();
    let mut leaves: Vec<&EntryId> = tree
        .leaves()
        .into_iter()
        .map(|leaf| &leaf.id)
        .filter(|leaf| !rows.of_agents.contains(leaf))
        .collect();
    let head =
        tree.main_head().and_then(|head| tree.remembered_leaf(head).map(|leaf| &leaf.id).or(Some(head)));
    leaves.sort_by_key(|leaf| Some(*leaf) != head);
    if leaves.len() > 1 {
        rows.taken.extend(shared.iter().map(|entry| &entry.id));
        let to = prompts_in(&shared);
        let tip = shared.last().map(|entry| entry.id.clone());
        rows.add(BranchKind::Shared { to }, &shared, tip);
    }
    for leaf in leaves {
        rows.branch(leaf);
    }
    rows.agents();
    let beside = Tally::of(charges.iter().filter(|charge| charge.entry.is_none()));
    if beside != Tally::default() {
        rows.rows.push(BranchCost { kind: BranchKind::Beside, tally: beside, turns: 0, tip: None });
    }
    rows.rows
}

struct Rows<'t> {
    tree: &'t SessionTree,
    charge_of: HashMap<&'t EntryId, &'t Charge>,
    /// The number of the turn that an entry belongs to.
    turn_of: HashMap<&'t EntryId, usize>,
    of_agents: HashSet<&'t EntryId>,
    taken: HashSet<&'t EntryId>,
    versions: AllVersions,
    rows: Vec<BranchCost>,
}

impl<'t> Rows<'t> {
    fn of(tree: &'t SessionTree, charges: &'t [Charge]) -> Self {
        let charge_of = charges.iter().filter_map(|charge| Some((charge.entry.as_ref()?, charge))).collect();
        let mut turn_of: HashMap<&EntryId, usize> = HashMap::new();
        let mut of_agents = HashSet::new();
        for entry in tree.walk() {
            let parent = tree.parent(&entry.id).map(|parent| &parent.id);
            let above = parent.and_then(|parent| turn_of.get(parent)).copied().unwrap_or(0);
            turn_of.insert(&entry.id, above + usize::from(entry.body.is_prompt()));
            let is_start = matches!(&entry.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
            if is_start || parent.is_some_and(|parent| of_agents.contains(parent)) {
                of_agents.insert(&entry.id);
            }
        }
        Self {
            tree,
            charge_of,
            turn_of,
            of_agents,
            taken: HashSet::new(),
            versions: AllVersions::of(tree),
            rows: Vec::new(),
        }
    }

    /// The way from the root to the first fork.
    fn shared(&self) -> Vec<&'t Arc<Entry>> {
        let mut shared: Vec<&Arc<Entry>> = Vec::new();
        loop {
            let below = self.tree.children(shared.last().map(|entry| &entry.id));
            let mut below = below.into_iter().filter(|entry| !self.of_agents.contains(&entry.id));
            match (below.next(), below.next()) {
                (Some(only), None) => shared.push(only),
                _ => return shared,
            }
        }
    }

    fn branch(&mut self, leaf: &'t EntryId) {
        let mut own: Vec<&'t Arc<Entry>> = Vec::new();
        let mut at = self.tree.entry(leaf);
        while let Some(entry) = at.filter(|entry| self.taken.insert(&entry.id)) {
            own.push(entry);
            at = self.tree.parent(&entry.id);
        }
        own.reverse();
        let first = own.iter().find(|entry| entry.body.is_prompt());
        let version = first.and_then(|first| self.versions.get(self.tree, &first.id));
        let number = first.or(own.first()).and_then(|entry| self.turn_of.get(&entry.id)).copied();
        let name = own.iter().rev().find_map(|entry| self.tree.branch_name(&entry.id)).map(str::to_owned);
        let kind = BranchKind::Branch {
            name,
            turn: number.unwrap_or(1),
            version: version.map_or(1, |version| version.number),
        };
        self.add(kind, &own, Some(leaf.clone()));
    }

    fn agents(&mut self) {
        let entries: Vec<&Arc<Entry>> =
            self.tree.entries().filter(|entry| self.of_agents.contains(&entry.id)).collect();
        self.add(BranchKind::SubAgents, &entries, None);
    }

    fn add(&mut self, kind: BranchKind, entries: &[&Arc<Entry>], tip: Option<EntryId>) {
        // What an agent was told by another one is no turn of the person.
        let turns = if kind == BranchKind::SubAgents { 0 } else { prompts_in(entries) };
        let tally = Tally::of(entries.iter().filter_map(|entry| self.charge_of.get(&entry.id).copied()));
        if turns > 0 || tally != Tally::default() {
            self.rows.push(BranchCost { kind, tally, turns, tip });
        }
    }
}

fn prompts_in(entries: &[&Arc<Entry>]) -> usize {
    entries.iter().filter(|entry| entry.body.is_prompt()).count()
}
