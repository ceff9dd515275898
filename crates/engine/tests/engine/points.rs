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
use offshoot_session::{
    Body, BranchSummary, Compaction, Entry, EntryId, Fact, FileLists, HeadMove, HeadName, Interruption,
    Model, Record, SessionHeader, SessionTree, Setting,
};
use offshoot_testkit::FixedStamps;
use proptest::prelude::*;

use crate::scripted::ScriptedAgent;
use crate::world::{World, send};

/// A tree as numbers, so that proptest can make it smaller.
#[derive(Clone, Debug)]
struct Shape {
    /// The parent as a distance to earlier entries, and the kind.
    entries: Vec<(usize, u8)>,
    /// Where the head has been, in this order.
    visits: Vec<usize>,
    labels: Vec<usize>,
    names: Vec<usize>,
    archived: Vec<usize>,
}

fn shapes() -> impl Strategy<Value = Shape> {
    let places = |most| proptest::collection::vec(0..64_usize, 0..most);
    // Mostly a chain, sometimes a branch.
    let distance = prop_oneof![5 => Just(0_usize), 3 => 1..4_usize, 1 => 4..16_usize];
    let entries = proptest::collection::vec((distance, 0..18_u8), 1..18);
    (entries, places(4), places(3), places(3), places(2)).prop_map(
        |(entries, visits, labels, names, archived)| Shape { entries, visits, labels, names, archived },
    )
}

impl Shape {
    fn records(&self) -> Vec<Record> {
        let now = FixedStamps::start();
        let at = |second: usize| now + jiff::SignedDuration::from_secs(second as i64);
        let mut header = SessionHeader::new("s".into(), now);
        header.agent = Some("scripted".to_owned());
        let mut records = vec![Record::opened(header)];
        for (number, (distance, kind)) in self.entries.iter().enumerate() {
            let parent = (number > *distance).then(|| id(number - distance - 1));
            let body = body(*kind, number);
            records.push(Record::entry(Entry {
                id: id(number),
                parent,
                written_at: at(number),
                turn: None,
                body,
            }));
        }
        let count = self.entries.len();
        for (number, target) in self.labels.iter().enumerate() {
            let (target, label) = (id(target % count), Some(format!("label {number}")));
            records.push(Record::marked(at(count), Fact::Label { target, label }));
        }
        for (number, target) in self.names.iter().enumerate() {
            let (at_entry, name) = (id(target % count), Some(format!("name {number}")));
            records.push(Record::marked(at(count), Fact::BranchName { at: at_entry, name }));
        }
        for target in &self.archived {
            let target = id(target % count);
            records.push(Record::marked(at(count), Fact::Archived { target, archived: true }));
        }
        let mut from = None;
        for visit in self.visits.iter().chain([&(count - 1)]) {
            let to = Some(id(visit % count));
            let (head, moved_at) = (HeadName::main(), at(count));
            records.push(Record::head_moved(HeadMove { head, moved_at, from, to: to.clone() }));
            from = to;
        }
        records
    }
}

fn id(number: usize) -> EntryId {
    format!("e{number:02}entry").into()
}

fn body(kind: u8, number: usize) -> Body {
    let text = format!("text {number}");
    match kind {
        0..=4 => Body::prompt(text),
        5..=9 => Body::reply(text),
        10 | 11 => Body::Setting(Setting::Model { role: None, model: model(number) }),
        12 | 13 => Body::Setting(Setting::Thinking(Some(format!("level {number}")))),
        14 => Body::Cleared,
        15 => Body::BranchSummary(BranchSummary {
            summary: text,
            from: None,
            left: None,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
        }),
        16 => Body::Compaction(Compaction {
            summary: text,
            first_kept: None,
            tokens_before: 1,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: None,
        }),
        _ => Body::Interrupted(Interruption::Wanted),
    }
}

fn model(number: usize) -> Model {
    Model { provider: "p".to_owned(), name: format!("m{number}") }
}

fn is_setting(entry: &Entry) -> bool {
    matches!(entry.body, Body::Setting(_))
}

fn answers(entry: &Entry) -> bool {
    matches!(entry.body, Body::Reply(_) | Body::Interrupted(_))
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
    let rewind = request::Rewind {
        session: session.clone(),
        to: at(),
        before: false,
        scope: request::RewindScope::Conversation,
        dry_run: false,
        if_running: request::IfRunning::default(),
        client_id: None,
    };
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
        check_sending(records, prompt, &end).await;
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
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

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
