//! Said again: retry, an answer that was missing, an edit beside a turn that runs.

use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::views::ModelView;
use offshoot_api::{ErrorCode, Hint, Request, Response};
use offshoot_session::agent::Said;
use offshoot_session::versions::versions_of;
use offshoot_session::{Body, Entry, EntryId, SessionTree, Setting};

use crate::scripted::{Do, ScriptedAgent};
use crate::world::World;

fn s() -> String {
    "s".to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_same_is_asked_again_and_is_a_version() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let retry = request::Retry { session: s(), at: "#1".into(), ..Default::default() };
    let Response::Changed(sent) = world.call(Request::Retry(retry)).await.unwrap() else {
        panic!("not sent")
    };
    assert_eq!(sent.version.map(|version| (version.index, version.total)), Some((2, 2)));
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_was_only_written_is_answered_later() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let edit = request::Edit {
        session: s(),
        at: "#1".into(),
        text: "uno".to_owned(),
        only_write: true,
        ..Default::default()
    };
    world.call(Request::Edit(edit)).await.unwrap();
    let resume = || Request::Resume(request::Resume { session: s(), ..Default::default() });
    world.call(resume()).await.unwrap();
    world.until_ready().await;
    assert_eq!(world.call(resume()).await.unwrap_err().code, ErrorCode::NothingToDo);
    insta::assert_snapshot!(world.story());
}

/// Whoever chooses a model behind a prompt without an answer wants the answer from it.
#[tokio::test(start_paused = true)]
async fn a_prompt_without_an_answer_is_answered_with_what_was_set_behind_it() {
    let mut world = World::drawn(ScriptedAgent::new(), "u1 - a1 - u2/turn7*").await;
    let model = ModelView { provider: "p".into(), name: "m".into() };
    let set = request::Configure { session: s(), model: Some(model.clone()), ..Default::default() };
    world.call(Request::Configure(set)).await.unwrap();
    let resume = || Request::Resume(request::Resume { session: s(), ..Default::default() });
    let Response::Changed(sent) = world.call(resume()).await.unwrap() else { panic!("not sent") };
    world.until_ready().await;
    let tree = world.tree();
    let prompt = tree.entry(&sent.prompt.unwrap().as_str().into()).unwrap();
    let above = tree.parent(&prompt.id).unwrap();
    assert!(matches!(above.body, Body::Setting(Setting::Model { .. })), "{above:?}");
    assert_eq!(world.agent.settings_of_the_last().len(), 2, "the agent is told who it is and its model");
    assert_eq!(world.view().await.model, Some(model));
    assert_eq!(world.call(resume()).await.unwrap_err().code, ErrorCode::NothingToDo);
    insta::assert_snapshot!(world.story());
    world.call(Request::Undo(request::History { session: s(), ..Default::default() })).await.unwrap();
    assert_eq!(world.view().await.branch.entries.len(), 4, "the prompt as it was, and the model behind it");
}

/// an edit has an id of its own and the edit group of the old version.
/// an edit that was only written, then another model, then its answer. The tree used to keep the edit next to the
/// answered copy of it, so three versions were listed where a person had written two.
#[tokio::test(start_paused = true)]
async fn an_edit_answered_by_another_model_is_one_version() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let edit = request::Edit {
        session: s(),
        at: "#1".into(),
        text: "uno".to_owned(),
        only_write: true,
        ..Default::default()
    };
    world.call(Request::Edit(edit)).await.unwrap();
    let label = request::Label {
        session: s(),
        at: "#1".into(),
        label: Some("first".to_owned()),
        ..Default::default()
    };
    world.call(Request::Label(label)).await.unwrap();
    let before = world.tree();
    let model = ModelView { provider: "p".into(), name: "m".into() };
    let set = request::Configure { session: s(), model: Some(model.clone()), ..Default::default() };
    world.call(Request::Configure(set)).await.unwrap();
    let resume = Request::Resume(request::Resume { session: s(), ..Default::default() });
    let Response::Changed(sent) = world.call(resume).await.unwrap() else { panic!("not sent") };
    world.until_ready().await;

    assert_eq!(sent.version.map(|version| (version.index, version.total)), Some((2, 2)));
    let tree = world.tree();
    let prompt = EntryId::from(sent.prompt.unwrap());
    let texts = |ids: Vec<&Arc<Entry>>| ids.iter().map(|entry| entry.body.text()).collect::<Vec<_>>();
    assert_eq!(texts(versions_of(&tree, &prompt)), ["one", "uno"]);
    let told = ["connect: new session", "prompt: one", "connect: new session", "prompt: uno"];
    assert_eq!(world.agent.told(), told, "the agent is told the prompt once");
    assert_eq!(texts(tree.path_to(tree.main_head())), ["", "uno", "re: uno"], "the head follows the answer");
    assert_eq!(world.view().await.model, Some(model), "the answer is by the model that was chosen");
    assert_eq!(tree.label(&prompt), Some("first"), "the label is on the prompt that replaced it");

    world.call(Request::Undo(request::History { session: s(), ..Default::default() })).await.unwrap();
    let undone = world.tree();
    assert_eq!(draw_versions(&undone), draw_versions(&before), "one step takes it back");
    let resume = Request::Resume(request::Resume { session: s(), ..Default::default() });
    world.call(resume).await.unwrap();
    world.until_ready().await;
}

/// a conversation is a tree; an edit keeps the old branch, and both can be continued.
/// an edited prompt is answered from the context above it, without what followed the old version.
/// a branch that was left can be continued, in the agent session it had.
/// after a switch the next message goes to the agent session of that branch.
/// The old branch keeps its agent session while the edit gets one of its own, which is told only what is above the edit.
#[tokio::test(start_paused = true)]
async fn an_old_branch_continues_in_its_own_agent_session() {
    let mut world = World::new(ScriptedAgent::new()).await;
    for text in ["one", "two"] {
        world.send(text).await.unwrap();
        world.until_ready().await;
    }
    let old = world.view().await.branch.agent_session;
    world.agent.told();
    let edit = request::Edit { session: s(), at: "#2".into(), text: "zwei".to_owned(), ..Default::default() };
    world.call(Request::Edit(edit)).await.unwrap();
    world.until_ready().await;
    let edited = world.view().await.branch;
    assert!(edited.agent_session.is_some() && edited.agent_session != old, "{:?}", edited.agent_session);
    let told = world.agent.told();
    assert_eq!(
        told,
        ["connect: replayed 2 entries", "prompt: zwei"],
        "the first turn, and not the old version"
    );

    let back = request::Version { session: s(), at: Some("#2".into()), ..Default::default() };
    world.call(Request::Version(back)).await.unwrap();
    assert_eq!(world.view().await.branch.agent_session, old);
    world.send("three").await.unwrap();
    world.until_ready().await;
    assert_eq!(world.view().await.branch.agent_session, old);
    assert_eq!(world.agent.told().last().map(String::as_str), Some("prompt: three"));
    let tree = world.tree();
    let said: Vec<String> = tree.path_to(tree.main_head()).iter().map(|entry| entry.body.text()).collect();
    assert_eq!(said, ["one", "re: one", "two", "re: two", "three", "re: three"]);
}

/// asking again with another model does not double a prompt that has no answer, but keeps one that has.
#[tokio::test(start_paused = true)]
async fn a_retry_replaces_a_prompt_without_an_answer() {
    let mut world = World::drawn(ScriptedAgent::new(), "u1 - a1 - u2/turn7*").await;
    let retry = |model: &str| {
        let model = ModelView { provider: "p".into(), name: model.into() };
        Request::Retry(request::Retry {
            session: s(),
            at: "#2".into(),
            model: Some(model),
            ..Default::default()
        })
    };
    for (model, versions) in [("m1", 1), ("m2", 2)] {
        let Response::Changed(sent) = world.call(retry(model)).await.unwrap() else { panic!("not sent") };
        world.until_ready().await;
        let prompt = EntryId::from(sent.prompt.unwrap());
        assert_eq!(versions_of(&world.tree(), &prompt).len(), versions, "{model}");
    }
}

/// The prompts of a tree as `tree` lists them: text, version, label.
fn draw_versions(tree: &SessionTree) -> Vec<(String, usize, Option<String>)> {
    let prompts = tree.entries().filter(|entry| entry.body.is_prompt() && !tree.is_archived(&entry.id));
    let row = |entry: &Arc<Entry>| {
        (entry.body.text(), versions_of(tree, &entry.id).len(), tree.label(&entry.id).map(str::to_owned))
    };
    prompts.map(row).collect()
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_was_appended_is_answered_on_request() {
    let mut world = World::drawn(ScriptedAgent::new(), "u1 - a1 - u2*").await;
    let resume = |at: Option<&str>| {
        Request::Resume(request::Resume {
            session: s(),
            at: at.map(str::to_owned).map(Into::into),
            client_id: None,
        })
    };
    for answered in ["u1", "a1"] {
        assert_eq!(
            world.call(resume(Some(answered))).await.unwrap_err().code,
            ErrorCode::NothingToDo,
            "{answered}"
        );
    }
    world.call(resume(None)).await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    let said: Vec<String> = tree.path_to(tree.main_head()).iter().map(|entry| entry.body.text()).collect();
    assert_eq!(said, ["u1", "a1", "u2", "re: u2"]);
}

/// The prompt whose answer is being written is said otherwise, beside it. Both answers come to their end.
#[tokio::test(start_paused = true)]
async fn an_edit_beside_the_turn_it_edits() {
    let agent = ScriptedAgent::new()
        .on("wait", vec![Do::Say(Said::words("m", "Let me ")), Do::Gate, Do::Say(Said::words("m", "see."))]);
    let mut world = World::new(agent).await;
    world.send("wait").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
    let edit = |if_running| {
        let (at, text) = ("#1".to_owned(), "quick".to_owned());
        Request::Edit(request::Edit { session: s(), at: at.into(), text, if_running, ..Default::default() })
    };
    let refused = world.call(edit(IfRunning::Wait)).await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
    world.call(edit(IfRunning::Beside)).await.unwrap();
    world.until_turn_ended().await;
    world.agent.open_gate();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}
