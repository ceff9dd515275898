//! The nested view of a session that the cases of seed 000 speak of.
//!
//! A *slot* is the versions of one prompt; a *timeline* is one of them with what answered it and the slots further down; the
//! id of a slot, its *edit group*, is the id of its first version. [`SlotView`] computes them from the tree and
//! [`versions`](offshoot_session::versions), which decides what a version is for the whole product. The product itself
//! shows rows of a tree and needs no nested view, so this one is only for the cases.
//!
//! What is shown is the path of the head. Where a timeline continues in several places, those slots are alternatives, and
//! only the one on the path is shown. Two things are added to the bare path: a slot that the head does not cross shows
//! the version last visited, and an answer that came after the next prompt was written is shown with its own prompt.

mod build;
mod conversation;
mod ground;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use offshoot_session::{AgentSessionId, Entry, EntryId, SessionTree};
use thiserror::Error;

pub(crate) use conversation::Conversation;

/// The session seen from one position.
#[derive(Clone, Debug)]
pub(crate) struct SlotView {
    ground: ground::Ground,
    slots: Vec<Slot>,
    timelines: Vec<Timeline>,
    by_group: HashMap<EntryId, usize>,
    /// Slots with no prompt above.
    top: Vec<usize>,
    /// Timelines on the path of the head, from above.
    active: Vec<usize>,
    /// What was said on that path before the first prompt.
    lead: Vec<Arc<Entry>>,
}

/// A place in the conversation where a prompt stands, in one or more versions.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) edit_group: EntryId,
    /// Which version is shown, counted from 0.
    pub(crate) active: usize,
    timelines: Vec<usize>,
    /// Where it stands among the slots that hang in the same timeline.
    position: usize,
}

/// One version of a prompt and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    pub(crate) prompt: Arc<Entry>,
    /// What was said before the next prompt, in the order of writing.
    pub(crate) responses: Vec<Arc<Entry>>,
    /// The agent's own session, where one was bound here.
    pub(crate) session: Option<AgentSessionId>,
    children: Vec<usize>,
    slot: usize,
    /// Which version of its slot it is.
    version: usize,
}

/// One step of an address: a slot among its neighbours, then a version of it. Both count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SlotPathSegment {
    pub(crate) slot: usize,
    pub(crate) timeline: usize,
}

/// The address of a timeline, from the top down. Slots count by the age of their first version, so an address
/// stays good while the session grows.
pub(crate) type SlotPath = Vec<SlotPathSegment>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EditInfo {
    pub(crate) edit_group: EntryId,
    /// Counted from 0; people are shown one more.
    pub(crate) current_index: usize,
    pub(crate) total_versions: usize,
    pub(crate) has_multiple_versions: bool,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("edit group `{0}` does not exist")]
pub(crate) struct SlotNotFound(EntryId);

impl SlotView {
    /// As the main head sees it.
    pub(crate) fn of(tree: &SessionTree) -> Self {
        build::view(tree)
    }

    /// What is shown: prompts with what answered them, from above.
    pub(crate) fn active_messages(&self) -> Vec<&Arc<Entry>> {
        let mut messages: Vec<&Arc<Entry>> = self.lead.iter().collect();
        for timeline in self.active_timelines() {
            messages.push(&timeline.prompt);
            messages.extend(&timeline.responses);
        }
        messages
    }

    /// Timelines on the path of the head, from above.
    pub(crate) fn active_timelines(&self) -> impl DoubleEndedIterator<Item = &Timeline> {
        self.active.iter().filter_map(|timeline| self.timelines.get(*timeline))
    }

    /// The address of the last timeline shown; empty where none is.
    pub(crate) fn active_leaf_path(&self) -> SlotPath {
        self.active_timelines().filter_map(|timeline| self.segment(timeline)).collect()
    }

    /// The agent's session to go on with: the deepest one that is bound on the path.
    pub(crate) fn active_leaf_session(&self) -> Option<&AgentSessionId> {
        self.active_timelines().rev().find_map(|timeline| timeline.session.as_ref())
    }

    /// Any slot of the session, shown or not.
    pub(crate) fn find_slot(&self, edit_group: &EntryId) -> Option<&Slot> {
        self.by_group.get(edit_group).and_then(|slot| self.slots.get(*slot))
    }

    pub(crate) fn edit_info(&self, edit_group: &EntryId) -> Option<EditInfo> {
        self.find_slot(edit_group).map(Slot::edit_info)
    }

    /// For the slots that are shown, from above.
    pub(crate) fn all_edit_info(&self) -> Vec<EditInfo> {
        self.active_timelines()
            .filter_map(|timeline| self.slots.get(timeline.slot))
            .map(Slot::edit_info)
            .collect()
    }

    /// The timeline at an address; `None` where any step leads nowhere, and for no step at all.
    pub(crate) fn resolve(&self, path: &[SlotPathSegment]) -> Option<&Timeline> {
        let mut slots = &self.top;
        let mut found = None;
        for segment in path {
            let slot = self.slots.get(*slots.get(segment.slot)?)?;
            let timeline = self.timelines.get(*slot.timelines.get(segment.timeline)?)?;
            slots = &timeline.children;
            found = Some(timeline);
        }
        found
    }

    /// What was said before a slot, on the way to it: what its prompt was sent with. A slot that is not shown has
    /// a way of its own, and that one counts.
    pub(crate) fn messages_before(&self, edit_group: &EntryId) -> Result<Vec<&Arc<Entry>>, SlotNotFound> {
        let slot = self.find_slot(edit_group).ok_or_else(|| SlotNotFound(edit_group.clone()))?;
        let shown = slot.timelines.get(slot.active).and_then(|shown| self.timelines.get(*shown));
        Ok(shown.map(|timeline| self.ground.said_before(&timeline.prompt.id)).unwrap_or_default())
    }

    /// The slots with no prompt above, oldest first. Several of them are alternatives.
    pub(crate) fn top_slots(&self) -> impl Iterator<Item = &Slot> {
        self.top.iter().filter_map(|slot| self.slots.get(*slot))
    }

    /// The versions in a slot, oldest first.
    pub(crate) fn timelines(&self, slot: &Slot) -> impl Iterator<Item = &Timeline> {
        slot.timelines.iter().filter_map(|timeline| self.timelines.get(*timeline))
    }

    /// The slots that go on from a timeline, oldest first. Several of them are alternatives.
    pub(crate) fn child_slots(&self, timeline: &Timeline) -> impl Iterator<Item = &Slot> {
        timeline.children.iter().filter_map(|slot| self.slots.get(*slot))
    }

    fn segment(&self, timeline: &Timeline) -> Option<SlotPathSegment> {
        let slot = self.slots.get(timeline.slot)?;
        Some(SlotPathSegment { slot: slot.position, timeline: timeline.version })
    }
}

impl Slot {
    pub(crate) fn edit_info(&self) -> EditInfo {
        EditInfo {
            edit_group: self.edit_group.clone(),
            current_index: self.active,
            total_versions: self.timelines.len(),
            has_multiple_versions: self.timelines.len() > 1,
        }
    }
}
