//! A conversation to talk in and walk about in: the tree, and the replies that are still being written.
//!
//! Every step gives a new [`Conversation`] and leaves the old one as it was. It decides nothing itself: steps are
//! plans, and what is shown is a view.
//!
//! A step at a place that is not shown, such as a new version of a prompt on another branch, happens there and
//! leaves the person where they are.

use offshoot_session::flat::import_flat;
use offshoot_session::live::LiveReplies;
use offshoot_session::plan::{Plan, SendRefused, VersionStep, plan_edit, plan_send, plan_version};
use offshoot_session::versions::{active_version, turn_prompt};
use offshoot_session::{
    Binding, Body, Entry, EntryId, Fact, HeadMove, HeadName, Prompt, Record, Rejected, SessionTree, Stamps,
    TurnId,
};
use thiserror::Error;

use super::{SlotPathSegment, SlotView};

#[derive(Clone, Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) tree: SessionTree,
    pub(crate) live: LiveReplies,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum NotSaid {
    #[error(transparent)]
    Refused(#[from] SendRefused),
    #[error(transparent)]
    Rejected(#[from] Rejected),
}

impl Conversation {
    /// A session made of a plain list; see [`import_flat`].
    pub(crate) fn import(
        messages: impl IntoIterator<Item = Body>,
        stamps: &mut dyn Stamps,
    ) -> Result<Self, Rejected> {
        let tree = SessionTree::default().extended(&import_flat(messages, stamps))?;
        Ok(Self { tree, live: LiveReplies::default() })
    }

    /// What is shown, replies that are being written included.
    pub(crate) fn view(&self) -> SlotView {
        SlotView::of(&self.live.over(&self.tree))
    }

    /// Says something below what is shown. What has been answered there until now is final. Gives the prompt's id,
    /// which is the edit group of its slot.
    pub(crate) fn append_user(
        &self,
        prompt: Prompt,
        binding: Option<Binding>,
        stamps: &mut dyn Stamps,
    ) -> Result<(Self, EntryId), NotSaid> {
        let here = self.settled_at_head()?;
        let mut sent = plan_send(&here.tree, &HeadName::main(), prompt, stamps)?;
        bind(&mut sent.plan, &sent.prompt, binding, stamps);
        Ok((here.after(&sent.plan)?, sent.prompt))
    }

    /// A further response of the timeline at `path`. Where there is none, nothing changes.
    pub(crate) fn append_response(
        &self,
        path: &[SlotPathSegment],
        response: Body,
        stamps: &mut dyn Stamps,
    ) -> Self {
        self.at_turn(path, |live, turn| live.append(turn, response, stamps).is_ok())
    }

    /// The last response of the timeline at `path` in other words. Nothing changes where there is none, or where it
    /// is final.
    pub(crate) fn update_last_response(&self, path: &[SlotPathSegment], response: Body) -> Self {
        self.at_turn(path, |live, turn| live.replace_last(turn, response).is_ok())
    }

    /// A new version in a slot. An unknown group, a blank text and the text that is there already change nothing.
    pub(crate) fn edit(
        &self,
        edit_group: &EntryId,
        text: &str,
        binding: Option<Binding>,
        stamps: &mut dyn Stamps,
    ) -> Self {
        let main = HeadName::main();
        let Some(shown) = active_version(&self.tree, &main, edit_group) else { return self.clone() };
        let Ok(mut sent) = plan_edit(&self.tree, &main, &shown.id, text, stamps) else { return self.clone() };
        bind(&mut sent.plan, &sent.prompt, binding, stamps);
        self.stepped(shown, sent.plan, stamps)
    }

    /// The version before or after the one shown. An unknown group and the ends change nothing.
    pub(crate) fn navigate(&self, edit_group: &EntryId, step: VersionStep, stamps: &mut dyn Stamps) -> Self {
        let main = HeadName::main();
        let Some(shown) = active_version(&self.tree, &main, edit_group) else { return self.clone() };
        match plan_version(&self.tree, &main, &shown.id, step, stamps) {
            Ok(Some(plan)) => self.stepped(shown, plan, stamps),
            Ok(None) | Err(_) => self.clone(),
        }
    }

    /// Takes a plan made in the slot of `shown`, and comes back if that slot was not on the path.
    fn stepped(&self, shown: &Entry, mut plan: Plan, stamps: &mut dyn Stamps) -> Self {
        let here = self.tree.main_head();
        let parent = self.tree.parent(&shown.id).map(|parent| &parent.id);
        let is_shown = here == parent || here.is_some_and(|here| self.tree.is_ancestor(&shown.id, here));
        let Ok(there) = self.after(&plan) else { return self.clone() };
        if is_shown {
            return there;
        }
        let mut from = there.tree.main_head().cloned();
        for to in self.way_back(parent) {
            let moved_at = stamps.now();
            plan.push(Record::head_moved(HeadMove {
                head: HeadName::main(),
                moved_at,
                from,
                to: to.clone(),
            }));
            from = to;
        }
        self.after(&plan).unwrap_or_else(|_| self.clone())
    }

    /// Going somewhere makes every fork above remember that way. This visits what they remembered before, from
    /// below, and ends where the head is.
    fn way_back(&self, from: Option<&EntryId>) -> Vec<Option<EntryId>> {
        let mut stops = Vec::new();
        let mut at = from.and_then(|from| self.tree.entry(from));
        while let Some(child) = at {
            let parent = self.tree.parent(&child.id);
            let siblings = parent.map(|parent| &parent.id);
            let remembered = self
                .tree
                .remembered_child(siblings)
                .or_else(|| self.tree.children(siblings).pop())
                .filter(|remembered| remembered.id != child.id);
            if let Some(leaf) = remembered.and_then(|remembered| self.tree.remembered_leaf(&remembered.id)) {
                stops.push(Some(leaf.id.clone()));
            }
            at = parent;
        }
        let here = self.tree.main_head().cloned();
        if stops.last() != Some(&here) {
            stops.push(here);
        }
        stops
    }

    fn after(&self, plan: &Plan) -> Result<Self, Rejected> {
        Ok(Self { tree: self.tree.extended(&plan.records)?, live: self.live.clone() })
    }

    fn settled_at_head(&self) -> Result<Self, Rejected> {
        let prompt = self.tree.main_head().and_then(|head| turn_prompt(&self.tree, head));
        let Some(turn) = prompt.and_then(|prompt| prompt.turn.clone()) else { return Ok(self.clone()) };
        let mut next = self.clone();
        let records = next.live.settle(&turn);
        next.tree = self.tree.extended(&records)?;
        Ok(next)
    }

    /// Changes what is live in the turn of a timeline; the change says whether it did.
    fn at_turn(
        &self,
        path: &[SlotPathSegment],
        change: impl FnOnce(&mut LiveReplies, &TurnId) -> bool,
    ) -> Self {
        let view = SlotView::of(&self.tree);
        let Some(prompt) = view.resolve(path).map(|timeline| &timeline.prompt) else { return self.clone() };
        let Some(turn) = &prompt.turn else { return self.clone() };
        let mut next = self.clone();
        next.live.begin(turn.clone(), last_of_turn(&self.tree, prompt));
        if change(&mut next.live, turn) { next } else { self.clone() }
    }
}

fn bind(plan: &mut Plan, prompt: &EntryId, binding: Option<Binding>, stamps: &mut dyn Stamps) {
    if let Some(Binding { agent_session, provenance, last_message, agent, missing, inherited, model }) =
        binding
    {
        let at = prompt.clone();
        let fact =
            Fact::Bound { at, agent_session, provenance, last_message, agent, missing, inherited, model };
        plan.push(Record::marked(stamps.now(), fact));
    }
}

/// The entry that a turn wrote last, its prompt at first.
fn last_of_turn(tree: &SessionTree, prompt: &Entry) -> EntryId {
    let mut last = (prompt.written_at, prompt.id.clone());
    let mut open = vec![prompt.id.clone()];
    while let Some(id) = open.pop() {
        for child in tree.children(Some(&id)).into_iter().filter(|child| child.turn == prompt.turn) {
            if child.written_at >= last.0 {
                last = (child.written_at, child.id.clone());
            }
            open.push(child.id.clone());
        }
    }
    last.1
}
