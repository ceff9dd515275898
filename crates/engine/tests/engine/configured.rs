//! Settings: as entries, as a session of its own, never inside a turn; and what clearing leaves.

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, ConfigBranching, IfRunning, Summary};
use offshoot_api::views::ModelView;
use offshoot_api::{ErrorCode, Hint, Request, Response};
use offshoot_engine::{Settings, Shelf};
use offshoot_session::agent::{AgentInfo, ConnectionEvent};
use offshoot_session::plan::ConfigChangeBranching;
use offshoot_session::{BranchReason, Model, Setting};

use crate::scripted::{Do, SUMMARY, ScriptedAgent, whole};
use crate::summaries::{navigate, two_turns};
use crate::world::{World, send};

fn s() -> String {
    "s".to_owned()
}

fn waiting() -> ScriptedAgent {
    ScriptedAgent::new().on("wait", vec![Do::Gate])
}

fn configure(branching: ConfigBranching, if_running: IfRunning) -> request::Configure {
    request::Configure {
        session: s(),
        model: Some(ModelView { provider: "p".to_owned(), name: "m".to_owned() }),
        thinking: Some("high".to_owned()),
        permission_mode: Some("plan".to_owned()),
        branching: Some(branching),
        if_running,
        ..Default::default()
    }
}

/// a change of configuration or an edit can begin a session of its own.
/// a change of configuration branches, and the list shows where sessions come from.
/// Whoever follows the old session hears where the conversation went, and nothing of the old one is lost.
#[tokio::test(start_paused = true)]
async fn a_change_goes_into_a_session_of_its_own() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let change = configure(ConfigBranching::File, IfRunning::Wait);
    let moved = world.call(Request::Configure(change)).await.unwrap();
    let Response::Changed(moved) = moved else { panic!("{moved:?}") };
    let went = |kind: &EventKind| {
        matches!(kind, EventKind::Branched { into, reason }
            if into == moved.continues_in() && reason == "config_change")
    };
    world.until(went).await;
    let there = request::Send { session: moved.continues_in().to_owned(), ..send("two") };
    world.call(Request::Send(there)).await.unwrap();
    // Both take their ids from one list: the other one comes to rest first.
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    // The old one is as it was, and can be talked to.
    world.send("still here").await.unwrap();
    world.until_ready().await;
    let child = world.shelf.open(&moved.continues_in().into()).unwrap().unwrap().tree().clone();
    let lineage = child.header().unwrap().lineage.clone().unwrap();
    assert_eq!((lineage.parent.as_str(), lineage.reason), ("s", Some(BranchReason::ConfigChange)));
    insta::assert_snapshot!(format!("{}\n\n# metadata\n{}", world.story(), lineage.metadata.unwrap()));
}

/// The settings want to be asked each time: without an answer nothing happens, with one it is done so this once.
#[tokio::test(start_paused = true)]
async fn whoever_wants_to_be_asked_where_a_change_goes_is_asked() {
    let settings = Settings { config_change_branching: ConfigChangeBranching::Ask, ..Settings::default() };
    let mut world = World::set(ScriptedAgent::new(), settings).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let before = world.tree().log().count();
    let unsaid = request::Configure { branching: None, ..configure(ConfigBranching::Entry, IfRunning::Wait) };
    for _ in 0..2 {
        let refused = world.call(Request::Configure(unsaid.clone())).await.unwrap_err();
        assert_eq!((refused.code, refused.hint), (ErrorCode::Invalid, Some(Hint::SayBranching)), "{refused}");
        assert_eq!(world.tree().log().count(), before, "a refusal leaves no trace");
    }
    let here = configure(ConfigBranching::Entry, IfRunning::Wait);
    let Response::Changed(moved) = world.call(Request::Configure(here)).await.unwrap() else {
        panic!("not moved")
    };
    assert_eq!(moved.continues_in(), "s");
    assert_eq!(world.view().await.thinking, "high");
    let there = request::Configure {
        thinking: Some("low".to_owned()),
        ..configure(ConfigBranching::File, IfRunning::Wait)
    };
    let Response::Changed(moved) = world.call(Request::Configure(there)).await.unwrap() else {
        panic!("not moved")
    };
    assert_ne!(moved.continues_in(), "s");
    assert_eq!(world.view().await.thinking, "high", "the old one is as it was");
}

/// Out of sight and back, also while a turn runs elsewhere; never from under the head.
#[tokio::test(start_paused = true)]
async fn a_branch_is_put_out_of_sight_and_brought_back() {
    let mut world = World::new(waiting()).await;
    for words in ["one", "two"] {
        world.send(words).await.unwrap();
        world.until_ready().await;
    }
    let archive = |at: &str, archived| {
        Request::Archive(request::Archive { session: s(), at: at.into(), archived, ..Default::default() })
    };
    let old = world.tree().path_to(world.tree().main_head())[2].id.to_string();
    let refused = world.call(archive(&old, true)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::HeadBelow, "{refused}");
    let edit = request::Edit { session: s(), at: "#2".into(), text: "wait".into(), ..Default::default() };
    world.call(Request::Edit(edit)).await.unwrap();
    world.until(|kind| matches!(kind, EventKind::TurnStarted { .. })).await;
    for (archived, changed) in [(true, true), (true, false), (false, true)] {
        let done = world.call(archive(&old, archived)).await.unwrap();
        let Response::Changed(done) = done else { panic!("{done:?}") };
        assert_eq!(done.changed, changed);
        assert_eq!(world.tree().is_archived(&old.as_str().into()), archived);
    }
    let nowhere = world.call(archive("nowhere", true)).await.unwrap_err();
    assert_eq!(nowhere.code, ErrorCode::PointNotFound);
    world.call(archive(&old, true)).await.unwrap();
    world.agent.open_gate();
    world.until_ready().await;
    world.call(Request::Undo(request::History { session: s(), ..Default::default() })).await.unwrap();
    assert!(!world.tree().is_archived(&old.as_str().into()), "it is a step like any other");
}

/// settings do not change inside a turn.
#[tokio::test(start_paused = true)]
async fn nothing_is_changed_inside_a_turn() {
    for branching in [ConfigBranching::Entry, ConfigBranching::File] {
        let mut world = World::new(waiting()).await;
        world.send("wait").await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        let before = world.tree().log().count();
        let refused =
            world.call(Request::Configure(configure(branching, IfRunning::Wait))).await.unwrap_err();
        assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
        assert_eq!(world.tree().log().count(), before, "a refusal leaves no trace");
        world.call(Request::Configure(configure(branching, IfRunning::AbortFirst))).await.unwrap();
        world.until_ready().await;
        insta::assert_snapshot!(format!("nothing_is_changed_inside_a_turn_{branching:?}"), world.story());
    }
}

/// clearing ends the agents and keeps model and permissions.
#[tokio::test(start_paused = true)]
async fn clearing_ends_every_agent_and_keeps_what_was_set() {
    let mut world = World::new(waiting()).await;
    world.call(Request::Configure(configure(ConfigBranching::Entry, IfRunning::Wait))).await.unwrap();
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.send("wait").await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let beside = request::Send { at: Some("#1".into()), if_running: IfRunning::Beside, ..send("beside") };
    world.call(Request::Send(beside)).await.unwrap();
    world.until_turn_ended().await;
    // The head is where nothing runs any more; the other agent is at work all the same.
    let clear =
        |if_running| Request::Clear(request::Clear { session: s(), if_running, ..Default::default() });
    let refused = world.call(clear(IfRunning::Wait)).await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
    world.call(clear(IfRunning::AbortFirst)).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    assert_eq!(world.agent.conversations(), 0);
    let view = world.view().await;
    assert_eq!(view.branch.agent_session, None);
    assert_eq!((view.thinking.as_str(), view.permission_mode.as_deref()), ("high", Some("plan")));
    assert_eq!(view.model.map(|model| model.name).as_deref(), Some("m"));
    world.send("afresh").await.unwrap();
    let is_answer = |kind: &EventKind| matches!(kind, EventKind::Entry { entry, .. } if serde_json::to_string(entry).unwrap().contains("re: afresh"));
    world.until(is_answer).await;
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

/// Not with the model of the branch, where another one was set for that.
#[tokio::test(start_paused = true)]
async fn a_summary_is_written_by_the_model_that_was_set_for_it() {
    let model = |name: &str| Model { provider: "p".to_owned(), name: name.to_owned() };
    for summary_model in [None, Some(model("small"))] {
        let agent = ScriptedAgent::new().on(SUMMARY, vec![Do::Say(whole("Two was tried."))]);
        let settings = Settings {
            default_agent: Some("scripted".to_owned()),
            default_model: Some(model("large")),
            summary_model: summary_model.clone(),
            ..Settings::default()
        };
        let world = two_turns(agent, settings).await;
        world.call(navigate("#2", Summary::Default)).await.unwrap();
        let told = world.agent.settings_of_the_last();
        let named = if summary_model.is_some() { "small" } else { "large" };
        let expected = offshoot_session::Setting::Model { role: None, model: model(named) };
        assert!(told.contains(&expected), "{told:?}");
    }
}

/// Claude Code would choose a model by itself, and then other instructions and tools come with it. The model was passed for
/// every other branch, but not for a new first message.
/// first, branch and resumed agent sessions are configured alike.
#[tokio::test(start_paused = true)]
async fn an_edit_of_the_first_message_keeps_the_model() {
    let model = Model { provider: "p".to_owned(), name: "large".to_owned() };
    let info =
        AgentInfo { session: Some("agent-1".into()), model: Some(model.clone()), ..AgentInfo::default() };
    let opened = Do::Report(ConnectionEvent::Opened(info));
    let mut world = World::new(ScriptedAgent::new().on("one", vec![opened])).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let usual = Setting::Model { role: None, model };
    assert!(!world.agent.settings_of_the_last().contains(&usual), "nobody has chosen one");
    let (session, at, text) = ("s".to_owned(), "#1".into(), "one again".to_owned());
    let edit = request::Edit { session, at, text, ..request::Edit::default() };
    world.call(Request::Edit(edit)).await.unwrap();
    world.until_turn_ended().await;
    assert!(world.agent.settings_of_the_last().contains(&usual), "{:?}", world.agent.settings_of_the_last());
}
