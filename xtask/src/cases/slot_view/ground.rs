//! The entries by number, and what was said along a way through them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offshoot_session::{Body, Entry, EntryId, SessionTree, TurnId};

/// The entries by number, in the order of writing: a parent comes before its children.
#[derive(Clone, Debug, Default)]
pub(super) struct Ground {
    entries: Vec<Arc<Entry>>,
    parents: Vec<Option<usize>>,
    numbers: HashMap<EntryId, usize>,
    /// The nearest prompt at or above.
    prompts: Vec<Option<usize>>,
    /// By prompt: the entries it is the nearest prompt of, itself left out.
    owned: Vec<Vec<usize>>,
    /// By parent: the first prompt that was written below it.
    first_prompts: HashMap<Option<usize>, usize>,
}

/// Oldest first, as [`SessionTree::children`] has them.
pub(super) struct Children {
    roots: Vec<usize>,
    below: Vec<Vec<usize>>,
}

impl Ground {
    pub(super) fn of(tree: &SessionTree) -> Self {
        let mut ground = Self::default();
        for (number, entry) in tree.entries().enumerate() {
            let parent = tree.parent(&entry.id).and_then(|parent| ground.numbers.get(&parent.id)).copied();
            let above = parent.and_then(|parent| ground.prompt_above(parent));
            let is_prompt = entry.body.is_prompt();
            match above {
                _ if is_prompt => {
                    ground.first_prompts.entry(parent).or_insert(number);
                }
                Some(prompt) => {
                    if let Some(owned) = ground.owned.get_mut(prompt) {
                        owned.push(number);
                    }
                }
                None => {}
            }
            ground.owned.push(Vec::new());
            ground.entries.push(entry.clone());
            ground.parents.push(parent);
            ground.numbers.insert(entry.id.clone(), number);
            ground.prompts.push(if is_prompt { Some(number) } else { above });
        }
        ground
    }

    pub(super) fn children(&self) -> Children {
        let mut roots = Vec::new();
        let mut below = vec![Vec::new(); self.entries.len()];
        for (number, parent) in self.parents.iter().enumerate() {
            match parent.and_then(|parent| below.get_mut(parent)) {
                Some(siblings) => siblings.push(number),
                None => roots.push(number),
            }
        }
        let age = |number: &usize| self.entries.get(*number).map(|entry| entry.written_at);
        roots.sort_by_key(age);
        below.iter_mut().for_each(|siblings| siblings.sort_by_key(age));
        Children { roots, below }
    }

    pub(super) fn path_to(&self, at: usize) -> Vec<usize> {
        let mut path: Vec<usize> = std::iter::successors(Some(at), |at| self.parent(*at)).collect();
        path.reverse();
        path
    }

    /// What was said on the way down to a prompt, itself left out.
    pub(super) fn said_before(&self, prompt: &EntryId) -> Vec<&Arc<Entry>> {
        let Some(prompt) = self.number(prompt) else { return Vec::new() };
        let path = self.path_to(prompt);
        let ways: HashMap<usize, usize> = path.windows(2).filter_map(pair).collect();
        let next = |at: usize| ways.get(&at).copied();
        let mut said = Vec::new();
        for at in path.iter().filter(|at| **at != prompt) {
            if self.is_prompt(*at) || self.prompt_above(*at).is_none() {
                said.extend(self.spoken(*at));
            }
            if self.is_prompt(*at) {
                said.extend(self.said_on(*at, &self.way_from(*at, next), next));
            }
        }
        said
    }

    /// From below a prompt down to the next prompt, neither included.
    pub(super) fn way_from(&self, prompt: usize, next: impl Fn(usize) -> Option<usize>) -> Vec<usize> {
        std::iter::successors(next(prompt), |at| next(*at)).take_while(|at| !self.is_prompt(*at)).collect()
    }

    /// What answered a prompt along a way: all that lies on it, and what the prompt's turn wrote beside it.
    ///
    /// ```text
    /// u1/t1 - u2            a1 came when the talk had gone on: it is shown before u2, and before
    ///    u1 - a1/t1         u3, which is only another version of u2
    ///    u1 - u3
    ///
    /// u1/t1 - a1/t1 - a2/t1     on the way over u2, a2 is not shown: it was there, and u2 was put
    ///            a1 - u2        in its place
    /// ```
    pub(super) fn said_on(
        &self,
        prompt: usize,
        way: &[usize],
        next: impl Fn(usize) -> Option<usize>,
    ) -> Vec<&Arc<Entry>> {
        let owned = self.owned.get(prompt).map_or(&[][..], Vec::as_slice);
        if owned.len() == way.len() {
            return owned.iter().filter_map(|at| self.spoken(*at)).collect();
        }
        let turn = self.turn(prompt);
        let on_way: HashSet<usize> = way.iter().copied().collect();
        let mut beside: HashSet<usize> = HashSet::new();
        let mut said = Vec::new();
        for at in owned.iter().copied() {
            if !on_way.contains(&at) {
                let Some(parent) = self.parent(at) else { continue };
                let same_turn = turn.is_some() && self.turn(at) == turn;
                let leaves_way = parent == prompt || on_way.contains(&parent);
                let belongs =
                    || next(parent).is_some_and(|next| self.turn(next) == turn || self.came_after(at, next));
                if !(same_turn && (beside.contains(&parent) || leaves_way && belongs())) {
                    continue;
                }
                beside.insert(at);
            }
            said.extend(self.spoken(at));
        }
        said
    }

    /// Whether an entry was written when the talk went on at `next` already, in whatever version.
    fn came_after(&self, at: usize, next: usize) -> bool {
        let first = if self.is_prompt(next) { self.first_prompts.get(&self.parent(next)) } else { None };
        *first.unwrap_or(&next) < at
    }

    pub(super) fn number(&self, id: &EntryId) -> Option<usize> {
        self.numbers.get(id).copied()
    }

    /// The entry, where it says something.
    pub(super) fn spoken(&self, at: usize) -> Option<&Arc<Entry>> {
        self.entry(at).filter(|entry| speaks(&entry.body))
    }

    pub(super) fn entry(&self, at: usize) -> Option<&Arc<Entry>> {
        self.entries.get(at)
    }

    fn parent(&self, at: usize) -> Option<usize> {
        self.parents.get(at).copied().flatten()
    }

    pub(super) fn prompt_above(&self, at: usize) -> Option<usize> {
        self.prompts.get(at).copied().flatten()
    }

    /// The nearest prompt above a prompt.
    pub(super) fn prompt_before(&self, prompt: usize) -> Option<usize> {
        self.parent(prompt).and_then(|parent| self.prompt_above(parent))
    }

    fn is_prompt(&self, at: usize) -> bool {
        self.entries.get(at).is_some_and(|entry| entry.body.is_prompt())
    }

    fn turn(&self, at: usize) -> Option<&TurnId> {
        self.entries.get(at).and_then(|entry| entry.turn.as_ref())
    }
}

impl Children {
    pub(super) fn below(&self, parent: Option<usize>) -> &[usize] {
        match parent {
            None => &self.roots,
            Some(parent) => self.below.get(parent).map_or(&[], Vec::as_slice),
        }
    }
}

pub(super) fn pair(step: &[usize]) -> Option<(usize, usize)> {
    match step {
        [from, to] => Some((*from, *to)),
        _ => None,
    }
}

/// Whether a person is shown something said, rather than a change in how the agent runs.
fn speaks(body: &Body) -> bool {
    match body {
        Body::Prompt(_)
        | Body::Reply(_)
        | Body::ToolResult(_)
        | Body::Shell(_)
        | Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Merge(_)
        | Body::CustomMessage(_)
        | Body::System(_) => true,
        Body::Setting(_) | Body::Note(_) | Body::Cleared | Body::ContextEdit(_) | Body::Foreign(_) => false,
    }
}
