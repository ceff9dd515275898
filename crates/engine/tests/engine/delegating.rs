//! Agents that an agent starts: told, asked and seen under the turn that started them.

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::{Request, Response};
use offshoot_engine::{HookEvent, Settings};
use offshoot_session::agent::{AgentEventKind, AgentTurnEnd};
use offshoot_session::asks::{Asking, Permission};
use offshoot_session::{Block, ToolResult};
use serde_json::json;

use crate::ear::Ear;
use crate::hooks::hook;
use crate::scripted::{Do, ScriptedAgent, calls, result_of, whole};
use crate::world::{World, send};

fn result(call: &str, text: &str) -> AgentEventKind {
    let blocks = vec![Block::Text(text.to_owned())];
    result_of(ToolResult {
        call: call.into(),
        tool: String::new(),
        blocks,
        failed: false,
        usage: None,
        changed_input: None,
    })
}

fn delegating() -> ScriptedAgent {
    let task = json!({ "description": "look around", "prompt": "Look around." });
    let ask = Asking::Permission(Permission {
        tool: "shell".into(),
        input: json!({ "command": "ls" }),
        call: None,
        reason: None,
        suggestions: Vec::new(),
    });
    ScriptedAgent::new().on(
        "delegate",
        vec![
            Do::Say(calls("m1", "call1", "agent", task)),
            Do::SubSay("call1", AgentEventKind::text("s1", "I see ")),
            Do::SubSay("call1", AgentEventKind::text("s1", "trees.")),
            Do::SubSay("call1", AgentEventKind::Ask { request: "ls".to_owned(), ask }),
            Do::Gate,
            Do::SubSay("call1", AgentEventKind::AskWithdrawn { request: "ls".to_owned() }),
            Do::SubSay("call1", AgentEventKind::Ended(AgentTurnEnd::Done)),
            Do::Say(result("call1", "trees")),
            Do::Say(whole("There are trees.")),
        ],
    )
}

/// sub-agents are shown with the branch that started them.
/// a sub-agent has its call, tool, task, entries and times.
/// only sub-agents of the branch are shown.
#[tokio::test(start_paused = true)]
async fn a_sub_agent_is_told_under_its_turn() {
    let mut world = World::new(delegating()).await;
    let Response::Changed(sent) = world.send("delegate").await.unwrap() else { panic!("not sent") };
    let turn = sent.turn.unwrap();
    world.until(|kind| matches!(kind, EventKind::Asked { .. })).await;
    let view = world.view().await;
    assert_eq!(view.turns.iter().map(|row| row.turn.as_str()).collect::<Vec<_>>(), [turn.as_str()]);
    let [sub_agent] = view.branch.sub_agents.as_slice() else { panic!("{:?}", view.branch.sub_agents) };
    assert_eq!((sub_agent.call.as_deref(), sub_agent.running), (Some("call1"), true));
    assert_eq!(sub_agent.task.as_deref(), Some("look around"));
    assert_eq!((sub_agent.tool.as_deref(), sub_agent.ended_at), (Some("agent"), None));
    assert!(view.branch.entries.iter().any(|entry| Some(&entry.id) == sub_agent.entry.as_ref()));
    assert_eq!(sub_agent.session, view.branch.agent_session, "the session of its branch");
    // What it says is a branch of its own that can be looked at.
    let show = request::Show { session: "s".into(), at: Some(sub_agent.tip.clone().into()), turns: None };
    let Response::Branch(branch) = world.call(Request::Show(show)).await.unwrap() else {
        panic!("no branch")
    };
    assert_eq!(branch.entries.first().unwrap().id, sub_agent.begins);
    assert!(serde_json::to_string(&branch.entries).unwrap().contains("I see trees."));
    world.agent.open_gate();
    world.until_ready().await;
    let view = world.view().await;
    let (ended, tree) = (&view.branch.sub_agents[0], world.tree());
    let result = tree.entries().find(|entry| matches!(entry.body, offshoot_session::Body::ToolResult(_)));
    assert_eq!((ended.running, ended.ended_at), (false, result.map(|entry| entry.written_at)));
    let Response::Tree { rows } = world.call(Request::Tree(session())).await.unwrap() else {
        panic!("no tree")
    };
    let tasks: Vec<(&str, bool)> = rows.iter().map(|row| (row.text.as_str(), row.is_task)).collect();
    assert_eq!(tasks, [("delegate", false), ("Look around.", true)]);
    let strangers: Vec<&String> =
        world.log.iter().filter(|line| line.starts_with("turn") && !line.starts_with(&turn)).collect();
    assert!(strangers.is_empty(), "every event is one of the turn that was begun: {strangers:?}");
    insta::assert_snapshot!(world.story());
}

fn session() -> request::Session {
    request::Session { session: "s".to_owned() }
}

/// hooks are told when a sub-agent starts and ends.
/// Each once, also where the turn is cut off before the sub-agent is done.
#[tokio::test]
async fn hooks_are_told_when_a_sub_agent_starts_and_ends() {
    for is_cut_off in [false, true] {
        let events = [HookEvent::SubAgentStarted, HookEvent::SubAgentEnded, HookEvent::TurnEnded];
        let mut ear = Ear::open().await;
        let hooks = vec![hook("ear", &events, ear.run())];
        let mut world = World::set(delegating(), Settings { hooks, ..Settings::default() }).await;
        let Response::Changed(sent) = world.send("delegate").await.unwrap() else { panic!("not sent") };
        let started = ear.next().await;
        assert_eq!(started.what["type"], "sub_agent_started");
        assert_eq!(started.what["turn"], json!(sent.turn));
        assert_eq!(started.what["prompt"], json!(sent.prompt));
        assert_eq!(started.what["subAgent"]["tool"], "agent");
        assert_eq!(started.what["subAgent"]["running"], true);
        started.answer(&json!({}));
        world.until(|kind| matches!(kind, EventKind::Asked { .. })).await;
        if is_cut_off {
            let interrupt = request::Interrupt { session: "s".into(), turn: None };
            world.call(Request::Interrupt(interrupt)).await.unwrap();
        } else {
            world.agent.open_gate();
        }
        let ended = ear.next().await;
        assert_eq!(ended.what["type"], "sub_agent_ended");
        assert_eq!(ended.what["subAgent"]["call"], "call1");
        assert!(ended.what["subAgent"]["ended_at"].is_string(), "{}", ended.what);
        ended.answer(&json!({}));
        let turn = ear.next().await;
        assert_eq!(turn.what["type"], "turn_ended");
        turn.answer(&json!({}));
        world.engine.shut_down().await;
        assert!(ear.has_heard_all());
    }
}

#[tokio::test(start_paused = true)]
async fn a_view_says_which_turns_run_and_where() {
    let agent = ScriptedAgent::new().on("wait", vec![Do::Gate]).on("wait too", vec![Do::Gate]);
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.send("wait").await.unwrap();
    let beside = request::Send { if_running: IfRunning::Beside, ..send("wait too") };
    world.call(Request::Send(beside)).await.unwrap();
    let view = world.view().await;
    let said: Vec<&str> = view.turns.iter().map(|row| row.what.as_str()).collect();
    assert_eq!(said, ["wait", "wait too"]);
    let here: Vec<bool> =
        view.turns.iter().map(|row| view.branch.entries.iter().any(|entry| entry.id == row.prompt)).collect();
    assert_eq!(here, [false, true], "one of them is on the branch in view");
    world.agent.open_gate();
    world.agent.open_gate();
    world.until_ready().await;
    assert!(world.view().await.turns.is_empty());
}
