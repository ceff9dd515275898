//! Which user items are words of the person, and which events repeat an item.
//!
//! An event says what the person wrote, and context that Codex puts under the role of the user has no such
//! event. So within a turn that has one, a user item without one is context. Before the first turn there is
//! only context, if the file tells of turns at all.
//!
//! While a file has no item of a kind, events stand for what they tell. When the items come they take over the places of
//! those events, so that whoever has named one finds the same words there ([`places_taken_over`]).

use std::collections::{HashMap, VecDeque};

use offshoot_session::{Block, Body};

use super::item::Words;
use super::said::{Echo, What};

/// What stands in the file as items.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Items {
    user: bool,
    agent: bool,
    reasoning: bool,
}

impl Items {
    pub(super) fn has(self, echo: Echo) -> bool {
        match echo {
            Echo::User => self.user,
            Echo::Agent => self.agent,
            Echo::Reasoning => self.reasoning,
        }
    }
}

/// Settles whose words are unclear, and tells of which kinds the file has items.
pub(super) fn settle<'w>(lines: impl Iterator<Item = &'w mut What>) -> Items {
    let mut items = Items::default();
    let mut turn = Turn::default();
    let mut before_turns = None;
    let mut is_told = false;
    for what in lines {
        match what {
            What::TurnStarted(_) => {
                let ended = std::mem::take(&mut turn);
                match before_turns {
                    None => before_turns = Some(ended),
                    Some(_) => ended.close(),
                }
            }
            What::Echo(Echo::User, _) => {
                is_told = true;
                turn.tell();
            }
            What::User { words, .. } => {
                items.user |= *words != Words::OfTheProgram;
                if *words == Words::Unclear {
                    *words = Words::OfThePerson;
                    turn.add(words);
                }
            }
            What::Entry(Body::Reply(reply)) => {
                for echo in reply.blocks.iter().filter_map(told_by) {
                    match echo {
                        Echo::User => {}
                        Echo::Agent => items.agent = true,
                        Echo::Reasoning => items.reasoning = true,
                    }
                }
            }
            What::Header(_)
            | What::Settings(..)
            | What::Entry(_)
            | What::Echo(..)
            | What::TurnEnded(_)
            | What::TurnAborted(_)
            | What::Count(_)
            | What::RolledBack { .. }
            | What::Title(_)
            | What::Nothing
            | What::Nameless => {}
        }
    }
    if let Some(mut before_turns) = before_turns {
        turn.close();
        before_turns.is_told = is_told;
        before_turns.close();
    }
    items
}

/// Which lines take over the ordinal of an event before them. Both tell the same in the same order; of the events that tell
/// parts of one thought, the first counts.
///
/// Limitation: what stands between an event and its item hangs on the one before both, when the item has come.
pub(super) fn places_taken_over<'w>(lines: impl Iterator<Item = (u64, &'w What)>) -> HashMap<usize, u64> {
    let mut waiting = AllWaiting::default();
    let mut taken_over = HashMap::new();
    for (at, (ordinal, what)) in lines.enumerate() {
        match what {
            What::Echo(echo, _) => {
                let waiting = waiting.of(*echo);
                if !waiting.has_item {
                    waiting.events.push_back(ordinal);
                }
            }
            What::User { words: Words::OfThePerson | Words::Unclear, .. } => {
                taken_over.extend(waiting.of(Echo::User).next().map(|event| (at, event)));
            }
            What::Entry(Body::Reply(reply)) => {
                if let Some(echo) = reply.blocks.iter().find_map(told_by) {
                    let waiting = waiting.of(echo);
                    taken_over.extend(waiting.next().map(|event| (at, event)));
                    if echo == Echo::Reasoning {
                        waiting.events.clear();
                    }
                }
            }
            What::User { words: Words::OfTheProgram, .. }
            | What::Header(_)
            | What::Settings(..)
            | What::Entry(_)
            | What::TurnStarted(_)
            | What::TurnEnded(_)
            | What::TurnAborted(_)
            | What::Count(_)
            | What::RolledBack { .. }
            | What::Title(_)
            | What::Nothing
            | What::Nameless => {}
        }
    }
    taken_over
}

/// Events of a kind whose items have not come.
#[derive(Default)]
struct Waiting {
    events: VecDeque<u64>,
    has_item: bool,
}

impl Waiting {
    fn next(&mut self) -> Option<u64> {
        self.has_item = true;
        self.events.pop_front()
    }
}

#[derive(Default)]
struct AllWaiting {
    user: Waiting,
    agent: Waiting,
    reasoning: Waiting,
}

impl AllWaiting {
    fn of(&mut self, echo: Echo) -> &mut Waiting {
        match echo {
            Echo::User => &mut self.user,
            Echo::Agent => &mut self.agent,
            Echo::Reasoning => &mut self.reasoning,
        }
    }
}

/// The kind of event that would tell of it.
fn told_by(block: &Block) -> Option<Echo> {
    match block {
        Block::Text(_) => Some(Echo::Agent),
        Block::Thinking(_) => Some(Echo::Reasoning),
        Block::Other { kind } => (kind == "reasoning").then_some(Echo::Reasoning),
        Block::ToolUse(_) | Block::Image { .. } => None,
    }
}

/// The user items of a turn that no event has told of yet.
#[derive(Default)]
struct Turn<'w> {
    untold: Vec<&'w mut Words>,
    /// Events that came before their item.
    ahead: usize,
    is_told: bool,
}

impl<'w> Turn<'w> {
    fn tell(&mut self) {
        self.is_told = true;
        if self.untold.pop().is_none() {
            self.ahead += 1;
        }
    }

    fn add(&mut self, words: &'w mut Words) {
        match self.ahead.checked_sub(1) {
            Some(ahead) => self.ahead = ahead,
            None => self.untold.push(words),
        }
    }

    fn close(self) {
        if self.is_told {
            self.untold.into_iter().for_each(|words| *words = Words::OfTheProgram);
        }
    }
}
