//! Reading never writes: a home that a crash has left is the same after every request that only looks.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::{BodyView, PromptView, SessionView};
use offshoot_api::{ApiError, Request, Response, Service};
use offshoot_engine::{Engine, Parts, RuleBook, Settings};
use offshoot_session::agent::AgentEventKind;
use offshoot_session::foreign::journal_id;
use offshoot_session::{Change, Record, SessionId};
use offshoot_store::{Home, JournalStore, Locking, OtherPrograms, SessionStore};
use offshoot_testkit::SharedStamps;
use serde_json::json;
use tempfile::TempDir;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{caller, next_event};

const PATIENCE: Duration = Duration::from_secs(30);

struct Crashed {
    folder: TempDir,
    store: JournalStore,
    session: SessionId,
    stamps: SharedStamps,
}

impl Crashed {
    /// A session of ours, and one that goes on with a file of another program.
    fn sessions() -> [Self; 2] {
        [Self::own(), Self::on_foreign_file()]
    }

    fn own() -> Self {
        let folder = TempDir::new().unwrap();
        let store = JournalStore::at(Home::at(folder.path().join("home")), Locking::by("test"));
        let mut records = offshoot_testkit::drawn("u1 - a1*");
        if let Some(Record { change: Change::Opened(header), .. }) = records.first_mut() {
            header.id = "s".into();
        }
        SessionStore::create(&store, &records).unwrap();
        Self { folder, store, session: "s".into(), stamps: SharedStamps::default() }
    }

    fn on_foreign_file() -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("theirs.jsonl");
        let line = json!({
            "type": "user", "uuid": "f1", "parentUuid": null, "sessionId": "theirs", "cwd": "/p",
            "version": "2.0.0", "timestamp": "2026-02-01T00:00:00.000Z", "isSidechain": false,
            "userType": "external", "message": { "role": "user", "content": "one" },
        });
        std::fs::write(&path, format!("{line}\n")).unwrap();
        let others = OtherPrograms::on_disk(folder.path().join("scratch"));
        let named = |source: &offshoot_session::ForeignSource| journal_id(&source.agent, &source.session, 0);
        let session = others.introduce(&path, named).unwrap();
        let home = Home::at(folder.path().join("home"));
        let store = JournalStore::at(home, Locking::by("test")).with(others);
        Self { folder, store, session, stamps: SharedStamps::default() }
    }

    fn engine(&self) -> Engine {
        let words = vec![Do::Say(AgentEventKind::text("m", "Let me ")), Do::Gate];
        let stamps = self.stamps.clone();
        Engine::new(Parts {
            shelf: Arc::new(self.store.clone()),
            agents: vec![Arc::new(ScriptedAgent::new().on("wait", words))],
            stamps: Arc::new(move |_| Box::new(stamps.clone())),
            rules: RuleBook::in_memory(),
            host: Default::default(),
            epoch: 0,
            settings: Settings {
                default_agent: Some("scripted".to_owned()),
                draft_pieces: 1,
                ..Settings::default()
            }
            .into(),
        })
    }

    /// A turn is cut off while a message waits, and the last line of the journal is torn.
    async fn crash(&self) {
        let engine = self.engine();
        let session = self.session.to_string();
        let mut events = engine.follow(&caller(), &session, 0).await.unwrap();
        for text in ["wait", "left waiting"] {
            let send = request::Send {
                session: session.clone(),
                prompt: PromptView::text(text),
                agent: Some("scripted".to_owned()),
                ..Default::default()
            };
            engine.call(&caller(), Request::Send(send)).await.unwrap();
        }
        let words = async {
            loop {
                let kind = next_event(&mut events).await.expect("the events ended").unwrap().kind;
                if matches!(kind, EventKind::Live { .. }) {
                    return;
                }
            }
        };
        tokio::time::timeout(PATIENCE, words).await.expect("nothing is said");
        // The draft is on the disk before the next message is taken.
        self.call(&engine, Request::Status).await.unwrap();
        let open = request::Open { session, turns: Some(0), turn: None, at: None };
        self.call(&engine, Request::Open(open)).await.unwrap();
        drop(engine);
        let unlocked = async {
            while self.store.is_being_written(&self.session) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, unlocked).await.expect("the lock stays");
        let journal = self.store.home().journal(&self.session);
        let mut file = std::fs::OpenOptions::new().append(true).open(journal).unwrap();
        file.write_all(br#"{"kind":"ent"#).unwrap();
    }

    async fn call(&self, engine: &Engine, request: Request) -> Result<Response, ApiError> {
        let me = caller();
        tokio::time::timeout(PATIENCE, engine.call(&me, request)).await.expect("nobody answers")
    }

    async fn view(&self, engine: &Engine) -> SessionView {
        let open = request::Open { session: self.session.to_string(), turns: None, turn: None, at: None };
        match self.call(engine, Request::Open(open)).await.unwrap() {
            Response::Session(view) => *view,
            other => panic!("{other:?}"),
        }
    }

    fn looks(&self) -> Vec<Request> {
        let session = || self.session.to_string();
        vec![
            Request::Open(request::Open { session: session(), turns: None, turn: None, at: None }),
            Request::Show(request::Show { session: session(), at: None, turns: None }),
            Request::Tree(request::Session { session: session() }),
            Request::Status,
            Request::Queue(request::Session { session: session() }),
            Request::Permissions(request::Permissions { session: Some(session()) }),
            Request::List(request::List::default()),
            Request::Agents,
            Request::Hello(request::Hello::default()),
        ]
    }
}

/// Every file below a folder, with its bytes and when it was changed.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            let changed = std::fs::metadata(&path).unwrap().modified().unwrap();
            found.insert(path.clone(), (std::fs::read(&path).unwrap(), changed));
        }
    }
    found
}

#[tokio::test]
async fn a_request_that_only_looks_changes_no_file() {
    for crashed in Crashed::sessions() {
        crashed.crash().await;
        let before = files(crashed.folder.path());
        let home = crashed.store.home();
        for path in
            [home.journal(&crashed.session), home.drafts(&crashed.session), home.waiting(&crashed.session)]
        {
            assert!(before.contains_key(&path), "{path:?} is not there: {:?}", before.keys());
        }
        for request in crashed.looks() {
            assert!(request.only_looks(), "{request:?}");
            let engine = crashed.engine();
            crashed.call(&engine, request.clone()).await.unwrap();
            engine.shut_down().await;
            assert!(files(crashed.folder.path()) == before, "{request:?} has written");
        }
        // All of them in one engine, one after the other, and somebody who follows.
        let engine = crashed.engine();
        let events = engine.follow(&caller(), crashed.session.as_str(), 0).await.unwrap();
        for request in crashed.looks() {
            crashed.call(&engine, request).await.unwrap();
        }
        drop(events);
        engine.close(crashed.session.as_str()).await;
        assert!(files(crashed.folder.path()) == before, "closing what was looked at has written");
    }
}

#[tokio::test]
async fn what_a_look_shows_of_a_crash_is_what_the_next_change_writes() {
    for crashed in Crashed::sessions() {
        crashed.crash().await;
        let seen = crashed.view(&crashed.engine()).await;
        let ends: Vec<&BodyView> =
            seen.branch.entries.iter().rev().take(2).map(|entry| &entry.body).collect();
        assert!(
            matches!(ends[..], [BodyView::Interrupted { crash: true }, BodyView::Reply { .. }]),
            "{ends:?}"
        );
        assert_eq!((seen.queue.len(), seen.status.state.as_str()), (1, "ready"));

        let engine = crashed.engine();
        let mut events = engine.follow(&caller(), crashed.session.as_str(), 0).await.unwrap();
        let rename = request::Rename {
            session: crashed.session.to_string(),
            title: Some("after".to_owned()),
            client_id: None,
        };
        crashed.call(&engine, Request::Rename(rename)).await.unwrap();
        let written = crashed.view(&engine).await;
        assert_eq!((&written.branch, &written.heads), (&seen.branch, &seen.heads));
        let told = async {
            loop {
                let kind = next_event(&mut events).await.expect("the events ended").unwrap().kind;
                if let EventKind::Notice { text } = kind {
                    return text;
                }
            }
        };
        let notice = tokio::time::timeout(PATIENCE, told).await.expect("nothing is told of the repair");
        assert!(notice.contains("has been repaired"), "{notice}");
        assert!(!crashed.store.home().drafts(&crashed.session).exists(), "drafts are in the journal now");
        engine.shut_down().await;
        let tree = crashed.store.read(&crashed.session).unwrap().unwrap().tree;
        let ids: Vec<&str> =
            tree.path_to(tree.main_head()).into_iter().map(|entry| entry.id.as_str()).collect();
        let shown: Vec<&str> = seen.branch.entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids, shown);
    }
}
