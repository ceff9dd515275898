//! What the agent `llm` adds to the time of the server: from a piece of an answer to its event, and in a turn of many calls.
//!
//! `cargo bench -p offshoot-agents --bench llm`
//!
//! Fails where a piece takes longer than 10 ms to its event. The time of a round is that of the server, of the tool and ours
//! together: the server answers at once, so it is an upper limit of ours.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench prints, or fails")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use offshoot_agents::llm::Llm;
use offshoot_agents::{Agent, AgentConnection};
use offshoot_session::agent::{
    AgentEvent, AgentEventKind, AgentInput, AgentStart, Environment, FromAgent, Host,
};
use offshoot_session::handoff::Handoff;
use offshoot_session::{Block, Entry, Model, Prompt, Setting};
use offshoot_testkit::model::{ModelServer, Script, call, gate, say};
use serde_json::json;

const ROUNDS: usize = 99;
const PIECES: usize = 50;
const LONGEST: Duration = Duration::from_millis(10);

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut times = Vec::new();
        for _ in 0..PIECES {
            times.push(first_piece().await);
        }
        times.sort();
        let (median, slowest) = (times[PIECES / 2], times[PIECES - 1]);
        println!("a piece to its event         {median:>10.2?}, the slowest {slowest:.2?}");
        let turn = tool_rounds().await;
        println!("{ROUNDS} rounds with a tool       {turn:>10.2?}, {:.2?} each", turn / ROUNDS as u32);
        println!("{}", json!({ "first_event_us": median.as_micros(), "tool_rounds_ms": turn.as_millis() }));
        assert!(median <= LONGEST, "a piece takes {median:?} to its event");
    });
}

/// From the moment in which the server may go on to the event.
async fn first_piece() -> Duration {
    let script = Script::new().when("hello", [say("a").in_pieces(1), gate("go"), say("b").in_pieces(1)]);
    let (server, mut connection, _workspace) = connected(script).await;
    until(&mut connection, |kind| matches!(kind, AgentEventKind::Delta { .. })).await;
    let waiting = Arc::clone(&server);
    tokio::task::spawn_blocking(move || waiting.wait_at("go")).await.unwrap();
    let since = Instant::now();
    server.open("go");
    until(&mut connection, |kind| matches!(kind, AgentEventKind::Delta { .. })).await;
    since.elapsed()
}

async fn tool_rounds() -> Duration {
    let read = || [call("read", json!({ "path": "a" }))];
    let script = (1..ROUNDS).fold(Script::new().when("hello", read()), |script, _| script.then(read()));
    let since = Instant::now();
    let (_server, mut connection, _workspace) = connected(script.then([say("Done.")])).await;
    until(&mut connection, |kind| matches!(kind, AgentEventKind::Ended(_))).await;
    since.elapsed()
}

async fn connected(script: Script) -> (Arc<ModelServer>, AgentConnection, tempfile::TempDir) {
    let server = Arc::new(ModelServer::start(script).unwrap());
    let workspace = tempfile::tempdir().unwrap();
    std::fs::write(workspace.path().join("a"), "text\n".repeat(200)).unwrap();
    let variables = [("OPENAI_BASE_URL", server.url() + "/v1")];
    let model = Model { provider: "openai".into(), name: "scripted".into() };
    let start = AgentStart {
        session: "s".into(),
        workspace: Some(workspace.path().to_owned()),
        handoff: Handoff::Stateless,
        settings: vec![Setting::Model { role: None, model }],
        context: Arc::new(Vec::<Arc<Entry>>::new()),
        environment: Environment::from_iter(variables.map(|(name, value)| (name.into(), value.into()))),
        host: Host::default(),
        is_watched: true,
    };
    let connection = Llm::default().connect(start).await.unwrap();
    let prompt = Prompt { blocks: vec![Block::Text("hello".into())], ..Prompt::default() };
    let (turn, entry, delivered_as) = ("t".into(), "p".into(), "p".into());
    let input = AgentInput::Prompt { turn, entry, delivered_as, prompt, before: Vec::new() };
    connection.inputs.send(input).await.unwrap();
    (server, connection, workspace)
}

async fn until(connection: &mut AgentConnection, is_it: impl Fn(&AgentEventKind) -> bool) {
    loop {
        let event = connection.events.recv().await.unwrap();
        if matches!(&event, FromAgent::Turn(AgentEvent { kind, .. }) if is_it(kind)) {
            return;
        }
    }
}
