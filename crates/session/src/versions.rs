//! Versions of a prompt: the prompts at the same place, oldest first.
//!
//! Nothing records that two prompts are versions of each other. To edit is to ask again at the same place, so the
//! place alone decides; two unrelated questions at one place count as versions too. The place of a prompt, its *slot*, is
//! the nearest entry above it that is not a setting: the settings in between belong to the version, so the same question
//! to another model or agent is another version of it.
//!
//! ```text
//! a1 - u2 - a2          u2, u3 and u4 are versions 1, 2 and 3; m1 and m2 change the model
//!      u3 - a3
//!      m1 - m2 - u4
//! ```
//! An entry whose parent is missing stands alone: nothing is known about its place.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::{Body, Entry, EntryId, HeadName, Prompt, SessionTree};

/// Which of several prompts at the same place, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    pub number: usize,
    pub of: usize,
}

/// The place that versions share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Slot {
    /// Below this entry.
    Below(u32),
    /// Where the session begins.
    First,
    /// Below an entry that is missing; this is the topmost that is there.
    Orphan(u32),
}

/// All versions of this prompt, itself among them; empty for anything that is not a prompt. Archived ones are left
/// out, unless one of them is asked for or is on the way to the head.
pub fn versions_of<'t>(tree: &'t SessionTree, id: &EntryId) -> Vec<&'t Arc<Entry>> {
    let Some(at) = tree.index_of(id).filter(|_| is_prompt(tree, id)) else { return Vec::new() };
    let mut versions = prompts_in(tree, slot_of(tree, at));
    versions.retain(|entry| entry.id == *id || is_in_sight(tree, entry));
    versions
}

/// Which version of its prompt this is; `None` for everything that is not one of several.
pub fn version_of(tree: &SessionTree, id: &EntryId) -> Option<Version> {
    let versions = versions_of(tree, id);
    let at = versions.iter().position(|version| version.id == *id)?;
    (versions.len() > 1).then_some(Version { number: at + 1, of: versions.len() })
}

/// The name of all versions of this prompt together: the id of the oldest, archived or not, so that it never changes.
pub fn edit_group(tree: &SessionTree, id: &EntryId) -> Option<EntryId> {
    let at = tree.index_of(id).filter(|_| is_prompt(tree, id))?;
    prompts_in(tree, slot_of(tree, at)).first().map(|first| first.id.clone())
}

/// The version that is shown: the one above the head; where the head is elsewhere, the one last visited, and
/// where nobody has been, the newest.
pub fn active_version<'t>(tree: &'t SessionTree, head: &HeadName, id: &EntryId) -> Option<&'t Arc<Entry>> {
    let versions = versions_of(tree, id);
    let ids: HashSet<&EntryId> = versions.iter().map(|version| &version.id).collect();
    let is_version = |entry: &Arc<Entry>| ids.contains(&entry.id);
    let path = tree.path_to(tree.head(head));
    let shown = path.into_iter().find(|entry| entry.body.is_prompt() && is_version(entry));
    let visited = || last_visited(tree, slot_place(tree, id).as_ref()).filter(|entry| is_version(entry));
    shown.or_else(visited).or_else(|| versions.last().copied())
}

/// The entry below which all versions of this prompt stand, the settings of each excluded; `None` is before the first entry.
pub fn slot_place(tree: &SessionTree, prompt: &EntryId) -> Option<EntryId> {
    match slot_of(tree, tree.index_of(prompt)?) {
        Slot::Below(at) => tree.entry_at(at).map(|entry| entry.id.clone()),
        Slot::First | Slot::Orphan(_) => None,
    }
}

/// The prompt of the turn an entry belongs to: the nearest one at or above it.
pub fn turn_prompt<'t>(tree: &'t SessionTree, entry: &EntryId) -> Option<&'t Arc<Entry>> {
    std::iter::successors(tree.entry(entry), |entry| tree.parent(&entry.id))
        .find(|entry| entry.body.is_prompt())
}

/// The prompt nearest to the head, on the way to it, that was said in more than one way.
pub fn last_with_versions(tree: &SessionTree) -> Option<EntryId> {
    let path = tree.path_to(tree.main_head());
    let prompts = path.iter().rev().filter(|entry| entry.body.is_prompt());
    prompts.map(|entry| &entry.id).find(|id| versions_of(tree, id).len() > 1).cloned()
}

/// The versions of all prompts of a tree, counted once.
#[derive(Debug)]
pub struct AllVersions {
    by_index: HashMap<u32, Version>,
    /// By prompt: the oldest at its place.
    groups: HashMap<u32, u32>,
}

impl AllVersions {
    pub fn of(tree: &SessionTree) -> Self {
        let mut slots: HashMap<Slot, Vec<(u32, &Arc<Entry>)>> = HashMap::new();
        for ((at, entry), slot) in (0_u32..).zip(tree.entries()).zip(slots_of(tree)) {
            if entry.body.is_prompt() {
                slots.entry(slot).or_default().push((at, entry));
            }
        }
        let (mut by_index, mut groups) = (HashMap::new(), HashMap::new());
        for mut prompts in slots.into_values() {
            prompts.sort_by_key(|(at, entry)| (entry.written_at, *at));
            let oldest = prompts.first().map(|(at, _)| *at);
            groups.extend(prompts.iter().filter_map(|(at, _)| Some((*at, oldest?))));
            let in_sight: Vec<bool> = prompts.iter().map(|(_, entry)| is_in_sight(tree, entry)).collect();
            let total = in_sight.iter().filter(|is_in_sight| **is_in_sight).count();
            let mut before = 0;
            for ((at, _), is_in_sight) in prompts.iter().zip(in_sight) {
                // An archived one is counted where it is itself asked about.
                let of = total + usize::from(!is_in_sight);
                if of > 1 {
                    by_index.insert(*at, Version { number: before + 1, of });
                }
                before += usize::from(is_in_sight);
            }
        }
        Self { by_index, groups }
    }

    pub fn get(&self, tree: &SessionTree, id: &EntryId) -> Option<Version> {
        tree.index_of(id).and_then(|at| self.at(at))
    }

    /// As [`edit_group`].
    pub fn edit_group<'t>(&self, tree: &'t SessionTree, id: &EntryId) -> Option<&'t EntryId> {
        let group = self.groups.get(&tree.index_of(id)?)?;
        tree.entry_at(*group).map(|entry| &entry.id)
    }

    pub(crate) fn at(&self, index: u32) -> Option<Version> {
        self.by_index.get(&index).copied()
    }
}

/// Prompts that say what an earlier version at their place says, archived versions aside.
pub fn repeated_prompts(tree: &SessionTree) -> HashSet<&EntryId> {
    let mut slots: HashMap<Slot, Vec<(u32, &Arc<Entry>)>> = HashMap::new();
    for ((at, entry), slot) in (0_u32..).zip(tree.entries()).zip(slots_of(tree)) {
        if entry.body.is_prompt() {
            slots.entry(slot).or_default().push((at, entry));
        }
    }
    let mut repeated = HashSet::new();
    for mut prompts in slots.into_values().filter(|prompts| prompts.len() > 1) {
        prompts.sort_by_key(|(at, entry)| (entry.written_at, *at));
        // Most versions differ in their text, so few are compared as a whole.
        let mut said: HashMap<String, Vec<&Prompt>> = HashMap::new();
        for (_, entry) in prompts {
            let Body::Prompt(prompt) = &entry.body else { continue };
            let same_text = said.entry(entry.body.text()).or_default();
            if same_text.iter().any(|earlier| earlier.says_the_same(prompt)) {
                repeated.insert(&entry.id);
            } else if is_in_sight(tree, entry) {
                same_text.push(prompt);
            }
        }
    }
    repeated
}

/// The slot of every entry, in the order of [`SessionTree::entries`].
fn slots_of(tree: &SessionTree) -> Vec<Slot> {
    let mut slots: Vec<Slot> = Vec::with_capacity(tree.len());
    for at in 0..tree.len() as u32 {
        // Long runs of settings are walked once, as long as parents are older than their children.
        let parent =
            tree.parent_of(at).filter(|parent| tree.entry_at(*parent).is_some_and(|above| is_setting(above)));
        let known = parent.and_then(|parent| slots.get(parent as usize)).copied();
        slots.push(known.unwrap_or_else(|| slot_of(tree, at)));
    }
    slots
}

pub(crate) fn slot_of(tree: &SessionTree, prompt: u32) -> Slot {
    let mut at = prompt;
    loop {
        match tree.parent_of(at).and_then(|parent| Some((parent, tree.entry_at(parent)?))) {
            Some((parent, above)) if is_setting(above) => at = parent,
            Some((parent, _)) => return Slot::Below(parent),
            None if tree.entry_at(at).is_some_and(|entry| entry.parent.is_none()) => return Slot::First,
            None => return Slot::Orphan(at),
        }
    }
}

/// All prompts of a slot, archived ones too, oldest first.
fn prompts_in(tree: &SessionTree, slot: Slot) -> Vec<&Arc<Entry>> {
    let mut open: Vec<&Arc<Entry>> = match slot {
        Slot::Below(at) => tree.entry_at(at).map(|entry| tree.children(Some(&entry.id))).unwrap_or_default(),
        Slot::First => tree.roots().into_iter().filter(|root| root.parent.is_none()).collect(),
        Slot::Orphan(at) => tree.entry_at(at).into_iter().collect(),
    };
    let mut prompts = Vec::new();
    while let Some(entry) = open.pop() {
        if entry.body.is_prompt() {
            prompts.push(entry);
        } else if is_setting(entry) {
            open.extend(tree.children(Some(&entry.id)));
        }
    }
    prompts.sort_by_key(|entry| (entry.written_at, tree.index_of(&entry.id)));
    prompts
}

/// Whether a version is counted among the others: neither it nor its settings are archived, or the head is below it.
pub fn is_in_sight(tree: &SessionTree, prompt: &Entry) -> bool {
    let above = |entry: &&Arc<Entry>| tree.parent(&entry.id).filter(|above| is_setting(above));
    let mut own = std::iter::successors(tree.entry(&prompt.id), above);
    !own.any(|entry| tree.is_archived(&entry.id))
        || tree.main_head().is_some_and(|head| tree.is_ancestor(&prompt.id, head))
}

/// The prompt last visited below a place, settings in between aside.
fn last_visited<'t>(tree: &'t SessionTree, place: Option<&EntryId>) -> Option<&'t Arc<Entry>> {
    let mut at = tree.remembered_child(place)?;
    while is_setting(at) {
        at = tree.remembered_child(Some(&at.id))?;
    }
    Some(at)
}

fn is_prompt(tree: &SessionTree, id: &EntryId) -> bool {
    tree.entry(id).is_some_and(|entry| entry.body.is_prompt())
}

fn is_setting(entry: &Entry) -> bool {
    matches!(entry.body, Body::Setting(_))
}
