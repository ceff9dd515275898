//! Messages that begin a session of their own: one session for each configuration, and edits and retries as sessions.

use offshoot_api::request::{self, ConfigBranching, IfRunning, VersionTo};
use offshoot_api::response::Changed;
use offshoot_api::views::ModelView;
use offshoot_api::{ApiError, ErrorCode, Hint, Request, Response};
use offshoot_engine::{Settings, Shelf};
use offshoot_session::plan::ConfigChangeBranching;
use offshoot_session::{BranchReason, SessionTree};
use serde_json::json;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{World, send};

fn model(name: &str) -> Option<ModelView> {
    Some(ModelView { provider: "p".to_owned(), name: name.to_owned() })
}

fn branching(config_change_branching: ConfigChangeBranching) -> Settings {
    Settings { config_change_branching, ..Settings::default() }
}

/// A session with one answered message.
async fn world(way: ConfigChangeBranching) -> World {
    let agent = ScriptedAgent::new().on("wait", vec![Do::Gate]);
    let mut world = World::set(agent, branching(way)).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world
}

async fn changed(world: &mut World, request: Request) -> Result<Changed, ApiError> {
    match world.call(request).await? {
        Response::Changed(changed) => Ok(*changed),
        other => panic!("{other:?}"),
    }
}

fn with_model(name: &str) -> [Request; 3] {
    let (session, at) = ("s".to_owned(), "#1".into());
    let edit = request::Edit { text: "other".into(), model: model(name), ..Default::default() };
    let retry = request::Retry { model: model(name), ..Default::default() };
    [
        Request::Send(request::Send { model: model(name), ..send("two") }),
        Request::Edit(request::Edit { session: session.clone(), at, ..edit }),
        Request::Retry(request::Retry { session, at: "#1".into(), ..retry }),
    ]
}

/// The child as soon as its answer is complete.
async fn child(world: &World, changed: &Changed) -> SessionTree {
    let id = changed.new_session.as_ref().expect("another session").id.as_str().into();
    for _ in 0..100 {
        let tree = world.shelf.open(&id).unwrap().unwrap().tree().clone();
        let turn = changed.turn.as_deref().expect("a turn").into();
        if tree.turn_ended(&turn) {
            return tree;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("`{id}` has no answer")
}

fn texts(tree: &SessionTree) -> Vec<String> {
    let path = tree.path_to(tree.main_head()).into_iter();
    path.map(|entry| entry.body.text()).filter(|text| !text.is_empty()).collect()
}

/// only `configure` obeyed; a message that brought its model wrote it into this session.
#[tokio::test(start_paused = true)]
async fn a_message_with_another_model_goes_into_a_session_of_its_own() {
    let expected = [
        (vec!["one", "re: one", "two", "re: two"], BranchReason::ConfigChange),
        (vec!["other", "re: other"], BranchReason::MessageEdit),
        (vec!["one", "re: one"], BranchReason::ConfigChange),
    ];
    for (request, (path, reason)) in with_model("m").into_iter().zip(expected) {
        let mut world = world(ConfigChangeBranching::File).await;
        let (before, head) = (world.tree().len(), world.tree().main_head().cloned());
        let changed = changed(&mut world, request).await.unwrap();
        let child = child(&world, &changed).await;
        assert_eq!(texts(&child), path);
        let header = child.header().unwrap();
        assert_eq!(header.model.as_ref().map(|model| model.name.as_str()), Some("m"), "R-025");
        let lineage = header.lineage.as_ref().unwrap();
        assert_eq!((lineage.parent.as_str(), lineage.reason.as_ref()), ("s", Some(&reason)));
        assert_eq!(lineage.metadata.as_ref().unwrap()["new_model"], "p/m");
        assert_eq!((world.tree().len(), world.tree().main_head().cloned()), (before, head), "this one stays");
        assert_eq!(changed.prompt.as_deref().map(|id| child.contains(&id.into())), Some(true));
    }
}

/// whoever is to be asked is asked, and may say it with the message.
#[tokio::test(start_paused = true)]
async fn a_message_with_another_model_asks_where_it_goes() {
    let mut world = world(ConfigChangeBranching::Ask).await;
    let before = world.tree().log().count();
    for request in with_model("m") {
        let refused = changed(&mut world, request).await.unwrap_err();
        assert_eq!((refused.code, refused.hint), (ErrorCode::Invalid, Some(Hint::SayBranching)));
        assert_eq!(world.tree().log().count(), before, "a refusal leaves no trace");
    }
    let message = |branching| {
        let branching = Some(branching);
        Request::Send(request::Send { model: model("m"), branching, ..send("two") })
    };
    let there = changed(&mut world, message(ConfigBranching::File)).await.unwrap();
    assert_eq!(texts(&child(&world, &there).await).len(), 4);
    let here = changed(&mut world, message(ConfigBranching::Entry)).await.unwrap();
    assert_eq!(here.new_session, None);
    world.until_ready().await;
    assert_eq!(texts(&world.tree()).len(), 4);
    // It is in force now, so nobody has to be asked.
    let again = Request::Send(request::Send { model: model("m"), ..send("three") });
    assert_eq!(changed(&mut world, again).await.unwrap().new_session, None);
}

/// an edit that is a session, and the same for a retry.
#[tokio::test(start_paused = true)]
async fn an_edit_or_a_retry_can_be_a_session() {
    let mut world = world(ConfigChangeBranching::Entry).await;
    let (session, at, to) = ("s".to_owned(), "#1".into(), VersionTo::NewSession);
    let edit = request::Edit { session, at, text: "other".into(), to, ..Default::default() };
    let edited = changed(&mut world, Request::Edit(edit.clone())).await.unwrap();
    let tree = child(&world, &edited).await;
    assert_eq!(texts(&tree), ["other", "re: other"]);
    let lineage = tree.header().unwrap().lineage.clone().unwrap();
    assert_eq!((lineage.reason, lineage.message_index), (Some(BranchReason::MessageEdit), Some(0)));
    assert_eq!(lineage.metadata, Some(json!({ "turn": 1, "old_text": "one", "new_text": "other" })));

    let retry = request::Retry { session: "s".into(), at: "#1".into(), to, ..Default::default() };
    let retried = changed(&mut world, Request::Retry(retry)).await.unwrap();
    let tree = child(&world, &retried).await;
    assert_eq!(texts(&tree), ["one", "re: one"]);
    assert_eq!(tree.header().unwrap().lineage.clone().unwrap().reason, Some(BranchReason::Retry));

    let same = request::Edit { text: "one".into(), ..edit.clone() };
    assert_eq!(changed(&mut world, Request::Edit(same)).await.unwrap_err().code, ErrorCode::SameText);
    let written = request::Edit { only_write: true, text: "later".into(), ..edit };
    let written = changed(&mut world, Request::Edit(written)).await.unwrap();
    assert_eq!(written.turn, None, "nobody was asked to answer it");
    let id = written.continues_in().into();
    assert_eq!(texts(world.shelf.open(&id).unwrap().unwrap().tree()), ["later"]);
}

/// A message that is sent twice under one id begins one session, and is answered once.
#[tokio::test(start_paused = true)]
async fn a_message_that_began_a_session_is_not_sent_twice() {
    let mut world = world(ConfigChangeBranching::File).await;
    let client_id = Some("message-1".to_owned());
    let message = Request::Send(request::Send { model: model("m"), client_id, ..send("two") });
    let first = changed(&mut world, message.clone()).await.unwrap();
    let tree = child(&world, &first).await;
    let again = changed(&mut world, message).await.unwrap();
    assert_eq!(
        (again.new_session.map(|child| child.id), again.repeated),
        (first.new_session.clone().map(|child| child.id), true)
    );
    assert_eq!((again.prompt, again.turn), (first.prompt.clone(), Some("message-1".to_owned())));
    assert!(again.end.is_some(), "its turn has ended");
    assert_eq!(texts(&child(&world, &first).await), texts(&tree));
    // It is one step, and undone as one.
    world.call(Request::Undo(request::History { session: "s".into(), ..Default::default() })).await.unwrap();
    let id = first.continues_in().into();
    assert!(world.shelf.open(&id).unwrap().unwrap().tree().is_taken_back());
}

/// A session begins with what was said, so a turn that runs there is in its way.
#[tokio::test(start_paused = true)]
async fn a_session_of_its_own_waits_for_no_turn() {
    let mut world = world(ConfigChangeBranching::File).await;
    world.send("wait").await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let message = request::Send { model: model("m"), ..send("two") };
    let refused = changed(&mut world, Request::Send(message.clone())).await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
    let beside = request::Send { at: Some("#1".into()), ..message.clone() };
    let beside = changed(&mut world, Request::Send(beside)).await.unwrap();
    assert_eq!(texts(&child(&world, &beside).await), ["one", "re: one", "two", "re: two"]);
    let aborting = request::Send { if_running: IfRunning::AbortFirst, ..message };
    let aborted = changed(&mut world, Request::Send(aborting)).await.unwrap();
    let path = texts(&child(&world, &aborted).await);
    assert_eq!(
        (path.first().map(String::as_str), path.last().map(String::as_str)),
        (Some("one"), Some("re: two"))
    );
}

/// an edited reply can be a session that ends with it. No turn begins there.
#[tokio::test(start_paused = true)]
async fn an_edited_reply_can_be_a_session() {
    let mut world = world(ConfigChangeBranching::Entry).await;
    let (session, at, to) = ("s".to_owned(), "m:1".into(), VersionTo::NewSession);
    let edit = request::Edit {
        session,
        at,
        text: "no".into(),
        to,
        only_write: true,
        client_id: Some("edit-of-a-reply".into()),
        ..Default::default()
    };
    let edited = changed(&mut world, Request::Edit(edit.clone())).await.unwrap();
    let id = edited.new_session.as_ref().unwrap().id.as_str().into();
    let tree = world.shelf.open(&id).unwrap().unwrap().tree().clone();
    assert_eq!(texts(&tree), ["one", "no"]);
    let lineage = tree.header().unwrap().lineage.clone().unwrap();
    assert_eq!((lineage.reason, lineage.message_index), (Some(BranchReason::MessageEdit), Some(1)));
    assert_eq!((edited.turn, edited.prompt), (None, None));
    assert_eq!(texts(&world.tree()), ["one", "re: one"], "this one stays");
    let again = changed(&mut world, Request::Edit(edit)).await.unwrap();
    assert_eq!((again.repeated, &again.new_session), (true, &edited.new_session));

    world.session = id.to_string();
    let sent = request::Send { session: id.to_string(), ..send("two") };
    let sent = changed(&mut world, Request::Send(sent)).await.unwrap();
    let tree = child(&world, &Changed { new_session: again.new_session, ..sent }).await;
    assert_eq!(texts(&tree), ["one", "no", "two", "re: two"]);
}
