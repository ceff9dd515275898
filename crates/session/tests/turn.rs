//! A turn as it happens: events in, effects out, and the tree that the effects make.

#![expect(clippy::unwrap_used, clippy::panic, reason = "what a helper cannot unwrap fails the test")]

#[path = "turn/laws.rs"]
mod laws;
#[path = "turn/recovery.rs"]
mod recovery;
#[path = "turn/scene.rs"]
mod scene;

use offshoot_session::agent::{
    AgentEvent, AgentEventKind as Kind, AgentInput, AgentTurnEnd, DeltaField, ModelUsage,
};
use offshoot_session::asks::{AskId, Asking, Permission};
use offshoot_session::status::{State, WaitingFor};
use offshoot_session::turn::Phase;
use offshoot_session::{Block, Body, Reply, Stop, ToolResult, ToolUse, Usage};
use scene::Scene;
use serde_json::json;

fn permission(command: &str) -> Asking {
    let input = json!({ "command": command });
    Asking::Permission(Permission {
        tool: "shell".into(),
        input,
        call: None,
        reason: None,
        suggestions: Vec::new(),
    })
}

fn reply(message: &str, text: &str) -> Kind {
    Kind::entry(message, Body::Reply(scene::reply(text)))
}

/// The entry of a call, with the words before it.
fn calls(message: &str, words: &str, call: &str, tool: &str, input: serde_json::Value) -> Kind {
    let tool_use = ToolUse { id: call.into(), name: tool.into(), input };
    let words = (!words.is_empty()).then(|| Block::Text(words.into()));
    let blocks = words.into_iter().chain([Block::ToolUse(tool_use)]).collect();
    Kind::entry(message, Body::Reply(Reply { blocks, ..Reply::default() }))
}

fn result(call: &str, text: &str) -> Kind {
    let blocks = vec![Block::Text(text.into())];
    let result = ToolResult {
        call: call.into(),
        tool: String::new(),
        blocks,
        failed: false,
        usage: None,
        changed_input: None,
    };
    Kind::Entry { id: None, message: None, body: Body::ToolResult(result) }
}

const DONE: Kind = Kind::Ended(AgentTurnEnd::Done);

/// R-124: one function takes the events of a turn, however it began.
#[test]
fn words_are_shown_at_once_and_written_when_the_message_is_whole() {
    let mut scene = Scene::new("u/t*");
    scene.start(Some("s1"));
    assert_eq!(scene.log(), "write bound(u, s1, continued)");
    scene.hear(Kind::text("m", "Good "));
    scene.hear(Kind::text("m", "day"));
    assert_eq!(scene.log(), "show new1 \"Good \"\nshow new1 + \"day\"");
    assert_eq!(scene.drawn(), "u*\n", "nothing is final yet");
    assert_eq!(scene.shown(), "u - new1\"Good day\"*\n");
    scene.hear(reply("m", "Good day."));
    assert_eq!(scene.log(), "write new1 below u");
    assert_eq!(scene.drawn(), "u - new1\"Good day.\"*\n");
    scene.hear(DONE);
    assert_eq!(scene.log(), "write bound(u, s1, continued, m) ended(t)\ncheckpoint new1\nclose Done");
    assert_eq!(scene.turn.phase(), Phase::Ended);
}

/// R-034: more of the same message replaces it, another message is appended.
#[test]
fn another_message_makes_the_one_before_final() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Kind::text("m1", "one"));
    scene.hear(Kind::text("m2", "two"));
    assert_eq!(scene.log(), "show new1 \"one\"\nwrite new1 below u\nshow new2 \"two\"");
    scene.hear(DONE);
    assert_eq!(scene.drawn(), "u - new1\"one\" - new2\"two\"*\n");
}

/// R-033: streamed output goes to the turn that it belongs to.
#[test]
fn a_turn_writes_below_its_prompt_wherever_the_head_is() {
    let mut scene = Scene::new("u1 - a1 - u/t\n a1 - u2 - a2*");
    scene.hear(Kind::text("m", "late"));
    scene.hear(DONE);
    assert_eq!(scene.drawn(), "u1 - a1 - u - new1\"late\"\n     a1 - u2 - a2*\n");
}

/// R-123: output of an older turn is ignored.
#[test]
fn what_belongs_to_another_turn_changes_nothing() {
    let mut scene = Scene::new("u/t*");
    let effects = scene.take(AgentEvent::new("yesterday".into(), Kind::text("m", "stale")));
    assert_eq!(effects, Vec::new());
    assert_eq!(scene.shown(), "u*\n");
}

/// R-126: a reply with nothing to show is no entry.
#[test]
fn a_reply_with_nothing_to_show_writes_no_entry_and_keeps_what_it_cost() {
    let mut scene = Scene::new("u/t*");
    let usage = Usage { input: 7, ..Usage::default() };
    let blank = Reply { usage: Some(usage), ..scene::reply("  \n") };
    scene.hear(Kind::entry("m", Body::Reply(blank)));
    assert_eq!(scene.log(), "write spent(7)");
    scene.hear(Kind::Entry { id: None, message: None, body: Body::Reply(Reply::default()) });
    assert_eq!(scene.log(), "");
    scene.hear(DONE);
    assert_eq!(scene.drawn(), "u*\n");
}

#[test]
fn a_call_and_its_result_are_entries_in_their_order() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Kind::text("m", "I look."));
    scene.hear(calls("m", "I look.", "c1", "read", json!({ "path": "a.txt" })));
    scene.hear(result("c1", "contents"));
    assert_eq!(scene.log().lines().last(), Some("write new2 below new1"));
    let tool = scene.tree.entry(&"new2".into()).unwrap().body.clone();
    assert!(matches!(tool, offshoot_session::Body::ToolResult(result) if result.tool == "read"));
}

/// R-125: what a sub-agent says is kept apart from the conversation.
#[test]
fn what_a_sub_agent_says_is_a_tree_of_its_own_that_names_its_call() {
    let mut scene = Scene::new("u/t*");
    scene.hear(calls("m", "", "c1", "task", json!({ "prompt": "Count", "description": "Counting" })));
    scene.log();
    scene.hear_sub_agent("c1", Kind::text("s", "One,"));
    assert_eq!(scene.log(), "write new3 at the root, new4 below new3\nshow new5 \"One,\"");
    scene.hear(Kind::text("n", "meanwhile"));
    scene.hear_sub_agent("c1", Kind::text("s", " two"));
    assert_eq!(scene.log(), "show new6 \"meanwhile\"\nshow new5 + \" two\"");
    scene.hear_sub_agent("c1", DONE);
    scene.hear(result("c1", "two"));
    assert_eq!(scene.drawn(), "u - new1 - new7*\nnew3 - new4\"Count\" - new5\"One, two\"\n");
    let offshoot_session::Body::Note(note) = &scene.tree.entry(&"new3".into()).unwrap().body else {
        panic!("no note")
    };
    assert_eq!(note.data, Some(json!({ "call": "c1", "entry": "new1", "description": "Counting" })));
    scene.hear_sub_agent("c1", Kind::text("s", "too late"));
    scene.hear(DONE);
    assert!(!scene.drawn().contains("too late"));
}

/// Transcripts of agents lack it, so the result has it.
#[test]
fn a_result_says_what_its_tool_was_given_instead() {
    let mut scene = Scene::new("u/t*");
    scene.hear(calls("m", "", "c1", "shell", json!({ "command": "rm x" })));
    scene.hear(calls("n", "", "c2", "shell", json!({ "command": "ls" })));
    scene.turn.input_changed("c1".into(), json!({ "command": "rm y" }));
    scene.hear(result("c1", "done"));
    scene.hear(result("c2", "done"));
    scene.hear(result("c1", "again"));
    let given = scene.tree.entries().filter_map(|entry| match &entry.body {
        Body::ToolResult(result) => Some(result.changed_input.as_deref().cloned()),
        _ => None,
    });
    assert_eq!(given.collect::<Vec<_>>(), [Some(json!({ "command": "rm y" })), None, None]);
}

/// R-129: an interruption keeps what was said and marks it. The turn ends when its agent has stopped.
#[test]
fn an_interruption_leaves_what_was_said_and_one_entry_and_drops_the_rest() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Kind::text("m", "I was about"));
    scene.log();
    scene.interrupt();
    assert_eq!(scene.log(), "tell Interrupt { turn: Prompted(TurnId(t)) }");
    assert_eq!(scene.turn.state(), State::Interrupted);
    scene.interrupt();
    scene.hear(Kind::text("m", " to say"));
    scene.hear(Kind::Ask { request: "r".into(), ask: permission("ls") });
    assert_eq!(scene.log(), "", "it is over for the conversation");
    scene.hear(Kind::Ended(AgentTurnEnd::Interrupted));
    assert_eq!(
        scene.log(),
        "write new1 below u, new2 below new1 ended(t)\ncheckpoint new2\nclose Interrupted"
    );
    assert_eq!(scene.drawn(), "u - new1\"I was about\" - new2*\n");
}

/// Rule 4: an interrupted agent may finish the block it is writing and account for its usage.
#[test]
fn an_interrupted_agent_finishes_its_block() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Kind::text("m", "I was ab"));
    scene.interrupt();
    scene.log();
    scene.hear(reply("m", "I was about"));
    let usage = Usage { output: 4, ..Usage::default() };
    scene.hear(Kind::Spent(vec![ModelUsage { model: None, usage }]));
    assert_eq!(scene.log(), "write new1 below u\nwrite spent(4)");
    scene.hear(DONE);
    assert_eq!(scene.drawn(), "u - new1\"I was about\" - new2*\n");
    assert!(scene.log().ends_with("close Interrupted"), "whatever the agent calls it");
}

#[test]
fn an_agent_that_does_not_stop_is_given_up() {
    let mut scene = Scene::new("u/t*");
    scene.interrupt();
    scene.log();
    scene.give_up("it does not answer");
    assert_eq!(scene.log(), "write new1 below u ended(t)\ncheckpoint new1\nclose Interrupted");
}

/// R-127: a failure ends the turn, and the session is ready again.
#[test]
fn a_failure_is_kept_in_the_reply_and_the_session_is_ready_again() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Kind::text("m", "I begin"));
    scene.hear(Kind::Failed(scene::failure("no route")));
    let reply = scene.reply("new1");
    assert_eq!(reply.stop, Some(Stop::Error("no route".into())));
    assert_eq!(scene.drawn(), "u - new1\"I begin\"*\n");
    assert!(scene.log().ends_with("close failed \"no route\""));
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
    scene.hear(Kind::Ask { request: "r1".into(), ask: permission("ls") });
    assert_eq!(scene.log(), "ask t/r1");
    assert_eq!(scene.turn.state(), State::Waiting(WaitingFor::Permission));
    scene.turn.answered(&AskId::named("t/r1"));
    assert_eq!(scene.turn.state(), State::Running);
    scene.hear(Kind::AskConfirmed { request: "r1".into() });
    assert_eq!(scene.log(), "confirmed t/r1");
    scene.hear(Kind::Ask { request: "r2".into(), ask: permission("rm") });
    scene.interrupt();
    assert!(scene.log().contains("no longer asked t/r2"), "an interrupted turn asks nothing");
    assert!(matches!(scene.told.last(), Some(AgentInput::Interrupt { .. })));
}

#[test]
fn a_compaction_by_the_agent_is_an_entry_of_its_turn() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Kind::Compacting);
    assert_eq!(scene.turn.state(), State::Compacting);
    scene.hear(Kind::Compacted { summary: "All of it".into(), tokens_before: 9000, first_kept: None });
    assert_eq!(scene.log(), "write new1 below u");
    assert_eq!(scene.turn.state(), State::Running);
}

#[test]
fn tokens_go_to_the_reply_that_is_being_written() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Kind::text("m", "words"));
    let usage = Some(Usage { output: 3, ..Usage::default() });
    scene.hear(Kind::MessageEnded { message: "m".into(), stop: None, usage });
    scene.hear(DONE);
    assert_eq!(scene.reply("new1").usage.map(|usage| usage.output), Some(3));
}

/// Rule 6: of a sum only what no entry carries is written.
#[test]
fn a_sum_adds_only_what_no_entry_carries() {
    let mut scene = Scene::new("u/t*");
    let usage = |output, cost_micros| Usage { output, cost_micros, ..Usage::default() };
    let sum = |output, cost| Kind::Spent(vec![ModelUsage { model: None, usage: usage(output, cost) }]);
    let carries = Reply { usage: Some(usage(3, 0)), ..scene::reply("words") };
    scene.hear(Kind::entry("m", Body::Reply(carries)));
    scene.log();
    scene.hear(sum(5, 0));
    assert_eq!(scene.log(), "write spent(2)");
    scene.hear(sum(1, 9));
    assert_eq!(scene.log(), "write spent(1) spent(0)", "tokens, and the money apart from them");
    scene.hear(sum(0, 0));
    assert_eq!(scene.log(), "");
}

/// Rule 1: live text has an id of ours, and the agent's entry replaces it.
#[test]
fn an_entry_with_an_id_of_the_agents_replaces_the_live_text() {
    let mut scene = Scene::new("u/t*");
    scene.start(Some("s"));
    scene.hear(Kind::text("m", "Good"));
    scene.log();
    let body = || Body::Reply(scene::reply("Good day"));
    let entry = |message: &str| Kind::Entry {
        id: Some("theirs".into()),
        message: Some(message.into()),
        body: body(),
    };
    scene.hear(entry("m"));
    assert_eq!(scene.log(), "replace new1 by theirs\nwrite theirs below u");
    scene.hear(entry("m"));
    assert_eq!(scene.log(), "", "an id that is in the tree is the same entry");
    scene.hear(DONE);
    assert!(scene.log().contains("bound(u, s, continued, theirs)"), "a fork may begin there");
}

/// Rule 2: a result is written at the tip at once, and the text that grows hangs below it.
#[test]
fn a_result_comes_between_the_blocks_of_a_message() {
    let mut scene = Scene::new("u/t*");
    scene.hear(calls("m", "", "c1", "read", json!({})));
    scene.hear(Kind::Delta { message: "m".into(), part: 1, field: DeltaField::Text, text: "And".into() });
    scene.log();
    scene.hear(result("c1", "contents"));
    assert_eq!(scene.log(), "write new3 below new1\nshow new2 \"And\"");
    scene.hear(reply("m", "And now"));
    scene.hear(DONE);
    assert_eq!(scene.drawn(), "u - new1 - new3 - new2\"And now\"*\n");
}

/// Rule 3: whatever was shown is written, replaced or discarded.
#[test]
fn text_that_turns_out_void_is_discarded() {
    let mut scene = Scene::new("u/t*");
    scene.hear(Kind::text("m", "Half a"));
    scene.log();
    scene.hear(Kind::Discarded { message: "other".into() });
    assert_eq!(scene.log(), "");
    scene.hear(Kind::Discarded { message: "m".into() });
    assert_eq!(scene.log(), "discard new1");
    assert_eq!(scene.shown(), "u*\n");
    scene.hear(reply("n", "Whole"));
    scene.hear(DONE);
    assert_eq!(scene.drawn(), "u - new2\"Whole\"*\n");
}

/// Rule 5: a sub-agent in the background ends by itself, or with the turn.
#[test]
fn a_sub_agent_outlives_the_result_of_its_call() {
    let mut scene = Scene::new("u/t*");
    scene.hear(calls("m", "", "c1", "task", json!({ "prompt": "Count" })));
    scene.hear_sub_agent("c1", Kind::text("s", "One"));
    scene.hear(result("c1", "started"));
    scene.hear_sub_agent("c1", Kind::text("s", ", two"));
    scene.hear(DONE);
    assert!(scene.drawn().contains("\"One, two\""), "{}", scene.drawn());
}
