//! Programs and endpoints that are told what happens. Time is real here: programs take theirs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, ConfigBranching, ForkTo, Summary};
use offshoot_api::views::ModelView;
use offshoot_api::{ErrorCode, Request, Response};
use offshoot_engine::{Hook, HookEvent, Run, Settings, Shelf};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::scripted::ScriptedAgent;
use crate::summaries::{navigate, two_turns};
use crate::world::{World, send};

pub(crate) fn hook(name: &str, events: &[HookEvent], run: Run) -> Hook {
    Hook { name: name.to_owned(), events: events.to_vec(), run, limit: Duration::from_secs(20) }
}

pub(crate) fn shell(script: &str) -> Run {
    Run::Program { program: PathBuf::from("/bin/sh"), arguments: vec!["-c".to_owned(), script.to_owned()] }
}

/// Keeps what it is told in a file, and answers.
fn keeping(folder: &Path, answer: &str) -> Run {
    let kept = folder.join("told");
    shell(&format!("cat > '{0}.new' && mv '{0}.new' '{0}' && printf '%s' '{answer}'", kept.display()))
}

fn told(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("told")).unwrap()).unwrap()
}

async fn with_hooks(hooks: Vec<Hook>) -> World {
    two_turns(ScriptedAgent::new(), Settings { hooks, ..Settings::default() }).await
}

/// R-172: before a move a hook is told what would happen; it can cancel or write the summary.
#[tokio::test]
async fn a_hook_is_told_what_would_happen_and_calls_it_off() {
    let folder = TempDir::new().unwrap();
    let answer = r#"{"cancel":true,"reason":"not now"}"#;
    let world =
        with_hooks(vec![hook("no", &[HookEvent::SessionBeforeTree], keeping(folder.path(), answer))]).await;
    let before = world.tree().log().count();
    let refused = world.call(navigate("#2", Summary::None)).await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::Cancelled, "not now"));
    assert_eq!(world.tree().log().count(), before);
    let tree = world.tree();
    let ids: Vec<&str> = tree.entries().map(|entry| entry.id.as_str()).collect();
    let mut told = told(folder.path());
    let entries = told["preparation"]["entriesToSummarize"].take();
    let left: Vec<&str> =
        entries.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    assert_eq!(left, ids[3..]);
    let expected = json!({
        "type": "session_before_tree",
        "session": "s",
        "preparation": {
            "targetId": ids[2],
            "oldLeafId": ids[3],
            "commonAncestorId": ids[2],
            "entriesToSummarize": null,
            "userWantsSummary": false,
        },
    });
    assert_eq!(told, expected);
}

/// R-069: hooks are asked before a move, then the summary is written, then the head moves, then hooks are told.
/// R-173: after a move hooks are told both places and the summary.
#[tokio::test]
async fn a_hook_supplies_the_summary_and_another_hears_of_it() {
    let folder = TempDir::new().unwrap();
    let answer = r#"{"summary":{"summary":"From outside.","details":{"files":2}}}"#;
    let mut world = with_hooks(vec![
        hook("writes", &[HookEvent::SessionBeforeTree], shell(&format!("cat > /dev/null; echo '{answer}'"))),
        hook("hears", &[HookEvent::SessionTree], keeping(folder.path(), "")),
    ])
    .await;
    let old = world.tree().main_head().unwrap().to_string();
    world.call(navigate("#2", Summary::Default)).await.unwrap();
    let summary = world.tree().main_head().unwrap().clone();
    while !folder.path().join("told").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let mut told = told(folder.path());
    let entry = told["summaryEntry"].take();
    assert_eq!(
        (&entry["id"], &entry["summary"], &entry["from_extension"]),
        (&json!(summary.as_str()), &json!("From outside."), &json!(true)),
    );
    let expected = json!({
        "type": "session_tree",
        "session": "s",
        "newLeafId": summary.as_str(),
        "oldLeafId": old,
        "fromExtension": true,
        "summaryEntry": null,
    });
    assert_eq!(told, expected);
    let tree = world.tree();
    let offshoot_session::Body::BranchSummary(kept) = &tree.entry(&summary).unwrap().body else {
        panic!("no summary")
    };
    assert_eq!((&kept.details, kept.from_extension), (&Some(json!({ "files": 2 })), true));
    assert!(world.agent.told().is_empty(), "no model was asked");
    world.until(|kind| matches!(kind, EventKind::HeadMoved { .. })).await;
}

#[tokio::test]
async fn hooks_that_hang_crash_or_talk_nonsense_are_reported_and_stop_nobody() {
    let event = [HookEvent::SessionBeforeTree];
    let mut hanging = hook("hangs", &event, shell("sleep 1000"));
    hanging.limit = Duration::from_millis(50);
    let missing = Run::Program { program: PathBuf::from("/nowhere/at/all"), arguments: Vec::new() };
    let mut world = with_hooks(vec![
        hanging,
        hook("crashes", &event, shell("exit 3")),
        hook("babbles", &event, shell("echo hello")),
        hook("missing", &event, missing),
        hook("unreachable", &event, Run::Http { url: "https://example.invalid".to_owned() }),
    ])
    .await;
    let moved = world.call(navigate("#2", Summary::None)).await;
    assert!(matches!(moved, Ok(Response::Changed(_))), "{moved:?}");
    world.until(|kind| matches!(kind, EventKind::HeadMoved { .. })).await;
    let failed: Vec<&str> = world
        .log
        .iter()
        .filter_map(|line| line.strip_prefix(r#"{"type":"hook_failed","hook":""#)?.split('"').next())
        .collect();
    assert_eq!(failed, ["hangs", "crashes", "babbles", "missing", "unreachable"]);
}

#[tokio::test]
async fn an_endpoint_is_asked_and_what_it_wants_is_done() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let world = with_hooks(vec![hook("wishes", &[HookEvent::SessionBeforeTree], Run::Http { url })]).await;
    let target = world.tree().entries().filter(|entry| entry.body.is_prompt()).nth(1).unwrap().id.to_string();
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(b"}") {
            let mut bytes = [0; 1024];
            let read = stream.read(&mut bytes).await.unwrap();
            asked.extend_from_slice(&bytes[..read]);
        }
        let body = json!({ "requests": [{ "type": "branch", "entryId": target }] }).to_string();
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.unwrap();
        String::from_utf8(asked).unwrap()
    });
    world.call(navigate("#2", Summary::None)).await.unwrap();
    let asked = served.await.unwrap();
    assert!(asked.starts_with("POST /hook HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains(r#"{"type":"session_before_tree","session":"s","preparation":{"#), "{asked}");
    // A session of its own was begun, as the hook wanted.
    loop {
        let Response::Sessions { sessions } =
            world.call(Request::List(request::List::default())).await.unwrap()
        else {
            panic!("no list")
        };
        if sessions.len() == 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A message that begins a session is asked about as a message and as a session; whichever hook says no, none begins.
#[tokio::test]
async fn a_message_that_would_begin_a_session_can_be_called_off() {
    let (no, yes) = (shell(r#"cat > /dev/null; echo '{"cancel":true}'"#), shell("cat > /dev/null"));
    for (message, session) in [(no.clone(), yes.clone()), (yes, no)] {
        let hooks = vec![
            hook("message", &[HookEvent::BeforeSend], message),
            hook("session", &[HookEvent::SessionBeforeBranch], session),
        ];
        let settings = Settings { hooks, ..Settings::default() };
        let world = World::set(ScriptedAgent::new(), settings).await;
        let model = Some(ModelView { provider: "p".to_owned(), name: "m".to_owned() });
        let branching = Some(ConfigBranching::File);
        let send = request::Send { model, branching, ..send("two") };
        let refused = world.call(Request::Send(send)).await.unwrap_err();
        assert_eq!(refused.code, ErrorCode::Cancelled, "{refused}");
        assert_eq!(world.shelf.list().unwrap().len(), 1);
    }
}

#[tokio::test]
async fn a_fork_can_be_called_off() {
    let no = shell(r#"cat > /dev/null; echo '{"cancel":true}'"#);
    let world = with_hooks(vec![hook("no", &[HookEvent::SessionBeforeBranch], no)]).await;
    let fork = request::Fork {
        session: "s".to_owned(),
        at: Some("#1".into()),
        to: ForkTo::NewSession,
        ..request::Fork::default()
    };
    let refused = world.call(Request::Fork(fork)).await.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (ErrorCode::Cancelled, "hook `no` said no"));
}
