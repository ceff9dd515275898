//! A drawn tree, a turn in it, and what came of what was heard.

use offshoot_session::agent::{AgentEvent, AgentEventKind, AgentFailure, AgentInfo, AgentInput, FailureKind};
use offshoot_session::turn::{Effect, End, Shown, Turn};
use offshoot_session::{Block, Body, Change, Fact, Provenance, Record, Reply, SessionTree};
use offshoot_testkit::{FixedStamps, draw, tree_of};

pub(crate) struct Scene {
    pub(crate) tree: SessionTree,
    pub(crate) turn: Turn,
    pub(crate) told: Vec<AgentInput>,
    stamps: FixedStamps,
    log: Vec<String>,
}

/// A failure whose kind does not matter.
pub(crate) fn failure(message: &str) -> AgentFailure {
    AgentFailure::new(FailureKind::Process, message)
}

pub(crate) fn reply(text: &str) -> Reply {
    Reply { blocks: vec![Block::Text(text.into())], ..Reply::default() }
}

impl Scene {
    /// The turn `t` has only its prompt `u`.
    pub(crate) fn new(drawing: &str) -> Self {
        let turn = Turn::begin("t".into(), "u".into(), Provenance::Continued);
        let (tree, stamps) = (tree_of(drawing), FixedStamps::after(100));
        Self { tree, turn, told: Vec::new(), stamps, log: Vec::new() }
    }

    /// The agent is ready with this session of its own and has taken the prompt.
    pub(crate) fn start(&mut self, agent_session: Option<&str>) {
        let info = AgentInfo { session: agent_session.map(Into::into), ..AgentInfo::default() };
        let effects = self.turn.opened(&info, &mut self.stamps);
        self.perform(&effects);
        self.hear(AgentEventKind::STARTED);
    }

    pub(crate) fn hear(&mut self, kind: AgentEventKind) {
        self.take(AgentEvent::new("t".into(), kind));
    }

    pub(crate) fn hear_sub_agent(&mut self, call: &str, kind: AgentEventKind) {
        self.take(AgentEvent::of_sub_agent("t".into(), call.into(), kind));
    }

    pub(crate) fn take(&mut self, event: AgentEvent) -> Vec<Effect> {
        let effects = self.turn.on(event, &self.tree, &mut self.stamps);
        self.perform(&effects);
        effects
    }

    pub(crate) fn interrupt(&mut self) -> Vec<Effect> {
        let effects = self.turn.interrupt();
        self.perform(&effects);
        effects
    }

    pub(crate) fn give_up(&mut self, message: &str) -> Vec<Effect> {
        let effects = self.turn.give_up(failure(message), &mut self.stamps);
        self.perform(&effects);
        effects
    }

    /// What is durable.
    pub(crate) fn drawn(&self) -> String {
        draw(&self.tree)
    }

    /// What a person sees.
    pub(crate) fn shown(&self) -> String {
        draw(&self.turn.over(&self.tree))
    }

    pub(crate) fn reply(&self, id: &str) -> Reply {
        match &self.tree.entry(&id.into()).unwrap().body {
            Body::Reply(reply) => reply.clone(),
            body => panic!("{id} is {body:?}"),
        }
    }

    /// What happened since it was asked last.
    pub(crate) fn log(&mut self) -> String {
        std::mem::take(&mut self.log).join("\n")
    }

    /// Writing is strict: a record that does not fit fails the test.
    fn perform(&mut self, effects: &[Effect]) {
        for effect in effects {
            if let Effect::Write(records) = effect {
                self.tree = self.tree.extended(records).unwrap();
            }
            if let Effect::Tell(input) = effect {
                self.told.push(input.clone());
            }
            self.log.push(line(effect));
        }
    }
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::Write(records) => format!("write {}", written(records)),
        Effect::Show(Shown::Entry(entry)) => format!("show {} {:?}", entry.id, entry.body.text()),
        Effect::Show(Shown::Words { entry, text }) => format!("show {entry} + {text:?}"),
        Effect::Show(Shown::Thinking { entry, text }) => format!("think {entry} + {text:?}"),
        Effect::Show(Shown::Discarded(entry)) => format!("discard {}", entry.id),
        Effect::Show(Shown::Retrying { attempt, of, .. }) => format!("retry {attempt} of {of}"),
        Effect::Replace { live, entry } => format!("replace {live} by {entry}"),
        Effect::Show(Shown::Confirmed(ask)) => format!("confirmed {ask}"),
        Effect::Show(Shown::NoLongerAsked(ask)) => format!("no longer asked {ask}"),
        Effect::Tell(input) => format!("tell {input:?}"),
        Effect::Ask(ask) => format!("ask {}", ask.id),
        Effect::Checkpoint { at } => format!("checkpoint {at}"),
        Effect::Close(End::Failed(failure)) => format!("close failed {:?}", failure.text),
        Effect::Close(end) => format!("close {end:?}"),
    }
}

fn written(records: &[Record]) -> String {
    let entries = records.iter().filter_map(Record::as_entry).map(|entry| match &entry.parent {
        Some(parent) => format!("{} below {parent}", entry.id),
        None => format!("{} at the root", entry.id),
    });
    let entries = entries.collect::<Vec<_>>().join(", ");
    let marks = records.iter().filter_map(|record| match &record.change {
        Change::Marked(mark) => Some(fact(&mark.fact)),
        _ => None,
    });
    std::iter::once(entries).chain(marks).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

fn fact(fact: &Fact) -> String {
    match fact {
        Fact::Bound { at, agent_session, last_message, .. } => {
            let session = agent_session.as_ref().map_or("none", |session| session.as_str());
            let message = last_message.as_ref().map(|message| format!(", {message}")).unwrap_or_default();
            format!("bound({at}, {session}, continued{message})")
        }
        Fact::TurnEnded { turn } => format!("ended({turn})"),
        Fact::Spent { usage, .. } => format!("spent({})", usage.input + usage.output),
        fact => format!("{fact:?}"),
    }
}
