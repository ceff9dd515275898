//! Sessions that other programs keep, and may be working on at this moment.

use std::path::PathBuf;
use std::sync::Arc;

use offshoot_agents::built_in::{BuiltIn, Pace};
use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::{BodyView, SessionView};
use offshoot_api::{ErrorCode, Request, Response, Service};
use offshoot_engine::{Engine, Parts, RuleBook, Settings};
use offshoot_session::agent::AgentEventKind;
use offshoot_session::foreign::journal_id;
use offshoot_session::{Body, Record, SessionId, Stamps};
use offshoot_store::{Home, JournalStore, Locking, OtherPrograms, SessionStore};
use offshoot_testkit::SharedStamps;
use serde_json::json;
use tempfile::TempDir;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{World, caller, next_event, send};

/// A rollout of Codex whose last turn has not ended.
fn rollout() -> String {
    let line = |second: u32, kind: &str, payload: serde_json::Value| {
        let timestamp = format!("2026-02-01T00:00:{second:02}Z");
        format!("{}\n", json!({ "timestamp": timestamp, "type": kind, "payload": payload }))
    };
    let meta = json!({ "id": "theirs", "timestamp": "2026-02-01T00:00:00Z", "cwd": "/p", "model_provider": "openai" });
    let user = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "work on it" }] });
    let reply = json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I begin." }] });
    [
        line(0, "session_meta", meta),
        line(1, "event_msg", json!({ "type": "task_started", "turn_id": "turn-1" })),
        line(2, "response_item", user),
        line(3, "event_msg", json!({ "type": "user_message", "message": "work on it" })),
        line(4, "response_item", reply),
    ]
    .concat()
}

struct Theirs {
    _folder: TempDir,
    home: PathBuf,
    engine: Engine,
    session: SessionId,
}

/// Nobody is the usual agent, as where the agent of a session is not installed.
fn theirs() -> Theirs {
    let folder = TempDir::new().unwrap();
    let (home, file) = (folder.path().join("home"), folder.path().join("rollout-theirs.jsonl"));
    std::fs::write(&file, rollout()).unwrap();
    let others = OtherPrograms::on_disk(folder.path().to_owned());
    let named = |source: &offshoot_session::ForeignSource| journal_id(&source.agent, &source.session, 0);
    let session = others.introduce(&file, named).unwrap();
    let store = JournalStore::at(Home::at(&home), Locking::by("test")).with(others);
    let stamps = SharedStamps::default();
    let engine = Engine::new(Parts {
        shelf: Arc::new(store),
        agents: vec![Arc::new(BuiltIn { pace: Pace::AtOnce })],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings::default().into(),
        host: Default::default(),
        epoch: 0,
    });
    Theirs { _folder: folder, home, engine, session }
}

async fn view(theirs: &Theirs) -> SessionView {
    let open = request::Open { session: theirs.session.to_string(), turns: None, turn: None, at: None };
    match theirs.engine.call(&caller(), Request::Open(open)).await.unwrap() {
        Response::Session(view) => *view,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn looking_at_a_session_that_another_program_works_on_writes_nothing() {
    let theirs = theirs();
    let seen = view(&theirs).await;
    assert_eq!(seen.branch.entries.len(), 2);
    let said = request::Send { session: theirs.session.to_string(), ..send("hi") };
    let refused = theirs.engine.call(&caller(), Request::Send(said)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NoAgent);
    assert!(!theirs.home.exists(), "neither looking nor a refusal leaves a trace");
    assert_eq!(view(&theirs).await.branch, seen.branch);
}

#[tokio::test]
async fn what_is_said_there_by_us_ends_and_their_turn_is_left_alone() {
    let theirs = theirs();
    let agent = Some("built_in".to_owned());
    let said = request::Send { session: theirs.session.to_string(), agent, ..send("hello") };
    theirs.engine.call(&caller(), Request::Send(said)).await.unwrap();
    theirs.engine.close(theirs.session.as_str()).await;
    let seen = view(&theirs).await;
    let begins: Vec<&BodyView> = seen.branch.entries.iter().take(3).map(|entry| &entry.body).collect();
    assert!(
        matches!(begins.as_slice(), [BodyView::Prompt(_), BodyView::Reply { .. }, BodyView::Setting(_)]),
        "{begins:?}"
    );
}

/// Nobody has named an agent: what was answered after an edit is gone on with all the same.
#[tokio::test]
async fn an_edit_where_no_agent_is_named_keeps_the_agents_session() {
    let folder = TempDir::new().unwrap();
    let store = JournalStore::at(Home::at(folder.path()), Locking::by("test"));
    let mut stamps = SharedStamps::default();
    let header = offshoot_session::SessionHeader::new("made-by-hand".into(), stamps.now());
    let records = offshoot_testkit::drawn("u1 - a1 - u2 - a2*");
    let records: Vec<Record> =
        std::iter::once(Record::opened(header)).chain(records.into_iter().skip(1)).collect();
    store.create(&records).unwrap();
    let engine = Engine::new(Parts {
        shelf: Arc::new(store),
        agents: vec![Arc::new(BuiltIn { pace: Pace::AtOnce })],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings { default_agent: Some("built_in".to_owned()), ..Settings::default() }.into(),
        host: Default::default(),
        epoch: 0,
    });
    let session = || "made-by-hand".to_owned();
    let edit = request::Edit {
        session: session(),
        at: "u2".into(),
        text: "zwei".to_owned(),
        ..request::Edit::default()
    };
    let say = |text: &str| Request::Send(request::Send { session: session(), ..send(text) });
    let mut known = Vec::new();
    for request in [Request::Edit(edit), say("drei"), say("vier")] {
        let mut events = engine.follow(&caller(), "made-by-hand", 0).await.unwrap();
        engine.call(&caller(), request).await.unwrap();
        loop {
            let event = next_event(&mut events).await.unwrap().unwrap();
            if let offshoot_api::EventKind::Bound { bound, .. } = &event.kind {
                known.push(bound.agent_session.clone());
            }
            if matches!(&event.kind, offshoot_api::EventKind::Status { status } if status.state == "ready") {
                break;
            }
        }
    }
    known.dedup();
    assert_eq!(known.len(), 1, "one session of the agent for the whole branch: {known:?}");
}

/// Its program may still be at work on it, or has ended without a word: nothing crashed here, and nothing is written.
#[tokio::test(start_paused = true)]
async fn an_imported_turn_without_an_end_is_none_that_crashed() {
    let drawing = "u1/t1 - a1/t1 - u2/t2 - a2/t2*";
    let mut world = World::drawn(ScriptedAgent::new(), drawing).await;
    let view = world.view().await;
    assert_eq!(view.branch.entries.len(), 4);
    assert_eq!(world.tree().log().count(), offshoot_testkit::drawn(drawing).len(), "looking writes nothing");
    // What is said below it is ours, and what a crash leaves of that is marked.
    world.agent.also_on("wait", vec![Do::Say(AgentEventKind::text("m", "Let me ")), Do::Gate]);
    world.send("wait").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
    world.crash().await;
    world.recover().await;
    let tree = world.tree();
    let path = tree.path_to(tree.main_head());
    let crashed = path.iter().filter(|entry| matches!(entry.body, Body::Interrupted(_))).count();
    assert_eq!((crashed, path.len()), (1, 6), "{}", offshoot_testkit::draw(&tree));
    assert!(!tree.turn_ended(&"t1".into()) && !tree.turn_ended(&"t2".into()));
}
