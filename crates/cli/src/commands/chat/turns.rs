//! Which turns run: on the branch that is told here, and elsewhere in the tree.
//!
//! Two answers told at once could not be read. The one on the head's branch is told; of the others only that they begin
//! and end, and what they ask.

use std::collections::{HashMap, HashSet};

use offshoot_api::views::QueuedView;

#[derive(Debug, Default)]
pub(super) struct Turns {
    here: HashSet<String>,
    elsewhere: HashSet<String>,
    /// Begun by this chat: whoever leaves interrupts only these.
    own: HashSet<String>,
    /// The one that was begun last: how it ends is how the conversation ends.
    last_of_own: Option<String>,
    /// What each was asked, to speak of it.
    asked: HashMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    Here,
    /// With what it was asked.
    Elsewhere(String),
}

impl Turns {
    /// Sent from here. What waits will have this turn when it is said.
    pub(super) fn is_own(&mut self, turn: &str) {
        self.own.insert(turn.to_owned());
        self.last_of_own = Some(turn.to_owned());
    }

    pub(super) fn is_last_of_own(&self, turn: &str) -> bool {
        self.last_of_own.as_deref() == Some(turn)
    }

    pub(super) fn is_known_as_own(&self, turn: &str) -> bool {
        self.own.contains(turn)
    }

    pub(super) fn asked(&mut self, turn: &str, words: &str) {
        self.asked.insert(turn.to_owned(), words.to_owned());
    }

    pub(super) fn words(&self, turn: &str) -> &str {
        self.asked.get(turn).map(String::as_str).unwrap_or_default()
    }

    /// It goes on the branch of the head: what ran there before runs elsewhere now.
    pub(super) fn begins_here(&mut self, turn: &str) {
        let others = self.here.drain().filter(|other| other != turn);
        self.elsewhere.extend(others);
        self.elsewhere.remove(turn);
        self.here.insert(turn.to_owned());
    }

    pub(super) fn begins_elsewhere(&mut self, turn: &str) {
        self.here.remove(turn);
        self.elsewhere.insert(turn.to_owned());
    }

    /// `None`: nobody knew of it.
    pub(super) fn end(&mut self, turn: &str) -> Option<Ended> {
        let words = self.asked.remove(turn).unwrap_or_default();
        self.own.remove(turn);
        if self.here.remove(turn) {
            return Some(Ended::Here);
        }
        self.elsewhere.remove(turn).then_some(Ended::Elsewhere(words))
    }

    /// What is known from a view takes the place of what was heard.
    pub(super) fn see(&mut self, running: impl IntoIterator<Item = (String, bool)>) {
        self.here.clear();
        self.elsewhere.clear();
        for (turn, is_here) in running {
            if is_here {
                self.here.insert(turn)
            } else {
                self.elsewhere.insert(turn)
            };
        }
    }

    /// The last turn of this chat, where it neither runs nor waits and its end was not heard.
    pub(super) fn ended_of_own(&self, queue: &[QueuedView]) -> Option<&str> {
        let turn = self.last_of_own.as_deref().filter(|turn| self.own.contains(*turn))?;
        let is_open = self.knows(turn) || queue.iter().any(|queued| queued.id == turn);
        (!is_open).then_some(turn)
    }

    pub(super) fn knows(&self, turn: &str) -> bool {
        self.here.contains(turn) || self.elsewhere.contains(turn)
    }

    pub(super) fn is_elsewhere(&self, turn: &str) -> bool {
        self.elsewhere.contains(turn)
    }

    pub(super) fn any_here(&self) -> bool {
        !self.here.is_empty()
    }

    /// The one that is told here: there is one at a time.
    pub(super) fn here(&self) -> Option<&str> {
        self.here.iter().next().map(String::as_str)
    }

    /// Those of this chat that run.
    pub(super) fn own_running(&self) -> Vec<String> {
        let mut own: Vec<String> = self.own.iter().filter(|turn| self.knows(turn)).cloned().collect();
        own.sort();
        own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_turn_of_the_head_is_told_and_others_only_by_their_end() {
        let mut turns = Turns::default();
        turns.is_own("a");
        turns.asked("a", "count");
        turns.begins_here("a");
        assert!(turns.any_here() && !turns.is_elsewhere("a"));
        turns.begins_here("b");
        assert_eq!(turns.here(), Some("b"));
        assert!(turns.is_elsewhere("a") && !turns.is_elsewhere("b"));
        assert_eq!(turns.own_running(), ["a"], "`b` was begun by somebody else");
        assert_eq!(turns.end("b"), Some(Ended::Here));
        assert!(!turns.any_here());
        assert_eq!(turns.end("a"), Some(Ended::Elsewhere("count".into())));
        assert_eq!((turns.end("a"), turns.own_running().len()), (None, 0));
    }

    #[test]
    fn a_view_says_what_runs_and_where() {
        let mut turns = Turns::default();
        turns.is_own("b");
        turns.begins_here("a");
        turns.see([("b".to_owned(), false)]);
        assert!(!turns.knows("a") && turns.is_elsewhere("b") && !turns.any_here());
        assert_eq!(turns.own_running(), ["b"]);
    }
}
