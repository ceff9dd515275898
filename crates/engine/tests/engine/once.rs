//! A request that arrives twice under one client id changes the session once, also where the second one reaches the next
//! engine.

use offshoot_api::request::{self, ForkTo, Step};
use offshoot_api::response::Changed;
use offshoot_api::{ErrorCode, Request, Response};
use serde_json::json;

use crate::scripted::ScriptedAgent;
use crate::world::World;

fn s() -> String {
    "s".to_owned()
}

fn id(name: &str) -> Option<String> {
    Some(format!("client-{name}"))
}

/// Every change of a tree that needs no agent, each with an id of its own, so that one can follow the other.
fn changes() -> Vec<(&'static str, Request)> {
    let entries =
        vec![json!({ "role": "user", "text": "noted" }), json!({ "role": "assistant", "text": "yes" })];
    let model = offshoot_api::views::ModelView { provider: "p".to_owned(), name: "m".to_owned() };
    vec![
        (
            "label",
            Request::Label(request::Label {
                session: s(),
                at: "u1".into(),
                label: Some("here".into()),
                client_id: id("label"),
            }),
        ),
        (
            "rename",
            Request::Rename(request::Rename {
                session: s(),
                title: Some("A title".into()),
                client_id: id("rename"),
            }),
        ),
        (
            "name branch",
            Request::NameBranch(request::NameBranch {
                session: s(),
                at: "u3".into(),
                name: Some("other".into()),
                client_id: id("name"),
            }),
        ),
        (
            "archive",
            Request::Archive(request::Archive {
                session: s(),
                at: "other".into(),
                archived: true,
                client_id: id("archive"),
            }),
        ),
        (
            "append",
            Request::Append(request::Append {
                session: s(),
                entries: entries.clone(),
                client_id: id("append"),
                ..Default::default()
            }),
        ),
        (
            "append",
            Request::Append(request::Append {
                session: s(),
                entries,
                each: true,
                client_id: id("each"),
                ..Default::default()
            }),
        ),
        (
            "edit",
            Request::Edit(request::Edit {
                session: s(),
                at: "u2".into(),
                text: "otherwise".into(),
                only_write: true,
                client_id: id("edit"),
                ..Default::default()
            }),
        ),
        (
            "retry",
            Request::Retry(request::Retry {
                session: s(),
                at: "u2".into(),
                only_write: true,
                client_id: id("retry"),
                ..Default::default()
            }),
        ),
        (
            "switch version",
            Request::Version(request::Version {
                session: s(),
                at: None,
                step: Step::Previous,
                client_id: id("version"),
                ..Default::default()
            }),
        ),
        (
            "switch",
            Request::Switch(request::Switch {
                session: s(),
                to: Some("a1".into()),
                client_id: id("switch"),
                ..Default::default()
            }),
        ),
        (
            "navigate",
            Request::Navigate(request::Navigate {
                session: s(),
                to: "a2".into(),
                client_id: id("navigate"),
                ..Default::default()
            }),
        ),
        (
            "rewind",
            Request::Rewind(request::Rewind {
                session: s(),
                to: "u2".into(),
                before: true,
                client_id: id("rewind"),
                ..Default::default()
            }),
        ),
        (
            "fork",
            Request::Fork(request::Fork {
                session: s(),
                at: Some("a2".into()),
                client_id: id("fork"),
                ..Default::default()
            }),
        ),
        (
            "fork to a new session",
            Request::Fork(request::Fork {
                session: s(),
                at: None,
                to: ForkTo::NewSession,
                client_id: id("child"),
                ..Default::default()
            }),
        ),
        (
            "change settings",
            Request::Configure(request::Configure {
                session: s(),
                model: Some(model),
                client_id: id("configure"),
                ..Default::default()
            }),
        ),
        (
            "clear",
            Request::Clear(request::Clear { session: s(), client_id: id("clear"), ..Default::default() }),
        ),
        (
            "clear",
            Request::Undo(request::History { session: s(), client_id: id("undo"), ..Default::default() }),
        ),
        (
            "clear",
            Request::Redo(request::History { session: s(), client_id: id("redo"), ..Default::default() }),
        ),
    ]
}

/// Steps of one request are numbered behind a dot.
fn first_of(step: &str) -> String {
    step.split('.').next().unwrap_or_default().to_owned()
}

async fn drawn() -> World {
    World::drawn(ScriptedAgent::new(), "u1 - a1 - u2 - a2*\na1 - u3 - a3").await
}

async fn changed(world: &World, request: &Request) -> Changed {
    match world.call(request.clone()).await.unwrap() {
        Response::Changed(changed) => *changed,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_request_changes_the_session_once() {
    let mut world = drawn().await;
    for (kind, request) in changes() {
        let before = world.tree().log().count();
        let first = changed(&world, &request).await;
        let after = world.tree().log().count();
        assert!(first.changed && !first.repeated && after > before, "{kind}: {first:?}");
        assert_eq!(first.operation.as_ref().map(|step| step.kind.as_str()), Some(kind), "{first:?}");
        let again = changed(&world, &request).await;
        world.crash().await;
        let next_engine = changed(&world, &request).await;
        assert_eq!(world.tree().log().count(), after, "{kind} was done twice");
        let step = first.operation.as_ref().map(|step| first_of(&step.id));
        for repeated in [again, next_engine] {
            assert!(repeated.changed && repeated.repeated, "{kind}: {repeated:?}");
            assert_eq!(repeated.operation.map(|step| first_of(&step.id)), step, "{kind}");
            assert_eq!(repeated.entries, first.entries, "{kind}");
            assert_eq!(
                repeated.new_session.map(|child| child.id),
                first.new_session.as_ref().map(|child| child.id.clone())
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_that_was_used_for_another_request_is_refused() {
    let world = drawn().await;
    let rename = |client_id: &str| {
        let (title, client_id) = (Some("A title".to_owned()), Some(client_id.to_owned()));
        Request::Rename(request::Rename { session: s(), title, client_id })
    };
    changed(&world, &rename("used-once")).await;
    let label = |client_id: &str| {
        let (label, client_id) = (Some("here".to_owned()), Some(client_id.to_owned()));
        Request::Label(request::Label { session: s(), at: "u1".into(), label, client_id })
    };
    assert_eq!(world.call(label("used-once")).await.unwrap_err().code, ErrorCode::Invalid);
    for bad in ["short", "with a blank", "dots.are.ours", &"long".repeat(17), ""] {
        assert_eq!(world.call(label(bad)).await.unwrap_err().code, ErrorCode::Invalid, "{bad}");
    }
    assert_eq!(world.tree().labels(), []);
}

/// A crash between the child and the note in its origin: sent again, the request finds the child and records it.
#[tokio::test(start_paused = true)]
async fn a_fork_that_was_cut_off_is_completed_by_the_same_request() {
    let world = drawn().await;
    let fork = Request::Fork(request::Fork {
        session: s(),
        at: None,
        to: ForkTo::NewSession,
        client_id: id("child"),
        ..Default::default()
    });
    let other = drawn().await;
    let child = changed(&other, &fork).await.new_session.unwrap().id;
    let records: Vec<_> = {
        use offshoot_engine::Shelf;
        let book = other.shelf.open(&child.as_str().into()).unwrap().unwrap();
        let records = book.tree().log().cloned().collect();
        drop(book);
        records
    };
    offshoot_engine::Shelf::create(&world.shelf, &records).unwrap();
    let forked = changed(&world, &fork).await;
    assert_eq!(forked.new_session.unwrap().id, child);
    assert!(world.tree().operation(&"client-child".into()).is_some(), "the origin knows of it");
}
