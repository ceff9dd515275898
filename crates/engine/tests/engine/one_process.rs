//! Processes of agents: one for each of their sessions, and not started again and again.

use std::time::Duration;

use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::{EventStream, Request, Service, request};
use offshoot_engine::Shelf;
use offshoot_session::agent::{ConnectionEvent, ExitStatus};
use offshoot_session::{Change, Record, SessionHeader};
use tokio::time::Instant;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{World, caller, next_event, send};

fn agent() -> ScriptedAgent {
    let mut agent = ScriptedAgent::new();
    agent.can.entry_ids = true;
    agent
}

/// Another session that is bound to the same session of the agent: a copy of the journal, as two front ends may make
/// one of the same foreign file.
fn copied(world: &World) {
    let records = world.tree().log().cloned().collect::<Vec<Record>>();
    let copy = records.into_iter().map(|record| match &record.change {
        Change::Opened(header) => {
            let mut header = SessionHeader::clone(header);
            header.id = "t".into();
            Record::opened(header)
        }
        _ => record,
    });
    world.shelf.create(&copy.collect::<Vec<_>>()).unwrap();
}

async fn send_to_copy(world: &World, text: &str) -> EventStream {
    let events = world.engine.follow(&caller(), "t", 0).await.unwrap();
    let send = request::Send { session: "t".to_owned(), ..send(text) };
    world.engine.call(&caller(), Request::Send(send)).await.unwrap();
    events
}

async fn end_of(events: &mut EventStream) -> TurnEnd {
    loop {
        if let EventKind::TurnEnded { end, .. } = next_event(events).await.unwrap().unwrap().kind {
            return end;
        }
    }
}

/// A session `s` whose agent session is open in a turn, and the copy `t`.
async fn two_sessions(agent: ScriptedAgent) -> World {
    let mut world = World::new(agent.on("long", vec![Do::Gate])).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    copied(&world);
    world.send("long").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Status { status } if status.state == "running")).await;
    world.agent.told();
    world
}

#[tokio::test(start_paused = true)]
async fn an_agent_session_that_another_session_has_open_is_forked() {
    let mut agent = agent();
    agent.can.fork_at_tip = true;
    let mut world = two_sessions(agent).await;
    let mut events = send_to_copy(&world, "two").await;
    assert_eq!(end_of(&mut events).await, TurnEnd::Done);
    assert_eq!(world.agent.told(), ["connect: fork agent-1", "prompt: two"]);
    world.agent.open_gate();
    world.until_turn_ended().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_fork_is_not_started_twice_in_one_session() {
    let mut world = two_sessions(agent()).await;
    let mut events = send_to_copy(&world, "two").await;
    let TurnEnd::Failed { message, .. } = end_of(&mut events).await else { panic!("two processes") };
    let reason = "its session is open on another branch and cannot be forked there";
    assert_eq!(message, format!("`Scripted` cannot take up this branch: {reason}"));
    assert_eq!(world.agent.told(), [""; 0], "no process was started");
    world.agent.open_gate();
    world.until_turn_ended().await;
    // When that process has ended the session is free again.
    let clear = request::Clear { session: "s".to_owned(), ..request::Clear::default() };
    world.call(Request::Clear(clear)).await.unwrap();
    let retry = request::Retry { session: "t".to_owned(), at: "#2".into(), ..request::Retry::default() };
    world.engine.call(&caller(), Request::Retry(retry)).await.unwrap();
    assert_eq!(end_of(&mut events).await, TurnEnd::Done);
    assert_eq!(world.agent.told(), ["connect: continue agent-1", "prompt: two"]);
}

fn exits() -> Vec<Do> {
    let exited = ConnectionEvent::Exited { status: ExitStatus::Code(1), stderr: String::new() };
    vec![Do::Report(exited)]
}

/// How long a message waits for its agent.
async fn waited(world: &mut World, text: &str) -> Duration {
    let began = Instant::now();
    world.send(text).await.unwrap();
    world.until_turn_ended().await;
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_ended_twice_within_ten_seconds_is_started_when_they_are_over() {
    let within = Duration::from_secs(10);
    let mut world = World::new(agent().on("exit", exits())).await;
    let began = Instant::now();
    for _ in 0..2 {
        assert!(waited(&mut world, "exit").await < Duration::from_secs(1));
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    waited(&mut world, "third").await;
    let third = began.elapsed();
    assert!(third >= within && third < within + Duration::from_secs(1), "{third:?}");
    // The first end is forgotten, and one is not too often.
    world.crash().await;
    assert!(waited(&mut world, "exit").await < Duration::from_secs(1));
    assert!(waited(&mut world, "fifth").await < Duration::from_secs(1));
}

/// The session of a turn that was aborted while its agent started was free at once, although the process needs seconds to
/// end: the next message started another one beside it.
#[tokio::test(start_paused = true)]
async fn a_process_that_is_ended_while_it_starts_has_its_session_until_it_is_gone() {
    let mut agent = agent();
    agent.can.inject = true;
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.crash().await;
    *world.agent.hides.lock().unwrap() = true;
    world.send("two").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::TurnStarted { .. })).await;
    while world.agent.is_looked_for() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let interrupt = request::Interrupt { session: "s".to_owned(), turn: None };
    world.call(Request::Interrupt(interrupt)).await.unwrap();
    world.until_ready().await;
    *world.agent.hides.lock().unwrap() = false;
    world.agent.told();
    world.send("three").await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(world.agent.told(), [""; 0], "the process that was ended is not gone");
    world.agent.leases.lock().unwrap().clear();
    world.until_turn_ended().await;
    assert_eq!(world.agent.told(), ["connect: continue agent-1", "unseen: two", "prompt: three"]);
}
