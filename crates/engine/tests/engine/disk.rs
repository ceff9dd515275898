//! The same on a real disk, where other processes write too.

use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::built_in::{BuiltIn, Pace};
use offshoot_api::request::{self, ForkTo};
use offshoot_api::views::{BodyView, EntryView, PromptView, ProvenanceView, SessionView};
use offshoot_api::{ErrorCode, EventKind, EventStream, Request, Response, Service, TurnEnd};
use offshoot_engine::{Engine, Parts, RuleBook, Settings, Shelf};
use offshoot_session::asks::{Rule, RuleId, RulePattern, Scope};
use offshoot_session::plan::plan_rename;
use offshoot_session::{Record, SessionHeader, SessionId, SessionTree, Stamps, TitleSource};
use offshoot_store::catalog::{Catalog, Sources};
use offshoot_store::{AppendError, Home, JournalStore, Locking, SessionStore};
use offshoot_testkit::{FixedStamps, SharedStamps};
use tempfile::TempDir;
use tokio::sync::Semaphore;

use crate::world::{caller, next_event};

struct OnDisk {
    store: JournalStore,
    stamps: SharedStamps,
    /// One word of the agent for each permit.
    words: Arc<Semaphore>,
    engine: Engine,
    session: String,
}

impl OnDisk {
    async fn at(folder: &TempDir) -> Self {
        let locking = Locking { wait: Duration::ZERO, ..Locking::by("test") };
        let store = JournalStore::at(Home::at(folder.path()), locking);
        let (stamps, words) = (SharedStamps::default(), Arc::new(Semaphore::new(0)));
        let engine = engine(&store, &stamps, &words);
        let begun = engine.call(&caller(), Request::Begin(request::Begin::default())).await.unwrap();
        let Response::Session(view) = begun else { panic!("{begun:?}") };
        Self { store, stamps, words, engine, session: view.id }
    }

    async fn send(&self, text: &str) {
        let send = request::Send {
            session: self.session.clone(),
            prompt: PromptView::text(text),
            ..request::Send::default()
        };
        self.engine.call(&caller(), Request::Send(send)).await.unwrap();
    }

    async fn view(&self) -> SessionView {
        let open = request::Open { session: self.session.clone(), turns: None, turn: None, at: None };
        match self.engine.call(&caller(), Request::Open(open)).await.unwrap() {
            Response::Session(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    /// Everything that happens from now on.
    async fn follow(&self) -> EventStream {
        self.engine.follow(&caller(), &self.session, self.view().await.seq).await.unwrap()
    }

    /// Says it, and listens until the answer is complete.
    async fn send_and_hear(&self, text: &str) {
        let mut events = self.follow().await;
        self.send(text).await;
        until_ready(&mut events).await;
    }

    fn id(&self) -> SessionId {
        SessionId::from(self.session.as_str())
    }

    /// Somebody else gives the session a title.
    fn rename(&self, title: &str) -> Result<(), AppendError> {
        let mut stamps = FixedStamps::after(1000);
        let renamed = self.store.append(&self.id(), &mut |tree| {
            plan_rename(tree, Some(title), TitleSource::User, &mut stamps).map(|plan| plan.records)
        });
        renamed.map(|_| ())
    }
}

fn engine(store: &JournalStore, stamps: &SharedStamps, words: &Arc<Semaphore>) -> Engine {
    let stamps = stamps.clone();
    Engine::new(Parts {
        shelf: Arc::new(store.clone()),
        agents: vec![Arc::new(BuiltIn { pace: Pace::Gated(words.clone()) })],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings { default_agent: Some("built_in".to_owned()), ..Settings::default() }.into(),
        host: Default::default(),
        epoch: 0,
    })
}

async fn until_ready(events: &mut EventStream) {
    let is_ready = |kind: &EventKind| matches!(kind, EventKind::Status { status } if status.state == "ready");
    while !is_ready(&next_event(events).await.unwrap().unwrap().kind) {}
}

/// Time goes on only when everything is at rest, the disk included.
#[tokio::test(start_paused = true)]
async fn words_that_were_shown_come_back_after_a_crash_marked_interrupted() {
    let folder = TempDir::new().unwrap();
    let mut disk = OnDisk::at(&folder).await;
    let mut events = disk.engine.follow(&caller(), &disk.session, 0).await.unwrap();
    disk.send("Hello").await;
    disk.words.add_permits(3);
    let mut pieces = 0;
    while pieces < 3 {
        let event = next_event(&mut events).await.unwrap().unwrap();
        pieces += usize::from(matches!(event.kind, EventKind::Live { .. } | EventKind::Words { .. }));
    }
    let shown = disk.view().await.branch.entries.last().unwrap().body.clone();
    // They are kept a moment after they are shown.
    let kept = || disk.store.drafts(&disk.id()).left(&SessionTree::default()).unwrap();
    assert_eq!(kept(), Vec::new());
    tokio::time::sleep(Settings::default().draft_every * 2).await;
    let kept: Vec<BodyView> = kept().iter().map(|entry| BodyView::from(&entry.body)).collect();
    assert_eq!(kept, std::slice::from_ref(&shown));
    let drafts = disk.store.home().drafts(&disk.id());
    let next = engine(&disk.store, &disk.stamps, &disk.words);
    drop(std::mem::replace(&mut disk.engine, next));
    // The lock is free when the tasks of the old engine are gone.
    tokio::task::yield_now().await;
    let view = disk.view().await;
    let bodies: Vec<&BodyView> = view.branch.entries.iter().map(|entry| &entry.body).collect();
    assert_eq!((bodies[1], bodies[2]), (&shown, &BodyView::Interrupted { crash: true }));
    assert_eq!((bodies.len(), view.status.state.as_str()), (3, "ready"));
    assert!(drafts.exists(), "looking leaves everything as it is");
    let rename =
        request::Rename { session: disk.session.clone(), title: Some("changed".to_owned()), client_id: None };
    disk.engine.call(&caller(), Request::Rename(rename)).await.unwrap();
    assert_eq!(disk.view().await.branch, view.branch, "what was seen is what is written");
    assert!(!drafts.exists(), "drafts that are in the journal are cleared away");
}

#[tokio::test]
async fn others_write_between_turns_and_not_within_them() {
    let folder = TempDir::new().unwrap();
    let disk = OnDisk::at(&folder).await;
    disk.rename("from elsewhere").unwrap();
    assert_eq!(disk.view().await.title.as_deref(), Some("from elsewhere"));
    let mut events = disk.follow().await;
    disk.send("Hello").await;
    let refused = disk.rename("meanwhile").unwrap_err();
    assert!(matches!(refused, AppendError::Locked(_)), "{refused:?}");
    disk.words.add_permits(10_000);
    until_ready(&mut events).await;
    disk.rename("afterwards").unwrap();
    assert_eq!(disk.view().await.title.as_deref(), Some("afterwards"));
    disk.engine.shut_down().await;
}

/// Whoever is refused can find out who is in the way, and whether that is an engine.
#[tokio::test]
async fn a_lock_that_is_held_names_the_process() {
    let folder = TempDir::new().unwrap();
    let disk = OnDisk::at(&folder).await;
    let mut other = disk.store.journal(&disk.id()).unwrap().unwrap();
    other.hold().unwrap();
    let rename =
        request::Rename { session: disk.session.clone(), title: Some("mine".to_owned()), client_id: None };
    let refused = disk.engine.call(&caller(), Request::Rename(rename.clone())).await.unwrap_err();
    let data = *refused.data;
    assert_eq!((refused.code, data.pid), (ErrorCode::Locked, Some(std::process::id())));
    assert!(data.holder.is_some_and(|holder| holder.starts_with("test (process ")));
    other.release();
    disk.engine.call(&caller(), Request::Rename(rename)).await.unwrap();
    disk.engine.shut_down().await;
}

#[tokio::test]
async fn a_journal_of_a_newer_version_says_so() {
    let folder = TempDir::new().unwrap();
    let disk = OnDisk::at(&folder).await;
    disk.engine.close(&disk.session).await;
    let path = disk.store.home().journal(&disk.id());
    std::fs::write(&path, include_bytes!("../../../store/testdata/newer.jsonl")).unwrap();
    let open = request::Open { session: disk.session.clone(), turns: None, turn: None, at: None };
    let refused = disk.engine.call(&caller(), Request::Open(open)).await.unwrap_err();
    let data = *refused.data;
    assert_eq!((refused.code, data.found, data.known), (ErrorCode::NewerFormat, Some(3), Some(2)));
    assert_eq!(data.path, Some(path.display().to_string()));
    disk.engine.shut_down().await;
}

/// A crash comes while one message is answered and another waits.
#[tokio::test]
async fn what_waited_still_waits_after_a_crash_and_is_said_once() {
    let folder = TempDir::new().unwrap();
    let mut disk = OnDisk::at(&folder).await;
    disk.send("Hello").await;
    let waits = || request::Send {
        session: disk.session.clone(),
        prompt: PromptView { attachments: vec!["notes.md".to_owned()], ..PromptView::text("and then?") },
        client_id: Some("mine-one".to_owned()),
        ..request::Send::default()
    };
    let (first, again) = (waits(), waits());
    for send in [&first, &again] {
        let sent = disk.engine.call(&caller(), Request::Send(send.clone())).await.unwrap();
        let Response::Changed(sent) = sent else { panic!("{sent:?}") };
        assert_eq!((sent.queued.as_deref(), sent.prompt), (Some("mine-one"), None));
    }
    let next = engine(&disk.store, &disk.stamps, &disk.words);
    drop(std::mem::replace(&mut disk.engine, next));
    tokio::task::yield_now().await;
    let view = disk.view().await;
    let waiting: Vec<(&str, &PromptView)> =
        view.queue.iter().map(|queued| (queued.id.as_str(), &queued.prompt)).collect();
    assert_eq!(waiting, [("mine-one", &first.prompt)], "it waits, and is not said by itself");
    assert_eq!(view.status.state, "ready");
    disk.words.add_permits(10_000);
    let mut events = disk.follow().await;
    let said = disk.engine.call(&caller(), Request::Send(again.clone())).await.unwrap();
    let Response::Changed(said) = said else { panic!("{said:?}") };
    assert_eq!((said.turn.as_deref(), said.queued), (Some("mine-one"), None), "who comes back need not wait");
    until_ready(&mut events).await;
    let after = disk.engine.call(&caller(), Request::Send(again)).await.unwrap();
    let Response::Changed(after) = after else { panic!("{after:?}") };
    assert_eq!((after.prompt, after.end), (said.prompt, Some(TurnEnd::Done)));
    let view = disk.view().await;
    let said =
        view.branch.entries.iter().filter(|entry| entry.body == BodyView::Prompt(first.prompt.clone()));
    assert_eq!((said.count(), view.queue.len()), (1, 0));
    assert!(!disk.store.home().waiting(&disk.id()).exists());
    disk.engine.shut_down().await;
}

/// What waited goes on after the next message, where whoever sent it does not come back.
#[tokio::test]
async fn what_a_crash_left_waiting_is_said_before_the_next_message() {
    let folder = TempDir::new().unwrap();
    let mut disk = OnDisk::at(&folder).await;
    disk.send("Hello").await;
    disk.send("left waiting").await;
    let next = engine(&disk.store, &disk.stamps, &disk.words);
    drop(std::mem::replace(&mut disk.engine, next));
    tokio::task::yield_now().await;
    disk.words.add_permits(10_000);
    disk.send_and_hear("now").await;
    let prompts: Vec<String> = disk.view().await.branch.entries.iter().filter_map(prompt_text).collect();
    assert_eq!(prompts, ["Hello", "left waiting", "now"]);
    disk.engine.shut_down().await;
}

fn prompt_text(entry: &EntryView) -> Option<String> {
    match &entry.body {
        BodyView::Prompt(prompt) => Some(prompt.text.clone()),
        _ => None,
    }
}

/// A list says the same whether the catalog knows the sessions or each is read.
#[tokio::test]
async fn a_list_is_the_same_by_the_catalog_and_by_the_journals() {
    let folder = TempDir::new().unwrap();
    let mut disk = OnDisk::at(&folder).await;
    disk.words.add_permits(10_000);
    disk.send_and_hear("Hello").await;
    let begin = request::Begin {
        project: Some("/p".to_owned()),
        title: Some("Titled".to_owned()),
        ..Default::default()
    };
    let begun = disk.engine.call(&caller(), Request::Begin(begin)).await.unwrap();
    let Response::Session(view) = begun else { panic!("{begun:?}") };
    let first = std::mem::replace(&mut disk.session, view.id);
    let fork = request::Fork {
        session: first.clone(),
        at: Some("head".into()),
        to: ForkTo::NewSession,
        ..Default::default()
    };
    disk.engine.call(&caller(), Request::Fork(fork)).await.unwrap();
    let list = || async {
        let listed = disk.engine.call(&caller(), Request::List(request::List::default())).await.unwrap();
        let Response::Sessions { sessions } = listed else { panic!("{listed:?}") };
        sessions
    };
    let by_journals = list().await;
    assert_eq!(by_journals.len(), 3);
    let sources = Sources {
        home: disk.store.home().clone(),
        folders: Vec::new(),
        databases: Vec::new(),
        scratch: folder.path().to_owned(),
    };
    let mut catalog = Catalog::open(&disk.store.home().root().join("catalog.db")).unwrap();
    catalog.sync(&sources, FixedStamps::start(), &mut |_, _| {}).unwrap();
    assert_eq!(Shelf::glances(&disk.store).len(), 3, "none of them has to be read");
    assert_eq!(list().await, by_journals);
    disk.rename("changed since").unwrap();
    assert_eq!(Shelf::glances(&disk.store).len(), 2, "what the catalog knows of it is old");
    assert!(list().await.iter().any(|row| row.title.as_deref() == Some("changed since")));
    disk.engine.shut_down().await;
}

/// Nobody has named an agent, so the usual one answers; the next prompt finds it again.
#[tokio::test]
async fn the_usual_agent_goes_on_in_its_session() {
    let folder = TempDir::new().unwrap();
    let mut disk = OnDisk::at(&folder).await;
    let by_another_program = SessionId::from("made-by-hand");
    let mut stamps = FixedStamps::after(1000);
    let header = SessionHeader::new(by_another_program.clone(), stamps.now());
    SessionStore::create(&disk.store, &[Record::opened(header)]).unwrap();
    disk.words.add_permits(10_000);
    for session in [disk.session.clone(), by_another_program.to_string()] {
        disk.session = session;
        let mut known = Vec::new();
        for text in ["Hello", "Once more"] {
            disk.send_and_hear(text).await;
            let view = disk.view().await;
            assert_eq!(view.branch.provenance, Some(ProvenanceView::Continued));
            known.push(view.branch.agent_session);
        }
        assert!(known[0].is_some() && known[0] == known[1], "{known:?}");
    }
    disk.engine.shut_down().await;
}

#[test]
fn rules_are_there_again_when_the_list_is_read_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("home").join("permissions.json");
    let rule = |id: &str, tool: &str, scope, pattern| Rule {
        id: RuleId::named(id),
        scope,
        session: "s".into(),
        project: Some("/p".to_owned()),
        tool: tool.to_owned(),
        pattern,
        made_at: FixedStamps::start(),
    };
    let rules = vec![
        rule("a", "write", Scope::Session, RulePattern::AnyFile),
        rule("b", "shell", Scope::Project, RulePattern::Prefix(vec!["cargo".to_owned(), "test".to_owned()])),
        rule("c", "shell", Scope::Project, RulePattern::Exact("a; b".to_owned())),
    ];
    let book = RuleBook::at(path.clone());
    for rule in &rules {
        book.add(rule.clone()).unwrap();
    }
    assert_eq!(RuleBook::at(path.clone()).all().unwrap(), rules);
    assert!(book.revoke(&RuleId::named("b")).unwrap());
    assert!(!book.revoke(&RuleId::named("b")).unwrap());
    let left = RuleBook::at(path.clone());
    assert_eq!(left.reaching(&"other".into(), Some("/p")).iter().count(), 1);
    std::fs::write(&path, "nonsense").unwrap();
    let broken = RuleBook::at(path.clone());
    assert_eq!(broken.reaching(&"other".into(), Some("/p")).iter().count(), 0, "nothing is allowed");
    assert!(broken.all().is_err() && broken.add(rules[0].clone()).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"nonsense", "it is left to be repaired");
    let problem = broken.problem_to_report().map(|problem| problem.to_string()).unwrap_or_default();
    assert!(problem.contains("is not a list of permission rules"), "{problem}");
    assert!(broken.problem_to_report().is_none(), "once");
}
