//! Doing what was decided, one step after the other.

use std::collections::VecDeque;

use offshoot_session::agent::{
    AgentEventKind, AgentFailure, AgentInfo, AgentInput, AgentStart, AgentTurnEnd, ConnectionEvent, FromAgent,
};
use offshoot_session::asks::{Answer, Asking, Permission};
use offshoot_session::handoff::Handoff;
use offshoot_session::{AgentSessionId, Prompt, Stop, ToolCallId, TurnId, text_of};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinError;

use super::heard::Heard;
use super::limits::Limits;
use super::reply::{Step, reply_to};
use super::speech::{Speech, Stopped, model};
use super::workspace::{Outcome, Workspace};
use super::{Pace, words};

/// Serves a connection until nobody speaks to it any more.
pub(super) async fn converse(
    start: AgentStart,
    pace: Pace,
    mut inputs: mpsc::Receiver<AgentInput>,
    events: mpsc::Sender<FromAgent>,
) {
    let workspace = Workspace::of(&start);
    let mut heard = Heard::of(start.context.entries());
    let mut limits = Limits::default();
    limits.set(&start.settings);
    let mut session = match &start.handoff {
        Handoff::Continue { session, .. } => Some(session.clone()),
        Handoff::New { session } | Handoff::Fork { session, .. } | Handoff::Rebuild { session, .. } => {
            session.clone()
        }
        Handoff::Replay { .. } | Handoff::Stateless => None,
    };
    let (mut is_open, mut asks) = (false, 0);
    let mut later = VecDeque::new();
    loop {
        let input = match later.pop_front() {
            Some(input) => input,
            None => match inputs.recv().await {
                Some(input) => input,
                None => return,
            },
        };
        let done = match input {
            AgentInput::Prompt { turn, prompt, .. } => {
                let session = session.get_or_insert_with(|| named_after(&turn)).clone();
                if !std::mem::replace(&mut is_open, true) && open(session, &events).await.is_err() {
                    return;
                }
                let said = text_of(&prompt.blocks);
                let steps = saying_what_came(reply_to(&heard, &said), &prompt);
                let tokens = heard.tokens();
                heard.take_prompt(&said);
                let mut speech =
                    Speech::new(turn, &mut inputs, &events, &pace, &mut later, &mut asks, tokens);
                let done = answer(&mut speech, steps, &workspace, &limits).await;
                heard.characters += speech.answered;
                done
            }
            AgentInput::Answer { turn, request, .. } => {
                let confirmed = FromAgent::turn(turn, AgentEventKind::AskConfirmed { request });
                events.send(confirmed).await.map_err(|_| Stopped::Alone)
            }
            AgentInput::Configure(settings) => {
                limits.set(&settings);
                Ok(())
            }
            AgentInput::Interrupt { .. } | AgentInput::StopTask(_) | AgentInput::Rename(_) => Ok(()),
        };
        if matches!(done, Err(Stopped::Alone)) {
            return;
        }
    }
}

/// Whoever sends a file reads that it has arrived.
fn saying_what_came(mut steps: Vec<Step>, prompt: &Prompt) -> Vec<Step> {
    let last = steps.last_mut();
    if let (Some(came), Some(Step::Say(text) | Step::Write { done: text, .. })) =
        (words::came_with(prompt), last)
    {
        text.push(' ');
        text.push_str(&came);
    }
    steps
}

/// No chance is needed where turns have names of their own.
fn named_after(turn: &TurnId) -> AgentSessionId {
    format!("{}-{turn}", super::NAME).into()
}

/// Says who it is, before its first turn.
async fn open(session: AgentSessionId, events: &mpsc::Sender<FromAgent>) -> Result<(), Stopped> {
    let info = AgentInfo {
        session: Some(session),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
        model: Some(model()),
        ..AgentInfo::default()
    };
    let opened = FromAgent::Connection(ConnectionEvent::Opened(info));
    events.send(opened).await.map_err(|_| Stopped::Alone)
}

async fn answer(
    speech: &mut Speech<'_>,
    steps: Vec<Step>,
    workspace: &Workspace,
    limits: &Limits,
) -> Result<(), Stopped> {
    speech.tell(AgentEventKind::STARTED).await?;
    for step in steps {
        let failed = if let Step::Fail(message) = &step { Some(message.clone()) } else { None };
        let taken = match limits.refuse(&step) {
            Some(reason) => speech.say(&words::did_not(&reason)).await,
            None => take(speech, step, workspace).await,
        };
        match taken {
            Ok(()) => {}
            Err(Stopped::Interrupted) => {
                return speech.tell(AgentEventKind::Ended(AgentTurnEnd::Interrupted)).await;
            }
            Err(Stopped::Alone) => return Err(Stopped::Alone),
        }
        if let Some(message) = failed {
            return speech.tell(AgentEventKind::Failed(AgentFailure::other(message))).await;
        }
    }
    speech.end_message(Stop::EndTurn).await?;
    speech.tell(AgentEventKind::Ended(AgentTurnEnd::Done)).await
}

async fn take(speech: &mut Speech<'_>, step: Step, workspace: &Workspace) -> Result<(), Stopped> {
    match step {
        Step::Think(text) => speech.think(&text).await,
        Step::Say(text) => speech.say(&text).await,
        Step::Write { file, text, done } => write(speech, file, text, done, workspace).await,
        Step::Append { file, text } => {
            let call = speech.call("append", json!({ "path": file, "content": text })).await?;
            let done = words::wrote(&file);
            let written = on_disk(workspace, move |workspace| workspace.append(&file, &text));
            let outcome = speech.unless_interrupted(written).await?;
            speech.result(call, "append", &outcome).await?;
            speech.say(&said_of_file(outcome, done)).await
        }
        Step::Read { file } => {
            let call = speech.call("read", json!({ "path": file })).await?;
            let read = on_disk(workspace, move |workspace| workspace.read(&file));
            let outcome = speech.unless_interrupted(read).await?;
            speech.result(call, "read", &outcome).await
        }
        Step::Run { command } => run(speech, command, workspace).await,
        Step::Ask(question) => {
            let answer = speech.ask(Asking::Questions(vec![question])).await?;
            let chosen = match answer {
                Answer::Choose(chosen) => chosen.into_iter().flatten().collect(),
                Answer::Allow { .. } | Answer::AllowAlways { .. } | Answer::Deny { .. } => Vec::new(),
            };
            speech.say(&words::chosen(&chosen)).await
        }
        Step::Delegate { task, says } => {
            let input = json!({ "description": words::quoted(&task), "prompt": task });
            let call = speech.call("agent", input).await?;
            speech.as_sub_agent(&call, &says).await?;
            speech.result(call, "agent", &Ok(says)).await
        }
        Step::Fail(_) => speech.end_message(Stop::EndTurn).await,
    }
}

/// A file that exists is replaced only after it was allowed, and with what was allowed: the answer may name another file
/// or another text.
async fn write(
    speech: &mut Speech<'_>,
    file: String,
    text: String,
    done: String,
    workspace: &Workspace,
) -> Result<(), Stopped> {
    let mut input = json!({ "path": file, "content": text });
    let call = speech.call("write", input.clone()).await?;
    let (place, mut said) = (file.clone(), done);
    let replaces = blocking(workspace, move |workspace| workspace.would_replace(&place));
    if speech.unless_interrupted(replaces).await?.unwrap_or(true) {
        match allowed_input(speech, &call, "write", &input, Some(words::REPLACES)).await? {
            Some(allowed) => input = allowed,
            None => return Ok(()),
        }
    }
    let part = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (allowed, text) = (part("path"), part("content"));
    if allowed != file {
        said = words::wrote(&allowed);
    }
    let written = on_disk(workspace, move |workspace| workspace.write(&allowed, &text));
    let outcome = speech.unless_interrupted(written).await?;
    speech.result(call, "write", &outcome).await?;
    speech.say(&said_of_file(outcome, said)).await
}

fn said_of_file(outcome: Outcome, done: String) -> String {
    match outcome {
        Ok(_) => done,
        Err(reason) => words::not_written(&reason),
    }
}

/// Disks may be slow, and others speak meanwhile.
async fn on_disk(
    workspace: &Workspace,
    work: impl FnOnce(&Workspace) -> Outcome + Send + 'static,
) -> Outcome {
    blocking(workspace, work).await.unwrap_or_else(|error| Err(error.to_string()))
}

async fn blocking<T: Send + 'static>(
    workspace: &Workspace,
    work: impl FnOnce(&Workspace) -> T + Send + 'static,
) -> Result<T, JoinError> {
    let workspace = workspace.clone();
    tokio::task::spawn_blocking(move || work(&workspace)).await
}

async fn run(speech: &mut Speech<'_>, command: String, workspace: &Workspace) -> Result<(), Stopped> {
    let input = json!({ "command": command });
    let call = speech.call("shell", input.clone()).await?;
    let Some(input) = allowed_input(speech, &call, "shell", &input, None).await? else { return Ok(()) };
    let command = input.get("command").and_then(serde_json::Value::as_str).unwrap_or_default();
    let outcome = speech.unless_interrupted(workspace.run(command)).await?;
    speech.result(call, "shell", &outcome).await
}

/// Asks for permission. The input that was allowed may have been changed. If it is denied, the call ends with that and the
/// agent says so.
async fn allowed_input(
    speech: &mut Speech<'_>,
    call: &ToolCallId,
    tool: &str,
    input: &Value,
    reason: Option<&str>,
) -> Result<Option<Value>, Stopped> {
    let permission = Permission {
        tool: tool.to_owned(),
        input: input.clone(),
        call: Some(call.clone()),
        reason: reason.map(str::to_owned),
        suggestions: Vec::new(),
    };
    let message = match speech.ask(Asking::Permission(permission)).await? {
        Answer::Allow { input: changed, .. } => return Ok(Some(changed.unwrap_or_else(|| input.clone()))),
        Answer::AllowAlways { .. } => return Ok(Some(input.clone())),
        Answer::Deny { message } => message,
        Answer::Choose(_) => None,
    };
    speech.result(call.clone(), tool, &Err(words::NOT_ALLOWED.to_owned())).await?;
    speech.say(&words::was_denied(message.as_deref())).await?;
    Ok(None)
}
