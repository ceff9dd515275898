//! What is told about an answer beside its words: how full the context is, and what an agent prints while a person signs
//! in.

use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::{Event, EventStream, Request, Service};
use offshoot_session::agent::{AgentEventKind as Kind, AgentInfo, ConnectionEvent};
use offshoot_session::{Block, Body, Model, Reply, Usage};

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{World, caller, next_event};

fn model() -> Model {
    Model { provider: "p".into(), name: "m".into() }
}

/// A reply that the provider has counted.
fn counted(tokens: i64) -> Do {
    let reply = Reply {
        blocks: vec![Block::Text("done".to_owned())],
        model: Some(model()),
        usage: Some(Usage { input: tokens, ..Usage::default() }),
        ..Reply::default()
    };
    Do::Say(Kind::entry("m", Body::Reply(reply)))
}

fn opened(window: i64) -> Do {
    let model = Some(Model { name: "m[1m]".into(), ..model() });
    let info = AgentInfo {
        session: Some("agent-1".into()),
        model,
        context_window: Some(window),
        ..AgentInfo::default()
    };
    Do::Report(ConnectionEvent::Opened(info))
}

async fn until_end(events: &mut EventStream) -> Vec<Event> {
    let mut heard = Vec::new();
    loop {
        let event = next_event(events).await.unwrap().unwrap();
        let is_end = matches!(event.kind, EventKind::TurnEnded { .. });
        heard.push(event);
        if is_end {
            return heard;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_use_of_the_context_is_told_before_the_end_of_the_turn() {
    let world = World::new(ScriptedAgent::new().on("work", vec![opened(1_000_000), counted(250_000)])).await;
    let mut events = world.engine.follow(&caller(), "s", 0).await.unwrap();
    world.send("work").await.unwrap();
    let heard = until_end(&mut events).await;
    let [.., measured, end] = heard.as_slice() else { panic!("{heard:?}") };
    let EventKind::Measured { context } = &measured.kind else { panic!("{measured:?}") };
    assert_eq!((context.tokens, context.window), (250_000, Some(1_000_000)));
    assert_eq!(measured.turn, None, "it is about the session");
    assert!(matches!(&end.kind, EventKind::TurnEnded { cost: Some(cost), .. } if cost.input == 250_000));
    assert_eq!(world.view().await.context, *context, "the same as whoever opens the session reads");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_the_head_has_left_measures_nothing() {
    let world = World::new(ScriptedAgent::new().on("work", vec![Do::Gate, counted(9)])).await;
    world.send("first").await.unwrap();
    let mut events = world.engine.follow(&caller(), "s", 0).await.unwrap();
    until_end(&mut events).await;
    world.send("work").await.unwrap();
    let beside = request::Send { if_running: request::IfRunning::Beside, ..crate::world::send("beside") };
    world.call(Request::Send(beside)).await.unwrap();
    let heard = until_end(&mut events).await;
    assert!(heard.iter().any(|event| matches!(event.kind, EventKind::Measured { .. })));
    world.agent.open_gate();
    let heard = until_end(&mut events).await;
    assert!(!heard.iter().any(|event| matches!(event.kind, EventKind::Measured { .. })), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn the_lines_of_a_sign_in_are_told_until_it_is_done() {
    let line = |lines: &[&str], done| {
        let lines = lines.iter().map(ToString::to_string).collect();
        Do::Report(ConnectionEvent::SignIn { lines, done })
    };
    let does = vec![line(&["open this page"], false), line(&["open this page", "thank you"], true)];
    let world = World::new(ScriptedAgent::new().on("work", does)).await;
    let mut events = world.engine.follow(&caller(), "s", 0).await.unwrap();
    world.send("work").await.unwrap();
    let heard = until_end(&mut events).await;
    let told: Vec<(&str, usize, bool)> = heard
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::SignIn { agent, lines, done } => Some((agent.as_str(), lines.len(), *done)),
            _ => None,
        })
        .collect();
    assert_eq!(told, [("scripted", 1, false), ("scripted", 2, true)]);
}
