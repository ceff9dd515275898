//! Many sessions at once, and nothing left of them.

use std::sync::Arc;

use offshoot_api::request::{self, IfRunning};
use offshoot_api::views::PromptView;
use offshoot_api::{Request, Response, Service};
use offshoot_engine::{MemoryShelf, RuleBook, Settings};

use crate::scripted::{Do, ScriptedAgent};
use crate::world::{SharedStamps, caller, engine};

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
        let send = request::Send {
            session: view.id,
            prompt: PromptView::text("wait"),
            at: None,
            agent: None,
            if_running: IfRunning::Wait,
        };
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
