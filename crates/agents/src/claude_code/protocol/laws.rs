//! What holds for any output of the CLI, for tests and for the fuzz target.

use std::collections::{BTreeMap, BTreeSet};

use offshoot_session::agent::{
    AgentEvent, AgentEventKind, AgentInput, AgentTurn, AgentTurnEnd, ExitStatus, FailureKind, FromAgent,
    Speaker,
};
use offshoot_session::asks::Answer;
use offshoot_session::{Missing, Prompt, TurnId};
use serde_json::Value;

use super::{Act, Line, Opening, Protocol, Timer};
use crate::claude_code::launch::Version;

/// Watches the acts of one process.
#[derive(Debug, Default)]
pub(super) struct Laws {
    started: BTreeSet<AgentTurn>,
    over: BTreeSet<AgentTurn>,
    /// Messages with live text that is neither confirmed nor discarded.
    live: BTreeMap<(AgentTurn, Speaker), BTreeSet<String>>,
    pub(super) asks: BTreeMap<String, AgentTurn>,
    /// Lines of ours without a result.
    has_ended: bool,
    /// The turn that runs.
    pub(super) current: Option<AgentTurn>,
    pub(super) broken: Vec<String>,
}

impl Laws {
    pub(super) fn watch(&mut self, acts: &[Act]) {
        for act in acts {
            match act {
                Act::Write(line) => self.line(line),
                Act::Report(FromAgent::Turn(event)) => self.event(event),
                Act::Report(FromAgent::Connection(_)) | Act::Arm(..) | Act::Disarm(_) => {}
                Act::End if self.has_ended => self.broken("the process is ended twice".to_owned()),
                Act::End => self.has_ended = true,
            }
        }
    }

    pub(super) fn exited(&mut self) {
        // Another process may take a prompt that was not taken.
        let open: Vec<_> = self.started.iter().filter(|turn| !self.over.contains(turn)).collect();
        if !open.is_empty() {
            self.broken(format!("turns never end: {open:?}"));
        }
    }

    fn line(&mut self, line: &[u8]) {
        let is_one = line.ends_with(b"\n") && line.iter().filter(|byte| **byte == b'\n').count() == 1;
        if !is_one || serde_json::from_slice::<Value>(line).is_err() {
            self.broken("a line that is not one line of JSON".to_owned());
        }
        if self.has_ended {
            self.broken("a line for a process that is to end".to_owned());
        }
    }

    fn event(&mut self, event: &AgentEvent) {
        let AgentEvent { turn, speaker, kind } = event;
        let is_agent = *speaker == Speaker::Agent;
        if is_agent && self.over.contains(turn) {
            self.broken(format!("{turn:?} goes on behind its end: {kind:?}"));
        }
        let is_refused =
            matches!(kind, AgentEventKind::Failed(_) | AgentEventKind::Ended(AgentTurnEnd::Interrupted));
        if is_agent
            && !matches!(kind, AgentEventKind::Started { .. })
            && !is_refused
            && !self.started.contains(turn)
        {
            self.broken(format!("{turn:?} was not started: {kind:?}"));
        }
        let live = self.live.entry((turn.clone(), speaker.clone())).or_default();
        match kind {
            AgentEventKind::Started { .. } if is_agent => {
                if !self.started.insert(turn.clone()) {
                    self.broken(format!("{turn:?} is started twice"));
                }
                if let Some(open) =
                    self.current.replace(turn.clone()).filter(|open| !self.over.contains(open))
                {
                    self.broken(format!("{turn:?} starts within {open:?}"));
                }
            }
            AgentEventKind::Delta { message, .. } => {
                live.insert(message.to_string());
            }
            AgentEventKind::Entry { message: Some(message), .. }
            | AgentEventKind::MessageEnded { message, .. }
            | AgentEventKind::Discarded { message } => {
                live.remove(message.as_str());
            }
            AgentEventKind::Ask { request, .. } => {
                self.asks.insert(request.clone(), turn.clone());
            }
            AgentEventKind::AskConfirmed { request } | AgentEventKind::AskWithdrawn { request } => {
                if self.asks.remove(request).is_none() {
                    self.broken(format!("`{request}` is settled without an ask"));
                }
            }
            AgentEventKind::Ended(_) | AgentEventKind::Failed(_) if is_agent => {
                // A process that is gone says nothing about its live text: the turn decides.
                let is_gone = matches!(kind, AgentEventKind::Failed(failure)
                    if matches!(failure.kind, FailureKind::Process | FailureKind::Protocol));
                let unsettled = !live.is_empty() && !is_gone;
                self.over.insert(turn.clone());
                let asks = self.asks.values().filter(|of| *of == turn).count();
                if unsettled {
                    self.broken(format!("{turn:?} ends with live text"));
                }
                if asks > 0 {
                    self.broken(format!("{turn:?} ends with an open ask"));
                }
            }
            AgentEventKind::Started { .. }
            | AgentEventKind::Entry { message: None, .. }
            | AgentEventKind::Retrying { .. }
            | AgentEventKind::Compacting
            | AgentEventKind::Compacted { .. }
            | AgentEventKind::Spent(_)
            | AgentEventKind::Ended(_)
            | AgentEventKind::Failed(_) => {}
        }
    }

    fn broken(&mut self, law: String) {
        self.broken.push(law);
    }
}

/// Plays a script: lines that begin with `>` are inputs, all others are output of the CLI. Gives the laws that were broken.
pub fn broken_laws(script: &[u8]) -> Vec<String> {
    let mut protocol = Protocol::new(opening("s", Version { major: 2, minor: 1, patch: 325 }));
    let mut laws = Laws::default();
    let mut prompts = 0;
    laws.watch(&protocol.start());
    for line in script.split(|byte| *byte == b'\n') {
        let acts = match line.strip_prefix(b">") {
            None => protocol.line(&Line::of(line)),
            Some(b"interrupt") => match laws.current.clone() {
                Some(turn) => protocol.input(AgentInput::Interrupt { turn }),
                None => Vec::new(),
            },
            Some(b"answer") => match laws.asks.keys().next().cloned() {
                Some(request) => protocol.input(AgentInput::Answer {
                    turn: TurnId::from("any"),
                    request,
                    answer: Answer::Allow { input: None, suggestion: None },
                }),
                None => Vec::new(),
            },
            Some(b"idle") => protocol.elapsed(Timer::Idle),
            Some(b"silence") => protocol.elapsed(Timer::Silence),
            Some(b"opening") => protocol.elapsed(Timer::Opening),
            Some(b"long") => protocol.line_too_long(1 << 30),
            Some(uuid) => {
                prompts += 1;
                let turn = TurnId::from(format!("t{prompts}"));
                protocol.input(prompt(turn, &String::from_utf8_lossy(uuid), "go"))
            }
        };
        laws.watch(&acts);
    }
    laws.watch(&protocol.exited(ExitStatus::Code(0), ""));
    laws.exited();
    laws.broken
}

pub(super) fn opening(session: &str, version: Version) -> Opening {
    Opening {
        session: session.into(),
        is_continued: false,
        model: None,
        permission_mode: "default".to_owned(),
        settings: Vec::new(),
        version,
        provenance: None,
        missing: Missing::default(),
        silence: std::time::Duration::from_secs(60),
    }
}

pub(super) fn prompt(turn: TurnId, uuid: &str, text: &str) -> AgentInput {
    let blocks = vec![offshoot_session::Block::Text(text.to_owned())];
    AgentInput::Prompt {
        turn,
        entry: uuid.into(),
        delivered_as: uuid.into(),
        prompt: Prompt { blocks, ..Prompt::default() },
        before: Vec::new(),
    }
}
