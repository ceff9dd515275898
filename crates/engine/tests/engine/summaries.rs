//! Summaries of what is left, and branches made shorter.

use std::time::Duration;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning, Summary};
use offshoot_api::views::AnswerView;
use offshoot_api::{ErrorCode, Request, Response};
use offshoot_engine::Settings;
use offshoot_session::compaction::CompactionSettings;

use crate::scripted::{Do, SUMMARY, ScriptedAgent, whole};
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn navigate(to: &str, summary: Summary) -> Request {
    Request::Navigate(request::Navigate {
        session: "s".to_owned(),
        to: to.into(),
        summary,
        if_running: IfRunning::Wait,
        ..Default::default()
    })
}

fn compact() -> Request {
    let instructions = Some("the tests".to_owned());
    Request::Compact(request::Compact { session: "s".to_owned(), instructions, ..Default::default() })
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
    // Whoever follows sees that something is being written.
    let with = Summary::With { instructions: "names of files".to_owned() };
    let Response::Changed(moved) = world.call(navigate("#2", with)).await.unwrap() else {
        panic!("not moved")
    };
    assert_eq!(moved.editor_text.as_deref(), Some("two"));
    world.until(|kind| matches!(kind, EventKind::HeadMoved { .. })).await;
    insta::assert_snapshot!(world.story());
}

/// a cancelled summary leaves the head where it was.
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

/// a summary without a model is refused before anything moves.
#[tokio::test(start_paused = true)]
async fn without_a_model_it_fails_before_anything_moves() {
    let settings = Settings { summary_agent: Some("nobody".to_owned()), ..Settings::default() };
    let settings = Settings {
        compaction: CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() },
        ..settings
    };
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
    world
        .call(Request::Undo(request::History { session: "s".to_owned(), ..Default::default() }))
        .await
        .unwrap();
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
        matches!(kind, EventKind::Entry { entry, .. }
            if matches!(entry.body, offshoot_api::views::BodyView::Compaction { .. }))
    };
    world.until(is_compaction).await;
}

/// A script that says one thing after the other, each with an engine of its own, has its branch made shorter too.
#[tokio::test(start_paused = true)]
async fn a_full_window_is_made_shorter_before_the_engine_ends() {
    let compaction = CompactionSettings { enabled: true, reserve_tokens: 10, keep_recent_tokens: 1 };
    let settings = Settings { compaction, context_window: Some(11), ..Settings::default() };
    let mut world = World::set(summarising(), settings.clone()).await;
    world.send("one, and quite a few words more than that").await.unwrap();
    world.until_turn_ended().await;
    world.reopen(settings).await;
    let is_compaction = |body: &offshoot_session::Body| matches!(body, offshoot_session::Body::Compaction(_));
    assert!(world.tree().entries().any(|entry| is_compaction(&entry.body)));
}

/// The window is that of whoever answered, where none was set; what goes wrong is told.
#[tokio::test(start_paused = true)]
async fn a_full_window_of_the_agent_is_made_shorter_and_a_failure_is_told() {
    let compaction = CompactionSettings { enabled: true, reserve_tokens: 10, keep_recent_tokens: 1 };
    let mut agent = summarising().on(
        SUMMARY,
        vec![Do::Say(offshoot_session::agent::AgentEventKind::Failed(
            offshoot_session::agent::AgentFailure::other("no"),
        ))],
    );
    agent.can.context_window = Some(11);
    let mut world = World::set(agent, Settings { compaction, ..Settings::default() }).await;
    world.send("one, and quite a few words more than that").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Notice { text } if text.contains("made shorter"))).await;
    assert!(!world.tree().entries().any(|entry| matches!(entry.body, offshoot_session::Body::Compaction(_))));
}

/// Senders were told that the branch could not be made shorter, because the agent was answering what they had just sent.
#[tokio::test(start_paused = true)]
async fn automatic_compaction_that_a_turn_overtakes_is_silent_and_retried_after_that_turn() {
    let says = || Do::Say(whole("Two."));
    // The turn still runs when the summary is written, or has ended by then.
    for two in [vec![Do::AskToRun("ls"), says()], vec![says()]] {
        let compaction = CompactionSettings { enabled: true, reserve_tokens: 10, keep_recent_tokens: 1 };
        let settings = Settings { compaction, context_window: Some(11), ..Settings::default() };
        let agent =
            ScriptedAgent::new().on(SUMMARY, vec![Do::Gate, Do::Say(whole("One was tried."))]).on("two", two);
        let mut world = World::set(agent, settings).await;
        world.send("one, and quite a few words more than that").await.unwrap();
        until_told(&world, SUMMARY).await;
        world.send("two").await.unwrap();
        until_told(&world, "two").await;
        until_idle().await;
        // Enough for all parts of both summaries.
        for _ in 0..10 {
            world.agent.open_gate();
        }
        until_idle().await;
        for ask in world.view().await.asks {
            let answer = AnswerView::Deny { message: None };
            let answer = request::Answer { session: "s".to_owned(), ask: ask.id, answer };
            world.call(Request::Answer(answer)).await.unwrap();
        }
        let is_compaction = |kind: &EventKind| match kind {
            EventKind::Notice { text } => panic!("{text}"),
            EventKind::Entry { entry, .. } => {
                matches!(entry.body, offshoot_api::views::BodyView::Compaction { .. })
            }
            _ => false,
        };
        world.until(is_compaction).await;
    }
}

/// With the clock paused, a sleep ends when every task is idle.
async fn until_idle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

async fn until_told(world: &World, words: &str) {
    let told = async {
        while !world.agent.told().iter().any(|told| told.contains(words)) {
            until_idle().await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("the agent is told");
}

#[tokio::test(start_paused = true)]
async fn too_little_is_not_made_shorter() {
    let world = two_turns(summarising(), Settings::default()).await;
    let before = world.tree().log().count();
    let refused = world.call(compact()).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NothingToDo);
    assert!(refused.message.contains("too little"), "{refused}");
    assert_eq!(world.tree().log().count(), before);
}
