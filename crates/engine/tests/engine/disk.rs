//! The same on a real disk, where other processes write too.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use offshoot_agents::built_in::{BuiltIn, Pace};
use offshoot_api::request::{self, IfRunning};
use offshoot_api::views::{BodyView, PromptView, ProvenanceView, SessionView};
use offshoot_api::{EventKind, Request, Response, Service};
use offshoot_engine::{Engine, Parts, RuleBook, Settings};
use offshoot_session::asks::{Matches, Rule, RuleId, Scope};
use offshoot_session::plan::plan_rename;
use offshoot_session::{Record, SessionHeader, SessionId, Stamps, TitleSource};
use offshoot_store::{AppendError, Home, JournalStore, Locking, SessionStore};
use offshoot_testkit::FixedStamps;
use tempfile::TempDir;
use tokio::sync::Semaphore;

use crate::world::{SharedStamps, caller};

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
            at: None,
            agent: None,
            if_running: IfRunning::Wait,
        };
        self.engine.call(&caller(), Request::Send(send)).await.unwrap();
    }

    async fn view(&self) -> SessionView {
        let open = request::Open { session: self.session.clone(), turns: None };
        match self.engine.call(&caller(), Request::Open(open)).await.unwrap() {
            Response::Session(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    /// Somebody else gives the session a title.
    fn rename(&self, title: &str) -> Result<(), AppendError> {
        let id = SessionId::from(self.session.as_str());
        let mut stamps = FixedStamps::after(1000);
        let renamed = self.store.append(&id, &mut |tree| {
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
        stamps: Arc::new(move || Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings { default_agent: Some("built_in".to_owned()), ..Settings::default() },
    })
}

#[tokio::test]
async fn words_that_were_shown_come_back_after_a_crash_marked_interrupted() {
    let folder = TempDir::new().unwrap();
    let mut disk = OnDisk::at(&folder).await;
    let mut events = disk.engine.follow(&caller(), &disk.session, 0).await.unwrap();
    disk.send("Hello").await;
    disk.words.add_permits(3);
    let mut pieces = 0;
    while pieces < 3 {
        let event = events.next().await.unwrap().unwrap();
        pieces += usize::from(matches!(event.kind, EventKind::Live { .. } | EventKind::Words { .. }));
    }
    let shown = disk.view().await.branch.entries.last().unwrap().body.clone();
    let drafts = disk.store.home().drafts(&SessionId::from(disk.session.as_str()));
    // They are kept a moment after they are shown.
    let kept = std::fs::metadata(&drafts).map(|file| file.len()).unwrap_or(0);
    tokio::time::sleep(Settings::default().draft_every * 2).await;
    assert!(std::fs::metadata(&drafts).unwrap().len() >= kept);
    let next = engine(&disk.store, &disk.stamps, &disk.words);
    drop(std::mem::replace(&mut disk.engine, next));
    // The lock is free when the tasks of the old engine are gone.
    tokio::task::yield_now().await;
    let view = disk.view().await;
    let bodies: Vec<&BodyView> = view.branch.entries.iter().map(|entry| &entry.body).collect();
    assert_eq!((bodies[1], bodies[2]), (&shown, &BodyView::Interrupted));
    assert_eq!((bodies.len(), view.status.state.as_str()), (3, "ready"));
    assert!(!drafts.exists(), "drafts that are in the journal are cleared away");
}

#[tokio::test]
async fn others_write_between_turns_and_not_within_them() {
    let folder = TempDir::new().unwrap();
    let disk = OnDisk::at(&folder).await;
    disk.rename("from elsewhere").unwrap();
    assert_eq!(disk.view().await.title.as_deref(), Some("from elsewhere"));
    disk.send("Hello").await;
    let refused = disk.rename("meanwhile").unwrap_err();
    assert!(matches!(refused, AppendError::Locked(_)), "{refused:?}");
    disk.words.add_permits(10_000);
    while disk.view().await.status.state != "ready" {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    disk.rename("afterwards").unwrap();
    assert_eq!(disk.view().await.title.as_deref(), Some("afterwards"));
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
    disk.store.create(&[Record::opened(header)]).unwrap();
    disk.words.add_permits(10_000);
    for session in [disk.session.clone(), by_another_program.to_string()] {
        disk.session = session;
        let mut known = Vec::new();
        for text in ["Hello", "Once more"] {
            disk.send(text).await;
            while disk.view().await.status.state != "ready" {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
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
    let rule = |id: &str, scope, matches| Rule {
        id: RuleId::named(id),
        scope,
        session: "s".into(),
        project: Some("/p".to_owned()),
        tool: "shell".to_owned(),
        matches,
        made_at: FixedStamps::start(),
    };
    let rules = vec![
        rule("a", Scope::Session, Matches::Anything),
        rule("b", Scope::Project, Matches::Beginning("cargo test".to_owned())),
        rule("c", Scope::Project, Matches::Exactly("a; b".to_owned())),
    ];
    let book = RuleBook::at(path.clone()).unwrap();
    for rule in &rules {
        book.add(rule.clone()).unwrap();
    }
    assert_eq!(RuleBook::at(path.clone()).unwrap().all(), rules);
    assert!(book.revoke(&RuleId::named("b")).unwrap());
    assert!(!book.revoke(&RuleId::named("b")).unwrap());
    let left = RuleBook::at(path.clone()).unwrap();
    assert_eq!(left.reaching(&"other".into(), Some("/p")).iter().count(), 1);
    std::fs::write(&path, "nonsense").unwrap();
    assert!(RuleBook::at(path).is_err(), "rules that cannot be read are not forgotten in silence");
}
