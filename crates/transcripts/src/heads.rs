//! Where the main head stands while records are made, so that every move says truly where it came from.

use jiff::Timestamp;
use offshoot_session::{Entry, EntryId, HeadMove, HeadName, TurnId};

/// An entry and the turn that wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) id: EntryId,
    pub(crate) turn: Option<TurnId>,
}

#[derive(Debug, Default)]
pub(crate) struct Heads {
    at: Option<Place>,
}

impl Place {
    pub(crate) fn of(entry: &Entry) -> Self {
        Self { id: entry.id.clone(), turn: entry.turn.clone() }
    }
}

impl Heads {
    /// A head on the tip of a turn goes along with what the turn writes.
    pub(crate) fn pass(&mut self, entry: &Entry) {
        let Some(at) = &self.at else { return };
        if entry.turn.is_some() && at.turn == entry.turn && entry.parent.as_ref() == Some(&at.id) {
            self.at = Some(Place::of(entry));
        }
    }

    /// The move to a place; none where the head is there.
    pub(crate) fn go(&mut self, to: Option<Place>, moved_at: Timestamp) -> Option<HeadMove> {
        let id = |place: &Option<Place>| place.as_ref().map(|place| place.id.clone());
        let (from, target) = (id(&self.at), id(&to));
        self.at = to;
        (from != target).then(|| HeadMove { head: HeadName::main(), moved_at, from, to: target })
    }
}
