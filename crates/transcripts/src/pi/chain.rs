//! How the lines of a file hang together: ids, parents, and the way of the head.

use std::collections::HashMap;

use jiff::Timestamp;
use offshoot_session::{Body, EntryId, HeadMove, HeadName};

use super::draft::{Draft, What};
use super::passes::Passes;

/// Where a line stands in the chain.
#[derive(Default)]
pub(super) struct Place {
    pub(super) id: Option<EntryId>,
    /// As the file has it: an entry or a fact.
    pub(super) parent: Option<EntryId>,
    /// The id is not in the file.
    pub(super) is_made_up: bool,
    /// pi resumes behind this line.
    pub(super) moves_head: bool,
    /// What the index of a compaction of version 1 points to.
    pub(super) kept: Option<EntryId>,
}

/// The ids of a file and how they hang together.
pub(super) struct Chain {
    pub(super) passes: Passes,
    parents: HashMap<EntryId, Option<EntryId>>,
}

impl Chain {
    pub(super) fn new<'f>(lines: impl Iterator<Item = (Option<&'f Draft>, &'f Place)>) -> Self {
        let mut chain = Self { passes: Passes::default(), parents: HashMap::new() };
        for (draft, place) in lines {
            let (Some(draft), Some(id)) = (draft, &place.id) else { continue };
            if !chain.parents.contains_key(id) {
                chain.parents.insert(id.clone(), place.parent.clone());
                if !matches!(draft.what, What::Entry(_)) {
                    chain.passes.add(id.clone(), place.parent.clone());
                }
            }
        }
        chain
    }

    pub(super) fn is_entry(&self, id: &Option<EntryId>) -> bool {
        id.as_ref().is_none_or(|id| self.parents.contains_key(id) && !self.passes.contains(id))
    }

    /// A body that names other entries names entries and no facts.
    pub(super) fn anchored(&mut self, mut body: Body, own: &EntryId, place: &Place) -> Body {
        match &mut body {
            Body::Compaction(compaction) => {
                if let Some(kept) = &place.kept {
                    compaction.first_kept = Some(kept.clone());
                }
                if let Some(kept) = &compaction.first_kept
                    && self.passes.contains(kept)
                {
                    compaction.first_kept = Some(self.first_entry_below(kept, own, place));
                }
            }
            Body::BranchSummary(summary) => {
                summary.from = self.passes.entry_above(summary.from.take());
            }
            _ => {}
        }
        body
    }

    /// The entry on the way down from a fact to a compaction; the compaction itself where there is none.
    fn first_entry_below(&self, fact: &EntryId, compaction: &EntryId, place: &Place) -> EntryId {
        let mut found = compaction;
        let mut at = place.parent.as_ref();
        for _ in 0..self.parents.len() {
            match at {
                Some(id) if id == fact => return found.clone(),
                Some(id) => {
                    if !self.passes.contains(id) {
                        found = id;
                    }
                    at = self.parents.get(id).and_then(Option::as_ref);
                }
                None => break,
            }
        }
        compaction.clone()
    }
}

/// Where the main head goes while the file is read.
#[derive(Default)]
pub(super) struct Heads {
    pub(super) at: Option<EntryId>,
    /// Where pi would resume: the last line, or an explicit move behind it.
    pub(super) last: Option<Option<EntryId>>,
}

impl Heads {
    /// pi resumes behind a line that is no entry: at the entry above it.
    pub(super) fn pass(&mut self, chain: &mut Chain, place: Place) {
        if place.moves_head && place.id.is_some() {
            self.last = Some(chain.passes.entry_above(place.parent));
        }
    }

    /// A move to an entry that is not there moves nothing.
    pub(super) fn explicit(&mut self, to: Option<EntryId>, moved_at: Timestamp, is_there: bool) -> HeadMove {
        if is_there {
            self.last = Some(to.clone());
            self.step(to, moved_at)
        } else {
            HeadMove { head: HeadName::main(), moved_at, from: self.at.clone(), to }
        }
    }

    pub(super) fn step(&mut self, to: Option<EntryId>, moved_at: Timestamp) -> HeadMove {
        let from = std::mem::replace(&mut self.at, to.clone());
        HeadMove { head: HeadName::main(), moved_at, from, to }
    }
}
