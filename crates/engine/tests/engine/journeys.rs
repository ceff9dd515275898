//! One test for each thing a person does, with everything that happens because of it.

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::views::{AnswerView, ModelView, OfferName};
use offshoot_api::{ErrorCode, Hint, Request, Response};
use offshoot_engine::Shelf;
use offshoot_session::agent::AgentEventKind;
use offshoot_session::handoff::branch_session;

use crate::scripted::{Do, ScriptedAgent, whole};
use crate::world::{World, send};

fn s() -> String {
    "s".to_owned()
}

fn edit(at: &str, text: &str, if_running: IfRunning) -> Request {
    Request::Edit(request::Edit {
        session: s(),
        at: at.into(),
        text: text.to_owned(),
        if_running,
        ..Default::default()
    })
}

fn history() -> request::History {
    request::History { session: s(), ..Default::default() }
}

fn version(at: &str, step: request::Step) -> Request {
    Request::Version(request::Version {
        session: s(),
        at: Some(at.into()),
        step,
        if_running: IfRunning::Wait,
        ..Default::default()
    })
}

fn waiting() -> ScriptedAgent {
    ScriptedAgent::new().on(
        "wait",
        vec![
            Do::Say(AgentEventKind::text("m1", "Let me ")),
            Do::Gate,
            Do::Say(AgentEventKind::text("m1", "see.")),
            Do::Gate,
        ],
    )
}

async fn until_words(world: &mut World) {
    world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_sent_and_answered() {
    let agent = ScriptedAgent::new().on(
        "Hello",
        vec![
            Do::Say(AgentEventKind::thinking("m1", "a greeting")),
            Do::Say(AgentEventKind::text("m1", "Good ")),
            Do::Say(AgentEventKind::text("m1", "day.")),
        ],
    );
    let mut world = World::new(agent).await;
    let sent = world.send("Hello").await.unwrap();
    assert!(matches!(sent, Response::Changed(ref sent) if sent.prompt.is_some()), "{sent:?}");
    world.until_ready().await;
    world.send("And now?").await.unwrap();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn an_old_prompt_is_edited_and_the_arrows_go_between_versions() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.send("two").await.unwrap();
    world.until_ready().await;
    for (text, code) in [(" ", ErrorCode::Blank), ("one", ErrorCode::SameText)] {
        let before = world.tree().log().count();
        assert_eq!(world.call(edit("#1", text, IfRunning::Wait)).await.unwrap_err().code, code);
        assert_eq!(world.tree().log().count(), before, "a refusal leaves no trace");
    }
    world.call(edit("#1", "uno", IfRunning::Wait)).await.unwrap();
    world.until_ready().await;
    let there = world.call(version("#1", request::Step::Previous)).await.unwrap();
    let Response::Changed(moved) = there else { panic!("{there:?}") };
    assert_eq!(moved.version.map(|version| (version.index, version.total)), Some((1, 2)));
    assert_eq!(moved.agent_session.as_deref(), Some("agent-1"));
    let there = world.call(version("#1", request::Step::Previous)).await.unwrap_err();
    assert_eq!(there.code, ErrorCode::NoSuchVersion);
    world.until(|kind| matches!(kind, EventKind::HeadMoved { .. })).await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_turn_keeps_what_was_said_and_the_session_goes_on() {
    let mut world = World::new(waiting()).await;
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    world.call(Request::Interrupt(request::Interrupt { session: s(), turn: None })).await.unwrap();
    world.until_ready().await;
    let nothing = world.call(Request::Interrupt(request::Interrupt { session: s(), turn: None })).await;
    assert_eq!(nothing.unwrap_err().code, ErrorCode::NothingToDo);
    world.send("again").await.unwrap();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn a_permission_is_asked_answered_and_confirmed() {
    let agent = ScriptedAgent::new()
        .on("test it", vec![Do::AskToRun("cargo test -p one"), Do::Say(whole("It passes."))])
        .on("test more", vec![Do::AskToRun("cargo test -p two"), Do::Say(whole("That too."))]);
    let mut world = World::new(agent).await;
    world.send("test it").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Status { status } if status.state == "waiting")).await;
    let ask = world.view().await.asks.remove(0).id;
    let always = || {
        Request::Answer(request::Answer {
            session: s(),
            ask: ask.clone(),
            answer: AnswerView::AllowAlways { offer: OfferName::WiderSession },
        })
    };
    let deny = Request::Answer(request::Answer {
        session: s(),
        ask: ask.clone(),
        answer: AnswerView::Deny { message: None },
    });
    assert_eq!(world.call(always()).await.unwrap(), Response::Done { changed: true });
    assert_eq!(world.call(deny).await.unwrap_err().code, ErrorCode::AnsweredOtherwise);
    world.until_ready().await;
    assert_eq!(world.call(always()).await.unwrap(), Response::Done { changed: false });
    // The rule answers the next one.
    world.send("test more").await.unwrap();
    world.until_ready().await;
    let rules = world.call(Request::Permissions(request::Permissions::default())).await.unwrap();
    let Response::Permissions { rules } = rules else { panic!("{rules:?}") };
    assert_eq!(rules.iter().map(|rule| rule.allows.as_str()).collect::<Vec<_>>(), ["cargo test *"]);
    let revoke = Request::RevokePermission(request::RevokePermission { rule: rules[0].id.clone() });
    world.call(revoke).await.unwrap();
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_meanwhile_waits_and_can_be_changed_and_cancelled() {
    let mut world = World::new(waiting()).await;
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    let queued = |response: Response| match response {
        Response::Changed(sent) => sent.queued.unwrap(),
        other => panic!("{other:?}"),
    };
    let first = queued(world.send("next").await.unwrap());
    let second = queued(world.send("never").await.unwrap());
    let change = request::ChangeQueued { session: s(), queued: first, prompt: send("next, please").prompt };
    world.call(Request::ChangeQueued(change)).await.unwrap();
    let cancel = request::CancelQueued { session: s(), queued: second };
    world.call(Request::CancelQueued(cancel.clone())).await.unwrap();
    assert_eq!(world.call(Request::CancelQueued(cancel)).await.unwrap_err().code, ErrorCode::NotFound);
    world.agent.open_gate();
    world.agent.open_gate();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

/// an agent that cannot be reached leaves the session ready.
#[tokio::test(start_paused = true)]
async fn an_agent_that_cannot_be_reached_leaves_the_session_ready() {
    let mut world = World::new(ScriptedAgent::new()).await;
    *world.agent.refuses.lock().unwrap() = true;
    world.send("Hello").await.unwrap();
    world.until_ready().await;
    *world.agent.refuses.lock().unwrap() = false;
    world
        .call(Request::Retry(request::Retry { session: s(), at: "#1".into(), ..Default::default() }))
        .await
        .unwrap();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn a_crash_leaves_a_partial_reply_that_is_marked_interrupted() {
    let mut world = World::new(waiting()).await;
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    // The words are kept a moment after they were shown.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    world.crash().await;
    let view = world.view().await;
    assert_eq!(view.status.state, "ready");
    world.recover().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn what_is_in_the_way_of_a_turn_is_refused_unless_it_is_aborted_first() {
    let mut world = World::new(waiting()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    let refused = world.call(edit("#1", "uno", IfRunning::Wait)).await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
    world.call(edit("#1", "uno", IfRunning::AbortFirst)).await.unwrap();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

/// two turns of one session each write on their own branch.
#[tokio::test(start_paused = true)]
async fn a_second_turn_runs_beside_and_each_writes_below_its_own_prompt() {
    let mut world = World::new(waiting()).await;
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    let beside = request::Send { if_running: IfRunning::Beside, ..send("meanwhile") };
    world.call(Request::Send(beside)).await.unwrap();
    world.until_turn_ended().await;
    world.agent.open_gate();
    world.agent.open_gate();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

/// A held message waits for the next turn on its branch. A crash does not move it back to the turn before.
#[tokio::test(start_paused = true)]
async fn a_held_message_stays_behind_the_next_turn_after_a_crash() {
    let mut world = World::new(waiting()).await;
    let interrupt = || Request::Interrupt(request::Interrupt { session: s(), turn: None });
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    world.send("held").await.unwrap();
    world.call(interrupt()).await.unwrap();
    world.until_turn_ended().await;
    let first = world.view().await.queue[0].behind.clone();
    let beside = request::Send { if_running: IfRunning::Beside, ..send("wait") };
    world.call(Request::Send(beside)).await.unwrap();
    until_words(&mut world).await;
    world.call(interrupt()).await.unwrap();
    world.until_turn_ended().await;
    let queue = world.view().await.queue;
    assert_ne!(queue[0].behind, first);
    world.crash().await;
    assert_eq!(world.view().await.queue, queue);
}

/// a new branch gets an agent session that is told the conversation above it.
/// a branch without an agent session gets one with its next message.
/// an imported branch without an agent session gets one with its first message.
#[tokio::test(start_paused = true)]
async fn an_imported_branch_without_an_agent_session_gets_one_with_the_first_send() {
    let mut world = World::drawn(ScriptedAgent::new(), "u1 - a1 - u2 - a2\n     a1 - u3 - a3*").await;
    let moved = world.call(version("u3", request::Step::Previous)).await.unwrap();
    let Response::Changed(moved) = moved else { panic!("{moved:?}") };
    assert_eq!((moved.head.at.as_deref(), moved.agent_session), (Some("a2"), None));
    assert_eq!(world.view().await.branch.agent_session, None);
    assert!(world.agent.told().is_empty(), "looking reaches nobody");
    world.send("go on").await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    let bound: Vec<String> = tree.bindings().map(|(at, _)| tree.entry(at).unwrap().body.text()).collect();
    assert_eq!(bound, ["go on"]);
    let own = branch_session(&tree, tree.main_head()).map(|session| session.to_string());
    assert_eq!(own.as_deref(), Some("agent-1"));
    assert_eq!(world.view().await.branch.agent_session, own);
    // The other branch still has none.
    assert_eq!(branch_session(&tree, Some(&"a3".into())), None);
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn settings_names_steps_and_clearing() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let model = ModelView { provider: "p".into(), name: "m".into() };
    let configure =
        request::Configure { session: s(), model: Some(model.clone()), ..request::Configure::default() };
    world.call(Request::Configure(configure.clone())).await.unwrap();
    world.call(Request::Configure(configure)).await.unwrap();
    world
        .call(Request::Rename(request::Rename {
            session: s(),
            title: Some("A title".into()),
            ..Default::default()
        }))
        .await
        .unwrap();
    let label =
        request::Label { session: s(), at: "#1".into(), label: Some("good".into()), ..Default::default() };
    world.call(Request::Label(label)).await.unwrap();
    world.call(Request::Undo(history())).await.unwrap();
    world.call(Request::Redo(history())).await.unwrap();
    world.send("two").await.unwrap();
    world.until_ready().await;
    world
        .call(Request::Clear(request::Clear {
            session: s(),
            if_running: IfRunning::Wait,
            ..Default::default()
        }))
        .await
        .unwrap();
    let view = world.view().await;
    assert_eq!((view.model, view.branch.agent_session), (Some(model), None));
    world.send("three").await.unwrap();
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

/// conversation and files are rewound independently.
/// rename, fork and rewind exist, in whatever order they were built.
#[tokio::test(start_paused = true)]
async fn rewind_navigate_and_fork() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    world.send("two").await.unwrap();
    world.until_ready().await;
    let rewind = |dry_run| {
        Request::Rewind(request::Rewind {
            session: s(),
            to: "#2".into(),
            before: true,
            scope: request::RewindScope::Conversation,
            dry_run,
            if_running: IfRunning::Wait,
            ..Default::default()
        })
    };
    let first = world.tree().entries().next().unwrap().id.to_string();
    let preview = world.call(rewind(true)).await.unwrap();
    assert!(matches!(preview, Response::RewindPreview(ref preview) if preview.turns_left_behind == 1));
    let Response::Changed(moved) = world.call(rewind(false)).await.unwrap() else { panic!("not moved") };
    assert_eq!(moved.editor_text.as_deref(), Some("two"));
    let navigate = request::Navigate {
        session: s(),
        to: "#1".into(),
        summary: request::Summary::None,
        if_running: IfRunning::Wait,
        ..Default::default()
    };
    let Response::Changed(moved) = world.call(Request::Navigate(navigate)).await.unwrap() else {
        panic!("not moved")
    };
    assert_eq!((moved.head.at, moved.editor_text.as_deref()), (None, Some("one")));
    let fork = |to| {
        Request::Fork(request::Fork {
            session: s(),
            at: Some(first.clone().into()),
            to,
            ..Default::default()
        })
    };
    world.call(fork(request::ForkTo::Here)).await.unwrap();
    let Response::Changed(moved) = world.call(fork(request::ForkTo::NewSession)).await.unwrap() else {
        panic!("not moved")
    };
    assert_ne!(moved.continues_in(), "s");
    let opened = Request::Open(request::Open {
        session: moved.continues_in().to_owned(),
        turns: None,
        turn: None,
        at: None,
    });
    assert!(world.call(opened).await.is_ok());
    // To begin a session is a step of both: undone in one, it is gone in the other.
    let sessions = async |world: &World| match world.call(Request::List(request::List::default())).await {
        Ok(Response::Sessions { sessions }) => sessions.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(sessions(&world).await, 2);
    world.call(Request::Undo(history())).await.unwrap();
    assert_eq!(sessions(&world).await, 1);
    world.call(Request::Redo(history())).await.unwrap();
    assert_eq!(sessions(&world).await, 2);
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_vanishes_is_reached_again_and_given_up_when_it_stays_away() {
    let agent = ScriptedAgent::new().on("go", vec![Do::Say(AgentEventKind::text("m1", "I am ")), Do::Vanish]);
    let mut world = World::new(agent).await;
    world.send("go").await.unwrap();
    until_words(&mut world).await;
    // It takes up its session and is silent; that is not waited for for ever.
    world.until_ready().await;
    insta::assert_snapshot!(world.story());
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_was_left_alone_is_answered_on_request() {
    let mut world = World::drawn(ScriptedAgent::new(), "u1/turn7*").await;
    let resume = || Request::Resume(request::Resume { session: s(), ..Default::default() });
    world.call(resume()).await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    let said: Vec<String> =
        tree.path_to(tree.main_head()).into_iter().map(|entry| entry.body.text()).collect();
    assert_eq!(said, ["u1", "re: u1"]);
    assert_eq!(world.call(resume()).await.unwrap_err().code, ErrorCode::NothingToDo);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_settings_makes_a_session_of_its_own_where_that_is_wanted() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let configure = request::Configure {
        session: s(),
        thinking: Some("high".to_owned()),
        branching: Some(request::ConfigBranching::File),
        ..request::Configure::default()
    };
    let before = world.tree().main_head().cloned();
    let Response::Changed(moved) = world.call(Request::Configure(configure)).await.unwrap() else {
        panic!("not moved")
    };
    assert_eq!(world.tree().main_head().cloned(), before, "here nothing has changed");
    let child = world.shelf.open(&moved.continues_in().into()).unwrap().unwrap();
    let lineage = child.tree().header().unwrap().lineage.clone().unwrap();
    assert_eq!(lineage.parent, "s");
    assert_eq!(lineage.reason, Some(offshoot_session::BranchReason::ConfigChange));
    assert!(lineage.metadata.is_some());
    let open = request::Open { session: moved.continues_in().to_owned(), turns: None, turn: None, at: None };
    let Response::Session(view) = world.call(Request::Open(open)).await.unwrap() else {
        panic!("not opened")
    };
    assert_eq!(view.thinking, "high");
}

#[tokio::test(start_paused = true)]
async fn attachments_travel_with_an_edit_and_an_agent_is_chosen_with_a_send() {
    let mut world = World::new(ScriptedAgent::new()).await;
    let mut first = send("look at this");
    first.prompt.attachments = vec!["notes.md".to_owned()];
    world.call(Request::Send(first)).await.unwrap();
    world.until_ready().await;
    world.call(edit("#1", "look closer", IfRunning::Wait)).await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    let edited = tree.path_to(tree.main_head())[0].clone();
    let offshoot_session::Body::Prompt(prompt) = &edited.body else { panic!("{edited:?}") };
    assert_eq!(prompt.attachments, ["notes.md"]);
    // The same words with other files are something else.
    let with_files = |attachments: &[&str]| {
        let attachments = Some(attachments.iter().map(ToString::to_string).collect());
        let (at, text) = ("#1".to_owned(), "look closer".to_owned());
        Request::Edit(request::Edit { session: s(), at: at.into(), text, attachments, ..Default::default() })
    };
    assert_eq!(world.call(with_files(&["notes.md"])).await.unwrap_err().code, ErrorCode::SameText);
    world.call(with_files(&[])).await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    let edited = tree.path_to(tree.main_head())[0].clone();
    let offshoot_session::Body::Prompt(prompt) = &edited.body else { panic!("{edited:?}") };
    assert!(prompt.attachments.is_empty(), "{prompt:?}");
    let chosen =
        |agent: &str| Request::Send(request::Send { agent: Some(agent.to_owned()), ..send("go on") });
    assert_eq!(world.call(chosen("nobody")).await.unwrap_err().code, ErrorCode::NoAgent);
    // It is the agent in force already, so nothing is changed for it.
    world.call(chosen("scripted")).await.unwrap();
    world.until_ready().await;
    let tree = world.tree();
    assert!(!tree.entries().any(|entry| matches!(entry.body, offshoot_session::Body::Setting(_))));
}

/// an edit that is only written starts no agent session.
#[tokio::test(start_paused = true)]
async fn a_prompt_is_written_now_and_answered_later() {
    let mut world = World::new(ScriptedAgent::new()).await;
    world.send("one").await.unwrap();
    world.until_ready().await;
    let edit = request::Edit {
        session: s(),
        at: "#1".into(),
        text: "uno".to_owned(),
        only_write: true,
        ..Default::default()
    };
    let Response::Changed(sent) = world.call(Request::Edit(edit)).await.unwrap() else { panic!("not sent") };
    assert_eq!(sent.turn, None);
    assert_eq!(sent.version.map(|version| (version.index, version.total)), Some((2, 2)));
    let view = world.view().await;
    assert_eq!((view.branch.entries.len(), view.status.state.as_str()), (1, "ready"));
    world.call(Request::Resume(request::Resume { session: s(), ..Default::default() })).await.unwrap();
    world.until_ready().await;
    assert_eq!(world.view().await.branch.entries.len(), 2, "it is answered");
}

#[tokio::test(start_paused = true)]
async fn undo_takes_back_a_turn_that_runs_where_it_may_interrupt_it() {
    let mut world = World::new(waiting()).await;
    world.send("wait").await.unwrap();
    until_words(&mut world).await;
    let refused = world.call(Request::Undo(history())).await.unwrap_err();
    assert_eq!((refused.code, refused.hint), (ErrorCode::Running, Some(Hint::AbortFirst)));
    let undo = request::History { if_running: IfRunning::AbortFirst, ..history() };
    world.call(Request::Undo(undo)).await.unwrap();
    let view = world.view().await;
    assert_eq!((view.branch.entries.len(), view.status.state.as_str()), (0, "ready"));
}
