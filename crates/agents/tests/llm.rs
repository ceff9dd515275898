//! The agent `llm` and a scripted server of models: what it reports, and in which order.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot ask the server has failed")]

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use offshoot_agents::llm::Llm;
use offshoot_agents::{Agent, AgentConnection};
use offshoot_session::agent::{
    AgentEvent, AgentEventKind, AgentInput, AgentStart, AgentTurn, AgentTurnEnd, Environment, FailureKind,
    FromAgent, Host,
};
use offshoot_session::handoff::Handoff;
use offshoot_session::{Block, Body, Entry, Model, Prompt, Reply, Setting, Stop, TurnId, Usage};
use offshoot_testkit::model::{Failure, ModelServer, Script, call, fail, gate, say, think};
use serde_json::json;

/// A test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A model whose window is known.
const MODEL: &str = "gpt-4o";

struct Scene {
    server: Arc<ModelServer>,
    connection: AgentConnection,
    turn: TurnId,
    workspace: tempfile::TempDir,
    /// What was reported as final.
    written: Vec<Body>,
}

impl Scene {
    async fn new(script: Script, path: Vec<Body>) -> Self {
        let server = Arc::new(ModelServer::start(script).unwrap());
        let workspace = tempfile::tempdir().unwrap();
        let variables = [("OPENAI_BASE_URL", server.url() + "/v1"), ("OPENAI_API_KEY", "a key".to_owned())];
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        let model = Model { provider: "openai".into(), name: MODEL.into() };
        let start = AgentStart {
            session: "s".into(),
            workspace: Some(workspace.path().to_owned()),
            handoff: Handoff::Stateless,
            settings: vec![Setting::Model { role: None, model }],
            context: Arc::new(entries(path)),
            environment: Environment::from_iter(variables),
            host: Host::default(),
            is_watched: true,
            lease: Default::default(),
        };
        let connection = Llm::default().connect(start).await.unwrap();
        Self { server, connection, turn: TurnId::from("t1"), workspace, written: Vec::new() }
    }

    async fn send(&self, text: &str) {
        let prompt = Prompt { blocks: vec![Block::Text(text.into())], ..Prompt::default() };
        let (turn, entry) = (self.turn.clone(), "prompt".into());
        let delivered_as = "prompt".into();
        let input = AgentInput::Prompt { turn, entry, delivered_as, prompt, before: Vec::new() };
        self.connection.inputs.send(input).await.unwrap();
    }

    async fn interrupt(&self) {
        let turn = AgentTurn::Prompted(self.turn.clone());
        self.connection.inputs.send(AgentInput::Interrupt { turn }).await.unwrap();
    }

    async fn wait_at(&self, gate: &'static str) {
        let server = Arc::clone(&self.server);
        assert!(tokio::task::spawn_blocking(move || server.wait_at(gate)).await.unwrap());
    }

    /// Everything up to the event that these words begin.
    async fn until(&mut self, end: &str) -> Vec<String> {
        let mut told = Vec::new();
        loop {
            let event = tokio::time::timeout(PATIENCE, self.connection.events.recv()).await;
            let event = event.expect("in time").expect("an event");
            told.push(line(&event));
            if let FromAgent::Turn(AgentEvent { kind: AgentEventKind::Entry { body, .. }, .. }) = event {
                self.written.push(body);
            }
            if told.last().is_some_and(|line| line.starts_with(end)) {
                return told;
            }
        }
    }

    async fn until_over(&mut self) -> Vec<String> {
        self.until("over").await
    }
}

fn entries(bodies: Vec<Body>) -> Vec<Arc<Entry>> {
    let entry = |(at, body): (usize, Body)| {
        let parent = at.checked_sub(1).map(|above| format!("e{above}").into());
        let (id, written_at) = (format!("e{at}").into(), Timestamp::UNIX_EPOCH);
        Arc::new(Entry { id, parent, written_at, turn: None, body })
    };
    bodies.into_iter().enumerate().map(entry).collect()
}

fn line(event: &FromAgent) -> String {
    let FromAgent::Turn(event) = event else { return "opened".to_owned() };
    match &event.kind {
        AgentEventKind::Started { .. } => "started".to_owned(),
        AgentEventKind::Delta { part, text, .. } => format!("delta {part} {text}"),
        AgentEventKind::Entry { body: Body::Reply(reply), .. } => format!("reply {}", words(reply)),
        AgentEventKind::Entry { body, .. } => format!("entry {}", body.text()),
        AgentEventKind::Discarded { .. } => "discarded".to_owned(),
        AgentEventKind::Retrying { attempt, of, wait, cause } => {
            let kind = match cause.kind {
                FailureKind::RateLimited { .. } => "RateLimited".to_owned(),
                kind => format!("{kind:?}"),
            };
            format!("retrying {attempt}/{of} {kind} {}", wait.as_secs_f64() > 0.3)
        }
        AgentEventKind::Compacting => "compacting".to_owned(),
        AgentEventKind::Compacted { summary, first_kept, .. } => {
            format!("compacted {summary} {}", first_kept.as_ref().map_or("-", |kept| kept.as_str()))
        }
        AgentEventKind::Spent(_) => "spent".to_owned(),
        AgentEventKind::Ended(end) => match end {
            AgentTurnEnd::Done => "over: done".to_owned(),
            AgentTurnEnd::Interrupted => "over: interrupted".to_owned(),
            AgentTurnEnd::Limit => "over: limit".to_owned(),
        },
        AgentEventKind::Failed(failure) => format!("over: {:?}", failure.kind),
        other => format!("{other:?}"),
    }
}

fn words(reply: &Reply) -> String {
    let block = |block: &Block| match block {
        Block::Text(text) => text.clone(),
        Block::Thinking(text) => format!("({text})"),
        other => format!("{other:?}"),
    };
    let mut words: Vec<String> = reply.blocks.iter().map(block).collect();
    words.extend(reply.stop.as_ref().filter(|stop| **stop != Stop::EndTurn).map(|stop| match stop {
        Stop::Error(_) => "[failed]".to_owned(),
        other => format!("[{other:?}]"),
    }));
    words.join(" ")
}

#[tokio::test]
async fn an_answer_is_shown_as_it_comes_and_then_written() {
    let script = Script::new().when("hello", [think("hm").in_pieces(1), say("ab").in_pieces(2)]);
    let mut scene = Scene::new(script, Vec::new()).await;
    scene.send("hello").await;
    assert_eq!(
        scene.until_over().await,
        ["opened", "started", "delta 0 hm", "delta 1 a", "delta 1 b", "reply (hm) ab", "spent", "over: done"]
    );
}

#[tokio::test]
async fn a_request_that_fails_is_sent_again_and_what_it_had_begun_is_void() {
    let script = Script::new()
        .when("hello", [say("ab").in_pieces(1)])
        .only_after([Failure::status(500), Failure::rate_limited(1)]);
    let mut scene = Scene::new(script, Vec::new()).await;
    scene.send("hello").await;
    assert_eq!(
        scene.until_over().await,
        [
            "opened",
            "started",
            "retrying 1/6 Api { status: 500 } true",
            "retrying 2/6 RateLimited true",
            "delta 0 ab",
            "reply ab",
            "spent",
            "over: done"
        ]
    );
}

#[tokio::test]
async fn finished_blocks_of_a_lost_answer_stay_and_the_open_one_is_void() {
    let lost = [think("hm").in_pieces(1), say("ab").in_pieces(1), fail(Failure::Drop)];
    let mut scene = Scene::new(Script::new().when("hello", lost), Vec::new()).await;
    scene.send("hello").await;
    let told = scene.until("retrying").await;
    let lost = ["delta 0 hm", "delta 1 ab", "reply (hm) [failed]", "retrying 1/6 Network true"];
    assert_eq!(told[2..], lost);
    // It is interrupted while it waits.
    scene.interrupt().await;
    assert_eq!(scene.until_over().await, ["over: interrupted"]);
}

#[tokio::test]
async fn an_interrupted_answer_is_written_as_far_as_it_was_shown() {
    let script = Script::new().when("hello", [say("ab").in_pieces(1), gate("stop"), say("c")]);
    let mut scene = Scene::new(script, Vec::new()).await;
    scene.send("hello").await;
    scene.wait_at("stop").await;
    scene.until("delta").await;
    scene.interrupt().await;
    assert_eq!(scene.until_over().await, ["reply ab", "over: interrupted"]);
}

/// 95 % of the window: what is above the prompt is summarised before it is asked.
#[tokio::test]
async fn a_window_that_is_nearly_full_is_compacted_first() {
    let long = "word ".repeat(20_000);
    let usage = Some(Usage { input: 125_000, output: 10, ..Usage::default() });
    let answer = |text: &str, usage| {
        Body::Reply(Reply { blocks: vec![Block::Text(text.into())], usage, ..Reply::default() })
    };
    let path = vec![Body::prompt(long), answer("one", None), Body::prompt("second"), answer("two", usage)];
    // The server ignores the words of a request for a summary, because they begin with a tag.
    let script = Script::new().when("hello", [say("a").in_pieces(1)]).when("", [say("Summary.")]);
    let mut scene = Scene::new(script, path).await;
    scene.send("hello").await;
    let told = scene.until_over().await;
    assert_eq!(
        told,
        [
            "opened",
            "started",
            "compacting",
            "compacted Summary. prompt",
            "delta 0 a",
            "reply a",
            "spent",
            "over: done"
        ]
    );
}

#[tokio::test]
async fn a_model_that_never_stops_calling_is_stopped() {
    let read = || [call("read", json!({ "path": "a" }))];
    let script = (0..120).fold(Script::new().when("hello", read()), |script, _| script.then(read()));
    let mut scene = Scene::new(script, Vec::new()).await;
    std::fs::write(scene.workspace.path().join("a"), "text").unwrap();
    scene.send("hello").await;
    assert_eq!(scene.until_over().await.last().map(String::as_str), Some("over: limit"));
    assert_eq!(scene.server.requests().len(), 100);
}

/// Wherever it is interrupted, every call that was written has its result.
#[tokio::test]
async fn an_interrupt_at_any_event_leaves_a_transcript_that_can_be_read_again() {
    let read = |name: &str| call("read", json!({ "path": name }));
    for events in 0.. {
        let script = Script::new()
            .when("hello", [think("hm"), say("Both."), read("a"), read("b")])
            .then([call("list", json!({ "path": "." })), say("One more.")])
            .then([say("Done.")]);
        let mut scene = Scene::new(script, Vec::new()).await;
        scene.send("hello").await;
        let mut told = Vec::new();
        while told.len() < events && !told.last().is_some_and(|line: &String| line.starts_with("over")) {
            told.extend(scene.until("").await);
        }
        if told.last().is_some_and(|line| line.starts_with("over")) {
            assert!(told.len() > 10, "the turn has many events: {told:?}");
            break;
        }
        scene.interrupt().await;
        scene.until_over().await;
        let replies = scene.written.iter().filter_map(|body| match body {
            Body::Reply(reply) => Some(reply),
            _ => None,
        });
        let calls: Vec<String> =
            replies.flat_map(|reply| reply.tool_uses().map(|call| call.id.to_string())).collect();
        let results = scene.written.iter().filter_map(|body| match body {
            Body::ToolResult(result) => Some(result.call.to_string()),
            _ => None,
        });
        assert_eq!(calls, results.collect::<Vec<_>>(), "interrupted behind {events} events");
    }
}
