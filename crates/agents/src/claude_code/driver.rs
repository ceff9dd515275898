//! The task that serves a connection: it carries lines, inputs and timers to the [`Protocol`] and performs its acts.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use offshoot_session::agent::{
    AgentEvent, AgentEventKind, AgentInput, AgentTurn, ExitStatus, FailureKind, FromAgent, Unseen,
};
use offshoot_session::{Block, Body, Entry, EntryId, Model, Prompt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::ladder::fresh_uuid;
use super::outbox::Outbox;
use super::protocol::{Act, Line, Opening, Protocol, Timer, is_command};
use super::{Limits, TITLE};
use crate::ConnectError;
use crate::process::{AgentProcess, Launch, Output, sleep_until};

/// Asks the CLI to end with its tools.
const END_SESSION: &str =
    r#"{"type":"control_request","request_id":"offshoot-end","request":{"subtype":"end_session"}}"#;

pub(super) struct Driver {
    protocol: Protocol,
    process: AgentProcess,
    timers: BTreeMap<Timer, Instant>,
    outbox: Outbox,
    limits: Limits,
    leaving: Leaving,
    first_prompt: FirstPrompt,
}

/// What the first prompt needs because of the way in which the process came to know the branch.
#[derive(Debug, Default)]
pub(super) struct FirstPrompt {
    /// The branch as text.
    pub(super) replay: Option<String>,
    /// The process was given the whole branch, also what the agent had not seen of it.
    pub(super) has_whole_branch: bool,
}

/// How far the process is on its way to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    No,
    /// It was asked to end, and has until then.
    Asked(Instant),
    Forced,
}

/// A longer line is parsed on a thread of its own: other sessions are served by this one meanwhile.
const LONG_LINE: usize = 1024 * 1024;

async fn parsed(line: Vec<u8>) -> Line {
    if line.len() < LONG_LINE {
        return Line::of(&line);
    }
    // It breaks down only with the runtime.
    tokio::task::spawn_blocking(move || Line::of(&line)).await.unwrap_or(Line::Blank)
}

/// Why a process did not open.
pub(super) enum NotOpened {
    /// What the CLI was asked to continue is not there, or its new name is taken.
    NoSession(ConnectError),
    Failed(ConnectError),
}

/// What happens next.
enum Event {
    Input(Option<AgentInput>),
    Output(Output),
    Elapsed(Timer),
    EndTaken,
    Sent,
    /// The receiver of events is gone.
    Alone,
}

impl Driver {
    /// Starts a process and returns when it has said who it is.
    pub(super) async fn open(
        launch: Launch,
        opening: Opening,
        first_prompt: FirstPrompt,
        limits: Limits,
    ) -> Result<Self, NotOpened> {
        let process = AgentProcess::start(launch).await.map_err(|source| {
            NotOpened::Failed(ConnectError::NotStarted { agent: TITLE.to_owned(), source })
        })?;
        let mut driver = Self {
            protocol: Protocol::new(opening),
            process,
            timers: BTreeMap::new(),
            outbox: Outbox::default(),
            limits,
            leaving: Leaving::No,
            first_prompt,
        };
        let first = driver.protocol.start();
        driver.perform(first);
        let mut reason = None;
        while driver.protocol.opened().is_none() {
            let next = driver.timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at));
            let acts = tokio::select! {
                output = driver.process.next(true) => match output {
                    Output::Line(line) => driver.protocol.line(&parsed(line).await),
                    Output::TooLong(bytes) => driver.protocol.line_too_long(bytes),
                    Output::Exited { status, stderr } => return Err(exited(reason, status, &stderr)),
                },
                () = sleep_until(next.map(|(_, at)| at)) => match next {
                    Some((Timer::Opening, _)) => {
                        reason = Some(format!("it did not answer within {} s", limits.opening.as_secs_f32()));
                        driver.timers.remove(&Timer::Opening);
                        driver.process.end();
                        Vec::new()
                    }
                    Some((timer, _)) => {
                        driver.timers.remove(&timer);
                        driver.protocol.elapsed(timer)
                    }
                    None => Vec::new(),
                },
            };
            if acts.contains(&Act::End) {
                reason.get_or_insert_with(|| "its output could not be read".to_owned());
                driver.process.end();
            } else {
                driver.perform(acts);
            }
        }
        driver.timers.remove(&Timer::Opening);
        Ok(driver)
    }

    /// The models that the process has listed.
    pub(super) fn models(&self) -> &[Model] {
        self.protocol.opened().map_or(&[], |info| info.models.as_slice())
    }

    /// Serves the connection until the process has ended.
    pub(super) async fn serve(
        mut self,
        mut inputs: mpsc::Receiver<AgentInput>,
        events: mpsc::Sender<FromAgent>,
    ) {
        let mut is_heard = true;
        loop {
            match self.next(&mut inputs, is_heard.then_some(&events)).await {
                Event::Input(Some(input)) => {
                    let input = self.first_prompt.completed(input);
                    let acts = self.protocol.input(input);
                    self.perform(acts);
                }
                Event::Output(Output::Line(line)) => {
                    self.outbox.read(line.len());
                    let line = parsed(line).await;
                    let acts = self.protocol.line(&line);
                    self.perform(acts);
                }
                Event::Output(Output::TooLong(bytes)) => {
                    let acts = self.protocol.line_too_long(bytes);
                    self.perform(acts);
                }
                Event::Elapsed(timer) => {
                    self.timers.remove(&timer);
                    let acts = self.protocol.elapsed(timer);
                    self.perform(acts);
                }
                Event::EndTaken => {
                    self.leaving = Leaving::Forced;
                    self.process.end();
                }
                Event::Sent => {}
                Event::Input(None) => self.leave(),
                Event::Alone => {
                    is_heard = false;
                    self.outbox.clear();
                    self.leave();
                }
                Event::Output(Output::Exited { status, stderr }) => {
                    let acts = self.protocol.exited(status, stderr.trim());
                    self.perform(acts);
                    break;
                }
            }
            if !is_heard {
                self.outbox.clear();
            }
        }
        while let Some(event) = self.outbox.pop().filter(|_| is_heard) {
            is_heard = events.send(event).await.is_ok();
        }
    }

    async fn next(
        &mut self,
        inputs: &mut mpsc::Receiver<AgentInput>,
        events: Option<&mpsc::Sender<FromAgent>>,
    ) -> Event {
        let Self { process, timers, outbox, leaving, .. } = self;
        let next = timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at));
        let end_at = match leaving {
            Leaving::Asked(until) => Some(*until),
            Leaving::No | Leaving::Forced => None,
        };
        let send = async {
            match events {
                // The receiver holds many small events, or one that is large.
                Some(events) if outbox.is_next_heavy() => {
                    let room = events.reserve_many(events.max_capacity()).await;
                    Some(room.ok().and_then(|mut room| room.next()))
                }
                Some(events) if !outbox.is_empty() => Some(events.reserve().await.ok()),
                Some(events) => {
                    events.closed().await;
                    Some(None)
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            permit = send => match permit.flatten() {
                Some(permit) => {
                    if let Some(event) = outbox.pop() {
                        permit.send(event);
                    }
                    Event::Sent
                }
                None => Event::Alone,
            },
            input = inputs.recv(), if *leaving == Leaving::No => Event::Input(input),
            output = process.next(outbox.has_room()) => Event::Output(output),
            () = sleep_until(end_at) => Event::EndTaken,
            () = sleep_until(next.map(|(_, at)| at)) => match next {
                Some((timer, _)) => Event::Elapsed(timer),
                None => Event::Sent,
            },
        }
    }

    fn perform(&mut self, acts: Vec<Act>) {
        for act in acts {
            match act {
                Act::Write(line) => self.process.write(line),
                Act::Report(event) => {
                    if is_prompt_taken(&event) {
                        self.first_prompt = FirstPrompt::default();
                    }
                    self.outbox.push(event);
                }
                Act::Arm(timer, wait) => {
                    let wait = if timer == Timer::Opening { self.limits.opening } else { wait };
                    self.timers.insert(timer, Instant::now() + wait);
                }
                Act::Disarm(timer) => {
                    self.timers.remove(&timer);
                }
                Act::End => self.leave(),
            }
        }
    }

    /// Asks the process to end; if it has not ended in time it is interrupted, and killed in the end.
    fn leave(&mut self) {
        if self.leaving == Leaving::No {
            self.process.write(format!("{END_SESSION}\n").into_bytes());
            self.leaving = Leaving::Asked(Instant::now() + self.limits.end);
        }
    }
}

impl FirstPrompt {
    /// Has an effect until a prompt is taken: one that was cancelled before has told the process nothing.
    fn completed(&self, input: AgentInput) -> AgentInput {
        match input {
            AgentInput::Prompt { turn, entry, delivered_as, prompt, before } => {
                let before = if self.has_whole_branch { Vec::new() } else { before };
                let (prompt, before) = match &self.replay {
                    None => (prompt, before),
                    // With a text in front it would be no command.
                    Some(text) if is_command(&prompt) => (prompt, replayed(text).into_iter().collect()),
                    Some(text) => {
                        let blocks = std::iter::once(Block::Text(text.clone())).chain(prompt.blocks);
                        (Prompt { blocks: blocks.collect(), ..prompt }, before)
                    }
                };
                AgentInput::Prompt { turn, entry, delivered_as, prompt, before }
            }
            AgentInput::Answer { .. }
            | AgentInput::Interrupt { .. }
            | AgentInput::StopTask(_)
            | AgentInput::Configure(_)
            | AgentInput::Rename(_) => input,
        }
    }
}

/// The branch as a message of its own. `None`: there is no id for it.
fn replayed(text: &str) -> Option<Unseen> {
    let delivered_as = EntryId::from(fresh_uuid().ok()?);
    let body = Body::prompt(text);
    let entry =
        Entry { id: delivered_as.clone(), parent: None, written_at: Timestamp::UNIX_EPOCH, turn: None, body };
    Some(Unseen { entry: Arc::new(entry), delivered_as })
}

fn is_prompt_taken(event: &FromAgent) -> bool {
    let FromAgent::Turn(AgentEvent { turn: AgentTurn::Prompted(_), kind, .. }) = event else { return false };
    matches!(kind, AgentEventKind::Started { .. })
}

fn exited(reason: Option<String>, status: ExitStatus, stderr: &str) -> NotOpened {
    let text = match (reason, stderr.trim()) {
        (Some(reason), "") => format!("{TITLE} could not be started: {reason}"),
        (Some(reason), stderr) => format!("{TITLE} could not be started: {reason}: {stderr}"),
        (None, stderr) => status.failure(TITLE, stderr).text,
    };
    let failed = ConnectError::Failed { kind: FailureKind::Process, text };
    match is_no_session(stderr) {
        true => NotOpened::NoSession(failed),
        false => NotOpened::Failed(failed),
    }
}

fn is_no_session(stderr: &str) -> bool {
    let signs = ["No message found with message.uuid", "No conversation found with session ID"];
    signs.iter().any(|sign| stderr.contains(sign))
        || (stderr.contains("Session ID") && stderr.contains("is already in use"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt(text: &str) -> AgentInput {
        let before = replayed("appended").into_iter().collect();
        let prompt =
            Prompt { blocks: vec![Block::Text(text.into())], attachments: Vec::new(), said_at: None };
        AgentInput::Prompt { turn: "t".into(), entry: "u".into(), delivered_as: "u".into(), prompt, before }
    }

    /// What comes before the prompt, and its blocks.
    fn told(first: &FirstPrompt, text: &str) -> (Vec<String>, Vec<String>) {
        let AgentInput::Prompt { prompt, before, .. } = first.completed(prompt(text)) else {
            panic!("a prompt")
        };
        let before = before.iter().map(|unseen| unseen.entry.body.text());
        let blocks = prompt.blocks.iter().map(|block| offshoot_session::text_of(std::slice::from_ref(block)));
        (before.collect(), blocks.collect())
    }

    fn texts(before: &[&str], blocks: &[&str]) -> (Vec<String>, Vec<String>) {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        (owned(before), owned(blocks))
    }

    /// The text of the branch was lost with the first prompt, also where that was cancelled before it was taken, and with
    /// the text in front a command was none.
    #[test]
    fn the_branch_is_told_until_a_prompt_is_taken() {
        assert_eq!(told(&FirstPrompt::default(), "go"), texts(&["appended"], &["go"]));
        let first = FirstPrompt { replay: Some("all of it".into()), has_whole_branch: true };
        for _ in 0..2 {
            assert_eq!(told(&first, "go"), texts(&[], &["all of it", "go"]));
        }
        assert_eq!(told(&first, "/context"), texts(&["all of it"], &["/context"]));
    }

    #[test]
    fn a_prompt_is_taken_when_its_turn_starts() {
        let turn = offshoot_session::TurnId::from("t");
        assert!(is_prompt_taken(&FromAgent::turn(turn.clone(), AgentEventKind::STARTED)));
        let ended = AgentEventKind::Ended(offshoot_session::agent::AgentTurnEnd::Interrupted);
        assert!(!is_prompt_taken(&FromAgent::turn(turn, ended)));
    }
}
