//! Ten thousand answers while everybody keeps losing everybody: none is lost, none counts twice.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use offshoot_agents::{Agent, AgentConnection, Connecting};
use offshoot_api::remote::Remote;
use offshoot_api::request;
use offshoot_api::serve::serve;
use offshoot_api::views::{AnswerView, PromptView};
use offshoot_api::{Access, ApiError, ErrorCode, Request, Response, Service};
use offshoot_engine::{Engine, MemoryShelf, RuleBook, Settings};
use offshoot_session::TurnId;
use offshoot_session::agent::{
    Abilities, AgentEventKind, AgentInfo, AgentInput, AgentStart, AgentTurnEnd, ConnectionEvent, FromAgent,
};
use offshoot_session::asks::{Answer, Asking, Permission};
use offshoot_testkit::SharedStamps;
use serde_json::json;
use tokio::sync::mpsc;

use crate::scripted::whole;
use crate::world::{caller, engine};

const ANSWERS: usize = 10_000;
const ASKS: usize = 100;

/// Chance that is the same in every run.
#[derive(Clone, Debug)]
struct Dice(Arc<Mutex<u64>>);

impl Dice {
    fn one_in(&self, n: u64) -> bool {
        let mut state = self.0.lock().unwrap();
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33).is_multiple_of(n)
    }
}

/// An agent that asks a hundred things in each turn, and loses the connection in the middle.
#[derive(Debug)]
struct Doubter {
    dice: Dice,
    memory: Arc<Mutex<Memory>>,
}

/// What the agent knows on its side of the connection.
#[derive(Debug, Default)]
struct Memory {
    turn: Option<TurnId>,
    /// The next thing it wants to know.
    next: usize,
    /// Every answer that reached it, by the ask.
    heard: BTreeMap<String, Vec<String>>,
    /// Every answer that it went on with.
    applied: BTreeMap<String, Vec<String>>,
}

impl Agent for Doubter {
    fn name(&self) -> &str {
        "doubter"
    }

    fn title(&self) -> &str {
        "Doubter"
    }

    fn abilities(&self, _model: Option<&offshoot_session::Model>) -> Abilities {
        Abilities { many_turns: true, resume: true, permissions: true, ..Abilities::default() }
    }

    fn connect(&self, _start: AgentStart) -> Connecting<'_> {
        let (dice, memory) = (self.dice.clone(), self.memory.clone());
        Box::pin(async {
            Ok(AgentConnection::served_by(|inputs, events| doubt(dice, memory, inputs, events)))
        })
    }
}

async fn doubt(
    dice: Dice,
    memory: Arc<Mutex<Memory>>,
    mut inputs: mpsc::Receiver<AgentInput>,
    events: mpsc::Sender<FromAgent>,
) {
    let knows_turn = memory.lock().unwrap().turn.is_some();
    let mut asked = !knows_turn;
    loop {
        if !asked && ask(&memory, &events).await.is_none() {
            return;
        }
        asked = true;
        let Some(input) = inputs.recv().await else { return };
        match input {
            AgentInput::Prompt { turn, .. } => {
                {
                    let mut memory = memory.lock().unwrap();
                    (memory.turn, memory.next) = (Some(turn.clone()), 0);
                }
                let _ = events.send(opened()).await;
                let _ = events.send(FromAgent::turn(turn, AgentEventKind::STARTED)).await;
                asked = false;
            }
            AgentInput::Answer { turn, request, answer } => {
                if dice.one_in(7) {
                    return; // before it was taken
                }
                let Answer::Deny { message: Some(words) } = answer else { panic!("{answer:?}") };
                {
                    let mut memory = memory.lock().unwrap();
                    let ask = format!("{turn}/{request}");
                    memory.heard.entry(ask.clone()).or_default().push(words.clone());
                    if memory.next.to_string() == request {
                        memory.next += 1;
                        memory.applied.entry(ask).or_default().push(words);
                    }
                }
                if dice.one_in(7) {
                    return; // taken, and not confirmed
                }
                let _ = events.send(FromAgent::turn(turn, AgentEventKind::AskConfirmed { request })).await;
                asked = false;
            }
            AgentInput::Interrupt { .. }
            | AgentInput::StopTask(_)
            | AgentInput::Configure(_)
            | AgentInput::Rename(_) => {}
        }
    }
}

fn opened() -> FromAgent {
    let info = AgentInfo { session: Some("d".into()), ..AgentInfo::default() };
    FromAgent::Connection(ConnectionEvent::Opened(info))
}

/// The next ask, or the end.
async fn ask(memory: &Mutex<Memory>, events: &mpsc::Sender<FromAgent>) -> Option<()> {
    let (turn, next) = {
        let memory = memory.lock().unwrap();
        (memory.turn.clone()?, memory.next)
    };
    if next >= ASKS {
        memory.lock().unwrap().turn = None;
        events.send(FromAgent::turn(turn.clone(), whole("done"))).await.ok()?;
        return events.send(FromAgent::turn(turn, AgentEventKind::Ended(AgentTurnEnd::Done))).await.ok();
    }
    let ask = Asking::Permission(Permission {
        tool: "shell".into(),
        input: json!({ "command": "x" }),
        call: None,
        reason: None,
        suggestions: Vec::new(),
    });
    if next == 0 {
        events.send(FromAgent::turn(turn.clone(), AgentEventKind::STARTED)).await.ok()?;
    }
    events.send(FromAgent::turn(turn, AgentEventKind::Ask { request: next.to_string(), ask })).await.ok()
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_answers_none_lost_none_twice() {
    let dice = Dice(Arc::new(Mutex::new(7)));
    let memory: Arc<Mutex<Memory>> = Arc::default();
    let agent = Arc::new(Doubter { dice: dice.clone(), memory: memory.clone() });
    let (shelf, stamps, rules) = (MemoryShelf::new(), SharedStamps::default(), RuleBook::in_memory());
    let settings = Settings {
        default_agent: Some("doubter".to_owned()),
        // A connection may be lost many times before anything is heard over it.
        reach_again: 1000,
        ..Settings::default()
    };
    let fresh = || Arc::new(engine(&shelf, &stamps, agent.clone(), &rules, &settings));
    let mut engine = fresh();
    let mut line = Line::to(&engine);
    let begun = line.call(Request::Begin(request::Begin::default())).await.unwrap();
    let Response::Session(view) = begun else { panic!("{begun:?}") };
    let session = view.id;
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    let (mut turn, mut restarts, mut cut) = (0, 0, 0);
    while given.len() < ANSWERS {
        turn += 1;
        let send = request::Send {
            session: session.clone(),
            prompt: PromptView::text(format!("turn {turn}")),
            ..request::Send::default()
        };
        line.call(Request::Send(send)).await.unwrap();
        loop {
            // Everything comes to rest before time goes on.
            tokio::time::sleep(Duration::from_millis(1)).await;
            let open = request::Open { session: session.clone(), turns: Some(1), turn: None, at: None };
            let opened = line.call(Request::Open(open)).await.unwrap();
            let Response::Session(view) = opened else { panic!("{opened:?}") };
            if view.status.state == "ready" {
                break;
            }
            let Some(ask) = view.asks.first() else { continue };
            let words = format!("answer {}", given.len());
            let answer = |words: &str| {
                let answer = AnswerView::Deny { message: Some(words.to_owned()) };
                Request::Answer(request::Answer { session: session.clone(), ask: ask.id.clone(), answer })
            };
            if dice.one_in(5) {
                // Whoever answers loses the connection and does not hear what became of it.
                drop(tokio::time::timeout(Duration::ZERO, line.call(answer(&words))).await);
                line.cut().await;
                line = Line::to(&engine);
                cut += 1;
            }
            if dice.one_in(400) {
                memory.lock().unwrap().turn = None;
                line.cut().await;
                drop(std::mem::replace(&mut engine, fresh()));
                line = Line::to(&engine);
                restarts += 1;
                let refused = line.call(answer(&words)).await.unwrap_err();
                assert_eq!(refused.code, ErrorCode::Stale);
                break;
            }
            match line.call(answer(&words)).await {
                Ok(Response::Done { .. }) => {
                    given.insert(ask.id.clone(), words.clone());
                }
                other => panic!("{other:?}"),
            }
            let otherwise = line.call(answer("something else")).await.unwrap_err();
            assert_eq!(otherwise.code, ErrorCode::AnsweredOtherwise);
        }
    }
    line.cut().await;
    let Memory { heard, applied, .. } = std::mem::take(&mut *memory.lock().unwrap());
    for (ask, words) in &given {
        assert_eq!(applied.get(ask), Some(&vec![words.clone()]), "`{ask}` counts once");
    }
    let twice = applied.iter().find(|(_, words)| words.len() != 1);
    assert_eq!(twice, None, "nothing counts twice, whoever heard that it was given");
    let repeated = heard.values().filter(|words| words.len() > 1).count();
    assert!(
        restarts > 0 && cut > 0 && repeated > 0,
        "{restarts} restarts, {cut} cuts, {repeated} said again"
    );
}

/// A connection to an engine, as over its socket.
struct Line {
    remote: Remote,
    tasks: tokio::task::JoinSet<()>,
}

impl Line {
    fn to(engine: &Arc<Engine>) -> Self {
        let (ours, theirs) = tokio::io::duplex(4096);
        let ((reader, writer), engine) = (tokio::io::split(theirs), engine.clone());
        let mut tasks = tokio::task::JoinSet::new();
        tasks.spawn(async move { drop(serve(engine.as_ref(), Access::Write, reader, writer).await) });
        let (reader, writer) = tokio::io::split(ours);
        let (remote, speaking) = Remote::over(reader, writer);
        tasks.spawn(async move { drop(speaking.await) });
        Self { remote, tasks }
    }

    async fn call(&self, request: Request) -> Result<Response, ApiError> {
        self.remote.call(&caller(), request).await
    }

    /// Both ends are gone, in the middle of whatever it was.
    async fn cut(mut self) {
        self.tasks.shutdown().await;
    }
}
