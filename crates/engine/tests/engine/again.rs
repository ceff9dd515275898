//! Said again: retry, an answer that was missing, an edit beside a turn that runs.

use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::views::ModelView;
use offshoot_api::{ErrorCode, Hint, Request, Response};
use offshoot_session::agent::AgentEventKind;
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
    let agent = ScriptedAgent::new().on(
        "wait",
        vec![
            Do::Say(AgentEventKind::text("m", "Let me ")),
            Do::Gate,
            Do::Say(AgentEventKind::text("m", "see.")),
        ],
    );
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

fn edit_of_reply(at: &str, text: &str) -> request::Edit {
    let (at, text) = (at.into(), text.to_owned());
    request::Edit { session: s(), at, text, only_write: true, ..Default::default() }
}

/// a reply is edited next to the old one. The agent wrote something else, so its session is not continued: it is
/// told the branch as it is.
#[tokio::test(start_paused = true)]
async fn an_edited_reply_is_what_the_agent_is_told_next() {
    let mut world = World::new(ScriptedAgent::new()).await;
    for text in ["one", "two"] {
        world.send(text).await.unwrap();
        world.until_ready().await;
    }
    world.agent.told();
    let edit = request::Edit { client_id: Some("edit-of-a-reply".into()), ..edit_of_reply("m:1", "no") };
    let Response::Changed(edited) = world.call(Request::Edit(edit.clone())).await.unwrap() else {
        panic!("not edited")
    };
    assert_eq!((&edited.turn, &edited.prompt, &edited.version), (&None, &None, &None));
    let place = edited.place.as_ref().unwrap();
    assert_eq!((place.number, Some(&place.entry)), (1, edited.entries.last()));
    let Response::Changed(again) = world.call(Request::Edit(edit)).await.unwrap() else {
        panic!("not edited")
    };
    assert!(again.repeated, "sent twice, it counts once");
    assert_eq!((again.entries, again.place), (edited.entries, edited.place));

    world.send("three").await.unwrap();
    world.until_ready().await;
    let texts: Vec<String> =
        world.tree().path_to(world.tree().main_head()).iter().map(|entry| entry.body.text()).collect();
    assert_eq!(texts, ["one", "no", "three", "re: three"]);
    let told = world.agent.told();
    assert!(told.first().is_some_and(|line| line.starts_with("connect: replayed")), "{told:?}");
    assert_eq!(versions_of(&world.tree(), &world.tree().path_to(world.tree().main_head())[0].id).len(), 1);
}

/// no agent answers a reply, files and models belong to prompts, and a turn that runs is not changed under it.
#[tokio::test(start_paused = true)]
async fn an_edit_of_a_reply_is_only_text_that_is_only_written() {
    let agent = ScriptedAgent::new().on("wait", vec![Do::Gate]);
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let before = world.tree().log().count();
    let model = Some(ModelView { provider: "p".into(), name: "m".into() });
    let refused = [
        (request::Edit { only_write: false, ..edit_of_reply("m:1", "no") }, ErrorCode::NotAPrompt),
        (request::Edit { model, ..edit_of_reply("m:1", "no") }, ErrorCode::Invalid),
        (request::Edit { attachments: Some(Vec::new()), ..edit_of_reply("m:1", "no") }, ErrorCode::Invalid),
        (edit_of_reply("m:1", "re: one"), ErrorCode::SameText),
        (edit_of_reply("m:1", " "), ErrorCode::Blank),
        (edit_of_reply("m:9", "no"), ErrorCode::PointNotFound),
    ];
    for (edit, code) in refused {
        assert_eq!(world.call(Request::Edit(edit)).await.unwrap_err().code, code);
    }
    let set = request::Configure {
        session: s(),
        model: Some(ModelView { provider: "p".into(), name: "m".into() }),
        ..Default::default()
    };
    world.call(Request::Configure(set)).await.unwrap();
    let setting = Request::Edit(edit_of_reply("head", "no"));
    assert_eq!(world.call(setting).await.unwrap_err().code, ErrorCode::NoText);
    assert_eq!(world.tree().log().count(), before + 3, "the setting alone");

    world.send("wait").await.unwrap();
    let running = world.call(Request::Edit(edit_of_reply("m:1", "no"))).await.unwrap_err();
    assert_eq!((running.code, running.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
    let aborts = request::Edit { if_running: IfRunning::AbortFirst, ..edit_of_reply("m:1", "no") };
    world.call(Request::Edit(aborts)).await.unwrap();
    assert_eq!(world.tree().path_to(world.tree().main_head()).len(), 2, "one, no");
}
