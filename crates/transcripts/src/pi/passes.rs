//! Lines in the chain that are no entries: whoever names one as parent means the nearest entry above it.

use std::collections::HashMap;
use std::collections::hash_map::Entry as Slot;

use offshoot_session::EntryId;

#[derive(Debug, Default)]
pub(super) struct Passes {
    /// From the id of such a line to its own parent.
    above: HashMap<EntryId, Option<EntryId>>,
}

impl Passes {
    /// The first line under an id counts.
    pub(super) fn add(&mut self, id: EntryId, parent: Option<EntryId>) {
        if let Slot::Vacant(slot) = self.above.entry(id) {
            slot.insert(parent);
        }
    }

    pub(super) fn contains(&self, id: &EntryId) -> bool {
        self.above.contains_key(id)
    }

    /// The nearest id that is no such line. Lines that only lead to each other lead nowhere.
    pub(super) fn entry_above(&mut self, id: Option<EntryId>) -> Option<EntryId> {
        let mut passed: Vec<EntryId> = Vec::new();
        let mut at = id;
        while let Some(id) = &at {
            let Some(above) = self.above.get_mut(id) else { break };
            passed.push(id.clone());
            at = above.take(); // a line met again has nothing above it: cycles end
        }
        for id in passed {
            self.above.insert(id, at.clone()); // so that a long chain of such lines is walked once
        }
        at
    }
}
