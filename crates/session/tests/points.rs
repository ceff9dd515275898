//! One meaning of a point and of a version, on trees of any shape.
//!
//! What is expected is said here once more, as simply as possible. Commands and requests add nothing to it: they ask
//! [`resolve_point`] and the functions that are compared here (`crates/engine/tests/engine/points.rs` checks the requests).

#![expect(clippy::unwrap_used, reason = "what a helper cannot unwrap fails the test")]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use offshoot_session::address::{AddressError, Place, Point, Want, resolve_point, short_id};
use offshoot_session::outline::{Outline, OutlineOptions, TurnOutline, TurnTreeRow, turns_of};
use offshoot_session::skeleton::{Fields, Log, Skeleton, Told};
use offshoot_session::versions::{
    AllVersions, active_version, edit_group, slot_place, version_of, versions_of,
};
use offshoot_session::{Body, Entry, EntryId, HeadName, Record, SessionTree};
use offshoot_testkit::{KINDS, Shape};
use proptest::prelude::*;

const WANTS: [Want; 4] = [Want::End, Want::Turn, Want::Branch, Want::Selection];

fn shapes() -> impl Strategy<Value = Shape> {
    let places = |most| proptest::collection::vec(0..64_usize, 0..most);
    // Mostly a chain, sometimes a branch.
    let distance = prop_oneof![5 => Just(0_usize), 3 => 1..4_usize, 1 => 4..16_usize];
    let entries = proptest::collection::vec((distance, 0..KINDS), 1..24);
    (entries, places(5), places(4), places(4), places(3), places(2)).prop_map(
        |(entries, visits, labels, names, archived, orphans)| Shape {
            entries,
            visits,
            labels,
            names,
            archived,
            orphans,
        },
    )
}

fn tree_of(records: &[Record]) -> SessionTree {
    SessionTree::replay(records.to_vec()).0
}

fn resolved(tree: &SessionTree, text: &str, want: Want) -> Result<EntryId, AddressError> {
    resolve_point(tree, &Point::from(text), want)
}

fn is_setting(entry: &Entry) -> bool {
    matches!(entry.body, Body::Setting(_))
}

fn answers(entry: &Entry) -> bool {
    matches!(entry.body, Body::Reply(_) | Body::Interrupted(_) | Body::ToolResult(_) | Body::CustomMessage(_))
}

fn prompts(tree: &SessionTree) -> Vec<&Arc<Entry>> {
    tree.entries().filter(|entry| entry.body.is_prompt()).collect()
}

/// The entries below a prompt on the way last visited, up to the next prompt.
fn visited_turn<'t>(tree: &'t SessionTree, prompt: &EntryId) -> Vec<&'t Arc<Entry>> {
    let below = |at: &EntryId| tree.remembered_child(Some(at)).or_else(|| tree.children(Some(at)).pop());
    std::iter::successors(below(prompt), |entry| below(&entry.id))
        .take_while(|entry| !entry.body.is_prompt())
        .collect()
}

/// All entries below a prompt, down to the next prompts.
fn whole_turn<'t>(tree: &'t SessionTree, prompt: &EntryId) -> Vec<&'t Arc<Entry>> {
    let (mut found, mut open) = (Vec::new(), tree.children(Some(prompt)));
    while let Some(entry) = open.pop() {
        if !entry.body.is_prompt() {
            found.push(entry);
            open.extend(tree.children(Some(&entry.id)));
        }
    }
    found
}

/// The last entry of the answer on the way last visited. Without an answer there, any other answer; without any, the prompt.
fn check_end(tree: &SessionTree, prompt: &EntryId, end: &EntryId) {
    let visited: Vec<_> = visited_turn(tree, prompt).into_iter().filter(|entry| answers(entry)).collect();
    let all: Vec<_> = whole_turn(tree, prompt).into_iter().filter(|entry| answers(entry)).collect();
    match visited.last() {
        Some(last) => assert_eq!(last.id, *end, "the answer to {prompt}"),
        None if all.is_empty() => assert_eq!(prompt, end, "{prompt} has no answer"),
        None => assert!(all.iter().any(|entry| entry.id == *end), "{end} is not of the answer to {prompt}"),
    }
}

fn number(tree: &SessionTree, prompt: &EntryId) -> usize {
    tree.path_to(Some(prompt)).iter().filter(|entry| entry.body.is_prompt()).count()
}

/// Everything that addresses a turn.
fn names_of(tree: &SessionTree, prompt: &EntryId) -> Vec<String> {
    let mut names = vec![
        prompt.to_string(),
        prompt.to_string().to_uppercase(),
        format!("id:{prompt}"),
        short_id(tree, prompt),
    ];
    names.extend(tree.label(prompt).map(str::to_owned));
    let is_active = tree.main_head().is_some_and(|head| tree.is_ancestor(prompt, head));
    let same_number = |other: &&Arc<Entry>| number(tree, &other.id) == number(tree, prompt);
    let is_reachable = !tree.path_to(Some(prompt)).iter().any(|entry| tree.is_archived(&entry.id));
    let is_only = is_reachable && prompts(tree).iter().filter(|other| same_number(other)).count() == 1;
    if is_active || is_only {
        names.extend([format!("#{}", number(tree, prompt)), number(tree, prompt).to_string()]);
    }
    names
}

/// Every name of a turn means the same, whatever a request wants of it.
fn check_turns(tree: &SessionTree) {
    for prompt in prompts(tree).into_iter().map(|entry| &entry.id) {
        let end = resolved(tree, prompt.as_str(), Want::End).unwrap();
        check_end(tree, prompt, &end);
        for name in names_of(tree, prompt) {
            for (want, expected) in WANTS.into_iter().zip([&end, prompt, prompt, prompt]) {
                assert_eq!(resolved(tree, &name, want).as_ref(), Ok(expected), "{name} {want:?}");
            }
        }
        assert_eq!(resolve_point(tree, &Point::Exact(prompt.to_string()), Want::End).as_ref(), Ok(prompt));
        assert_eq!(resolve_point(tree, &Point::Entry(prompt.clone()), Want::End).as_ref(), Ok(prompt));
    }
}

/// Every other entry is meant exactly; where a turn is wanted, by the prompt above it.
fn check_entries(tree: &SessionTree) {
    let others = tree.entries().filter(|entry| !entry.body.is_prompt());
    let path = tree.path_to(tree.main_head());
    for entry in others {
        let id = &entry.id;
        let above = tree.path_to(Some(id)).into_iter().rev().find(|above| above.body.is_prompt());
        let turn = above.map_or(id, |prompt| &prompt.id);
        let mut names = vec![id.to_string(), format!("id:{id}"), short_id(tree, id)];
        names.extend(tree.label(id).map(str::to_owned));
        names.extend((path.last().map(|last| &last.id) == Some(id)).then(|| "head".to_owned()));
        for name in names {
            for (want, expected) in WANTS.into_iter().zip([id, turn, id, id]) {
                assert_eq!(resolved(tree, &name, want).as_ref(), Ok(expected), "{name} {want:?}");
            }
        }
    }
    let is_message =
        |entry: &&Arc<Entry>| matches!(entry.body, Body::Prompt(_) | Body::Reply(_) | Body::ToolResult(_));
    let messages: Vec<&EntryId> = path.iter().copied().filter(is_message).map(|entry| &entry.id).collect();
    for (index, message) in messages.iter().enumerate() {
        for want in [Want::End, Want::Selection] {
            assert_eq!(resolved(tree, &format!("m:{index}"), want).as_ref(), Ok(*message), "m:{index}");
        }
    }
    assert!(resolved(tree, &format!("m:{}", messages.len()), Want::End).is_err());
}

/// A branch name means the last turn of the branch, on the way last visited; the branch itself begins where the name is.
fn check_branches(tree: &SessionTree) {
    for (first, name) in tree.branch_names() {
        let leaf = tree.remembered_leaf(first).map_or(first, |leaf| &leaf.id);
        let last = tree.path_to(Some(leaf)).into_iter().rev().find(|entry| entry.body.is_prompt());
        assert_eq!(resolved(tree, name, Want::Branch).as_ref(), Ok(first), "{name}");
        assert_eq!(
            resolve_point(tree, &Point::Exact(name.to_owned()), Want::End).as_ref(),
            Ok(leaf),
            "{name}"
        );
        let Some(last) = last else { continue };
        let end = resolved(tree, last.id.as_str(), Want::End);
        assert_eq!(resolved(tree, name, Want::End), end, "{name}");
        for want in [Want::Turn, Want::Selection] {
            assert_eq!(resolved(tree, name, want).as_ref(), Ok(&last.id), "{name} {want:?}");
        }
    }
}

/// What lists print is what can be typed: numbers and ids of `tree` and of the turns of a path.
fn check_lists(tree: &SessionTree) {
    for turn in turns_of(tree, tree.main_head()) {
        if let Some(prompt) = turn.prompt() {
            assert_eq!(resolved(tree, &turn.number.to_string(), Want::Turn).as_ref(), Ok(&prompt.id));
            assert_eq!(Place::of(tree, &prompt.id).number, turn.number);
        }
    }
    let all = AllVersions::of(tree);
    for row in TurnOutline::of(tree).rows {
        let TurnTreeRow::Turn(row) = row else { continue };
        let typed = short_id(tree, &row.entry);
        assert_eq!(resolved(tree, &typed, Want::Selection).as_ref(), Ok(&row.entry));
        if let Some(numbered) = row.number {
            assert_eq!(numbered, number(tree, &row.entry));
            assert_eq!(row.version, all.get(tree, &row.entry), "{}", row.entry);
            if row.on_active_path {
                assert_eq!(resolved(tree, &numbered.to_string(), Want::Turn).as_ref(), Ok(&row.entry));
            }
        }
    }
}

/// The prompts with the same nearest ancestor that is not a setting, oldest first. One that hangs below a missing entry has
/// a place of its own.
fn same_place(tree: &SessionTree, prompt: &EntryId) -> Vec<EntryId> {
    #[derive(PartialEq)]
    enum SlotPlace {
        Below(EntryId),
        First,
        Orphan(EntryId),
    }
    let place = |prompt: &EntryId| {
        let mut at = tree.entry(prompt).unwrap();
        loop {
            match tree.parent(&at.id) {
                Some(above) if is_setting(above) => at = above,
                Some(above) => return SlotPlace::Below(above.id.clone()),
                None if at.parent.is_some() => return SlotPlace::Orphan(at.id.clone()),
                None => return SlotPlace::First,
            }
        }
    };
    let here = place(prompt);
    prompts(tree).into_iter().map(|entry| entry.id.clone()).filter(|other| place(other) == here).collect()
}

/// Archived ones are counted only if they are asked about or lead to the head.
fn expected_versions(tree: &SessionTree, prompt: &EntryId) -> Vec<EntryId> {
    let own = |entry: &&Arc<Entry>| tree.parent(&entry.id).filter(|above| is_setting(above));
    let is_archived = |prompt: &EntryId| {
        std::iter::successors(tree.entry(prompt), own).any(|entry| tree.is_archived(&entry.id))
    };
    let leads_to_head =
        |prompt: &EntryId| tree.main_head().is_some_and(|head| tree.is_ancestor(prompt, head));
    let mut versions = same_place(tree, prompt);
    versions.retain(|other| other == prompt || !is_archived(other) || leads_to_head(other));
    versions
}

fn check_versions(tree: &SessionTree) {
    let all = AllVersions::of(tree);
    let outline = Outline::of(tree, &OutlineOptions::default());
    let rows: HashMap<&EntryId, _> = outline.rows.iter().map(|row| (&row.entry, row.version)).collect();
    for prompt in prompts(tree).into_iter().map(|entry| &entry.id) {
        let expected = expected_versions(tree, prompt);
        let found: Vec<EntryId> =
            versions_of(tree, prompt).into_iter().map(|version| version.id.clone()).collect();
        assert_eq!(found, expected, "versions of {prompt}");
        let index = expected.iter().position(|version| version == prompt).unwrap() + 1;
        let version = version_of(tree, prompt).map(|version| (version.number, version.of));
        assert_eq!(version, (expected.len() > 1).then_some((index, expected.len())), "{prompt}");
        assert_eq!(all.get(tree, prompt), version_of(tree, prompt), "{prompt} among all");
        if let Some(row) = rows.get(prompt) {
            assert_eq!(*row, version_of(tree, prompt), "{prompt} in the outline");
        }
        let group = same_place(tree, prompt).first().cloned();
        assert_eq!(edit_group(tree, prompt), group);
        assert_eq!(all.edit_group(tree, prompt).cloned(), group);
        let active = active_version(tree, &HeadName::main(), prompt).unwrap();
        assert!(expected.contains(&active.id), "{} is shown for {prompt}", active.id);
        let on_path = expected
            .iter()
            .find(|version| tree.main_head().is_some_and(|head| tree.is_ancestor(version, head)));
        if let Some(on_path) = on_path {
            assert_eq!(active.id, *on_path, "the version on the way to the head is shown");
        }
        let place = slot_place(tree, prompt);
        let beneath = |version: &EntryId| {
            let above = tree.path_to(Some(version));
            let settings = above.iter().rev().skip(1).take_while(|entry| is_setting(entry)).count();
            above.get(..above.len() - settings - 1).and_then(<[_]>::last).map(|entry| entry.id.clone())
        };
        assert!(expected.iter().all(|version| beneath(version) == place), "the place of {prompt}");
    }
}

/// The shape of a long session, as it is read without its bodies. `None`: such a file is read whole.
fn skeleton_of(records: &[Record]) -> Option<Skeleton> {
    let (mut log, mut told) = (Log::default(), Told::default());
    for record in records {
        match record.as_entry() {
            Some(entry) => log.push_entry(&Fields::of(entry, None), 0, 0).unwrap(),
            None => told.records.push((log.envelopes().len() as u32, record.clone())),
        }
    }
    Skeleton::fold(log, told).ok()
}

/// A long session is read in parts. Points and versions are the same in them.
fn check_long(tree: &SessionTree, records: &[Record]) {
    let Some(skeleton) = skeleton_of(records) else { return };
    let nodes = || 0..skeleton.len() as u32;
    let hollow = SessionTree::thin(&skeleton, nodes(), &HashMap::new());
    let mut names: Vec<String> = tree.entries().map(|entry| entry.id.to_string()).collect();
    names.extend((1..=tree.len()).map(|number| number.to_string()));
    names.extend(tree.labels().into_iter().chain(tree.branch_names()).map(|(_, name)| name.to_owned()));
    names.push("head".to_owned());
    for name in names {
        for want in WANTS {
            assert_eq!(resolved(&hollow, &name, want), resolved(tree, &name, want), "{name} {want:?}");
        }
    }
    for prompt in prompts(tree).into_iter().map(|entry| &entry.id) {
        let around = skeleton.slot_around(skeleton.node(prompt).unwrap()).into_iter();
        let part: HashSet<u32> = around.chain(skeleton.main_head()).collect();
        let part = SessionTree::thin(&skeleton, nodes().filter(|node| part.contains(node)), &HashMap::new());
        assert_eq!(version_of(&part, prompt), version_of(tree, prompt), "{prompt} in a part");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// a point means the same entry under each of its names, for whatever is done with it.
    #[test]
    fn a_point_means_one_entry_under_all_its_names(shape in shapes()) {
        let tree = tree_of(&shape.records());
        check_turns(&tree);
        check_entries(&tree);
        check_branches(&tree);
        check_lists(&tree);
    }

    /// versions are counted by place, alike by every function that counts them.
    #[test]
    fn versions_are_the_prompts_of_one_place(shape in shapes()) {
        check_versions(&tree_of(&shape.records()));
    }

    /// a long session, of which only a part is read, has the same points and versions.
    #[test]
    fn a_part_of_a_long_session_has_the_same_points_and_versions(shape in shapes()) {
        let records = shape.records();
        check_long(&tree_of(&records), &records);
    }
}
