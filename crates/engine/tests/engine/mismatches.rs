//! The fifteen ways in which real agents differ from one that answers each prompt with whole messages, and the tests
//! that hold each of them. Those of this file have the number of their row; the others are where the rule is.
//!
//! | # | what is observed | tests |
//! |---|---|---|
//! | 1 | the end of a background task starts a turn, also from idle | here; `an_agent_that_begins_by_itself_gives_way_to_our_prompt` |
//! | 2 | a result is not the end of a turn: sub-agents hold it, shells do not | here; `a_turn_is_over_at_result_and_idle`, `an_idle_agent_ends_and_one_with_background_tasks_does_not` |
//! | 3 | a message is several entries, with results of tools between them | `a_result_comes_between_the_blocks_of_a_message`, `a_result_within_a_message_stands_below_its_call` |
//! | 4 | streamed text turns out void | here; `text_that_turns_out_void_is_discarded`, `text_of_a_message_that_is_asked_for_again_is_void` |
//! | 5 | agents name their entries | here; `an_entry_with_an_id_of_the_agents_replaces_the_live_text`, `a_prompt_has_a_uuid_and_is_sent_under_it` |
//! | 6 | prompts that wait in the agent are merged | here; `entries_that_it_has_not_seen_are_injected_one_by_one` |
//! | 7 | an interrupted agent still writes what it has begun | `an_interrupted_agent_finishes_its_block`, `an_agent_that_does_not_stop_is_given_up` |
//! | 8 | usage is final at the end of a message, and totals continue | here; `a_sum_adds_only_what_no_entry_carries`, `usage_without_differences_is_the_difference_of_totals` |
//! | 9 | an agent says that it runs while another ask is open | here; `two_asks_are_open_at_once_and_each_is_answered_once` |
//! | 10 | agents change settings and sessions by themselves | here; `a_cleared_conversation_is_another_session` |
//! | 11 | an agent that continues needs no entries | here |
//! | 12 | abilities depend on the model, settings apply at different times | `a_setting_says_when_it_is_in_force_or_why_not`, `settings_are_checked_before_they_are_sent`, `every_agent_that_is_known_is_listed` |
//! | 13 | entries can be appended without asking the model | `entries_that_it_has_not_seen_are_injected_one_by_one`, `a_prompt_that_no_agent_has_taken_does_not_cost_the_session` |
//! | 14 | a sub-agent goes on behind the result of its call | `a_sub_agent_outlives_the_result_of_its_call`, `a_sub_agent_ends_at_its_notification` |
//! | 15 | advice depends on the cause, and the prompt may be in the transcript | here; `kinds_of_failures`, `what_was_said_in_the_agents_own_program_comes_first` |

use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::{AnswerView, BodyView, EntryView};
use offshoot_api::{Request, TurnEnd};
use offshoot_session::agent::{
    AgentEventKind as Kind, AgentFailure, AgentTurnEnd, BackgroundKind, BackgroundTask, ConnectionEvent,
    FailureKind, ModelUsage, SessionChange, TurnCause,
};
use offshoot_session::{Block, Body, Change, EntryId, Fact, Model, Record, Reply, Setting, Usage};

use crate::scripted::{Do, ScriptedAgent, to_run, whole};
use crate::world::World;

fn reply(text: &str) -> Body {
    Body::Reply(Reply { blocks: vec![Block::Text(text.to_owned())], ..Reply::default() })
}

/// Texts of the branch of the head.
fn branch(world: &World) -> Vec<String> {
    let tree = world.tree();
    tree.path_to(tree.main_head()).into_iter().map(|entry| entry.body.text()).collect()
}

async fn until_entry(world: &mut World, is_it: impl Fn(&EntryView) -> bool) {
    world.until(|kind| matches!(kind, EventKind::Entry { entry, .. } if is_it(entry))).await;
}

#[tokio::test(start_paused = true)]
async fn row_1_an_agent_that_begins_by_itself_has_a_turn_below_its_last_entry() {
    let cause = TurnCause::TaskEnded { task: "task-1".into(), text: "The build is done.".to_owned() };
    let does = vec![
        Do::Say(whole("started it")),
        Do::End,
        Do::Gate,
        Do::Alone(0, Kind::Started { cause }),
        Do::Alone(0, whole("It is built.")),
        Do::Alone(0, Kind::Ended(AgentTurnEnd::Done)),
    ];
    let mut world = World::new(ScriptedAgent::new().on("build", does)).await;
    world.send("build").await.unwrap();
    world.until_turn_ended().await;
    // The head has gone elsewhere: the agent's turn belongs below what the agent knows.
    let rewind = request::Rewind {
        session: "s".to_owned(),
        to: "#1".into(),
        before: true,
        ..request::Rewind::default()
    };
    world.call(Request::Rewind(rewind)).await.unwrap();
    world.agent.open_gate();
    world.until_turn_ended().await;
    let tree = world.tree();
    assert_eq!(tree.main_head(), None, "the head stays where a person has put it");
    let texts: Vec<String> = tree.entries().map(|entry| entry.body.text()).collect();
    assert_eq!(texts, ["build", "started it", "The build is done.", "It is built."]);
    let why = tree.entries().find(|entry| entry.body.text() == "The build is done.").unwrap();
    assert!(matches!(&why.body, Body::CustomMessage(message) if message.kind == "task_notification"));
    let above = why.parent.as_ref().and_then(|parent| tree.entry(parent)).unwrap();
    assert_eq!(above.body.text(), "started it");
}

#[tokio::test(start_paused = true)]
async fn row_2_tasks_in_the_background_are_counted_and_do_not_hold_the_turn() {
    let task = BackgroundTask {
        id: "t".into(),
        kind: BackgroundKind::Shell,
        description: "server".to_owned(),
        call: None,
    };
    let does = vec![Do::Report(ConnectionEvent::Background(vec![task])), Do::Say(whole("it runs"))];
    let mut world = World::new(ScriptedAgent::new().on("serve", does)).await;
    world.send("serve").await.unwrap();
    world.until_turn_ended().await;
    let view = world.view().await;
    assert_eq!((view.status.background, view.turns.len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn row_4_void_text_is_shown_as_void_and_never_written() {
    let does = vec![
        Do::Say(Kind::text("m1", "Once upon")),
        Do::Say(Kind::Discarded { message: "m1".into() }),
        Do::Say(Kind::entry("m2", reply("Again."))),
    ];
    let mut world = World::new(ScriptedAgent::new().on("tell", does)).await;
    world.send("tell").await.unwrap();
    let is_void =
        |entry: &EntryView| matches!(&entry.body, BodyView::Reply { blocks, .. } if blocks.is_empty());
    world.until(|kind| matches!(kind, EventKind::Live { entry } if is_void(entry))).await;
    world.until_turn_ended().await;
    assert_eq!(branch(&world), ["tell", "Again."]);
}

#[tokio::test(start_paused = true)]
async fn row_5_an_entry_has_the_agents_id_and_says_which_live_entry_it_replaces() {
    let id = EntryId::from("0c5d0000-0000-4000-8000-000000000001");
    let entry = Kind::Entry { id: Some(id.clone()), message: Some("m".into()), body: reply("Hello.") };
    let does = vec![Do::Say(Kind::text("m", "Hel")), Do::Say(entry)];
    let mut world = World::new(ScriptedAgent::new().on("greet", does)).await;
    world.send("greet").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
    let named = id.to_string();
    let is_it = |kind: &EventKind| matches!(kind, EventKind::Entry { entry, replaces: Some(live) } if entry.id == named && *live != named);
    world.until(is_it).await;
    world.until_turn_ended().await;
    assert!(world.tree().contains(&id));
    assert_eq!(branch(&world), ["greet", "Hello."]);
}

#[tokio::test(start_paused = true)]
async fn row_6_an_agent_has_one_prompt_at_a_time() {
    let mut world = World::new(ScriptedAgent::new().on("one", vec![Do::Gate, Do::Say(whole("1"))])).await;
    world.send("one").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Status { status } if status.state == "running")).await;
    world.send("two").await.unwrap();
    world.send("three").await.unwrap();
    world.view().await;
    assert_eq!(world.agent.delivered.lock().unwrap().len(), 1, "the engine keeps the others");
    world.agent.open_gate();
    for _ in 0..3 {
        world.until_turn_ended().await;
    }
    assert_eq!(world.agent.delivered.lock().unwrap().len(), 3);
    assert_eq!(branch(&world), ["one", "1", "two", "re: two", "three", "re: three"]);
}

#[tokio::test(start_paused = true)]
async fn row_8_a_turn_costs_what_its_entries_carry_and_the_rest_of_the_sum() {
    let usage = |output| Usage { output, ..Usage::default() };
    let model = Model { provider: "p".into(), name: "m".into() };
    let said = Reply {
        blocks: vec![Block::Text("done".to_owned())],
        model: Some(model.clone()),
        usage: Some(usage(10)),
        ..Reply::default()
    };
    let does = vec![
        Do::Say(Kind::entry("m1", Body::Reply(said))),
        Do::Say(Kind::Spent(vec![ModelUsage { model: Some(model), usage: usage(25) }])),
    ];
    let mut world = World::new(ScriptedAgent::new().on("work", does)).await;
    world.send("work").await.unwrap();
    let is_sum = |kind: &EventKind| matches!(kind, EventKind::TurnEnded { end: TurnEnd::Done, cost: Some(cost) } if cost.output == 25);
    world.until(is_sum).await;
    // The same as the session says of its only turn.
    assert_eq!(world.view().await.spent.output, 25);
}

#[tokio::test(start_paused = true)]
async fn row_9_a_turn_waits_until_the_last_ask_is_answered() {
    let ask = |request: &str| Do::Say(Kind::Ask { request: request.to_owned(), ask: to_run("ls") });
    let does = vec![ask("a"), ask("b"), Do::Gate];
    let mut world = World::new(ScriptedAgent::new().on("ask", does)).await;
    world.send("ask").await.unwrap();
    let mut open = 0;
    while open < 2 {
        world.until(|kind| matches!(kind, EventKind::Asked { .. })).await;
        open += 1;
    }
    for left in [1, 0] {
        let view = world.view().await;
        assert_eq!(view.status.state, "waiting");
        let ask = view.asks.first().unwrap().id.clone();
        let answer = AnswerView::Allow { input: None, suggestion: None };
        world.call(Request::Answer(request::Answer { session: "s".to_owned(), ask, answer })).await.unwrap();
        assert_eq!(world.view().await.asks.len(), left);
    }
    assert_eq!(world.view().await.status.state, "running");
    world.agent.open_gate();
    world.until_turn_ended().await;
}

#[tokio::test(start_paused = true)]
async fn row_10_what_an_agent_changes_by_itself_is_recorded_in_its_turn() {
    let mode = Setting::PermissionMode("acceptEdits".to_owned());
    let changed = |to: &str, cause| Do::Report(ConnectionEvent::SessionChanged { to: to.into(), cause });
    let plan = vec![
        Do::Report(ConnectionEvent::SettingChanged(mode)),
        changed("agent-8", SessionChange::Moved),
        Do::Say(whole("planned")),
    ];
    let clear = vec![changed("agent-9", SessionChange::Cleared), Do::Say(whole("cleared"))];
    let mut world = World::new(ScriptedAgent::new().on("plan", plan).on("clear", clear)).await;
    world.send("plan").await.unwrap();
    until_entry(&mut world, |entry| matches!(entry.body, BodyView::Setting(_))).await;
    world.until_turn_ended().await;
    let view = world.view().await;
    assert_eq!(view.permission_mode.as_deref(), Some("acceptEdits"));
    assert_eq!(view.branch.agent_session.as_deref(), Some("agent-8"));
    world.send("clear").await.unwrap();
    until_entry(&mut world, |entry| matches!(entry.body, BodyView::Cleared)).await;
    world.until_turn_ended().await;
    let tree = world.tree();
    let is_bound = |record: &Record| match &record.change {
        Change::Marked(mark) => {
            matches!(&mark.fact, Fact::Bound { agent_session: Some(to), .. } if to.as_str() == "agent-9")
        }
        Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => false,
    };
    assert!(tree.log().any(is_bound));
}

#[tokio::test(start_paused = true)]
async fn row_11_an_agent_that_continues_is_told_nothing_again() {
    let mut world = World::new(ScriptedAgent::new()).await;
    for words in ["one", "two"] {
        world.send(words).await.unwrap();
        world.until_ready().await;
        world.crash().await;
    }
    let told = world.agent.told();
    assert_eq!(told, ["connect: new session", "prompt: one", "connect: continue agent-1", "prompt: two"]);
}

#[tokio::test(start_paused = true)]
async fn row_15_the_advice_of_a_failure_depends_on_its_cause() {
    for (kind, advice) in [
        (FailureKind::SignIn, Some("sign in")),
        (FailureKind::ContextFull, Some("compact")),
        (FailureKind::Process, Some("retry")),
        (FailureKind::Other, None),
    ] {
        let failure = AgentFailure::new(kind, "it went wrong");
        let agent = ScriptedAgent::new().on("fail", vec![Do::Say(Kind::Failed(failure))]);
        let mut world = World::new(agent).await;
        world.send("fail").await.unwrap();
        let is_it = |event: &EventKind| match event {
            EventKind::TurnEnded { end: TurnEnd::Failed { message, hint }, .. } => {
                assert_eq!(message, "it went wrong");
                assert_eq!(hint.is_some(), advice.is_some(), "{kind:?}: {hint:?}");
                assert!(
                    advice.is_none_or(|word| hint.as_deref().unwrap_or_default().contains(word)),
                    "{hint:?}"
                );
                true
            }
            _ => false,
        };
        world.until(is_it).await;
    }
}
