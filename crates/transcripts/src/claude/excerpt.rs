//! The end of a long file, read as if all of it had been read.
//!
//! The [`Spine`] tells where the last turns begin, how many there are before them, and which lines further up matter:
//! the first ones, titles, settings in force, and the prompts that are versions of those that are shown. These lines
//! and all from the first shown prompt on are read by the ordinary reader. What it makes of them is what it would have
//! made of the whole file, because nothing but prompts hangs below the lines that are left out.
//!
//! # Limitations
//!
//! A short id is made as if settings further up had no ids.

use std::collections::{BTreeSet, HashSet};

use offshoot_session::{Body, EntryId, Odd, SessionTree};

use super::read::Reading;
use super::spine::{Kind, Packed, Spine, Told, hash, packed, written};
use crate::lines::{Sources, lines};

/// An entry has to come within so many lines.
const LONGEST_OPENING: usize = 1_000;
/// Six hexadecimal digits: ids that differ in these are told apart by their short ids.
const SHORT: u32 = 128 - 24;

/// What is looked at, counted from the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    Turns(usize),
    Entries(usize),
}

/// Which lines are to be read.
#[derive(Debug)]
pub struct Excerpt {
    /// Some lines, by how many stand before each.
    pub before: Vec<usize>,
    /// All lines from this one on.
    pub start: usize,
    head: Packed,
    first_shown: Packed,
    turn: usize,
}

/// The last turns of a session, and what there is to know of the others.
#[derive(Debug)]
pub struct Ending {
    /// It has all that is asked for, and some entries more.
    pub tree: SessionTree,
    /// The number of the head's turn.
    pub turn: usize,
    /// Ids further up that begin like one that is shown.
    pub similar: Vec<String>,
    /// So many lines were read as JSON, some of them twice.
    pub lines_read: usize,
}

impl Spine {
    /// Where the line begins, and the next one.
    pub fn bounds(&self, line: usize, length: u64) -> Option<(u64, u64)> {
        let begin = self.links.get(line)?.offset;
        Some((begin, self.links.get(line + 1).map_or(length, |next| next.offset)))
    }

    /// `None` where the lines that would be left out might matter.
    pub fn excerpt(&self, last: Last) -> Option<Excerpt> {
        let chain = Chain::of(self)?;
        let head = chain.head()?;
        let path = chain.path_to(head)?;
        let is_prompt = |at: &usize| chain.kind(*at) == Some(Kind::Prompt);
        let turn = path.iter().filter(|at| is_prompt(at)).count();
        let shown = path.get(..=first_shown(&path, last, is_prompt)?)?;
        let start = *shown.iter().min()?;
        chain.is_closed_behind(start)?;
        let mut before = self.opening()?;
        before.extend(chain.around(shown.iter().copied().filter(is_prompt), start)?);
        before.extend(self.told.iter().filter(|(_, told)| *told == Told::Title).map(|(at, _)| *at));
        before.extend(self.told.iter().find(|(_, told)| *told == Told::Words).map(|(at, _)| *at));
        for kind in [Told::PermissionMode, Told::Mode] {
            before.extend(self.in_force(kind, start));
        }
        Some(Excerpt {
            before: before.range(..start).copied().collect(),
            start,
            head: self.links.get(head)?.id?,
            first_shown: self.links.get(*shown.last()?)?.id?,
            turn,
        })
    }

    /// The lines that say which session this is.
    fn opening(&self) -> Option<BTreeSet<usize>> {
        let is_entry = |kind: Kind| matches!(kind, Kind::Entry | Kind::Prompt);
        let first = self.links.iter().take(LONGEST_OPENING).position(|link| is_entry(link.kind))?;
        self.told.contains(&(first, Told::Opening)).then(|| (0..=first).collect())
    }

    /// The lines that set something last, each with the entry that it stands above.
    fn in_force(&self, kind: Told, start: usize) -> Vec<usize> {
        let mut lines = Vec::new();
        let said = self.told.iter().rev().filter(|(at, told)| *at < start && *told == kind);
        for (at, _) in said {
            lines.push(*at);
            let behind = self.links.get(*at..start).unwrap_or_default();
            if let Some(next) = behind.iter().position(|link| link.kind == Kind::Entry) {
                lines.push(at + next);
                break;
            }
        }
        lines
    }
}

/// How far down a path that goes up from the head.
fn first_shown(path: &[usize], last: Last, is_prompt: impl Fn(&usize) -> bool) -> Option<usize> {
    let mut prompts = path.iter().enumerate().filter(|(_, at)| is_prompt(at)).map(|(nth, _)| nth);
    match last {
        Last::Turns(count) => prompts.nth(count.checked_sub(1)?),
        Last::Entries(count) => prompts.find(|nth| *nth + 1 >= count),
    }
}

/// Lines by their ids.
struct Chain<'s> {
    spine: &'s Spine,
    /// Numbers of lines from 1, each at the place that its id falls to or at the next one that was free. A map that
    /// keeps the ids too takes eight times the memory.
    slots: Vec<u32>,
}

/// Where the search for an id ends.
enum Slot {
    Line(usize),
    Free(usize),
}

impl<'s> Chain<'s> {
    /// `None` where two lines have the same id.
    fn of(spine: &'s Spine) -> Option<Self> {
        let slots = vec![0; (2 * spine.links.len()).next_power_of_two()];
        let mut chain = Self { spine, slots };
        for (at, link) in spine.links.iter().enumerate() {
            if let Some(id) = link.id {
                let Slot::Free(slot) = chain.slot_of(id) else { return None };
                *chain.slots.get_mut(slot)? = u32::try_from(at + 1).ok()?;
            }
        }
        Some(chain)
    }

    /// There are twice as many slots as lines, so a free one comes.
    fn slot_of(&self, id: Packed) -> Slot {
        let last = self.slots.len().saturating_sub(1);
        let mut slot = folded(id) & last;
        loop {
            let Some(line) = self.slots.get(slot).and_then(|line| (*line as usize).checked_sub(1)) else {
                return Slot::Free(slot);
            };
            if self.spine.links.get(line).is_some_and(|link| link.id == Some(id)) {
                return Slot::Line(line);
            }
            slot = (slot + 1) & last;
        }
    }

    fn kind(&self, at: usize) -> Option<Kind> {
        self.spine.links.get(at).map(|link| link.kind)
    }

    /// The line that a line names as its parent; `None` where that is not in the file.
    fn named_parent(&self, at: usize) -> Option<Option<usize>> {
        let Some(parent) = self.spine.links.get(at)?.parent else { return Some(None) };
        // mostly the line before, where nobody has to search
        let before = at
            .checked_sub(1)
            .filter(|before| self.spine.links.get(*before).is_some_and(|link| link.id == Some(parent)));
        before.or_else(|| self.place_of(parent)).map(Some)
    }

    fn place_of(&self, id: Packed) -> Option<usize> {
        match self.slot_of(id) {
            Slot::Line(line) => Some(line),
            Slot::Free(_) => None,
        }
    }

    /// The nearest entry from this line up. The lines that are passed on the way to it, itself included, are told.
    fn entry_from(&self, mut at: usize, mut pass: impl FnMut(usize)) -> Option<Option<usize>> {
        let mut steps = 0;
        pass(at);
        while self.kind(at)? == Kind::Pass {
            match self.named_parent(at)? {
                Some(above) if steps <= self.spine.links.len() => at = above,
                Some(_) => return None, // in circles
                None => return Some(None),
            }
            steps += 1;
            pass(at);
        }
        Some(Some(at))
    }

    fn parent(&self, at: usize) -> Option<Option<usize>> {
        match self.named_parent(at)? {
            Some(above) => self.entry_from(above, |_| ()),
            None => Some(None),
        }
    }

    /// Where the program goes on: at the last marker, unless something was written behind it and what it points to.
    fn head(&self) -> Option<usize> {
        let is_entry = |kind: Kind| matches!(kind, Kind::Entry | Kind::Prompt);
        let tip = self.spine.links.iter().rposition(|link| is_entry(link.kind))?;
        let marker = self.spine.told.iter().rev().find_map(|(at, told)| match told {
            Told::Leaf(leaf) => Some((*at, *leaf)),
            _ => None,
        });
        let Some((at, Some(leaf))) = marker else { return Some(tip) };
        let Some(leaf) = self.place_of(leaf) else { return Some(tip) };
        match self.entry_from(leaf, |_| ())? {
            Some(leaf) if leaf.max(at) >= tip => Some(leaf),
            _ => Some(tip),
        }
    }

    /// From an entry up to a root.
    fn path_to(&self, entry: usize) -> Option<Vec<usize>> {
        let mut path = vec![entry];
        let mut at = entry;
        while let Some(above) = self.parent(at)? {
            path.push(above);
            at = above;
            if path.len() > self.spine.links.len() {
                return None; // in circles
            }
        }
        Some(path)
    }

    /// Whether nothing but prompts hangs below the lines before, and none of those below the lines behind.
    fn is_closed_behind(&self, start: usize) -> Option<()> {
        for (at, link) in self.spine.links.iter().enumerate() {
            if link.kind == Kind::Aside {
                continue;
            }
            let parent = match self.named_parent(at) {
                Some(parent) => parent,
                None if at < start => None, // a piece of another session; the way to the head was walked
                None => return None,
            };
            let holds = match parent {
                Some(parent) if at < start => parent < start,
                Some(parent) => parent >= start || link.kind == Kind::Prompt,
                None => true,
            };
            if !holds {
                return None;
            }
        }
        Some(())
    }

    /// What the shown prompts hang below, and their versions.
    fn around(&self, shown: impl Iterator<Item = usize>, start: usize) -> Option<Vec<usize>> {
        let mut parents = HashSet::new();
        for prompt in shown {
            let parent = self.parent(prompt)??; // other beginnings of the session would be versions of this one
            if parent < start {
                parents.insert(parent);
            }
        }
        let mut lines = Vec::new();
        for (at, link) in self.spine.links.iter().enumerate() {
            if link.kind != Kind::Prompt {
                continue;
            }
            let mut passed = vec![at];
            if let Some(Some(named)) = self.named_parent(at)
                && let Some(Some(parent)) = self.entry_from(named, |line| passed.push(line))
                && parents.contains(&parent)
            {
                lines.extend(passed);
            }
        }
        Some(lines)
    }
}

impl Excerpt {
    /// `pieces` are the lines, each piece with how many lines stand before it in the file.
    pub fn read(&self, spine: &Spine, file_name: &str, pieces: &[(usize, &[u8])]) -> Option<Ending> {
        let mut reading = Reading::keeping(Sources::counted());
        let mut lines_read = spine.lines_read;
        for (before, bytes) in pieces {
            reading.begin_behind(*before);
            for line in lines(*bytes) {
                reading.take(line);
                lines_read += 1;
            }
        }
        let transcript = reading.finish(Some(file_name));
        let is_known = |what: &Odd| matches!(what, Odd::UnknownType(_));
        require(transcript.oddities.iter().all(|oddity| is_known(&oddity.what)))?;
        let (tree, oddities) = SessionTree::replay(transcript.records);
        let is_cut = |what: &Odd| matches!(what, Odd::MissingParent { .. });
        require(oddities.iter().all(|oddity| is_cut(&oddity.what)))?;
        require(tree.main_head().is_some_and(|head| packed(head) == Ok(self.head)))?;
        self.says_all(spine, &tree)?;
        Some(Ending { similar: self.similar(spine, &tree), tree, turn: self.turn, lines_read })
    }

    /// A result whose call is further up would be nameless, and one that answers a call again stands elsewhere.
    fn says_all(&self, spine: &Spine, tree: &SessionTree) -> Option<()> {
        let apart: HashSet<EntryId> = self
            .before
            .iter()
            .filter_map(|at| spine.links.get(*at)?.id)
            .map(|id| EntryId::from(written(id)))
            .collect();
        let mut answered = HashSet::new();
        for entry in tree.entries().filter(|entry| !apart.contains(&entry.id)) {
            if let Body::ToolResult(result) = &entry.body {
                require(!result.tool.is_empty())?;
                answered.insert(hash(result.call.as_str().as_bytes()));
            }
        }
        let mut earlier = spine.calls.iter().take_while(|(at, _)| *at < self.start);
        require(earlier.all(|(_, call)| !answered.contains(call)))?;
        require(tree.is_ancestor(&EntryId::from(written(self.first_shown)), tree.main_head()?))
    }

    fn similar(&self, spine: &Spine, tree: &SessionTree) -> Vec<String> {
        let short = |id: Packed| (id.get() >> SHORT) as u32;
        let read: HashSet<u32> =
            tree.entries().filter_map(|entry| packed(&entry.id).ok()).map(short).collect();
        let left_out = spine.links.get(..self.start).unwrap_or_default().iter().filter_map(|link| {
            link.id.filter(|id| matches!(link.kind, Kind::Entry | Kind::Prompt) && read.contains(&short(*id)))
        });
        left_out.map(written).collect()
    }
}

fn require(holds: bool) -> Option<()> {
    holds.then_some(())
}

/// Ids are random enough to be their own hashes.
fn folded(id: Packed) -> usize {
    let id = id.get();
    ((id >> 64) as u64 ^ id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize >> 16
}
