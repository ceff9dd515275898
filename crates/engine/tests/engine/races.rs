//! Another process writes between planning and writing. What comes of it is what would have come of it in order.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::PromptView;
use offshoot_api::{ApiError, EventStream, Request, Response, Service};
use offshoot_engine::{Engine, HookEvent, Parts, RuleBook, Settings};
use offshoot_session::agent::AgentEventKind;
use offshoot_session::foreign::journal_id;
use offshoot_session::plan::plan_undo;
use offshoot_session::{Change, Record, SessionId, SessionTree};
use offshoot_store::{OtherPrograms, SessionStore};
use offshoot_testkit::SharedStamps;
use serde_json::json;
use tempfile::TempDir;

use crate::ear::Ear;
use crate::hooks::hook;
use crate::rival::{ElsewhereStamps, FullDisk, Rival, RivalShelf, append_elsewhere, process};
use crate::scripted::{Do, ScriptedAgent};
use crate::world::{caller, next_event};

const PATIENCE: Duration = Duration::from_secs(30);

struct Race {
    folder: TempDir,
    rival: Rival,
    agent: Arc<ScriptedAgent>,
    engine: Engine,
    id: SessionId,
}

impl Race {
    fn new() -> Self {
        Self::with(Settings::default(), ScriptedAgent::new())
    }

    fn with(settings: Settings, agent: ScriptedAgent) -> Self {
        let folder = TempDir::new().unwrap();
        let mut records = offshoot_testkit::drawn("u1 - a1 - u2 - a2*");
        if let Some(Record { change: Change::Opened(header), .. }) = records.first_mut() {
            header.id = "s".into();
            header.agent = Some("scripted".to_owned());
        }
        let store = process(folder.path(), "engine");
        SessionStore::create(&store, &records).unwrap();
        Self::on(folder, store, "s".into(), settings, agent)
    }

    fn on(
        folder: TempDir,
        store: offshoot_store::JournalStore,
        id: SessionId,
        settings: Settings,
        agent: ScriptedAgent,
    ) -> Self {
        let (rival, stamps, agent) = (Rival::default(), SharedStamps::default(), Arc::new(agent));
        let engine = Engine::new(Parts {
            shelf: Arc::new(RivalShelf { store, rival: rival.clone(), full: FullDisk::default() }),
            agents: vec![agent.clone()],
            stamps: Arc::new(move |_| Box::new(stamps.clone())),
            rules: RuleBook::in_memory(),
            host: Default::default(),
            epoch: 0,
            settings: Settings { default_agent: Some("scripted".to_owned()), ..settings }.into(),
        });
        Self { folder, rival, agent, engine, id }
    }

    /// The other process appends a message in the middle of the next request.
    fn rival_appends(&self, text: &str) {
        let (home, id, text) = (self.folder.path().to_owned(), self.id.clone(), text.to_owned());
        self.rival.will(move || append_elsewhere(&process(&home, "rival"), &id, &text));
    }

    fn rival_undoes(&self) {
        let (home, id) = (self.folder.path().to_owned(), self.id.clone());
        self.rival.will(move || {
            let mut stamps = ElsewhereStamps;
            let undone = process(&home, "rival").append(&id, &mut |tree| plan_undo(tree, &mut stamps).ok());
            assert!(undone.unwrap().is_some());
        });
    }

    async fn call(&self, request: Request) -> Result<Response, ApiError> {
        let me = caller();
        let answer = tokio::time::timeout(PATIENCE, self.engine.call(&me, request));
        answer.await.expect("nobody answers")
    }

    async fn follow(&self) -> EventStream {
        let open = request::Open { session: self.id.to_string(), turns: Some(0), turn: None, at: None };
        let Ok(Response::Session(view)) = self.call(Request::Open(open)).await else { panic!("not opened") };
        self.engine.follow(&caller(), self.id.as_str(), view.seq).await.unwrap()
    }

    /// The request, and the turn that it begins to its end.
    async fn whole(&self, request: Request) {
        let begins_turn = match &request {
            Request::Send(_) => true,
            Request::Edit(edit) => !edit.only_write,
            _ => false,
        };
        let mut events = self.follow().await;
        self.call(request).await.unwrap();
        if begins_turn {
            until(&mut events, |kind| matches!(kind, EventKind::TurnEnded { .. })).await;
        }
    }

    fn tree(&self) -> SessionTree {
        process(self.folder.path(), "reader").read(&self.id).unwrap().unwrap().tree
    }
}

async fn until(events: &mut EventStream, is_it: impl Fn(&EventKind) -> bool) {
    let found = async { while !is_it(&next_event(events).await.expect("the events ended").unwrap().kind) {} };
    tokio::time::timeout(PATIENCE, found).await.expect("it does not happen");
}

/// A session without its ids: messages with what they answer, the head, labels, steps.
fn told(tree: &SessionTree) -> String {
    let text = |entry: Option<&Arc<offshoot_session::Entry>>| {
        entry.map_or("-".to_owned(), |entry| format!("{:?}", entry.body.text()))
    };
    let messages = tree.entries().map(|entry| {
        let label = tree.label(&entry.id).unwrap_or_default();
        format!("{} below {} {label}", text(tree.entry(&entry.id)), text(tree.parent(&entry.id)))
    });
    let steps =
        tree.operations().map(|step| format!("{} {}", step.name, if step.undone { "undone" } else { "" }));
    let head = format!("head at {}", text(tree.main_head().and_then(|head| tree.entry(head))));
    messages.chain(steps).chain([head]).collect::<Vec<_>>().join("\n")
}

fn requests() -> Vec<Request> {
    let session = || "s".to_owned();
    vec![
        Request::Send(request::Send {
            session: session(),
            prompt: PromptView::text("and?"),
            client_id: Some("mine-one".to_owned()),
            ..Default::default()
        }),
        Request::Edit(request::Edit {
            session: session(),
            at: "u2".into(),
            text: "two, differently".to_owned(),
            ..Default::default()
        }),
        Request::Edit(request::Edit {
            session: session(),
            at: "u2".into(),
            text: "only written".to_owned(),
            only_write: true,
            ..Default::default()
        }),
        Request::Undo(request::History { session: session(), ..Default::default() }),
        Request::Label(request::Label {
            session: session(),
            at: "head".into(),
            label: Some("here".to_owned()),
            ..Default::default()
        }),
        Request::Switch(request::Switch { session: session(), to: Some("a1".into()), ..Default::default() }),
        Request::Append(request::Append {
            session: session(),
            entries: vec![json!({ "role": "user", "text": "noted" })],
            ..Default::default()
        }),
        Request::Fork(request::Fork {
            session: session(),
            at: Some("head".into()),
            to: request::ForkTo::NewSession,
            ..Default::default()
        }),
    ]
}

#[tokio::test]
async fn a_request_that_lost_a_race_is_planned_again_on_what_is_there() {
    for request in requests() {
        let (raced, in_order) = (Race::new(), Race::new());
        // Otherwise undo has nothing to undo in order.
        for race in [&raced, &in_order] {
            append_elsewhere(&process(race.folder.path(), "rival"), &race.id, "before");
        }
        raced.rival_appends("between");
        raced.whole(request.clone()).await;
        assert_eq!(raced.rival.left(), 0, "{request:?}: nobody came in between");
        append_elsewhere(&process(in_order.folder.path(), "rival"), &in_order.id, "between");
        in_order.whole(request.clone()).await;
        assert_eq!(told(&raced.tree()), told(&in_order.tree()), "{request:?}");
        raced.engine.shut_down().await;
        in_order.engine.shut_down().await;
    }
}

/// After a lost race the engine knew an old tree for ever, and undo took back a step that was not the last.
#[tokio::test]
async fn undo_after_a_lost_race_takes_back_the_last_step() {
    let race = Race::new();
    race.rival_appends("theirs");
    let append = |text: &str| {
        let entries = vec![json!({ "role": "user", "text": text })];
        Request::Append(request::Append { session: "s".to_owned(), entries, ..Default::default() })
    };
    let undo = || Request::Undo(request::History { session: "s".to_owned(), ..Default::default() });
    race.call(append("ours")).await.unwrap();
    race.call(undo()).await.unwrap();
    let last = |tree: &SessionTree| tree.main_head().and_then(|head| tree.entry(head)).unwrap().body.text();
    assert_eq!(last(&race.tree()), "theirs", "{}", told(&race.tree()));
    race.call(append("ours again")).await.unwrap();
    // The other process takes back our step while ours is planned on it: the one before it is taken back.
    race.rival_undoes();
    race.call(undo()).await.unwrap();
    let steps: Vec<(String, bool)> =
        race.tree().operations().map(|step| (step.name.clone(), step.undone)).collect();
    let append = |undone| ("append".to_owned(), undone);
    assert_eq!(steps, [append(true), append(true), append(true)]);
    let refused = race.call(undo()).await.unwrap_err();
    assert_eq!(refused.code, offshoot_api::ErrorCode::NothingToDo);
    race.engine.shut_down().await;
}

/// Whoever is outrun three times locks the others out first.
#[tokio::test]
async fn the_fourth_attempt_is_planned_under_the_lock() {
    for request in requests() {
        let race = Race::new();
        append_elsewhere(&process(race.folder.path(), "rival"), &race.id, "before");
        for number in 0..10 {
            race.rival_appends(&format!("rival {number}"));
        }
        race.whole(request.clone()).await;
        // Three came between a plan and its write, the fourth before the lock was taken.
        assert_eq!(race.rival.left(), 6, "{request:?}");
        race.engine.shut_down().await;
    }
}

#[tokio::test]
async fn a_hook_is_asked_once_for_a_request_that_is_planned_again() {
    let mut ear = Ear::open().await;
    let hooks = vec![hook("ear", &[HookEvent::BeforeSend], ear.run())];
    let race = Race::with(Settings { hooks, ..Settings::default() }, ScriptedAgent::new());
    race.rival_appends("one");
    race.rival_appends("two");
    let send = requests().remove(0);
    let answers = async {
        ear.next().await.answer(&json!({}));
    };
    tokio::join!(race.whole(send), answers);
    assert!(ear.has_heard_all(), "a hook is not asked twice");
    assert_eq!(race.rival.left(), 0);
    let prompts: Vec<String> =
        race.tree().entries().filter(|entry| entry.body.is_prompt()).map(|entry| entry.body.text()).collect();
    assert_eq!(prompts.iter().filter(|prompt| *prompt == "and?").count(), 1, "{prompts:?}");
    race.engine.shut_down().await;
}

/// another process knows nothing of a message that waits for its hook. The message lands below the place it was sent
/// from and takes the head along; where that place was undone it is refused.
#[tokio::test]
async fn a_message_keeps_its_place_while_another_process_writes() {
    let mut ear = Ear::open().await;
    let hooks = vec![hook("ear", &[HookEvent::BeforeSend], ear.run())];
    let race = Race::with(Settings { hooks, ..Settings::default() }, ScriptedAgent::new());
    let rival = process(race.folder.path(), "rival");
    let writes = async {
        let told = ear.next().await;
        assert_eq!(told.what["below"], "a2");
        append_elsewhere(&rival, &race.id, "theirs");
        told.answer(&json!({}));
    };
    tokio::join!(race.whole(requests().remove(0)), writes);
    let tree = race.tree();
    let prompt = tree.entries().find(|entry| entry.body.text() == "and?").unwrap();
    assert_eq!(prompt.parent, Some("a2".into()));
    let head = tree.main_head().unwrap();
    assert!(tree.is_ancestor(&prompt.id, head), "the head goes with the message");

    let before = tree.log().count();
    let undoes = async {
        let told = ear.next().await;
        assert_eq!(told.what["below"], json!(head.as_str()));
        let undone = rival.append(&race.id, &mut |tree| plan_undo(tree, &mut ElsewhereStamps).ok());
        assert!(undone.unwrap().is_some());
        told.answer(&json!({}));
    };
    let more = request::Send {
        session: race.id.to_string(),
        prompt: PromptView::text("more"),
        ..request::Send::default()
    };
    let (refused, ()) = tokio::join!(race.call(Request::Send(more)), undoes);
    let refused = refused.unwrap_err();
    assert_eq!(refused.code, offshoot_api::ErrorCode::PointNotFound, "{refused}");
    assert!(refused.message.contains("was undone before the message could be added"), "{refused}");
    assert_eq!(race.tree().log().count(), before + 1, "only the undo");
    race.engine.shut_down().await;
}

/// A file of Claude Code with one turn.
struct Foreign {
    path: PathBuf,
}

impl Foreign {
    fn line(id: &str, parent: Option<&str>, kind: &str, text: &str) -> String {
        let content = match kind {
            "user" => json!(text),
            _ => json!([{ "type": "text", "text": text }]),
        };
        let line = json!({
            "type": kind, "uuid": id, "parentUuid": parent, "sessionId": "theirs", "cwd": "/p", "version": "2.0.0",
            "timestamp": "2026-02-01T00:00:00.000Z", "isSidechain": false, "userType": "external",
            "message": { "role": kind, "content": content },
        });
        format!("{line}\n")
    }

    fn grow(path: &std::path::Path, id: &str, parent: &str, text: &str) {
        let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(Self::line(id, Some(parent), "user", text).as_bytes()).unwrap();
    }
}

fn on_foreign_file(agent: ScriptedAgent) -> (Race, Foreign) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("theirs.jsonl");
    let lines =
        [Foreign::line("f1", None, "user", "one"), Foreign::line("f2", Some("f1"), "assistant", "eins")];
    std::fs::write(&path, lines.concat()).unwrap();
    let others = OtherPrograms::on_disk(folder.path().to_owned());
    let named = |source: &offshoot_session::ForeignSource| journal_id(&source.agent, &source.session, 0);
    let id = others.introduce(&path, named).unwrap();
    let store = process(&folder.path().join("home"), "engine").with(others);
    let race = Race::on(folder, store, id, Settings::default(), agent);
    (race, Foreign { path })
}

/// Prompts and their labels.
async fn seen(race: &Race) -> Vec<(String, Option<String>)> {
    let tree = Request::Tree(request::Session { session: race.id.to_string() });
    let Ok(Response::Tree { rows }) = race.call(tree).await else { panic!("no tree") };
    rows.into_iter().map(|row| (row.id, row.label)).collect()
}

#[tokio::test]
async fn a_foreign_file_that_grows_between_plan_and_write_is_planned_on_again() {
    // First without a journal, then with one.
    let (race, foreign) = on_foreign_file(ScriptedAgent::new());
    for (number, parent) in [("f3", "f2"), ("f4", "f3")] {
        let path = foreign.path.clone();
        race.rival.will(move || Foreign::grow(&path, number, parent, "more"));
        let label = request::Label {
            session: race.id.to_string(),
            at: "head".into(),
            label: Some(format!("at {number}")),
            ..Default::default()
        };
        race.call(Request::Label(label)).await.unwrap();
        assert_eq!(race.rival.left(), 0);
    }
    let labelled = |id: &str, label: Option<&str>| (id.to_owned(), label.map(str::to_owned));
    let expected = [labelled("f1", None), labelled("f3", Some("at f3")), labelled("f4", Some("at f4"))];
    assert_eq!(seen(&race).await, expected);
    race.engine.shut_down().await;
}

/// The agent may write its own file while it answers.
#[tokio::test]
async fn a_foreign_file_that_grows_during_a_turn_is_taken_in_and_the_turn_goes_on() {
    let words = vec![
        Do::Say(AgentEventKind::text("m", "Let me ")),
        Do::Gate,
        Do::Say(AgentEventKind::text("m", "see")),
    ];
    let (race, foreign) = on_foreign_file(ScriptedAgent::new().on("look", words));
    let mut events = race.follow().await;
    let send = request::Send {
        session: race.id.to_string(),
        prompt: PromptView::text("look"),
        agent: Some("scripted".to_owned()),
        ..Default::default()
    };
    race.call(Request::Send(send)).await.unwrap();
    until(&mut events, |kind| matches!(kind, EventKind::Live { .. })).await;
    Foreign::grow(&foreign.path, "f3", "f2", "meanwhile");
    race.agent.open_gate();
    until(&mut events, |kind| matches!(kind, EventKind::Rearranged)).await;
    let ended =
        |kind: &EventKind| matches!(kind, EventKind::TurnEnded { end: offshoot_api::TurnEnd::Done, .. });
    until(&mut events, ended).await;
    let entries = seen(&race).await;
    assert!(entries.iter().any(|(id, _)| id == "f3"), "{entries:?}");
    race.engine.shut_down().await;
}
