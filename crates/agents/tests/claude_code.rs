//! A Claude Code that misbehaves: each fault gives its sentence, leaves no process behind, and the next connection works.
//! The stand-in is a shell script that speaks as much of the protocol as a plain turn needs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot start the stand-in has failed")]

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::claude_code::{ClaudeCode, Limits};
use offshoot_agents::process::processes_of_run;
use offshoot_agents::{Agent, AgentConnection, ConnectError};
use offshoot_session::agent::{
    AgentEventKind, AgentInput, AgentStart, AgentTurnEnd, ConnectionEvent, ExitStatus, FailureKind,
    FromAgent, Host, TreePath,
};
use offshoot_session::handoff::Handoff;
use offshoot_session::{Block, Prompt, Provenance, SessionTree, TurnId};
use tempfile::TempDir;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(60);

/// `FAULT` names what it does wrong.
const STAND_IN: &str = r##"#!/bin/sh
if [ "$1" = --version ]; then sleep "${SLOW:-0}"; echo "${VERSION:-2.1.325} (Claude Code)"; exit; fi
case " $* " in *" --resume "*)
    if [ "$FAULT" = no_session ]; then
        echo "No conversation found with session ID: x" >&2; exit 1
    fi;;
esac
case $FAULT in
    exit) echo "it is broken" >&2; exit 1;;
    mute) exec sleep 1000;;
esac
read -r line
id=$(printf %s "$line" | sed 's/.*"request_id":"\([^"]*\)".*/\1/')
[ "$FAULT" = deaf ] && exec 0<&-
printf '{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"commands":[],"models":[],"account":{"tokenSource":"key"}}}}\n' "$id"
[ "$FAULT" = deaf ] && exec sleep 1000
while read -r line; do
    case $line in *end_session*) exit 0;; *'"type":"user"'*) ;; *) continue;; esac
    uuid=$(printf %s "$line" | sed 's/.*"uuid":"\([^"]*\)".*/\1/')
    echo '{"type":"system","subtype":"session_state_changed","state":"running"}'
    printf '{"type":"user","isReplay":true,"uuid":"%s","message":{"role":"user","content":"hi"},"parent_tool_use_id":null}\n' "$uuid"
    case $FAULT in
        garbage) for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do echo "not JSON"; done;;
        long) head -c 70000000 /dev/zero | tr '\0' a; echo;;
        death) setsid sleep 1000 & kill -KILL $$;;
        flood) exec yes '{"type":"news","text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}';;
        unknown) echo '{"type":"brand_new","x":1}'; echo '{"type":"system","subtype":"newer"}'; echo '[1]';;
    esac
    printf '{"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-x","content":[{"type":"text","text":"'
    [ "$FAULT" = big ] && head -c 50000000 /dev/zero | tr '\0' a
    printf 'hello"}]},"parent_tool_use_id":null,"uuid":"11111111-1111-4111-8111-111111111111"}\n'
    echo '{"type":"result","subtype":"success","is_error":false,"result":"hello"}'
    echo '{"type":"system","subtype":"session_state_changed","state":"idle"}'
done
"##;

struct Place {
    folder: TempDir,
    agent: ClaudeCode,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("claude");
        std::fs::write(&program, STAND_IN).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut agent = ClaudeCode::default();
        agent.limits.end = Duration::from_millis(500);
        Self { folder, agent }
    }

    fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    fn start(&self, variables: &[(&str, &str)], handoff: Handoff) -> AgentStart {
        let path = std::env::var("PATH").unwrap();
        let home = self.folder.path().join("home");
        let usual = [("PATH", path.as_str()), ("HOME", home.to_str().unwrap())];
        let all = usual.iter().chain(variables);
        AgentStart {
            session: "s".into(),
            workspace: Some(self.folder.path().to_owned()),
            handoff,
            settings: Vec::new(),
            context: Arc::new(TreePath { tree: SessionTree::default(), to: None }),
            environment: all.map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            host: Host {
                program: Some(self.folder.path().join("claude")),
                runs: Some(self.runs()),
                ..Host::default()
            },
            is_watched: false,
            lease: Default::default(),
        }
    }

    async fn connect(&self, fault: &str) -> Result<AgentConnection, ConnectError> {
        let start = self.start(&[("FAULT", fault)], Handoff::New { session: None });
        timeout(DEADLINE, self.agent.connect(start)).await.unwrap()
    }

    /// The run that is there now.
    fn run(&self) -> String {
        let file = std::fs::read_dir(self.runs()).unwrap().next().unwrap().unwrap().path();
        file.file_stem().unwrap().to_str().unwrap().to_owned()
    }

    /// Nothing is left of a run, and the next connection answers.
    async fn is_usable_again(&self, run: Option<&str>) {
        let ended = async {
            while std::fs::read_dir(self.runs()).is_ok_and(|mut files| files.next().is_some()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(DEADLINE, ended).await.unwrap();
        if let Some(run) = run {
            assert_eq!(processes_of_run(run), [0_u32; 0]);
        }
        let mut connection = self.connect("").await.unwrap();
        let (kinds, _) = turn(&mut connection).await;
        assert!(matches!(kinds.last(), Some(AgentEventKind::Ended(AgentTurnEnd::Done))), "{kinds:?}");
        timeout(DEADLINE, connection.close()).await.unwrap().unwrap();
    }
}

/// Sends a prompt, and gives what happens until the turn or the connection ends.
async fn turn(connection: &mut AgentConnection) -> (Vec<AgentEventKind>, Vec<ConnectionEvent>) {
    let prompt = Prompt { blocks: vec![Block::Text("hi".into())], attachments: Vec::new(), said_at: None };
    let id = "22222222-2222-4222-8222-222222222222";
    let (entry, delivered_as) = (id.into(), id.into());
    let turn = TurnId::from("t");
    let input = AgentInput::Prompt { turn, entry, delivered_as, prompt, before: Vec::new() };
    connection.inputs.send(input).await.unwrap();
    let (mut kinds, mut others) = (Vec::new(), Vec::new());
    while let Some(event) = timeout(DEADLINE, connection.events.recv()).await.unwrap() {
        match event {
            FromAgent::Turn(event) => {
                let is_end = matches!(event.kind, AgentEventKind::Ended(_) | AgentEventKind::Failed(_));
                kinds.push(event.kind);
                if is_end {
                    break;
                }
            }
            FromAgent::Connection(event) => others.push(event),
        }
    }
    (kinds, others)
}

/// The failure of the turn, and what the connection reports until it is gone.
async fn failure(place: &Place, fault: &str) -> (FailureKind, String, Vec<ConnectionEvent>) {
    let mut connection = place.connect(fault).await.unwrap();
    let run = place.run();
    let (kinds, mut others) = turn(&mut connection).await;
    while let Some(event) = timeout(DEADLINE, connection.events.recv()).await.unwrap() {
        if let FromAgent::Connection(event) = event {
            others.push(event);
        }
    }
    // An engine that hears of the exit may exit itself at once.
    assert_eq!(std::fs::read_dir(place.runs()).unwrap().count(), 0, "run files");
    place.is_usable_again(Some(&run)).await;
    match kinds.last() {
        Some(AgentEventKind::Failed(failure)) => (failure.kind, failure.text.clone(), others),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn garbage_is_a_protocol_error() {
    let (kind, text, _) = failure(&Place::new(), "garbage").await;
    assert_eq!(kind, FailureKind::Protocol, "{text}");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_a_protocol_error() {
    let (kind, text, _) = failure(&Place::new(), "long").await;
    assert_eq!(kind, FailureKind::Protocol);
    assert!(text.contains("70000000 bytes"), "{text}");
}

#[tokio::test]
async fn death_in_a_tool_ends_the_tool_and_names_the_signal() {
    let (kind, text, others) = failure(&Place::new(), "death").await;
    assert_eq!((kind, text.as_str()), (FailureKind::Process, "Claude Code ended (signal 9)"));
    let exited = ConnectionEvent::Exited { status: ExitStatus::Signal(9), stderr: String::new() };
    assert_eq!(others.last(), Some(&exited));
}

/// The prompt has no end: another process may take it.
#[tokio::test]
async fn a_process_that_takes_no_input_is_ended() {
    let place = Place::new();
    let mut connection = place.connect("deaf").await.unwrap();
    let run = place.run();
    let (kinds, others) = turn(&mut connection).await;
    assert_eq!(kinds, []);
    assert!(matches!(others.last(), Some(ConnectionEvent::Exited { .. })), "{others:?}");
    place.is_usable_again(Some(&run)).await;
}

#[tokio::test]
async fn a_line_of_50_mb_and_unknown_lines_are_read() {
    let place = Place::new();
    for fault in ["big", "unknown"] {
        let mut connection = place.connect(fault).await.unwrap();
        let (kinds, _) = turn(&mut connection).await;
        assert!(matches!(kinds.last(), Some(AgentEventKind::Ended(AgentTurnEnd::Done))), "{fault}");
        timeout(DEADLINE, connection.close()).await.unwrap().unwrap();
    }
    place.is_usable_again(None).await;
}

#[tokio::test]
async fn a_flood_can_be_interrupted_and_dropped() {
    let place = Place::new();
    let mut connection = place.connect("flood").await.unwrap();
    let run = place.run();
    let prompt = Prompt { blocks: vec![Block::Text("hi".into())], attachments: Vec::new(), said_at: None };
    let id = "22222222-2222-4222-8222-222222222222";
    let (turn, entry, delivered_as) = (TurnId::from("t"), id.into(), id.into());
    let input = AgentInput::Prompt { turn, entry, delivered_as, prompt, before: Vec::new() };
    connection.inputs.send(input).await.unwrap();
    let started = async {
        loop {
            if let Some(FromAgent::Turn(event)) = connection.events.recv().await {
                break event.kind;
            }
        }
    };
    assert_eq!(timeout(DEADLINE, started).await.unwrap(), AgentEventKind::STARTED);
    connection.abort();
    drop(connection);
    place.is_usable_again(Some(&run)).await;
}

#[tokio::test]
async fn a_program_that_says_nothing_is_given_up() {
    let mut place = Place::new();
    place.agent.limits.opening = Duration::from_millis(200);
    let error = place.connect("mute").await.unwrap_err();
    assert_eq!(error.to_string(), "Claude Code could not be started: it did not answer within 0.2 s");
    place.agent.limits.opening = Limits::default().opening;
    place.is_usable_again(None).await;
}

#[tokio::test]
async fn a_program_that_ends_at_once_says_why() {
    let place = Place::new();
    let error = place.connect("exit").await.unwrap_err();
    assert_eq!(error.to_string(), "Claude Code ended (exit status 1): it is broken");
    place.is_usable_again(None).await;
}

#[tokio::test]
async fn a_session_that_is_gone_is_replayed_as_text() {
    let place = Place::new();
    let handoff = Handoff::Continue { session: "33333333-3333-4333-8333-333333333333".into(), at: None };
    let start = place.start(&[("FAULT", "no_session"), ("HOME", "")], handoff);
    let mut connection = timeout(DEADLINE, place.agent.connect(start)).await.unwrap().unwrap();
    let (kinds, others) = turn(&mut connection).await;
    assert!(matches!(kinds.last(), Some(AgentEventKind::Ended(AgentTurnEnd::Done))), "{kinds:?}");
    let opened = others.iter().find_map(|event| match event {
        ConnectionEvent::Opened(info) => info.provenance,
        _ => None,
    });
    assert!(
        matches!(opened, Some(Provenance::ReplayedContext | Provenance::RebuiltTranscript)),
        "{others:?}"
    );
    timeout(DEADLINE, connection.close()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_version_that_is_too_old_or_unknown_is_refused_with_advice() {
    for (version, stated) in [("2.1.100", "2.1.100"), ("dev", "of an unknown version")] {
        let place = Place::new();
        let start = place.start(&[("VERSION", version)], Handoff::New { session: None });
        let error = place.agent.connect(start).await.unwrap_err().to_string();
        let program = place.folder.path().join("claude");
        let expected = format!(
            "Claude Code {stated} at `{}` is not supported: version 2.1.197 or later is needed; update it with `npm i -g \
             @anthropic-ai/claude-code`",
            program.display()
        );
        assert_eq!(error, expected);
    }
}

/// A busy machine: an update would not help.
#[tokio::test]
async fn a_program_that_states_its_version_late_is_not_called_too_old() {
    let mut place = Place::new();
    // Looking at agents does not wait for long; a prompt does.
    place.agent.limits.version = Duration::from_millis(100);
    let start = place.start(&[("SLOW", "0.5")], Handoff::New { session: None });
    let connection = timeout(DEADLINE, place.agent.connect(start)).await.unwrap().unwrap();
    timeout(DEADLINE, connection.close()).await.unwrap().unwrap();
    let mut place = Place::new();
    place.agent.limits.opening = Duration::from_millis(200);
    let start = place.start(&[("SLOW", "1000")], Handoff::New { session: None });
    let error = timeout(DEADLINE, place.agent.connect(start)).await.unwrap().unwrap_err().to_string();
    let program = place.folder.path().join("claude");
    let program = program.display();
    assert_eq!(
        error,
        format!("Claude Code could not be started: `{program} --version` did not answer within 0.2 s")
    );
}

#[tokio::test]
async fn a_program_that_is_missing_is_refused_with_advice() {
    let place = Place::new();
    let mut start = place.start(&[("PATH", "/missing")], Handoff::New { session: None });
    start.host.program = None;
    let error = place.agent.connect(start).await.unwrap_err().to_string();
    assert_eq!(error, "Claude Code is not installed; install it with `npm i -g @anthropic-ai/claude-code`");
}
