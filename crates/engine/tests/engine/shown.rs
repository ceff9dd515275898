//! What front ends are shown of turns, asks and branches, so that a person knows which is which.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, ForkTo, IfRunning};
use offshoot_api::views::{
    AnswerView, BodyView, BoundView, ContextView, EntryView, MissingView, ModelView, ProvenanceView,
    SpentView,
};
use offshoot_api::{CallerContext, ErrorCode, Request, Response, Service, response};
use offshoot_engine::{Engine, MemoryShelf, Parts, RuleBook, Settings, installed};
use offshoot_session::agent::AgentEventKind;
use offshoot_session::{Block, Body, Model, Reply, Setting, ToolResult, Usage};
use offshoot_testkit::SharedStamps;
use tempfile::TempDir;

use crate::scripted::{Do, ScriptedAgent, calls, result_of, whole};
use crate::world::{World, caller, send};

fn s() -> String {
    "s".to_owned()
}

async fn until_waiting(world: &mut World) {
    world.until(|kind| matches!(kind, EventKind::Asked { .. })).await;
}

fn moved(response: Response) -> response::Changed {
    match response {
        Response::Changed(moved) => *moved,
        other => panic!("{other:?}"),
    }
}

fn counted(text: &str, model: &str, usage: Usage) -> Do {
    let model = Some(Model { provider: "anthropic".to_owned(), name: model.to_owned() });
    let blocks = vec![Block::Text(text.to_owned())];
    let reply = Reply { blocks, model, usage: Some(usage), ..Reply::default() };
    Do::Say(AgentEventKind::Entry { id: None, message: None, body: Body::Reply(reply) })
}

/// What the usage of a reply costs, and whether that is unknown.
fn price(entry: &EntryView) -> Option<(i64, bool)> {
    match &entry.body {
        BodyView::Reply { usage: Some(usage), .. } => Some((usage.cost_micros, usage.unpriced)),
        _ => None,
    }
}

/// R-193: a session is shown with its settings, context, cost, turns and questions.
/// What is in force, how full the window is and what it has cost so far.
#[tokio::test(start_paused = true)]
async fn a_session_says_what_is_set_how_full_it_is_and_what_it_has_used() {
    let used = |input, output| Usage { input, output, ..Usage::default() };
    let agent = ScriptedAgent::new()
        .on("one", vec![counted("first", "claude-sonnet-4-5", used(1_000_000, 100_000))])
        .on("uno", vec![counted("other", "claude-sonnet-4-5", used(10, 1))])
        .on("two", vec![counted("second", "nobody-knows", used(500, 40))])
        .on("three", vec![counted("third", "nobody-knows", Usage { cost_micros: 7, ..used(600, 50) })]);
    let mut world = World::new(agent).await;
    let fresh = world.view().await;
    assert_eq!((fresh.tools, fresh.context), (None, ContextView::default()));
    assert_eq!(fresh.spent, SpentView { cost_micros: Some(0), ..SpentView::default() });
    world.send("one").await.unwrap();
    // A17: an entry is priced as `spent` is, in an event and in a view.
    world
        .until(
            |kind| matches!(kind, EventKind::Entry { entry, .. } if price(entry) == Some((4_500_000, false))),
        )
        .await;
    world.until_ready().await;
    let tools = Some(vec!["read".to_owned(), "write".to_owned()]);
    let set = request::Configure { session: s(), tools: tools.clone(), ..Default::default() };
    world.call(Request::Configure(set)).await.unwrap();
    let view = world.view().await;
    assert_eq!(view.tools, tools);
    assert_eq!(view.context, ContextView { tokens: 1_100_000, window: Some(200_000) });
    let listed = SpentView { input: 1_000_000, output: 100_000, ..SpentView::default() };
    assert_eq!(view.spent, SpentView { cost_micros: Some(4_500_000), ..listed });
    // Another version of it: the branch is short again, and all that was used is still used.
    let edit = request::Edit { session: s(), at: "#1".into(), text: "uno".into(), ..Default::default() };
    world.call(Request::Edit(edit)).await.unwrap();
    world.until_ready().await;
    let view = world.view().await;
    assert_eq!((view.tools, view.context.tokens), (None, 11));
    assert_eq!((view.spent.input, view.spent.output), (1_000_010, 100_001));
    for (prompt, unpriced) in [("two", 1), ("three", 1)] {
        world.send(prompt).await.unwrap();
        world.until_ready().await;
        assert_eq!(world.view().await.spent.unpriced, unpriced, "{prompt}");
    }
    let view = world.view().await;
    assert_eq!(view.context, ContextView { tokens: 650, window: None });
    assert_eq!(view.spent.cost_micros, Some(4_500_000 + 45 + 7));
    let shown: Vec<(i64, bool)> = view.branch.entries.iter().filter_map(price).collect();
    assert_eq!(shown, [(45, false), (0, true), (7, false)]);
    world.call(Request::Undo(request::History { session: s(), ..Default::default() })).await.unwrap();
    assert_eq!(
        world.view().await.spent.cost_micros,
        Some(4_500_000 + 45),
        "what is undone is not in the tree"
    );
}

/// R-132: two branches that ask something are told apart.
/// Two branches of one session ask at the same time; each is told apart and answered by itself.
#[tokio::test(start_paused = true)]
async fn two_turns_that_wait_are_told_apart() {
    let asks = |command| vec![Do::AskToRun(command), Do::Say(whole("done"))];
    let agent = ScriptedAgent::new().on("here", asks("make a")).on("beside", asks("make b"));
    let mut world = World::new(agent).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.send("here").await.unwrap();
    until_waiting(&mut world).await;
    let beside = request::Send { at: Some("#1".into()), if_running: IfRunning::Beside, ..send("beside") };
    let Response::Changed(sent) = world.call(Request::Send(beside)).await.unwrap() else {
        panic!("not sent")
    };
    until_waiting(&mut world).await;
    let name = request::NameBranch {
        session: s(),
        at: sent.prompt.unwrap().into(),
        name: Some("other".to_owned()),
        ..Default::default()
    };
    world.call(Request::NameBranch(name)).await.unwrap();

    let Response::Status { rows } = world.call(Request::Status).await.unwrap() else { panic!("no rows") };
    let asks = world.view().await.asks;
    let told: Vec<_> =
        rows.iter().map(|row| (row.branch.as_deref(), row.number, row.what.as_str())).collect();
    assert_eq!(told, [(None, 2, "shell: make a"), (Some("other"), 2, "shell: make b")]);
    for (row, ask) in rows.iter().zip(&asks) {
        assert_eq!((&row.ask, row.asked_at), (&Some(ask.id.clone()), Some(ask.at)));
        assert_eq!((&row.session, &row.prompt, &row.turn), (&ask.session, &ask.prompt, &ask.turn));
        assert_eq!((&row.branch, row.number), (&ask.branch, ask.number));
        assert_eq!((row.agent.as_str(), row.status.source.as_str()), ("scripted", "stream"));
    }
    for row in rows {
        let answer = AnswerView::Deny { message: None };
        let answer = request::Answer { session: row.session, ask: row.ask.unwrap(), answer };
        assert_eq!(world.call(Request::Answer(answer)).await.unwrap(), Response::Done { changed: true });
        world.until_turn_ended().await;
    }
}

/// The agent has not seen the branch and is told it as text, without what a tool answered. That is kept.
#[tokio::test(start_paused = true)]
async fn what_an_agent_was_not_told_is_known_afterwards() {
    let result = ToolResult {
        call: "c".into(),
        tool: "read".to_owned(),
        blocks: vec![Block::Text("words".to_owned())],
        failed: false,
        usage: None,
        changed_input: None,
    };
    let agent = ScriptedAgent::new().on(
        "look",
        vec![
            Do::Say(AgentEventKind::thinking("m", "hm")),
            Do::Say(AgentEventKind::MessageEnded { message: "m".into(), stop: None, usage: None }),
            Do::Say(calls("m2", "c", "read", serde_json::json!({}))),
            Do::Say(result_of(result)),
            Do::Say(whole("seen")),
        ],
    );
    let mut world = World::new(agent).await;
    for words in ["look", "two"] {
        world.send(words).await.unwrap();
        world.until_ready().await;
    }
    let edit = request::Edit { session: s(), at: "#2".into(), text: "zwei".to_owned(), ..Default::default() };
    world.call(Request::Edit(edit)).await.unwrap();
    world.until_ready().await;
    let missing = Some(MissingView { tool_results: 1, thoughts: 1, ..MissingView::default() });
    let told = r#"{"type":"notice","text":"reconstructed context: Scripted cannot fork at an earlier turn, so it was given this branch as text, without 1 result of a tool, 1 thought, about "#;
    let files = r#" tokens; files are as they are now, not as they were then"}"#;
    assert!(world.log.iter().any(|line| line.contains(told) && line.ends_with(files)), "{:#?}", world.log);

    world.crash().await;
    world.send("drei").await.unwrap();
    world.until_ready().await;
    let branch = world.view().await.branch;
    let bound: Vec<&BoundView> = branch.entries.iter().filter_map(|entry| entry.bound.as_ref()).collect();
    let ways: Vec<_> = bound.iter().map(|bound| (bound.provenance, bound.missing)).collect();
    assert_eq!(
        ways,
        [
            (ProvenanceView::Continued, None),
            (ProvenanceView::ReplayedContext, missing),
            (ProvenanceView::Continued, None)
        ]
    );
    assert!(bound.iter().all(|bound| bound.agent.as_deref() == Some("scripted")));
    assert_eq!((branch.provenance, branch.missing), (Some(ProvenanceView::Continued), missing));
}

/// R-075: a session begins before a prompt only, and the text of the prompt comes back.
/// R-076: before the first prompt the new session is empty and names its parent.
/// R-077: before a later prompt it holds everything above that prompt.
/// A session before a prompt: its words come back, what stands above it comes along. Only a prompt will do.
#[tokio::test(start_paused = true)]
async fn a_session_begins_before_a_prompt_and_its_words_come_back() {
    let mut world = World::new(ScriptedAgent::new()).await;
    for words in ["one", "two"] {
        world.send(words).await.unwrap();
        world.until_ready().await;
    }
    let fork = |at: &str| {
        let (at, to, before) = (at.into(), ForkTo::NewSession, true);
        Request::Fork(request::Fork { session: s(), at: Some(at), to, before, ..Default::default() })
    };
    let answer = world.view().await.branch.tip.unwrap();
    let before = world.tree().log().count();
    let refused = world.call(fork(&answer)).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::CannotForkHere);
    assert_eq!(refused.data.reason.as_deref(), Some("inside_turn"));
    assert_eq!(refused.data.place.unwrap().entry, answer);
    assert_eq!(world.call(fork("nowhere")).await.unwrap_err().code, ErrorCode::PointNotFound);
    assert_eq!(world.tree().log().count(), before, "a refusal leaves no trace");
    for (at, text, said) in [("#2", "two", vec!["one", "re: one"]), ("#1", "one", vec![])] {
        let moved = moved(world.call(fork(at)).await.unwrap());
        assert_eq!(moved.editor_text.as_deref(), Some(text));
        let child = offshoot_engine::Shelf::open(&world.shelf, &moved.continues_in().into());
        let child = child.unwrap().unwrap().tree().clone();
        assert_eq!(child.header().unwrap().lineage.as_ref().unwrap().parent, "s");
        let path = child.path_to(child.main_head());
        assert_eq!(path.iter().map(|entry| entry.body.text()).collect::<Vec<_>>(), said);
    }
}

/// What waited for a turn that was interrupted is held, and goes on when somebody says so.
#[tokio::test(start_paused = true)]
async fn what_is_held_is_said_on_request() {
    let mut world = World::new(ScriptedAgent::new().on("wait", vec![Do::Gate])).await;
    world.send("wait").await.unwrap();
    let say = |queued: Option<&str>| {
        let queued = queued.map(str::to_owned);
        Request::SayQueued(request::SayQueued { session: s(), queued })
    };
    assert_eq!(world.call(say(None)).await.unwrap_err().code, ErrorCode::NothingToDo);
    let next = request::Send { client_id: Some("next-one".to_owned()), ..send("next") };
    world.call(Request::Send(next)).await.unwrap();
    assert_eq!(world.call(say(Some("next-one"))).await.unwrap_err().code, ErrorCode::Running);
    assert_eq!(world.call(say(Some("nobody"))).await.unwrap_err().code, ErrorCode::NotFound);
    world.call(Request::Interrupt(request::Interrupt { session: s(), turn: None })).await.unwrap();
    world.until_turn_ended().await;
    assert!(world.view().await.queue.iter().all(|queued| queued.held));
    let Response::Changed(sent) = world.call(say(None)).await.unwrap() else { panic!("not sent") };
    assert_eq!(sent.turn.as_deref(), Some("next-one"));
    world.until_turn_ended().await;
    let view = world.view().await;
    assert!(view.queue.is_empty());
    let said: Vec<_> = world.tree().path_to(world.tree().main_head()).iter().map(|e| e.body.text()).collect();
    assert_eq!(said, ["wait", "", "next", "re: next"]);
}

/// Somewhere in the tree stands a prompt without an answer; it is answered there, and the head stays.
#[tokio::test(start_paused = true)]
async fn a_prompt_elsewhere_is_answered_where_it_stands() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let head = world.tree().main_head().cloned();
    let edit = request::Edit {
        session: s(),
        at: "#1".into(),
        text: "uno".to_owned(),
        only_write: true,
        ..Default::default()
    };
    let Response::Changed(sent) = world.call(Request::Edit(edit)).await.unwrap() else { panic!("not sent") };
    let back = request::Switch {
        session: s(),
        to: head.as_ref().map(ToString::to_string).map(Into::into),
        ..Default::default()
    };
    world.call(Request::Switch(back)).await.unwrap();
    let resume = || {
        Request::Resume(request::Resume {
            session: s(),
            at: sent.prompt.clone().map(Into::into),
            client_id: None,
        })
    };
    world.call(resume()).await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    assert_eq!(tree.main_head(), head.as_ref());
    let prompt = sent.prompt.clone().unwrap().as_str().into();
    let answers: Vec<_> = tree.children(Some(&prompt)).iter().map(|entry| entry.body.text()).collect();
    assert_eq!(answers, ["re: uno"]);
    assert_eq!(world.call(resume()).await.unwrap_err().code, ErrorCode::NothingToDo);
}

/// The same words to another model are a branch of their own, below what was chosen.
#[tokio::test(start_paused = true)]
async fn a_prompt_is_said_again_to_another_model() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let model = ModelView { provider: "p".to_owned(), name: "m".to_owned() };
    let (text, at) = ("one".to_owned(), "#1".to_owned());
    let edit = request::Edit {
        session: s(),
        at: at.clone().into(),
        text,
        model: Some(model.clone()),
        ..Default::default()
    };
    world.call(Request::Edit(edit)).await.unwrap();
    world.until_ready().await;
    let nobody = request::Retry {
        session: s(),
        at: at.clone().into(),
        agent: Some("nobody".into()),
        ..Default::default()
    };
    assert_eq!(world.call(Request::Retry(nobody)).await.unwrap_err().code, ErrorCode::NoAgent);
    // C20: whoever is asked, it is a version of the same prompt.
    let again =
        request::Retry { session: s(), at: at.into(), model: Some(model.clone()), ..Default::default() };
    let Response::Changed(sent) = world.call(Request::Retry(again)).await.unwrap() else {
        panic!("not sent")
    };
    assert_eq!(sent.version.map(|version| (version.index, version.total)), Some((3, 3)));
    world.until_ready().await;
    let tree = world.tree();
    let path = tree.path_to(tree.main_head());
    let chosen = Setting::Model { role: None, model: model.into() };
    assert_eq!(path.first().map(|entry| &entry.body), Some(&Body::Setting(chosen)));
    assert_eq!(tree.children(None).len(), 2);
}

/// R-118: what an agent can do is listed.
/// One answer has all of them: who answers, who else is here, and how to get the others.
#[tokio::test]
async fn every_agent_that_is_known_is_listed() {
    let folder = TempDir::new().unwrap();
    let program = folder.path().join("codex");
    std::fs::write(&program, "#!/bin/sh\necho codex-cli 0.9.1\n").unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    let stamps = SharedStamps::default();
    let engine = Engine::new(Parts {
        shelf: Arc::new(MemoryShelf::new()),
        agents: installed(),
        stamps: Arc::new(move |_: &offshoot_api::CallerContext| Box::new(stamps.clone())),
        rules: RuleBook::in_memory(),
        settings: Settings::default().into(),
        host: Default::default(),
        epoch: 0,
    });
    let path = folder.path().to_str().unwrap().to_owned();
    let environment = BTreeMap::from([("PATH".to_owned(), path)]);
    let context = CallerContext { environment, ..CallerContext::default() };
    let answer = engine.call(&caller().with(Arc::new(context)), Request::Agents).await;
    let Response::Agents { agents } = answer.unwrap() else { panic!("no agents") };
    let of = |name: &str| agents.iter().find(|agent| agent.name == name).expect("it is known");
    let built_in = of("built_in");
    assert!(built_in.answers && built_in.installed && built_in.can.contains(&"interrupt".to_owned()));
    assert_eq!((built_in.version.as_deref(), &built_in.install), (Some(env!("CARGO_PKG_VERSION")), &None));
    let codex = of("codex");
    assert_eq!((codex.answers, codex.installed, codex.version.as_deref()), (false, true, Some("0.9.1")));
    assert_eq!(codex.path.as_deref(), program.to_str());
    let pi = of("pi");
    assert!(!pi.installed && pi.install.is_none() && pi.version.is_none());
}
