//! From the tree to the view: one pass for the places, one for the words.

use std::collections::{HashMap, HashSet};

use super::ground::{Children, Ground, pair};
use super::{Slot, SlotView, Timeline};
use crate::{AgentSessionId, EntryId, SessionTree};

pub(super) fn view(tree: &SessionTree, position: Option<&EntryId>) -> SlotView {
    let ground = Ground::of(tree);
    let path = position.and_then(|id| ground.number(id)).map_or_else(Vec::new, |at| ground.path_to(at));
    let mut builder = Builder {
        tree,
        on_path: path.iter().copied().collect(),
        children: ground.children(),
        path,
        view: SlotView {
            ground,
            slots: Vec::new(),
            timelines: Vec::new(),
            by_group: HashMap::new(),
            top: Vec::new(),
            active: Vec::new(),
            lead: Vec::new(),
        },
        timeline_of: HashMap::new(),
    };
    builder.place_slots();
    builder.number_slots();
    builder.fill_timelines();
    builder.follow_path();
    builder.view
}

struct Builder<'t> {
    tree: &'t SessionTree,
    path: Vec<usize>,
    on_path: HashSet<usize>,
    children: Children,
    view: SlotView,
    /// By the number of the prompt.
    timeline_of: HashMap<usize, usize>,
}

impl Builder<'_> {
    fn place_slots(&mut self) {
        self.place_slot(None);
        for parent in 0..self.view.ground.len() {
            self.place_slot(Some(parent));
        }
    }

    /// The slot below one parent, if prompts hang there. What hangs below an archived version has no place either.
    fn place_slot(&mut self, parent: Option<usize>) {
        let prompts: Vec<usize> = self.prompts_below(parent);
        let Some(first) = prompts.first().and_then(|first| self.view.ground.entry(*first)) else {
            return;
        };
        let edit_group = first.id.clone();
        let above = match parent.and_then(|parent| self.view.ground.prompt_above(parent)) {
            None => None,
            Some(prompt) => match self.timeline_of.get(&prompt) {
                None => return,
                Some(timeline) => Some(*timeline),
            },
        };
        let versions: Vec<usize> = prompts.into_iter().filter(|prompt| self.is_listed(*prompt)).collect();
        let Some(active) = self.active_version(parent, &versions) else { return };

        let slot = self.view.slots.len();
        let mut timelines = Vec::with_capacity(versions.len());
        for (version, prompt) in versions.into_iter().enumerate() {
            let Some(entry) = self.view.ground.entry(prompt) else { continue };
            self.timeline_of.insert(prompt, self.view.timelines.len());
            timelines.push(self.view.timelines.len());
            self.view.timelines.push(Timeline {
                prompt: entry.clone(),
                responses: Vec::new(),
                session: None,
                children: Vec::new(),
                slot,
                version,
            });
        }
        self.view.by_group.insert(edit_group.clone(), slot);
        match above.and_then(|above| self.view.timelines.get_mut(above)) {
            Some(timeline) => timeline.children.push(slot),
            None => self.view.top.push(slot),
        }
        self.view.slots.push(Slot { edit_group, active, timelines, position: 0 });
    }

    /// The version on the path; else the one last visited; else the newest. `None` only where there is no version.
    fn active_version(&self, parent: Option<usize>, versions: &[usize]) -> Option<usize> {
        let newest = versions.len().checked_sub(1)?;
        let remembered = self.remembered(parent);
        let on_path = versions.iter().position(|version| self.on_path.contains(version));
        let visited = || versions.iter().position(|version| Some(*version) == remembered);
        Some(on_path.or_else(visited).unwrap_or(newest))
    }

    /// Slots hang in the order of their first versions.
    fn number_slots(&mut self) {
        let view = &mut self.view;
        let age = |slot: &usize| {
            let first = view.slots.get(*slot).map(|slot| &slot.edit_group);
            let number = first.and_then(|first| view.ground.number(first));
            number.map(|number| (view.ground.entry(number).map(|entry| entry.written_at), number))
        };
        view.top.sort_by_key(age);
        for timeline in &mut view.timelines {
            timeline.children.sort_by_key(age);
        }
        let lists = view.timelines.iter().map(|timeline| &timeline.children).chain([&view.top]);
        for (position, slot) in lists.flat_map(|list| list.iter().enumerate()) {
            if let Some(slot) = view.slots.get_mut(*slot) {
                slot.position = position;
            }
        }
    }

    fn fill_timelines(&mut self) {
        let ways: HashMap<usize, usize> = self.path.windows(2).filter_map(pair).collect();
        let last = self.path.last().copied();
        let timelines: Vec<(usize, usize)> =
            self.timeline_of.iter().map(|(prompt, timeline)| (*prompt, *timeline)).collect();
        for (prompt, timeline) in timelines {
            let next = |at: usize| match ways.get(&at) {
                Some(next) => Some(*next),
                None if Some(at) == last => None,
                None => self.remembered(Some(at)).or_else(|| self.children.below(Some(at)).last().copied()),
            };
            let way = self.view.ground.way_from(prompt, next);
            let responses = self.view.ground.said_on(prompt, &way, next);
            let session = way.iter().rev().chain([&prompt]).find_map(|at| self.session_at(*at));
            if let Some(timeline) = self.view.timelines.get_mut(timeline) {
                timeline.responses = responses.into_iter().cloned().collect();
                timeline.session = session;
            }
        }
    }

    fn follow_path(&mut self) {
        let ground = &self.view.ground;
        self.view.lead = self
            .path
            .iter()
            .filter(|at| ground.prompt_above(**at).is_none())
            .filter_map(|at| ground.spoken(*at))
            .cloned()
            .collect();
        self.view.active = self.path.iter().filter_map(|at| self.timeline_of.get(at)).copied().collect();
    }

    fn prompts_below(&self, parent: Option<usize>) -> Vec<usize> {
        let children = self.children.below(parent).iter().copied();
        children.filter(|child| self.view.ground.is_prompt(*child)).collect()
    }

    /// An archived version is not listed, unless the head stands on it.
    fn is_listed(&self, prompt: usize) -> bool {
        let id = self.view.ground.entry(prompt).map(|entry| &entry.id);
        self.on_path.contains(&prompt) || !id.is_some_and(|id| self.tree.is_archived(id))
    }

    fn remembered(&self, parent: Option<usize>) -> Option<usize> {
        let parent = match parent {
            None => None,
            Some(parent) => Some(&self.view.ground.entry(parent)?.id),
        };
        let child = self.tree.remembered_child(parent)?;
        self.view.ground.number(&child.id)
    }

    fn session_at(&self, at: usize) -> Option<AgentSessionId> {
        let entry = self.view.ground.entry(at)?;
        self.tree.binding(&entry.id)?.agent_session.clone()
    }
}
