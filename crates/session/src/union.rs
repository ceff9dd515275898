//! Two copies of one session brought together, as after two programs have written to their own copy.
//!
//! Entries are joined by id. What only the other copy has is put behind its parent, so that the last entry of the
//! copy at hand stays the last one, unless the other copy continues from it. Where both have an entry, the copy at
//! hand wins and the difference is told.

use std::collections::{HashMap, HashSet};

use crate::{Change, Entry, EntryId, Record};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Union {
    pub records: Vec<Record>,
    /// Records that the copy at hand had already.
    pub kept: usize,
    /// Entries that came from the other copy.
    pub added: usize,
    /// Entries of the other copy that hang on nothing known.
    pub skipped: usize,
    pub conflicts: Vec<Conflict>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Id of the entry, or of the session for a header.
    pub id: String,
    pub about: Difference,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    Parent,
    Payload,
    Header,
}

pub fn union(into: &[Record], from: &[Record]) -> Union {
    let mut union = Union { kept: into.len(), ..Union::default() };
    union.compare_headers(into, from);
    let mut grafts = Grafts::of(into, from, &mut union.conflicts);
    let mut roots_placed = false;
    for record in into {
        if !roots_placed && !matches!(record.change, Change::Opened(_)) {
            roots_placed = true;
            grafts.place_below(None, &mut union);
        }
        union.records.push(record.clone());
        if let Some(entry) = record.as_entry() {
            grafts.place_below(Some(&entry.id), &mut union);
        }
    }
    if !roots_placed {
        grafts.place_below(None, &mut union);
    }
    union.skipped += grafts.waiting - union.added;
    union
}

impl Union {
    fn compare_headers(&mut self, into: &[Record], from: &[Record]) {
        let headers = |records: &[Record]| {
            records.iter().find_map(|record| match &record.change {
                Change::Opened(header) => Some((header.clone(), record.source.clone())),
                Change::Entry(_) | Change::HeadMoved(_) | Change::Marked(_) | Change::Unknown => None,
            })
        };
        match (headers(into), headers(from)) {
            (Some(ours), Some(theirs)) if ours.0.id != theirs.0.id => self.skipped += 1,
            (Some(ours), Some(theirs)) if ours != theirs => {
                self.conflicts.push(Conflict { id: ours.0.id.to_string(), about: Difference::Header });
            }
            _ => {}
        }
    }
}

/// Entries that only the other copy has, by the parent they wait for.
struct Grafts<'r> {
    by_parent: HashMap<Option<&'r EntryId>, Vec<&'r Record>>,
    waiting: usize,
}

impl<'r> Grafts<'r> {
    fn of(into: &'r [Record], from: &'r [Record], conflicts: &mut Vec<Conflict>) -> Self {
        let ours: HashMap<&EntryId, &Record> =
            into.iter().filter_map(|record| Some((&record.as_entry()?.id, record))).collect();
        let mut seen = HashSet::new();
        let mut grafts = Self { by_parent: HashMap::new(), waiting: 0 };
        for record in from {
            let Some(entry) = record.as_entry() else { continue };
            if !seen.insert(&entry.id) {
                continue;
            }
            match ours.get(&entry.id) {
                Some(our_record) => compare(our_record, record, conflicts),
                None => {
                    grafts.waiting += 1;
                    grafts.by_parent.entry(entry.parent.as_ref()).or_default().push(record);
                }
            }
        }
        grafts
    }

    /// Puts everything that waits for this parent into the union, each entry before what hangs below it.
    fn place_below(&mut self, parent: Option<&'r EntryId>, union: &mut Union) {
        let mut open = self.by_parent.remove(&parent).unwrap_or_default();
        open.reverse();
        while let Some(record) = open.pop() {
            union.records.push(record.clone());
            union.added += 1;
            let below = record.as_entry().and_then(|entry| self.by_parent.remove(&Some(&entry.id)));
            open.extend(below.unwrap_or_default().into_iter().rev());
        }
    }
}

fn compare(ours: &Record, theirs: &Record, conflicts: &mut Vec<Conflict>) {
    let (Some(our_entry), Some(their_entry)) = (ours.as_entry(), theirs.as_entry()) else { return };
    let mut conflict = |about| conflicts.push(Conflict { id: our_entry.id.to_string(), about });
    if our_entry.parent != their_entry.parent {
        conflict(Difference::Parent);
    }
    let moved = Entry { parent: our_entry.parent.clone(), ..their_entry.clone() };
    if *our_entry != moved {
        conflict(Difference::Payload);
    }
}
