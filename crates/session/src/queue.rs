//! Prompts that wait until a turn has ended.
//!
//! What is sent while a turn runs on the same path waits behind that turn. When the turn is done the first one goes; a
//! turn that failed or was interrupted leaves the queue as it is, because what was asked next may make no sense any
//! more.

use jiff::Timestamp;
use thiserror::Error;

use crate::{EntryId, HeadName, Prompt, Setting, TurnId};

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct QueuedId(String);

#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    pub id: QueuedId,
    /// The turn it waits for.
    pub behind: TurnId,
    /// The prompt of that turn: it will be said below its answer, wherever the head is by then. While that prompt is not
    /// written, the entry below which it lands.
    pub place: Option<EntryId>,
    /// The head that goes along where it stands there; below it where the place is not known.
    pub head: HeadName,
    /// What was chosen for it: who shall answer, with which model.
    pub chosen: Vec<Setting>,
    pub prompt: Prompt,
    pub queued_at: Timestamp,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct SendQueue {
    waiting: Vec<Queued>,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("`{0}` does not wait in the queue")]
pub struct NotQueued(pub QueuedId);

impl QueuedId {
    pub fn named(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The turn that the message becomes.
    pub fn turn(&self) -> TurnId {
        TurnId::from(self.as_str())
    }
}

impl std::fmt::Display for QueuedId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl SendQueue {
    /// At the end.
    pub fn add(&mut self, queued: Queued) {
        self.waiting.push(queued);
    }

    /// In the order in which they will be said.
    pub fn iter(&self) -> impl Iterator<Item = &Queued> {
        self.waiting.iter()
    }

    pub fn get(&self, id: &QueuedId) -> Result<&Queued, NotQueued> {
        self.waiting.iter().find(|queued| queued.id == *id).ok_or_else(|| NotQueued(id.clone()))
    }

    pub fn change(&mut self, id: &QueuedId, prompt: Prompt) -> Result<(), NotQueued> {
        let queued = self.waiting.iter_mut().find(|queued| queued.id == *id);
        queued.ok_or_else(|| NotQueued(id.clone()))?.prompt = prompt;
        Ok(())
    }

    pub fn cancel(&mut self, id: &QueuedId) -> Result<Queued, NotQueued> {
        let at = self.waiting.iter().position(|queued| queued.id == *id);
        Ok(self.waiting.remove(at.ok_or_else(|| NotQueued(id.clone()))?))
    }

    /// The first message behind this turn is sent next. It stays in the queue until its prompt is written; the other
    /// messages behind the turn now wait for it.
    pub fn advance(&mut self, turn: &TurnId) -> Option<Queued> {
        let next = self.waiting.iter().find(|queued| queued.behind == *turn)?.clone();
        let others = self.waiting.iter_mut().filter(|queued| queued.behind == *turn && queued.id != next.id);
        for queued in others {
            queued.behind = next.id.turn();
        }
        Some(next)
    }

    /// Those that fit wait for this turn, below its prompt.
    pub fn go_behind(&mut self, turn: &TurnId, prompt: &EntryId, fits: impl Fn(&Queued) -> bool) {
        for queued in self.waiting.iter_mut().filter(|queued| fits(queued)) {
            (queued.behind, queued.place) = (turn.clone(), Some(prompt.clone()));
        }
    }
}
