//! What an agent asks and how it is answered, each with everything that happens because of it.

use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::AnswerView;
use offshoot_api::{ErrorCode, Request, Response};
use offshoot_session::asks::{Asking, Choice, Question};
use serde_json::json;

use crate::scripted::{Do, ScriptedAgent, whole};
use crate::world::World;

fn answer(ask: &str, answer: AnswerView) -> Request {
    Request::Answer(request::Answer { session: "s".to_owned(), ask: ask.to_owned(), answer })
}

async fn asked(world: &mut World) -> String {
    world.until(|kind| matches!(kind, EventKind::Asked { .. })).await;
    world.view().await.asks.remove(0).id
}

fn running() -> ScriptedAgent {
    ScriptedAgent::new().on("go", vec![Do::AskToRun("rm -r target"), Do::Say(whole("Well."))])
}

/// what an agent asks can be answered.
#[tokio::test(start_paused = true)]
async fn questions_are_answered_with_choices_and_words_of_ones_own() {
    let question = |text: &str, several: bool| Question {
        text: text.to_owned(),
        choices: ["Up", "Down"]
            .into_iter()
            .map(|label| Choice { label: label.to_owned(), description: None, suggested: label == "Up" })
            .collect(),
        several,
    };
    let asking = Asking::Questions(vec![question("Which way?", false), question("Which else?", true)]);
    let agent = ScriptedAgent::new().on("go", vec![Do::Ask(asking), Do::Say(whole("Thank you."))]);
    let mut world = World::new(agent).await;
    world.send("go").await.unwrap();
    let ask = asked(&mut world).await;
    let allow =
        world.call(answer(&ask, AnswerView::Allow { input: None, suggestion: None })).await.unwrap_err();
    assert_eq!(allow.code, ErrorCode::WrongAnswer);
    let chosen = || vec![vec!["Down".to_owned()], vec!["Up".to_owned(), "neither".to_owned()]];
    let choose = || answer(&ask, AnswerView::Choose { chosen: chosen() });
    assert_eq!(world.call(choose()).await.unwrap(), Response::Done { changed: true });
    world.until_ready().await;
    assert_eq!(world.call(choose()).await.unwrap(), Response::Done { changed: false });
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn it_is_denied_with_a_message_that_the_agent_reads() {
    let mut world = World::new(running()).await;
    world.send("go").await.unwrap();
    let ask = asked(&mut world).await;
    let deny = AnswerView::Deny { message: Some("use cargo clean".to_owned()) };
    world.call(answer(&ask, deny)).await.unwrap();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn it_is_allowed_with_another_input() {
    let mut world = World::new(running()).await;
    world.send("go").await.unwrap();
    let ask = asked(&mut world).await;
    let allow = AnswerView::Allow { input: Some(json!({ "command": "cargo clean" })), suggestion: None };
    world.call(answer(&ask, allow)).await.unwrap();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}
