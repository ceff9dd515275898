//! Where things land: sessions that were taken back, branches, prompts that wait.

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, ForkTo, IfRunning};
use offshoot_api::{ErrorCode, Hint, Request, Response};

use crate::scripted::{Do, ScriptedAgent, whole};
use crate::world::{World, send};

fn s() -> String {
    "s".to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_taken_back_is_not_written_until_it_is_brought_back() {
    let world = World::new(ScriptedAgent::new()).await;
    let Response::Session(begun) = world.call(Request::Begin(request::Begin::default())).await.unwrap()
    else {
        panic!("not begun")
    };
    let step = || request::History { session: begun.id.clone(), ..Default::default() };
    world.call(Request::Undo(step())).await.unwrap();
    let said = request::Send { session: begun.id.clone(), agent: Some("scripted".into()), ..send("secret") };
    for request in [
        Request::Send(said.clone()),
        Request::Rename(request::Rename {
            session: begun.id.clone(),
            title: Some("x".into()),
            ..Default::default()
        }),
    ] {
        let refused = world.call(request).await.unwrap_err();
        assert_eq!((refused.code, refused.hint), (ErrorCode::NotFound, Some(Hint::Redo)), "{refused}");
    }
    let undo = world.call(Request::Undo(step())).await.unwrap_err();
    assert_eq!(undo.code, ErrorCode::NothingToDo, "all of it is undone: {undo}");
    world
        .call(Request::Open(request::Open { session: begun.id.clone(), turns: None, turn: None, at: None }))
        .await
        .unwrap();
    world.call(Request::Redo(step())).await.unwrap();
    world.call(Request::Send(said)).await.unwrap();
}

/// A number stands for a turn: what is said next comes below its answer, here and in a session of its own.
#[tokio::test(start_paused = true)]
async fn a_branch_at_a_turn_begins_below_its_answer() {
    let mut world = World::new(ScriptedAgent::new()).await;
    for words in ["one", "two"] {
        world.send(words).await.unwrap();
        world.until_ready().await;
    }
    let fork = |to| {
        let at = "#1".to_owned();
        Request::Fork(request::Fork { session: s(), at: Some(at.into()), to, ..request::Fork::default() })
    };
    let Response::Changed(moved) = world.call(fork(ForkTo::NewSession)).await.unwrap() else {
        panic!("not moved")
    };
    let open = Request::Open(request::Open {
        session: moved.continues_in().to_owned(),
        turns: None,
        turn: None,
        at: None,
    });
    let Response::Session(child) = world.call(open).await.unwrap() else { panic!("not opened") };
    assert_eq!(child.branch.entries.len(), 2, "with the answer");
    world.call(fork(ForkTo::Here)).await.unwrap();
    world.send("three").await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    let said: Vec<String> =
        tree.path_to(tree.main_head()).into_iter().map(|entry| entry.body.text()).collect();
    assert_eq!(said, ["one", "re: one", "three", "re: three"]);
}

/// a fork does not stop the session it came from.
#[tokio::test(start_paused = true)]
async fn a_fork_does_not_stop_the_turn_that_runs() {
    let agent = ScriptedAgent::new().on("slow", vec![Do::Gate, Do::Say(whole("done"))]);
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let Response::Changed(sent) = world.send("slow").await.unwrap() else { panic!("not sent") };
    let fork = request::Fork {
        session: s(),
        at: Some("#1".into()),
        to: ForkTo::NewSession,
        ..request::Fork::default()
    };
    let Response::Changed(forked) = world.call(Request::Fork(fork)).await.unwrap() else {
        panic!("not forked")
    };
    let there = request::Send { session: forked.continues_in().to_owned(), ..send("meanwhile") };
    world.call(Request::Send(there)).await.unwrap();
    let runs: Vec<String> = world.view().await.turns.into_iter().map(|row| row.turn).collect();
    assert_eq!(runs, [sent.turn.unwrap()], "it runs on where it was");
    world.agent.open_gate();
    world.until_ready().await;
    let tree = world.tree();
    assert_eq!(tree.path_to(tree.main_head()).last().map(|entry| entry.body.text()).as_deref(), Some("done"));
}

/// `u` waits for `t` on one branch; meanwhile the head goes to another one, where a turn runs too.
#[tokio::test(start_paused = true)]
async fn what_waits_is_said_where_it_was_sent() {
    let gate = || vec![Do::Gate];
    let agent = ScriptedAgent::new().on("slow", gate()).on("elsewhere", gate());
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.send("slow").await.unwrap();
    let Response::Changed(sent) = world.send("after slow").await.unwrap() else { panic!("not sent") };
    let waits = sent.queued.unwrap();
    let beside = request::Send { if_running: IfRunning::Beside, ..send("elsewhere") };
    world.call(Request::Send(beside)).await.unwrap();
    // The first permit goes to who asked first.
    world.agent.open_gate();
    world.until(|kind| matches!(kind, EventKind::Queue { queue } if queue.is_empty())).await;
    world.until_turn_ended().await;
    let tree = world.tree();
    let said = tree.entries().find(|entry| entry.turn == Some(waits.as_str().into())).unwrap();
    let path: Vec<String> = tree.path_to(Some(&said.id)).into_iter().map(|entry| entry.body.text()).collect();
    assert_eq!(path, ["one", "re: one", "slow", "after slow"], "below what it waited for");
    let head = tree.path_to(tree.main_head()).last().unwrap().body.text();
    assert_eq!(head, "elsewhere", "the head stays where it was put");
    world.agent.open_gate();
    world.until_ready().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_held_is_told_and_said_before_the_next_message() {
    let mut world = World::new(ScriptedAgent::new().on("slow", vec![Do::Gate])).await;
    world.send("slow").await.unwrap();
    world.send("first").await.unwrap();
    world.call(Request::Interrupt(request::Interrupt { session: s(), turn: None })).await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Queue { queue } if queue.iter().any(|it| it.held))).await;
    let Response::Changed(sent) = world.send("second").await.unwrap() else { panic!("not sent") };
    assert!(sent.queued.is_some());
    world.until(|kind| matches!(kind, EventKind::Queue { queue } if queue.is_empty())).await;
    world.until_ready().await;
    let tree = world.tree();
    let prompts = tree.path_to(tree.main_head()).into_iter().filter(|entry| entry.body.is_prompt());
    assert_eq!(prompts.map(|entry| entry.body.text()).collect::<Vec<_>>(), ["slow", "first", "second"]);
}

#[tokio::test(start_paused = true)]
async fn what_waits_is_answered_by_whom_it_was_sent_to() {
    let mut world = World::new(ScriptedAgent::new().on("slow", vec![Do::Gate])).await;
    world.send("slow").await.unwrap();
    let missing = request::Send { agent: Some("nobody".into()), ..send("to whom?") };
    assert_eq!(world.call(Request::Send(missing)).await.unwrap_err().code, ErrorCode::NoAgent);
    let chosen = request::Send { agent: Some("scripted".into()), ..send("to you") };
    world.call(Request::Send(chosen)).await.unwrap();
    world.agent.open_gate();
    world.until_ready().await;
    let tree = world.tree();
    assert_eq!(tree.path_to(tree.main_head()).last().unwrap().body.text(), "re: to you");
}

/// Two turns run, and a third that began beside them is over: its branch is the head's.
#[tokio::test(start_paused = true)]
async fn of_several_turns_none_is_interrupted_by_mere_chance() {
    let waits = || vec![Do::Say(offshoot_session::agent::AgentEventKind::text("m", "Let me ")), Do::Gate];
    let mut world = World::new(ScriptedAgent::new().on("a", waits()).on("b", waits())).await;
    let beside = |text: &str| Request::Send(request::Send { if_running: IfRunning::Beside, ..send(text) });
    let interrupt = |turn| Request::Interrupt(request::Interrupt { session: s(), turn });
    let mut turns = Vec::new();
    for text in ["a", "b"] {
        let Response::Changed(sent) = world.call(beside(text)).await.unwrap() else { panic!("not sent") };
        turns.push(sent.turn.expect("it runs"));
        world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
    }
    world.call(beside("c")).await.unwrap();
    world.until_turn_ended().await;
    let refused = world.call(interrupt(None)).await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::Ambiguous, Some(Hint::SayTurn)), "{refused}");
    let runs = |view: offshoot_api::views::SessionView| -> Vec<String> {
        view.turns.into_iter().filter(|row| row.status.state == "running").map(|row| row.turn).collect()
    };
    assert_eq!(runs(world.view().await), turns, "nothing was touched");
    for row in world.view().await.turns {
        assert!(refused.message.contains(&format!("#1 {}", row.prompt)), "{refused}");
    }
    world.call(interrupt(turns.first().cloned())).await.unwrap();
    world.until_turn_ended().await;
    assert_eq!(runs(world.view().await), turns[1..]);
    world.call(interrupt(None)).await.unwrap();
    world.until_ready().await;
    assert_eq!(world.call(interrupt(None)).await.unwrap_err().code, ErrorCode::NothingToDo);
}
