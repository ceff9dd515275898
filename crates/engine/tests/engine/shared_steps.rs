//! A fork to a new session is a step of two sessions: it is there in both or in none, also when something goes wrong.

use std::sync::Arc;
use std::time::Duration;

use offshoot_api::request::{self, ForkTo};
use offshoot_api::{ApiError, ErrorCode, EventKind, Request, Response, Service};
use offshoot_engine::{Engine, Parts, RuleBook, Settings};
use offshoot_session::agent::{AgentEventKind, AgentTurnEnd};
use offshoot_session::{Change, Record, SessionId, SessionTree};
use offshoot_store::{JournalStore, SessionStore};
use offshoot_testkit::SharedStamps;
use tempfile::TempDir;

use crate::rival::{FullDisk, Rival, RivalShelf, append_elsewhere, process};
use crate::scripted::{Do, ScriptedAgent};
use crate::world::{caller, next_event};

const PATIENCE: Duration = Duration::from_secs(30);

struct Pair {
    folder: TempDir,
    rival: Rival,
    full: FullDisk,
    engine: Engine,
    agent: Arc<ScriptedAgent>,
    origin: SessionId,
}

impl Pair {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let mut records = offshoot_testkit::drawn("u1 - a1 - u2 - a2*");
        if let Some(Record { change: Change::Opened(header), .. }) = records.first_mut() {
            header.id = "origin".into();
        }
        let store = process(folder.path(), "engine");
        SessionStore::create(&store, &records).unwrap();
        let (rival, full) = (Rival::default(), FullDisk::default());
        let agent = Arc::new(
            ScriptedAgent::new()
                .on("slowly", vec![Do::Gate, Do::Say(AgentEventKind::Ended(AgentTurnEnd::Done))]),
        );
        let shelf = RivalShelf { store, rival: rival.clone(), full: full.clone() };
        let engine = engine(shelf, agent.clone());
        Self { folder, rival, full, engine, agent, origin: "origin".into() }
    }

    async fn call(&self, request: Request) -> Result<Response, ApiError> {
        let me = caller();
        let answer = tokio::time::timeout(PATIENCE, self.engine.call(&me, request));
        answer.await.expect("nobody answers")
    }

    async fn fork(&self) -> Result<SessionId, ApiError> {
        let fork = request::Fork {
            session: self.origin.to_string(),
            at: Some("head".into()),
            to: ForkTo::NewSession,
            ..Default::default()
        };
        match self.call(Request::Fork(fork)).await? {
            Response::Changed(changed) => Ok(changed.continues_in().into()),
            other => panic!("{other:?}"),
        }
    }

    async fn undo(&self, session: &SessionId) -> Result<Response, ApiError> {
        self.call(Request::Undo(history(session))).await
    }

    async fn redo(&self, session: &SessionId) -> Result<Response, ApiError> {
        self.call(Request::Redo(history(session))).await
    }

    fn store(&self) -> JournalStore {
        process(self.folder.path(), "reader")
    }

    fn tree(&self, session: &SessionId) -> SessionTree {
        self.store().read(session).unwrap().unwrap().tree
    }

    /// The steps of a session, undone ones in brackets.
    fn steps(&self, session: &SessionId) -> Vec<String> {
        let tree = self.tree(session);
        let step = |name: &str, undone| if undone { format!("({name})") } else { name.to_owned() };
        tree.operations().map(|operation| step(&operation.name, operation.undone)).collect()
    }

    async fn append(&self, session: &SessionId, text: &str) {
        let entries = vec![serde_json::json!({ "role": "user", "text": text })];
        let append = request::Append { session: session.to_string(), entries, ..Default::default() };
        self.call(Request::Append(append)).await.unwrap();
    }
}

fn engine(shelf: RivalShelf, agent: Arc<ScriptedAgent>) -> Engine {
    let stamps = SharedStamps::default();
    Engine::new(Parts {
        shelf: Arc::new(shelf),
        agents: vec![agent],
        stamps: Arc::new(move |_| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        host: Default::default(),
        epoch: 0,
        settings: Settings { default_agent: Some("scripted".to_owned()), ..Settings::default() }.into(),
    })
}

fn named(session: &SessionId, client_id: &str) -> request::History {
    request::History { client_id: Some(client_id.to_owned()), ..history(session) }
}

fn history(session: &SessionId) -> request::History {
    request::History { session: session.to_string(), ..Default::default() }
}

/// D10: on a full disk the origin kept a step "fork to a new session" without that session, and the next undo undid it.
#[tokio::test]
async fn a_fork_that_cannot_be_recorded_leaves_neither_side() {
    let pair = Pair::new();
    let before = std::fs::read(pair.store().home().journal(&pair.origin)).unwrap();
    pair.full.fill(&pair.origin);
    let refused = pair.fork().await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DiskFull);
    assert_eq!(SessionStore::list(&pair.store()).unwrap(), std::slice::from_ref(&pair.origin));
    assert_eq!(std::fs::read(pair.store().home().journal(&pair.origin)).unwrap(), before);
    pair.full.free();
    let child = pair.fork().await.unwrap();
    assert_eq!(SessionStore::list(&pair.store()).unwrap().len(), 2);
    let lineage = pair.tree(&child).header().unwrap().lineage.clone().unwrap();
    assert_eq!(lineage.parent, pair.origin.as_str(), "the child names its origin");
    pair.engine.shut_down().await;
}

#[tokio::test]
async fn a_fork_is_undone_and_redone_in_both_sessions_while_both_are_open() {
    let pair = Pair::new();
    let child = pair.fork().await.unwrap();
    for session in [&pair.origin, &child] {
        // The other side is open too, and hears of it.
        for open in [&pair.origin, &child] {
            let open = request::Open { session: open.to_string(), turns: Some(0), turn: None, at: None };
            pair.call(Request::Open(open)).await.unwrap();
        }
        pair.undo(session).await.unwrap();
        assert_eq!(pair.steps(&pair.origin), ["(fork to a new session)"]);
        assert_eq!(pair.steps(&child), ["(fork from origin)"]);
        pair.redo(session).await.unwrap();
        assert_eq!(pair.steps(&pair.origin), ["fork to a new session"]);
        assert_eq!(pair.steps(&child), ["fork from origin"]);
    }
    pair.append(&child, "more").await;
    let refused = pair.undo(&pair.origin).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::NothingToDo);
    assert_eq!(pair.steps(&pair.origin), ["fork to a new session"], "what has gone on is not taken back");
    pair.engine.shut_down().await;
}

/// Each waits for the other's answer, and neither for the other's turn to come.
#[tokio::test]
async fn two_sessions_that_undo_each_other_at_the_same_time_do_not_wait_for_each_other() {
    for _ in 0..50 {
        let pair = Pair::new();
        let child = pair.fork().await.unwrap();
        let (one, other) = tokio::join!(pair.undo(&pair.origin), pair.undo(&child));
        // Whoever comes second may find nothing left to undo.
        for answer in [&one, &other] {
            if let Err(error) = answer {
                let is_late = matches!(error.code, ErrorCode::NothingToDo | ErrorCode::NotFound);
                assert!(is_late, "{error:?}");
            }
        }
        assert!(one.is_ok() || other.is_ok());
        assert_eq!(pair.steps(&pair.origin), ["(fork to a new session)"]);
        assert_eq!(pair.steps(&child), ["(fork from origin)"]);
        let (one, other) = tokio::join!(pair.redo(&child), pair.redo(&pair.origin));
        assert!(one.is_ok() || other.is_ok(), "{one:?} {other:?}");
        assert_eq!(pair.steps(&pair.origin), ["fork to a new session"]);
        assert_eq!(pair.steps(&child), ["fork from origin"]);
        pair.engine.shut_down().await;
    }
}

#[tokio::test]
async fn an_undo_that_fails_puts_the_other_side_back() {
    let pair = Pair::new();
    let child = pair.fork().await.unwrap();
    pair.full.fill(&pair.origin);
    let refused = pair.undo(&pair.origin).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DiskFull);
    assert_eq!(pair.steps(&child), ["fork from origin"]);
    assert!(!pair.tree(&child).is_taken_back());
    pair.full.free();
    pair.full.fill(&child);
    let refused = pair.undo(&pair.origin).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::DiskFull, "a child that cannot be taken back stays with its origin");
    assert_eq!(pair.steps(&pair.origin), ["fork to a new session"]);
    pair.full.free();
    pair.undo(&pair.origin).await.unwrap();
    assert_eq!(pair.steps(&child), ["(fork from origin)"]);
    pair.engine.shut_down().await;
}

/// Another process takes a step between the plan and the write: that one is undone, and the fork stays in both.
#[tokio::test]
async fn an_undo_that_is_planned_to_another_step_puts_the_other_side_back() {
    let pair = Pair::new();
    let child = pair.fork().await.unwrap();
    // The first write is that of the child.
    pair.rival.will(|| ());
    let (home, id) = (pair.folder.path().to_owned(), pair.origin.clone());
    pair.rival.will(move || append_elsewhere(&process(&home, "rival"), &id, "theirs"));
    pair.undo(&pair.origin).await.unwrap();
    assert_eq!(pair.rival.left(), 0);
    assert_eq!(pair.steps(&pair.origin), ["fork to a new session", "(append)"]);
    assert_eq!(pair.steps(&child), ["fork from origin"]);
    pair.engine.shut_down().await;
}

/// Two undos of one session at the same time are two steps, also where the first is one of two sessions.
#[tokio::test]
async fn two_undos_at_once_take_back_two_steps() {
    let pair = Pair::new();
    pair.append(&pair.origin, "first").await;
    let child = pair.fork().await.unwrap();
    let (one, other) = tokio::join!(pair.undo(&pair.origin), pair.undo(&pair.origin));
    assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
    assert_eq!(pair.steps(&pair.origin), ["(append)", "(fork to a new session)"]);
    assert_eq!(pair.steps(&child), ["(fork from origin)"]);
    pair.engine.shut_down().await;
}

/// The child is undone and the origin is not yet when another process redoes the child. Both agree afterwards.
#[tokio::test]
async fn a_redo_between_the_two_sides_of_an_undo_comes_after_it() {
    let pair = Pair::new();
    let child = pair.fork().await.unwrap();
    let store = process(pair.folder.path(), "other");
    let shelf = RivalShelf { store, rival: Rival::default(), full: FullDisk::default() };
    let other = engine(shelf, Arc::new(ScriptedAgent::new()));
    let (undone_there, hears) = tokio::sync::oneshot::channel();
    let (redone, waits) = std::sync::mpsc::channel();
    // The first write is that of the child. Before the second there is time for the redo.
    pair.rival.will(|| ());
    pair.rival.will(move || {
        undone_there.send(()).unwrap();
        let _ = waits.recv_timeout(Duration::from_millis(300));
    });
    let redo = async {
        tokio::time::timeout(PATIENCE, hears).await.unwrap().unwrap();
        let me = caller();
        let redo = tokio::time::timeout(PATIENCE, other.call(&me, Request::Redo(history(&child)))).await;
        let _ = redone.send(());
        redo.expect("an answer")
    };
    let (undo, redo) = tokio::join!(pair.undo(&pair.origin), redo);
    assert!(undo.is_ok() && redo.is_ok(), "{undo:?} {redo:?}");
    assert_eq!(pair.steps(&pair.origin), ["fork to a new session"]);
    assert_eq!(pair.steps(&child), ["fork from origin"]);
    other.shut_down().await;
    pair.engine.shut_down().await;
}

/// Both undo the fork at the same time, and both ask again because they have lost their connection.
#[tokio::test]
async fn an_undo_that_the_other_session_has_done_is_not_done_again() {
    for _ in 0..50 {
        let pair = Pair::new();
        pair.append(&pair.origin, "first").await;
        let child = pair.fork().await.unwrap();
        let requests = [named(&pair.origin, "undo-origin"), named(&child, "undo-child")].map(Request::Undo);
        let [one, other] = requests.each_ref().map(|request| pair.call(request.clone()));
        let (one, other) = tokio::join!(one, other);
        assert!(one.is_ok() && other.is_ok(), "{one:?} {other:?}");
        for request in requests {
            match pair.call(request).await.unwrap() {
                Response::Changed(changed) => assert!(changed.repeated),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(pair.steps(&pair.origin), ["append", "(fork to a new session)"]);
        assert_eq!(pair.steps(&child), ["(fork from origin)"]);
        pair.engine.shut_down().await;
    }
}

/// A moment between a plan and its lock in which a session stops until the test lets it go on.
struct Stop {
    reached: tokio::sync::oneshot::Receiver<()>,
    go_on: std::sync::mpsc::Sender<()>,
}

impl Stop {
    fn next(rival: &Rival) -> Self {
        let (tell, reached) = tokio::sync::oneshot::channel();
        let (go_on, told) = std::sync::mpsc::channel();
        rival.will(move || {
            tell.send(()).unwrap();
            told.recv_timeout(PATIENCE).unwrap();
        });
        Self { reached, go_on }
    }
}

/// The refusal was completed when the other side had been put back, and the turn that it was about was over by then.
#[tokio::test]
async fn an_undo_that_is_refused_names_the_turn_that_was_in_its_way() {
    let mut pair = Pair::new();
    let child = pair.fork().await.unwrap();
    let child_undone = Stop::next(&pair.rival);
    // The message writes in between.
    pair.rival.will(|| ());
    let child_redone = Stop::next(&pair.rival);
    let agent = pair.agent.clone();
    let mut events = pair.engine.follow(&caller(), "origin", 0).await.unwrap();
    let (undone, ()) = tokio::join!(pair.undo(&pair.origin), async {
        child_undone.reached.await.unwrap();
        let prompt = offshoot_api::views::PromptView { text: "slowly".to_owned(), ..Default::default() };
        let send = request::Send { session: "origin".to_owned(), prompt, ..Default::default() };
        pair.call(Request::Send(send)).await.unwrap();
        child_undone.go_on.send(()).unwrap();
        child_redone.reached.await.unwrap();
        agent.open_gate();
        while !matches!(next_event(&mut events).await.unwrap().unwrap().kind, EventKind::TurnEnded { .. }) {}
        child_redone.go_on.send(()).unwrap();
    });
    let refused = undone.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Running);
    assert_eq!(refused.data.turn.map(|turn| turn.agent), Some("scripted".to_owned()));
    assert_eq!(pair.steps(&child), ["fork from origin"]);
    pair.rival = Rival::default();
    pair.engine.shut_down().await;
}

/// While a redo was on its way the origin took another step, so the redo was refused; the fork was back by then and had gone
/// on, so it stayed. The origin still had it undone.
#[tokio::test]
async fn a_fork_that_has_gone_on_before_it_is_put_back_is_redone_in_both_sessions() {
    let pair = Pair::new();
    let child = pair.fork().await.unwrap();
    pair.undo(&pair.origin).await.unwrap();
    let child_redone = Stop::next(&pair.rival);
    let (redone, ()) = tokio::join!(pair.redo(&pair.origin), async {
        child_redone.reached.await.unwrap();
        pair.append(&pair.origin, "another step").await;
        // The fork takes this up as soon as it is back.
        let append = pair.append(&child, "it goes on");
        let let_go = async { child_redone.go_on.send(()).unwrap() };
        tokio::join!(append, let_go);
    });
    assert_eq!(redone.unwrap_err().code, ErrorCode::NothingToDo);
    pair.append(&pair.origin, "and on").await;
    assert_eq!(pair.steps(&child), ["fork from origin", "append"]);
    assert_eq!(pair.steps(&pair.origin), ["fork to a new session", "append", "append"]);
    pair.engine.shut_down().await;
}
