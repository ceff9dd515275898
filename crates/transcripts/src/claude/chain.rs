//! How the lines of a file hang together.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offshoot_session::{Body, EntryId, ToolCallId};

/// Lines in the chain that are no entries: whoever names one as parent means the nearest entry above it.
#[derive(Default)]
pub(super) struct Passes {
    above: HashMap<EntryId, Option<EntryId>>,
}

impl Passes {
    /// The first line under an id counts.
    pub(super) fn add(&mut self, id: EntryId, parent: Option<EntryId>) {
        if let Slot::Vacant(slot) = self.above.entry(id) {
            slot.insert(parent);
        }
    }

    /// Lines that only lead to each other lead nowhere.
    pub(super) fn entry_above(&mut self, id: EntryId) -> Option<EntryId> {
        let mut passed = Vec::new();
        let mut at = Some(id);
        while let Some(id) = &at {
            let Some(above) = self.above.get_mut(id) else { break };
            let above = above.take(); // a line met again has nothing above it: cycles end
            passed.extend(at);
            at = above;
        }
        for id in passed {
            self.above.insert(id, at.clone()); // so that a long chain of such lines is walked once
        }
        at
    }
}

/// One message of the model and the answers to its calls, as one chain in the order of writing.
///
/// ```text
///   in the file                 as it was said
///   c1 - c2 - t2                c1 - c2 - t2 - t1 - a3
///   c1 - t1 - a3
/// ```
#[derive(Default)]
pub(super) struct Threads {
    message_of: HashMap<EntryId, Arc<str>>,
    tails: HashMap<Arc<str>, EntryId>,
    answered: HashSet<ToolCallId>,
}

/// What a line is to the message it may belong to.
pub(super) enum Part<'d> {
    Line(&'d Arc<str>),
    Answer(&'d ToolCallId),
    /// Notes of the program between answers.
    Beside,
    Other,
}

impl<'d> Part<'d> {
    pub(super) fn of(body: &'d Body, message: Option<&'d Arc<str>>) -> Self {
        match (body, message) {
            (Body::Reply(_), Some(message)) => Self::Line(message),
            (Body::ToolResult(result), _) => Self::Answer(&result.call),
            (Body::Note(_), _) => Self::Beside,
            (Body::CustomMessage(message), _) if !message.display => Self::Beside,
            _ => Self::Other,
        }
    }
}

impl Threads {
    /// The parent of a line that names `parent`; each line is placed once.
    pub(super) fn place(
        &mut self,
        id: &EntryId,
        parent: Option<EntryId>,
        part: &Part<'_>,
    ) -> Option<EntryId> {
        let message = parent.as_ref().and_then(|parent| self.message_of.get(parent)).cloned();
        match (part, message) {
            (Part::Line(own), Some(message)) if message == **own => self.extend(message, id, parent),
            (Part::Line(own), _) => {
                self.extend((*own).clone(), id, None);
                parent
            }
            (Part::Answer(call), Some(message)) if self.answered.insert((*call).clone()) => {
                self.extend(message, id, parent)
            }
            (Part::Beside, Some(message)) if self.tails.get(&message) == parent.as_ref() => {
                self.extend(message, id, parent)
            }
            (Part::Answer(_) | Part::Beside | Part::Other, _) => parent,
        }
    }

    fn extend(&mut self, message: Arc<str>, id: &EntryId, parent: Option<EntryId>) -> Option<EntryId> {
        self.message_of.insert(id.clone(), message.clone());
        self.tails.insert(message, id.clone()).or(parent)
    }
}
