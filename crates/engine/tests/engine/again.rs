//! Said again: retry, an answer that was missing, an edit beside a turn that runs.

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::{ErrorCode, Hint, Request, Response};
use offshoot_session::agent::Said;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::World;

fn s() -> String {
    "s".to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_same_is_asked_again_and_is_a_version() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let retry = request::Retry { session: s(), at: "#1".to_owned(), ..Default::default() };
    let Response::Sent(sent) = world.call(Request::Retry(retry)).await.unwrap() else { panic!("not sent") };
    assert_eq!(sent.version, Some((2, 2)));
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_was_only_written_is_answered_later() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let edit = request::Edit {
        session: s(),
        at: "#1".to_owned(),
        text: "uno".to_owned(),
        only_write: true,
        ..Default::default()
    };
    world.call(Request::Edit(edit)).await.unwrap();
    let resume = || Request::Resume(request::Resume { session: s(), at: None });
    world.call(resume()).await.unwrap();
    world.until_ready().await;
    assert_eq!(world.call(resume()).await.unwrap_err().code, ErrorCode::NothingToDo);
    insta::assert_snapshot!(world.story());
}

/// The prompt whose answer is being written is said otherwise, beside it. Both answers come to their end.
#[tokio::test(start_paused = true)]
async fn an_edit_beside_the_turn_it_edits() {
    let agent = ScriptedAgent::new()
        .on("wait", vec![Do::Say(Said::words("m", "Let me ")), Do::Gate, Do::Say(Said::words("m", "see."))]);
    let mut world = World::new(agent).await;
    world.send("wait").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
    let edit = |if_running| {
        let (at, text) = ("#1".to_owned(), "quick".to_owned());
        Request::Edit(request::Edit { session: s(), at, text, if_running, ..Default::default() })
    };
    let refused = world.call(edit(IfRunning::Wait)).await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
    world.call(edit(IfRunning::Beside)).await.unwrap();
    world.until_turn_ended().await;
    world.agent.open_gate();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}
