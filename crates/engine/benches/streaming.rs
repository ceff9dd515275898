//! Words on their way from an agent to whoever follows, in short and in long sessions on a disk.
//!
//! `cargo bench -p offshoot-engine --bench streaming`
//!
//! `a_word` is the time from the agent's first byte to the event; `a_thousand_words` should cost the same whatever the
//! length of the session.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a bench that cannot be set up fails")]

use std::sync::Arc;

use divan::Bencher;
use divan::counter::ItemsCount;
use futures_util::StreamExt;
use offshoot_agents::{Agent, Connecting, Conversation};
use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::PromptView;
use offshoot_api::{Caller, EventStream, Request, Service};
use offshoot_engine::{Engine, Parts, RuleBook, Settings};
use offshoot_session::agent::{AgentEvent, AgentInput, Capabilities, Said, Start};
use offshoot_session::{Block, Body, Entry, EntryId, HeadMove, HeadName, Record, Reply, SessionHeader};
use offshoot_store::{Home, JournalStore, Locking, SessionStore};
use offshoot_testkit::{FixedStamps, SharedStamps};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

const LENGTHS: [usize; 3] = [200, 20_000, 200_000];

fn main() {
    divan::main();
}

#[divan::bench(args = LENGTHS, sample_count = 200, sample_size = 1)]
fn a_word(bencher: Bencher<'_, '_>, entries: usize) {
    let mut stream = Streaming::into_session_of(entries);
    bencher.bench_local(|| stream.words(1));
}

#[divan::bench(args = LENGTHS, sample_count = 50, sample_size = 1)]
fn a_thousand_words(bencher: Bencher<'_, '_>, entries: usize) {
    let mut stream = Streaming::into_session_of(entries);
    bencher.counter(ItemsCount::new(1000_usize)).bench_local(|| stream.words(1000));
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
            programs: Vec::new(),
            stamps: Arc::new(move || Box::new(stamps.clone())),
            rules: RuleBook::in_memory(),
            settings: Settings { default_agent: Some("chatter".to_owned()), ..Settings::default() }.into(),
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

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    fn connect(&self, _start: Start) -> Connecting<'_> {
        let permits = self.0.clone();
        Box::pin(async move {
            Ok(Conversation::served_by(|mut inputs, events| async move {
                let Some(AgentInput::Prompt { turn, .. }) = inputs.recv().await else { panic!("no prompt") };
                while let Ok(permit) = permits.acquire().await {
                    permit.forget();
                    let said = AgentEvent::new(turn.clone(), Said::words("m", "word "));
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
