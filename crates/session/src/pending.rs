//! A message that was accepted and whose prompt is not written yet.
//!
//! A turn goes through the phases of [`Phase`]. The first ones belong to a [`PendingTurn`]: accepted,
//! then the hooks are asked. Then the prompt is written and a [`Turn`](crate::turn::Turn) takes over with `connecting`.
//! Another step before the prompt, such as capturing files, is another phase here.
//!
//! The place is fixed when the message is accepted ([`Landing`]). Until the prompt is written the branch counts as busy
//! ([`guard`](crate::guard)), so the place cannot move in this process. Another process may still undo it; then the
//! message is refused ([`Landing::check`]) and never lands elsewhere.

use thiserror::Error;

use crate::status::State;
use crate::turn::Phase;
use crate::{Entry, EntryId, HeadName, SessionTree, TurnId};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingTurn {
    id: TurnId,
    landing: Landing,
    phase: Phase,
}

/// Where the prompt of a pending turn lands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// Below this entry; `None` is before the first entry.
    Below(Option<EntryId>),
    /// Another version of the prompt `of`, below the same parent.
    Version { of: EntryId, below: Option<EntryId> },
    /// Nowhere: this prompt exists and has no answer yet.
    Answer(EntryId),
}

/// The place of a message disappeared before the prompt was written.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum LandingGone {
    #[error("entry `{0}` was undone before the message could be added below it; the message was not sent")]
    Below(EntryId),
    #[error("prompt `{0}` was undone before the message could replace it; the message was not sent")]
    Version(EntryId),
    #[error("prompt `{0}` was undone before it could be answered")]
    Answer(EntryId),
}

impl PendingTurn {
    pub fn accept(id: TurnId, landing: Landing) -> Self {
        Self { id, landing, phase: Phase::Accepted }
    }

    /// The hooks are being asked.
    #[must_use]
    pub fn asking_hooks(self) -> Self {
        Self { phase: Phase::Hook, ..self }
    }

    /// An entry was written in the turn whose end the message waits for: the message lands below it, if it was to land
    /// below its parent.
    pub fn follow(&mut self, entry: &Entry) {
        if let Landing::Below(Some(below)) = &mut self.landing
            && Some(&*below) == entry.parent.as_ref()
        {
            *below = entry.id.clone();
        }
    }

    /// The id of the turn that begins when the prompt is written.
    pub fn id(&self) -> &TurnId {
        &self.id
    }

    pub fn landing(&self) -> &Landing {
        &self.landing
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    pub fn state(&self) -> State {
        State::Starting
    }
}

impl Landing {
    /// A version of `of`, next to it.
    pub fn version(tree: &SessionTree, of: &EntryId) -> Self {
        Self::Version { of: of.clone(), below: tree.parent(of).map(|above| above.id.clone()) }
    }

    /// The entry above the prompt.
    pub fn below<'l>(&'l self, tree: &'l SessionTree) -> Option<&'l EntryId> {
        match self {
            Self::Below(below) | Self::Version { below, .. } => below.as_ref(),
            Self::Answer(prompt) => tree.parent(prompt).map(|above| &above.id),
        }
    }

    /// Which prompt of its branch it is, from 1.
    pub fn number(&self, tree: &SessionTree) -> usize {
        let path = tree.path_to(self.below(tree));
        path.iter().filter(|entry| entry.body.is_prompt()).count() + 1
    }

    /// Whether the message can still land where it was sent.
    pub fn check(&self, tree: &SessionTree) -> Result<(), LandingGone> {
        let is_gone = |entry: &EntryId| !tree.contains(entry);
        match self {
            Self::Below(Some(below)) if is_gone(below) => Err(LandingGone::Below(below.clone())),
            Self::Version { of, .. } if is_gone(of) => Err(LandingGone::Version(of.clone())),
            Self::Answer(prompt) if is_gone(prompt) => Err(LandingGone::Answer(prompt.clone())),
            Self::Below(_) | Self::Version { .. } | Self::Answer(_) => Ok(()),
        }
    }

    /// Whether the head is where the prompt lands. Moving it, or writing there, would move the place of the message.
    pub(crate) fn is_at_head(&self, tree: &SessionTree, head: &HeadName) -> bool {
        match self {
            Self::Below(below) | Self::Version { below, .. } => tree.head(head) == below.as_ref(),
            Self::Answer(prompt) => tree.head(head).is_some_and(|head| tree.is_ancestor(prompt, head)),
        }
    }

    /// Whether the entry is on the path to the prompt, or below a prompt that exists.
    pub(crate) fn has_on_path(&self, tree: &SessionTree, at: &EntryId) -> bool {
        match self {
            Self::Below(below) | Self::Version { below, .. } => {
                below.as_ref().is_some_and(|below| tree.is_ancestor(at, below))
            }
            Self::Answer(prompt) => tree.is_ancestor(at, prompt) || tree.is_ancestor(prompt, at),
        }
    }

    /// Whether the entry is part of the answer that is being prepared.
    pub(crate) fn answers_above(&self, tree: &SessionTree, at: &EntryId) -> bool {
        match self {
            Self::Below(_) | Self::Version { .. } => false,
            Self::Answer(prompt) => tree.is_ancestor(prompt, at),
        }
    }
}
