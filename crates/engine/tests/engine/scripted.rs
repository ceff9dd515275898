//! An agent that says what a test tells it to.
//!
//! What it says to a prompt is a list of [`Do`]s; to any other prompt it answers `re: ` and the words. It keeps a
//! session of its own for each conversation, and writes down what it is told.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use offshoot_agents::{Agent, AgentConnection, ConnectError, Connecting, Look, NotRenamed, Rename, Seen};
use offshoot_session::agent::{
    Abilities, AgentEvent, AgentEventKind, AgentInfo, AgentInput, AgentStart, AgentTurn, AgentTurnEnd,
    ConnectionEvent, Environment, FromAgent, Lease, Speaker,
};
use offshoot_session::asks::{Asking, Permission};
use offshoot_session::handoff::Handoff;
use offshoot_session::render::prompts::SUMMARIZER;
use offshoot_session::{
    AgentSessionId, Block, Body, EntryId, MessageKey, Reply, Setting, ToolResult, ToolUse, TurnId, text_of,
};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};

#[derive(Clone, Debug)]
pub(crate) enum Do {
    Say(AgentEventKind),
    /// Said by a sub-agent that this call has started.
    SubSay(&'static str, AgentEventKind),
    /// Reports this about its connection.
    Report(ConnectionEvent),
    /// The turn ends here; what follows happens while it is idle.
    End,
    /// Said in a turn that it begins by itself, by its number.
    Alone(u32, AgentEventKind),
    /// Waits until the test lets it go on.
    Gate,
    /// Asks whether it may run this command, and goes on when that is answered and confirmed.
    AskToRun(&'static str),
    /// Asks this, and goes on when that is answered and confirmed.
    Ask(Asking),
    /// Goes away without a word.
    Vanish,
    /// Hears nothing any more, and says nothing.
    Deaf,
}

#[derive(Debug)]
pub(crate) struct ScriptedAgent {
    pub(crate) can: Abilities,
    pub(crate) refuses: Mutex<bool>,
    /// Is looked for and never reached.
    pub(crate) hides: Mutex<bool>,
    /// What was lent to processes that were ended while they started and are not gone yet.
    pub(crate) leases: Mutex<Vec<Lease>>,
    /// Those who look for it.
    looked_for: Arc<()>,
    script: Arc<Mutex<HashMap<String, Vec<Do>>>>,
    told: Arc<Mutex<Vec<String>>>,
    sessions: Mutex<u32>,
    /// With what it was reached last.
    reached_with: Mutex<Vec<Setting>>,
    /// In which environment each conversation was started.
    pub(crate) environments: Mutex<Vec<Environment>>,
    /// What looking at its transcripts gives.
    pub(crate) seen: Mutex<Seen>,
    pub(crate) renamed: Mutex<Vec<String>>,
    /// The prompts it was sent, with the ids under which they came.
    pub(crate) delivered: Arc<Mutex<Vec<(EntryId, EntryId)>>>,
    gate: Arc<Semaphore>,
    /// Conversations that are going on.
    open: Arc<()>,
}

impl ScriptedAgent {
    pub(crate) fn new() -> Self {
        Self {
            can: Abilities {
                many_turns: true,
                resume: true,
                interrupt: true,
                permissions: true,
                ..Abilities::default()
            },
            refuses: Mutex::new(false),
            hides: Mutex::new(false),
            leases: Mutex::default(),
            looked_for: Arc::default(),
            script: Arc::default(),
            told: Arc::default(),
            sessions: Mutex::default(),
            reached_with: Mutex::default(),
            environments: Mutex::default(),
            seen: Mutex::default(),
            renamed: Mutex::default(),
            delivered: Arc::default(),
            gate: Arc::new(Semaphore::new(0)),
            open: Arc::default(),
        }
    }

    pub(crate) fn on(self, prompt: &str, does: Vec<Do>) -> Self {
        self.also_on(prompt, does);
        self
    }

    pub(crate) fn also_on(&self, prompt: &str, does: Vec<Do>) {
        self.script.lock().unwrap().insert(prompt.to_owned(), does);
    }

    pub(crate) fn open_gate(&self) {
        self.gate.add_permits(1);
    }

    /// What it was told since it was asked last.
    pub(crate) fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }

    /// The settings with which it was reached last.
    pub(crate) fn settings_of_the_last(&self) -> Vec<Setting> {
        self.reached_with.lock().unwrap().clone()
    }

    pub(crate) fn conversations(&self) -> usize {
        Arc::strong_count(&self.open) - 1
    }

    /// How many look for it and do not find it.
    pub(crate) fn is_looked_for(&self) -> usize {
        Arc::strong_count(&self.looked_for) - 1
    }

    fn session_of(&self, start: &AgentStart) -> AgentSessionId {
        match &start.handoff {
            Handoff::Continue { session, .. } => session.clone(),
            Handoff::New { .. }
            | Handoff::Fork { .. }
            | Handoff::Rebuild { .. }
            | Handoff::Replay { .. }
            | Handoff::Stateless => {
                let mut sessions = self.sessions.lock().unwrap();
                *sessions += 1;
                format!("agent-{sessions}").into()
            }
        }
    }
}

impl Agent for ScriptedAgent {
    fn name(&self) -> &str {
        "scripted"
    }

    fn title(&self) -> &str {
        "Scripted"
    }

    fn abilities(&self, _model: Option<&offshoot_session::Model>) -> Abilities {
        self.can.clone()
    }

    fn look(&self, look: &Look<'_>) -> Seen {
        let mut seen = self.seen.lock().unwrap().clone();
        seen.caught_up.entries.retain(|entry| !(look.is_known)(&entry.id));
        seen
    }

    fn refuses(&self, text: &str) -> Option<String> {
        (text == REFUSED).then(|| format!("`{REFUSED}` is not sent to Scripted"))
    }

    fn rename(&self, rename: &Rename<'_>) -> Result<bool, NotRenamed> {
        self.renamed.lock().unwrap().push(format!("{}: {}", rename.session, rename.title));
        Ok(true)
    }

    fn connect(&self, start: AgentStart) -> Connecting<'_> {
        let way = match &start.handoff {
            Handoff::New { .. } => "new session".to_owned(),
            Handoff::Continue { session, .. } => format!("continue {session}"),
            Handoff::Fork { from, at: None, .. } => format!("fork {from}"),
            Handoff::Fork { from, at: Some(message), .. } => format!("fork {from} at {message}"),
            Handoff::Rebuild { .. } => "rebuilt".to_owned(),
            Handoff::Replay { .. } => format!("replayed {} entries", start.context.entries().count()),
            Handoff::Stateless => "stateless".to_owned(),
        };
        self.told.lock().unwrap().push(format!("connect: {way}"));
        self.reached_with.lock().unwrap().clone_from(&start.settings);
        self.environments.lock().unwrap().push(start.environment.clone());
        if *self.refuses.lock().unwrap() {
            let refused = ConnectError::NotInstalled { agent: "scripted".to_owned(), install: None };
            return Box::pin(async { Err(refused) });
        }
        if *self.hides.lock().unwrap() {
            self.leases.lock().unwrap().push(start.lease);
            let looks = self.looked_for.clone();
            return Box::pin(async move {
                let _looks = looks;
                std::future::pending().await
            });
        }
        let session = self.session_of(&start);
        let talk = Talk {
            session,
            script: self.script.clone(),
            told: self.told.clone(),
            gate: self.gate.clone(),
            delivered: self.delivered.clone(),
            _open: self.open.clone(),
        };
        Box::pin(async { Ok(AgentConnection::served_by(|inputs, events| talk.serve(inputs, events))) })
    }
}

struct Talk {
    session: AgentSessionId,
    script: Arc<Mutex<HashMap<String, Vec<Do>>>>,
    told: Arc<Mutex<Vec<String>>>,
    gate: Arc<Semaphore>,
    delivered: Arc<Mutex<Vec<(EntryId, EntryId)>>>,
    _open: Arc<()>,
}

/// Why it stopped in the middle.
enum Cut {
    Interrupted,
    Gone,
    /// It has ended the turn itself.
    Ended,
}

impl Talk {
    async fn serve(self, mut inputs: mpsc::Receiver<AgentInput>, events: mpsc::Sender<FromAgent>) {
        let mut later = VecDeque::new();
        loop {
            let input = match later.pop_front() {
                Some(input) => input,
                None => match inputs.recv().await {
                    Some(input) => input,
                    None => return,
                },
            };
            let AgentInput::Prompt { turn, prompt, entry, delivered_as, before } = input else {
                self.note(&input);
                if let AgentInput::Answer { turn, request, .. } = input {
                    let confirmed = FromAgent::turn(turn, AgentEventKind::AskConfirmed { request });
                    let _ = events.send(confirmed).await;
                }
                continue;
            };
            self.delivered.lock().unwrap().push((entry, delivered_as));
            let unseen = before.iter().map(|unseen| format!("unseen: {}", unseen.entry.body.text()));
            self.told.lock().unwrap().extend(unseen);
            let words = summary_or(text_of(&prompt.blocks));
            self.told.lock().unwrap().push(format!("prompt: {words}"));
            let cut = self.answer(&turn, &words, &mut inputs, &events, &mut later).await;
            let end = match cut {
                Ok(()) => AgentEventKind::Ended(AgentTurnEnd::Done),
                Err(Cut::Interrupted) => AgentEventKind::Ended(AgentTurnEnd::Interrupted),
                Err(Cut::Gone) => return,
                Err(Cut::Ended) => continue,
            };
            if events.send(FromAgent::turn(turn, end)).await.is_err() {
                return;
            }
        }
    }

    async fn answer(
        &self,
        turn: &TurnId,
        words: &str,
        inputs: &mut mpsc::Receiver<AgentInput>,
        events: &mpsc::Sender<FromAgent>,
        later: &mut VecDeque<AgentInput>,
    ) -> Result<(), Cut> {
        let say = async |said: AgentEventKind| {
            events.send(FromAgent::turn(turn.clone(), said)).await.map_err(|_| Cut::Gone)
        };
        let info = AgentInfo { session: Some(self.session.clone()), ..AgentInfo::default() };
        let opened = FromAgent::Connection(ConnectionEvent::Opened(info));
        events.send(opened).await.map_err(|_| Cut::Gone)?;
        say(AgentEventKind::STARTED).await?;
        let does = self.script.lock().unwrap().get(words).cloned();
        let Some(does) = does else {
            return say(whole(&format!("re: {words}"))).await;
        };
        for (number, step) in does.iter().enumerate() {
            match step {
                Do::Say(said) => say(said.clone()).await?,
                Do::End => say(AgentEventKind::Ended(AgentTurnEnd::Done)).await?,
                Do::Alone(number, said) => {
                    let (turn, speaker) = (AgentTurn::SelfStarted(*number), Speaker::Agent);
                    let event = AgentEvent { turn, speaker, kind: said.clone() };
                    events.send(FromAgent::Turn(event)).await.map_err(|_| Cut::Gone)?;
                }
                Do::SubSay(call, said) => {
                    let event = AgentEvent::of_sub_agent(turn.clone(), (*call).into(), said.clone());
                    events.send(FromAgent::Turn(event)).await.map_err(|_| Cut::Gone)?;
                }
                Do::Report(event) => {
                    let event = FromAgent::Connection(event.clone());
                    events.send(event).await.map_err(|_| Cut::Gone)?;
                }
                Do::Gate => {
                    tokio::select! {
                        permit = self.gate.acquire() => permit.map_err(|_| Cut::Gone)?.forget(),
                        cut = self.wait(inputs, later, |_| false) => return Err(cut.unwrap_or(Cut::Gone)),
                    }
                }
                Do::AskToRun(_) | Do::Ask(_) => {
                    let request = format!("run-{number}");
                    let asking = match step {
                        Do::Ask(asking) => asking.clone(),
                        Do::AskToRun(command) => to_run(command),
                        other => panic!("{other:?} asks nothing"),
                    };
                    say(AgentEventKind::Ask { request: request.clone(), ask: asking }).await?;
                    let is_answer = |input: &AgentInput| matches!(input, AgentInput::Answer { request: of, .. } if *of == request);
                    if let Some(cut) = self.wait(inputs, later, is_answer).await {
                        return Err(cut);
                    }
                    say(AgentEventKind::AskConfirmed { request }).await?;
                }
                Do::Vanish => return Err(Cut::Gone),
                Do::Deaf => std::future::pending().await,
            }
        }
        let has_ended = does.iter().any(|step| matches!(step, Do::End));
        if has_ended { Err(Cut::Ended) } else { Ok(()) }
    }

    /// Until it is told what it waits for. `None`: it was.
    async fn wait(
        &self,
        inputs: &mut mpsc::Receiver<AgentInput>,
        later: &mut VecDeque<AgentInput>,
        is_it: impl Fn(&AgentInput) -> bool,
    ) -> Option<Cut> {
        loop {
            let Some(input) = inputs.recv().await else { return Some(Cut::Gone) };
            self.note(&input);
            match input {
                AgentInput::Interrupt { .. } => return Some(Cut::Interrupted),
                input if is_it(&input) => return None,
                AgentInput::Prompt { .. } => later.push_back(input),
                AgentInput::Answer { .. }
                | AgentInput::StopTask(_)
                | AgentInput::Configure(_)
                | AgentInput::Rename(_) => {}
            }
        }
    }

    fn note(&self, input: &AgentInput) {
        let told = match input {
            AgentInput::Prompt { .. } => return,
            AgentInput::Answer { request, answer, .. } => format!("answer {request}: {answer:?}"),
            AgentInput::Interrupt { .. } => "interrupt".to_owned(),
            AgentInput::Configure(settings) => format!("configure: {settings:?}"),
            AgentInput::StopTask(task) => format!("stop {task}"),
            AgentInput::Rename(title) => format!("rename: {title}"),
        };
        self.told.lock().unwrap().push(told);
    }
}

pub(crate) fn to_run(command: &str) -> Asking {
    Asking::Permission(Permission {
        tool: "shell".into(),
        input: json!({ "command": command }),
        call: None,
        reason: None,
        suggestions: Vec::new(),
    })
}

/// A message that the agent does not take.
pub(crate) const REFUSED: &str = "/resume";

/// Under this name a summary is asked for.
pub(crate) const SUMMARY: &str = "<summary>";

fn summary_or(words: String) -> String {
    if words.starts_with(SUMMARIZER) { SUMMARY.to_owned() } else { words }
}

/// A final reply without live text.
pub(crate) fn whole(text: &str) -> AgentEventKind {
    let reply = Reply { blocks: vec![Block::Text(text.to_owned())], ..Reply::default() };
    AgentEventKind::Entry { id: None, message: None, body: Body::Reply(reply) }
}

/// A final reply that calls a tool.
pub(crate) fn calls(
    message: impl Into<MessageKey>,
    id: &str,
    name: &str,
    input: serde_json::Value,
) -> AgentEventKind {
    let tool_use = ToolUse { id: id.into(), name: name.into(), input };
    let reply = Reply { blocks: vec![Block::ToolUse(tool_use)], ..Reply::default() };
    AgentEventKind::entry(message, Body::Reply(reply))
}

pub(crate) fn result_of(result: ToolResult) -> AgentEventKind {
    AgentEventKind::Entry { id: None, message: None, body: Body::ToolResult(result) }
}
