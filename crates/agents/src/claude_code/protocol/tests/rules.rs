//! One rule each.

use offshoot_session::agent::{
    AgentEventKind, AgentInput, AgentNotice, AgentTurn, AgentTurnEnd, ConnectionEvent, ExitStatus,
    FailureKind, FromAgent, TurnCause,
};
use offshoot_session::asks::{Answer, Asking};
use offshoot_session::{Body, Setting, Stop, TurnId};
use serde_json::{Value, json};

use super::super::laws::{opening, prompt};
use super::super::{Act, Line, Protocol, Timer};
use crate::claude_code::launch::Version;

struct Talk {
    protocol: Protocol,
    acts: Vec<Act>,
}

impl Talk {
    /// Initialized and idle.
    fn ready() -> Self {
        Self::with_account(325, json!({ "tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY" }))
    }

    fn old() -> Self {
        Self::with_account(197, json!({ "apiKeySource": "ANTHROPIC_API_KEY" }))
    }

    fn with_account(patch: u32, account: Value) -> Self {
        let version = Version { major: 2, minor: 1, patch };
        let mut talk = Self { protocol: Protocol::new(opening("s", version)), acts: Vec::new() };
        talk.acts = talk.protocol.start();
        let models = json!([{ "value": "opus", "resolvedModel": "claude-opus" }]);
        talk.line(json!({ "type": "control_response", "response": {
            "subtype": "success", "request_id": "offshoot-1",
            "response": { "account": account, "models": models, "claude_code_version": "2.1.325" },
        }}));
        talk.state("idle");
        talk
    }

    fn line(&mut self, line: Value) {
        self.acts.extend(self.protocol.line(&Line::of(line.to_string().as_bytes())));
    }

    fn input(&mut self, input: AgentInput) {
        self.acts.extend(self.protocol.input(input));
    }

    fn prompt(&mut self, turn: &str, text: &str) {
        self.input(prompt(TurnId::from(turn), &format!("u-{turn}"), text));
    }

    fn state(&mut self, state: &str) {
        self.line(json!({ "type": "system", "subtype": "session_state_changed", "state": state }));
    }

    fn replay(&mut self, turn: &str) {
        let message = json!({ "role": "user", "content": "go" });
        self.line(
            json!({ "type": "user", "uuid": format!("u-{turn}"), "isReplay": true, "message": message }),
        );
    }

    fn taken(&mut self, turn: &str) {
        self.prompt(turn, "go");
        self.state("running");
        self.replay(turn);
    }

    fn event(&mut self, event: Value) {
        self.line(json!({ "type": "stream_event", "event": event }));
    }

    fn streams(&mut self, message: &str, text: &str) {
        self.event(json!({ "type": "message_start", "message": { "id": message } }));
        self.event(json!({ "type": "content_block_start", "index": 0 }));
        let delta = json!({ "type": "text_delta", "text": text });
        self.event(json!({ "type": "content_block_delta", "index": 0, "delta": delta }));
    }

    fn block(&mut self, uuid: &str, message: &str, block: Value) {
        let message = json!({ "id": message, "content": [block], "usage": { "output_tokens": 1 } });
        self.line(json!({ "type": "assistant", "uuid": uuid, "message": message }));
    }

    fn result(&mut self) {
        self.line(
            json!({ "type": "result", "subtype": "success", "is_error": false, "stop_reason": "end_turn" }),
        );
    }

    /// The events since the last look, without deltas.
    fn events(&mut self) -> Vec<(AgentTurn, AgentEventKind)> {
        let events = std::mem::take(&mut self.acts).into_iter().filter_map(|act| match act {
            Act::Report(FromAgent::Turn(event)) => Some((event.turn, event.kind)),
            _ => None,
        });
        events.filter(|(_, kind)| !matches!(kind, AgentEventKind::Delta { .. })).collect()
    }

    fn kinds(&mut self) -> Vec<AgentEventKind> {
        self.events().into_iter().map(|(_, kind)| kind).collect()
    }

    fn writes(&mut self) -> Vec<Value> {
        let acts = std::mem::take(&mut self.acts).into_iter();
        let lines = acts.filter_map(|act| if let Act::Write(line) = act { Some(line) } else { None });
        lines.map(|line| serde_json::from_slice(&line).expect("JSON")).collect()
    }

    fn failure(&mut self) -> Option<FailureKind> {
        self.kinds().into_iter().find_map(|kind| match kind {
            AgentEventKind::Failed(failure) => Some(failure.kind),
            _ => None,
        })
    }
}

fn prompted(turn: &str) -> AgentTurn {
    AgentTurn::Prompted(TurnId::from(turn))
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[test]
fn the_last_block_waits_for_stop_and_usage() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.events();
    talk.streams("m", "one");
    talk.block("a1", "m", text("one"));
    assert_eq!(talk.kinds(), []);
    talk.event(json!({ "type": "content_block_start", "index": 1 }));
    let kinds = talk.kinds();
    let [AgentEventKind::Entry { body: Body::Reply(first), .. }] = &kinds[..] else {
        panic!("an entry: {kinds:?}")
    };
    assert_eq!((&first.stop, first.usage), (&None, None));
    talk.block("a2", "m", text("two"));
    let delta = json!({ "stop_reason": "end_turn" });
    talk.event(json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 7 } }));
    talk.event(json!({ "type": "message_stop" }));
    let kinds = talk.kinds();
    // Usage that an entry has is not reported a second time.
    let [
        AgentEventKind::Entry { id, body: Body::Reply(last), .. },
        AgentEventKind::MessageEnded { stop: None, usage: None, .. },
    ] = &kinds[..]
    else {
        panic!("an entry and the end: {kinds:?}")
    };
    assert_eq!(id.as_ref().map(|id| id.as_str()), Some("a2"));
    assert_eq!((last.stop.clone(), last.usage.map(|usage| usage.output)), (Some(Stop::EndTurn), Some(7)));
}

#[test]
fn a_result_within_a_message_stands_below_its_call() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.streams("m", "one");
    talk.block("a1", "m", json!({ "type": "tool_use", "id": "c", "name": "Bash", "input": {} }));
    talk.events();
    let result = json!({ "type": "tool_result", "tool_use_id": "c", "content": "ok" });
    talk.line(json!({ "type": "user", "uuid": "r", "message": { "role": "user", "content": [result] } }));
    let kinds = talk.kinds();
    let [
        AgentEventKind::Entry { body: Body::Reply(_), .. },
        AgentEventKind::Entry { body: Body::ToolResult(result), .. },
    ] = &kinds[..]
    else {
        panic!("call and result: {kinds:?}")
    };
    assert_eq!(result.tool, "Bash");
}

#[test]
fn text_of_a_message_that_is_asked_for_again_is_void() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.streams("m1", "void");
    talk.events();
    let message = json!({ "id": "m2", "content": [text("whole")], "stop_reason": "end_turn", "usage": { "output_tokens": 9 } });
    talk.line(json!({ "type": "assistant", "uuid": "a", "message": message }));
    talk.result();
    talk.state("idle");
    let kinds = talk.kinds();
    let [
        AgentEventKind::Discarded { message },
        AgentEventKind::Entry { body: Body::Reply(reply), .. },
        AgentEventKind::MessageEnded { .. },
        AgentEventKind::Ended(AgentTurnEnd::Done),
    ] = &kinds[..]
    else {
        panic!("{kinds:?}")
    };
    assert_eq!((message.as_str(), reply.usage.map(|usage| usage.output)), ("m1", Some(9)));
}

#[test]
fn a_turn_is_over_at_result_and_idle() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.events();
    talk.result();
    assert_eq!(talk.kinds(), []);
    talk.prompt("next", "go");
    assert_eq!(talk.writes(), Vec::<Value>::new());
    talk.state("idle");
    let written = talk.writes();
    assert_eq!(written.len(), 1);
    assert_eq!(written[0]["uuid"], "u-next");
}

#[test]
fn an_agent_that_begins_by_itself_gives_way_to_our_prompt() {
    let mut talk = Talk::ready();
    talk.line(json!({ "type": "system", "subtype": "task_notification", "task_id": "b", "summary": "done" }));
    talk.prompt("t", "go");
    talk.state("running");
    talk.acts.clear();
    talk.streams("m", "by itself");
    talk.block("a", "m", text("by itself"));
    talk.replay("t");
    let events = talk.events();
    let itself = AgentTurn::SelfStarted(0);
    assert!(
        matches!(&events[0], (turn, AgentEventKind::Started { cause: TurnCause::TaskEnded { text, .. } })
        if *turn == itself && text == "done")
    );
    let end =
        events.iter().position(|(turn, kind)| *turn == itself && matches!(kind, AgentEventKind::Ended(_)));
    assert_eq!(events.len() - 1, end.expect("the end") + 1);
    assert!(matches!(events.last(), Some((turn, AgentEventKind::Started { .. })) if *turn == prompted("t")));
}

#[test]
fn entries_that_it_has_not_seen_are_injected_one_by_one() {
    let mut talk = Talk::ready();
    let entry = offshoot_session::Entry {
        id: "e".into(),
        parent: None,
        written_at: jiff::Timestamp::UNIX_EPOCH,
        turn: None,
        body: Body::reply("elsewhere"),
    };
    let AgentInput::Prompt { turn, entry: id, delivered_as, prompt, .. } = prompt("t".into(), "u-t", "go")
    else {
        panic!("a prompt")
    };
    let entry = std::sync::Arc::new(entry);
    let before = vec![offshoot_session::agent::Unseen { entry, delivered_as: "e".into() }];
    talk.acts.clear();
    talk.input(AgentInput::Prompt { turn, entry: id, delivered_as, prompt, before });
    let written = talk.writes();
    assert_eq!((&written[0]["shouldQuery"], &written[0]["uuid"]), (&json!(false), &json!("e")));
    talk.state("running");
    talk.line(json!({ "type": "user", "uuid": "e", "isReplay": true, "message": { "content": "" } }));
    talk.result();
    assert_eq!(talk.kinds(), []);
    talk.state("idle");
    let written = talk.writes();
    assert_eq!((&written[0]["uuid"], written[0].get("shouldQuery")), (&json!("u-t"), None));
}

#[test]
fn commands_that_change_sessions_are_refused() {
    for command in ["/clear", "/resume x", "/rewind", "/branch", "/exit"] {
        let mut talk = Talk::ready();
        talk.acts.clear();
        talk.prompt("t", command);
        assert_eq!(talk.failure(), Some(FailureKind::Other), "{command}");
    }
    for text in ["/compact", "/context", "/usr/bin is a path", "hello"] {
        let mut talk = Talk::ready();
        talk.acts.clear();
        talk.prompt("t", text);
        assert_eq!(talk.writes().len(), 1, "{text}");
    }
}

#[test]
fn without_an_account_a_prompt_is_not_sent() {
    let mut talk = Talk::with_account(325, json!({ "tokenSource": "none", "apiProvider": "firstParty" }));
    talk.acts.clear();
    talk.prompt("t", "go");
    assert!(talk.acts.contains(&Act::End));
    assert!(!talk.acts.iter().any(|act| matches!(act, Act::Write(_))));
    assert_eq!(talk.failure(), Some(FailureKind::SignIn));
}

#[test]
fn a_refused_key_is_not_retried() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.acts.clear();
    talk.line(json!({
        "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 600,
        "error_status": 401, "error": "authentication_failed",
    }));
    assert!(talk.acts.iter().any(|act| matches!(act, Act::Arm(Timer::Idle, _))));
    assert_eq!(talk.writes()[0]["request"]["subtype"], "interrupt");
    let aborted = json!({ "type": "result", "is_error": true, "terminal_reason": "aborted_streaming" });
    talk.line(aborted);
    talk.state("idle");
    assert_eq!(talk.failure(), Some(FailureKind::SignIn));
}

#[test]
fn kinds_of_failures() {
    let check = |status: Value, words: &str, kind: FailureKind| {
        let mut talk = Talk::ready();
        talk.taken("t");
        talk.line(json!({
            "type": "result", "subtype": "success", "is_error": true, "terminal_reason": "api_error",
            "api_error_status": status, "result": words,
        }));
        talk.state("idle");
        assert_eq!(talk.failure(), Some(kind), "{words}");
    };
    check(json!(401), "no", FailureKind::SignIn);
    check(json!(403), "no", FailureKind::SignIn);
    check(json!(429), "no", FailureKind::RateLimited { until: None });
    check(json!(529), "no", FailureKind::Overloaded);
    check(json!(400), "no", FailureKind::Api { status: 400 });
    check(json!(400), "Prompt is too long", FailureKind::ContextFull);
    check(json!(500), "no", FailureKind::Api { status: 500 });
    check(Value::Null, "Not logged in · Please run /login", FailureKind::SignIn);
    check(Value::Null, "Connection error", FailureKind::Network);
}

#[test]
fn an_interrupted_agent_that_does_not_stop_is_ended() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.streams("m", "on and on");
    talk.input(AgentInput::Interrupt { turn: prompted("t") });
    talk.acts.clear();
    talk.acts = talk.protocol.elapsed(Timer::Idle);
    assert!(talk.acts.contains(&Act::End));
    let told = AgentNotice::new("Claude Code had to be ended");
    let told = Act::Report(FromAgent::Connection(ConnectionEvent::Notice(told)));
    assert_eq!(talk.acts.first(), Some(&told), "before the end of the turn");
    let kinds = talk.kinds();
    assert!(
        matches!(
            &kinds[..],
            [AgentEventKind::Discarded { .. }, AgentEventKind::Ended(AgentTurnEnd::Interrupted)]
        ),
        "{kinds:?}"
    );
    assert_eq!(talk.protocol.line(&Line::of(br#"{"type":"result"}"#)), []);
}

#[test]
fn a_prompt_that_is_interrupted_before_it_is_taken_is_cancelled() {
    let mut talk = Talk::ready();
    talk.prompt("t", "go");
    talk.acts.clear();
    talk.input(AgentInput::Interrupt { turn: prompted("t") });
    let request = talk.writes().remove(0);
    assert_eq!(request["request"]["cancel_queued"], true);
    talk.line(json!({ "type": "control_response", "response": {
        "subtype": "success", "request_id": request["request_id"], "response": { "cancelled": ["u-t"] },
    }}));
    assert_eq!(talk.events(), [(prompted("t"), AgentEventKind::Ended(AgentTurnEnd::Interrupted))]);
}

#[test]
fn two_asks_are_open_at_once_and_each_is_answered_once() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.acts.clear();
    for id in ["k1", "k2"] {
        let request = json!({ "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": "ls" }, "tool_use_id": id });
        talk.line(json!({ "type": "control_request", "request_id": id, "request": request }));
    }
    assert_eq!(talk.kinds().len(), 2);
    let answer =
        |request: &str, answer| AgentInput::Answer { turn: "t".into(), request: request.into(), answer };
    talk.input(answer("k2", Answer::Allow { input: Some(json!({ "command": "pwd" })), suggestion: None }));
    talk.input(answer("k2", Answer::Deny { message: None }));
    talk.input(answer("k1", Answer::Allow { input: None, suggestion: None }));
    let written = talk.writes();
    let inputs: Vec<_> =
        written.iter().map(|line| &line["response"]["response"]["updatedInput"]["command"]).collect();
    assert_eq!(inputs, ["pwd", "ls"]);
    talk.line(
        json!({ "type": "control_response", "response": { "subtype": "success", "request_id": "k2" } }),
    );
    assert_eq!(talk.kinds(), [AgentEventKind::AskConfirmed { request: "k2".into() }]);
    talk.line(json!({ "type": "control_cancel_request", "request_id": "k1" }));
    assert_eq!(talk.kinds(), [AgentEventKind::AskWithdrawn { request: "k1".into() }]);
    talk.input(answer("k1", Answer::Deny { message: None }));
    assert_eq!(talk.writes(), Vec::<Value>::new());
}

#[test]
fn answers_are_named_by_their_questions() {
    let mut talk = Talk::ready();
    talk.taken("t");
    let questions = json!([{ "question": "Which?", "header": "H", "multiSelect": true, "options": [{ "label": "A" }, { "label": "B" }] }]);
    let request = json!({ "subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": { "questions": questions } });
    talk.line(json!({ "type": "control_request", "request_id": "k", "request": request }));
    assert!(
        matches!(&talk.kinds()[..], [.., AgentEventKind::Ask { ask: Asking::Questions(asked), .. }] if asked[0].several)
    );
    let answer = Answer::Choose(vec![vec!["A".into(), "B".into()]]);
    talk.input(AgentInput::Answer { turn: "t".into(), request: "k".into(), answer });
    let written = talk.writes();
    assert_eq!(written[0]["response"]["response"]["updatedInput"]["answers"], json!({ "Which?": "A, B" }));
}

#[test]
fn the_plan_is_in_the_call() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.block(
        "a",
        "m",
        json!({ "type": "tool_use", "id": "c", "name": "ExitPlanMode", "input": { "plan": "1. go" } }),
    );
    let request =
        json!({ "subtype": "can_use_tool", "tool_name": "ExitPlanMode", "input": {}, "tool_use_id": "c" });
    talk.line(json!({ "type": "control_request", "request_id": "k", "request": request }));
    assert!(
        matches!(talk.kinds().last(), Some(AgentEventKind::Ask { ask: Asking::Permission(permission), .. })
        if permission.input["plan"] == "1. go")
    );
}

#[test]
fn usage_without_differences_is_the_difference_of_totals() {
    let mut talk = Talk::old();
    let mut spent = |total: i64| {
        talk.taken("t");
        let usage = json!({ "claude-opus[1m]": { "inputTokens": total, "outputTokens": 0, "costUSD": 0.0 } });
        talk.line(json!({ "type": "result", "is_error": false, "modelUsage": usage }));
        talk.state("idle");
        talk.kinds().into_iter().find_map(|kind| match kind {
            AgentEventKind::Spent(sums) => {
                Some((sums[0].model.clone().expect("model").name, sums[0].usage.input))
            }
            _ => None,
        })
    };
    assert_eq!(spent(100), Some(("claude-opus".into(), 100)));
    assert_eq!(spent(130), Some(("claude-opus".into(), 30)));
    assert_eq!(spent(40), Some(("claude-opus".into(), 40)));
}

#[test]
fn the_window_of_its_model_is_reported_once() {
    let mut talk = Talk::ready();
    talk.line(json!({ "type": "system", "subtype": "init", "session_id": "s", "model": "claude-opus[1m]" }));
    let mut windows = || {
        talk.taken("t");
        let usage = json!({
            "claude-haiku": { "contextWindow": 200_000 }, "claude-opus": { "contextWindow": 1_000_000 },
        });
        talk.acts.clear();
        talk.line(json!({ "type": "result", "is_error": false, "modelUsage": usage }));
        talk.state("idle");
        let opened = talk.acts.iter().filter_map(|act| match act {
            Act::Report(FromAgent::Connection(ConnectionEvent::Opened(info))) => Some(info.context_window),
            _ => None,
        });
        opened.collect::<Vec<_>>()
    };
    assert_eq!(windows(), [Some(1_000_000)]);
    assert_eq!(windows(), []);
}

#[test]
fn the_output_of_a_sign_in_is_reported_until_it_is_done() {
    let mut talk = Talk::ready();
    talk.acts.clear();
    talk.line(json!({ "type": "auth_status", "isAuthenticating": true, "output": ["Open this page"] }));
    talk.line(json!({
        "type": "auth_status", "isAuthenticating": false, "output": ["Open this page"], "error": "it timed out",
    }));
    let told = talk.acts.iter().filter_map(|act| match act {
        Act::Report(FromAgent::Connection(ConnectionEvent::SignIn { lines, done })) => {
            Some((lines.join("/"), *done))
        }
        _ => None,
    });
    let told: Vec<_> = told.collect();
    assert_eq!(told, [("Open this page".into(), false), ("Open this page/it timed out".into(), true)]);
}

#[test]
fn settings_are_checked_before_they_are_sent() {
    let mut talk = Talk::ready();
    let model = |name: &str| Setting::Model {
        role: None,
        model: offshoot_session::Model { provider: "anthropic".into(), name: name.into() },
    };
    let mut sent = |setting: Setting| {
        talk.acts.clear();
        talk.input(AgentInput::Configure(vec![setting]));
        talk.writes().first().map(|line| line["request"].clone())
    };
    assert_eq!(sent(model("claude-opus")), Some(json!({ "subtype": "set_model", "model": "claude-opus" })));
    assert_eq!(sent(model("opus")), Some(json!({ "subtype": "set_model", "model": "opus" })));
    assert_eq!(sent(model("nonsense")), None);
    assert_eq!(sent(Setting::PermissionMode("bypassPermissions".into())), None);
    assert_eq!(
        sent(Setting::PermissionMode("plan".into())),
        Some(json!({ "subtype": "set_permission_mode", "mode": "plan" }))
    );
    assert_eq!(
        sent(Setting::Thinking(Some("high".into()))),
        Some(json!({ "subtype": "apply_flag_settings", "settings": { "effortLevel": "high" } }))
    );
}

#[test]
fn garbage_is_noticed_once_and_ends_the_process() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.acts.clear();
    for _ in 0..19 {
        talk.acts.extend(talk.protocol.line(&Line::of(b"garbage")));
    }
    let notices = |acts: &[Act]| {
        let is_notice =
            |act: &&Act| matches!(act, Act::Report(FromAgent::Connection(ConnectionEvent::Notice(_))));
        acts.iter().filter(is_notice).count()
    };
    assert_eq!(notices(&talk.acts), 1);
    assert!(!talk.acts.contains(&Act::End));
    talk.acts.extend(talk.protocol.line(&Line::of(b"garbage")));
    assert!(talk.acts.contains(&Act::End));
    assert_eq!(talk.failure(), Some(FailureKind::Protocol));
}

#[test]
fn a_line_that_is_too_long_ends_the_process() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.acts = talk.protocol.line_too_long(1 << 26);
    assert!(talk.acts.contains(&Act::End));
    assert_eq!(talk.failure(), Some(FailureKind::Protocol));
}

#[test]
fn an_agent_that_is_silent_is_noticed_and_not_ended() {
    let mut talk = Talk::ready();
    talk.taken("t");
    assert!(talk.acts.iter().any(|act| matches!(act, Act::Arm(Timer::Silence, _))));
    talk.acts.clear();
    talk.acts = talk.protocol.elapsed(Timer::Silence);
    let [Act::Report(FromAgent::Connection(ConnectionEvent::Notice(notice)))] = talk.acts.as_slice() else {
        panic!("{:?}", talk.acts)
    };
    assert_eq!(notice.text, "no output from Claude Code for 60 s: wait, or interrupt it");
    talk.result();
    talk.state("idle");
    assert!(matches!(talk.kinds().last(), Some(AgentEventKind::Ended(AgentTurnEnd::Done))));
}

#[test]
fn the_end_of_the_process_fails_the_turn_first() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.prompt("waiting", "go");
    talk.acts = talk.protocol.exited(ExitStatus::Signal(9), "last words");
    let is_exit =
        |act: &Act| matches!(act, Act::Report(FromAgent::Connection(ConnectionEvent::Exited { .. })));
    assert!(talk.acts.last().is_some_and(is_exit));
    let failed: Vec<_> = talk.events().into_iter().map(|(turn, _)| turn).collect();
    assert_eq!(failed, [prompted("t")], "another process may take the prompt that waits");
}

#[test]
fn a_sub_agent_ends_at_its_notification() {
    let mut talk = Talk::ready();
    talk.taken("t");
    talk.events();
    talk.line(json!({ "type": "system", "subtype": "task_started", "task_id": "a", "tool_use_id": "c", "task_type": "local_agent" }));
    let message = json!({ "id": "m", "content": [text("sub")] });
    let line = json!({ "type": "assistant", "uuid": "s1", "parent_tool_use_id": "c", "message": message });
    talk.line(line.clone());
    talk.result();
    talk.line(
        json!({ "type": "system", "subtype": "task_notification", "task_id": "a", "status": "completed" }),
    );
    talk.line(line);
    let kinds = talk.kinds();
    assert!(
        matches!(
            &kinds[..],
            [
                AgentEventKind::Started { .. },
                AgentEventKind::Entry { .. },
                AgentEventKind::MessageEnded { .. },
                AgentEventKind::Ended(AgentTurnEnd::Done),
            ]
        ),
        "{kinds:?}"
    );
}

#[test]
fn a_cleared_conversation_is_another_session() {
    let mut talk = Talk::ready();
    talk.acts.clear();
    talk.line(json!({ "type": "conversation_reset", "session_id": "s", "new_conversation_id": "third" }));
    talk.line(json!({ "type": "system", "subtype": "init", "session_id": "next" }));
    let changed = talk.acts.iter().find_map(|act| match act {
        Act::Report(FromAgent::Connection(ConnectionEvent::SessionChanged { to, cause })) => {
            Some((to.as_str(), *cause))
        }
        _ => None,
    });
    assert_eq!(changed, Some(("next", offshoot_session::agent::SessionChange::Cleared)));
}

#[test]
fn lines_of_unknown_kinds_are_counted() {
    let mut talk = Talk::ready();
    talk.acts.clear();
    for _ in 0..2 {
        talk.line(json!({ "type": "keep_alive" }));
    }
    assert_eq!(talk.acts, []);
    assert_eq!(talk.protocol.unknown().get("keep_alive"), Some(&2));
}
