//! A turn: a prompt and all that answers it, as it happens.
//!
//! [`Turn::on`] takes what the agent reports and answers with what shall happen ([`Effect`]); the caller does it. A turn
//! owns its branch: it writes below its own prompt, wherever the heads are by then. A turn that an agent began by itself
//! has the entry that says why in place of a prompt.
//!
//! ```text
//! accepted ─▶ hook            the prompt is written next: see [`pending`](crate::pending)
//!               │
//!      ┌────────┘
//!      ▼       Started          Ask             answered
//! connecting ──────────▶ running ────▶ waiting ────────▶ running
//!      │                    │  interrupt                    │ Ended, Failed
//!      │ Failed             ▼                               ▼
//!      └───────────────▶ interrupting ─── Ended ──────▶   ended
//! ```
//! What is final is written and then shown; text that still grows is shown first, and carries the entry it will be, so
//! that a draft of it can be kept. While a turn is being interrupted its agent may finish the block it is writing and
//! account for its usage; new text and asks are dropped. A turn ends exactly once, and whatever was shown is by then
//! written, replaced or discarded.
//!
//! Sub-agents are trees of their own, below a note that names the call that started them, with a turn id of their own:
//! several write at the same time, and each is a chain. They end by themselves or with the turn.

mod catch_up;
mod effect;
mod message;
mod recovery;
mod sub_agents;
mod usage;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::Value;

pub use catch_up::{CaughtUp, CaughtUpEntry, TranscriptOf, plan_catch_up};
pub use effect::{Effect, End, Shown};
pub use recovery::{
    CaughtUpTurns, Unfinished, Writer, has_unfinished_turn, plan_recovery, shown_of_unfinished,
    unfinished_turns,
};

use crate::agent::{
    AgentEvent, AgentEventKind, AgentFailure, AgentInfo, AgentInput, AgentTurn, AgentTurnEnd, Speaker,
};
use crate::asks::{Ask, AskId, Asking};
use crate::live::LiveReplies;
use crate::status::{State, WaitingFor};
use crate::{
    AgentSessionId, Body, Compaction, Entry, EntryId, Fact, FileLists, Interruption, Missing, Model,
    Provenance, Record, Reply, SessionTree, Stamps, Stop, ToolCallId, TurnId,
};
use message::{Growth, Speech, Written, written};
use sub_agents::Call;
use usage::Counted;

#[derive(Clone, Debug)]
pub struct Turn {
    id: TurnId,
    /// What the agent calls it.
    agent_turn: AgentTurn,
    prompt: EntryId,
    provenance: Provenance,
    phase: Phase,
    live: LiveReplies,
    speeches: BTreeMap<Speaker, Speech>,
    calls: HashMap<ToolCallId, Call>,
    /// What tools are given in the place of what the agent asked for, until they have a result.
    changed_inputs: HashMap<ToolCallId, Value>,
    asked: BTreeSet<AskId>,
    questions: BTreeSet<AskId>,
    bound: Bound,
    counted: Counted,
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
    /// A person interrupted it. The agent finishes what it is writing, and has not said yet that it stopped.
    Interrupting,
    Ended,
}

/// What is known of the agent's own side.
#[derive(Clone, Debug, Default)]
struct Bound {
    agent: Option<String>,
    session: Option<AgentSessionId>,
    model: Option<Model>,
    last_message: Option<String>,
    missing: Missing,
    /// The agent took the prompt.
    is_started: bool,
}

impl Phase {
    pub fn word(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Hook => "hook",
            Self::Connecting => "connecting",
            Self::Running => "running",
            Self::Compacting => "compacting",
            Self::Interrupting => "interrupted",
            Self::Ended => "ended",
        }
    }
}

impl Turn {
    /// A prompt has been written; the agent is being reached in the way that `provenance` says.
    pub fn begin(id: TurnId, prompt: EntryId, provenance: Provenance) -> Self {
        let agent_turn = AgentTurn::Prompted(id.clone());
        Self::of_agent(id, agent_turn, prompt, provenance)
    }

    /// The agent began by itself; `entry` says why and is written.
    pub fn begin_by_agent(id: TurnId, agent_turn: AgentTurn, entry: EntryId) -> Self {
        Self::of_agent(id, agent_turn, entry, Provenance::Continued)
    }

    fn of_agent(id: TurnId, agent_turn: AgentTurn, prompt: EntryId, provenance: Provenance) -> Self {
        let mut live = LiveReplies::default();
        live.begin(id.clone(), prompt.clone());
        let speech = Speech { turn: id.clone(), growing: None };
        Self {
            id,
            agent_turn,
            prompt,
            provenance,
            phase: Phase::Connecting,
            live,
            speeches: BTreeMap::from([(Speaker::Agent, speech)]),
            calls: HashMap::new(),
            changed_inputs: HashMap::new(),
            asked: BTreeSet::new(),
            questions: BTreeSet::new(),
            bound: Bound::default(),
            counted: Counted::default(),
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

    /// The prompt, or the entry that says why the agent began by itself.
    pub fn prompt(&self) -> &EntryId {
        &self.prompt
    }

    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether an event or a confirmation with this name belongs to the turn.
    pub fn is_called(&self, turn: &AgentTurn) -> bool {
        *turn == self.agent_turn || matches!(turn, AgentTurn::Prompted(id) if *id == self.id)
    }

    /// Whether the agent began it by itself.
    pub fn is_self_started(&self) -> bool {
        matches!(self.agent_turn, AgentTurn::SelfStarted(_))
    }

    /// Whether the agent has taken the prompt.
    pub fn is_taken(&self) -> bool {
        self.bound.is_started
    }

    /// Over for the conversation: it ended, or was interrupted and its agent has not stopped yet.
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Interrupting | Phase::Ended)
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
            (Phase::Interrupting, None) => State::Interrupted,
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

    /// What the agent says about itself. Its session is written when the turn starts, or at once where it has started.
    pub fn opened(&mut self, info: &AgentInfo, stamps: &mut dyn Stamps) -> Vec<Effect> {
        if let Some(provenance) = info.provenance.filter(|_| !self.bound.is_started) {
            (self.provenance, self.bound.missing) = (provenance, info.missing);
        }
        let session = info.session.clone().or_else(|| self.bound.session.clone());
        let model = info.model.clone().or_else(|| self.bound.model.clone());
        self.bind_to(session, model, stamps)
    }

    /// The agent continues in another session of its own.
    pub fn session_changed(&mut self, to: AgentSessionId, stamps: &mut dyn Stamps) -> Vec<Effect> {
        self.bind_to(Some(to), self.bound.model.clone(), stamps)
    }

    /// An entry that belongs to the turn and that the agent does not report.
    pub fn add(&mut self, body: Body, stamps: &mut dyn Stamps) -> Vec<Effect> {
        written(self.live.write(&self.id, None, body, stamps).into_iter().collect())
    }

    /// Takes an event of the agent. What belongs to another turn, or comes after the end, changes nothing.
    pub fn on(&mut self, event: AgentEvent, tree: &SessionTree, stamps: &mut dyn Stamps) -> Vec<Effect> {
        let AgentEvent { turn, speaker, kind } = event;
        if !self.is_called(&turn) || !self.takes(&kind) {
            return Vec::new();
        }
        if self.phase != Phase::Interrupting {
            self.phase = Phase::Running;
        }
        match kind {
            AgentEventKind::Started { .. } => self.started(&speaker, stamps),
            AgentEventKind::Delta { message, part, field, text } => {
                self.grow(&speaker, Growth { message, part, field, text }, stamps)
            }
            AgentEventKind::Entry { id, message, body } => {
                self.write(&speaker, Written { id, message, body }, tree, stamps)
            }
            AgentEventKind::MessageEnded { message, stop, usage } => {
                self.end_message(&speaker, &message, stop, usage, stamps)
            }
            AgentEventKind::Discarded { message } => self.discard(&speaker, &message),
            AgentEventKind::Ask { request, ask } => self.asks(speaker, request, ask, stamps),
            AgentEventKind::AskConfirmed { request } => self.confirmed(&request),
            AgentEventKind::AskWithdrawn { request } => self.withdrawn(&request),
            AgentEventKind::Retrying { attempt, of, wait, cause } => {
                vec![Effect::Show(Shown::Retrying { attempt, of, wait, cause })]
            }
            AgentEventKind::Compacting => self.compacting(),
            AgentEventKind::Compacted { summary, tokens_before, first_kept } => {
                self.compacted(&speaker, compaction(summary, tokens_before, first_kept), stamps)
            }
            AgentEventKind::Spent(sums) => self.spent(&sums, stamps),
            AgentEventKind::Ended(end) => self.ended(&speaker, end, stamps),
            AgentEventKind::Failed(failure) => self.failed(&speaker, failure, stamps),
        }
    }

    /// While it is interrupted an agent finishes what it is writing. It begins nothing and asks nothing.
    fn takes(&self, kind: &AgentEventKind) -> bool {
        match self.phase {
            Phase::Ended => false,
            Phase::Interrupting => match kind {
                AgentEventKind::Started { .. }
                | AgentEventKind::Entry { .. }
                | AgentEventKind::MessageEnded { .. }
                | AgentEventKind::Discarded { .. }
                | AgentEventKind::Compacted { .. }
                | AgentEventKind::Spent(_)
                | AgentEventKind::Ended(_)
                | AgentEventKind::Failed(_) => true,
                AgentEventKind::Delta { .. }
                | AgentEventKind::Ask { .. }
                | AgentEventKind::AskConfirmed { .. }
                | AgentEventKind::AskWithdrawn { .. }
                | AgentEventKind::Retrying { .. }
                | AgentEventKind::Compacting => false,
            },
            Phase::Accepted | Phase::Hook | Phase::Connecting | Phase::Running | Phase::Compacting => true,
        }
    }

    /// A person wants it to stop. The turn ends when its agent says so, or is given up.
    pub fn interrupt(&mut self) -> Vec<Effect> {
        if self.is_over() {
            return Vec::new();
        }
        let mut effects = self.withdraw_asks();
        self.phase = Phase::Interrupting;
        effects.push(Effect::Tell(AgentInput::Interrupt { turn: self.agent_turn.clone() }));
        effects
    }

    /// The agent does not answer, or could not be reached at all. An interrupted turn just ends.
    pub fn give_up(&mut self, failure: AgentFailure, stamps: &mut dyn Stamps) -> Vec<Effect> {
        match self.phase {
            Phase::Ended => Vec::new(),
            Phase::Accepted
            | Phase::Hook
            | Phase::Connecting
            | Phase::Running
            | Phase::Compacting
            | Phase::Interrupting => self.failed(&Speaker::Agent, failure, stamps),
        }
    }

    /// A person has changed what a tool is given: its result will say so.
    pub fn input_changed(&mut self, call: ToolCallId, input: Value) {
        self.changed_inputs.insert(call, input);
    }

    /// The ask has an answer.
    pub fn answered(&mut self, ask: &AskId) {
        self.asked.remove(ask);
        self.questions.remove(ask);
    }

    /// Once: an agent that reconnects may say it again.
    fn started(&mut self, speaker: &Speaker, stamps: &mut dyn Stamps) -> Vec<Effect> {
        if *speaker != Speaker::Agent {
            return self.begin_speaker(speaker, stamps);
        }
        if std::mem::replace(&mut self.bound.is_started, true) {
            return Vec::new();
        }
        vec![Effect::Write(vec![self.binding(stamps)])]
    }

    fn bind_to(
        &mut self,
        session: Option<AgentSessionId>,
        model: Option<Model>,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        let is_news = (&self.bound.session, &self.bound.model) != (&session, &model);
        (self.bound.session, self.bound.model) = (session, model);
        if is_news && self.bound.is_started && self.phase != Phase::Ended {
            vec![Effect::Write(vec![self.binding(stamps)])]
        } else {
            Vec::new()
        }
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
            model: self.bound.model.clone(),
        };
        Record::marked(stamps.now(), fact)
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

    fn compacting(&mut self) -> Vec<Effect> {
        self.phase = Phase::Compacting;
        Vec::new()
    }

    fn compacted(
        &mut self,
        speaker: &Speaker,
        compaction: Compaction,
        stamps: &mut dyn Stamps,
    ) -> Vec<Effect> {
        if *speaker != Speaker::Agent {
            return Vec::new();
        }
        let mut records = self.settle(speaker, stamps);
        records.extend(self.say(Body::Compaction(compaction), stamps));
        written(records)
    }

    fn ended(&mut self, speaker: &Speaker, end: AgentTurnEnd, stamps: &mut dyn Stamps) -> Vec<Effect> {
        if *speaker != Speaker::Agent {
            return written(self.end_sub_agent(speaker, stamps));
        }
        let end = match end {
            _ if self.phase == Phase::Interrupting => End::Interrupted,
            AgentTurnEnd::Interrupted => End::Interrupted,
            AgentTurnEnd::Done => End::Done,
            AgentTurnEnd::Limit => End::Limit,
        };
        self.finish(end, stamps)
    }

    /// The reply says what went wrong, so that it is still known tomorrow. An agent that fails while it is interrupted has
    /// stopped.
    fn failed(&mut self, speaker: &Speaker, failure: AgentFailure, stamps: &mut dyn Stamps) -> Vec<Effect> {
        if self.phase == Phase::Interrupting {
            return self.ended(speaker, AgentTurnEnd::Interrupted, stamps);
        }
        let mut effects = self.begin_speaker(speaker, stamps);
        let (turn, _) = self.speech(speaker);
        let stop = Stop::Error(failure.text.clone());
        if !self.live.is_writing(&turn) {
            // A sub-agent that has ended is not live, and then nothing is written.
            let _ = self.live.append(&turn, Body::Reply(Reply::default()), stamps);
        }
        let _ = self.live.amend(&turn, |reply| reply.stop = Some(stop));
        effects.extend(match speaker {
            Speaker::Agent => self.finish(End::Failed(failure), stamps),
            Speaker::SubAgent(_) => written(self.end_sub_agent(speaker, stamps)),
        });
        effects
    }

    /// The last append of the turn: what was still growing, and that it is over.
    fn finish(&mut self, end: End, stamps: &mut dyn Stamps) -> Vec<Effect> {
        let mut records = self.settle_all(stamps);
        if end == End::Interrupted {
            records.extend(self.say(Body::Interrupted(Interruption::Wanted), stamps));
        }
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
        effects.extend(self.withdraw_asks());
        effects.push(Effect::Checkpoint { at: tip });
        self.phase = Phase::Ended;
        effects.push(Effect::Close(end));
        effects
    }

    fn withdraw_asks(&mut self) -> Vec<Effect> {
        let asked = std::mem::take(&mut self.asked).into_iter().chain(std::mem::take(&mut self.questions));
        asked.map(|ask| Effect::Show(Shown::NoLongerAsked(ask))).collect()
    }

    /// An entry of the turn's own chain.
    fn say(&mut self, body: Body, stamps: &mut dyn Stamps) -> Vec<Record> {
        match self.live.append(&self.id, body, stamps) {
            Ok(()) => self.live.settle(&self.id),
            Err(_) => Vec::new(),
        }
    }
}

/// One that an agent has written.
fn compaction(summary: String, tokens_before: i64, first_kept: Option<EntryId>) -> Compaction {
    Compaction {
        summary,
        first_kept,
        tokens_before,
        files: FileLists::default(),
        details: None,
        from_extension: false,
        usage: None,
        system: None,
    }
}
