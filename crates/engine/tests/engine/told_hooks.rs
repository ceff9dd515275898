//! Every moment at which a hook is told or asked. Each test fails where that moment is passed by.

use std::path::PathBuf;
use std::time::Duration;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, ConfigBranching, ForkTo, IfRunning, Summary};
use offshoot_api::views::AnswerView;
use offshoot_api::{ErrorCode, Point, Request, Response};
use offshoot_engine::{Hook, HookEvent, Settings, Shelf};
use offshoot_session::Body;
use offshoot_session::compaction::CompactionSettings;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::ear::Ear;
use crate::hooks::{hook, shell};
use crate::scripted::{Do, SUMMARY, ScriptedAgent, whole};
use crate::summaries::{navigate, two_turns};
use crate::world::{World, send};

fn s() -> String {
    "s".to_owned()
}

fn settings(hooks: Vec<Hook>) -> Settings {
    let compaction = CompactionSettings { keep_recent_tokens: 1, ..CompactionSettings::default() };
    Settings { hooks, compaction, ..Settings::default() }
}

fn summarising() -> ScriptedAgent {
    ScriptedAgent::new().on(SUMMARY, vec![Do::Say(whole("Two was tried."))])
}

/// A session with two turns, whose only hook is the test.
async fn with_ear(agent: ScriptedAgent, events: &[HookEvent]) -> (World, Ear) {
    let ear = Ear::open().await;
    let world = two_turns(agent, settings(vec![hook("ear", events, ear.run())])).await;
    (world, ear)
}

fn compact() -> Request {
    let instructions = Some("the tests".to_owned());
    Request::Compact(request::Compact { session: s(), instructions, ..Default::default() })
}

fn fork_before(at: &str) -> Request {
    let (at, to) = (Some(at.into()), ForkTo::NewSession);
    Request::Fork(request::Fork { session: s(), at, to, before: true, ..Default::default() })
}

fn records(world: &World) -> usize {
    world.tree().log().count()
}

async fn until_head_moves(world: &mut World) {
    world.until(|kind| matches!(kind, EventKind::HeadMoved { .. })).await;
}

#[tokio::test]
async fn a_session_that_came_out_of_this_one_is_told() {
    let (world, mut ear) = with_ear(ScriptedAgent::new(), &[HookEvent::SessionBranch]).await;
    let forked = world.call(fork_before("#2")).await.unwrap();
    let Response::Changed(moved) = forked else { panic!("{forked:?}") };
    let told = ear.hear("session_branch").await.what;
    let expected = json!({ "type": "session_branch", "session": "s", "previousSession": "s", "newSession": moved.continues_in() });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_change_of_settings_in_a_session_of_its_own_can_be_called_off() {
    let (world, mut ear) = with_ear(ScriptedAgent::new(), &[HookEvent::SessionBeforeBranch]).await;
    let before = records(&world);
    let configure = Request::Configure(request::Configure {
        session: s(),
        thinking: Some("high".to_owned()),
        branching: Some(ConfigBranching::File),
        ..Default::default()
    });
    let asked = async {
        let told = ear.next().await;
        assert_eq!(told.what["entryId"], json!(world.tree().main_head().unwrap().as_str()));
        told.answer(&json!({ "cancel": true, "reason": "stay" }));
    };
    let (refused, ()) = tokio::join!(world.call(configure), asked);
    assert_eq!(refused.unwrap_err().message, "stay");
    assert_eq!(records(&world), before);
}

#[tokio::test]
async fn compaction_is_called_off_or_written_by_a_hook() {
    let (world, mut ear) = with_ear(summarising(), &[HookEvent::SessionBeforeCompact]).await;
    let before = records(&world);
    let no = async {
        let told = ear.next().await;
        let preparation = &told.what["preparation"];
        assert_eq!(told.what["customInstructions"], "the tests");
        assert!(preparation["tokensBefore"].as_i64().unwrap() > 0, "{preparation}");
        assert!(preparation["firstKeptEntryId"].is_string() && preparation["isSplitTurn"].is_boolean());
        assert!(!preparation["entriesToSummarize"].as_array().unwrap().is_empty());
        told.answer(&json!({ "cancel": true }));
    };
    let (refused, ()) = tokio::join!(world.call(compact()), no);
    let refused = refused.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::Cancelled, "hook `ear` said no"));
    assert_eq!(records(&world), before);

    let supplied = json!({ "summary": { "summary": "From outside.", "details": { "runs": 3 } } });
    let writes = async { ear.next().await.answer(&supplied) };
    let (done, ()) = tokio::join!(world.call(compact()), writes);
    done.unwrap();
    let tree = world.tree();
    let Body::Compaction(kept) = &tree.entry(tree.main_head().unwrap()).unwrap().body else { panic!("none") };
    assert_eq!((kept.from_extension, &kept.details), (true, &Some(json!({ "runs": 3 }))));
    assert!(kept.summary.contains("From outside."), "{}", kept.summary);
    assert!(world.agent.told().is_empty(), "no model was asked");
}

/// hooks are asked and told about branches and compactions.
#[tokio::test]
async fn a_compaction_is_told_when_it_begins_and_when_it_is_done() {
    let events = [HookEvent::SessionCompacting, HookEvent::SessionCompact];
    let (world, mut ear) = with_ear(summarising(), &events).await;
    let compacting = async {
        world.call(compact()).await.unwrap();
        world.tree().main_head().unwrap().clone()
    };
    let heard = async {
        let begins = ear.hear("session_compacting").await.what;
        let done = ear.hear("session_compact").await.what;
        (begins, done)
    };
    let (entry, (begins, done)) = tokio::join!(compacting, heard);
    assert_eq!(begins["customInstructions"], "the tests");
    assert_eq!(done["compactionEntry"]["id"], entry.as_str());
    assert_eq!(done["fromExtension"], false);
}

/// Whatever would be said is asked about: said, said otherwise, said again, or written before. Queued messages are asked about
/// when they are about to be sent: see `keeping_place`.
#[tokio::test]
async fn whatever_would_be_said_can_be_called_off() {
    let agent = ScriptedAgent::new().on("wait", vec![Do::Gate]);
    let ear = Ear::open().await;
    let mut world = World::set(agent, settings(vec![hook("ear", &[HookEvent::BeforeSend], ear.run())])).await;
    let mut ear = ear;
    let yes = async |ear: &mut Ear| ear.next().await.answer(&json!({}));
    let (sent, ()) = tokio::join!(world.send("one"), yes(&mut ear));
    sent.unwrap();
    world.until_turn_ended().await;
    let one = world.tree().entries().next().unwrap().id.to_string();
    let only_write = request::Edit {
        session: s(),
        at: one.clone().into(),
        text: "unsaid".to_owned(),
        only_write: true,
        ..Default::default()
    };
    world.call(Request::Edit(only_write)).await.unwrap();
    let (sent, ()) = tokio::join!(
        world.call(Request::Send(request::Send { at: Some(one.clone().into()), ..send("wait") })),
        yes(&mut ear)
    );
    sent.unwrap();
    world.until(|kind| matches!(kind, EventKind::Bound { .. })).await;

    let text = || "other".to_owned();
    let unsaid = world.tree().entries().find(|entry| entry.body.text() == "unsaid").unwrap().id.to_string();
    let beside = IfRunning::Beside;
    let requests: Vec<(Request, Value)> = vec![
        (Request::Send(request::Send { if_running: beside, ..send("other") }), json!("other")),
        (
            Request::Edit(request::Edit {
                session: s(),
                at: one.clone().into(),
                text: text(),
                if_running: beside,
                ..Default::default()
            }),
            json!("other"),
        ),
        (
            Request::Retry(request::Retry {
                session: s(),
                at: one.into(),
                if_running: beside,
                ..Default::default()
            }),
            json!("one"),
        ),
        (
            Request::Resume(request::Resume { session: s(), at: Some(unsaid.into()), client_id: None }),
            json!("unsaid"),
        ),
    ];
    for (request, words) in requests {
        let before = records(&world);
        let name = format!("{request:?}");
        let no = async {
            let told = ear.next().await;
            assert_eq!(told.what["text"], words, "{name}");
            told.answer(&json!({ "cancel": true, "reason": "hush" }));
        };
        let asked =
            tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(world.call(request), no) });
        let (refused, ()) = asked.await.unwrap_or_else(|_| panic!("nobody was asked: {name}"));
        assert_eq!(refused.unwrap_err().message, "hush", "{name}");
        assert_eq!(records(&world), before, "{name}");
    }
}

#[tokio::test]
async fn the_end_of_a_turn_is_told() {
    let (world, mut ear) = with_ear(ScriptedAgent::new(), &[HookEvent::TurnEnded]).await;
    let Response::Changed(sent) = world.send("three").await.unwrap() else { panic!("not sent") };
    let prompt = sent.prompt.unwrap();
    let told = loop {
        let told = ear.hear("turn_ended").await.what;
        if told["prompt"] == prompt.as_str() {
            break told;
        }
    };
    let expected = json!({
        "type": "turn_ended",
        "session": "s",
        "turn": sent.turn,
        "prompt": prompt,
        "end": { "how": "done" },
    });
    assert_eq!(told, expected);
}

#[tokio::test]
async fn what_waits_for_a_person_and_every_change_of_state_is_told() {
    let agent = ScriptedAgent::new().on("ask", vec![Do::AskToRun("ls"), Do::Say(whole("done"))]);
    let events = [HookEvent::PromptWaiting, HookEvent::StatusChanged];
    let ear = Ear::open().await;
    let mut world = World::set(agent, settings(vec![hook("ear", &events, ear.run())])).await;
    let mut ear = ear;
    world.send("ask").await.unwrap();
    world.until(|kind| matches!(kind, EventKind::Asked { .. })).await;
    let ask = world.view().await.asks.remove(0);
    // The hook is slow: it is being told the first state while the next ones come.
    let first = ear.next().await;
    assert_eq!(first.what["status"]["state"], "starting");
    first.answer(&json!({}));
    let mut states = Vec::new();
    let asked = loop {
        let told = ear.next().await.what;
        match told["type"].as_str() {
            Some("prompt_waiting") => break told,
            Some("status_changed") => states.push(told["status"]["state"].clone()),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(asked["ask"], serde_json::to_value(&ask).unwrap());
    let answer = AnswerView::Deny { message: None };
    world.call(Request::Answer(request::Answer { session: s(), ask: ask.id, answer })).await.unwrap();
    while states.last() != Some(&json!("ready")) {
        states.push(ear.hear("status_changed").await.what["status"]["state"].clone());
    }
    // Some may be passed by where another one follows at once; none comes before one that was earlier.
    let mut all = ["running", "waiting", "running", "ready"].into_iter();
    assert!(states.iter().all(|state| all.any(|known| state == known)), "{states:?}");
}

/// A lamp that is slow to be switched on is not left on.
#[tokio::test]
async fn the_last_state_is_told_last() {
    let events = [HookEvent::StatusChanged];
    let mut ear = Ear::open().await;
    let mut world = World::set(ScriptedAgent::new(), settings(vec![hook("ear", &events, ear.run())])).await;
    world.send("one").await.unwrap();
    let first = ear.next().await;
    world.until_ready().await;
    assert_eq!(first.what["status"]["state"], "starting");
    first.answer(&json!({}));
    let last = ear.next().await;
    assert_eq!(last.what["status"]["state"], "ready", "what was over meanwhile is not told");
    last.answer(&json!({}));
    world.engine.shut_down().await;
    assert!(ear.has_heard_all(), "nothing comes behind it");
}

/// One turn runs, one has been told to stop and has not stopped yet. All hear of both ends before the session is closed.
#[tokio::test]
async fn a_turn_that_is_cut_off_by_closing_the_session_is_told_once() {
    let waits = || vec![Do::Say(offshoot_session::agent::AgentEventKind::text("m", "Let me ")), Do::Gate];
    let deaf = || vec![Do::Say(offshoot_session::agent::AgentEventKind::text("m", "Let me ")), Do::Deaf];
    let agent = ScriptedAgent::new().on("runs", waits()).on("stops", deaf());
    let mut ear = Ear::open().await;
    let mut world = World::set(agent, settings(vec![hook("ear", &[HookEvent::TurnEnded], ear.run())])).await;
    let mut turns = Vec::new();
    for text in ["stops", "runs"] {
        let beside = request::Send { if_running: IfRunning::Beside, ..send(text) };
        let Response::Changed(sent) = world.call(Request::Send(beside)).await.unwrap() else {
            panic!("not sent")
        };
        turns.push(sent.turn.expect("it runs"));
        world.until(|kind| matches!(kind, EventKind::Live { .. })).await;
    }
    let interrupt = request::Interrupt { session: s(), turn: turns.first().cloned() };
    world.call(Request::Interrupt(interrupt)).await.unwrap();
    let hears = async {
        let mut told = Vec::new();
        for _ in 0..2 {
            let ended = ear.next().await;
            assert_eq!(ended.what["end"], json!({ "how": "interrupted" }), "{}", ended.what);
            told.push(ended.what["turn"].as_str().unwrap().to_owned());
            ended.answer(&json!({}));
        }
        told
    };
    let (mut told, ()) = tokio::join!(hears, world.engine.close("s"));
    told.sort();
    assert_eq!(told, turns);
    assert!(ear.has_heard_all(), "each once");
    world.until(|kind| matches!(kind, EventKind::Closed)).await;
    for turn in &turns {
        let ends =
            world.log.iter().filter(|line| line.starts_with(turn.as_str()) && line.contains("turn_ended"));
        assert_eq!(ends.count(), 1, "{turn}: {:?}", world.log);
    }
    let tree = world.tree();
    assert!(turns.iter().all(|turn| tree.turn_ended(&turn.as_str().into())));
}

/// A hook that answers its own event is heard once.
#[tokio::test]
async fn a_hook_that_answers_what_it_wanted_is_told_so() {
    let (mut world, mut ear) = with_ear(ScriptedAgent::new(), &[HookEvent::SessionBranch]).await;
    let wish = json!({ "requests": [{ "type": "branch", "entryId": "#2" }] });
    world.call(fork_before("#2")).await.unwrap();
    ear.next().await.answer(&wish);
    ear.next().await.answer(&wish);
    world.until(|kind| matches!(kind, EventKind::HookFailed { .. })).await;
    assert!(world.log.last().unwrap().contains("it answers what a hook has wanted"), "{:?}", world.log);
    world.engine.shut_down().await;
    assert!(ear.has_heard_all());
    assert_eq!(world.shelf.list().unwrap().len(), 3, "this one, its fork, and the one that the hook wants");
}

/// Also where a state lies between: the summary that it wants is a change of state.
#[tokio::test]
async fn two_places_that_a_hook_goes_to_in_turn_are_left_once() {
    let events = [HookEvent::SessionTree, HookEvent::StatusChanged];
    let (mut world, mut ear) = with_ear(summarising(), &[]).await;
    world.reopen(settings(vec![hook("ear", &events, ear.run())])).await;
    let ids: Vec<String> = world.tree().entries().map(|entry| entry.id.to_string()).collect();
    world.call(navigate(&ids[1], Summary::None)).await.unwrap();
    let mut told = 0;
    let failed = |kind: &EventKind| matches!(kind, EventKind::HookFailed { .. });
    let answering = async {
        loop {
            let to = &ids[if told % 2 == 0 { 3 } else { 1 }];
            told += 1;
            let wish = json!({ "type": "navigate_tree", "targetId": to, "summarize": true });
            ear.next().await.answer(&json!({ "requests": [wish] }));
        }
    };
    tokio::select! {
        () = answering => {}
        () = async { world.until(failed).await; world.engine.shut_down().await } => {}
    }
    assert!(told <= 5, "{told}");
}

/// What is told at the end is told, and what hooks want then is done.
#[tokio::test]
async fn what_hooks_are_told_at_the_end_is_told_and_what_they_want_is_done() {
    let (world, mut ear) = with_ear(ScriptedAgent::new(), &[]).await;
    let mut world = world;
    world.reopen(settings(vec![hook("ear", &[HookEvent::TurnEnded], ear.run())])).await;
    world.send("three").await.unwrap();
    world.until_turn_ended().await;
    let wish = json!({ "requests": [{ "type": "branch", "entryId": "#2" }] });
    let answering = async { ear.hear("turn_ended").await.answer(&wish) };
    tokio::join!(world.engine.shut_down(), answering);
    assert_eq!(world.shelf.list().unwrap().len(), 2, "the session that the hook wants is there");
    world.until(|kind| matches!(kind, EventKind::Closed)).await;
}

/// What takes an agent cannot be done any more: that is reported.
#[tokio::test]
async fn what_hooks_want_at_the_end_and_cannot_have_is_reported() {
    let (mut world, mut ear) = with_ear(summarising(), &[]).await;
    world.reopen(settings(vec![hook("ear", &[HookEvent::TurnEnded], ear.run())])).await;
    world.send("three").await.unwrap();
    world.until_turn_ended().await;
    let wish = json!({ "type": "navigate_tree", "targetId": "#1", "summarize": true });
    let answering = async { ear.hear("turn_ended").await.answer(&json!({ "requests": [wish] })) };
    tokio::join!(world.engine.shut_down(), answering);
    world.until(|kind| matches!(kind, EventKind::HookFailed { .. })).await;
    assert!(world.log.last().unwrap().contains("the session was closed"), "{:?}", world.log);
}

/// a hook can branch and go to another entry.
/// What a hook wants is done when the request it was asked about is done, not before.
#[tokio::test]
async fn what_a_hook_wants_is_done_afterwards() {
    let (mut world, mut ear) = with_ear(summarising(), &[HookEvent::SessionBeforeTree]).await;
    let ids: Vec<String> = world.tree().entries().map(|entry| entry.id.to_string()).collect();
    let wish = json!({ "requests": [{ "type": "navigate_tree", "targetId": ids[3], "summarize": false }] });
    let wishes = async { ear.next().await.answer(&wish) };
    let (moved, ()) = tokio::join!(world.call(navigate(&ids[1], Summary::None)), wishes);
    let Response::Changed(moved) = moved.unwrap() else { panic!("not moved") };
    assert_eq!(moved.head.at.as_deref(), Some(ids[1].as_str()), "what was asked for");
    until_head_moves(&mut world).await;
    until_head_moves(&mut world).await;
    assert_eq!(
        world.tree().main_head().map(|head| head.as_str()),
        Some(ids[3].as_str()),
        "what the hook wants"
    );
}

#[tokio::test]
async fn what_a_hook_wants_and_is_refused_is_reported_under_its_name() {
    let (mut world, mut ear) = with_ear(ScriptedAgent::new(), &[HookEvent::TurnEnded]).await;
    let wish = json!({ "requests": [{ "type": "branch", "entryId": "nowhere" }] });
    world.send("three").await.unwrap();
    let answering = async {
        loop {
            ear.next().await.answer(&wish);
        }
    };
    let failed = |kind: &EventKind| matches!(kind, EventKind::HookFailed { hook, message } if hook == "ear" && message.contains("refused"));
    tokio::select! {
        () = world.until(failed) => {}
        () = answering => {}
    }
}

/// Every way to leave the second turn without asking for a summary.
fn ways_to_the_first_turn() -> Vec<Request> {
    let to = || Some(Point::from("#1"));
    vec![
        Request::Switch(request::Switch { session: s(), to: to(), ..Default::default() }),
        Request::Rewind(request::Rewind { session: s(), to: "#1".into(), ..Default::default() }),
        Request::Fork(request::Fork { session: s(), at: to(), ..Default::default() }),
        navigate("#2", Summary::None),
    ]
}

/// The summary below the new place, if one was written.
fn summary_at_head(world: &World) -> Option<String> {
    let tree = world.tree();
    match &tree.entry(tree.main_head()?)?.body {
        Body::BranchSummary(summary) => Some(summary.summary.clone()),
        _ => None,
    }
}

/// a hook's summary replaces the one that was asked for. `switch`, `rewind` and `fork` ignored it even if the hook
/// meant it, and `navigate` wrote it uninvited.
#[tokio::test]
async fn a_summary_nobody_asked_for_is_written_only_if_its_hook_insists() {
    for (always, written) in [(false, None), (true, Some("From outside.".to_owned()))] {
        for request in ways_to_the_first_turn() {
            let name = format!("{request:?}");
            let (world, mut ear) =
                with_ear(summarising(), &[HookEvent::SessionBeforeTree, HookEvent::SessionTree]).await;
            let answer = json!({ "summary": { "summary": "From outside.", "always": always } });
            let writes = async {
                let told = ear.hear("session_before_tree").await;
                assert_eq!(told.what["preparation"]["userWantsSummary"], false, "{name}");
                told.answer(&answer);
                ear.hear("session_tree").await.what
            };
            let (moved, told) = tokio::join!(world.call(request), writes);
            moved.unwrap();
            assert_eq!(summary_at_head(&world), written, "{name}");
            assert_eq!(told["fromExtension"], always, "{name}");
            assert_eq!(told["summaryEntry"].is_object(), always, "{name}");
        }
    }
}

/// the step is another one with the summary of a hook, and the request that is sent twice is recognised all the same.
#[tokio::test]
async fn a_move_with_an_insisted_summary_is_made_once() {
    for request in ways_to_the_first_turn() {
        let (name, client_id) = (format!("{request:?}"), Some("client-id-1".to_owned()));
        let request = match request {
            Request::Switch(switch) => Request::Switch(request::Switch { client_id, ..switch }),
            Request::Rewind(rewind) => Request::Rewind(request::Rewind { client_id, ..rewind }),
            Request::Fork(fork) => Request::Fork(request::Fork { client_id, ..fork }),
            Request::Navigate(navigate) => Request::Navigate(request::Navigate { client_id, ..navigate }),
            other => panic!("{other:?}"),
        };
        let (world, mut ear) = with_ear(summarising(), &[HookEvent::SessionBeforeTree]).await;
        let answer = json!({ "summary": { "summary": "From outside.", "always": true } });
        let writes = async { ear.next().await.answer(&answer) };
        let (moved, ()) = tokio::join!(world.call(request.clone()), writes);
        moved.unwrap();
        let before = records(&world);
        let again = world.call(request).await.unwrap();
        let Response::Changed(again) = again else { panic!("{again:?}") };
        assert!(again.repeated, "{name}");
        assert_eq!(records(&world), before, "{name}");
    }
}

/// an opinion about a summary that nobody asked for does not hold up the move if the head has moved meanwhile.
#[tokio::test]
async fn an_ignored_summary_for_another_head_is_no_reason_to_refuse() {
    let (world, mut ear) = with_ear(summarising(), &[HookEvent::SessionBeforeTree]).await;
    let ids: Vec<String> = world.tree().entries().map(|entry| entry.id.to_string()).collect();
    let to = |id: &String| Some(Point::Entry { entry: id.clone() });
    let switch =
        |id: &String| Request::Switch(request::Switch { session: s(), to: to(id), ..Default::default() });
    let meanwhile = async {
        let told = ear.next().await;
        let agreeing = async { ear.next().await.answer(&json!({})) };
        let (switched, ()) = tokio::join!(world.call(switch(&ids[0])), agreeing);
        switched.unwrap();
        told.answer(&json!({ "summary": { "summary": "Of another branch." } }));
    };
    let (moved, ()) = tokio::join!(world.call(switch(&ids[1])), meanwhile);
    moved.unwrap();
    assert_eq!(world.tree().main_head().map(|head| head.as_str()), Some(ids[1].as_str()));
}

/// While the hook writes, the conversation goes on: what it wrote is about something else by then.
#[tokio::test]
async fn a_summary_for_a_head_that_has_moved_is_not_used() {
    let (world, mut ear) = with_ear(summarising(), &[HookEvent::SessionBeforeTree]).await;
    let ids: Vec<String> = world.tree().entries().map(|entry| entry.id.to_string()).collect();
    let first = ids[0].clone();
    let meanwhile = async {
        let told = ear.next().await;
        let to = Some(Point::Entry { entry: first.clone() });
        let switch = Request::Switch(request::Switch { session: s(), to, ..Default::default() });
        let agreeing = async { ear.next().await.answer(&json!({})) };
        let (switched, ()) = tokio::join!(world.call(switch), agreeing);
        switched.unwrap();
        told.answer(&json!({ "summary": { "summary": "Of another branch." } }));
    };
    let (refused, ()) = tokio::join!(world.call(navigate(&ids[2], Summary::Default)), meanwhile);
    assert_eq!(refused.unwrap_err().code, ErrorCode::Cancelled);
    let tree = world.tree();
    assert_eq!(tree.main_head().map(|head| head.as_str()), Some(first.as_str()));
    assert!(!tree.entries().any(|entry| matches!(entry.body, Body::BranchSummary(_))));
}

async fn read_when_there(path: &std::path::Path) -> String {
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

/// One that has ended may still have its name until somebody asks how it ended.
fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

async fn until_dead(process: &str) {
    let ended = async {
        while is_alive(process) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it is still there");
}

/// A hook that takes its time, and where it says which process it is.
fn slow(event: HookEvent, folder: &TempDir) -> (Hook, PathBuf) {
    let process = folder.path().join("process");
    let script = format!("sleep 1000 & echo $! > '{0}.new' && mv '{0}.new' '{0}'; wait", process.display());
    let mut slow = hook("slow", &[event], shell(&script));
    slow.limit = Duration::from_secs(100);
    (slow, process)
}

/// Everything that hooks are asked about.
fn asked_about() -> Vec<(HookEvent, Request)> {
    let to = Some("#1".to_owned());
    let rewind = request::Rewind {
        session: s(),
        to: "#2".into(),
        before: true,
        scope: request::RewindScope::Conversation,
        dry_run: false,
        if_running: IfRunning::Wait,
        ..Default::default()
    };
    let configure = request::Configure {
        session: s(),
        thinking: Some("high".to_owned()),
        branching: Some(ConfigBranching::File),
        ..Default::default()
    };
    let edit =
        request::Edit { session: s(), at: "#2".into(), text: "other".to_owned(), ..Default::default() };
    vec![
        (HookEvent::SessionBeforeTree, navigate("#2", Summary::Default)),
        (
            HookEvent::SessionBeforeTree,
            Request::Switch(request::Switch { session: s(), to: to.map(Into::into), ..Default::default() }),
        ),
        (HookEvent::SessionBeforeTree, Request::Rewind(rewind)),
        (HookEvent::SessionBeforeBranch, fork_before("#2")),
        (HookEvent::SessionBeforeBranch, Request::Configure(configure)),
        (HookEvent::SessionBeforeCompact, compact()),
        (HookEvent::BeforeSend, Request::Send(send("three"))),
        (HookEvent::BeforeSend, Request::Edit(edit)),
    ]
}

/// Two turns that were said before anybody had a hook.
async fn two_turns_and_then(hook: Hook) -> World {
    let mut world = two_turns(summarising(), settings(Vec::new())).await;
    world.reopen(settings(vec![hook])).await;
    world
}

/// Whatever a hook is asked about can be called off meanwhile, and the hook hears of it: it is ended.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn giving_up_ends_the_hook_that_is_asked() {
    for (event, request) in asked_about() {
        let folder = TempDir::new().unwrap();
        let (slow, process) = slow(event, &folder);
        let world = two_turns_and_then(slow).await;
        let before = records(&world);
        let cancel = async {
            let process = read_when_there(&process).await;
            assert!(is_alive(&process));
            let session = request::Session { session: s() };
            world.call(Request::CancelSummary(session)).await.unwrap();
            process
        };
        let name = format!("{request:?}");
        let (refused, process) = tokio::join!(world.call(request), cancel);
        assert_eq!(refused.unwrap_err().code, ErrorCode::Cancelled, "{name}");
        assert_eq!(records(&world), before, "{name}");
        until_dead(&process).await;
    }
}

/// Two who ask at once: what one calls off, or leaves, is not the other's.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn nobody_calls_off_what_somebody_else_has_asked_for() {
    let cancel = || Request::CancelSummary(request::Session { session: s() });
    let folder = TempDir::new().unwrap();
    let (slow, process) = slow(HookEvent::SessionBeforeTree, &folder);
    let world = two_turns_and_then(slow).await;
    let before = records(&world);
    let mut mine = std::pin::pin!(world.call(navigate("#1", Summary::None)));
    let own = tokio::select! {
        answer = &mut mine => panic!("{answer:?}"),
        process = read_when_there(&process) => process,
    };
    std::fs::remove_file(&process).unwrap();
    assert_eq!(world.call_by_another(cancel()).await.unwrap_err().code, ErrorCode::NothingToDo);
    let theirs = tokio::select! {
        answer = world.call_by_another(navigate("#2", Summary::None)) => panic!("{answer:?}"),
        answer = &mut mine => panic!("{answer:?}"),
        process = read_when_there(&process) => process,
    };
    until_dead(&theirs).await;
    assert!(is_alive(&own), "whoever left has ended nobody's but its own");
    let (answer, called_off) = tokio::join!(mine, world.call(cancel()));
    assert_eq!((answer.unwrap_err().code, called_off.is_ok()), (ErrorCode::Cancelled, true));
    until_dead(&own).await;
    assert_eq!(records(&world), before);
}

/// Whoever goes away has given it up: the hook is ended, and what it was asked about is not done later.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_caller_that_goes_away_ends_the_hook_that_is_asked() {
    for (event, request) in asked_about() {
        let folder = TempDir::new().unwrap();
        let (slow, process) = slow(event, &folder);
        let world = two_turns_and_then(slow).await;
        let before = records(&world);
        let name = format!("{request:?}");
        let process = tokio::select! {
            answer = world.call(request) => panic!("{name}: {answer:?}"),
            process = read_when_there(&process) => process,
        };
        until_dead(&process).await;
        let nobody = world.call(Request::CancelSummary(request::Session { session: s() })).await;
        assert_eq!(nobody.unwrap_err().code, ErrorCode::NothingToDo, "{name}");
        assert_eq!(records(&world), before, "{name}");
    }
}

/// A program may end and leave another one behind that holds its output open. Nobody waits for that one.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_hook_leaves_running_is_ended_with_it() {
    let folder = TempDir::new().unwrap();
    let process = folder.path().join("process");
    let script = format!(
        "cat > /dev/null; sleep 1000 & echo $! > '{}'; echo '{{\"cancel\":true,\"reason\":\"heard\"}}'",
        process.display()
    );
    let mut leaves = hook("leaves", &[HookEvent::SessionBeforeTree], shell(&script));
    leaves.limit = Duration::from_secs(100);
    let world = two_turns(ScriptedAgent::new(), settings(vec![leaves])).await;
    let refused = world.call(navigate("#2", Summary::None)).await.unwrap_err();
    assert_eq!(refused.message, "heard");
    until_dead(&read_when_there(&process).await).await;
}
