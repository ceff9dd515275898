//! Agents with a transcript and ids of their own: what is sent twice, what was said elsewhere, and who has it open.

use offshoot_agents::{Elsewhere, Seen};
use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::{ErrorCode, Hint, Request};
use offshoot_session::agent::{ConnectionEvent, ExitStatus};
use offshoot_session::turn::{CaughtUp, CaughtUpEntry};
use offshoot_session::{Block, Body, EntryId, Fact, Provenance, Reply, is_uuid};
use offshoot_testkit::FixedStamps;

use crate::scripted::{Do, REFUSED, ScriptedAgent};
use crate::world::{World, send};

fn agent() -> ScriptedAgent {
    let mut agent = ScriptedAgent::new();
    agent.can.entry_ids = true;
    agent.can.fork_at_message = true;
    agent
}

fn exits() -> Do {
    Do::Report(ConnectionEvent::Exited { status: ExitStatus::Signal(9), stderr: "out of memory".to_owned() })
}

fn texts(world: &World) -> Vec<String> {
    let tree = world.tree();
    tree.path_to(tree.main_head()).into_iter().map(|entry| entry.body.text()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_prompt_has_a_uuid_and_is_sent_under_it() {
    let mut world = World::new(agent()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let delivered = world.agent.delivered.lock().unwrap().clone();
    assert!(matches!(delivered.as_slice(), [(entry, id)] if entry == id && is_uuid(id.as_str())));
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_a_crash_left_is_sent_under_another_id() {
    let mut world = World::new(agent()).await;
    *world.agent.hides.lock().unwrap() = true;
    world.send("one").await.unwrap();
    world.crash().await;
    *world.agent.hides.lock().unwrap() = false;
    let resume = request::Resume { session: "s".to_owned(), at: None, client_id: None };
    world.call(Request::Resume(resume)).await.unwrap();
    world.until_ready().await;
    let delivered = world.agent.delivered.lock().unwrap().clone();
    let [(entry, id)] = delivered.as_slice() else { panic!("{delivered:?}") };
    assert!(entry != id && is_uuid(id.as_str()));
    let tree = world.tree();
    assert_eq!((tree.aliased(id), tree.delivered_as(entry), tree.is_id_taken(id)), (Some(entry), id, true));
    assert!(!tree.log().any(|record| matches!(&record.change, offshoot_session::Change::Marked(mark)
        if matches!(&mark.fact, Fact::Delivered { prompt, .. } if prompt != entry))));
}

#[tokio::test(start_paused = true)]
async fn a_turn_fails_with_its_process_and_the_next_prompt_resumes() {
    let mut world = World::new(agent().on("one", vec![exits()])).await;
    world.send("one").await.unwrap();
    world.until_turn_ended().await;
    assert!(
        world.log.last().unwrap().contains("Scripted ended (signal 9): out of memory"),
        "{:?}",
        world.log
    );
    world.until_ready().await;
    world.agent.told();
    world.send("two").await.unwrap();
    world.until_ready().await;
    assert!(world.agent.told().contains(&"connect: continue agent-1".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn what_was_said_in_the_agents_own_program_comes_first() {
    let mut world = World::new(agent()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.crash().await;
    *world.agent.seen.lock().unwrap() = Seen { caught_up: said_elsewhere(), ..Seen::default() };
    world.send("two").await.unwrap();
    world.until_ready().await;
    assert_eq!(texts(&world), ["one", "re: one", "elsewhere", "there", "two", "re: two"]);
    assert!(world.agent.told().contains(&"connect: continue agent-1".to_owned()));
}

fn said_elsewhere() -> CaughtUp {
    let said =
        |id: &str, body| CaughtUpEntry { id: EntryId::from(id), written_at: FixedStamps::start(), body };
    let reply = Reply { blocks: vec![Block::Text("there".to_owned())], ..Reply::default() };
    let entries = vec![said("x1", Body::prompt("elsewhere")), said("x2", Body::Reply(reply))];
    CaughtUp { entries, is_complete: true, is_running: false }
}

/// A process of ours that had waited was sent the next message, although the person had gone on in the agent's own
/// program meanwhile: it continued its own end of the session, and what was said there was lost from view.
#[tokio::test(start_paused = true)]
async fn a_process_that_has_waited_while_the_session_went_on_elsewhere_is_replaced() {
    let mut world = World::new(agent()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    *world.agent.seen.lock().unwrap() = Seen { caught_up: said_elsewhere(), ..Seen::default() };
    world.send("two").await.unwrap();
    world.until_ready().await;
    assert_eq!(texts(&world), ["one", "re: one", "elsewhere", "there", "two", "re: two"]);
    let told = ["connect: new session", "prompt: one", "connect: continue agent-1", "prompt: two"];
    assert_eq!(world.agent.told(), told);
    assert_eq!(world.agent.conversations(), 1, "one process has the session");
    world.send("three").await.unwrap();
    world.until_ready().await;
    assert_eq!(world.agent.told(), ["prompt: three"], "what was said elsewhere is known by now");
}

/// the branch was rebuilt for the message behind one that had failed because the program was missing.
#[tokio::test(start_paused = true)]
async fn a_prompt_that_could_not_be_sent_does_not_cost_the_session() {
    let mut agent = agent();
    agent.can.inject = true;
    agent.can.rebuilt_transcript = true;
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.crash().await;
    *world.agent.refuses.lock().unwrap() = true;
    world.send("lost").await.unwrap();
    world.until_turn_ended().await;
    *world.agent.refuses.lock().unwrap() = false;
    world.agent.told();
    world.send("two").await.unwrap();
    world.until_turn_ended().await;
    assert_eq!(world.agent.told(), ["connect: continue agent-1", "unseen: lost", "prompt: two"]);
    let tree = world.tree();
    let path = tree.path_to(tree.main_head());
    let prompt = path.iter().rfind(|entry| entry.body.is_prompt()).unwrap();
    assert_eq!(tree.binding(&prompt.id).unwrap().provenance, Provenance::Continued);
}

/// A command that would change the agent's sessions behind our back was written and then failed.
#[tokio::test(start_paused = true)]
async fn a_message_that_the_agent_does_not_take_is_refused_before_it_is_written() {
    let mut world = World::new(agent().on("long", vec![Do::Gate])).await;
    world.send("long").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Status { status } if status.state == "running")).await;
    let queued = world.send(REFUSED).await.unwrap_err();
    assert_eq!((queued.code, world.view().await.queue.len()), (ErrorCode::Invalid, 0), "nor is it queued");
    world.agent.open_gate();
    world.until_ready().await;
    let at = "#1".into();
    let edit =
        request::Edit { session: "s".to_owned(), at, text: REFUSED.to_owned(), ..request::Edit::default() };
    for request in [Request::Send(send(REFUSED)), Request::Edit(edit)] {
        let refused = world.call(request).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.message.as_str()),
            (ErrorCode::Invalid, "`/resume` is not sent to Scripted")
        );
    }
    let prompts = world.tree().entries().filter(|entry| entry.body.is_prompt()).count();
    assert_eq!(prompts, 1);
}

/// The session was continued there from an earlier message.
#[tokio::test(start_paused = true)]
async fn a_process_that_has_waited_while_the_session_left_its_branch_is_replaced() {
    let mut world = World::new(agent()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    *world.agent.seen.lock().unwrap() = Seen { has_left: true, ..Seen::default() };
    world.agent.told();
    world.send("two").await.unwrap();
    world.until_ready().await;
    assert_eq!(world.agent.told(), ["connect: continue agent-1", "prompt: two"]);
}

/// Its transcript has lines that it does not report, such as the text of an error.
#[tokio::test(start_paused = true)]
async fn what_our_own_process_has_written_besides_does_not_end_it() {
    let mut world = World::new(agent()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let mut caught_up = said_elsewhere();
    caught_up.entries.remove(0);
    *world.agent.seen.lock().unwrap() = Seen { caught_up, ..Seen::default() };
    world.agent.told();
    world.send("two").await.unwrap();
    world.until_ready().await;
    assert_eq!(world.agent.told(), ["prompt: two"]);
    assert_eq!(texts(&world), ["one", "re: one", "two", "re: two"]);
}

/// Two processes never run one session, also where ours has it open and waits.
#[tokio::test(start_paused = true)]
async fn a_session_that_runs_elsewhere_gets_no_prompt_by_a_process_of_ours() {
    let mut world = World::new(agent()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let before = world.tree().log().count();
    let elsewhere = Some(Elsewhere { pid: 4711, since: None });
    *world.agent.seen.lock().unwrap() = Seen { elsewhere, ..Seen::default() };
    world.agent.told();
    let refused = world.send("two").await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::AgentElsewhere, Some(Hint::FollowOrFork)));
    assert_eq!((world.tree().log().count(), world.agent.told()), (before, Vec::new()), "nothing is written");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_runs_elsewhere_gets_no_prompt() {
    let mut world = World::new(agent()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.crash().await;
    let before = world.tree().log().count();
    let elsewhere = Some(Elsewhere { pid: 4711, since: Some(FixedStamps::start()) });
    *world.agent.seen.lock().unwrap() = Seen { elsewhere, ..Seen::default() };
    let refused = world.send("two").await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::AgentElsewhere, Some(Hint::FollowOrFork)));
    assert_eq!((refused.data.pid, refused.since), (Some(4711), Some(FixedStamps::start())));
    assert_eq!(world.tree().log().count(), before, "nothing is written");
}

#[tokio::test(start_paused = true)]
async fn an_idle_agent_ends_and_one_with_background_tasks_does_not() {
    use offshoot_session::agent::{BackgroundKind, BackgroundTask};
    let task = BackgroundTask {
        id: "t".into(),
        kind: BackgroundKind::Shell,
        description: "server".to_owned(),
        call: None,
    };
    let busy = vec![Do::Report(ConnectionEvent::Background(vec![task]))];
    for (words, stay) in [("idle", 0), ("busy", 1)] {
        let mut world = World::new(agent().on("busy", busy.clone())).await;
        world.send(words).await.unwrap();
        world.until_turn_ended().await;
        // Whoever follows keeps the engine, too.
        let (engine, agent) = world.left();
        tokio::time::sleep(std::time::Duration::from_secs(1300)).await;
        assert_eq!((agent.conversations(), engine.is_idle().await), (stay, stay == 0), "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_not_open_is_renamed_where_the_agent_keeps_it() {
    let mut agent = agent();
    agent.can.rename = true;
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let rename = |title: &str| {
        let title = Some(title.to_owned());
        Request::Rename(request::Rename { session: "s".to_owned(), title, client_id: None })
    };
    world.call(rename("open")).await.unwrap();
    world.crash().await;
    world.call(rename("closed")).await.unwrap();
    assert_eq!(*world.agent.renamed.lock().unwrap(), ["agent-1: closed"]);
}
