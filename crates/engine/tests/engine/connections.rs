//! What an agent reports about its connection, apart from any turn.

use offshoot_api::event::EventKind;
use offshoot_api::{Request, request};
use offshoot_session::agent::{
    AgentEventKind, AgentNotice, AgentTurnEnd, ConnectionEvent, ExitStatus, SessionChange,
};
use offshoot_session::{Body, Setting};

use crate::scripted::{Do, ScriptedAgent};
use crate::world::World;

/// The plan mode of an agent ends by itself, and it may continue in a session of another name.
#[tokio::test]
async fn settings_and_sessions_that_an_agent_changes_by_itself_are_kept() {
    let mode = Setting::PermissionMode("default".into());
    let steps = vec![
        Do::Report(ConnectionEvent::Notice(AgentNotice::new("a new version is there"))),
        Do::Report(ConnectionEvent::SettingChanged(mode.clone())),
        Do::Report(ConnectionEvent::SessionChanged { to: "moved".into(), cause: SessionChange::Moved }),
    ];
    let mut world = World::new(ScriptedAgent::new().on("plan", steps)).await;
    world.send("plan").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Notice { text } if text == "a new version is there")).await;
    world.until_ready().await;
    let tree = world.tree();
    assert!(tree.entries().any(|entry| entry.body == Body::Setting(mode.clone())));
    let session = tree.bindings().filter_map(|(_, binding)| binding.agent_session.clone()).last();
    assert_eq!(session, Some("moved".into()));
}

/// An agent may find a title when its answer is over. One that a person gave stays.
#[tokio::test]
async fn a_title_that_an_agent_gives_between_two_turns_is_kept() {
    let named = |title: &str| {
        let ended = Do::Say(AgentEventKind::Ended(AgentTurnEnd::Done));
        vec![ended, Do::Gate, Do::Report(ConnectionEvent::TitleChanged(title.into()))]
    };
    let agent = ScriptedAgent::new().on("one", named("first")).on("two", named("second"));
    let mut world = World::new(agent).await;
    let is_titled = |kind: &EventKind| matches!(kind, EventKind::Titled { .. });
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.agent.open_gate();
    world.until(is_titled).await;
    assert_eq!(world.tree().title(), Some("first"));
    let rename =
        request::Rename { session: "s".to_owned(), title: Some("mine".into()), ..Default::default() };
    world.call(Request::Rename(rename)).await.unwrap();
    world.until(is_titled).await;
    world.send("two").await.unwrap();
    world.until_ready().await;
    world.agent.open_gate();
    world.until(is_titled).await;
    assert_eq!(world.tree().title(), Some("mine"));
}

/// An agent confirms what it was told: the branch has that setting already.
#[tokio::test]
async fn a_setting_that_the_agent_has_is_not_written_again() {
    let mode = Setting::PermissionMode("default".into());
    let report = || Do::Report(ConnectionEvent::SettingChanged(mode.clone()));
    let mut world = World::new(ScriptedAgent::new().on("plan", vec![report(), report()])).await;
    world.send("plan").await.unwrap();
    world.until_turn_ended().await;
    let tree = world.tree();
    assert_eq!(tree.entries().filter(|entry| entry.body == Body::Setting(mode.clone())).count(), 1);
}

#[tokio::test]
async fn a_turn_fails_with_the_last_words_of_an_agent_that_exits() {
    let exited = ConnectionEvent::Exited { status: ExitStatus::Signal(9), stderr: "out of memory\n".into() };
    let steps = vec![Do::Report(exited)];
    let mut world = World::new(ScriptedAgent::new().on("die", steps)).await;
    world.send("die").await.unwrap();
    world.until_turn_ended().await;
    let tree = world.tree();
    let Body::Reply(reply) = &tree.entry(tree.main_head().unwrap()).unwrap().body else { panic!("no reply") };
    let stop = format!("{:?}", reply.stop);
    assert!(stop.contains("ended (signal 9): out of memory"), "{stop}");
    world.send("more").await.unwrap();
    world.until_ready().await;
}
