//! Many sessions at once, and nothing left of them.

use std::sync::{Arc, LazyLock};

use offshoot_agents::built_in::{BuiltIn, Pace};
use offshoot_api::event::EventKind;
use offshoot_api::request;
use offshoot_api::views::{AnswerView, PromptView};
use offshoot_api::{Caller, Request, Response, Service};
use offshoot_engine::{Engine, MemoryShelf, Parts, RuleBook, Settings};
use offshoot_testkit::SharedStamps;

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{caller, engine, next_event};

static CALLER: LazyLock<Caller> = LazyLock::new(caller);

#[tokio::test(start_paused = true)]
async fn two_hundred_sessions_with_a_turn_each_leave_nothing_behind() {
    let agent = Arc::new(ScriptedAgent::new().on("wait", vec![Do::Gate]));
    let settings = Settings { default_agent: Some("scripted".to_owned()), ..Settings::default() };
    let engine = engine(
        &MemoryShelf::new(),
        &SharedStamps::default(),
        agent.clone(),
        &RuleBook::in_memory(),
        &settings,
    );
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for _ in 0..200 {
        let begun = engine.call(&caller(), Request::Begin(request::Begin::default())).await.unwrap();
        let Response::Session(view) = begun else { panic!("{begun:?}") };
        let send =
            request::Send { session: view.id, prompt: PromptView::text("wait"), ..request::Send::default() };
        engine.call(&caller(), Request::Send(send)).await.unwrap();
    }
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let status = engine.call(&caller(), Request::Status).await.unwrap();
    let Response::Status { rows } = status else { panic!("{status:?}") };
    assert_eq!((rows.len(), engine.open_sessions(), agent.conversations()), (200, 200, 200));
    assert!(rows.iter().all(|row| row.status.state == "running"));
    for _ in 0..100 {
        agent.open_gate();
    }
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    engine.shut_down().await;
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    assert_eq!((engine.open_sessions(), agent.conversations(), tasks()), (0, 0, before));
}

/// Processes with this among their words.
#[cfg(target_os = "linux")]
fn processes(word: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let words = all.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    words.filter(|words| String::from_utf8_lossy(words).split('\0').any(|one| one == word)).count()
}

#[cfg(target_os = "linux")]
async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    };
    // A test that waits for nothing fails instead of waiting for ever.
    tokio::time::timeout(std::time::Duration::from_secs(120), waiting).await.expect("it did not happen");
}

/// Each of them runs a command that never ends. When all are closed, however their turns were, no process is left.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn two_hundred_commands_that_run_leave_no_process_behind() {
    let seconds = format!("1000.{}", std::process::id());
    let folder = tempfile::TempDir::new().unwrap();
    let stamps = SharedStamps::default();
    let engine = Engine::new(Parts {
        shelf: Arc::new(MemoryShelf::new()),
        agents: vec![Arc::new(BuiltIn { pace: Pace::AtOnce })],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings { default_agent: Some("built_in".to_owned()), ..Settings::default() }.into(),
        host: Default::default(),
        epoch: 0,
    });
    let mut sessions = Vec::new();
    for _ in 0..200 {
        let project = Some(folder.path().display().to_string());
        let begin = request::Begin { project, ..request::Begin::default() };
        let begun = engine.call(&caller(), Request::Begin(begin)).await.unwrap();
        let Response::Session(view) = begun else { panic!("{begun:?}") };
        let mut events = engine.follow(&caller(), &view.id, view.seq).await.unwrap();
        let prompt = PromptView::text(format!("run sleep {seconds}"));
        let send = request::Send { session: view.id.clone(), prompt, ..request::Send::default() };
        engine.call(&caller(), Request::Send(send)).await.unwrap();
        let ask = loop {
            if let EventKind::Asked { ask } = next_event(&mut events).await.unwrap().unwrap().kind {
                break ask.id;
            }
        };
        let (session, answer) = (view.id.clone(), AnswerView::Allow { input: None, suggestion: None });
        engine.call(&caller(), Request::Answer(request::Answer { session, ask, answer })).await.unwrap();
        sessions.push(view.id);
    }
    until(|| processes(&seconds) == 200).await;
    for session in sessions.drain(..100) {
        engine.call(&caller(), Request::Interrupt(request::Interrupt { session, turn: None })).await.unwrap();
    }
    engine.shut_down().await;
    assert_eq!(engine.open_sessions(), 0);
    // What was told to end takes a moment to be gone.
    until(|| processes(&seconds) == 0).await;
}

/// Nobody has to close a session: it closes itself when it is not used, and opens again as if it had not.
#[tokio::test(start_paused = true)]
async fn sessions_that_nobody_uses_close_by_themselves() {
    let agent = Arc::new(ScriptedAgent::new().on("wait", vec![Do::Gate]));
    let settings = Settings { default_agent: Some("scripted".to_owned()), ..Settings::default() };
    let rules = RuleBook::in_memory();
    let engine = engine(&MemoryShelf::new(), &SharedStamps::default(), agent.clone(), &rules, &settings);
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    let begin = || async {
        let begun = engine.call(&caller(), Request::Begin(request::Begin::default())).await.unwrap();
        let Response::Session(view) = begun else { panic!("{begun:?}") };
        view.id
    };
    let send = |session: &str, text: &str| {
        let (session, prompt) = (session.to_owned(), PromptView::text(text));
        engine.call(&CALLER, Request::Send(request::Send { session, prompt, ..Default::default() }))
    };
    let (used, followed, running) = (begin().await, begin().await, begin().await);
    send(&used, "hello").await.unwrap();
    send(&running, "wait").await.unwrap();
    let events = engine.follow(&caller(), &followed, 0).await.unwrap();
    tokio::time::sleep(settings.idle_close / 2).await;
    // To ask what runs is not to use it.
    engine.call(&caller(), Request::Status).await.unwrap();
    tokio::time::sleep(settings.idle_close).await;
    assert_eq!((engine.open_sessions(), agent.conversations()), (2, 1), "only the one that was merely used");
    drop(events);
    agent.open_gate();
    tokio::time::sleep(settings.idle_close * 3).await;
    assert_eq!((engine.open_sessions(), agent.conversations(), tasks()), (0, 0, before));
    let open = request::Open { session: used, turns: None, turn: None, at: None };
    let opened = engine.call(&caller(), Request::Open(open)).await.unwrap();
    let Response::Session(view) = opened else { panic!("{opened:?}") };
    assert_eq!(view.branch.entries.len(), 2, "what was said is there");
}

/// Requests at the very moment of closing are answered like any other.
#[tokio::test]
async fn whoever_comes_while_a_session_closes_is_answered() {
    let settings = Settings {
        default_agent: Some("scripted".to_owned()),
        idle_close: std::time::Duration::ZERO,
        ..Settings::default()
    };
    let agent = Arc::new(ScriptedAgent::new());
    let rules = RuleBook::in_memory();
    let engine = engine(&MemoryShelf::new(), &SharedStamps::default(), agent, &rules, &settings);
    let begun = engine.call(&caller(), Request::Begin(request::Begin::default())).await.unwrap();
    let Response::Session(view) = begun else { panic!("{begun:?}") };
    for round in 0..200 {
        let title = |number: usize| {
            let (session, title) = (view.id.clone(), Some(format!("{round} {number}")));
            engine.call(&CALLER, Request::Rename(request::Rename { session, title, client_id: None }))
        };
        for answer in futures_util::future::join_all((0..5).map(title)).await {
            assert!(matches!(answer, Ok(Response::Changed(changed)) if changed.changed));
        }
    }
    engine.shut_down().await;
    assert_eq!(engine.open_sessions(), 0);
}
