//! The protocol of the CLI as a machine: lines and inputs go in, [`Act`]s come out. It does no IO and reads no clock; the
//! driver performs the acts in order and tells when a timer has elapsed.
//!
//! | idea | module |
//! |---|---|
//! | what each kind of line means | [`lines`] |
//! | which turn runs | [`turns`] |
//! | the blocks of a message, and the one that is kept back | [`messages`] |
//! | lines as entries of the transcript | [`entries`] |
//! | prompts, slash commands, injected entries | [`prompt`] |
//! | permissions and questions | [`asks`] |
//! | sub-agents and background work | [`tasks`] |
//! | failures, usage, settings, what the CLI says of itself | [`failure`], [`usage`], [`settings`], [`about`] |

mod about;
mod asks;
mod entries;
mod failure;
mod json;
#[cfg(any(test, feature = "laws"))]
#[cfg_attr(not(feature = "laws"), expect(unreachable_pub, reason = "the fuzz target reaches it"))]
pub(super) mod laws;
mod lines;
mod messages;
mod prompt;
mod requests;
mod settings;
mod tasks;
#[cfg(test)]
mod tests;
mod turns;
mod usage;

use std::collections::BTreeMap;
use std::time::Duration;

use offshoot_session::agent::{
    AgentEvent, AgentEventKind, AgentFailure, AgentInfo, AgentInput, AgentNotice, AgentTurn, AgentTurnEnd,
    ConnectionEvent, ExitStatus, FailureKind, FromAgent, Speaker, TurnCause,
};
use offshoot_session::{AgentSessionId, Missing, Model, Prompt, Provenance, Setting, ToolCallId, TurnId};
use serde_json::{Value, json};
use tracing::debug;

use super::launch::Version;
use about::About;
use asks::Pending;
use messages::Writing;
use prompt::Slash;
pub(super) use prompt::{is_command, refusal};
use requests::{Purpose, Requests};
use settings::Change;
use tasks::Tasks;
use turns::{Delivery, Turns};
use usage::Totals;

/// As people call it.
const TITLE: &str = "Claude Code";

/// The first version that is known to name the prompts of a request.
const NAMES_PROMPTS: Version = Version { major: 2, minor: 1, patch: 325 };

const OPENING_WAIT: Duration = Duration::from_secs(20);
const IDLE_WAIT: Duration = Duration::from_secs(2);

/// Lines in a row that are not JSON until the output counts as garbage.
const GARBAGE_LINES: u32 = 20;

/// How a line begins that repeats what Claude Code has written into its transcript. It has up to 150 KB for a turn, and
/// nothing that the other lines and the transcript do not say.
const MIRROR: &[u8] = br#"{"type":"transcript_mirror""#;

/// A line of output, parsed: the part of reading it that takes long where it is long.
#[derive(Debug)]
pub(super) enum Line {
    Blank,
    /// A copy of lines of the transcript, which is not parsed.
    Mirror,
    Object(json::Map),
    /// Not JSON, or no object.
    Garbage,
}

impl Line {
    /// Without its newline.
    pub(super) fn of(line: &[u8]) -> Self {
        if line.trim_ascii().is_empty() {
            return Self::Blank;
        }
        if line.starts_with(MIRROR) {
            return Self::Mirror;
        }
        match serde_json::from_slice(line) {
            Ok(Value::Object(line)) => Self::Object(line),
            Ok(_) | Err(_) => Self::Garbage,
        }
    }
}

/// What the driver does next, in order.
#[expect(clippy::large_enum_variant, reason = "most acts are reports, and none is kept")]
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Act {
    /// One line for the CLI, with its newline.
    Write(Vec<u8>),
    Report(FromAgent),
    /// Starts a timer, or starts it again.
    Arm(Timer, Duration),
    Disarm(Timer),
    /// The process is of no use any more: end it. The next prompt starts another one.
    End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Timer {
    /// `initialize` has to be answered.
    Opening,
    /// Output is expected while a turn runs.
    Silence,
    /// An interrupted agent has to be idle.
    Idle,
}

/// What is known before the process says anything.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    /// The session that was asked for.
    pub(super) session: AgentSessionId,
    /// The session continues or forks an earlier one, whose usage the totals of the process may include.
    pub(super) is_continued: bool,
    /// The model it was launched with, if one was chosen.
    pub(super) model: Option<Model>,
    /// The permission mode it was launched with.
    pub(super) permission_mode: String,
    /// The latest setting of each kind on the branch. Those that are no launch options are sent behind `initialize`.
    pub(super) settings: Vec<Setting>,
    /// As the probe found it.
    pub(super) version: Version,
    /// How the agent came to know the branch, where that is not how it was asked to.
    pub(super) provenance: Option<Provenance>,
    pub(super) missing: Missing,
    /// So long without output while the model answers is told.
    pub(super) silence: Duration,
}

/// The state of one process.
#[derive(Debug)]
pub(super) struct Protocol {
    session: AgentSessionId,
    version: Version,
    launched_with: String,
    settings: Vec<Setting>,
    info: AgentInfo,
    /// The answer to `initialize`.
    about: Option<About>,
    has_init: bool,
    /// It ended, or is told to end.
    is_over: bool,
    is_reset: bool,
    requests: Requests,
    turns: Turns,
    writing: BTreeMap<Speaker, Writing>,
    tasks: Tasks,
    asks: Pending,
    /// Calls of tools without a result: name and input.
    calls: BTreeMap<ToolCallId, (String, Value)>,
    totals: Totals,
    /// Tokens before a compaction whose summary comes next.
    compacted: Option<i64>,
    title: Option<String>,
    garbage: u32,
    has_told_garbage: bool,
    silence: Duration,
    is_silence_armed: bool,
    /// Lines without a meaning here, by kind.
    unknown: BTreeMap<String, u64>,
    acts: Vec<Act>,
}

impl Protocol {
    pub(super) fn new(opening: Opening) -> Self {
        let info = AgentInfo {
            session: Some(opening.session.clone()),
            version: Some(opening.version.to_string()),
            model: opening.model,
            context_window: None,
            models: Vec::new(),
            permission_mode: Some(opening.permission_mode.clone()),
            account: None,
            provenance: opening.provenance,
            missing: opening.missing,
        };
        Self {
            session: opening.session,
            version: opening.version,
            launched_with: opening.permission_mode,
            settings: opening.settings,
            info,
            about: None,
            has_init: false,
            is_over: false,
            is_reset: false,
            requests: Requests::default(),
            turns: Turns::default(),
            writing: BTreeMap::new(),
            tasks: Tasks::default(),
            asks: Pending::default(),
            calls: BTreeMap::new(),
            totals: Totals::new(opening.is_continued),
            compacted: None,
            title: None,
            garbage: 0,
            has_told_garbage: false,
            silence: opening.silence,
            is_silence_armed: false,
            unknown: BTreeMap::new(),
            acts: Vec::new(),
        }
    }

    /// The first acts: `initialize` is written at once.
    pub(super) fn start(&mut self) -> Vec<Act> {
        let initialize = self.requests.send(Purpose::Initialize, &json!({ "subtype": "initialize" }));
        self.acts.extend([Act::Arm(Timer::Opening, OPENING_WAIT), initialize]);
        self.done()
    }

    /// A line of output.
    pub(super) fn line(&mut self, line: &Line) -> Vec<Act> {
        if self.is_over || matches!(line, Line::Blank) {
            return Vec::new();
        }
        match line {
            Line::Blank => {}
            Line::Mirror => self.garbage = 0,
            Line::Garbage => self.garbage(),
            Line::Object(line) => {
                self.garbage = 0;
                self.take(line);
            }
        }
        self.watch_silence(true);
        self.done()
    }

    /// A line that was too long to be kept.
    pub(super) fn line_too_long(&mut self, bytes: u64) -> Vec<Act> {
        if !self.is_over {
            let text = format!("{TITLE} wrote a line of {bytes} bytes, which is too long to be read");
            self.give_up(&AgentFailure::new(FailureKind::Protocol, text));
        }
        self.done()
    }

    pub(super) fn input(&mut self, input: AgentInput) -> Vec<Act> {
        match input {
            AgentInput::Prompt { turn, delivered_as, prompt, before, .. } => {
                let before = before.iter().filter_map(|unseen| {
                    let content = prompt::injected(&unseen.entry)?;
                    Some((unseen.delivered_as.to_string(), content))
                });
                let before = before.collect::<Vec<_>>();
                self.prompt(turn, delivered_as.as_str(), &prompt, before);
            }
            AgentInput::Answer { request, answer, .. } => {
                if let Some(response) = self.asks.answer(&request, &answer).filter(|_| !self.is_over) {
                    self.acts.push(requests::respond(&request, &response));
                }
            }
            AgentInput::Interrupt { turn } => self.interrupt_turn(&turn),
            AgentInput::StopTask(task) => {
                let request = json!({ "subtype": "stop_task", "task_id": task.as_str() });
                self.send(Purpose::StopTask, &request);
            }
            AgentInput::Configure(settings) => self.configure(&settings),
            AgentInput::Rename(title) => {
                let request = json!({ "subtype": "rename_session", "title": title });
                self.title = Some(title);
                self.send(Purpose::Rename, &request);
            }
        }
        self.watch_silence(false);
        self.done()
    }

    pub(super) fn elapsed(&mut self, timer: Timer) -> Vec<Act> {
        match timer {
            _ if self.is_over => {}
            Timer::Opening if self.about.is_some() => {}
            Timer::Opening => {
                let text = format!("{TITLE} did not answer within {} s", OPENING_WAIT.as_secs());
                self.give_up(&AgentFailure::new(FailureKind::Protocol, text));
            }
            Timer::Silence => {
                self.is_silence_armed = false;
                if self.turns.is_active() {
                    let seconds = self.silence.as_secs();
                    let text = format!("no output from {TITLE} for {seconds} s: wait, or interrupt it");
                    self.report(ConnectionEvent::Notice(AgentNotice::new(text)));
                }
            }
            Timer::Idle => self.end_interrupted(),
        }
        self.done()
    }

    /// The process is gone. What is open fails first; the last act reports the exit. Prompts that were not taken have no
    /// end: another process may take them.
    pub(super) fn exited(&mut self, status: ExitStatus, stderr: &str) -> Vec<Act> {
        self.fail_open(&status.failure(TITLE, stderr));
        self.is_over = true;
        self.watch_silence(false);
        let stderr = stderr.to_owned();
        self.report(ConnectionEvent::Exited { status, stderr });
        self.done()
    }

    /// What the CLI said about itself, once `initialize` was answered.
    pub(super) fn opened(&self) -> Option<&AgentInfo> {
        self.about.as_ref().map(|_| &self.info)
    }

    /// How many lines of each kind had no meaning here.
    #[cfg(test)]
    fn unknown(&self) -> &BTreeMap<String, u64> {
        &self.unknown
    }
}

/// Prompts and turns.
impl Protocol {
    fn prompt(&mut self, turn: TurnId, uuid: &str, prompt: &Prompt, before: Vec<(String, Value)>) {
        if self.is_over {
            let failure = AgentFailure::new(FailureKind::Process, format!("{TITLE} has ended"));
            return self.fail_prompt(turn, failure);
        }
        if self.about.as_ref().is_some_and(|about| !about.is_signed_in) {
            // A new process sees whether the person has signed in meanwhile.
            self.fail_prompt(turn, failure::not_signed_in());
            return self.end();
        }
        // The engine refuses it before it is written; a message that was written earlier may be sent again.
        if let Some(text) = prompt::refusal(&offshoot_session::text_of(&prompt.blocks)) {
            return self.fail_prompt(turn, AgentFailure::other(text));
        }
        let slash = prompt::slash_of(prompt);
        let delivery = |turn, uuid: String, content: &Value, is_command| Delivery {
            line: requests::user_line(&uuid, content, Option::is_some(&turn)),
            turn,
            uuid,
            is_command,
            is_interrupted: false,
        };
        let before = before.into_iter().map(|(uuid, content)| delivery(None, uuid, &content, false));
        self.turns.queue.extend(before);
        let is_command = slash == Slash::Passes;
        self.turns.queue.push_back(delivery(
            Some(turn),
            uuid.to_owned(),
            &prompt::content(prompt),
            is_command,
        ));
        self.deliver();
    }

    /// Writes the next line where the CLI is idle and has the settings of the turn.
    fn deliver(&mut self) {
        if self.about.is_none() || self.is_over || self.requests.has_setting() {
            return;
        }
        if let Some(line) = self.turns.next_line() {
            self.acts.push(Act::Write(line));
        }
    }

    fn initialized(&mut self, answer: Option<&json::Map>, error: Option<String>) {
        self.acts.push(Act::Disarm(Timer::Opening));
        let (Some(answer), None) = (answer, &error) else {
            let error = error.unwrap_or_else(|| "no answer".to_owned());
            let text = format!("{TITLE} did not initialize: {error}");
            return self.give_up(&AgentFailure::new(FailureKind::Protocol, text));
        };
        let about = About::of(answer);
        about.complete(&mut self.info);
        let is_signed_in = about.is_signed_in;
        self.about = Some(about);
        self.report(ConnectionEvent::Opened(self.info.clone()));
        if !is_signed_in {
            if !self.turns.queue.is_empty() {
                self.give_up(&failure::not_signed_in());
            }
            return;
        }
        let settings = std::mem::take(&mut self.settings);
        let rest = settings.into_iter().filter(|setting| matches!(setting, Setting::Thinking(Some(_))));
        let rest: Vec<_> = rest.collect();
        self.configure(&rest);
        self.deliver();
    }

    fn take_written(&mut self) {
        if self.turns.open.is_some() {
            self.close_turn_as(Ok(AgentTurnEnd::Done));
        }
        let Some(open) = self.turns.take_written() else { return };
        let (turn, is_interrupted) = (open.turn.clone(), open.is_interrupted);
        if let Some(turn) = turn {
            self.report_turn(
                &turn,
                &Speaker::Agent,
                vec![AgentEventKind::Started { cause: TurnCause::Prompt }],
            );
        }
        if is_interrupted {
            self.interrupt();
        }
    }

    /// The turn to which lines of the agent belong; begins one where the agent works without a prompt.
    fn current_turn(&mut self) -> Option<AgentTurn> {
        if let Some(turn) = self.turns.open.as_ref().and_then(|open| open.turn.clone()) {
            return Some(turn);
        }
        if self.turns.written.as_ref().is_some_and(|written| written.is_command && written.turn.is_some()) {
            self.take_written();
            return self.turns.open.as_ref().and_then(|open| open.turn.clone());
        }
        if self.turns.open.is_some() || (self.turns.has_states() && !self.turns.is_busy()) {
            return None;
        }
        let (turn, cause) = self.turns.begin_by_itself();
        self.report_turn(&turn, &Speaker::Agent, vec![AgentEventKind::Started { cause }]);
        Some(turn)
    }

    fn turn_of_sub_agents(&self) -> Option<AgentTurn> {
        let open = self.turns.open.as_ref().and_then(|open| open.turn.clone());
        open.or_else(|| self.turns.last.clone())
    }

    fn idle(&mut self) {
        self.turns.set_busy(false);
        if self.turns.open.is_some() {
            self.close_turn();
        } else if self.turns.written.as_ref().is_some_and(|written| written.is_interrupted) {
            self.drop_written();
        }
        self.deliver();
    }

    fn close_turn(&mut self) {
        let Some(open) = self.turns.close() else { return };
        let (turn, outcome) = (open.turn.clone(), open.into_outcome());
        self.finish(turn, outcome);
        if !self.turns.has_states() {
            self.deliver();
        }
    }

    fn close_turn_as(&mut self, outcome: turns::Outcome) {
        if let Some(open) = self.turns.close() {
            self.finish(open.turn, outcome);
        }
    }

    fn finish(&mut self, turn: Option<AgentTurn>, outcome: turns::Outcome) {
        self.acts.push(Act::Disarm(Timer::Idle));
        let mut events = self.writing(&Speaker::Agent).abandon();
        self.calls.clear();
        let Some(turn) = turn else { return };
        self.withdraw_asks_of(&turn);
        events.push(match outcome {
            Ok(end) => AgentEventKind::Ended(end),
            Err(failure) => AgentEventKind::Failed(failure),
        });
        self.report_turn(&turn, &Speaker::Agent, events);
    }

    /// The prompt was not sent, or not taken.
    fn fail_prompt(&mut self, turn: TurnId, failure: AgentFailure) {
        let turn = AgentTurn::Prompted(turn);
        self.report_turn(&turn, &Speaker::Agent, vec![AgentEventKind::Failed(failure)]);
    }

    /// The turn that runs fails, and its sub-agents end: the process is gone or cannot be understood.
    fn fail_open(&mut self, failure: &AgentFailure) {
        // A turn that failed before that has decided about its live text: it is void.
        let is_decided = self.turns.open.as_ref().is_some_and(|open| open.failure.is_some());
        let writing = self.writing(&Speaker::Agent);
        let cut = if is_decided { writing.abandon() } else { writing.cut() };
        for call in self.tasks.end_all() {
            let speaker = Speaker::SubAgent(call);
            let mut events = self.writing(&speaker).cut();
            events.push(AgentEventKind::Ended(AgentTurnEnd::Interrupted));
            if let Some(turn) = self.turn_of_sub_agents() {
                self.report_turn(&turn, &speaker, events);
            }
        }
        if let Some(open) = self.turns.close()
            && let Some(turn) = open.turn
        {
            self.withdraw_asks_of(&turn);
            self.report_turn(&turn, &Speaker::Agent, cut);
            let failure = open.failure.unwrap_or_else(|| failure.clone());
            self.report_turn(&turn, &Speaker::Agent, vec![AgentEventKind::Failed(failure)]);
        }
    }

    /// Prompts that were not taken fail too.
    fn fail_waiting(&mut self, failure: &AgentFailure) {
        let waiting = self.turns.written.take().into_iter().chain(std::mem::take(&mut self.turns.queue));
        let waiting: Vec<_> = waiting.filter_map(|delivery| delivery.turn).collect();
        for turn in waiting {
            self.fail_prompt(turn, failure.clone());
        }
    }

    fn give_up(&mut self, failure: &AgentFailure) {
        self.fail_open(failure);
        self.fail_waiting(failure);
        self.end();
    }

    fn end(&mut self) {
        if !std::mem::replace(&mut self.is_over, true) {
            self.watch_silence(false);
            self.acts.push(Act::End);
        }
    }
}

/// Interrupting.
impl Protocol {
    fn interrupt_turn(&mut self, turn: &AgentTurn) {
        if self.is_over {
            return;
        }
        let is_it = |delivery: &Delivery| match (turn, &delivery.turn) {
            (AgentTurn::Prompted(turn), Some(of)) => turn == of,
            (AgentTurn::Prompted(_), None) | (AgentTurn::SelfStarted(_), _) => false,
        };
        if let Some(open) = self.turns.open.as_mut().filter(|open| open.turn.as_ref() == Some(turn)) {
            open.is_interrupted = true;
            // Sub-agents still ran, so its result was not its end.
            open.outcome = None;
            self.interrupt();
        } else if let Some(written) = self.turns.written.as_mut().filter(|written| is_it(written)) {
            written.is_interrupted = true;
            self.interrupt();
        } else if let Some(at) = self.turns.queue.iter().position(is_it) {
            self.turns.queue.remove(at);
            self.report_turn(turn, &Speaker::Agent, vec![AgentEventKind::Ended(AgentTurnEnd::Interrupted)]);
        }
    }

    /// Our prompt may not be taken yet, so waiting ones are cancelled too.
    fn interrupt(&mut self) {
        self.send(Purpose::Interrupt, &json!({ "subtype": "interrupt", "cancel_queued": true }));
        self.acts.push(Act::Arm(Timer::Idle, IDLE_WAIT));
    }

    fn interrupted(&mut self, answer: Option<&json::Map>) {
        let cancelled = answer.map(|answer| json::list(answer, "cancelled")).unwrap_or_default();
        let is_cancelled = |delivery: &Delivery| {
            delivery.is_interrupted && cancelled.iter().any(|uuid| uuid.as_str() == Some(&delivery.uuid))
        };
        if self.turns.written.as_ref().is_some_and(is_cancelled) {
            self.drop_written();
            self.deliver();
        }
    }

    /// The prompt was interrupted before it was taken.
    fn drop_written(&mut self) {
        let turn = self.turns.written.take().and_then(|written| written.turn);
        self.acts.push(Act::Disarm(Timer::Idle));
        if let Some(turn) = turn {
            let ended = AgentEventKind::Ended(AgentTurnEnd::Interrupted);
            self.report_turn(&AgentTurn::Prompted(turn), &Speaker::Agent, vec![ended]);
        }
    }

    /// It did not become idle: only the end of the process stops it.
    fn end_interrupted(&mut self) {
        let is_interrupted = |open: &turns::OpenTurn| open.is_interrupted || open.failure.is_some();
        let is_open = self.turns.open.as_ref().is_some_and(is_interrupted);
        if !is_open && !self.turns.written.as_ref().is_some_and(|written| written.is_interrupted) {
            return;
        }
        // Before the turn ends: who waits for that end hears no more.
        let text = format!("{TITLE} had to be ended");
        self.report(ConnectionEvent::Notice(AgentNotice::new(text.clone())));
        match is_open {
            true => self.close_turn(),
            false => self.drop_written(),
        }
        self.give_up(&AgentFailure::new(FailureKind::Process, text));
    }
}

/// Asks and settings.
impl Protocol {
    fn confirm(&mut self, request: &str) {
        self.settle_ask(request, |request| AgentEventKind::AskConfirmed { request });
    }

    fn withdraw(&mut self, request: &str) {
        self.settle_ask(request, |request| AgentEventKind::AskWithdrawn { request });
    }

    fn settle_ask(&mut self, request: &str, event: impl FnOnce(String) -> AgentEventKind) {
        if let Some(ask) = self.asks.close(request) {
            self.report_turn(&ask.turn, &ask.speaker, vec![event(request.to_owned())]);
        }
    }

    /// The call has its result: an answer has arrived, and an ask without one is over.
    fn settle_asks_of(&mut self, call: &ToolCallId) {
        for request in self.asks.of_call(call) {
            match self.asks.is_answered(&request) {
                true => self.confirm(&request),
                false => self.withdraw(&request),
            }
        }
    }

    fn withdraw_asks_of(&mut self, turn: &AgentTurn) {
        for request in self.asks.of_turn(turn) {
            self.withdraw(&request);
        }
    }

    fn configure(&mut self, settings: &[Setting]) {
        for setting in settings {
            match settings::change(setting, self.about.as_ref(), &self.launched_with) {
                Change::Send(purpose, request) => self.send(purpose, &request),
                Change::Refuse(text) => self.report(ConnectionEvent::Notice(AgentNotice::new(text))),
                Change::Nothing => {}
            }
        }
    }
}

/// Acts.
impl Protocol {
    fn writing(&mut self, speaker: &Speaker) -> &mut Writing {
        self.writing.entry(speaker.clone()).or_default()
    }

    fn send(&mut self, purpose: Purpose, request: &Value) {
        if !self.is_over {
            let act = self.requests.send(purpose, request);
            self.acts.push(act);
        }
    }

    fn report(&mut self, event: ConnectionEvent) {
        self.acts.push(Act::Report(FromAgent::Connection(event)));
    }

    fn report_turn(&mut self, turn: &AgentTurn, speaker: &Speaker, kinds: Vec<AgentEventKind>) {
        let event = |kind| FromAgent::Turn(AgentEvent { turn: turn.clone(), speaker: speaker.clone(), kind });
        self.acts.extend(kinds.into_iter().map(|kind| Act::Report(event(kind))));
    }

    fn garbage(&mut self) {
        self.garbage += 1;
        if !std::mem::replace(&mut self.has_told_garbage, true) {
            let text = format!("{TITLE} wrote a line that is not JSON");
            self.report(ConnectionEvent::Notice(AgentNotice::new(text)));
        }
        if self.garbage >= GARBAGE_LINES {
            let text = format!("{TITLE} wrote {GARBAGE_LINES} lines in a row that are not JSON");
            self.give_up(&AgentFailure::new(FailureKind::Protocol, text));
        }
    }

    /// Output is expected while the model answers: not while a tool runs or a person has to answer.
    fn watch_silence(&mut self, is_output: bool) {
        let is_expected =
            !self.is_over && self.turns.is_active() && self.calls.is_empty() && !self.asks.is_waiting();
        if is_expected && (is_output || !self.is_silence_armed) {
            self.acts.push(Act::Arm(Timer::Silence, self.silence));
        } else if !is_expected && self.is_silence_armed {
            self.acts.push(Act::Disarm(Timer::Silence));
        }
        self.is_silence_armed = is_expected;
    }

    fn count(&mut self, kind: &str) {
        // Unknown kinds come from outside, so their number is limited.
        const KINDS: usize = 256;
        if let Some(count) = self.unknown.get_mut(kind) {
            *count += 1;
        } else if self.unknown.len() < KINDS {
            let shown: String = kind.escape_debug().take(100).collect();
            debug!(name: "line without a meaning", agent = TITLE, kind = shown);
            self.unknown.insert(kind.to_owned(), 1);
        }
    }

    fn done(&mut self) -> Vec<Act> {
        std::mem::take(&mut self.acts)
    }
}
