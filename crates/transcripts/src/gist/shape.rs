//! Which turn an entry belongs to, for a tree of which nothing but ids was kept.
//!
//! An id is kept as its hash: two that share one would be taken for one entry, which costs a wrong number of a turn
//! in one of some billion files.

use std::collections::{HashMap, HashSet};

const NONE: u32 = u32::MAX;
/// Below the task of a sub-agent, which is nobody's turn.
const DELEGATED: u32 = u32::MAX - 1;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shape {
    turn_of: HashMap<u64, u32>,
    turns: Vec<Turn>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Turn {
    parent: u32,
    number: u32,
    /// The entry it hangs below, and its own last one.
    below: u64,
    tip: u64,
}

/// What an entry does to the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Prompt,
    /// The task of a sub-agent.
    Task,
    /// Goes on with the turn above.
    On,
}

impl Shape {
    pub(crate) fn knows(&self, id: &str) -> bool {
        self.turn_of.contains_key(&hash(id))
    }

    /// `false` where the id is taken: the first one counts.
    pub(crate) fn add(&mut self, id: &str, parent: Option<&str>, step: Step) -> bool {
        let own = hash(id);
        if self.turn_of.contains_key(&own) {
            return false;
        }
        let below = parent.map(hash).unwrap_or_default();
        let above = self.turn_of.get(&below).copied().filter(|_| parent.is_some()).unwrap_or(NONE);
        let turn = match step {
            _ if above == DELEGATED => DELEGATED,
            Step::Task => DELEGATED,
            Step::On => above,
            Step::Prompt => {
                let number = self.turns.get(above as usize).map_or(0, |above| above.number) + 1;
                self.turns.push(Turn { parent: above, number, below, tip: own });
                self.turns.len() as u32 - 1
            }
        };
        if let Some(turn) = self.turns.get_mut(turn as usize) {
            turn.tip = own;
        }
        self.turn_of.insert(own, turn);
        true
    }

    pub(crate) fn is_delegated(&self, id: &str) -> bool {
        self.turn_of.get(&hash(id)) == Some(&DELEGATED)
    }

    pub(crate) fn number(&self, id: &str) -> Option<u32> {
        let turn = self.turn_of.get(&hash(id))?;
        self.turns.get(*turn as usize).map(|turn| turn.number)
    }

    pub(crate) fn prompts(&self) -> u64 {
        self.turns.len() as u64
    }

    /// A branch ends where no turn hangs below the end of a turn.
    pub(crate) fn branches(&self) -> u64 {
        let goes_on: HashSet<u32> = self
            .turns
            .iter()
            .filter(|turn| {
                self.turns.get(turn.parent as usize).is_some_and(|parent| parent.tip == turn.below)
            })
            .map(|turn| turn.parent)
            .collect();
        let ends = self.turns.len() - goes_on.len();
        ends.max(usize::from(!self.turn_of.is_empty())) as u64
    }

    pub(crate) fn keep(&self, bytes: &mut Vec<u8>) {
        bytes.extend((self.turns.len() as u32).to_le_bytes());
        for turn in &self.turns {
            bytes.extend(turn.parent.to_le_bytes());
            bytes.extend(turn.number.to_le_bytes());
            bytes.extend(turn.below.to_le_bytes());
            bytes.extend(turn.tip.to_le_bytes());
        }
        let mut ids: Vec<(&u64, &u32)> = self.turn_of.iter().collect();
        ids.sort_unstable();
        for (id, turn) in ids {
            bytes.extend(id.to_le_bytes());
            bytes.extend(turn.to_le_bytes());
        }
    }

    pub(crate) fn kept(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<4>()?;
        let (turns, ids) = rest.split_at_checked(u32::from_le_bytes(*count) as usize * 24)?;
        let turns: Option<Vec<Turn>> = turns.chunks_exact(24).map(Turn::kept).collect();
        let (ids, rest) = ids.as_chunks::<12>();
        if !rest.is_empty() {
            return None;
        }
        let pair = |bytes: &[u8; 12]| Some((number(bytes.get(..8)?)?, number(bytes.get(8..)?)? as u32));
        let turn_of: Option<HashMap<u64, u32>> = ids.iter().map(pair).collect();
        Some(Self { turn_of: turn_of?, turns: turns? })
    }
}

impl Turn {
    fn kept(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            parent: number(bytes.get(..4)?)? as u32,
            number: number(bytes.get(4..8)?)? as u32,
            below: number(bytes.get(8..16)?)?,
            tip: number(bytes.get(16..24)?)?,
        })
    }
}

fn number(bytes: &[u8]) -> Option<u64> {
    let mut all = [0; 8];
    all.get_mut(..bytes.len())?.copy_from_slice(bytes);
    Some(u64::from_le_bytes(all))
}

/// FNV-1a, and its bits mixed once more: the same in every build, unlike the hashes of the standard library.
fn hash(id: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `m - u1 - a1 - u2 - a2`, and `u3` as another version of `u2`.
    fn shape() -> Shape {
        let mut shape = Shape::default();
        let line = [
            ("m", None, Step::On),
            ("u1", Some("m"), Step::Prompt),
            ("a1", Some("u1"), Step::On),
            ("u2", Some("a1"), Step::Prompt),
            ("a2", Some("u2"), Step::On),
            ("u3", Some("a1"), Step::Prompt),
        ];
        line.iter().for_each(|(id, parent, step)| assert!(shape.add(id, *parent, *step)));
        shape
    }

    #[test]
    fn turns_count_on_the_way_down() {
        let shape = shape();
        assert_eq!(
            ["m", "u1", "a1", "a2", "u3"].map(|id| shape.number(id)),
            [None, Some(1), Some(1), Some(2), Some(2)]
        );
        assert_eq!((shape.prompts(), shape.branches()), (3, 2));
    }

    #[test]
    fn what_is_kept_is_the_same_again() {
        let mut bytes = Vec::new();
        shape().keep(&mut bytes);
        assert_eq!(Shape::kept(&bytes), Some(shape()));
        for end in 0..bytes.len() {
            let _ = Shape::kept(bytes.get(..end).unwrap_or_default());
        }
    }

    #[test]
    fn a_sub_agent_has_no_turns() {
        let mut shape = shape();
        assert!(shape.add("note", Some("a2"), Step::Task));
        assert!(shape.add("task", Some("note"), Step::Prompt));
        assert_eq!((shape.prompts(), shape.number("task")), (3, None));
        assert!(!shape.add("task", None, Step::Prompt), "the first one counts");
    }
}
