//! The task that serves a connection: it carries lines, inputs and timers to the [`Protocol`] and performs its acts.

use std::collections::BTreeMap;

use offshoot_session::agent::{AgentInput, ExitStatus, FailureKind, FromAgent};
use offshoot_session::{Block, Model, Prompt};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::outbox::Outbox;
use super::protocol::{Act, Line, Opening, Protocol, Timer};
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
                    let acts = self.protocol.input(self.first_prompt.completed(input));
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
                Act::Report(event) => self.outbox.push(event),
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
    /// Has an effect once: later prompts are as they are.
    fn completed(&mut self, input: AgentInput) -> AgentInput {
        match input {
            AgentInput::Prompt { turn, entry, delivered_as, prompt, before } => {
                let Self { replay, has_whole_branch } = std::mem::take(self);
                let blocks = replay.map(Block::Text).into_iter().chain(prompt.blocks).collect();
                let prompt = Prompt { blocks, ..prompt };
                let before = if has_whole_branch { Vec::new() } else { before };
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
    use std::sync::Arc;

    use offshoot_session::agent::Unseen;
    use offshoot_session::{Body, Entry};

    use super::*;

    fn prompt() -> AgentInput {
        let entry = Entry {
            id: "x".into(),
            parent: None,
            written_at: jiff::Timestamp::UNIX_EPOCH,
            turn: None,
            body: Body::prompt("appended"),
        };
        let prompt =
            Prompt { blocks: vec![Block::Text("go".into())], attachments: Vec::new(), said_at: None };
        let before = vec![Unseen { entry: Arc::new(entry), delivered_as: "y".into() }];
        AgentInput::Prompt { turn: "t".into(), entry: "u".into(), delivered_as: "u".into(), prompt, before }
    }

    fn told(first: &mut FirstPrompt) -> (usize, usize) {
        let AgentInput::Prompt { prompt, before, .. } = first.completed(prompt()) else { panic!("a prompt") };
        (prompt.blocks.len(), before.len())
    }

    #[test]
    fn only_a_process_with_the_whole_branch_has_seen_what_comes_before_the_prompt() {
        assert_eq!(told(&mut FirstPrompt::default()), (1, 1));
        let mut replayed = FirstPrompt { replay: Some("all of it".into()), has_whole_branch: true };
        assert_eq!((told(&mut replayed), told(&mut replayed)), ((2, 0), (1, 1)));
    }
}
