//! What each turn has used.

use std::collections::HashMap;

use super::{Charge, Tally};
use crate::outline::one_line;
use crate::versions::AllVersions;
use crate::{Body, Entry, EntryId, Note, SessionTree};

#[derive(Clone, Debug, PartialEq)]
pub struct TurnCost {
    /// Its prompt; `None` for what belongs to no turn.
    pub prompt: Option<EntryId>,
    /// On the way down to it.
    pub number: usize,
    /// Which of how many versions of its prompt.
    pub version: usize,
    pub versions: usize,
    /// How the prompt begins, as one line.
    pub text: String,
    pub tally: Tally,
}

/// Turns in the order in which they were begun, then what belongs to none of them.
pub fn by_turn(tree: &SessionTree, charges: &[Charge]) -> Vec<TurnCost> {
    let begun = Turns::of(tree);
    let (tallies, beside) = begun.tallies(tree, charges);
    let versions = AllVersions::of(tree);
    let mut numbers: Vec<usize> = Vec::with_capacity(begun.prompts.len());
    let mut turns: Vec<TurnCost> = Vec::with_capacity(begun.prompts.len());
    for (prompt, tally) in begun.prompts.iter().zip(tallies) {
        let above = tree.parent(&prompt.id).and_then(|parent| begun.turn_of(tree, &parent.id));
        let number = above.and_then(|above| numbers.get(above)).map_or(0, |above| *above) + 1;
        numbers.push(number);
        let version = versions.get(tree, &prompt.id);
        turns.push(TurnCost {
            prompt: Some(prompt.id.clone()),
            number,
            version: version.map_or(1, |version| version.number),
            versions: version.map_or(1, |version| version.of),
            text: one_line(&prompt.body),
            tally,
        });
    }
    let order: HashMap<&EntryId, usize> =
        tree.entries().enumerate().map(|(at, entry)| (&entry.id, at)).collect();
    turns.sort_by_key(|turn| turn.prompt.as_ref().and_then(|prompt| order.get(prompt)).copied());
    if beside != Tally::default() {
        turns.push(TurnCost {
            prompt: None,
            number: 0,
            version: 1,
            versions: 1,
            text: String::new(),
            tally: beside,
        });
    }
    turns
}

/// What each turn has used, by its prompt.
pub fn tally_by_prompt(tree: &SessionTree, charges: &[Charge]) -> HashMap<EntryId, Tally> {
    let turns = Turns::of(tree);
    let (tallies, _) = turns.tallies(tree, charges);
    turns.prompts.iter().map(|prompt| prompt.id.clone()).zip(tallies).collect()
}

/// Which entry belongs to which turn. What a sub-agent has done belongs to the turn that set it to work.
struct Turns<'t> {
    /// On every branch, a prompt after those above it.
    prompts: Vec<&'t Entry>,
    /// In the order of [`SessionTree::entries`].
    places: Vec<Option<Place>>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    /// The place of the turn among the prompts.
    turn: Option<usize>,
    /// It is the note of a sub-agent, or below one.
    is_delegated: bool,
}

impl<'t> Turns<'t> {
    fn of(tree: &'t SessionTree) -> Self {
        let mut turns = Self { prompts: Vec::new(), places: vec![None; tree.len()] };
        let mut open: Vec<u32> = Vec::new();
        for at in 0..tree.len() as u32 {
            let above = std::iter::successors(Some(at), |at| tree.parent_of(*at));
            open.extend(above.take_while(|at| turns.place(*at).is_none()));
            while let Some(at) = open.pop() {
                turns.add(tree, at);
            }
        }
        turns
    }

    /// What is above it has been added before.
    fn add(&mut self, tree: &'t SessionTree, at: u32) {
        let Some(entry) = tree.entry_at(at) else { return };
        let above = tree.parent_of(at).and_then(|above| self.place(above)).unwrap_or_default();
        let starts_agent = matches!(&entry.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
        let mut place = Place { is_delegated: above.is_delegated || starts_agent, ..above };
        if entry.body.is_prompt() && !above.is_delegated {
            place.turn = Some(self.prompts.len());
            self.prompts.push(entry);
        }
        if let Some(known) = self.places.get_mut(at as usize) {
            *known = Some(place);
        }
    }

    fn place(&self, at: u32) -> Option<Place> {
        self.places.get(at as usize).copied().flatten()
    }

    fn turn_of(&self, tree: &SessionTree, entry: &EntryId) -> Option<usize> {
        self.place(tree.index_of(entry)?)?.turn
    }

    /// The sums of the turns, and of what belongs to none of them.
    fn tallies(&self, tree: &SessionTree, charges: &[Charge]) -> (Vec<Tally>, Tally) {
        let mut sums = vec![Tally::default(); self.prompts.len()];
        let mut beside = Tally::default();
        for charge in charges {
            let turn = charge.entry.as_ref().and_then(|entry| self.turn_of(tree, entry));
            let sum = turn.and_then(|turn| sums.get_mut(turn)).unwrap_or(&mut beside);
            *sum = sum.plus(Tally::of([charge]));
        }
        (sums, beside)
    }
}
