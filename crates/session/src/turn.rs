//! A turn: a prompt and all that answers it, as it happens.
//!
//! [`Turn::on`] takes what the agent says and answers with what shall happen ([`Effect`]); somebody else does it. A turn
//! owns its branch: it writes below its own prompt, wherever the heads are by then.
//!
//! ```text
//! accepted ─▶ hook            the prompt is written next: see [`pending`](crate::pending)
//!               │
//!      ┌────────┘
//!      ▼       Started         Asks            answered
//! connecting ──────────▶ running ────▶ waiting ────────▶ running
//!      │                    │  interrupt                    │ Ended, Failed
//!      │ Failed             ▼                               ▼
//!      └───────────────▶ interrupted ──── Ended ──────▶   ended
//! ```
//! What is final is written and then shown; words that are still coming are shown first, and carry the entry they will
//! be, so that a draft of them can be kept. An interrupted turn is final at once: the agent is told to stop, and whatever
//! it says until then is dropped. A turn ends exactly once.
//!
//! Sub-agents are trees of their own, below a note that names the call that started them, with a turn id of their own:
//! several write at the same time, and each is a chain.

mod effect;
mod recovery;
mod sub_agents;

use std::collections::{BTreeMap, BTreeSet, HashMap};

pub use effect::{Effect, End, Shown};
pub use recovery::{
    Unfinished, Writer, has_unfinished_turn, plan_recovery, shown_of_unfinished, unfinished_turns,
};

use crate::agent::{AgentEvent, AgentInput, Ending, Said, Speaker};
use crate::asks::{Ask, AskId, Asking};
use crate::live::{Delta, LiveReplies};
use crate::status::{State, WaitingFor};
use crate::{
    AgentSessionId, Block, Body, Compaction, Entry, EntryId, Fact, FileLists, Interruption, Missing, Model,
    Provenance, Record, Reply, SessionTree, Stamps, Stop, ToolCallId, ToolResult, ToolUse, TurnId, Usage,
};
use sub_agents::Call;

#[derive(Clone, Debug)]
pub struct Turn {
    id: TurnId,
    prompt: EntryId,
    provenance: Provenance,
    phase: Phase,
    live: LiveReplies,
    speeches: BTreeMap<Speaker, Speech>,
    calls: HashMap<ToolCallId, Call>,
    asked: BTreeSet<AskId>,
    questions: BTreeSet<AskId>,
    bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The place of the message is fixed; its prompt is not written.
    Accepted,
    /// Hooks are asked whether the message may be sent.
    Hook,
    /// The agent has not been heard yet.
    Connecting,
    Running,
    Compacting,
    /// Over for the conversation; the agent has not said yet that it stopped.
    Interrupted,
    Ended,
}

/// What one speaker is writing.
#[derive(Clone, Debug)]
struct Speech {
    turn: TurnId,
    /// The agent's name for the message.
    message: Option<String>,
    /// The entry it will be, once something of it has been shown.
    entry: Option<EntryId>,
}

/// What is known of the agent's own side.
#[derive(Clone, Debug, Default)]
struct Bound {
    agent: Option<String>,
    session: Option<AgentSessionId>,
    model: Option<Model>,
    last_message: Option<String>,
    missing: Missing,
}

impl Phase {
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Hook => "hook",
            Self::Connecting => "connecting",
            Self::Running => "running",
            Self::Compacting => "compacting",
            Self::Interrupted => "interrupted",
            Self::Ended => "ended",
        }
    }
}

impl Turn {
    /// A prompt has been written; the agent is being reached in the way that `provenance` says.
    pub fn begin(id: TurnId, prompt: EntryId, provenance: Provenance) -> Self {
        let mut live = LiveReplies::default();
        live.begin(id.clone(), prompt.clone());
        let speech = Speech { turn: id.clone(), message: None, entry: None };
        Self {
            id,
            prompt,
            provenance,
            phase: Phase::Connecting,
            live,
            speeches: BTreeMap::from([(Speaker::Agent, speech)]),
            calls: HashMap::new(),
            asked: BTreeSet::new(),
            questions: BTreeSet::new(),
            bound: Bound::default(),
        }
    }

    /// Says whose session the turn will be bound to.
    #[must_use]
    pub fn answered_by(mut self, agent: impl Into<String>) -> Self {
        self.bound.agent = Some(agent.into());
        self
    }

    /// Says what the agent is not told of the branch.
    #[must_use]
    pub fn without(mut self, missing: Missing) -> Self {
        self.bound.missing = missing;
        self
    }

    pub fn id(&self) -> &TurnId {
        &self.id
    }

    pub fn prompt(&self) -> &EntryId {
        &self.prompt
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Nothing more will be written.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Interrupted | Phase::Ended)
    }

    /// What is waited for, if anything.
    pub fn waits_for(&self) -> Option<WaitingFor> {
        match (self.questions.is_empty(), self.asked.is_empty()) {
            _ if self.is_over() => None,
            (false, _) => Some(WaitingFor::Question),
            (true, false) => Some(WaitingFor::Permission),
            (true, true) => None,
        }
    }

    pub fn state(&self) -> State {
        match (self.phase, self.waits_for()) {
            (_, Some(kind)) => State::Waiting(kind),
            (Phase::Accepted | Phase::Hook | Phase::Connecting, None) => State::Starting,
            (Phase::Running, None) => State::Running,
            (Phase::Compacting, None) => State::Compacting,
            (Phase::Interrupted, None) => State::Interrupted,
            (Phase::Ended, None) => State::Ready,
        }
    }

    /// Entries as far as they are known, of the agent and of those it has started.
    pub fn being_said(&self) -> Vec<Entry> {
        self.speeches.values().flat_map(|speech| self.live.responses(&speech.turn)).collect()
    }

    /// The tree as if what is being said were final now.
    pub fn over(&self, tree: &SessionTree) -> SessionTree {
        self.live.over(tree)
    }

    /// Takes an event of the agent. What belongs to another turn, or comes after the end, changes nothing.
    pub fn on(&mut self, event: AgentEvent, stamps: &mut dyn Stamps) -> Vec<Effect> {
        let AgentEvent { turn, speaker, said } = event;
        if turn != self.id || self.phase == Phase::Ended {
            return Vec::new();
        }
        if self.phase == Phase::Interrupted {
            return self.after_interruption(&speaker, &said);
        }
        if self.phase != Phase::Running {
            self.phase = Phase::Running;
        }
        match said {
            Said::Started { agent_session, model } => self.started(&speaker, agent_session, model, stamps),
            Said::Words { message, text } => self.grow(&speaker, message, Delta::Words(&text), stamps),
            Said::Thinking { message, text } => self.grow(&speaker, message, Delta::Thinking(&text), stamps),
            Said::ToolUse { message, tool_use } => self.calls(&speaker, message, tool_use, stamps),
            Said::Message { message, reply } => self.message(&speaker, message, reply, stamps),
            Said::ToolResult(result) => self.result(&speaker, result, stamps),
            Said::Asks { request, asking } => self.asks(speaker, request, asking, stamps),
            Said::Confirms { request } => self.confirmed(&request),
            Said::Withdraws { request } => self.withdrawn(&request),
            Said::Used(usage) => self.used(&speaker, usage, stamps),
            Said::Compacting => self.compacting(),
            Said::Compacted { summary, tokens_before } => {
                self.compacted(&speaker, summary, tokens_before, stamps)
            }
            Said::Notice(text) => vec![Effect::Show(Shown::Notice(text))],
            Said::Ended(ending) => self.ended(&speaker, ending, stamps),
            Said::Failed { message } => self.failed(&speaker, message, stamps),
        }
    }

    /// A person wants it to stop. What had been said stays, and one entry says that it was cut off.
    pub fn interrupt(&mut self, stamps: &mut dyn Stamps) -> Vec<Effect> {
        if self.is_over() {
            return Vec::new();
        }
        let mut records = self.settle_all(stamps);
        records.extend(self.say(Body::Interrupted(Interruption::Wanted), stamps));
        let mut effects = self.finish(records, stamps);
        self.phase = Phase::Interrupted;
        effects.push(Effect::Tell(AgentInput::Interrupt { turn: self.id.clone() }));
        effects
    }

    /// The agent does not answer, or could not be reached at all. An interrupted turn just ends.
    pub fn give_up(&mut self, message: &str, stamps: &mut dyn Stamps) -> Vec<Effect> {
        match self.phase {
            Phase::Ended => Vec::new(),
            Phase::Interrupted => self.close(End::Interrupted),
            Phase::Accepted | Phase::Hook | Phase::Connecting | Phase::Running | Phase::Compacting => {
                self.failed(&Speaker::Agent, message.to_owned(), stamps)
            }
        }
    }

    /// The ask has an answer: nobody waits for it any more.
    pub fn answered(&mut self, ask: &AskId) {
        self.asked.remove(ask);
        self.questions.remove(ask);
    }

    fn after_interruption(&mut self, speaker: &Speaker, said: &Said) -> Vec<Effect> {
        let stopped = *speaker == Speaker::Agent && matches!(said, Said::Ended(_) | Said::Failed { .. });
        if stopped { self.close(End::Interrupted) } else { Vec::new() }
    }

    fn started(
        &mut self,
        speaker: &Speaker,
        session: Option<AgentSessionId>,
        model: Option<Model>,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        if *speaker != Speaker::Agent {
            return self.begin_sub_agent(speaker, stamps).into_iter().map(Effect::Write).collect();
        }
        self.bound.session = session;
        self.bound.model = model.or_else(|| self.bound.model.take());
        vec![Effect::Write(vec![self.binding(stamps)])]
    }

    fn binding(&self, stamps: &mut dyn Stamps) -> Record {
        let fact = Fact::Bound {
            at: self.prompt.clone(),
            agent_session: self.bound.session.clone(),
            provenance: self.provenance,
            last_message: self.bound.last_message.clone(),
            agent: self.bound.agent.clone(),
            missing: self.bound.missing,
            inherited: false,
        };
        Record::marked(stamps.now(), fact)
    }

    /// Adds to a message. The first of it shows the whole entry, the rest only what is added.
    fn grow(
        &mut self,
        speaker: &Speaker,
        message: Option<String>,
        delta: Delta<'_>,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let (speech, mut effects) = self.at_message(speaker, message, stamps);
        if self.live.extend(&speech.turn, delta.clone(), stamps).is_err() {
            return effects;
        }
        let shown = match (&speech.entry, delta) {
            (Some(entry), Delta::Words(text)) => Shown::Words { entry: entry.clone(), text: text.to_owned() },
            (Some(entry), Delta::Thinking(text)) => {
                Shown::Thinking { entry: entry.clone(), text: text.to_owned() }
            }
            (Some(_), Delta::Block(_)) | (None, _) => {
                let Some(entry) = self.live.responses(&speech.turn).pop() else { return effects };
                self.set_entry(speaker, Some(entry.id.clone()));
                Shown::Entry(Box::new(entry))
            }
        };
        effects.push(Effect::Show(shown));
        effects
    }

    fn calls(
        &mut self,
        speaker: &Speaker,
        message: Option<String>,
        tool_use: ToolUse,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let effects = self.grow(speaker, message, Delta::Block(Block::ToolUse(tool_use.clone())), stamps);
        if let Some(entry) = self.speeches.get(speaker).and_then(|speech| speech.entry.clone()) {
            self.calls.insert(tool_use.id.clone(), Call { entry, tool_use });
        }
        effects
    }

    /// A whole message is final.
    fn message(
        &mut self,
        speaker: &Speaker,
        message: Option<String>,
        reply: Reply,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let (speech, mut effects) = self.at_message(speaker, message.clone(), stamps);
        let tool_uses: Vec<ToolUse> = reply.tool_uses().cloned().collect();
        let body = Body::Reply(reply);
        let taken = if self.live.is_writing(&speech.turn) {
            self.live.replace_last(&speech.turn, body)
        } else {
            self.live.append(&speech.turn, body, stamps)
        };
        let shown = self.live.responses(&speech.turn).pop().map(|entry| entry.id);
        if let (Ok(()), Some(entry)) = (taken, shown) {
            for tool_use in tool_uses {
                self.calls.insert(tool_use.id.clone(), Call { entry: entry.clone(), tool_use });
            }
        }
        if *speaker == Speaker::Agent {
            self.bound.last_message = message.or_else(|| self.bound.last_message.take());
        }
        effects.extend(written(self.settle(speaker, stamps)));
        effects
    }

    fn result(&mut self, speaker: &Speaker, mut result: ToolResult, stamps: &mut dyn Stamps) -> Vec<Effect> {
        let (speech, mut effects) = self.at_message_in_hand(speaker, stamps);
        let mut records = self.settle(speaker, stamps);
        if let Some(call) = self.calls.get(&result.call).filter(|_| result.tool.is_empty()) {
            result.tool = call.tool_use.name.clone();
        }
        records.extend(self.end_sub_agent(&Speaker::SubAgent(result.call.clone()), stamps));
        if self.live.append(&speech.turn, Body::ToolResult(result), stamps).is_ok() {
            records.extend(self.live.settle(&speech.turn));
        }
        effects.extend(written(records));
        effects
    }

    fn asks(
        &mut self,
        speaker: Speaker,
        request: String,
        asking: Asking,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let id = AskId::of(&self.id, &request);
        match &asking {
            Asking::Permission(_) => self.asked.insert(id.clone()),
            Asking::Questions(_) => self.questions.insert(id.clone()),
        };
        let (turn, prompt) = (self.id.clone(), self.prompt.clone());
        vec![Effect::Ask(Ask { id, turn, prompt, speaker, request, asking, asked_at: stamps.now() })]
    }

    fn confirmed(&mut self, request: &str) -> Vec<Effect> {
        let id = AskId::of(&self.id, request);
        self.answered(&id);
        vec![Effect::Show(Shown::Confirmed(id))]
    }

    fn withdrawn(&mut self, request: &str) -> Vec<Effect> {
        let id = AskId::of(&self.id, request);
        self.answered(&id);
        vec![Effect::Show(Shown::NoLongerAsked(id))]
    }

    fn used(&mut self, speaker: &Speaker, usage: Usage, stamps: &mut dyn Stamps) -> Vec<Effect> {
        let turn = self.speeches.get(speaker).map(|speech| speech.turn.clone());
        let amended = turn
            .is_some_and(|turn| self.live.amend(&turn, |reply| reply.usage = Some(usage)).unwrap_or(false));
        if amended { Vec::new() } else { vec![Effect::Write(vec![spent(usage, stamps)])] }
    }

    fn compacting(&mut self) -> Vec<Effect> {
        self.phase = Phase::Compacting;
        Vec::new()
    }

    fn compacted(
        &mut self,
        speaker: &Speaker,
        summary: String,
        tokens_before: i64,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        if *speaker != Speaker::Agent {
            return Vec::new();
        }
        let mut records = self.settle(speaker, stamps);
        let compaction = Compaction {
            summary,
            first_kept: None,
            tokens_before,
            files: FileLists::default(),
            details: None,
            from_extension: false,
            usage: None,
            system: None,
        };
        records.extend(self.say(Body::Compaction(compaction), stamps));
        written(records)
    }

    fn ended(&mut self, speaker: &Speaker, ending: Ending, stamps: &mut dyn Stamps) -> Vec<Effect> {
        if *speaker != Speaker::Agent {
            let mut records = self.settle(speaker, stamps);
            records.extend(self.end_sub_agent(speaker, stamps));
            return written(records);
        }
        let mut records = self.settle_all(stamps);
        let end = match ending {
            Ending::Done => End::Done,
            Ending::Limit => End::Limit,
            Ending::Interrupted => {
                records.extend(self.say(Body::Interrupted(Interruption::Wanted), stamps));
                End::Interrupted
            }
        };
        let mut effects = self.finish(records, stamps);
        effects.extend(self.close(end));
        effects
    }

    /// The reply says what went wrong, so that it is still known tomorrow.
    fn failed(&mut self, speaker: &Speaker, message: String, stamps: &mut dyn Stamps) -> Vec<Effect> {
        let (speech, mut effects) = self.at_message_in_hand(speaker, stamps);
        let stop = Stop::Error(message.clone());
        if !self.live.is_writing(&speech.turn) {
            // A turn that is not heard has ended, and then nobody comes here.
            let _ = self.live.append(&speech.turn, Body::Reply(Reply::default()), stamps);
        }
        let _ = self.live.amend(&speech.turn, |reply| reply.stop = Some(stop));
        if *speaker != Speaker::Agent {
            let mut records = self.settle(speaker, stamps);
            records.extend(self.end_sub_agent(speaker, stamps));
            effects.extend(written(records));
            return effects;
        }
        let records = self.settle_all(stamps);
        effects.extend(self.finish(records, stamps));
        effects.extend(self.close(End::Failed(message)));
        effects
    }

    /// The last append of the turn: what was still being said, and that it is over.
    fn finish(&mut self, mut records: Vec<Record>, stamps: &mut dyn Stamps) -> Vec<Effect> {
        let sub_agents: Vec<Speaker> = self.speeches.keys().cloned().collect();
        for speaker in sub_agents.iter().filter(|speaker| **speaker != Speaker::Agent) {
            records.extend(self.end_sub_agent(speaker, stamps));
        }
        let tip = self.live.tip(&self.id).unwrap_or(&self.prompt).clone();
        self.live.finish(&self.id);
        if self.bound.last_message.is_some() {
            records.push(self.binding(stamps));
        }
        records.push(Record::marked(stamps.now(), Fact::TurnEnded { turn: self.id.clone() }));
        let mut effects = vec![Effect::Write(records)];
        let asked = std::mem::take(&mut self.asked).into_iter().chain(std::mem::take(&mut self.questions));
        effects.extend(asked.map(|ask| Effect::Show(Shown::NoLongerAsked(ask))));
        effects.push(Effect::Checkpoint { at: tip });
        effects
    }

    fn close(&mut self, end: End) -> Vec<Effect> {
        self.phase = Phase::Ended;
        vec![Effect::Close(end)]
    }

    /// The speech in which a message goes on. Another message than before makes the one before final.
    fn at_message(
        &mut self,
        speaker: &Speaker,
        message: Option<String>,
        stamps: &mut dyn Stamps,
    ) -> (Speech, Vec<Effect>) {
        let (speech, mut effects) = self.at_message_in_hand(speaker, stamps);
        let goes_on = speech.message == message || !self.live.is_writing(&speech.turn);
        if !goes_on {
            effects.extend(written(self.settle(speaker, stamps)));
        }
        if let Some(speech) = self.speeches.get_mut(speaker) {
            speech.message = message;
        }
        (self.speech(speaker), effects)
    }

    /// The speech as it is, begun where somebody new speaks.
    fn at_message_in_hand(&mut self, speaker: &Speaker, stamps: &mut dyn Stamps) -> (Speech, Vec<Effect>) {
        let begun = self.begin_sub_agent(speaker, stamps);
        (self.speech(speaker), begun.into_iter().map(Effect::Write).collect())
    }

    fn speech(&self, speaker: &Speaker) -> Speech {
        self.speeches.get(speaker).cloned().unwrap_or_else(|| Speech {
            turn: self.id.clone(),
            message: None,
            entry: None,
        })
    }

    fn set_entry(&mut self, speaker: &Speaker, entry: Option<EntryId>) {
        if let Some(speech) = self.speeches.get_mut(speaker) {
            speech.entry = entry;
        }
    }

    /// An entry of the turn's own chain.
    fn say(&mut self, body: Body, stamps: &mut dyn Stamps) -> Vec<Record> {
        match self.live.append(&self.id, body, stamps) {
            Ok(()) => self.live.settle(&self.id),
            Err(_) => Vec::new(),
        }
    }

    fn settle_all(&mut self, stamps: &mut dyn Stamps) -> Vec<Record> {
        let speakers: Vec<Speaker> = self.speeches.keys().cloned().collect();
        speakers.iter().flat_map(|speaker| self.settle(speaker, stamps)).collect()
    }

    /// What the speaker is writing is final. A reply that shows nothing is none, but what it cost was spent.
    fn settle(&mut self, speaker: &Speaker, stamps: &mut dyn Stamps) -> Vec<Record> {
        self.set_entry(speaker, None);
        let Some(turn) = self.speeches.get(speaker).map(|speech| speech.turn.clone()) else {
            return Vec::new();
        };
        let mut records = Vec::new();
        if self.live.is_writing(&turn) {
            let said = self.live.responses(&turn).pop();
            let reply =
                said.and_then(|entry| if let Body::Reply(reply) = entry.body { Some(reply) } else { None });
            if let Some(reply) = reply.as_ref().filter(|reply| !reply.shows_something()) {
                records.extend(reply.usage.map(|usage| spent(usage, stamps)));
                // Both know the turn: it was written to just before.
                let _ = self.live.replace_last(&turn, Body::Reply(Reply::default()));
            } else if reply.is_some() {
                let model = self.bound.model.clone();
                let _ = self.live.amend(&turn, |reply| reply.model = reply.model.take().or(model));
            }
        }
        records.extend(self.live.settle(&turn));
        records
    }
}

fn written(records: Vec<Record>) -> Vec<Effect> {
    if records.is_empty() { Vec::new() } else { vec![Effect::Write(records)] }
}

fn spent(usage: Usage, stamps: &mut dyn Stamps) -> Record {
    Record::marked(stamps.now(), Fact::Spent { usage })
}
