//! What belongs to a caller holds for its requests and what follows from them, and for nobody else's.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::{Caller, CallerContext, ErrorCode, Request, Service};
use offshoot_engine::{Engine, HookEvent, MemoryShelf, Parts, RuleBook, Settings, SettingsSource, Shelf};
use offshoot_session::agent::{AgentEventKind, AgentTurnEnd};
use offshoot_session::{Record, SessionHeader, Setting};
use offshoot_testkit::{FixedStamps, SharedStamps};
use tempfile::TempDir;

use crate::hooks::{hook, shell};
use crate::scripted::{Do, ScriptedAgent};
use crate::world::{World, next_event, send};

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Somebody whose shell has this key.
fn with_key(key: &str) -> Caller {
    let environment = variables(&[("KEY", key), ("OFFSHOOT_AGENT", "x"), ("DROPPED", "x")]);
    let context = CallerContext { environment, ..CallerContext::default() };
    Caller::local(key).with(Arc::new(context))
}

/// Adds a line with the key and the names of two variables that it should not see.
fn key_to(file: &Path) -> offshoot_engine::Run {
    let file = file.display();
    shell(&format!("echo \"$KEY${{OFFSHOOT_AGENT-}}${{DROPPED-}}\" >> '{file}'"))
}

async fn with_hook(agent: ScriptedAgent, file: &Path) -> World {
    let hooks = vec![hook("key", &[HookEvent::TurnEnded], key_to(file))];
    World::set(agent, Settings { hooks, agent_environment: vec!["DROP*".into()], ..Settings::default() })
        .await
}

fn keys(world: &World) -> Vec<String> {
    let environments = world.agent.environments.lock().unwrap();
    environments.iter().map(|it| it.get("KEY").unwrap_or_default().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn agents_and_hooks_run_in_the_environment_of_whoever_started_the_turn() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("keys");
    let mut agent = ScriptedAgent::new();
    agent.can.many_turns = false;
    let mut world = with_hook(agent, &file).await;
    for key in ["first", "second"] {
        world.engine.call(&with_key(key), Request::Send(send(key))).await.unwrap();
        world.until_turn_ended().await;
    }
    world.engine.shut_down().await;
    assert_eq!(keys(&world), ["first", "second"]);
    let environments = world.agent.environments.lock().unwrap();
    assert!(environments.iter().all(|it| it.get("OFFSHOOT_AGENT").or(it.get("DROPPED")).is_none()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first\nsecond\n");
}

#[tokio::test]
async fn a_queued_message_is_answered_in_the_environment_of_its_sender() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("keys");
    let mut agent = ScriptedAgent::new();
    agent.can.many_turns = false;
    agent.also_on("first", vec![Do::Gate, Do::Say(AgentEventKind::Ended(AgentTurnEnd::Done))]);
    let mut world = with_hook(agent, &file).await;
    world.engine.call(&with_key("first"), Request::Send(send("first"))).await.unwrap();
    world.engine.call(&with_key("second"), Request::Send(send("second"))).await.unwrap();
    // Whoever interrupts or looks changes nothing of it.
    world.view().await;
    world.agent.open_gate();
    world.until_turn_ended().await;
    world.until_turn_ended().await;
    world.engine.shut_down().await;
    assert_eq!(keys(&world), ["first", "second"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "first\nsecond\n");
}

/// A session of nobody in particular, and settings in which each caller has its own thinking level.
async fn each_with_its_own(agent: Arc<ScriptedAgent>) -> Engine {
    let (shelf, mut stamps) = (MemoryShelf::new(), FixedStamps::default());
    let mut header = SessionHeader::new("s".into(), offshoot_session::Stamps::now(&mut stamps));
    header.agent = Some("scripted".to_owned());
    shelf.create(&[Record::opened(header)]).unwrap();
    let settings = SettingsSource::read_by(|_: Option<&str>, context: &CallerContext| {
        match context.overrides.get("thinking").map(String::as_str) {
            Some("broken") => Err("`thinking` is broken".to_owned()),
            thinking => Ok(Arc::new(Settings {
                default_agent: Some("scripted".to_owned()),
                default_thinking: thinking.map(str::to_owned),
                ..Settings::default()
            })),
        }
    });
    let stamps = SharedStamps::default();
    Engine::new(Parts {
        shelf: Arc::new(shelf),
        agents: vec![agent],
        stamps: Arc::new(move |_: &CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings,
        host: Default::default(),
        epoch: 0,
    })
}

fn thinking(level: &str) -> Caller {
    let context = CallerContext { overrides: variables(&[("thinking", level)]), ..CallerContext::default() };
    Caller::local("test").with(Arc::new(context))
}

#[tokio::test]
async fn settings_are_those_of_the_caller_and_a_broken_one_borrows_nobodys() {
    let agent = Arc::new(ScriptedAgent::new());
    let engine = each_with_its_own(agent.clone()).await;
    let refused = engine.call(&thinking("broken"), Request::Send(send("no"))).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Invalid, "{refused}");
    let mut events = engine.follow(&thinking("high"), "s", 0).await.unwrap();
    engine.call(&thinking("high"), Request::Send(send("yes"))).await.unwrap();
    loop {
        let event = next_event(&mut events).await.unwrap().unwrap();
        if matches!(event.kind, EventKind::TurnEnded { .. }) {
            break;
        }
    }
    assert!(agent.settings_of_the_last().contains(&Setting::Thinking(Some("high".to_owned()))));
    let refused = engine.call(&thinking("broken"), Request::Send(send("no"))).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::Invalid, "{refused}");
}

#[test]
fn rules_are_read_again_when_their_file_changes() {
    let folder = TempDir::new().unwrap();
    let path: PathBuf = folder.path().join("permissions.json");
    let rules = RuleBook::at(path.clone());
    assert!(rules.all().unwrap().is_empty());
    let rule = |id: &str| {
        serde_json::json!({
            "id": id, "scope": "session", "session": "s", "tool": "write", "matches": "anything",
            "made_at": "2025-01-01T00:00:00Z",
        })
    };
    let write = |rules: &[serde_json::Value]| {
        let text = serde_json::json!({ "version": 1, "rules": rules }).to_string();
        std::fs::write(path.with_extension("mine"), text).unwrap();
        std::fs::rename(path.with_extension("mine"), &path).unwrap();
    };
    write(&[rule("r1")]);
    assert_eq!(rules.all().unwrap().len(), 1);
    write(&[rule("r1"), rule("r2")]);
    let revoked = rules.revoke(&offshoot_session::asks::RuleId::named("r1")).unwrap();
    assert!(revoked);
    let left: Vec<String> = rules.all().unwrap().iter().map(|rule| rule.id.as_str().to_owned()).collect();
    assert_eq!(left, ["r2"], "a rule that was added by hand is not lost");
    std::fs::write(&path, "nonsense").unwrap();
    assert_eq!(rules.reaching(&"s".into(), None).iter().count(), 0, "what cannot be read allows nothing");
    assert!(rules.all().is_err());
    assert!(rules.revoke(&offshoot_session::asks::RuleId::named("r2")).is_err());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "nonsense", "and is not overwritten");
}

/// An agent keeps the environment it was started with, also for a caller with another key. Nothing told so.
#[tokio::test]
async fn a_caller_whose_provider_variables_the_agent_does_not_have_is_told_once() {
    let mut world = World::new(ScriptedAgent::new()).await;
    let at = |url: &str, editor: &str| {
        let environment =
            variables(&[("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_API_KEY", "secret"), ("EDITOR", editor)]);
        let context = CallerContext { environment, ..CallerContext::default() };
        Caller::local("test").with(Arc::new(context))
    };
    let mut told = Vec::new();
    for (url, editor) in [("one", "vi"), ("one", "ed"), ("two", "vi"), ("two", "vi"), ("one", "vi")] {
        world.log.clear();
        world.engine.call(&at(url, editor), Request::Send(send("hello"))).await.unwrap();
        world.until_ready().await;
        let notices = world.log.iter().filter(|line| line.contains("keeps the environment"));
        told.push(notices.cloned().collect::<Vec<_>>().join(" "));
    }
    world.engine.shut_down().await;
    assert!(told[2].contains("ANTHROPIC_BASE_URL differ here") && !told[2].contains("KEY"), "{told:?}");
    assert_eq!(told.iter().filter(|told| !told.is_empty()).count(), 1, "{told:?}");
}
