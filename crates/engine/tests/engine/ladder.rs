//! The two rungs between going on and being told: an agent that can fork at a message, and one that can be given a session.

use offshoot_api::Request;
use offshoot_api::request;
use offshoot_api::views::ProvenanceView;
use offshoot_session::agent::Said;
use offshoot_session::{Block, Reply};

use crate::scripted::{Do, ScriptedAgent};
use crate::world::World;

/// Says a whole message under a name of its own, so that it can be asked to go back to it.
fn named(name: &str) -> Vec<Do> {
    let reply = Reply { blocks: vec![Block::Text(format!("I am {name}."))], ..Reply::default() };
    vec![Do::Say(Said::Message { message: Some(name.to_owned()), reply })]
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
    let edit = request::Edit { session: "s".to_owned(), at, text, ..Default::default() };
    world.call(Request::Edit(edit)).await.unwrap();
    world.until_ready().await;
    world
}

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

#[tokio::test(start_paused = true)]
async fn an_agent_that_can_is_given_a_session_that_was_rebuilt() {
    let mut agent = agent();
    agent.can.rebuilt_transcript = true;
    let mut world = edited(agent).await;
    let branch = world.view().await.branch;
    assert_eq!(branch.provenance, Some(ProvenanceView::RebuiltTranscript));
    insta::assert_snapshot!(world.story());
}
