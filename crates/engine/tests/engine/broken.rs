//! An agent that panics takes nothing with it: the session is closed as a crash would leave it, and goes on when it is
//! asked for again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot_agents::{Agent, AgentConnection, Connecting};
use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::views::{BodyView, PromptView};
use offshoot_api::{Caller, Request, Response, Service, request};
use offshoot_engine::{Engine, MemoryShelf, Parts, RuleBook, Settings};
use offshoot_session::Stamps;
use offshoot_session::agent::{Abilities, AgentStart};

use crate::scripted::ScriptedAgent;
use crate::world::next_event;
use offshoot_testkit::SharedStamps;

/// Panics while it is reached, until it is mended.
struct Broken {
    is_mended: Arc<AtomicBool>,
    then: ScriptedAgent,
    at: Place,
}

#[derive(Clone, Copy)]
enum Place {
    /// On the way to the agent.
    Reaching,
    /// In the agent's own task.
    Speaking,
}

impl Agent for Broken {
    fn name(&self) -> &str {
        self.then.name()
    }
    fn title(&self) -> &str {
        self.then.title()
    }
    fn abilities(&self, _model: Option<&offshoot_session::Model>) -> Abilities {
        self.then.abilities(None)
    }
    fn connect(&self, start: AgentStart) -> Connecting<'_> {
        if self.is_mended.load(Ordering::SeqCst) {
            return self.then.connect(start);
        }
        match self.at {
            Place::Reaching => Box::pin(async { panic!("broken on purpose") }),
            Place::Speaking => {
                let speak = |_, _| async { panic!("broken on purpose") };
                Box::pin(async move { Ok(AgentConnection::served_by(speak)) })
            }
        }
    }
}

async fn survives(at: Place) -> EventKind {
    let is_mended = Arc::new(AtomicBool::new(false));
    let agent = Broken { is_mended: is_mended.clone(), then: ScriptedAgent::new(), at };
    let stamps = SharedStamps::default();
    let engine = Engine::new(Parts {
        shelf: Arc::new(MemoryShelf::new()),
        agents: vec![Arc::new(agent)],
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| {
            Box::new(stamps.clone()) as Box<dyn Stamps + Send>
        }),
        host: Default::default(),
        epoch: 0,
        rules: RuleBook::in_memory(),
        settings: Settings { default_agent: Some("scripted".to_owned()), ..Settings::default() }.into(),
    });
    let me = Caller::local("test");
    let begin = request::Begin::default();
    let Ok(Response::Session(view)) = engine.call(&me, Request::Begin(begin)).await else {
        panic!("it does not begin")
    };
    let send = |text: &str| {
        Request::Send(request::Send {
            session: view.id.clone(),
            prompt: PromptView::text(text),
            ..request::Send::default()
        })
    };
    let mut events = engine.follow(&me, &view.id, view.seq).await.unwrap();
    engine.call(&me, send("first")).await.unwrap();
    let mut told = Vec::new();
    while let Some(Ok(event)) = next_event(&mut events).await {
        let is_over = matches!(event.kind, EventKind::Closed | EventKind::TurnEnded { .. });
        told.push(event.kind);
        if is_over {
            break;
        }
    }
    let last = told.pop().expect("something is told");
    assert!(matches!(last, EventKind::Closed | EventKind::TurnEnded { .. }), "{told:?} {last:?}");

    is_mended.store(true, Ordering::SeqCst);
    let Ok(Response::Session(view)) = engine
        .call(
            &me,
            Request::Open(request::Open { session: view.id.clone(), turns: None, turn: None, at: None }),
        )
        .await
    else {
        panic!("it cannot be opened any more")
    };
    assert_eq!(view.status.state, "ready");
    assert!(view.branch.entries.iter().any(|entry| matches!(entry.body, BodyView::Prompt(_))));
    let mut events = engine.follow(&me, &view.id, view.seq).await.unwrap();
    engine.call(&me, send("second")).await.unwrap();
    let mut is_answered = false;
    while let Some(Ok(event)) = next_event(&mut events).await {
        is_answered |= matches!(&event.kind, EventKind::Entry { entry, .. } if matches!(entry.body, BodyView::Reply { .. }));
        if matches!(event.kind, EventKind::TurnEnded { .. }) {
            break;
        }
    }
    assert!(is_answered);
    engine.shut_down().await;
    last
}

#[tokio::test]
async fn an_agent_that_panics_on_the_way_closes_only_its_session() {
    survives(Place::Reaching).await;
}

#[tokio::test]
async fn an_agent_that_panics_while_it_speaks_is_gone() {
    let told = survives(Place::Speaking).await;
    let message = "Scripted ended unexpectedly".to_owned();
    let hint = Some("the prompt is kept: retry it, or send another one".to_owned());
    assert_eq!(told, EventKind::TurnEnded { end: TurnEnd::Failed { message, hint }, cost: None });
}
