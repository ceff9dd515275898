//! Back and forward, and the laws that hold whatever a person does.

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use std::collections::BTreeSet;

use offshoot_session::plan::{
    NothingToRedo, NothingToUndo, Plan, SummaryChoice, VersionStep, WrittenSummary, append_at_head,
    plan_archive, plan_branch_name, plan_config_change, plan_edit, plan_label, plan_move_head,
    plan_navigation, plan_new_head, plan_prune, plan_redo, plan_rename, plan_retry, plan_send, plan_switch,
    plan_undo, plan_version,
};
use offshoot_session::versions::versions_of;
use offshoot_session::{
    Block, Body, Change, Entry, EntryId, Fact, HeadName, Model, Prompt, Record, SessionTree, Setting, Stamps,
    TitleSource,
};
use offshoot_testkit::{FixedStamps, draw, tree_of};
use proptest::prelude::*;

fn main_head() -> HeadName {
    HeadName::main()
}

fn words(text: &str) -> Prompt {
    Prompt { blocks: vec![Block::Text(text.to_owned())], ..Prompt::default() }
}

fn send(tree: &SessionTree, text: &str, stamps: &mut FixedStamps) -> SessionTree {
    let sent = plan_send(tree, &main_head(), words(text), stamps).unwrap();
    tree.extended(&sent.plan.records).unwrap()
}

fn undo(tree: &SessionTree, stamps: &mut FixedStamps) -> SessionTree {
    tree.extended(&plan_undo(tree, stamps).unwrap()).unwrap()
}

fn redo(tree: &SessionTree, stamps: &mut FixedStamps) -> SessionTree {
    tree.extended(&plan_redo(tree, stamps).unwrap()).unwrap()
}

#[test]
fn steps_are_undone_from_the_latest_back_and_redone_forward() {
    let mut stamps = FixedStamps::after(100);
    let zero = tree_of("u1 - a1*");
    let one = send(&zero, "one", &mut stamps);
    let two = send(&one, "two", &mut stamps);

    let back = undo(&two, &mut stamps);
    assert_eq!(draw(&back), draw(&one));
    let back = undo(&back, &mut stamps);
    assert_eq!(draw(&back), draw(&zero));
    assert_eq!(plan_undo(&back, &mut stamps), Err(NothingToUndo));

    let forward = redo(&back, &mut stamps);
    assert_eq!(draw(&forward), draw(&one));
    let forward = redo(&forward, &mut stamps);
    assert_eq!(draw(&forward), draw(&two));
    assert_eq!(plan_redo(&forward, &mut stamps), Err(NothingToRedo));
}

#[test]
fn a_new_step_ends_what_could_be_redone() {
    let mut stamps = FixedStamps::after(100);
    let one = send(&tree_of("u1 - a1*"), "one", &mut stamps);
    let back = undo(&one, &mut stamps);
    let other = send(&back, "other", &mut stamps);
    assert_eq!(plan_redo(&other, &mut stamps), Err(NothingToRedo));

    let back = undo(&other, &mut stamps);
    let again = redo(&back, &mut stamps);
    assert_eq!(draw(&again), draw(&other), "only the step after the new one comes back");
    assert_eq!(plan_redo(&again, &mut stamps), Err(NothingToRedo));
}

#[test]
fn undo_is_no_step_itself() {
    let mut stamps = FixedStamps::after(100);
    let one = send(&tree_of("u1 - a1*"), "one", &mut stamps);
    let records = plan_undo(&one, &mut stamps).unwrap();
    assert!(records.iter().all(|record| record.operation.is_none()));
    assert_eq!(one.extended(&records).unwrap().operations().count(), 1);
}

#[test]
fn undo_of_a_send_hides_what_answered_it_and_redo_brings_it_back() {
    let mut stamps = FixedStamps::after(100);
    let before = tree_of("u1 - a1*");
    let sent = plan_send(&before, &main_head(), words("more"), &mut stamps).unwrap();
    let mut tree = before.extended(&sent.plan.records).unwrap();
    tree.apply(&reply(&tree, &sent.prompt, &mut stamps).unwrap()).unwrap();
    let answered = draw(&tree);
    assert_eq!(answered, "u1 - a1 - new3\"more\" - new4\"answer\"*\n");

    let back = undo(&tree, &mut stamps);
    assert_eq!(draw(&back), "u1 - a1*\n");
    assert_eq!(draw(&redo(&back, &mut stamps)), answered);
}

/// What the turn of this prompt says next.
fn reply(tree: &SessionTree, prompt: &EntryId, stamps: &mut dyn Stamps) -> Option<Record> {
    let turn = tree.entry(prompt)?.turn.clone()?;
    let mut tip = prompt.clone();
    while let Some(next) =
        tree.children(Some(&tip)).into_iter().find(|entry| entry.turn.as_ref() == Some(&turn))
    {
        tip = next.id.clone();
    }
    Some(Record::entry(Entry {
        id: stamps.entry_id(),
        parent: Some(tip),
        written_at: stamps.now(),
        turn: Some(turn),
        body: Body::reply("answer"),
    }))
}

/// Everything a person can see of a tree.
#[derive(Debug, PartialEq)]
struct Views {
    drawing: String,
    heads: Vec<(HeadName, Option<EntryId>)>,
    path: Vec<EntryId>,
    labels: Vec<(EntryId, String)>,
    branch_names: Vec<(EntryId, String)>,
    title: (Option<String>, bool),
    archived: Vec<EntryId>,
    versions: Vec<Vec<EntryId>>,
    remembered: Vec<Option<EntryId>>,
}

impl Views {
    fn of(tree: &SessionTree) -> Self {
        let id_of = |entry: &std::sync::Arc<Entry>| entry.id.clone();
        let owned = |pairs: Vec<(&EntryId, &str)>| {
            pairs.into_iter().map(|(id, text)| (id.clone(), text.to_owned())).collect()
        };
        let ids: Vec<EntryId> = tree.walk().into_iter().map(id_of).collect();
        let places = std::iter::once(None).chain(ids.iter().map(Some));
        Self {
            drawing: draw(tree),
            heads: tree.heads().into_iter().map(|(name, at)| (name, at.cloned())).collect(),
            path: tree.path_to(tree.main_head()).into_iter().map(id_of).collect(),
            labels: owned(tree.labels()),
            branch_names: owned(tree.branch_names()),
            title: (tree.title().map(String::from), tree.title_is_by_user()),
            archived: ids.iter().filter(|id| tree.is_archived(id)).cloned().collect(),
            versions: ids.iter().map(|id| versions_of(tree, id).into_iter().map(id_of).collect()).collect(),
            remembered: places.map(|place| tree.remembered_child(place).map(id_of)).collect(),
        }
    }
}

/// What somebody may do next; the numbers choose among what is there.
#[derive(Clone, Copy, Debug)]
enum Act {
    Send,
    Edit,
    Retry,
    Version,
    Switch,
    Navigate,
    Label,
    Rename,
    BranchName,
    Archive,
    Config,
    NewHead,
    MoveHead,
    Append,
    Prune,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Act(Act, usize, usize),
    /// A running turn writes.
    Reply(usize),
    Undo,
    Redo,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let act = prop::sample::select(vec![
        Act::Send,
        Act::Edit,
        Act::Retry,
        Act::Version,
        Act::Switch,
        Act::Navigate,
        Act::Label,
        Act::Rename,
        Act::BranchName,
        Act::Archive,
        Act::Config,
        Act::NewHead,
        Act::MoveHead,
        Act::Append,
        Act::Prune,
    ]);
    let step = prop_oneof![
        8 => (act, 0..100_usize, 0..100_usize).prop_map(|(act, one, other)| Step::Act(act, one, other)),
        3 => (0..100_usize).prop_map(Step::Reply),
        1 => Just(Step::Undo),
        1 => Just(Step::Redo),
    ];
    prop::collection::vec(step, 1..30)
}

/// `None` where the plan is refused or there is nothing to do.
fn plan(tree: &SessionTree, act: Act, one: usize, other: usize, stamps: &mut FixedStamps) -> Option<Plan> {
    let entries: Vec<EntryId> = tree.walk().into_iter().map(|entry| entry.id.clone()).collect();
    let heads: Vec<HeadName> = tree.heads().into_iter().map(|(name, _)| name).collect();
    let head = &heads[other % heads.len()];
    // One number too many stands for the place before the first entry.
    let place = entries.get(one % (entries.len() + 1));
    let at = entries.get(one % entries.len().max(1)).cloned().unwrap_or_else(|| "nobody".into());
    let text = format!("words {}", other % 5);
    let said = Some(text.as_str()).filter(|_| !other.is_multiple_of(5));
    match act {
        Act::Send => plan_send(tree, head, words(&text), stamps).ok().map(|sent| sent.plan),
        Act::Edit => plan_edit(tree, head, &at, &text, stamps).ok().map(|sent| sent.plan),
        Act::Retry => plan_retry(tree, head, &at, stamps).ok().map(|sent| sent.plan),
        Act::Version => {
            let step = [VersionStep::Previous, VersionStep::Next, VersionStep::To(other % 4)][one % 3];
            plan_version(tree, head, &at, step, stamps).ok().flatten()
        }
        Act::Switch => plan_switch(tree, head, place, stamps).unwrap(),
        Act::Navigate => {
            let navigation = plan_navigation(tree, head, &at, SummaryChoice::Summarize, true).ok()?;
            let summary = WrittenSummary { summary: text.clone(), ..WrittenSummary::default() };
            navigation.into_plan(tree, head, Some(summary).filter(|_| other.is_multiple_of(2)), stamps)
        }
        Act::Label => plan_label(tree, &at, said, stamps).ok().flatten(),
        Act::Rename => {
            let source = if one.is_multiple_of(2) { TitleSource::User } else { TitleSource::Auto };
            plan_rename(tree, said, source, stamps)
        }
        Act::BranchName => plan_branch_name(tree, &at, said, stamps).ok().flatten(),
        Act::Archive => plan_archive(tree, &at, !other.is_multiple_of(3), stamps).ok().flatten(),
        Act::Config => {
            let model = Model { provider: "test".into(), name: text.clone() };
            let settings =
                vec![Setting::Model { role: None, model }, Setting::Thinking(said.map(String::from))];
            plan_config_change(tree, head, settings, stamps).unwrap()
        }
        Act::NewHead => plan_new_head(tree, &format!("head {}", other % 3).into(), place, stamps).ok(),
        Act::MoveHead => plan_move_head(tree, head, place, stamps).unwrap(),
        Act::Append => {
            append_at_head(tree, head, Body::reply(text), stamps).ok().map(|appended| appended.plan)
        }
        Act::Prune => plan_prune(tree, stamps),
    }
}

fn is_undo_or_redo(record: &Record) -> bool {
    matches!(&record.change, Change::Marked(mark) if matches!(mark.fact, Fact::Undone { .. } | Fact::Redone { .. }))
}

/// Takes the steps one after the other, and holds the laws up to each.
fn grow(steps: &[Step]) -> Result<SessionTree, TestCaseError> {
    let mut stamps = FixedStamps::after(100);
    let mut tree = tree_of("u1/t1 - a1/t1 - u2/t2 - a2/t2*\n a1 - u3/t3 - c3/t3\n u4");
    for step in steps {
        tree = match *step {
            Step::Act(act, one, other) => {
                let stamps_before = format!("{stamps:?}");
                match plan(&tree, act, one, other, &mut stamps) {
                    Some(plan) => take(&tree, &plan, &mut stamps)?,
                    None => {
                        prop_assert_eq!(stamps_before, format!("{stamps:?}"), "no plan leaves no trace");
                        continue;
                    }
                }
            }
            Step::Reply(one) => {
                let prompts: Vec<EntryId> =
                    tree.walk().into_iter().filter(|e| e.turn.is_some()).map(|e| e.id.clone()).collect();
                let Some(record) = reply(&tree, &prompts[one % prompts.len()], &mut stamps) else { continue };
                tree.extended([&record]).unwrap()
            }
            Step::Undo => match plan_undo(&tree, &mut stamps) {
                Ok(records) => tree.extended(&records).unwrap(),
                Err(NothingToUndo) => continue,
            },
            Step::Redo => match plan_redo(&tree, &mut stamps) {
                Ok(records) => tree.extended(&records).unwrap(),
                Err(NothingToRedo) => continue,
            },
        };
    }
    Ok(tree)
}

/// The tree after a plan that went back and forth.
fn take(before: &SessionTree, plan: &Plan, stamps: &mut FixedStamps) -> Result<SessionTree, TestCaseError> {
    let after = before.extended(&plan.records).unwrap();
    for entry in before.walk() {
        let way = |tree: &SessionTree| -> Vec<EntryId> {
            tree.path_to(Some(&entry.id)).into_iter().map(|above| above.id.clone()).collect()
        };
        prop_assert_eq!(way(before), way(&after), "an ancestor stays an ancestor");
    }
    let undone = undo(&after, stamps);
    prop_assert_eq!(Views::of(&undone), Views::of(before), "undo of {:?}", plan);
    let redone = redo(&undone, stamps);
    prop_assert_eq!(Views::of(&redone), Views::of(&after), "redo of {:?}", plan);
    Ok(redone)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn undo_gives_back_every_view_and_redo_the_next(steps in steps()) {
        grow(&steps)?;
    }

    /// a session is a log that only grows, and the tree follows from it.
    #[test]
    fn loading_gives_the_tree_that_was_written(steps in steps(), cut in 0..200_usize) {
        let tree = grow(&steps)?;
        let log: Vec<Record> = tree.log().cloned().collect();
        let (loaded, oddities) = SessionTree::replay(log.clone());
        prop_assert!(oddities.is_empty(), "{:?}", oddities);
        prop_assert_eq!(Views::of(&loaded), Views::of(&tree));

        let start = &log[..cut.min(log.len())];
        let written = SessionTree::default().extended(start).unwrap();
        let (loaded, _) = SessionTree::replay(start.to_vec());
        prop_assert_eq!(Views::of(&loaded), Views::of(&written), "cut after {} records", start.len());
    }

    #[test]
    fn loading_survives_records_in_any_order(steps in steps(), order in prop::collection::vec(any::<u16>(), 300)) {
        let tree = grow(&steps)?;
        let mut log: Vec<(u16, Record)> = order.into_iter().cycle().zip(tree.log().cloned()).collect();
        // Back and forth of the same step mean nothing but their order: they keep it, behind all others.
        log.sort_by_key(|(place, record)| if is_undo_or_redo(record) { u32::MAX } else { u32::from(*place) });
        let (loaded, _) = SessionTree::replay(log.into_iter().map(|(_, record)| record));
        prop_assert_eq!(loaded.walk().len(), loaded.len(), "every entry has its place");
        let ids = |tree: &SessionTree| -> BTreeSet<EntryId> { tree.entries().map(|e| e.id.clone()).collect() };
        prop_assert_eq!(ids(&loaded), ids(&tree));
    }
}
