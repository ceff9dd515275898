//! Summaries of what is left, and branches made shorter.

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning, Summary};
use offshoot_api::{ErrorCode, Request, Response};
use offshoot_engine::Settings;
use offshoot_session::compaction::CompactionSettings;

use crate::scripted::{Do, SUMMARY, ScriptedAgent, whole};
use crate::world::World;

pub(crate) fn navigate(to: &str, summary: Summary) -> Request {
    Request::Navigate(request::Navigate {
        session: "s".to_owned(),
        to: to.to_owned(),
        summary,
        if_running: IfRunning::Wait,
    })
}

fn compact() -> Request {
    let instructions = Some("the tests".to_owned());
    Request::Compact(request::Compact { session: "s".to_owned(), instructions, if_running: IfRunning::Wait })
}

fn session() -> request::Session {
    request::Session { session: "s".to_owned() }
}

pub(crate) async fn two_turns(agent: ScriptedAgent, settings: Settings) -> World {
    let mut world = World::set(agent, settings).await;
    for words in ["one", "two"] {
        world.send(words).await.unwrap();
        world.until_ready().await;
    }
    world.story();
    world
}

fn summarising() -> ScriptedAgent {
    ScriptedAgent::new().on(SUMMARY, vec![Do::Say(whole("Two was tried."))])
}

#[tokio::test(start_paused = true)]
async fn a_branch_is_left_with_a_summary_below_the_new_place() {
    let mut world = two_turns(summarising(), Settings::default()).await;
    let with = Summary::With { instructions: "names of files".to_owned() };
    let Response::Moved(moved) = world.call(navigate("#2", with)).await.unwrap() else { panic!("not moved") };
    assert_eq!(moved.editor_text.as_deref(), Some("two"));
    world.until(|kind| matches!(kind, EventKind::HeadMoved { .. })).await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_given_up_or_fails_moves_nothing() {
    let agent = ScriptedAgent::new().on(SUMMARY, vec![Do::Gate]);
    let world = two_turns(agent, Settings::default()).await;
    let before = world.tree().log().count();
    let cancel = async {
        loop {
            match world.call(Request::CancelSummary(session())).await {
                Ok(_) => return,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(1)).await,
            }
        }
    };
    let (left, ()) = tokio::join!(world.call(navigate("#1", Summary::Default)), cancel);
    assert_eq!(left.unwrap_err().code, ErrorCode::Cancelled);
    *world.agent.refuses.lock().unwrap() = true;
    let failed = world.call(navigate("#1", Summary::Default)).await.unwrap_err();
    assert_eq!(failed.code, ErrorCode::AgentFailed);
    assert_eq!(world.tree().log().count(), before);
    // An agent that never comes to an end is not waited for for ever.
    *world.agent.refuses.lock().unwrap() = false;
    let slow = world.call(navigate("#1", Summary::Default)).await.unwrap_err();
    assert_eq!(slow.message, "the summary took too long");
    assert_eq!(world.tree().log().count(), before);
}

#[tokio::test(start_paused = true)]
async fn without_a_model_it_fails_before_anything_moves() {
    let settings = Settings { summary_agent: Some("nobody".to_owned()), ..Settings::default() };
    let world = two_turns(summarising(), settings).await;
    let before = world.tree().log().count();
    for request in [navigate("#1", Summary::Default), compact()] {
        assert_eq!(world.call(request).await.unwrap_err().code, ErrorCode::NoModel);
    }
    assert_eq!(world.tree().log().count(), before);
}

#[tokio::test(start_paused = true)]
async fn a_branch_is_made_shorter_and_the_step_can_be_undone() {
    let compaction = CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() };
    let mut world = two_turns(summarising(), Settings { compaction, ..Settings::default() }).await;
    world.call(compact()).await.unwrap();
    assert_eq!(world.call(compact()).await.unwrap_err().code, ErrorCode::NothingToDo);
    world.call(Request::Undo(session())).await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Rearranged)).await;
    world.until(|kind| matches!(kind, EventKind::HeadMoved { .. })).await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn a_full_window_is_made_shorter_by_itself() {
    let compaction = CompactionSettings { enabled: true, reserve_tokens: 10, keep_recent_tokens: 1 };
    let settings = Settings { compaction, context_window: Some(11), ..Settings::default() };
    let mut world = World::set(summarising(), settings).await;
    world.send("one, and quite a few words more than that").await.unwrap();
    let is_compaction = |kind: &EventKind| {
        matches!(kind, EventKind::Entry { entry }
            if matches!(entry.body, offshoot_api::views::BodyView::Compaction { .. }))
    };
    world.until(is_compaction).await;
}
