//! Agents that do not do what they are told: nobody waits for them longer than is set, and the session goes on.
//!
//! Time passes by itself here, as soon as nobody has anything to do.

use std::time::Duration;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::{Request, Response};
use offshoot_engine::Settings;
use offshoot_session::agent::AgentEventKind;
use offshoot_session::{Body, Interruption};
use tokio::time::Instant;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{World, send};

fn interrupt() -> Request {
    Request::Interrupt(request::Interrupt { session: "s".to_owned(), turn: None })
}

/// The session takes another message, and it is answered.
async fn goes_on(world: &mut World) {
    world.send("more").await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    assert_eq!(tree.entry(tree.main_head().unwrap()).unwrap().body.text(), "re: more");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_deaf_to_an_interruption_is_given_up() {
    let deaf = vec![Do::Say(AgentEventKind::text("m", "Let me ")), Do::Deaf];
    let mut world = World::new(ScriptedAgent::new().on("deaf", deaf)).await;
    world.send("deaf").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
    let began = Instant::now();
    world.call(interrupt()).await.unwrap();
    let given_up = tokio::time::timeout(Duration::from_secs(60), world.until_ready());
    given_up.await.expect("it is waited for without end");
    assert!(began.elapsed() >= Settings::default().interrupt_wait, "it was given its time");
    let tree = world.tree();
    let said: Vec<Body> =
        tree.path_to(tree.main_head()).into_iter().map(|entry| entry.body.clone()).collect();
    assert_eq!(said[1].text(), "Let me ");
    assert_eq!(said[2..], [Body::Interrupted(Interruption::Wanted)]);
    goes_on(&mut world).await;
    // It has its time to end by itself, too.
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.agent.conversations(), 1, "the deaf one was let go");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_is_never_reached_is_given_up() {
    let mut world = World::new(ScriptedAgent::new()).await;
    *world.agent.hides.lock().unwrap() = true;
    let began = Instant::now();
    world.send("one").await.unwrap();
    let given_up = tokio::time::timeout(Duration::from_secs(600), world.until_turn_ended());
    given_up.await.expect("it is looked for without end");
    assert!(began.elapsed() >= Settings::default().reach_wait, "it was given its time");
    assert!(world.log.last().unwrap().contains("Scripted took too long to start"), "{:?}", world.log);
    world.until_ready().await;
    assert_eq!(world.agent.is_looked_for(), 0);
    assert_eq!(world.view().await.branch.agent_session, None, "nobody has said anything");
    *world.agent.hides.lock().unwrap() = false;
    goes_on(&mut world).await;
    assert_eq!(world.view().await.branch.agent_session.as_deref(), Some("agent-1"));
}

#[tokio::test(start_paused = true)]
async fn looking_for_an_agent_can_be_interrupted() {
    let mut world = World::new(ScriptedAgent::new()).await;
    *world.agent.hides.lock().unwrap() = true;
    let began = Instant::now();
    world.send("one").await.unwrap();
    world.call(interrupt()).await.unwrap();
    world.until_ready().await;
    // What was called off ends when it has its turn next.
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(world.agent.is_looked_for(), 0, "nobody looks for it any more");
    assert!(began.elapsed() < Settings::default().interrupt_wait, "nobody waits for it either");
    assert_eq!(world.view().await.branch.agent_session, None);
    *world.agent.hides.lock().unwrap() = false;
    goes_on(&mut world).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_said_with_abort_first_does_not_wait_for_an_agent_that_is_looked_for() {
    let mut world = World::new(ScriptedAgent::new()).await;
    *world.agent.hides.lock().unwrap() = true;
    let began = Instant::now();
    world.send("one").await.unwrap();
    *world.agent.hides.lock().unwrap() = false;
    let two = request::Send { if_running: IfRunning::AbortFirst, ..send("two") };
    let Response::Changed(sent) = world.call(Request::Send(two)).await.unwrap() else { panic!("not sent") };
    assert_eq!(sent.queued, None);
    world
        .until(
            |kind| matches!(kind, EventKind::TurnStarted { prompt } if Some(prompt) == sent.prompt.as_ref()),
        )
        .await;
    world.until_ready().await;
    assert!(began.elapsed() < Settings::default().interrupt_wait);
    assert_eq!(world.agent.is_looked_for(), 0);
    let tree = world.tree();
    assert_eq!(tree.entry(tree.main_head().unwrap()).unwrap().body.text(), "re: two");
}

/// each branch keeps its own agent; idle ones are closed beyond a limit.
/// Each branch has its agent; those that have nothing to do stay, up to so many.
#[tokio::test(start_paused = true)]
async fn of_agents_without_work_only_so_many_stay() {
    for (idle_agents, stay) in [(4, 3), (2, 2), (0, 0)] {
        let settings = Settings { idle_agents, ..Settings::default() };
        let mut world = World::set(ScriptedAgent::new(), settings).await;
        world.send("one").await.unwrap();
        world.until_ready().await;
        for text in ["two", "three"] {
            let (session, at) = ("s".to_owned(), "#1".to_owned());
            let edit = request::Edit { session, at: at.into(), text: text.to_owned(), ..Default::default() };
            world.call(Request::Edit(edit)).await.unwrap();
            world.until_ready().await;
        }
        // Those that were let go have their time to end.
        tokio::time::sleep(Duration::from_secs(10)).await;
        assert_eq!(world.agent.conversations(), stay, "{idle_agents}");
    }
}
