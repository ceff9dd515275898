//! A session, its engine and an agent, and all that happens written down as lines.

use std::sync::Arc;

use futures_util::StreamExt;
use offshoot_agents::Agent;
use offshoot_api::event::EventKind;
use offshoot_api::views::{EntryView, PromptView, SessionView};
use offshoot_api::{ApiError, Caller, Event, EventStream, Request, Response, Service, request};
use offshoot_engine::{Engine, MemoryShelf, Parts, RuleBook, Settings, Shelf};
use offshoot_session::{Change, EntryId, Record, SessionId, SessionTree, Stamps};
use offshoot_testkit::SharedStamps;
use offshoot_testkit::deadline::PATIENCE;
use tokio::time::timeout;

use crate::scripted::ScriptedAgent;

/// The next event of a stream, with a deadline. Where time is virtual it passes only when nothing else can happen.
pub(crate) async fn next_event(events: &mut EventStream) -> Option<Result<Event, ApiError>> {
    timeout(PATIENCE, events.next()).await.expect("what is waited for did not come")
}

pub(crate) struct World {
    pub(crate) shelf: MemoryShelf,
    pub(crate) agent: Arc<ScriptedAgent>,
    pub(crate) engine: Engine,
    pub(crate) session: String,
    stamps: SharedStamps,
    rules: RuleBook,
    settings: Settings,
    events: EventStream,
    me: Caller,
    /// Everything that was heard, one line each.
    pub(crate) log: Vec<String>,
    records_told: usize,
}

impl World {
    pub(crate) async fn new(agent: ScriptedAgent) -> Self {
        Self::set(agent, Settings::default()).await
    }

    pub(crate) async fn set(agent: ScriptedAgent, settings: Settings) -> Self {
        let (shelf, stamps) = (MemoryShelf::new(), SharedStamps::default());
        let records = {
            let mut stamps = stamps.clone();
            let mut header = offshoot_session::SessionHeader::new("s".into(), stamps.now());
            header.agent = Some("scripted".to_owned());
            vec![Record::opened(header)]
        };
        Self::on(shelf, stamps, agent, &records, settings).await
    }

    /// A session that was drawn.
    pub(crate) async fn drawn(agent: ScriptedAgent, drawing: &str) -> Self {
        let (mut records, stamps) = (offshoot_testkit::drawn(drawing), SharedStamps::default());
        if let Some(Record { change: Change::Opened(header), .. }) = records.first_mut() {
            header.id = "s".into();
            header.agent = Some("scripted".to_owned());
        }
        Self::on(MemoryShelf::new(), stamps, agent, &records, Settings::default()).await
    }

    /// A session `s` with these records.
    pub(crate) async fn of(agent: ScriptedAgent, records: &[Record]) -> Self {
        Self::on(MemoryShelf::new(), SharedStamps::default(), agent, records, Settings::default()).await
    }

    async fn on(
        shelf: MemoryShelf,
        stamps: SharedStamps,
        agent: ScriptedAgent,
        records: &[Record],
        settings: Settings,
    ) -> Self {
        shelf.create(records).unwrap();
        let (agent, rules) = (Arc::new(agent), RuleBook::in_memory());
        let engine = engine(&shelf, &stamps, agent.clone(), &rules, &settings);
        let events = engine.follow(&caller(), "s", 0).await.unwrap();
        let mut world = Self {
            shelf,
            agent,
            engine,
            session: "s".to_owned(),
            stamps,
            rules,
            settings,
            events,
            me: caller(),
            log: Vec::new(),
            records_told: 0,
        };
        world.records_told = world.tree().log().count();
        world
    }

    /// The engine ends as a crash would end it, and another one opens the session.
    pub(crate) async fn crash(&mut self) {
        let fresh = engine(&self.shelf, &self.stamps, self.agent.clone(), &self.rules, &self.settings);
        drop(std::mem::replace(&mut self.engine, fresh));
        self.log.push("-- crash --".to_owned());
        self.events = self.engine.follow(&caller(), "s", 0).await.unwrap();
    }

    /// What a crash has left is written with the first change, even where there is nothing to change. Whoever has looked
    /// before has seen exactly that.
    pub(crate) async fn recover(&self) {
        let (before, seen) = (self.tree().log().count(), self.view().await);
        assert_eq!(self.tree().log().count(), before, "looking writes nothing");
        let title = self.tree().title().map(str::to_owned);
        self.call(Request::Rename(request::Rename { session: self.session.clone(), title, client_id: None }))
            .await
            .unwrap();
        let written = self.view().await;
        assert_eq!((seen.branch, seen.heads, seen.spent), (written.branch, written.heads, written.spent));
    }

    /// Nobody follows any more: only what the engine itself has to do keeps it.
    pub(crate) fn left(self) -> (Engine, Arc<ScriptedAgent>) {
        (self.engine, self.agent)
    }

    /// The engine ends in order, and another one with other settings opens the session.
    pub(crate) async fn reopen(&mut self, settings: Settings) {
        self.engine.shut_down().await;
        self.settings = settings;
        self.crash().await;
    }

    pub(crate) async fn call(&self, request: Request) -> Result<Response, ApiError> {
        self.engine.call(&self.me, request).await
    }

    /// As somebody else would.
    pub(crate) async fn call_by_another(&self, request: Request) -> Result<Response, ApiError> {
        self.engine.call(&caller(), request).await
    }

    pub(crate) async fn send(&self, text: &str) -> Result<Response, ApiError> {
        self.call(Request::Send(send(text))).await
    }

    pub(crate) async fn view(&self) -> SessionView {
        let open =
            Request::Open(request::Open { session: self.session.clone(), turns: None, turn: None, at: None });
        match self.call(open).await.unwrap() {
            Response::Session(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    /// Listens until an event is the one that is waited for.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&EventKind) -> bool) {
        loop {
            let event = next_event(&mut self.events).await.expect("the events ended").unwrap();
            // Every turn ends with one; what it says has tests of its own.
            if matches!(event.kind, EventKind::Measured { .. }) {
                continue;
            }
            let turn = event.turn.map(|turn| format!("{turn} ")).unwrap_or_default();
            let sub_agent = event.sub_agent.map(|call| format!("({call}) ")).unwrap_or_default();
            self.log.push(format!("{turn}{sub_agent}{}", told(&event.kind)));
            if is_it(&event.kind) {
                return;
            }
        }
    }

    pub(crate) async fn until_turn_ended(&mut self) {
        self.until(|kind| matches!(kind, EventKind::TurnEnded { .. })).await;
    }

    pub(crate) async fn until_ready(&mut self) {
        self.until(|kind| matches!(kind, EventKind::Status { status } if status.state == "ready")).await;
    }

    pub(crate) fn tree(&self) -> SessionTree {
        self.shelf.open(&SessionId::from("s")).unwrap().unwrap().tree().clone()
    }

    /// Everything that happened: what was heard, what the agent was told, and what was written.
    pub(crate) fn story(&mut self) -> String {
        let events = std::mem::take(&mut self.log).join("\n");
        let told = self.agent.told().join("\n");
        let tree = self.tree();
        let records: Vec<String> = tree.log().skip(self.records_told).map(written).collect();
        self.records_told = tree.log().count();
        format!(
            "# events\n{events}\n\n# the agent was told\n{told}\n\n# records\n{}\n\n# tree\n{}",
            records.join("\n"),
            offshoot_testkit::draw(&tree),
        )
    }
}

pub(crate) fn engine(
    shelf: &MemoryShelf,
    stamps: &SharedStamps,
    agent: Arc<dyn Agent>,
    rules: &RuleBook,
    settings: &Settings,
) -> Engine {
    let stamps = stamps.clone();
    Engine::new(Parts {
        shelf: Arc::new(shelf.clone()),
        agents: vec![agent],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: rules.clone(),
        settings: settings.clone().into(),
        host: Default::default(),
        epoch: 0,
    })
}

pub(crate) fn caller() -> Caller {
    Caller::local("test")
}

pub(crate) fn send(text: &str) -> request::Send {
    request::Send { session: "s".to_owned(), prompt: PromptView::text(text), ..request::Send::default() }
}

fn told(kind: &EventKind) -> String {
    match kind {
        EventKind::Entry { entry, .. } => format!("entry {}", seen(entry)),
        EventKind::Live { entry } => format!("live {}", seen(entry)),
        other => serde_json::to_string(other).unwrap(),
    }
}

fn seen(entry: &EntryView) -> String {
    let body = serde_json::to_value(&entry.body).unwrap();
    let parent = entry.parent.as_deref().unwrap_or("-");
    let mut body = body;
    if let Some(body) = body.as_object_mut() {
        body.retain(|_, value| !value.is_null());
    }
    format!("{} below {parent}: {body}", entry.id)
}

fn written(record: &Record) -> String {
    let operation = record.operation.as_ref().map(|operation| format!("{operation} ")).unwrap_or_default();
    let change = match &record.change {
        Change::Entry(entry) => {
            let parent = entry.parent.as_ref().map_or("-", |parent| parent.as_str());
            let turn = entry.turn.as_ref().map(|turn| format!(" in {turn}")).unwrap_or_default();
            let kind = serde_json::to_value(EntryView::from(&**entry)).unwrap()["kind"].clone();
            format!("entry {} below {parent}{turn}: {kind} {:?}", entry.id, entry.body.text())
        }
        Change::HeadMoved(moved) => {
            let name = |id: &Option<EntryId>| id.as_ref().map_or("-".to_owned(), ToString::to_string);
            format!("head {} from {} to {}", moved.head, name(&moved.from), name(&moved.to))
        }
        Change::Marked(mark) => format!("{:?}", mark.fact),
        Change::Opened(_) => "opened".to_owned(),
        Change::Unknown => "unknown".to_owned(),
    };
    format!("{operation}{change}")
}
