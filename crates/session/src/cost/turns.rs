//! What each turn has used.

use std::collections::{HashMap, HashSet};

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
    let Turns { prompts, of_entry } = Turns::of(tree);
    let (tallies, beside) = tallies(prompts.len(), &of_entry, charges);
    let versions = AllVersions::of(tree);
    let mut numbers: Vec<usize> = Vec::with_capacity(prompts.len());
    let mut turns: Vec<TurnCost> = Vec::with_capacity(prompts.len());
    for (prompt, tally) in prompts.iter().zip(tallies) {
        let above = tree.parent(&prompt.id).and_then(|parent| of_entry.get(&parent.id));
        let number = above.and_then(|above| numbers.get(*above)).map_or(0, |above| *above) + 1;
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
    let Turns { prompts, of_entry } = Turns::of(tree);
    let (tallies, _) = tallies(prompts.len(), &of_entry, charges);
    prompts.iter().map(|prompt| prompt.id.clone()).zip(tallies).collect()
}

/// Which entry belongs to which turn. What a sub-agent has done belongs to the turn that set it to work.
struct Turns<'t> {
    /// On every branch, a prompt after those above it.
    prompts: Vec<&'t Entry>,
    /// The place of the turn among `prompts`.
    of_entry: HashMap<&'t EntryId, usize>,
}

impl<'t> Turns<'t> {
    fn of(tree: &'t SessionTree) -> Self {
        let mut of_entry: HashMap<&EntryId, usize> = HashMap::with_capacity(tree.len());
        let mut delegated: HashSet<&EntryId> = HashSet::new();
        let mut prompts = Vec::new();
        for entry in tree.walk() {
            let parent = tree.parent(&entry.id).map(|parent| &parent.id);
            let starts_agent = matches!(&entry.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
            let is_below_agent = parent.is_some_and(|parent| delegated.contains(parent));
            if starts_agent || is_below_agent {
                delegated.insert(&entry.id);
            }
            if entry.body.is_prompt() && !is_below_agent {
                of_entry.insert(&entry.id, prompts.len());
                prompts.push(&**entry);
            } else if let Some(above) = parent.and_then(|parent| of_entry.get(parent)).copied() {
                of_entry.insert(&entry.id, above);
            }
        }
        Self { prompts, of_entry }
    }
}

/// The sums of the turns, and of what belongs to none of them.
fn tallies(turns: usize, of_entry: &HashMap<&EntryId, usize>, charges: &[Charge]) -> (Vec<Tally>, Tally) {
    let mut sums = vec![Tally::default(); turns];
    let mut beside = Tally::default();
    for charge in charges {
        let turn = charge.entry.as_ref().and_then(|entry| of_entry.get(entry));
        let sum = turn.and_then(|turn| sums.get_mut(*turn)).unwrap_or(&mut beside);
        *sum = sum.plus(Tally::of([charge]));
    }
    (sums, beside)
}
