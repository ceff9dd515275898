//! One meaning of a point, on trees of any shape: with settings, clears, summaries, labels, branch names, archived branches
//! and versions, and a head that has been anywhere.
//!
//! The tree is written down as records, so it also has shapes that no front end makes. What is expected is said here once
//! more, as simply as possible: what a version is, which entries are part of an answer, which settings hold on a path.

use std::collections::BTreeMap;
use std::sync::Arc;

use offshoot_api::request::{self, ForkTo, Step};
use offshoot_api::response::Changed;
use offshoot_api::views::{BranchView, TreeRow};
use offshoot_api::{ErrorCode, Request, Response};
use offshoot_session::address::{Point, Want, resolve_point, short_id};
use offshoot_session::context::{ContextOptions, Message, context_of};
use offshoot_session::versions::edit_group;
use offshoot_session::{Body, Entry, EntryId, Record, SessionTree, Setting};
use offshoot_testkit::{KINDS, Shape};
use proptest::prelude::*;

use crate::scripted::ScriptedAgent;
use crate::world::{World, send};

fn shapes() -> impl Strategy<Value = Shape> {
    let places = |most| proptest::collection::vec(0..64_usize, 0..most);
    // Mostly a chain, sometimes a branch.
    let distance = prop_oneof![5 => Just(0_usize), 3 => 1..4_usize, 1 => 4..16_usize];
    let entries = proptest::collection::vec((distance, 0..KINDS), 1..18);
    (entries, places(4), places(3), places(3), places(2)).prop_map(
        |(entries, visits, labels, names, archived)| Shape {
            entries,
            visits,
            labels,
            names,
            archived,
            ..Shape::default()
        },
    )
}

fn is_setting(entry: &Entry) -> bool {
    matches!(entry.body, Body::Setting(_))
}

fn answers(entry: &Entry) -> bool {
    matches!(entry.body, Body::Reply(_) | Body::Interrupted(_) | Body::ToolResult(_) | Body::CustomMessage(_))
}

/// Everything below a prompt down to the next prompts, itself left out.
fn turn_of<'t>(tree: &'t SessionTree, prompt: &EntryId) -> Vec<&'t Arc<Entry>> {
    let (mut found, mut open) = (Vec::new(), tree.children(Some(prompt)));
    while let Some(entry) = open.pop() {
        if !entry.body.is_prompt() {
            found.push(entry);
            open.extend(tree.children(Some(&entry.id)));
        }
    }
    found
}

/// The end of a turn is the end of an answer, on the way last visited; the prompt only if it has no answer at all.
fn check_end(tree: &SessionTree, prompt: &EntryId, end: &EntryId) {
    let turn = turn_of(tree, prompt);
    if end == prompt {
        assert!(!turn.iter().any(|entry| answers(entry)), "{prompt} has an answer");
        return;
    }
    let entry =
        turn.iter().find(|entry| entry.id == *end).unwrap_or_else(|| panic!("{end} is not in the turn"));
    assert!(answers(entry), "{end} belongs to what follows");
    let mut next = tree.remembered_child(Some(end)).or_else(|| tree.children(Some(end)).pop());
    while let Some(entry) = next.filter(|entry| !entry.body.is_prompt()) {
        assert!(!answers(entry), "the answer goes on behind {end}");
        next = tree.remembered_child(Some(&entry.id)).or_else(|| tree.children(Some(&entry.id)).pop());
    }
}

/// Model and thinking as the settings on a path say.
fn in_force(tree: &SessionTree, at: &EntryId) -> BTreeMap<&'static str, String> {
    let mut held = BTreeMap::new();
    for entry in tree.path_to(Some(at)) {
        if let Body::Setting(setting) = &entry.body {
            held.extend(named(setting));
        }
    }
    held
}

fn named(setting: &Setting) -> Option<(&'static str, String)> {
    match setting {
        Setting::Model { model, .. } => Some(("model", model.name.clone())),
        Setting::Thinking(level) => Some(("thinking", level.clone().unwrap_or_default())),
        _ => None,
    }
}

/// The prompts with the same nearest ancestor that is not a setting, oldest first.
fn versions(tree: &SessionTree, prompt: &EntryId) -> Vec<EntryId> {
    let place = |prompt: &EntryId| {
        let mut above = tree.parent(prompt);
        while let Some(entry) = above.filter(|entry| is_setting(entry)) {
            above = tree.parent(&entry.id);
        }
        above.map(|entry| entry.id.clone())
    };
    let is_put_away = |prompt: &EntryId| {
        let own = |entry: &&Arc<Entry>| tree.parent(&entry.id).filter(|above| is_setting(above));
        let is_archived =
            std::iter::successors(tree.entry(prompt), own).any(|entry| tree.is_archived(&entry.id));
        is_archived && !tree.main_head().is_some_and(|head| tree.is_ancestor(prompt, head))
    };
    let prompts = tree.entries().filter(|entry| entry.body.is_prompt()).map(|entry| entry.id.clone());
    prompts
        .filter(|other| place(other) == place(prompt))
        .filter(|other| other == prompt || !is_put_away(other))
        .collect()
}

/// Whatever a person may type for a turn.
fn names_of(tree: &SessionTree, prompt: &EntryId) -> Vec<String> {
    let mut names = vec![prompt.to_string(), format!("id:{prompt}"), short_id(tree, prompt)];
    names.extend(tree.label(prompt).map(str::to_owned));
    let path = tree.path_to(tree.main_head());
    let prompts = path.iter().filter(|entry| entry.body.is_prompt());
    names.extend(
        prompts.enumerate().find(|(_, entry)| entry.id == *prompt).map(|(at, _)| format!("#{}", at + 1)),
    );
    names
}

/// A world with this tree. Every request that changes something has one of its own.
async fn world(records: &[Record]) -> World {
    World::of(ScriptedAgent::new(), records).await
}

async fn shown(records: &[Record], point: &str) -> BranchView {
    let show = request::Show { session: "s".into(), at: Some(point.to_owned().into()), turns: None };
    match world(records).await.call(Request::Show(show)).await.unwrap() {
        Response::Branch(branch) => branch,
        other => panic!("{other:?}"),
    }
}

async fn changed(world: &World, request: Request) -> Changed {
    match world.call(request).await.unwrap() {
        Response::Changed(changed) => *changed,
        other => panic!("{other:?}"),
    }
}

/// Where the head is after a request that goes to a point.
async fn head_after(records: &[Record], request: Request) -> Option<EntryId> {
    let world = world(records).await;
    changed(&world, request).await;
    world.tree().main_head().cloned()
}

async fn rows(records: &[Record]) -> Vec<TreeRow> {
    let tree = Request::Tree(request::Session { session: "s".into() });
    match world(records).await.call(tree).await.unwrap() {
        Response::Tree { rows } => rows,
        other => panic!("{other:?}"),
    }
}

fn goes_to(point: &str) -> Vec<(&'static str, Request)> {
    let (session, at) = (String::from("s"), || point.to_owned().into());
    let switch = request::Switch { session: session.clone(), to: Some(at()), ..Default::default() };
    let rewind = request::Rewind { session: session.clone(), to: at(), ..Default::default() };
    let fork = request::Fork { session, at: Some(at()), to: ForkTo::Here, ..Default::default() };
    vec![
        ("switch", Request::Switch(switch)),
        ("rewind", Request::Rewind(rewind)),
        ("fork", Request::Fork(fork)),
    ]
}

/// Every request and command that goes to a turn means the same entry by it, under each of its names.
async fn check_points(records: &[Record]) {
    let (tree, _) = SessionTree::replay(records.to_vec());
    let prompts = tree.entries().filter(|entry| entry.body.is_prompt());
    for prompt in prompts.map(|entry| &entry.id) {
        let end = resolve_point(&tree, &Point::from(prompt.as_str()), Want::End).unwrap();
        check_end(&tree, prompt, &end);
        for name in names_of(&tree, prompt) {
            let point = Point::from(name.as_str());
            assert_eq!(resolve_point(&tree, &point, Want::End).as_ref(), Ok(&end), "{name}");
            assert_eq!(resolve_point(&tree, &point, Want::Turn).as_ref(), Ok(prompt), "{name}");
            assert_eq!(resolve_point(&tree, &point, Want::Selection).as_ref(), Ok(prompt), "{name}");
            assert_eq!(shown(records, &name).await.tip.as_deref(), Some(end.as_str()), "show {name}");
            for (request, call) in goes_to(&name) {
                assert_eq!(head_after(records, call).await.as_ref(), Some(&end), "{request} {name}");
            }
        }
        check_other_requests(records, &tree, prompt, &end).await;
        check_sending(records, prompt, &end).await;
    }
}

/// The place above a prompt, the settings of its version excluded.
fn above_version(tree: &SessionTree, prompt: &EntryId) -> Option<EntryId> {
    let mut above = tree.parent(prompt);
    while let Some(entry) = above.filter(|entry| is_setting(entry)) {
        above = tree.parent(&entry.id);
    }
    above.map(|entry| entry.id.clone())
}

/// Every other request that takes a point means the same turn by it: its end, its prompt, or the place above.
async fn check_other_requests(records: &[Record], tree: &SessionTree, prompt: &EntryId, end: &EntryId) {
    let session = || String::from("s");
    let at = || prompt.to_string().into();
    let text = tree.entry(prompt).map(|entry| entry.body.text());

    let fork = request::Fork { session: session(), at: Some(at()), ..Default::default() };
    let to_new = request::Fork { to: ForkTo::NewSession, ..fork.clone() };
    let forked = changed(&world(records).await, Request::Fork(to_new)).await;
    assert_eq!(forked.new_head.as_deref(), Some(end.as_str()), "fork to a new session");
    let rewind = request::Rewind { session: session(), to: at(), before: true, ..Default::default() };
    let before = [
        ("fork", Request::Fork(request::Fork { before: true, ..fork })),
        ("rewind", Request::Rewind(rewind)),
    ];
    for (request, call) in before {
        let world = world(records).await;
        let moved = changed(&world, call).await;
        assert_eq!(
            world.tree().main_head().cloned(),
            above_version(tree, prompt),
            "{request} before {prompt}"
        );
        assert_eq!(moved.editor_text, text, "{request} before {prompt}");
    }
    let navigate = request::Navigate { session: session(), to: at(), ..Default::default() };
    let picked = head_after(records, Request::Navigate(navigate)).await;
    // To pick the place of the head changes nothing.
    let above = tree.parent(prompt).map(|above| above.id.clone());
    let expected = if tree.main_head() == Some(prompt) { Some(prompt.clone()) } else { above };
    assert_eq!(picked, expected, "navigate to {prompt}");

    let label = request::Label { session: session(), at: at(), label: Some("here".into()), client_id: None };
    let world_of_label = world(records).await;
    changed(&world_of_label, Request::Label(label)).await;
    assert_eq!(world_of_label.tree().label(prompt), Some("here"), "label {prompt}");
    let name =
        request::NameBranch { session: session(), at: at(), name: Some("here".into()), client_id: None };
    let world_of_name = world(records).await;
    changed(&world_of_name, Request::NameBranch(name)).await;
    assert_eq!(world_of_name.tree().branch_name(prompt), Some("here"), "name {prompt}");
    let archive = request::Archive { session: session(), at: at(), archived: true, client_id: None };
    let world_of_archive = world(records).await;
    let is_above_head = tree.main_head().is_some_and(|head| tree.is_ancestor(prompt, head));
    let is_hidden = tree.path_to(Some(prompt)).iter().any(|entry| tree.is_archived(&entry.id));
    match world_of_archive.call(Request::Archive(archive)).await {
        Ok(_) if is_hidden => {}
        Ok(_) => assert!(world_of_archive.tree().is_archived(prompt) && !is_above_head, "archive {prompt}"),
        Err(error) => assert_eq!((error.code, is_above_head), (ErrorCode::HeadBelow, true)),
    }

    let appended = serde_json::json!({ "role": "note", "kind": "k", "parent": prompt.as_str() });
    let append = request::Append { session: session(), entries: vec![appended], ..Default::default() };
    let world_of_append = world(records).await;
    let written = changed(&world_of_append, Request::Append(append)).await.entries;
    let parent = world_of_append.tree().parent(&written[0].as_str().into()).map(|above| above.id.clone());
    // An id is taken as it is: programs append below exactly the entry that they name.
    assert_eq!(parent.as_ref(), Some(prompt), "append below {prompt}");

    let edit = request::Edit {
        session: session(),
        at: at(),
        text: "edited".into(),
        only_write: true,
        ..Default::default()
    };
    let retry = request::Retry { session: session(), at: at(), only_write: true, ..Default::default() };
    for (request, call) in [("edit", Request::Edit(edit)), ("retry", Request::Retry(retry))] {
        let world = world(records).await;
        let written = EntryId::from(changed(&world, call).await.prompt.unwrap());
        let place = above_version(&world.tree(), &written);
        assert_eq!(place, above_version(tree, prompt), "{request} {prompt}");
        assert_eq!(world.tree().main_head(), Some(&written), "{request} {prompt}");
    }
}

/// A message to a turn is said below its answer, with the settings that held there and all that was said until then.
async fn check_sending(records: &[Record], prompt: &EntryId, end: &EntryId) {
    let switch =
        request::Switch { session: "s".into(), to: Some(prompt.to_string().into()), ..Default::default() };
    let there = request::Send { at: Some(prompt.to_string().into()), ..send("and now?") };
    for (calls, what) in [
        (vec![Request::Switch(switch), Request::Send(send("and now?"))], "switch and send"),
        (vec![Request::Send(there)], "send at"),
    ] {
        let mut world = world(records).await;
        let before = world.tree();
        let mut sent = None;
        for call in calls {
            sent = changed(&world, call).await.prompt;
        }
        world.until_ready().await;
        let (tree, sent) = (world.tree(), EntryId::from(sent.unwrap()));
        assert_eq!(tree.parent(&sent).map(|above| &above.id), Some(end), "{what} {prompt}");
        let told = world.agent.settings_of_the_last();
        let told: BTreeMap<&str, String> = told.iter().filter_map(named).collect();
        assert_eq!(told, in_force(&before, end), "{what} {prompt}");
        let said = |tree: &SessionTree, at: &EntryId| -> Vec<Message> {
            context_of(tree, Some(at), &ContextOptions::default()).messages
        };
        let (mut context, now) = (said(&before, end), said(&tree, &sent));
        context.extend(now.last().cloned());
        assert_eq!(now, context, "{what} {prompt}");
    }
}

/// Versions are the same by definition, in the tree, in what is shown, under the arrows and in an export.
async fn check_versions(records: &[Record]) {
    let (tree, _) = SessionTree::replay(records.to_vec());
    let rows = rows(records).await;
    let exported = offshoot_transcripts::pi::write(records).bytes;
    let (read, _) = SessionTree::replay(offshoot_transcripts::pi::read(None, exported.as_slice()).records);
    for prompt in tree.entries().filter(|entry| entry.body.is_prompt()).map(|entry| &entry.id) {
        let expected = versions(&tree, prompt);
        let number = expected.iter().position(|version| version == prompt).unwrap() + 1;
        let expected_of = (expected.len() > 1).then_some((number, expected.len()));
        if let Some(row) = rows.iter().find(|row| row.id == prompt.as_str()) {
            let version = row.version.as_ref().map(|version| (version.index, version.total));
            assert_eq!(version, expected_of, "tree {prompt}");
        }
        let branch = shown(records, prompt.as_str()).await;
        let version = branch.versions.iter().find(|version| version.prompt == prompt.as_str());
        assert_eq!(version.map(|version| (version.number, version.of)), expected_of, "show {prompt}");
        let group = edit_group(&tree, prompt).map(|group| group.to_string());
        if let Some(version) = version {
            assert_eq!(Some(&version.edit_group), group.as_ref(), "show {prompt}");
        }
        let is_whole = !tree.entries().any(|entry| tree.is_archived(&entry.id));
        if is_whole {
            assert_eq!(versions(&read, prompt), expected, "export {prompt}");
        }
        // An arrow that leads where the head is already is refused as one that leads nowhere.
        let is_shown =
            |version: &&EntryId| tree.main_head().is_some_and(|head| tree.is_ancestor(version, head));
        for (step, neighbour) in [(Step::Previous, number.checked_sub(2)), (Step::Next, Some(number))] {
            let version = request::Version {
                session: "s".into(),
                at: Some(prompt.to_string().into()),
                step,
                ..Default::default()
            };
            match neighbour.and_then(|at| expected.get(at)).filter(|neighbour| !is_shown(neighbour)) {
                Some(neighbour) => {
                    let head = head_after(records, Request::Version(version)).await.unwrap();
                    assert!(
                        tree.is_ancestor(neighbour, &head),
                        "{step:?} of {prompt} is {neighbour}, not {head}"
                    );
                }
                None => {
                    let refused = world(records).await.call(Request::Version(version)).await.unwrap_err();
                    assert_eq!(refused.code, ErrorCode::NoSuchVersion, "{step:?} of {prompt}");
                }
            }
        }
    }
}

fn in_runtime(check: impl Future<Output = ()>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(check);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// a turn means the end of its answer for every request, and what is sent there has the settings and the
    /// context of that answer.
    #[test]
    fn a_turn_means_the_same_entry_in_every_request(shape in shapes()) {
        in_runtime(check_points(&shape.records()));
    }

    /// `versions`, arrows, `tree`, `show` and exports count the same versions.
    #[test]
    fn versions_are_counted_alike_everywhere(shape in shapes()) {
        in_runtime(check_versions(&shape.records()));
    }
}
