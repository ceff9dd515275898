//! Which user items are words of the person, and which events repeat an item.
//!
//! An event says what the person wrote, and context that Codex puts under the role of the user has no such
//! event. So within a turn that has one, a user item without one is context. Before the first turn there is
//! only context, if the file tells of turns at all.

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
                for block in &reply.blocks {
                    match block {
                        Block::Text(_) => items.agent = true,
                        Block::Thinking(_) => items.reasoning = true,
                        Block::Other { kind } => items.reasoning |= kind == "reasoning",
                        Block::ToolUse(_) | Block::Image { .. } => {}
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
