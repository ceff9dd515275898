//! From the tree to the view: one pass for the places, one for the words.

use std::collections::HashMap;

use offshoot_session::versions::{AllVersions, active_version, is_in_sight};
use offshoot_session::{AgentSessionId, EntryId, HeadName, SessionTree};

use super::ground::{Children, Ground, pair};
use super::{Slot, SlotView, Timeline};

pub(super) fn view(tree: &SessionTree) -> SlotView {
    let ground = Ground::of(tree);
    let path =
        tree.main_head().and_then(|id| ground.number(id)).map_or_else(Vec::new, |at| ground.path_to(at));
    let mut builder = Builder {
        tree,
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
    children: Children,
    view: SlotView,
    /// By the number of the prompt.
    timeline_of: HashMap<usize, usize>,
}

impl Builder<'_> {
    /// Versions and their order are those of [`versions`](offshoot_session::versions). A prompt is written after the slot
    /// it is in began, so slots are placed from above.
    fn place_slots(&mut self) {
        let versions = AllVersions::of(self.tree);
        let mut slots: Vec<(EntryId, Vec<usize>)> = Vec::new();
        let mut slot_of: HashMap<EntryId, usize> = HashMap::new();
        for (number, entry) in self.tree.entries().enumerate() {
            let Some(edit_group) = versions.edit_group(self.tree, &entry.id) else { continue };
            let slot = *slot_of.entry(edit_group.clone()).or_insert(slots.len());
            match slots.get_mut(slot) {
                Some((_, prompts)) => prompts.push(number),
                None => slots.push((edit_group.clone(), vec![number])),
            }
        }
        for (edit_group, prompts) in slots {
            self.place_slot(edit_group, prompts);
        }
    }

    /// What hangs below an archived version has no place either.
    fn place_slot(&mut self, edit_group: EntryId, mut prompts: Vec<usize>) {
        let ground = &self.view.ground;
        prompts.sort_by_key(|prompt| (ground.entry(*prompt).map(|entry| entry.written_at), *prompt));
        let above = match prompts.first().and_then(|first| ground.prompt_before(*first)) {
            None => None,
            Some(prompt) => match self.timeline_of.get(&prompt) {
                None => return,
                Some(timeline) => Some(*timeline),
            },
        };
        let entries = prompts.iter().filter_map(|prompt| Some((*prompt, ground.entry(*prompt)?.clone())));
        let listed: Vec<_> = entries.filter(|(_, entry)| is_in_sight(self.tree, entry)).collect();
        let Some(newest) = listed.len().checked_sub(1) else { return };
        // Most slots have one version; asking for theirs would walk the path of the head each time.
        let shown = || active_version(self.tree, &HeadName::main(), &edit_group).map(|shown| &shown.id);
        let is_shown = |shown: &EntryId| listed.iter().position(|(_, entry)| entry.id == *shown);
        let active = if newest == 0 { 0 } else { shown().and_then(is_shown).unwrap_or(newest) };

        let slot = self.view.slots.len();
        let mut timelines = Vec::with_capacity(listed.len());
        for (version, (prompt, entry)) in listed.into_iter().enumerate() {
            self.timeline_of.insert(prompt, self.view.timelines.len());
            timelines.push(self.view.timelines.len());
            self.view.timelines.push(Timeline {
                prompt: entry,
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
