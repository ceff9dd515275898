//! What an open session costs while nothing happens in it.
//!
//! `cargo bench -p offshoot-engine --bench idle`
//!
//! Two hundred sessions on a disk with a turn each: the memory that the process has taken for each of them, the tasks that are
//! left when all are closed, and what as many take once more after that. Fails where that is more than is asked for.

#![expect(clippy::unwrap_used, clippy::panic, clippy::print_stdout, reason = "a bench prints, or fails")]

use std::sync::Arc;

use futures_util::StreamExt;
use offshoot_agents::built_in::{BuiltIn, Pace};
use offshoot_api::event::EventKind;
use offshoot_api::views::PromptView;
use offshoot_api::{Caller, Request, Response, Service, request};
use offshoot_engine::{Engine, Parts, RuleBook, Settings};
use offshoot_store::{Home, JournalStore, Locking};
use offshoot_testkit::SharedStamps;
use serde_json::json;
use tempfile::TempDir;

const SESSIONS: usize = 200;

/// Each may take less than this while nothing happens in it.
const MOST_KIB: u64 = 1024;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let folder = TempDir::new().unwrap();
    let store = JournalStore::at(Home::at(folder.path()), Locking::by("bench"));
    let stamps = SharedStamps::default();
    let engine = Engine::new(Parts {
        shelf: Arc::new(store),
        agents: vec![Arc::new(BuiltIn { pace: Pace::AtOnce })],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings { default_agent: Some("built_in".to_owned()), ..Settings::default() }.into(),
        host: Default::default(),
        epoch: 0,
    });
    // What the first session needs is needed by all of them once.
    let none = tasks_alive();
    with_a_turn(&engine).await;
    let (before, tasks) = (resident(), tasks_alive());
    for _ in 0..SESSIONS {
        with_a_turn(&engine).await;
    }
    let open = resident();
    let (kib, of_each) = (open.saturating_sub(before) / SESSIONS as u64, (tasks_alive() - tasks) / SESSIONS);
    println!("sessions open        {:>8}", engine.open_sessions());
    println!("tasks for each       {of_each:>8}");
    println!("memory for each      {kib:>8} KiB");
    engine.shut_down().await;
    let left = tasks_alive() - none;
    println!("tasks after closing  {left:>8}");
    // An allocator keeps what it was given back. What is not lost is used again.
    for _ in 0..SESSIONS {
        with_a_turn(&engine).await;
    }
    let more = resident().saturating_sub(open) / SESSIONS as u64;
    println!("as many once more    {more:>8} KiB for each");
    engine.shut_down().await;
    println!("{}", json!({ "idle_kib": kib, "idle_again_kib": more, "tasks_left": left }));
    assert!(kib < MOST_KIB, "{kib} KiB for an idle session");
    assert_eq!(left, 0, "tasks are left when all sessions are closed");
}

async fn with_a_turn(engine: &Engine) {
    let caller = Caller::local("bench");
    let begun = engine.call(&caller, Request::Begin(request::Begin::default())).await.unwrap();
    let Response::Session(view) = begun else { panic!("{begun:?}") };
    let mut events = engine.follow(&caller, &view.id, view.seq).await.unwrap();
    let (session, prompt) = (view.id, PromptView::text("hello"));
    let send = request::Send { session, prompt, ..request::Send::default() };
    engine.call(&caller, Request::Send(send)).await.unwrap();
    let is_ready = |kind: &EventKind| matches!(kind, EventKind::Status { status } if status.state == "ready");
    while !is_ready(&events.next().await.unwrap().unwrap().kind) {}
}

fn tasks_alive() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}

/// In KiB; 0 where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or_default()
}
