//! Doing what was decided, one step after the other.

use std::collections::VecDeque;

use offshoot_session::agent::{AgentEvent, AgentInput, Ending, Said, Start};
use offshoot_session::asks::{Answer, Asking, Permission};
use offshoot_session::handoff::Handoff;
use offshoot_session::{AgentSessionId, Prompt, Stop, TurnId, text_of};
use serde_json::json;
use tokio::sync::mpsc;

use super::heard::Heard;
use super::reply::{Step, reply_to};
use super::speech::{Speech, Stopped, model};
use super::workspace::{Outcome, Workspace};
use super::{Pace, words};

/// Serves a connection until nobody speaks to it any more.
pub(super) async fn converse(
    start: Start,
    pace: Pace,
    mut inputs: mpsc::Receiver<AgentInput>,
    events: mpsc::Sender<AgentEvent>,
) {
    let workspace = Workspace::at(start.workspace.as_deref(), start.environment.clone());
    let mut heard = Heard::of(&start.path);
    let mut session = match &start.handoff {
        Handoff::Continue { session } => session.clone(),
        Handoff::ForkAtMessage { .. } | Handoff::RebuiltTranscript | Handoff::ReplayedContext(..) => None,
    };
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
            AgentInput::Prompt { turn, prompt } => {
                let session = session.get_or_insert_with(|| named_after(&turn)).clone();
                let said = text_of(&prompt.blocks);
                let steps = saying_what_came(reply_to(&heard, &said), &prompt);
                let tokens = heard.tokens();
                heard.take_prompt(&said);
                let mut speech = Speech::new(turn, &mut inputs, &events, &pace, &mut later, tokens);
                let done = answer(&mut speech, session, steps, &workspace).await;
                heard.characters += speech.answered;
                done
            }
            AgentInput::Answer { turn, request, .. } => {
                let confirmed = AgentEvent::new(turn, Said::Confirms { request });
                events.send(confirmed).await.map_err(|_| Stopped::Alone)
            }
            AgentInput::Interrupt { .. } | AgentInput::Configure(_) => Ok(()),
        };
        if matches!(done, Err(Stopped::Alone)) {
            return;
        }
    }
}

/// Whoever sends a file reads that it has arrived.
fn saying_what_came(mut steps: Vec<Step>, prompt: &Prompt) -> Vec<Step> {
    if let (Some(came), Some(Step::Say(text))) = (words::came_with(prompt), steps.last_mut()) {
        text.push(' ');
        text.push_str(&came);
    }
    steps
}

/// No chance is needed where turns have names of their own.
fn named_after(turn: &TurnId) -> AgentSessionId {
    format!("{}-{turn}", super::NAME).into()
}

async fn answer(
    speech: &mut Speech<'_>,
    session: AgentSessionId,
    steps: Vec<Step>,
    workspace: &Workspace,
) -> Result<(), Stopped> {
    speech.tell(Said::Started { agent_session: Some(session), model: Some(model()) }).await?;
    for step in steps {
        let failed = if let Step::Fail(message) = &step { Some(message.clone()) } else { None };
        match take(speech, step, workspace).await {
            Ok(()) => {}
            Err(Stopped::Interrupted) => return speech.tell(Said::Ended(Ending::Interrupted)).await,
            Err(Stopped::Alone) => return Err(Stopped::Alone),
        }
        if let Some(message) = failed {
            return speech.tell(Said::Failed { message }).await;
        }
    }
    speech.end_message(Stop::EndTurn).await?;
    speech.tell(Said::Ended(Ending::Done)).await
}

async fn take(speech: &mut Speech<'_>, step: Step, workspace: &Workspace) -> Result<(), Stopped> {
    match step {
        Step::Think(text) => speech.think(&text).await,
        Step::Say(text) => speech.say(&text).await,
        Step::Write { file, text } => {
            let call = speech.call("write", json!({ "path": file, "content": text })).await?;
            let outcome = on_disk(workspace, move |workspace| workspace.write(&file, &text)).await;
            speech.result(call, "write", &outcome).await
        }
        Step::Append { file, text } => {
            let call = speech.call("append", json!({ "path": file, "content": text })).await?;
            let outcome = on_disk(workspace, move |workspace| workspace.append(&file, &text)).await;
            speech.result(call, "append", &outcome).await
        }
        Step::Read { file } => {
            let call = speech.call("read", json!({ "path": file })).await?;
            let outcome = on_disk(workspace, move |workspace| workspace.read(&file)).await;
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

/// Disks may be slow, and others speak meanwhile.
async fn on_disk(
    workspace: &Workspace,
    work: impl FnOnce(&Workspace) -> Outcome + Send + 'static,
) -> Outcome {
    let workspace = workspace.clone();
    let done = tokio::task::spawn_blocking(move || work(&workspace)).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}

async fn run(speech: &mut Speech<'_>, command: String, workspace: &Workspace) -> Result<(), Stopped> {
    let mut input = json!({ "command": command });
    let call = speech.call("shell", input.clone()).await?;
    let permission =
        Permission { tool: "shell".to_owned(), input: input.clone(), call: Some(call.clone()), reason: None };
    match speech.ask(Asking::Permission(permission)).await? {
        Answer::Allow { input: changed } => input = changed.unwrap_or(input),
        Answer::AllowAlways { .. } => {}
        Answer::Deny { message } => {
            speech.result(call, "shell", &Err(words::NOT_ALLOWED.to_owned())).await?;
            return speech.say(&words::was_denied(message.as_deref())).await;
        }
        Answer::Choose(_) => {
            speech.result(call, "shell", &Err(words::NOT_ALLOWED.to_owned())).await?;
            return speech.say(&words::was_denied(None)).await;
        }
    }
    let command = input.get("command").and_then(serde_json::Value::as_str).unwrap_or_default();
    let outcome = match workspace.start(command) {
        Err(error) => Err(error),
        Ok(mut running) => speech.unless_interrupted(running.done()).await?,
    };
    speech.result(call, "shell", &outcome).await
}
