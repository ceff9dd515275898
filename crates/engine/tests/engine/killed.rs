//! A process is killed in the middle of an answer. What it had shown is there, but for the last few words.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::{Agent, AgentConnection, Connecting};
use offshoot_api::event::EventKind;
use offshoot_api::views::{BlockView, BodyView, PromptView};
use offshoot_api::{Request, Response, Service, request};
use offshoot_engine::{Engine, Parts, RuleBook, Settings};
use offshoot_session::agent::{Abilities, AgentEventKind, AgentInput, AgentStart, FromAgent};
use offshoot_store::{Home, JournalStore, Locking};
use offshoot_testkit::SharedStamps;
use offshoot_testkit::deadline::{BoundedChild, BoundedReader};
use tempfile::TempDir;

use crate::world::{caller, next_event};

const HOME: &str = "OFFSHOOT_TEST_KILLED_HOME";

/// Counts for ever, as fast as it is heard.
#[derive(Debug)]
struct Counter;

impl Agent for Counter {
    fn name(&self) -> &str {
        "counter"
    }

    fn title(&self) -> &str {
        "Counter"
    }

    fn abilities(&self, _model: Option<&offshoot_session::Model>) -> Abilities {
        Abilities::default()
    }

    fn connect(&self, _start: AgentStart) -> Connecting<'_> {
        Box::pin(async {
            Ok(AgentConnection::served_by(|mut inputs, events| async move {
                let Some(AgentInput::Prompt { turn, .. }) = inputs.recv().await else { return };
                let _ = events.send(FromAgent::turn(turn.clone(), AgentEventKind::STARTED)).await;
                for number in 0_usize.. {
                    let words = AgentEventKind::text("m", format!("{number} "));
                    if events.send(FromAgent::turn(turn.clone(), words)).await.is_err() {
                        return;
                    }
                }
            }))
        })
    }
}

fn engine(home: &Path) -> Engine {
    let store = JournalStore::at(Home::at(home), Locking::by("test"));
    let stamps = SharedStamps::default();
    Engine::new(Parts {
        shelf: Arc::new(store),
        agents: vec![Arc::new(Counter)],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings {
            default_agent: Some("counter".to_owned()),
            // Only the number of pieces counts here: time would keep more.
            draft_every: Duration::from_secs(3600),
            // Whoever prints every word is slower than the agent.
            kept_events: 1_000_000,
            ..Settings::default()
        }
        .into(),
        host: Default::default(),
        epoch: 0,
    })
}

/// Every number of a text, which has to begin at 0 and leave none out.
fn numbers(text: &str) -> usize {
    let numbers: Vec<usize> = text.split_terminator(' ').map(|number| number.parse().unwrap()).collect();
    assert!(numbers.iter().copied().eq(0..numbers.len()), "there is a hole in {text}");
    numbers.len()
}

#[tokio::test]
async fn at_most_sixty_four_pieces_are_lost_with_the_process() {
    for heard_before in [1, 63, 64, 65, 1000, 20_000] {
        let folder = TempDir::new().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["killed::streams_until_it_is_killed", "--exact", "--ignored", "--nocapture"])
            .env(HOME, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(BoundedReader(child.stdout.take().unwrap())).lines();
        let mut said = |prefix: &str| {
            let found = lines.find_map(|line| line.unwrap().strip_prefix(prefix).map(str::to_owned));
            found.unwrap_or_else(|| panic!("no `{prefix}`"))
        };
        let session = said("session ");
        let mut heard = 0;
        while heard < heard_before {
            heard = said("heard ").parse().unwrap();
        }
        child.kill().unwrap();
        child.bounded_wait();
        // What it had said by then, and we had not read yet.
        let rest = lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("heard ")?.parse().ok());
        let shown: usize = rest.last().unwrap_or(heard);

        let engine = engine(folder.path());
        let open = request::Open { session, turns: None, turn: None, at: None };
        let Response::Session(view) = engine.call(&caller(), Request::Open(open)).await.unwrap() else {
            panic!("not opened")
        };
        let entries = &view.branch.entries;
        assert_eq!(entries.last().map(|entry| &entry.body), Some(&BodyView::Interrupted { crash: true }));
        let kept = entries.iter().find_map(|entry| match &entry.body {
            BodyView::Reply { blocks, .. } => match blocks.as_slice() {
                [BlockView::Text { text }] => Some(numbers(text)),
                other => panic!("{other:?}"),
            },
            _ => None,
        });
        let kept = kept.unwrap_or_default();
        assert!(kept + 64 >= shown, "{shown} were shown and {kept} are kept");
        engine.shut_down().await;
    }
}

/// Not a test by itself: the process that is killed. It says how many words it has shown.
#[test]
#[ignore = "is run by the test above"]
fn streams_until_it_is_killed() {
    let Ok(home) = std::env::var(HOME) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = engine(Path::new(&home));
        let begun = engine.call(&caller(), Request::Begin(request::Begin::default())).await.unwrap();
        let Response::Session(view) = begun else { panic!("{begun:?}") };
        let mut out = std::io::stdout();
        // What the harness has printed has no end of a line.
        writeln!(out, "\nsession {}", view.id).unwrap();
        let mut events = engine.follow(&caller(), &view.id, view.seq).await.unwrap();
        let prompt = PromptView::text("count");
        let send = request::Send { session: view.id, prompt, ..request::Send::default() };
        engine.call(&caller(), Request::Send(send)).await.unwrap();
        let mut heard = 0;
        while let Some(event) = next_event(&mut events).await {
            let event = event.unwrap();
            heard += match event.kind {
                EventKind::Live { .. } | EventKind::Words { .. } => 1,
                _ => continue,
            };
            writeln!(out, "heard {heard}").and_then(|()| out.flush()).unwrap();
        }
    });
}
