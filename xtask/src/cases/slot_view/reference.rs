//! The computed view against a plain nested model, under random steps: slots that hold timelines that hold slots,
//! with an index of what is shown in each. They must always tell the same story.

use std::sync::Arc;

use offshoot_session::plan::VersionStep;
use offshoot_session::versions::{edit_group, versions_of};
use offshoot_session::{
    Binding, Block, Body, Entry, EntryId, HeadMove, HeadName, Missing, Prompt, Provenance, Record,
    SessionTree, Setting,
};
use offshoot_testkit::FixedStamps;
use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::{Conversation, Slot, SlotPath, SlotPathSegment, SlotView, Timeline};

#[derive(Clone, Debug, Default, PartialEq)]
struct Model {
    slots: Vec<ModelSlot>,
}

#[derive(Clone, Debug, PartialEq)]
struct ModelSlot {
    group: EntryId,
    timelines: Vec<ModelTimeline>,
    active: usize,
}

#[derive(Clone, Debug, PartialEq)]
struct ModelTimeline {
    user: String,
    responses: Vec<String>,
    /// The number of responses that can no longer be replaced.
    settled: usize,
    children: Vec<ModelSlot>,
    session: Option<String>,
}

impl ModelSlot {
    fn shown(&self) -> &ModelTimeline {
        &self.timelines[self.active]
    }
}

impl ModelTimeline {
    fn new(user: &str, session: Option<&str>) -> Self {
        Self {
            user: user.to_owned(),
            responses: Vec::new(),
            settled: 0,
            children: Vec::new(),
            session: session.map(str::to_owned),
        }
    }
}

impl Model {
    fn active_messages(&self) -> Vec<String> {
        fn walk(slots: &[ModelSlot], out: &mut Vec<String>) {
            for slot in slots {
                out.push(slot.shown().user.clone());
                out.extend(slot.shown().responses.clone());
                walk(&slot.shown().children, out);
            }
        }
        let mut out = Vec::new();
        walk(&self.slots, &mut out);
        out
    }

    fn leaf_path(&self) -> SlotPath {
        let mut path = Vec::new();
        let mut slots = &self.slots;
        while let Some(slot) = slots.last() {
            path.push(SlotPathSegment { slot: slots.len() - 1, timeline: slot.active });
            slots = &slot.shown().children;
        }
        path
    }

    fn leaf_session(&self) -> Option<String> {
        fn walk(slots: &[ModelSlot]) -> Option<String> {
            let shown = slots.last()?.shown();
            walk(&shown.children).or_else(|| shown.session.clone())
        }
        walk(&self.slots)
    }

    fn timeline_mut(&mut self, path: &[SlotPathSegment]) -> Option<&mut ModelTimeline> {
        let (last, above) = path.split_last()?;
        let mut slots = &mut self.slots;
        for step in above {
            slots = &mut slots.get_mut(step.slot)?.timelines.get_mut(step.timeline)?.children;
        }
        slots.get_mut(last.slot)?.timelines.get_mut(last.timeline)
    }

    fn slot_mut(&mut self, group: &EntryId) -> Option<&mut ModelSlot> {
        fn find<'m>(slots: &'m mut [ModelSlot], group: &EntryId) -> Option<&'m mut ModelSlot> {
            for slot in slots {
                if slot.group == *group {
                    return Some(slot);
                }
                for timeline in &mut slot.timelines {
                    if let Some(found) = find(&mut timeline.children, group) {
                        return Some(found);
                    }
                }
            }
            None
        }
        find(&mut self.slots, group)
    }

    /// The messages strictly before a slot on the way that leads to it.
    fn before(&self, group: &EntryId) -> Option<Vec<String>> {
        fn walk(slots: &[ModelSlot], group: &EntryId, out: &mut Vec<String>) -> bool {
            for slot in slots {
                if slot.group == *group {
                    return true;
                }
                for timeline in &slot.timelines {
                    let mark = out.len();
                    out.push(timeline.user.clone());
                    out.extend(timeline.responses.clone());
                    if walk(&timeline.children, group, out) {
                        return true;
                    }
                    out.truncate(mark);
                }
            }
            false
        }
        let mut out = Vec::new();
        walk(&self.slots, group, &mut out).then_some(out)
    }

    /// Current index and number of versions of the slots shown.
    fn all_edit_info(&self) -> Vec<(EntryId, usize, usize)> {
        fn walk(slots: &[ModelSlot], out: &mut Vec<(EntryId, usize, usize)>) {
            for slot in slots {
                out.push((slot.group.clone(), slot.active, slot.timelines.len()));
                walk(&slot.shown().children, out);
            }
        }
        let mut out = Vec::new();
        walk(&self.slots, &mut out);
        out
    }

    fn append_user(&mut self, group: EntryId, user: &str, session: Option<&str>) {
        let slot = ModelSlot { group, timelines: vec![ModelTimeline::new(user, session)], active: 0 };
        let leaf = self.leaf_path();
        match self.timeline_mut(&leaf) {
            None => self.slots.push(slot),
            Some(timeline) => {
                timeline.settled = timeline.responses.len();
                timeline.children.push(slot);
            }
        }
    }

    fn append_response(&mut self, path: &[SlotPathSegment], text: &str) {
        if let Some(timeline) = self.timeline_mut(path) {
            timeline.responses.push(text.to_owned());
        }
    }

    fn update_last_response(&mut self, path: &[SlotPathSegment], text: &str) {
        if let Some(timeline) = self.timeline_mut(path)
            && timeline.responses.len() > timeline.settled
            && let Some(last) = timeline.responses.last_mut()
        {
            *last = text.to_owned();
        }
    }

    fn edit(&mut self, group: &EntryId, user: &str, session: Option<&str>) {
        if let Some(slot) = self.slot_mut(group)
            && slot.shown().user != user
        {
            slot.active = slot.timelines.len();
            slot.timelines.push(ModelTimeline::new(user, session));
        }
    }

    fn navigate(&mut self, group: &EntryId, direction: isize) {
        if let Some(slot) = self.slot_mut(group) {
            slot.active = slot.active.saturating_add_signed(direction).min(slot.timelines.len() - 1);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    AppendUser { session: bool },
    AppendResponse(Where),
    UpdateLastResponse(Where),
    Edit { group: usize, session: bool, same_text: bool },
    Navigate { group: usize, direction: isize },
    Finish { group: usize },
    Reload,
}

#[derive(Clone, Debug)]
enum Where {
    Leaf,
    /// Some timeline on the way to the leaf, so that answers come late.
    Above(usize),
    /// Any address, mostly a wrong one.
    Any(Vec<(usize, usize)>),
}

fn wheres() -> impl Strategy<Value = Where> {
    prop_oneof![
        3 => Just(Where::Leaf),
        2 => any::<usize>().prop_map(Where::Above),
        2 => vec((0usize..2, 0usize..3), 0..4).prop_map(Where::Any),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => any::<bool>().prop_map(|session| Step::AppendUser { session }),
        3 => wheres().prop_map(Step::AppendResponse),
        1 => wheres().prop_map(Step::UpdateLastResponse),
        3 => (any::<usize>(), any::<bool>(), proptest::bool::weighted(0.1))
            .prop_map(|(group, session, same_text)| Step::Edit { group, session, same_text }),
        4 => (any::<usize>(), prop_oneof![Just(-1), Just(1)])
            .prop_map(|(group, direction)| Step::Navigate { group, direction }),
        1 => any::<usize>().prop_map(|group| Step::Finish { group }),
        1 => Just(Step::Reload),
    ];
    vec(step, 0..40)
}

/// Both, side by side.
struct Both {
    model: Model,
    real: Conversation,
    groups: Vec<EntryId>,
    stamps: FixedStamps,
    said: usize,
}

impl Both {
    fn new() -> Self {
        let stamps = FixedStamps::default();
        Self { model: Model::default(), real: Conversation::default(), groups: Vec::new(), stamps, said: 0 }
    }

    fn words(&mut self, kind: &str) -> String {
        self.said += 1;
        format!("{kind}{}", self.said)
    }

    /// One group in eight is one that nobody knows.
    fn group(&self, pick: usize) -> EntryId {
        match self.groups.len() {
            known if known > 0 && !pick.is_multiple_of(8) => self.groups[pick / 8 % known].clone(),
            _ => "nobody".into(),
        }
    }

    fn path(&self, place: &Where) -> SlotPath {
        let leaf = self.model.leaf_path();
        match place {
            Where::Leaf => leaf,
            Where::Above(pick) => leaf[..pick % (leaf.len() + 1)].to_vec(),
            Where::Any(steps) => steps
                .iter()
                .map(|(slot, timeline)| SlotPathSegment { slot: *slot, timeline: *timeline })
                .collect(),
        }
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::AppendUser { session } => {
                let words = self.words("u");
                let session = session.then(|| format!("session of {words}"));
                let prompt = Prompt { blocks: vec![Block::Text(words.clone())], ..Prompt::default() };
                let (next, group) =
                    self.real.append_user(prompt, binding(session.as_deref()), &mut self.stamps).unwrap();
                self.real = next;
                self.model.append_user(group.clone(), &words, session.as_deref());
                self.groups.push(group);
            }
            Step::AppendResponse(place) => {
                let (path, words) = (self.path(place), self.words("a"));
                self.real = self.real.append_response(&path, Body::reply(&*words), &mut self.stamps);
                self.model.append_response(&path, &words);
            }
            Step::UpdateLastResponse(place) => {
                let (path, words) = (self.path(place), self.words("a"));
                self.real = self.real.update_last_response(&path, Body::reply(&*words));
                self.model.update_last_response(&path, &words);
            }
            Step::Edit { group, session, same_text } => {
                let group = self.group(*group);
                let new = self.words("u");
                let old = self.model.slot_mut(&group).map(|slot| slot.shown().user.clone());
                let words = old.filter(|_| *same_text).unwrap_or(new);
                let session = session.then(|| format!("session of {words}"));
                self.real = self.real.edit(&group, &words, binding(session.as_deref()), &mut self.stamps);
                self.model.edit(&group, &words, session.as_deref());
            }
            Step::Navigate { group, direction } => {
                let group = self.group(*group);
                let step = if *direction < 0 { VersionStep::Previous } else { VersionStep::Next };
                self.real = self.real.navigate(&group, step, &mut self.stamps);
                self.model.navigate(&group, *direction);
            }
            Step::Finish { group } => {
                let group = self.group(*group);
                let Some(turn) = self.real.tree.entry(&group).and_then(|entry| entry.turn.clone()) else {
                    return;
                };
                let settled = self.real.live.finish(&turn);
                self.real.tree = self.real.tree.extended(&settled).unwrap();
                let first = &mut self.model.slot_mut(&group).unwrap().timelines[0];
                first.settled = first.responses.len();
            }
            Step::Reload => {
                let (tree, _) = SessionTree::replay(self.real.tree.log().cloned());
                self.real.tree = tree;
            }
        }
    }

    #[track_caller]
    fn agree(&self) {
        let view = self.real.view();
        assert_eq!(texts(view.active_messages()), self.model.active_messages());
        assert_eq!(view.active_leaf_path(), self.model.leaf_path());
        assert_eq!(view.active_leaf_session().map(ToString::to_string), self.model.leaf_session());
        let infos: Vec<_> = view
            .all_edit_info()
            .into_iter()
            .map(|info| (info.edit_group, info.current_index, info.total_versions))
            .collect();
        assert_eq!(infos, self.model.all_edit_info());
        assert_eq!(nested(&view), without_settled(&self.model));
        for group in &self.groups {
            assert_eq!(view.messages_before(group).ok().map(texts), self.model.before(group));
        }
        for segment in 0..=view.active_leaf_path().len() {
            let path = &self.model.leaf_path()[..segment];
            let expected = self.model.clone().timeline_mut(path).map(|timeline| timeline.user.clone());
            assert_eq!(view.resolve(path).map(|timeline| timeline.prompt.body.text()), expected);
        }
        for (timeline, segment) in view.active_timelines().zip(view.active_leaf_path()) {
            let listed = versions_of(&self.real.tree, &timeline.prompt.id);
            assert_eq!(listed[segment.timeline].id, timeline.prompt.id);
        }
    }
}

fn binding(session: Option<&str>) -> Option<Binding> {
    session.map(|session| Binding {
        agent_session: Some(session.into()),
        provenance: Provenance::Continued,
        last_message: None,
        agent: None,
        missing: Missing::default(),
        inherited: false,
        model: None,
    })
}

fn texts<'e>(entries: impl IntoIterator<Item = &'e Arc<Entry>>) -> Vec<String> {
    entries.into_iter().map(|entry| entry.body.text()).collect()
}

fn nested(view: &SlotView) -> Model {
    fn slot(view: &SlotView, from: &Slot) -> ModelSlot {
        let timelines = view.timelines(from).map(|from| timeline(view, from)).collect();
        ModelSlot { group: from.edit_group.clone(), timelines, active: from.active }
    }
    fn timeline(view: &SlotView, from: &Timeline) -> ModelTimeline {
        ModelTimeline {
            user: from.prompt.body.text(),
            responses: texts(&from.responses),
            settled: 0,
            children: view.child_slots(from).map(|from| slot(view, from)).collect(),
            session: from.session.as_ref().map(ToString::to_string),
        }
    }
    Model { slots: view.top_slots().map(|from| slot(view, from)).collect() }
}

/// The view does not know what is final.
fn without_settled(model: &Model) -> Model {
    fn clear(slots: &mut [ModelSlot]) {
        for timeline in slots.iter_mut().flat_map(|slot| &mut slot.timelines) {
            timeline.settled = 0;
            clear(&mut timeline.children);
        }
    }
    let mut model = model.clone();
    clear(&mut model.slots);
    model
}

proptest! {
    /// every operation of the nested view is tested.
    #[test]
    fn the_view_agrees_with_a_nested_model(steps in steps()) {
        let mut both = Both::new();
        for step in &steps {
            let (before, view) = (both.real.clone(), nested(&both.real.view()));
            both.take(step);
            both.agree();
            assert_eq!(nested(&before.view()), view, "a snapshot changed under its reader");
        }
    }

    /// Whatever program wrote the session: what is shown is the path of the head, and each prompt is in one slot.
    #[test]
    fn the_view_agrees_with_the_tree(
        nodes in vec((any::<usize>(), any::<u8>(), any::<u8>()), 0..40),
        heads in vec(any::<usize>(), 0..4),
    ) {
        let tree = random_tree(&nodes, &heads);
        let view = SlotView::of(&tree);
        let is_said = |entry: &&Arc<Entry>| !matches!(entry.body, Body::Note(_) | Body::Setting(_));
        let on_path: Vec<&EntryId> =
            tree.path_to(tree.main_head()).into_iter().filter(is_said).map(|entry| &entry.id).collect();
        let shown: Vec<&EntryId> = view
            .active_messages()
            .into_iter()
            .map(|entry| &entry.id)
            .filter(|id| tree.main_head().is_some_and(|head| tree.is_ancestor(id, head)))
            .collect();
        assert_eq!(shown, on_path, "the path is shown whole and in order");

        let mut open: Vec<&Slot> = view.top_slots().collect();
        let mut prompts = 0;
        while let Some(slot) = open.pop() {
            let versions: Vec<&Timeline> = view.timelines(slot).collect();
            assert_eq!(slot.edit_group, versions[0].prompt.id);
            assert!(slot.active < versions.len());
            for (index, timeline) in versions.iter().enumerate() {
                prompts += 1;
                let listed = versions_of(&tree, &timeline.prompt.id);
                assert_eq!((&listed[index].id, listed.len()), (&timeline.prompt.id, versions.len()));
                assert_eq!(edit_group(&tree, &timeline.prompt.id).as_ref(), Some(&slot.edit_group));
                open.extend(view.child_slots(timeline));
            }
        }
        assert_eq!(prompts, tree.entries().filter(|entry| entry.body.is_prompt()).count());
    }
}

/// Entries of four kinds below any earlier one, some with a turn of an earlier entry, written in any order of time.
fn random_tree(nodes: &[(usize, u8, u8)], heads: &[usize]) -> SessionTree {
    let mut records: Vec<Record> = Vec::new();
    let mut entries: Vec<Entry> = Vec::new();
    for (number, (parent, kind, turn)) in nodes.iter().enumerate() {
        let parent = entries.get(parent % (entries.len() + 1));
        let body = match kind % 5 {
            0 | 1 => Body::prompt(format!("u{number}")),
            2 => Body::reply(format!("a{number}")),
            3 => Body::Setting(Setting::Thinking(Some("high".into()))),
            _ => Body::Note(offshoot_session::Note { kind: "test".into(), data: None }),
        };
        let own = if body.is_prompt() { Some(format!("t{number}").into()) } else { None };
        let inherited = parent.and_then(|parent| parent.turn.clone());
        let entry = Entry {
            id: format!("e{number}").into(),
            parent: parent.map(|parent| parent.id.clone()),
            written_at: FixedStamps::start() + jiff::SignedDuration::from_secs(i64::from(turn / 16)),
            turn: if turn % 3 == 0 { None } else { own.or(inherited) },
            body,
        };
        records.push(Record::entry(entry.clone()));
        entries.push(entry);
    }
    for head in heads {
        if let Some(to) = entries.get(head % (entries.len() + 1)) {
            records.push(Record::head_moved(HeadMove {
                head: HeadName::main(),
                moved_at: FixedStamps::start(),
                from: None,
                to: Some(to.id.clone()),
            }));
        }
    }
    SessionTree::replay(records).0
}

fn chain(length: usize, stamps: &mut FixedStamps) -> Conversation {
    let messages = (0..length).map(|number| {
        let words = number.to_string();
        if number % 2 == 0 { Body::prompt(words) } else { Body::reply(words) }
    });
    Conversation::import(messages, stamps).unwrap()
}

#[test]
fn a_chain_of_50_000_is_no_deeper_than_any_other() {
    let mut stamps = FixedStamps::default();
    let talk = chain(50_000, &mut stamps);
    let view = talk.view();
    assert_eq!(view.active_messages().len(), 50_000);
    assert_eq!(view.active_leaf_path().len(), 25_000);
    let last = view.all_edit_info().pop().unwrap().edit_group;
    assert_eq!(view.messages_before(&last).unwrap().len(), 49_998);
    assert_eq!(view.resolve(&view.active_leaf_path()).unwrap().prompt.id, last);

    let edited = talk.edit(&last, "again", None, &mut stamps);
    assert_eq!(edited.view().active_messages().len(), 49_999);
}

#[test]
fn a_slot_of_5_000_versions_is_walked_at_once() {
    let mut stamps = FixedStamps::default();
    let prompt = Prompt { blocks: vec![Block::Text("0".into())], ..Prompt::default() };
    let (mut talk, group) = Conversation::default().append_user(prompt, None, &mut stamps).unwrap();
    let mut records = Vec::new();
    for version in 1..5_000 {
        records.push(Record::entry(Entry {
            id: format!("v{version}").into(),
            parent: None,
            written_at: FixedStamps::start() + jiff::SignedDuration::from_secs(10 + version),
            turn: None,
            body: Body::prompt(version.to_string()),
        }));
    }
    talk.tree = talk.tree.extended(&records).unwrap();
    let info = talk.view().edit_info(&group).unwrap();
    assert_eq!((info.current_index, info.total_versions), (0, 5_000));
    let last = talk.navigate(&group, VersionStep::To(4_999), &mut stamps);
    assert_eq!(texts(last.view().active_messages()), ["4999"]);
    let before = last.navigate(&group, VersionStep::Previous, &mut stamps);
    assert_eq!(texts(before.view().active_messages()), ["4998"]);
}
