//! A disk that is full, or a store that breaks down, in the middle of an answer.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::views::{BodyView, PromptView, SessionView};
use offshoot_api::{ErrorCode, EventStream, Request, Response, Service, request};
use offshoot_engine::shelf::{Drafted, Written};
use offshoot_engine::{Book, Engine, Glance, MemoryShelf, Parts, RuleBook, Settings, Shelf};
use offshoot_session::agent::AgentEventKind;
use offshoot_session::queue::Queued;
use offshoot_session::{Body, Entry, Record, SessionId, SessionTree};
use offshoot_store::drafts::DraftError;
use offshoot_store::files::Held;
use offshoot_store::{
    AppendError, Basis, CreateError, FileError, Generation, ListError, LockError, ReadError, Stale,
    WriteError,
};
use offshoot_testkit::SharedStamps;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{caller, next_event};

/// What goes wrong, until it does not any more.
#[derive(Debug, Default)]
struct Faults {
    is_full: AtomicBool,
    breaks: AtomicBool,
    /// So many drafts are refused.
    refused_drafts: AtomicUsize,
}

#[derive(Clone, Debug)]
struct FaultyShelf {
    shelf: MemoryShelf,
    faults: Arc<Faults>,
}

#[derive(Debug)]
struct FaultyBook {
    book: Box<dyn Book>,
    faults: Arc<Faults>,
}

fn full() -> FileError {
    let source = std::io::Error::from(std::io::ErrorKind::StorageFull);
    FileError { doing: "write", path: "journal".into(), source }
}

impl Shelf for FaultyShelf {
    fn create(&self, records: &[Record]) -> Result<(), CreateError> {
        self.shelf.create(records)
    }

    fn remove_created(&self, records: &[Record]) -> Result<bool, AppendError> {
        self.shelf.remove_created(records)
    }

    fn open(&self, id: &SessionId) -> Result<Option<Box<dyn Book>>, ReadError> {
        let faults = self.faults.clone();
        let book = self.shelf.open(id)?;
        Ok(book.map(|book| Box::new(FaultyBook { book, faults }) as Box<dyn Book>))
    }

    fn introduce(&self, id: &SessionId, path: &Path) -> Result<(), String> {
        self.shelf.introduce(id, path)
    }

    fn is_small(&self, id: &SessionId) -> bool {
        self.shelf.is_small(id)
    }

    fn lock_steps(&self) -> Result<Box<dyn Held>, LockError> {
        self.shelf.lock_steps()
    }

    fn list(&self) -> Result<Vec<SessionId>, ListError> {
        self.shelf.list()
    }

    fn glances(&self) -> HashMap<SessionId, Glance> {
        self.shelf.glances()
    }
}

impl Book for FaultyBook {
    fn tree(&self) -> &SessionTree {
        self.book.tree()
    }

    fn generation(&self) -> Generation {
        self.book.generation()
    }

    fn refresh(&mut self) -> Result<bool, ReadError> {
        self.book.refresh()
    }

    fn is_written_elsewhere(&self) -> bool {
        self.book.is_written_elsewhere()
    }

    fn hold(&mut self) -> Result<(), LockError> {
        self.book.hold()
    }

    fn release(&mut self) {
        self.book.release();
    }

    fn append(&mut self, basis: Basis, records: &[Record]) -> Result<Written, WriteError<Stale>> {
        assert!(!self.faults.breaks.swap(false, Ordering::SeqCst), "broken on purpose");
        if self.faults.is_full.load(Ordering::SeqCst) {
            return Err(AppendError::Disk(full()).into());
        }
        self.book.append(basis, records)
    }

    fn draft(&mut self, steps: &[Drafted]) -> Result<(), DraftError> {
        let refuses = |left: usize| left.checked_sub(1);
        let refused = &self.faults.refused_drafts;
        match refused.fetch_update(Ordering::SeqCst, Ordering::SeqCst, refuses) {
            Ok(_) => Err(DraftError::File(full())),
            Err(_) => self.book.draft(steps),
        }
    }

    fn drafts_left(&self) -> Result<Vec<Entry>, DraftError> {
        self.book.drafts_left()
    }

    fn clear_drafts(&mut self) -> Result<(), DraftError> {
        self.book.clear_drafts()
    }

    fn keep_waiting(&mut self, waiting: &[Queued]) -> Result<(), DraftError> {
        self.book.keep_waiting(waiting)
    }

    fn waiting_left(&self) -> Result<Vec<Queued>, DraftError> {
        self.book.waiting_left()
    }
}

struct Faulty {
    shelf: FaultyShelf,
    agent: Arc<ScriptedAgent>,
    stamps: SharedStamps,
    engine: Engine,
    session: String,
}

impl Faulty {
    async fn begin(agent: ScriptedAgent) -> Self {
        let shelf = FaultyShelf { shelf: MemoryShelf::new(), faults: Arc::default() };
        let (agent, stamps) = (Arc::new(agent), SharedStamps::default());
        let engine = engine(&shelf, &agent, &stamps);
        let begun = engine.call(&caller(), Request::Begin(request::Begin::default())).await.unwrap();
        let Response::Session(view) = begun else { panic!("{begun:?}") };
        Self { shelf, agent, stamps, engine, session: view.id }
    }

    fn faults(&self) -> &Faults {
        &self.shelf.faults
    }

    fn send(&self, text: &str) -> Request {
        let (session, prompt) = (self.session.clone(), PromptView::text(text));
        Request::Send(request::Send { session, prompt, ..Default::default() })
    }

    async fn view(&self) -> SessionView {
        let open = request::Open { session: self.session.clone(), turns: None, turn: None, at: None };
        match self.engine.call(&caller(), Request::Open(open)).await.unwrap() {
            Response::Session(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    async fn follow(&self) -> EventStream {
        self.engine.follow(&caller(), &self.session, self.view().await.seq).await.unwrap()
    }

    fn tree(&self) -> SessionTree {
        let id = SessionId::from(self.session.as_str());
        self.shelf.shelf.open(&id).unwrap().unwrap().tree().clone()
    }
}

fn engine(shelf: &FaultyShelf, agent: &Arc<ScriptedAgent>, stamps: &SharedStamps) -> Engine {
    let stamps = stamps.clone();
    Engine::new(Parts {
        shelf: Arc::new(shelf.clone()),
        agents: vec![agent.clone()],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings {
            default_agent: Some("scripted".to_owned()),
            draft_pieces: 1,
            ..Settings::default()
        }
        .into(),
        host: Default::default(),
        epoch: 0,
    })
}

async fn until(events: &mut EventStream, is_it: impl Fn(&EventKind) -> bool) -> Vec<EventKind> {
    let mut heard = Vec::new();
    loop {
        let kind = next_event(events).await.expect("the events ended").unwrap().kind;
        heard.push(kind.clone());
        if is_it(&kind) {
            return heard;
        }
    }
}

fn slow() -> ScriptedAgent {
    let word = |text: &str| [Do::Say(AgentEventKind::text("m", text)), Do::Gate];
    ScriptedAgent::new().on("slow", ["one ", "two ", "three "].into_iter().flat_map(word).collect())
}

/// The turn ends with what went wrong, the session is in order, and when there is room again it goes on.
#[tokio::test(start_paused = true)]
async fn a_disk_that_is_full_in_the_middle_of_a_turn_ends_it_and_nothing_else() {
    let faulty = Faulty::begin(slow()).await;
    let mut events = faulty.follow().await;
    faulty.engine.call(&caller(), faulty.send("slow")).await.unwrap();
    until(&mut events, |kind| matches!(kind, EventKind::Live { .. })).await;
    let before = faulty.tree().log().count();
    faulty.faults().is_full.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        faulty.agent.open_gate();
    }
    let heard = until(&mut events, |kind| matches!(kind, EventKind::TurnEnded { .. })).await;
    let Some(EventKind::TurnEnded { end: TurnEnd::Failed { message, .. }, .. }) = heard.last() else {
        panic!("{heard:?}")
    };
    assert!(message.ends_with(": no space left on the disk; nothing was half written"), "{message}");
    assert!(!heard.iter().any(|kind| matches!(kind, EventKind::Entry { .. })), "durable before visible");
    until(&mut events, |kind| matches!(kind, EventKind::Status { status } if status.state == "error")).await;
    assert_eq!(faulty.tree().log().count(), before);
    assert_eq!(faulty.agent.conversations(), 0, "the agent does not go on alone");
    let refused = faulty.engine.call(&caller(), faulty.send("more")).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DiskFull);

    faulty.faults().is_full.store(false, Ordering::SeqCst);
    faulty.engine.call(&caller(), faulty.send("more")).await.unwrap();
    until(&mut events, |kind| matches!(kind, EventKind::Status { status } if status.state == "ready")).await;
    let said: Vec<String> = faulty.tree().entries().map(|entry| entry.body.text()).collect();
    assert_eq!(said.last().map(String::as_str), Some("re: more"), "{said:?}");
}

/// The one request hears of it; the session is opened anew by the next.
#[tokio::test(start_paused = true)]
async fn a_store_that_breaks_down_closes_the_session_and_no_more() {
    let faulty = Faulty::begin(ScriptedAgent::new()).await;
    let mut events = faulty.follow().await;
    faulty.faults().breaks.store(true, Ordering::SeqCst);
    let broken = faulty.engine.call(&caller(), faulty.send("one")).await.unwrap_err();
    assert_eq!(broken.code, ErrorCode::Internal);
    until(&mut events, |kind| matches!(kind, EventKind::Closed)).await;
    let mut events = faulty.follow().await;
    faulty.engine.call(&caller(), faulty.send("two")).await.unwrap();
    until(&mut events, |kind| matches!(kind, EventKind::TurnEnded { .. })).await;
    let said: Vec<String> = faulty.tree().entries().map(|entry| entry.body.text()).collect();
    assert_eq!(said.iter().rev().take(2).rev().collect::<Vec<_>>(), ["two", "re: two"]);
}

/// Words that the disk refused are kept with the next ones: what comes back after a crash is what was said from its
/// beginning, without a hole.
#[tokio::test(start_paused = true)]
async fn a_refused_draft_leaves_no_hole() {
    for refused in [1, 2] {
        let mut faulty = Faulty::begin(slow()).await;
        let mut events = faulty.follow().await;
        faulty.faults().refused_drafts.store(refused, Ordering::SeqCst);
        faulty.engine.call(&caller(), faulty.send("slow")).await.unwrap();
        let mut heard = until(&mut events, |kind| matches!(kind, EventKind::Live { .. })).await;
        for _ in 0..2 {
            faulty.agent.open_gate();
            heard.extend(until(&mut events, |kind| matches!(kind, EventKind::Words { .. })).await);
        }
        // What is kept is kept before the next message is taken.
        faulty.view().await;
        let complaints = heard.iter().filter(|kind| matches!(kind, EventKind::Notice { .. })).count();
        assert_eq!(complaints, 1, "it is said once");
        let fresh = engine(&faulty.shelf, &faulty.agent, &faulty.stamps);
        drop(std::mem::replace(&mut faulty.engine, fresh));
        let view = faulty.view().await;
        assert!(view.branch.entries.iter().any(|entry| entry.body == BodyView::Interrupted { crash: true }));
        let rename = request::Rename {
            session: faulty.session.clone(),
            title: Some("changed".to_owned()),
            client_id: None,
        };
        faulty.engine.call(&caller(), Request::Rename(rename)).await.unwrap();
        let tree = faulty.tree();
        let reply = tree.entries().find(|entry| matches!(entry.body, Body::Reply(_))).unwrap();
        assert_eq!(reply.body.text(), "one two three ", "{refused} were refused");
    }
}
