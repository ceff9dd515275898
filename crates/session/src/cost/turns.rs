//! What each turn has used.

use std::collections::HashMap;

use super::{Charge, Tally};
use crate::outline::one_line;
use crate::versions::AllVersions;
use crate::{Body, EntryId, Note, SessionTree};

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

/// Turns in the order in which they were begun, then what belongs to none of them. What a sub-agent has used belongs to
/// the turn that set it to work.
pub fn by_turn(tree: &SessionTree, charges: &[Charge]) -> Vec<TurnCost> {
    let mut turn_of: HashMap<&EntryId, usize> = HashMap::with_capacity(tree.len());
    let mut is_delegated: HashMap<&EntryId, bool> = HashMap::with_capacity(tree.len());
    let mut turns: Vec<TurnCost> = Vec::new();
    let versions = AllVersions::of(tree);
    for entry in tree.walk() {
        let parent = tree.parent(&entry.id).map(|parent| &parent.id);
        let above = parent.and_then(|parent| turn_of.get(parent)).copied();
        let starts_agent = matches!(&entry.body, Body::Note(note) if note.kind == Note::SUB_AGENT);
        let is_below_agent = parent.and_then(|parent| is_delegated.get(parent)).copied().unwrap_or(false);
        is_delegated.insert(&entry.id, starts_agent || is_below_agent);
        if entry.body.is_prompt() && !is_below_agent {
            let version = versions.get(tree, &entry.id);
            turns.push(TurnCost {
                prompt: Some(entry.id.clone()),
                number: above.and_then(|above| turns.get(above)).map_or(0, |above| above.number) + 1,
                version: version.map_or(1, |version| version.number),
                versions: version.map_or(1, |version| version.of),
                text: one_line(&entry.body),
                tally: Tally::default(),
            });
            turn_of.insert(&entry.id, turns.len() - 1);
        } else if let Some(above) = above {
            turn_of.insert(&entry.id, above);
        }
    }
    let mut sums: Vec<Vec<&Charge>> = vec![Vec::new(); turns.len()];
    let mut beside = Vec::new();
    for charge in charges {
        let turn = charge.entry.as_ref().and_then(|entry| turn_of.get(entry));
        turn.and_then(|turn| sums.get_mut(*turn)).unwrap_or(&mut beside).push(charge);
    }
    for (turn, charges) in turns.iter_mut().zip(sums) {
        turn.tally = Tally::of(charges);
    }
    let order: HashMap<&EntryId, usize> =
        tree.entries().enumerate().map(|(at, entry)| (&entry.id, at)).collect();
    turns.sort_by_key(|turn| turn.prompt.as_ref().and_then(|prompt| order.get(prompt)).copied());
    let beside = Tally::of(beside);
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
