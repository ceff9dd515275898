//! Words on their way from an agent to whoever follows, in short and in long sessions on a disk.
//!
//! `cargo bench -p offshoot-engine --bench streaming`
//!
//! Fails where a word costs more in a long session than in a short one, or where the engine takes too long from the agent's
//! first byte to the event. Short and long sessions take turns, and what is compared was measured in the same round: on a
//! machine that others use too, only that means something.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a bench prints, or fails")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use offshoot_agents::{Agent, AgentConnection, Connecting};
use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::PromptView;
use offshoot_api::{Caller, EventStream, Request, Service};
use offshoot_engine::{Engine, Parts, RuleBook, Settings};
use offshoot_session::agent::{Abilities, AgentEventKind, AgentInput, AgentStart, FromAgent};
use offshoot_session::{Block, Body, Entry, EntryId, HeadMove, HeadName, Record, Reply, SessionHeader};
use offshoot_store::{Home, JournalStore, Locking, SessionStore};
use offshoot_testkit::{FixedStamps, SharedStamps};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

/// Entries of the sessions that are compared.
const SHORT: usize = 200;
const LONG: usize = 200_000;

const ROUNDS: usize = 50;
const WORDS: usize = 1000;
const FIRST_WORDS: usize = 200;

/// A word in the long session may cost so many times one in the short session.
const MOST_TIMES: f64 = 3.0;
/// From the agent's first byte to the event.
const LONGEST: Duration = Duration::from_millis(5);

fn main() {
    let (mut short, mut long) = (Streaming::into_session_of(SHORT), Streaming::into_session_of(LONG));
    let rounds: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (short.takes(WORDS), long.takes(WORDS))).collect();
    let times = median(rounds.iter().map(|(short, long)| long / short));
    let in_short = median(rounds.iter().map(|(short, _)| short * 1e3));
    let in_long = median(rounds.iter().map(|(_, long)| long * 1e3));
    let firsts: Vec<f64> = (0..FIRST_WORDS).map(|_| long.takes(1)).collect();
    let slowest = firsts.iter().copied().fold(0.0, f64::max);
    let first = median(firsts.into_iter());
    println!("{WORDS} words, {SHORT} entries      {in_short:>9.2} ms");
    println!("{WORDS} words, {LONG} entries   {in_long:>9.2} ms, {times:.2} times as long");
    println!("a word to its event          {:>9.1} µs, the slowest {:.1} µs", first * 1e6, slowest * 1e6);
    let told = json!({
        "words_ms_short": in_short, "words_ms_long": in_long, "words_ratio": times,
        "first_event_us": first * 1e6,
    });
    println!("{told}");
    assert!(times <= MOST_TIMES, "a word costs {times:.2} times as much in a long session");
    assert!(first < LONGEST.as_secs_f64(), "a word takes {:.1} ms to its event", first * 1e3);
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// A turn that is running and says a word for each permit.
struct Streaming {
    runtime: Runtime,
    permits: Arc<Semaphore>,
    events: EventStream,
    _engine: Engine,
    _folder: TempDir,
}

impl Streaming {
    fn into_session_of(entries: usize) -> Self {
        let folder = TempDir::new().unwrap();
        let store = JournalStore::at(Home::at(folder.path()), Locking::by("bench"));
        SessionStore::create(&store, &long(entries)).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let (runtime, permits) = (runtime.unwrap(), Arc::new(Semaphore::new(0)));
        let stamps = SharedStamps::from(FixedStamps::after(1_000_000));
        let engine = Engine::new(Parts {
            shelf: Arc::new(store),
            agents: vec![Arc::new(Chatter(permits.clone()))],
            stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
            rules: RuleBook::in_memory(),
            settings: Settings { default_agent: Some("chatter".to_owned()), ..Settings::default() }.into(),
            host: Default::default(),
            epoch: 0,
        });
        let caller = Caller::local("bench");
        let events = runtime.block_on(async {
            let send = request::Send {
                session: "s".to_owned(),
                prompt: PromptView::text("talk"),
                ..request::Send::default()
            };
            engine.call(&caller, Request::Send(send)).await.unwrap();
            engine.follow(&caller, "s", 0).await.unwrap()
        });
        let mut stream = Self { runtime, permits, events, _engine: engine, _folder: folder };
        stream.words(1);
        stream
    }

    /// Seconds for so many words.
    fn takes(&mut self, count: usize) -> f64 {
        let began = Instant::now();
        self.words(count);
        began.elapsed().as_secs_f64()
    }

    fn words(&mut self, count: usize) {
        self.permits.add_permits(count);
        let events = &mut self.events;
        self.runtime.block_on(async {
            let mut heard = 0;
            while heard < count {
                let event = events.next().await.unwrap().unwrap();
                heard += usize::from(matches!(event.kind, EventKind::Words { .. } | EventKind::Live { .. }));
            }
        });
    }
}

struct Chatter(Arc<Semaphore>);

impl Agent for Chatter {
    fn name(&self) -> &str {
        "chatter"
    }

    fn title(&self) -> &str {
        "Chatter"
    }

    fn abilities(&self, _model: Option<&offshoot_session::Model>) -> Abilities {
        Abilities::default()
    }

    fn connect(&self, _start: AgentStart) -> Connecting<'_> {
        let permits = self.0.clone();
        Box::pin(async move {
            Ok(AgentConnection::served_by(|mut inputs, events| async move {
                let Some(AgentInput::Prompt { turn, .. }) = inputs.recv().await else { panic!("no prompt") };
                while let Ok(permit) = permits.acquire().await {
                    permit.forget();
                    let said = FromAgent::turn(turn.clone(), AgentEventKind::text("m", "word "));
                    if events.send(said).await.is_err() {
                        return;
                    }
                }
            }))
        })
    }
}

/// Prompts and replies in one line, with the head at the end.
fn long(entries: usize) -> Vec<Record> {
    let at = FixedStamps::start();
    let mut records = vec![Record::opened(SessionHeader::new("s".into(), at))];
    let mut parent: Option<EntryId> = None;
    for number in 0..entries {
        let words = format!("words of entry {number}, and a few more of them");
        let body = if number.is_multiple_of(2) {
            Body::prompt(words)
        } else {
            Body::Reply(Reply { blocks: vec![Block::Text(words)], ..Reply::default() })
        };
        let id = EntryId::from(format!("e{number:07}"));
        records.push(Record::entry(Entry {
            id: id.clone(),
            parent: parent.replace(id),
            written_at: at,
            turn: None,
            body,
        }));
    }
    let moved = HeadMove { head: HeadName::main(), moved_at: at, from: None, to: parent };
    records.push(Record::head_moved(moved));
    records
}
