//! The two rungs between going on and being told: an agent that can fork at a message, and one that can be given a session.

use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::ProvenanceView;
use offshoot_api::{Request, Response, Service};
use offshoot_session::agent::AgentEventKind;
use offshoot_session::{Block, Body, Reply};

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{World, caller, next_event, send};

/// Says a whole message under a name of its own, so that it can be asked to go back to it.
fn named(name: &str) -> Vec<Do> {
    let reply = Reply { blocks: vec![Block::Text(format!("I am {name}."))], ..Reply::default() };
    vec![Do::Say(AgentEventKind::entry(name, Body::Reply(reply)))]
}

fn agent() -> ScriptedAgent {
    ["one", "two", "zwei"]
        .into_iter()
        .fold(ScriptedAgent::new(), |agent, words| agent.on(words, named(words)))
}

async fn edited(agent: ScriptedAgent) -> World {
    let mut world = World::new(agent).await;
    for words in ["one", "two"] {
        world.send(words).await.unwrap();
        world.until_ready().await;
    }
    world.story();
    let (at, text) = ("#2".to_owned(), "zwei".to_owned());
    let edit = request::Edit { session: "s".to_owned(), at: at.into(), text, ..Default::default() };
    world.call(Request::Edit(edit)).await.unwrap();
    world.until_ready().await;
    world
}

/// an agent that can is forked at a message, with all it knows.
#[tokio::test(start_paused = true)]
async fn an_agent_that_can_is_forked_at_the_message_above() {
    let mut agent = agent();
    agent.can.fork_at_message = true;
    let mut world = edited(agent).await;
    let branch = world.view().await.branch;
    assert_eq!(branch.provenance, Some(ProvenanceView::ForkedAtMessage));
    assert_eq!(branch.missing, None);
    insta::assert_snapshot!(world.story());
}

/// a fork of a session forks the agent session, at its end or at a message.
/// The copy forks the agent's session, and the origin goes on in it.
#[tokio::test(start_paused = true)]
async fn a_session_that_came_from_another_forks_its_agents_session() {
    let mut agent = agent();
    agent.can.fork_at_message = true;
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let fork = request::Fork {
        session: "s".to_owned(),
        at: Some("#1".into()),
        to: request::ForkTo::NewSession,
        ..Default::default()
    };
    let Response::Changed(moved) = world.call(Request::Fork(fork)).await.unwrap() else {
        panic!("not moved")
    };
    assert_eq!(moved.agent_session, None);
    world.story();
    let copy = moved.continues_in().to_owned();
    let said = request::Send { session: copy.clone(), ..send("zwei") };
    let mut told = world.engine.follow(&caller(), &copy, 0).await.unwrap();
    world.call(Request::Send(said)).await.unwrap();
    while !matches!(next_event(&mut told).await.unwrap().unwrap().kind, EventKind::TurnEnded { .. }) {}
    world.send("two").await.unwrap();
    world.until_ready().await;
    let open = request::Open { session: copy, turns: None, turn: None, at: None };
    let Response::Session(view) = world.call(Request::Open(open)).await.unwrap() else { panic!("no view") };
    assert_eq!(view.branch.provenance, Some(ProvenanceView::ForkedAtMessage));
    assert_eq!(view.branch.missing, None);
    let story = world.story();
    assert!(story.contains("connect: fork agent-1 at one\nprompt: zwei\n"), "{story}");
    assert!(story.contains("prompt: two\n") && !story.contains("replay"), "{story}");
    assert_eq!(world.view().await.branch.provenance, Some(ProvenanceView::Continued));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_can_is_given_a_session_that_was_rebuilt() {
    let mut agent = agent();
    agent.can.rebuilt_transcript = true;
    let mut world = edited(agent).await;
    let branch = world.view().await.branch;
    assert_eq!(branch.provenance, Some(ProvenanceView::RebuiltTranscript));
    insta::assert_snapshot!(world.story());
}
