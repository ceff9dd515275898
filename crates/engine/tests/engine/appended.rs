//! What was said elsewhere is written down here, whoever looks on hears of it, and the agent is told with the next prompt.

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::{ApiError, ErrorCode, Hint, Request, Response};
use offshoot_session::agent::AgentEventKind;
use serde_json::{Value, json};

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{World, send};

fn s() -> String {
    "s".to_owned()
}

fn append(entries: &[Value]) -> request::Append {
    request::Append { session: s(), entries: entries.to_vec(), ..Default::default() }
}

fn undo() -> Request {
    Request::Undo(request::History { session: s(), ..Default::default() })
}

fn user(text: &str) -> Value {
    json!({ "role": "user", "text": text })
}

fn assistant(text: &str) -> Value {
    json!({ "role": "assistant", "text": text })
}

async fn appended(world: &World, append: request::Append) -> Result<(Vec<String>, Option<String>), ApiError> {
    match world.call(Request::Append(append)).await? {
        Response::Changed(appended) => Ok((appended.entries, appended.agent_session)),
        other => panic!("{other:?}"),
    }
}

fn texts(world: &World) -> Vec<String> {
    let tree = world.tree();
    tree.path_to(tree.main_head()).into_iter().map(|entry| entry.body.text()).collect()
}

fn waiting() -> ScriptedAgent {
    ScriptedAgent::new().on("wait", vec![Do::Say(AgentEventKind::text("m1", "Let me ")), Do::Gate])
}

async fn until_words(world: &mut World) {
    world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_appended_is_one_step_and_the_agent_is_told_with_the_next_prompt() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let aside = append(&[user("aside"), assistant("noted")]);
    let (entries, agent_session) = appended(&world, aside).await.unwrap();
    assert_eq!((entries.len(), agent_session.as_deref()), (2, Some("agent-1")));
    world.call(undo()).await.unwrap();
    assert_eq!(texts(&world), ["one", "re: one"]);
    assert_eq!(world.view().await.branch.agent_session.as_deref(), Some("agent-1"));
    world.call(Request::Redo(request::History { session: s(), ..Default::default() })).await.unwrap();
    world.send("two").await.unwrap();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn what_no_agent_need_hear_leaves_the_branch_its_session() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let note = append(&[json!({ "role": "note", "kind": "mine", "data": { "seen": true } })]);
    let (_, agent_session) = appended(&world, note).await.unwrap();
    assert_eq!(agent_session.as_deref(), Some("agent-1"));
    // Also what a person only says to themselves.
    let private = append(&[json!({ "role": "shell", "text": "ls", "output": "a", "private": true })]);
    assert_eq!(appended(&world, private).await.unwrap().1.as_deref(), Some("agent-1"));
    world.agent.told();
    world.send("two").await.unwrap();
    world.until_ready().await;
    assert_eq!(world.agent.told(), ["prompt: two"], "it is just asked");
}

#[tokio::test(start_paused = true)]
async fn each_may_be_a_step_of_its_own_below_where_it_says() {
    let world = World::drawn(ScriptedAgent::new(), "u1 - a1 - u2 - a2*").await;
    let mut below = assistant("instead");
    below["parent"] = json!("#1");
    below["id"] = json!("mine");
    let each = request::Append { each: true, ..append(&[below, user("and then")]) };
    let (entries, _) = appended(&world, each).await.unwrap();
    assert_eq!(entries[0], "mine");
    assert_eq!(texts(&world), ["u1", "a1", "instead", "and then"]);
    world.call(undo()).await.unwrap();
    assert_eq!(texts(&world), ["u1", "a1", "instead"]);
    world.call(undo()).await.unwrap();
    assert_eq!(texts(&world), ["u1", "a1", "u2", "a2"]);
}

#[tokio::test(start_paused = true)]
async fn where_one_does_not_fit_none_is_written() {
    let world = World::drawn(ScriptedAgent::new(), "u1 - a1*").await;
    let (mut nowhere, mut taken) = (user("b"), user("b"));
    nowhere["parent"] = json!("#9");
    taken["id"] = json!("a1");
    let wrong = [
        (nowhere, ErrorCode::PointNotFound, "entry 2: no turn `#9`"),
        (taken, ErrorCode::Invalid, "entry 2: id `a1` is taken"),
        (json!({ "role": "king", "text": "b" }), ErrorCode::Invalid, "entry 2: no role `king`"),
        (user(" "), ErrorCode::Invalid, "entry 2: `text` is missing or blank"),
        (json!(7), ErrorCode::Invalid, "entry 2: not a JSON object"),
    ];
    let before = world.tree().log().count();
    for each in [false, true] {
        for (wrong, code, message) in &wrong {
            let refused = request::Append { each, ..append(&[user("a"), wrong.clone()]) };
            let refused = appended(&world, refused).await.unwrap_err();
            assert_eq!(refused.code, *code, "{refused}");
            assert!(refused.message.starts_with(message), "{refused}");
        }
    }
    assert_eq!(appended(&world, append(&[])).await.unwrap().0, Vec::<String>::new());
    assert_eq!(world.tree().log().count(), before, "a refusal leaves no trace");
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_runs_is_not_written_into_unless_it_is_aborted_first() {
    let mut world = World::new(waiting()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    let mut elsewhere = assistant("instead");
    elsewhere["parent"] = json!("#1");
    let before = world.tree().log().count();
    // The head stands on its branch, so it would be left.
    for entry in [assistant("mine"), elsewhere.clone()] {
        let refused = appended(&world, append(&[entry])).await.unwrap_err();
        assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
        assert!(refused.turn.is_some());
    }
    assert_eq!(world.tree().log().count(), before, "a refusal leaves no trace");
    let abort = request::Append { if_running: IfRunning::AbortFirst, ..append(&[assistant("mine")]) };
    appended(&world, abort).await.unwrap();
    assert_eq!(texts(&world), ["one", "re: one", "wait", "Let me ", "", "mine"]);
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn beside_a_turn_that_runs_everything_can_be_appended_but_to_its_own_answer() {
    let mut world = World::new(waiting()).await;
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    let running = world.tree().main_head().unwrap().to_string();
    let beside = request::Send { if_running: IfRunning::Beside, ..send("meanwhile") };
    world.call(Request::Send(beside)).await.unwrap();
    world.until_turn_ended().await;
    appended(&world, append(&[assistant("mine")])).await.unwrap();
    assert_eq!(texts(&world), ["meanwhile", "re: meanwhile", "mine"]);
    let mut into = assistant("mine");
    into["parent"] = json!(running);
    assert_eq!(appended(&world, append(&[into])).await.unwrap_err().code, ErrorCode::Running);
    world.agent.open_gate();
    world.until_ready().await;
    assert_eq!(texts(&world), ["meanwhile", "re: meanwhile", "mine"], "the head stays where it was put");
}
