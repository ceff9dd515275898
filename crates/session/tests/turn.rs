//! A turn as it happens: events in, effects out, and the tree that the effects make.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what a helper cannot unwrap fails the test")]

#[path = "turn/laws.rs"]
mod laws;
#[path = "turn/recovery.rs"]
mod recovery;
#[path = "turn/scene.rs"]
mod scene;

use offshoot_session::agent::{AgentEvent, AgentInput, Ending, Said};
use offshoot_session::asks::{AskId, Asking, Permission};
use offshoot_session::status::{State, WaitingFor};
use offshoot_session::turn::Phase;
use offshoot_session::{Block, Reply, Stop, ToolResult, Usage};
use scene::Scene;
use serde_json::json;

fn permission(command: &str) -> Asking {
    let input = json!({ "command": command });
    Asking::Permission(Permission { tool: "shell".into(), input, call: None, reason: None })
}

/// one function takes the events of a turn, however it began.
#[test]
fn words_are_shown_at_once_and_written_when_the_message_is_whole() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::Started { agent_session: Some("s1".into()), model: None });
    assert_eq!(scene.log(), "write bound(u, s1, continued)");
    scene.hear(Said::words("m", "Good "));
    scene.hear(Said::words("m", "day"));
    assert_eq!(scene.log(), "show new1 \"Good \"\nshow new1 + \"day\"");
    assert_eq!(scene.drawn(), "u*\n", "nothing is final yet");
    assert_eq!(scene.shown(), "u - new1\"Good day\"*\n");
    scene.hear(Said::Message { message: Some("m".into()), reply: scene::reply("Good day.") });
    assert_eq!(scene.log(), "write new1 below u");
    assert_eq!(scene.drawn(), "u - new1\"Good day.\"*\n");
    scene.hear(Said::Ended(Ending::Done));
    assert_eq!(scene.log(), "write bound(u, s1, continued, m) ended(t)\ncheckpoint new1\nclose Done");
    assert_eq!(scene.turn.phase(), Phase::Ended);
}

/// more of the same message replaces it, another message is appended.
#[test]
fn another_message_makes_the_one_before_final() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::words("m1", "one"));
    scene.hear(Said::words("m2", "two"));
    assert_eq!(scene.log(), "show new1 \"one\"\nwrite new1 below u\nshow new2 \"two\"");
    scene.hear(Said::Ended(Ending::Done));
    assert_eq!(scene.drawn(), "u - new1\"one\" - new2\"two\"*\n");
}

/// streamed output goes to the turn that it belongs to.
#[test]
fn a_turn_writes_below_its_prompt_wherever_the_head_is() {
    let mut scene = Scene::new("u1 - a1 - u/t\n a1 - u2 - a2*");
    scene.hear(Said::words("m", "late"));
    scene.hear(Said::Ended(Ending::Done));
    assert_eq!(scene.drawn(), "u1 - a1 - u - new1\"late\"\n     a1 - u2 - a2*\n");
}

/// output of an older turn is ignored.
#[test]
fn what_belongs_to_another_turn_changes_nothing() {
    let mut scene = Scene::new("u/t*");
    let effects = scene.take(AgentEvent::new("yesterday".into(), Said::words("m", "stale")));
    assert_eq!(effects, Vec::new());
    assert_eq!(scene.shown(), "u*\n");
}

/// a reply with nothing to show is no entry.
#[test]
fn a_reply_with_nothing_to_show_writes_no_entry_and_keeps_what_it_cost() {
    let mut scene = Scene::new("u/t*");
    let usage = Usage { input: 7, ..Usage::default() };
    let blank = Reply { usage: Some(usage), ..scene::reply("  \n") };
    scene.hear(Said::Message { message: Some("m".into()), reply: blank });
    assert_eq!(scene.log(), "write spent(7)");
    scene.hear(Said::Message { message: None, reply: Reply::default() });
    assert_eq!(scene.log(), "");
    scene.hear(Said::Ended(Ending::Done));
    assert_eq!(scene.drawn(), "u*\n");
}

#[test]
fn a_call_and_its_result_are_entries_in_their_order() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::words("m", "I look."));
    scene.hear(Said::tool_use("m", "c1", "read", json!({ "path": "a.txt" })));
    let blocks = vec![Block::Text("contents".into())];
    let result = ToolResult { call: "c1".into(), tool: String::new(), blocks, failed: false, usage: None };
    scene.hear(Said::ToolResult(result));
    assert_eq!(scene.log().lines().last(), Some("write new1 below u, new2 below new1"));
    let tool = scene.tree.entry(&"new2".into()).unwrap().body.clone();
    assert!(matches!(tool, offshoot_session::Body::ToolResult(result) if result.tool == "read"));
}

/// what a sub-agent says is kept apart from the conversation.
#[test]
fn what_a_sub_agent_says_is_a_tree_of_its_own_that_names_its_call() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::tool_use("m", "c1", "task", json!({ "prompt": "Count", "description": "Counting" })));
    scene.log();
    scene.hear_sub_agent("c1", Said::words("s", "One,"));
    assert_eq!(scene.log(), "write new3 at the root, new4 below new3\nshow new5 \"One,\"");
    scene.hear(Said::words("m", "meanwhile"));
    scene.hear_sub_agent("c1", Said::words("s", " two"));
    assert_eq!(scene.log(), "show new1 + \"meanwhile\"\nshow new5 + \" two\"");
    let blocks = vec![Block::Text("two".into())];
    scene.hear(Said::ToolResult(ToolResult {
        call: "c1".into(),
        tool: "task".into(),
        blocks,
        failed: false,
        usage: None,
    }));
    assert_eq!(scene.drawn(), "u - new1\"meanwhile\" - new6*\nnew3 - new4\"Count\" - new5\"One, two\"\n");
    let offshoot_session::Body::Note(note) = &scene.tree.entry(&"new3".into()).unwrap().body else {
        panic!("no note")
    };
    assert_eq!(note.data, Some(json!({ "call": "c1", "entry": "new1", "description": "Counting" })));
    scene.hear_sub_agent("c1", Said::words("s", "too late"));
    scene.hear(Said::Ended(Ending::Done));
    assert!(!scene.drawn().contains("too late"));
}

/// an interruption keeps what was said and marks it.
#[test]
fn an_interruption_leaves_what_was_said_and_one_entry_and_drops_the_rest() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::words("m", "I was about"));
    scene.log();
    scene.interrupt();
    assert_eq!(
        scene.log(),
        "write new1 below u, new2 below new1 ended(t)\ncheckpoint new2\ntell Interrupt { turn: TurnId(t) }"
    );
    assert_eq!(scene.turn.state(), State::Interrupted);
    scene.interrupt();
    scene.hear(Said::words("m", " to say"));
    assert_eq!(scene.log(), "", "it is over for the conversation");
    scene.hear(Said::Ended(Ending::Interrupted));
    assert_eq!(scene.log(), "close Interrupted");
    assert_eq!(scene.drawn(), "u - new1\"I was about\" - new2*\n");
}

#[test]
fn an_agent_that_does_not_stop_is_given_up() {
    let mut scene = Scene::new("u/t*");
    scene.interrupt();
    scene.log();
    scene.give_up("it does not answer");
    assert_eq!(scene.log(), "close Interrupted");
}

/// a failure ends the turn, and the session is ready again.
#[test]
fn a_failure_is_kept_in_the_reply_and_the_session_is_ready_again() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::words("m", "I begin"));
    scene.hear(Said::Failed { message: "no route".into() });
    let reply = scene.reply("new1");
    assert_eq!(reply.stop, Some(Stop::Error("no route".into())));
    assert_eq!(scene.drawn(), "u - new1\"I begin\"*\n");
    assert!(scene.log().ends_with("close Failed(\"no route\")"));
    assert_eq!(scene.turn.state(), State::Ready);
}

#[test]
fn an_agent_that_cannot_be_reached_is_a_failure_too() {
    let mut scene = Scene::new("u/t*");
    assert_eq!(scene.turn.state(), State::Starting);
    scene.give_up("not installed");
    assert_eq!(scene.reply("new1").stop, Some(Stop::Error("not installed".into())));
    assert_eq!(scene.turn.state(), State::Ready);
}

#[test]
fn what_is_asked_makes_the_turn_wait_until_it_is_answered() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::Asks { request: "r1".into(), asking: permission("ls") });
    assert_eq!(scene.log(), "ask t/r1");
    assert_eq!(scene.turn.state(), State::Waiting(WaitingFor::Permission));
    scene.turn.answered(&AskId::named("t/r1"));
    assert_eq!(scene.turn.state(), State::Running);
    scene.hear(Said::Confirms { request: "r1".into() });
    assert_eq!(scene.log(), "confirmed t/r1");
    scene.hear(Said::Asks { request: "r2".into(), asking: permission("rm") });
    scene.interrupt();
    assert!(scene.log().contains("no longer asked t/r2"), "an interrupted turn asks nothing");
    assert!(matches!(scene.told.last(), Some(AgentInput::Interrupt { .. })));
}

#[test]
fn a_compaction_by_the_agent_is_an_entry_of_its_turn() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::Compacting);
    assert_eq!(scene.turn.state(), State::Compacting);
    scene.hear(Said::Compacted { summary: "All of it".into(), tokens_before: 9000 });
    assert_eq!(scene.log(), "write new1 below u");
    assert_eq!(scene.turn.state(), State::Running);
}

#[test]
fn tokens_go_to_the_reply_that_is_being_written() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Said::words("m", "words"));
    scene.hear(Said::Used(Usage { output: 3, ..Usage::default() }));
    scene.hear(Said::Ended(Ending::Done));
    assert_eq!(scene.reply("new1").usage.map(|usage| usage.output), Some(3));
}
