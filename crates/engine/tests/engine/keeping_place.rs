//! A message keeps its place from the moment it is accepted. The hook is the test, so a message waits exactly as
//! long as the test wants.

use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, ForkTo, IfRunning};
use offshoot_api::response::Changed;
use offshoot_api::views::{PromptView, SessionView};
use offshoot_api::{ApiError, Caller, ErrorCode, EventStream, Hint, Request, Response, Service};
use offshoot_engine::{Engine, HookEvent, MemoryShelf, RuleBook, Settings, Shelf};
use offshoot_session::{Body, Entry, EntryId, Record, SessionId, SessionTree, Stamps};
use offshoot_testkit::SharedStamps;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::ear::{Ear, Told};
use crate::hooks::hook;
use crate::scripted::{Do, ScriptedAgent};
use crate::world::{caller, engine, next_event, send};

type Answer = Result<Response, ApiError>;

/// A session with an engine that others share, and the hook of its messages.
struct Stage {
    shelf: MemoryShelf,
    engine: Arc<Engine>,
    agent: Arc<ScriptedAgent>,
    events: EventStream,
    ear: Ear,
    me: Caller,
}

fn s() -> String {
    "s".to_owned()
}

impl Stage {
    async fn with(agent: ScriptedAgent) -> Self {
        let ear = Ear::open().await;
        let settings =
            Settings { hooks: vec![hook("ear", &[HookEvent::BeforeSend], ear.run())], ..Settings::default() };
        let (shelf, mut stamps, agent) = (MemoryShelf::new(), SharedStamps::default(), Arc::new(agent));
        let mut header = offshoot_session::SessionHeader::new("s".into(), stamps.now());
        header.agent = Some("scripted".to_owned());
        shelf.create(&[Record::opened(header)]).unwrap();
        let engine = Arc::new(engine(&shelf, &stamps, agent.clone(), &RuleBook::in_memory(), &settings));
        let events = engine.follow(&caller(), "s", 0).await.unwrap();
        Self { shelf, engine, agent, events, ear, me: caller() }
    }

    /// A session with these turns.
    async fn said(texts: &[&str]) -> Self {
        let mut stage = Self::with(ScriptedAgent::new().on("slow", vec![Do::Gate])).await;
        for text in texts {
            let call = stage.begin(Request::Send(send(text)));
            stage.ear.next().await.answer(&json!({}));
            call.await.unwrap().unwrap();
            stage.until_ready().await;
        }
        stage
    }

    fn begin(&self, request: Request) -> JoinHandle<Answer> {
        let (engine, me) = (self.engine.clone(), self.me.clone());
        tokio::spawn(async move { engine.call(&me, request).await })
    }

    async fn call(&self, request: Request) -> Answer {
        self.engine.call(&caller(), request).await
    }

    async fn view(&self) -> SessionView {
        match self
            .call(Request::Open(request::Open { session: s(), turns: None, turn: None, at: None }))
            .await
            .unwrap()
        {
            Response::Session(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    fn tree(&self) -> SessionTree {
        self.shelf.open(&SessionId::from("s")).unwrap().unwrap().tree().clone()
    }

    fn head(&self) -> Option<EntryId> {
        self.tree().main_head().cloned()
    }

    fn records(&self) -> usize {
        self.tree().log().count()
    }

    async fn until(&mut self, is_it: impl Fn(&EventKind) -> bool) {
        while !is_it(&next_event(&mut self.events).await.expect("the events ended").unwrap().kind) {}
    }

    async fn until_turn_ended(&mut self) {
        self.until(|kind| matches!(kind, EventKind::TurnEnded { .. })).await;
    }

    async fn until_ready(&mut self) {
        self.until(|kind| matches!(kind, EventKind::Status { status } if status.state == "ready")).await;
    }
}

fn prompt(tree: &SessionTree, text: &str) -> Option<Arc<Entry>> {
    tree.entries().find(|entry| entry.body.is_prompt() && entry.body.text() == text).cloned()
}

/// The entry above a prompt, settings that belong to it aside.
fn place_of(tree: &SessionTree, text: &str) -> Option<EntryId> {
    let prompt = prompt(tree, text).unwrap_or_else(|| panic!("`{text}` was not written"));
    let mut above = tree.parent(&prompt.id);
    while let Some(entry) = above.filter(|entry| matches!(entry.body, Body::Setting(_))) {
        above = tree.parent(&entry.id);
    }
    above.map(|entry| entry.id.clone())
}

fn below(told: &Told) -> Option<EntryId> {
    told.what["below"].as_str().map(EntryId::from)
}

fn switch(to: &str, if_running: IfRunning) -> Request {
    Request::Switch(request::Switch {
        session: s(),
        to: Some(to.to_owned().into()),
        if_running,
        ..request::Switch::default()
    })
}

fn edit(at: &str, text: &str) -> Request {
    Request::Edit(request::Edit {
        session: s(),
        at: at.to_owned().into(),
        text: text.to_owned(),
        ..Default::default()
    })
}

fn interrupt(turn: Option<&str>) -> Request {
    Request::Interrupt(request::Interrupt { session: s(), turn: turn.map(str::to_owned) })
}

fn changed(answer: Answer) -> Changed {
    match answer {
        Ok(Response::Changed(changed)) => *changed,
        other => panic!("{other:?}"),
    }
}

fn named(text: &str, client_id: &str) -> request::Send {
    request::Send { client_id: Some(client_id.to_owned()), ..send(text) }
}

/// while the hook of a message runs, its branch is busy. Before, `switch 1` and `edit 1` succeeded and the message
/// landed on the other branch.
#[tokio::test]
async fn a_message_that_waits_for_its_hook_holds_its_branch() {
    let mut stage = Stage::said(&["one", "two"]).await;
    let (head, before) = (stage.head(), stage.records());
    let call = stage.begin(Request::Send(send("three")));
    let told = stage.ear.next().await;
    assert_eq!(below(&told), head);
    let view = stage.view().await;
    assert_eq!(view.status.state, "starting");
    let row = &view.turns[0];
    assert_eq!((row.phase.as_deref(), row.number, row.what.as_str()), (Some("hook"), 3, "three"));
    assert!(row.prompt.is_empty(), "it is not written");
    let configure = request::Configure { session: s(), thinking: Some("high".into()), ..Default::default() };
    let undo = request::History { session: s(), ..Default::default() };
    let retry = request::Retry { session: s(), at: "1".into(), ..Default::default() };
    let clear = request::Clear { session: s(), ..Default::default() };
    for request in [
        switch("1", IfRunning::Wait),
        edit("1", "uno"),
        Request::Retry(retry),
        Request::Configure(configure),
        Request::Undo(undo),
        Request::Clear(clear),
    ] {
        let refused = stage.call(request.clone()).await.unwrap_err();
        assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)), "{request:?}");
        assert_eq!(refused.data.turn.as_ref().map(|turn| turn.number), Some(3), "{request:?}");
    }
    let to = ForkTo::NewSession;
    stage.call(Request::Fork(request::Fork { session: s(), to, ..Default::default() })).await.unwrap();
    assert_eq!(stage.head(), head, "nothing but the fork happened");
    told.answer(&json!({}));
    let sent = changed(call.await.unwrap());
    assert_eq!(place_of(&stage.tree(), "three"), head);
    assert_eq!(sent.turn.as_deref(), Some(row.turn.as_str()), "the turn has its id from the beginning");
    assert!(stage.records() > before);
    stage.until_ready().await;
}

/// a point such as `1` is resolved once. Before, it was resolved again after the hook.
#[tokio::test]
async fn an_edit_lands_beside_the_prompt_it_was_made_for() {
    let mut stage = Stage::said(&["one", "two"]).await;
    let two = prompt(&stage.tree(), "two").unwrap();
    let call = stage.begin(edit("2", "zwei"));
    let told = stage.ear.next().await;
    assert_eq!(below(&told), two.parent);
    // It lands above the head, so the head may go elsewhere, where `2` means nothing.
    stage.call(switch(&format!("id:{}", two.id), IfRunning::Wait)).await.unwrap();
    told.answer(&json!({}));
    call.await.unwrap().unwrap();
    let tree = stage.tree();
    assert_eq!(prompt(&tree, "zwei").unwrap().parent, two.parent);
    stage.until_ready().await;
}

/// a second message to the same branch is queued behind the first, also where that has no prompt yet. Hooks hear
/// of it when it is about to be sent, with the place where it lands.
#[tokio::test]
async fn a_message_behind_one_that_waits_for_its_hook_is_queued() {
    let mut stage = Stage::said(&["one"]).await;
    let first = stage.begin(Request::Send(send("first")));
    let told = stage.ear.next().await;
    let second = changed(stage.call(Request::Send(named("second", "second-id"))).await);
    assert_eq!(second.queued.as_deref(), Some("second-id"));
    let view = stage.view().await;
    assert_eq!((view.queue.len(), view.queue[0].held), (1, false));
    told.answer(&json!({}));
    first.await.unwrap().unwrap();
    let told = stage.ear.next().await;
    assert_eq!(told.what["text"], "second");
    assert_eq!(below(&told), stage.head(), "below the answer to the first");
    told.answer(&json!({}));
    stage.until(|kind| matches!(kind, EventKind::Queue { queue } if queue.is_empty())).await;
    stage.until_ready().await;
    let tree = stage.tree();
    let path: Vec<String> = tree.path_to(tree.main_head()).iter().map(|entry| entry.body.text()).collect();
    assert_eq!(path, ["one", "re: one", "first", "re: first", "second", "re: second"]);
}

/// a message that its hook cancels wrote nothing, so the next one is sent from the same place.
#[tokio::test]
async fn behind_a_message_that_is_refused_the_next_one_takes_its_place() {
    let mut stage = Stage::said(&["one"]).await;
    let head = stage.head();
    for text in ["refused", "withdrawn"] {
        let first = stage.begin(Request::Send(send(text)));
        let told = stage.ear.next().await;
        changed(stage.call(Request::Send(send(&format!("after {text}")))).await);
        match text {
            "refused" => {
                told.answer(&json!({ "cancel": true, "reason": "hush" }));
                assert_eq!(first.await.unwrap().unwrap_err().message, "hush");
            }
            _ => first.abort(),
        }
        let told = stage.ear.next().await;
        assert_eq!(
            (told.what["text"].as_str(), below(&told)),
            (Some(&*format!("after {text}")), head.clone())
        );
        told.answer(&json!({}));
        stage.until_turn_ended().await;
        assert!(prompt(&stage.tree(), text).is_none());
        assert_eq!(place_of(&stage.tree(), &format!("after {text}")), head);
        let back = format!("id:{}", head.as_ref().unwrap());
        stage.call(switch(&back, IfRunning::Wait)).await.unwrap();
    }
}

/// whoever closes the connection, or cancels, before the prompt is written leaves no trace; afterwards the message
/// belongs to the session.
#[tokio::test]
async fn a_message_is_cancelled_without_a_trace_until_its_prompt_is_written() {
    let mut stage = Stage::said(&["one"]).await;
    let before = stage.records();
    for way in ["connection", "cancel", "abort", "abort turn"] {
        let call = stage.begin(Request::Send(named("never", "never-sent")));
        let _told = stage.ear.next().await;
        let cancelled = |answer: Answer| assert_eq!(answer.unwrap_err().code, ErrorCode::Cancelled, "{way}");
        match way {
            "connection" => call.abort(),
            "cancel" => {
                let cancel = Request::CancelSummary(request::Session { session: s() });
                stage.engine.call(&stage.me, cancel).await.unwrap();
                cancelled(call.await.unwrap());
            }
            "abort" => {
                stage.call(interrupt(None)).await.unwrap();
                cancelled(call.await.unwrap());
            }
            _ => {
                stage.call(interrupt(Some("never-sent"))).await.unwrap();
                cancelled(call.await.unwrap());
            }
        }
        stage.until_ready().await;
        let view = stage.view().await;
        assert_eq!((stage.records(), view.turns.len(), view.queue.len()), (before, 0, 0), "{way}");
    }
    let call = stage.begin(Request::Send(send("slow")));
    stage.ear.next().await.answer(&json!({}));
    stage.until(|kind| matches!(kind, EventKind::TurnStarted { .. })).await;
    call.abort();
    stage.agent.open_gate();
    stage.until_turn_ended().await;
    assert!(prompt(&stage.tree(), "slow").is_some());
}

/// `abort_first` cancels the message in the way, and what waits behind it is held.
#[tokio::test]
async fn a_message_in_the_way_is_cancelled_with_abort_first() {
    let mut stage = Stage::said(&["one", "two"]).await;
    let call = stage.begin(Request::Send(send("three")));
    let _told = stage.ear.next().await;
    changed(stage.call(Request::Send(send("four"))).await);
    stage.call(switch("1", IfRunning::AbortFirst)).await.unwrap();
    assert_eq!(call.await.unwrap().unwrap_err().code, ErrorCode::Cancelled);
    let view = stage.view().await;
    assert_eq!((view.turns.len(), view.queue.len(), view.queue[0].held), (0, 1, true));
    assert!(stage.ear.has_heard_all(), "what is held is asked about when it is sent");
}

/// the place of a message sent with `abort_first` is the end of what it interrupts, also while that agent has not
/// stopped yet.
#[tokio::test]
async fn a_message_that_waits_for_an_agent_to_stop_holds_its_branch() {
    let agent = ScriptedAgent::new()
        .on("deaf", vec![Do::Say(offshoot_session::agent::AgentEventKind::text("m", "I ")), Do::Deaf]);
    let mut stage = Stage::with(agent).await;
    let call = stage.begin(Request::Send(send("deaf")));
    stage.ear.next().await.answer(&json!({}));
    call.await.unwrap().unwrap();
    stage.until(|kind| matches!(kind, EventKind::Live { .. })).await;
    let call =
        stage.begin(Request::Send(request::Send { if_running: IfRunning::AbortFirst, ..send("next") }));
    stage.until(|kind| matches!(kind, EventKind::Status { status } if status.state == "starting")).await;
    let phases: Vec<Option<String>> = stage.view().await.turns.into_iter().map(|row| row.phase).collect();
    assert_eq!(phases, [Some("interrupted".to_owned()), Some("accepted".to_owned())]);
    assert_eq!(stage.call(switch("1", IfRunning::Wait)).await.unwrap_err().code, ErrorCode::Running);
    // The hook is asked when the agent has stopped, or was given up.
    let told = stage.ear.next().await;
    let (tree, end) = (stage.tree(), stage.head());
    let interrupted = end.as_ref().and_then(|end| tree.entry(end));
    assert!(interrupted.is_some_and(|entry| matches!(entry.body, Body::Interrupted(_))));
    assert_eq!(below(&told), end);
    told.answer(&json!({}));
    call.await.unwrap().unwrap();
    assert_eq!(place_of(&stage.tree(), "next"), end);
}

/// the same message sent twice is prepared once and written once.
#[tokio::test]
async fn a_message_that_is_sent_again_while_its_hook_runs_counts_once() {
    let mut stage = Stage::said(&["one"]).await;
    let first = stage.begin(Request::Send(named("once", "only-once")));
    let told = stage.ear.next().await;
    let again = stage.begin(Request::Send(named("once", "only-once")));
    stage.view().await;
    told.answer(&json!({}));
    let (first, again) = (changed(first.await.unwrap()), changed(again.await.unwrap()));
    assert_eq!((first.prompt, first.turn), (again.prompt, again.turn));
    assert!(again.repeated);
    stage.until_ready().await;
    assert!(stage.ear.has_heard_all());
}

/// an engine that stops refuses a message without a prompt; its sender sends it to the next one.
#[tokio::test]
async fn an_engine_that_stops_refuses_what_is_not_written() {
    let mut stage = Stage::said(&["one"]).await;
    let before = stage.records();
    let call = stage.begin(Request::Send(send("late")));
    let _told = stage.ear.next().await;
    stage.engine.shut_down().await;
    assert_eq!(call.await.unwrap().unwrap_err().code, ErrorCode::Disconnected);
    assert_eq!(stage.records(), before);
}

/// a queued message can be changed or removed while hooks are asked about it.
#[tokio::test]
async fn a_queued_message_is_asked_about_again_when_it_is_changed() {
    let mut stage = Stage::said(&["one"]).await;
    let call = stage.begin(Request::Send(send("slow")));
    stage.ear.next().await.answer(&json!({}));
    call.await.unwrap().unwrap();
    for id in ["queued-one", "queued-two"] {
        changed(stage.call(Request::Send(named(id, id))).await);
    }
    stage.agent.open_gate();
    assert_eq!(stage.ear.next().await.what["text"], "queued-one");
    let change = request::ChangeQueued {
        session: s(),
        queued: "queued-one".to_owned(),
        prompt: PromptView::text("better"),
    };
    stage.call(Request::ChangeQueued(change)).await.unwrap();
    let told = stage.ear.next().await;
    assert_eq!(told.what["text"], "better");
    let place = below(&told);
    let cancel = request::CancelQueued { session: s(), queued: "queued-one".to_owned() };
    stage.call(Request::CancelQueued(cancel)).await.unwrap();
    let told = stage.ear.next().await;
    assert_eq!((told.what["text"].as_str(), below(&told)), (Some("queued-two"), place.clone()));
    told.answer(&json!({ "cancel": true, "reason": "hush" }));
    stage.until(|kind| matches!(kind, EventKind::Notice { text } if text.contains("hush"))).await;
    let view = stage.view().await;
    assert_eq!((view.queue.len(), view.queue[0].held, view.turns.len()), (1, true, 0), "it is not lost");
    let say = request::SayQueued { session: s(), queued: None };
    let call = stage.begin(Request::SayQueued(say));
    stage.ear.next().await.answer(&json!({}));
    call.await.unwrap().unwrap();
    assert_eq!(place_of(&stage.tree(), "queued-two"), place);
}

/// Chance that is the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides.max(1)
    }
}

/// A message that waits for its hook.
struct Waiting {
    id: String,
    told: Told,
    place: Option<EntryId>,
    /// `None`: it comes from the queue.
    call: Option<JoinHandle<Answer>>,
}

/// Messages that wait, and others that act meanwhile.
struct Play {
    stage: Stage,
    dice: Dice,
    said: usize,
    waiting: Vec<Waiting>,
    /// Ids of queued messages, and of the message that each is behind.
    queue: Vec<(String, String)>,
    landed: usize,
}

impl Play {
    fn name(&mut self) -> String {
        self.said += 1;
        format!("message-{}", self.said)
    }

    fn is_busy(&self, place: &Option<EntryId>) -> bool {
        self.waiting.iter().any(|waiting| waiting.place == *place)
    }

    fn is_on_busy_path(&self, at: &EntryId) -> bool {
        let tree = self.stage.tree();
        self.waiting
            .iter()
            .filter_map(|waiting| waiting.place.as_ref())
            .any(|place| tree.is_ancestor(at, place))
    }

    fn pick(&mut self, is_meant: impl Fn(&Entry) -> bool) -> Option<EntryId> {
        let tree = self.stage.tree();
        let all: Vec<EntryId> =
            tree.entries().filter(|entry| is_meant(entry)).map(|entry| entry.id.clone()).collect();
        let at = self.dice.roll(all.len());
        all.get(at).cloned()
    }

    async fn act(&mut self) {
        match self.dice.roll(20) {
            0..4 => self.send(IfRunning::Wait).await,
            4 => self.send(IfRunning::Beside).await,
            5..7 => self.say_again().await,
            7..10 => self.switch().await,
            10 => self.undo().await,
            11 => self.configure().await,
            12 => self.fork().await,
            13..17 => self.agree().await,
            17 => self.refuse().await,
            18 => self.withdraw().await,
            _ => self.abort().await,
        }
        let tree = self.stage.tree();
        for waiting in &self.waiting {
            let is_there = waiting.place.as_ref().is_none_or(|place| tree.contains(place));
            assert!(is_there, "the place of {} was taken away", waiting.id);
        }
        let view = self.stage.view().await;
        assert_eq!(view.turns.len(), self.waiting.len(), "{:?}", view.turns);
        assert_eq!(view.status.state == "ready", self.waiting.is_empty());
        let from_queue = self.waiting.iter().filter(|waiting| waiting.call.is_none()).count();
        assert_eq!(view.queue.len(), self.queue.len() + from_queue);
        assert!(view.queue.iter().all(|queued| !queued.held), "{:?}", view.queue);
    }

    /// The hook is told of the message and where it lands.
    async fn accepted(
        &mut self,
        id: String,
        call: Option<JoinHandle<Answer>>,
        text: Value,
        place: Option<EntryId>,
    ) {
        let told = self.stage.ear.next().await;
        assert_eq!((&told.what["text"], below(&told)), (&text, place.clone()), "{id}");
        self.waiting.push(Waiting { id, told, place, call });
    }

    async fn send(&mut self, if_running: IfRunning) {
        let (id, head) = (self.name(), self.stage.head());
        let message = request::Send { if_running, ..named(&id, &id) };
        let first = self.waiting.iter().find(|waiting| waiting.place == head).map(|first| first.id.clone());
        match first.filter(|_| if_running == IfRunning::Wait) {
            Some(first) => {
                let queued = changed(self.stage.call(Request::Send(message)).await);
                assert_eq!(queued.queued, Some(id.clone()), "behind {first}");
                self.queue.push((id, first));
            }
            None => {
                let call = self.stage.begin(Request::Send(message));
                self.accepted(id.clone(), Some(call), json!(id), head).await;
            }
        }
    }

    /// Edits or retries a prompt anywhere.
    async fn say_again(&mut self) {
        let Some(at) = self.pick(|entry| entry.body.is_prompt()) else { return };
        let (tree, id) = (self.stage.tree(), self.name());
        let (point, client_id) = (format!("id:{at}"), Some(id.clone()));
        let (request, text) = match self.dice.roll(2) {
            0 => {
                let edit = request::Edit {
                    session: s(),
                    at: point.into(),
                    text: id.clone(),
                    client_id,
                    ..Default::default()
                };
                (Request::Edit(edit), id.clone())
            }
            _ => {
                let retry =
                    request::Retry { session: s(), at: point.into(), client_id, ..Default::default() };
                (Request::Retry(retry), tree.entry(&at).unwrap().body.text())
            }
        };
        if self.is_on_busy_path(&at) {
            return refused(self.stage.call(request).await);
        }
        let place = tree.parent(&at).map(|above| above.id.clone());
        let call = self.stage.begin(request);
        self.accepted(id, Some(call), json!(text), place).await;
    }

    async fn switch(&mut self) {
        let Some(to) = self.pick(|_| true) else { return };
        let head = self.stage.head();
        let is_free = !self.is_busy(&head);
        let moved = self.stage.call(switch(&format!("id:{to}"), IfRunning::Wait)).await;
        if is_free { drop(moved.unwrap()) } else { refused(moved) }
    }

    async fn configure(&mut self) {
        let head = self.stage.head();
        let (thinking, is_free) = (Some(format!("level {}", self.said)), !self.is_busy(&head));
        let configure = request::Configure { session: s(), thinking, ..Default::default() };
        let set = self.stage.call(Request::Configure(configure)).await;
        if is_free { drop(set.unwrap()) } else { refused(set) }
    }

    async fn undo(&mut self) {
        let head = self.stage.head();
        let undo = request::History { session: s(), ..Default::default() };
        match self.stage.call(Request::Undo(undo)).await {
            Ok(_) => assert!(!self.is_busy(&head), "the head was moved under a message"),
            Err(error) => {
                assert!(matches!(error.code, ErrorCode::Running | ErrorCode::NothingToDo), "{error}")
            }
        }
    }

    /// Changes nothing here, so it is always allowed.
    async fn fork(&mut self) {
        if self.stage.head().is_none() {
            return;
        }
        let to = ForkTo::NewSession;
        let fork = request::Fork { session: s(), to, ..Default::default() };
        self.stage.call(Request::Fork(fork)).await.unwrap();
    }

    fn take(&mut self) -> Option<Waiting> {
        let at = self.dice.roll(self.waiting.len());
        (at < self.waiting.len()).then(|| self.waiting.remove(at))
    }

    /// The hook lets a message pass: it lands where it was sent.
    async fn agree(&mut self) {
        let Some(Waiting { id, told, place, call }) = self.take() else { return };
        told.answer(&json!({}));
        if let Some(call) = call {
            call.await.unwrap().unwrap();
        }
        self.stage.until_turn_ended().await;
        let tree = self.stage.tree();
        let prompt = tree.entries().find(|entry| {
            entry.body.is_prompt() && entry.turn.as_ref().is_some_and(|turn| turn.as_str() == id)
        });
        let prompt = prompt.unwrap_or_else(|| panic!("{id} was not written"));
        let mut above = prompt.parent.clone();
        // Settings of its own stand between the place and the prompt.
        while above != place {
            let entry =
                tree.entry(above.as_ref().unwrap_or_else(|| panic!("{id} landed elsewhere"))).unwrap();
            assert!(matches!(entry.body, Body::Setting(_)), "{id} landed elsewhere");
            above = entry.parent.clone();
        }
        self.landed += 1;
        let answer = tree.entries().filter(|entry| entry.turn == prompt.turn).last().unwrap().id.clone();
        self.next_behind(&id, Some(answer)).await;
    }

    /// The first message behind this one is sent next, from there.
    async fn next_behind(&mut self, id: &str, place: Option<EntryId>) {
        let Some(at) = self.queue.iter().position(|(_, behind)| behind == id) else { return };
        let (next, _) = self.queue.remove(at);
        for (_, behind) in self.queue.iter_mut().filter(|(_, behind)| behind == id) {
            behind.clone_from(&next);
        }
        self.accepted(next.clone(), None, json!(next), place).await;
    }

    async fn refuse(&mut self) {
        let Some(Waiting { id, told, place, call }) = self.take() else { return };
        told.answer(&json!({ "cancel": true }));
        match call {
            Some(call) => assert_eq!(call.await.unwrap().unwrap_err().code, ErrorCode::Cancelled),
            None => {
                self.stage.until(|kind| matches!(kind, EventKind::Notice { .. })).await;
                self.remove_queued(&id).await;
            }
        }
        self.next_behind(&id, place).await;
    }

    async fn remove_queued(&mut self, id: &str) {
        let cancel = request::CancelQueued { session: s(), queued: id.to_owned() };
        self.stage.call(Request::CancelQueued(cancel)).await.unwrap();
    }

    /// The sender goes away, or removes the message from the queue.
    async fn withdraw(&mut self) {
        let Some(Waiting { id, told: _told, place, call }) = self.take() else { return };
        match call {
            Some(call) => {
                call.abort();
                while self.stage.view().await.turns.iter().any(|row| row.turn == id) {
                    tokio::task::yield_now().await;
                }
            }
            None => self.remove_queued(&id).await,
        }
        self.next_behind(&id, place).await;
    }

    /// What waits behind it is held, and is removed here.
    async fn abort(&mut self) {
        let Some(Waiting { id, told: _told, call, .. }) = self.take() else { return };
        self.stage.call(interrupt(Some(&id))).await.unwrap();
        match call {
            Some(call) => assert_eq!(call.await.unwrap().unwrap_err().code, ErrorCode::Cancelled),
            None => self.remove_queued(&id).await,
        }
        let behind: Vec<String> =
            self.queue.iter().filter(|(_, behind)| *behind == id).map(|(queued, _)| queued.clone()).collect();
        for queued in behind {
            self.remove_queued(&queued).await;
            self.queue.retain(|(id, _)| *id != queued);
        }
    }
}

fn refused(answer: Answer) {
    let error = answer.unwrap_err();
    assert_eq!((error.code, error.hint), (ErrorCode::Running, Some(Hint::AbortFirst)), "{error}");
}

/// messages wait for slow hooks while others switch, edit, retry, fork, undo, change settings and send. Each message
/// lands below the place it was sent from. `OFFSHOOT_TEST_ROUNDS` plays more games.
#[tokio::test]
async fn each_message_lands_below_the_place_it_was_sent_from() {
    let rounds =
        std::env::var("OFFSHOOT_TEST_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    let mut landed = 0;
    for seed in 1..=rounds {
        let stage = Stage::said(&["one", "two"]).await;
        let dice = Dice(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let (waiting, queue) = (Vec::new(), Vec::new());
        let mut play = Play { stage, dice, said: 0, waiting, queue, landed: 0 };
        for _ in 0..60 {
            play.act().await;
        }
        while !play.waiting.is_empty() {
            play.agree().await;
        }
        landed += play.landed;
        play.stage.engine.shut_down().await;
    }
    assert!(landed > 0);
    println!("{rounds} games, {landed} messages landed");
}
