//! One message and its answer, for scripts: said once, followed to its end.
//!
//! The answer is printed as it comes, and nothing else is: what is asked of a person and what is merely worth knowing goes
//! to standard error. If the engine ends in the middle, the next one is found or started, and the message is sent again under
//! the same id.

use std::collections::HashSet;

use jiff::Timestamp;
use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::request::{
    CancelQueued, Edit, IfRunning, Interrupt, Resume, Retry, SayQueued, Send, VersionTo,
};
use offshoot_api::views::{AskView, AskingView, BlockView, BodyView, EntryView, ModelView, PromptView};
use offshoot_api::{ApiError, ErrorCode, Event, Point, Request, Response};
use offshoot_session::{SessionId, Stamps};
use serde_json::{Value, json};
use tokio::signal::unix::Signal;

use super::edit::Wording;
use super::head::session_note;
use super::json::{printed_line, printed_object};
use crate::Answer;
use crate::args::{ChosenArgs, JsonShape};
use crate::engine::{Reached, reach};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::last_used;
use crate::refusals::{explained, no_agent};
use crate::talk::asking::{Answered, ctrl_c, unless_called_off};
use crate::talk::given::given;
use crate::talk::looking_on::{LookingOn, worth_knowing};
use crate::talk::printing::Printing;
use crate::talk::sign_in::SignInOutput;
use crate::talk::suggested::suggested;
use crate::talk::telling::{Prompts, Telling};
use crate::talk::{open, open_turn, refused, unexpected, wait_for};
use crate::text::{harmless_command, harmless_line};
use crate::which::short;
use crate::words::chatting::goes_on_in;
use crate::words::{STOPPED_DURING, scripts, talking as words};

/// What is said, and how its answer is printed.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) session: SessionId,
    pub(super) saying: Saying,
    pub(super) if_running: IfRunning,
    pub(super) json: Option<JsonShape>,
}

#[derive(Debug)]
pub(super) enum Saying {
    /// Below the head, or below a point.
    New { prompt: PromptView, at: Option<Point>, chosen: Chosen },
    /// In the place of an old prompt.
    Version { at: Point, wording: Wording, chosen: Chosen, to: VersionTo },
    /// The same once more.
    Again { at: Point, chosen: Chosen, to: VersionTo },
    /// The prompt at the head, which nobody has answered.
    Unanswered,
    /// What is held in the queue.
    Queued { id: String },
}

/// Who answers from here on, where it is said.
#[derive(Clone, Debug, Default)]
pub(super) struct Chosen {
    pub(super) agent: Option<String>,
    pub(super) model: Option<ModelView>,
}

impl Chosen {
    pub(super) fn of(args: &ChosenArgs) -> Self {
        Self { agent: args.agent.clone(), model: args.model.clone() }
    }
}

impl Saying {
    fn chosen(&self) -> Option<&Chosen> {
        match self {
            Self::New { chosen, .. } | Self::Version { chosen, .. } | Self::Again { chosen, .. } => {
                Some(chosen)
            }
            Self::Unanswered | Self::Queued { .. } => None,
        }
    }
}

/// Says it and prints the answer.
pub(super) fn answered(message: Message, here: &Here) -> Result<Answer, Failure> {
    let (turn, has_turn) = match &message.saying {
        Saying::Queued { id } => (id.clone(), true),
        Saying::New { .. } | Saying::Version { .. } | Saying::Again { .. } | Saying::Unanswered => {
            (here.stamps().turn_id().to_string(), false)
        }
    };
    wait_for(async {
        let mut sending = Sending {
            message,
            turn,
            has_turn,
            here,
            heard: Heard::default(),
            telling: Telling::new(&here.look),
            sign_in: SignInOutput::default(),
            out: Printing::begin(),
        };
        let is_read = sending.message.json.is_none();
        let answer = sending.answered().await;
        // The message may have begun another one.
        let session = sending.message.session.clone();
        let answer = answer.map(|mut answer| {
            answer.notes.extend(session_note(here, &session).filter(|_| is_read));
            answer
        });
        let mut ctrl_c = ctrl_c()?;
        tokio::select! {
            printed = sending.out.finish() => answer.and_then(|answer| printed.map(|()| answer)),
            // Nobody reads it.
            _ = ctrl_c.recv() => Ok(Answer { ends: Some(Exit::Interrupted), ..Answer::default() }),
        }
    })
}

/// So often the next engine is looked for.
const TRIES: u32 = 5;

/// One message on its way.
struct Sending<'a> {
    message: Message,
    /// The id of the message is that of its turn: said again to the next engine, it counts once.
    turn: String,
    /// It had this turn before it was asked for: a prompt that nobody has answered, or what waits.
    has_turn: bool,
    here: &'a Here,
    heard: Heard,
    telling: Telling<'a>,
    sign_in: SignInOutput,
    out: Printing,
}

enum Stopped {
    /// The engine is not there any more.
    Lost,
    /// More was said than could be kept for whoever reads slowly; the engine is there.
    Behind,
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// How far the answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goes {
    /// Another turn has to end first.
    Waits,
    IsAnswered,
}

impl Sending<'_> {
    async fn answered(&mut self) -> Result<Answer, Failure> {
        let mut is_again = false;
        for _ in 0..=TRIES {
            let reached = reach(self.here).await?;
            let mut looking_on = None;
            let spoken = loop {
                let spoken = self.speak(&reached, is_again, &mut looking_on).await;
                is_again = true;
                if !matches!(spoken, Err(Stopped::Behind)) {
                    break spoken;
                }
            };
            self.leave(reached, looking_on).await?;
            match spoken {
                Ok(answer) => return Ok(answer),
                Err(Stopped::Failed(failure)) => return Err(failure),
                Err(Stopped::Lost | Stopped::Behind) => {
                    self.out.print_beside(&format!("{}\n", words::SENT_AGAIN))
                }
            }
        }
        Err(refused(&ApiError::new(ErrorCode::Disconnected, words::ENGINE_GONE)))
    }

    async fn speak(
        &mut self,
        reached: &Reached,
        is_again: bool,
        looking_on: &mut Option<LookingOn>,
    ) -> Result<Answer, Stopped> {
        let mut ctrl_c = ctrl_c()?;
        let session = self.message.session.to_string();
        let view = match (&self.message.saying, is_again) {
            (_, true) => open_turn(reached, &session, &self.turn).await,
            (Saying::Unanswered, false) => open(reached, &session, Some(1)).await,
            (_, false) => open(reached, &session, Some(0)).await,
        };
        let view = view.map_err(|error| self.stopped(&error))?;
        if let Saying::Unanswered = self.message.saying
            && let Some(turn) = view.branch.entries.last().and_then(turn_of_prompt).filter(|_| !is_again)
        {
            (self.turn, self.has_turn) = (turn, true);
        }
        let following = LookingOn::after(reached, &session, view.seq, self.here.look.ascii).await;
        let events = looking_on.insert(following.map_err(|error| self.stopped(&error))?);
        let is_running = view.turns.iter().any(|running| running.turn == self.turn);
        for entry in view.branch.entries {
            self.catch_up(entry, is_running)?;
        }
        let request = if is_again { self.said_before() } else { self.request() };
        let Answered { answer, came_too_late } = unless_called_off(reached, request, &mut ctrl_c).await?;
        let sent = match answer {
            Ok(Response::Changed(sent)) => {
                last_used::record_stored(self.here, &sent.continues_in().into());
                *sent
            }
            Ok(other) => return Err(unexpected(other).into()),
            Err(error) => {
                events.catch_up(reached).await;
                return Err(self.stopped(&error));
            }
        };
        self.heard.prompt = sent.prompt.clone().or(self.heard.prompt.take());
        self.turn = sent.turn.clone().unwrap_or_else(|| self.turn.clone());
        if let Some(child) = &sent.new_session {
            self.message.session = child.id.as_str().into();
            self.note(&goes_on_in(&short(self.here, &self.message.session)))?;
            // What was said there meanwhile is caught up with.
            return Err(Stopped::Behind);
        }
        let turn = self.turn.clone();
        // Where it ran when it was looked at, its end is among the events that follow, behind its last words.
        if let Some(end) = sent.end.clone().filter(|_| !is_running) {
            return Ok(self.ended_meanwhile(&end)?);
        }
        let mut goes = if sent.queued.is_some() { Goes::Waits } else { Goes::IsAnswered };
        let mut is_stopped = came_too_late;
        loop {
            let has_room = self.out.has_room();
            let event = tokio::select! {
                event = events.next(), if !is_stopped && has_room => event,
                () = self.out.room(), if !is_stopped && !has_room => continue,
                () = stop(&mut ctrl_c, is_stopped) => {
                    is_stopped = false;
                    self.give_up(reached, &turn, goes).await.map_err(|error| self.stopped(&error))?;
                    match goes {
                        Goes::Waits => return Ok(Answer { ends: Some(Exit::Interrupted), ..Answer::default() }),
                        Goes::IsAnswered => continue,
                    }
                }
            };
            let event = event.map_err(|error| self.stopped(&error))?;
            // What the queue was before the message was put into it says nothing about the message.
            let is_about_it = event.seq > sent.seq;
            if let (EventKind::Queue { queue }, Goes::Waits, true) = (&event.kind, goes, is_about_it)
                && queue.iter().all(|waits| waits.id != turn)
            {
                return Err(Failure::refused(words::TAKEN_OUT).into());
            }
            if let (EventKind::Queue { queue }, Goes::Waits, true) = (&event.kind, goes, is_about_it)
                && queue.iter().any(|waits| waits.id == turn && waits.held)
                && self.give_up(reached, &turn, goes).await.is_ok()
            {
                return Err(Failure::refused(words::NOT_SENT).into());
            }
            if matches!(event.kind, EventKind::Closed) {
                return Err(Stopped::Lost);
            }
            if event.turn.as_ref() != Some(&turn) {
                if let Some(text) = worth_knowing(&event).filter(|_| event.turn.is_none()) {
                    self.note(&text)?;
                }
                continue;
            }
            goes = Goes::IsAnswered;
            self.hear(&event)?;
            if let EventKind::TurnEnded { end, .. } = &event.kind {
                return Ok(ended(end, &self.heard, &self.message));
            }
        }
    }

    /// Waits until hooks have been told of the turn, so that what goes wrong there is reported.
    async fn leave(&mut self, reached: Reached, looking_on: Option<LookingOn>) -> Result<(), Failure> {
        match looking_on {
            Some(looking_on) => {
                if self.message.json.is_none() {
                    self.out.print(&self.telling.line_end())?;
                }
                looking_on.leave(reached).await;
            }
            None => reached.leave().await,
        }
        Ok(())
    }

    fn hear(&mut self, event: &Event) -> Result<(), Failure> {
        self.heard.take(event);
        if self.message.json == Some(JsonShape::Lines) {
            self.out.print(&printed_line(&json!(event)))?;
        }
        let is_read = self.message.json.is_none();
        match &event.kind {
            EventKind::Asked { ask } => {
                if let (AskingView::Question { .. }, true) = (&ask.asking, is_read) {
                    self.out.print(&self.telling.tell(event, Prompts::Seen))?;
                }
                let session = short(self.here, &self.message.session);
                self.note(&how_to_answer(ask, &session, self.here.look.ascii))?;
                suggestions(ask).iter().try_for_each(|suggestion| self.note(suggestion))
            }
            EventKind::SignIn { lines, done, .. } => {
                let new = self.sign_in.new_lines(lines, *done);
                new.iter().try_for_each(|line| self.note(line))
            }
            EventKind::Notice { text } => self.note(&words::sentence(text)),
            EventKind::HookFailed { hook, message } => self.note(&words::hook_failed(hook, message)),
            _ if is_read => self.out.print(&self.telling.tell(event, Prompts::Seen)),
            _ => Ok(()),
        }
    }

    /// Beside the answer, for whoever looks on.
    fn note(&mut self, text: &str) -> Result<(), Failure> {
        if self.message.json.is_none() {
            self.out.print(&self.telling.line_end())?;
        }
        self.out.print_beside(&format!("{}\n", harmless_line(text, self.here.look.ascii)));
        Ok(())
    }

    /// What was said of the answer while nobody listened.
    fn catch_up(&mut self, entry: EntryView, is_running: bool) -> Result<(), Failure> {
        if entry.turn.as_deref() != Some(self.turn.as_str()) || self.heard.knows(&entry.id) {
            return Ok(());
        }
        let at = entry.at;
        // What is still being said has no end yet, and is told for good when it has.
        let kind = match &entry.body {
            BodyView::Reply { stop: None, .. } if is_running => EventKind::Live { entry },
            _ => {
                self.telling.is_found(&entry);
                EventKind::Entry { entry, replaces: None }
            }
        };
        self.hear(&self.event(at, kind))
    }

    /// The turn did not outlive its engine, or ended before the next one was found.
    fn ended_meanwhile(&mut self, end: &TurnEnd) -> Result<Answer, Failure> {
        let now = self.here.stamps().now();
        self.hear(&self.event(now, EventKind::TurnEnded { end: end.clone(), cost: None }))?;
        // Where the branch was caught up with, it has said so.
        if *end == TurnEnd::Interrupted && !self.heard.is_cut_off {
            self.note(STOPPED_DURING)?;
        }
        Ok(ended(end, &self.heard, &self.message))
    }

    /// As if it were heard now.
    fn event(&self, at: Timestamp, kind: EventKind) -> Event {
        let (session, turn) = (self.message.session.to_string(), Some(self.turn.clone()));
        Event { seq: 0, session, turn, sub_agent: None, at, kind }
    }

    fn request(&self) -> Request {
        let (session, client_id) = (self.message.session.to_string(), Some(self.turn.clone()));
        let if_running = self.message.if_running;
        match &self.message.saying {
            Saying::New { prompt, at, chosen } => Request::Send(Send {
                session,
                prompt: prompt.clone(),
                at: at.clone(),
                agent: chosen.agent.clone(),
                model: chosen.model.clone(),
                if_running,
                client_id,
                branching: None,
            }),
            Saying::Version { at, wording, chosen, to } => Request::Edit(Edit {
                session,
                at: at.clone(),
                to: *to,
                agent: chosen.agent.clone(),
                model: chosen.model.clone(),
                if_running,
                client_id,
                ..wording.edit()
            }),
            Saying::Again { at, chosen, to } => Request::Retry(Retry {
                session,
                at: at.clone(),
                to: *to,
                agent: chosen.agent.clone(),
                model: chosen.model.clone(),
                if_running,
                client_id,
                ..Retry::default()
            }),
            Saying::Unanswered => {
                let client_id = client_id.filter(|_| !self.has_turn);
                Request::Resume(Resume { session, at: None, client_id })
            }
            Saying::Queued { id } => Request::SayQueued(SayQueued { session, queued: Some(id.clone()) }),
        }
    }

    /// The same once more: where it was said its turn is known by its id, and tells what became of it.
    fn said_before(&self) -> Request {
        match &self.message.saying {
            Saying::Unanswered | Saying::Queued { .. } if self.has_turn => {
                let (session, client_id) = (self.message.session.to_string(), Some(self.turn.clone()));
                Request::Send(Send { session, client_id, ..Send::default() })
            }
            _ => self.request(),
        }
    }

    async fn give_up(&self, reached: &Reached, turn: &str, goes: Goes) -> Result<(), ApiError> {
        let (session, turn) = (self.message.session.to_string(), turn.to_owned());
        let request = match goes {
            Goes::IsAnswered => Request::Interrupt(Interrupt { session, turn: Some(turn) }),
            Goes::Waits => Request::CancelQueued(CancelQueued { session, queued: turn }),
        };
        reached.call(request).await.map(|_| ())
    }

    fn in_words(&self, error: &ApiError) -> Failure {
        let (here, session) = (self.here, &self.message.session);
        let known = match (&self.message.saying, error.code) {
            // It was said again by the id under which it waited.
            (Saying::Queued { .. }, ErrorCode::Blank) => Some(Failure::refused(words::TAKEN_OUT)),
            _ => None,
        };
        known.unwrap_or_else(|| explained(here, session, error))
    }

    fn stopped(&self, error: &ApiError) -> Stopped {
        match error.code {
            ErrorCode::Disconnected => Stopped::Lost,
            ErrorCode::Gone => Stopped::Behind,
            ErrorCode::NoAgent => {
                let chosen = self.message.saying.chosen().and_then(|chosen| chosen.agent.as_deref());
                Stopped::Failed(no_agent(self.here, &self.message.session, chosen))
            }
            _ => Stopped::Failed(self.in_words(error)),
        }
    }
}

fn turn_of_prompt(entry: &EntryView) -> Option<String> {
    match entry.body {
        BodyView::Prompt(_) => entry.turn.clone(),
        _ => None,
    }
}

/// Somebody presses Ctrl-C, or has done so when it could not be heard.
async fn stop(ctrl_c: &mut Signal, is_stopped: bool) {
    if !is_stopped {
        ctrl_c.recv().await;
    }
}

/// What scripts want to know of an answer.
#[derive(Debug, Default)]
struct Heard {
    turn: Option<String>,
    prompt: Option<String>,
    known: HashSet<String>,
    entries: Vec<Value>,
    /// Entries of agents that the agent has started, each with the call that did.
    sub_agents: Vec<Value>,
    text: String,
    /// It was said that the answer stops in the middle.
    is_cut_off: bool,
}

impl Heard {
    fn knows(&self, entry: &str) -> bool {
        self.known.contains(entry)
    }

    fn take(&mut self, event: &Event) {
        self.turn.clone_from(&event.turn);
        let EventKind::Entry { entry, .. } = &event.kind else { return };
        self.known.insert(entry.id.clone());
        if let Some(call) = &event.sub_agent {
            self.sub_agents.push(json!({ "call": call, "entry": entry }));
            return;
        }
        match &entry.body {
            BodyView::Prompt(_) => self.prompt = Some(entry.id.clone()),
            BodyView::Interrupted { .. } => self.is_cut_off = true,
            BodyView::Reply { blocks, .. } => {
                for block in blocks {
                    if let BlockView::Text { text } = block {
                        self.text.push_str(text);
                    }
                }
            }
            _ => {}
        }
        self.entries.push(json!(entry));
    }
}

fn ended(end: &TurnEnd, heard: &Heard, message: &Message) -> Answer {
    let mut answer = Answer::default();
    if message.json == Some(JsonShape::Object) {
        answer.text = printed_object(json!({
            "session": message.session.as_str(),
            "turn": heard.turn,
            "prompt": heard.prompt,
            "end": end,
            "text": heard.text,
            "entries": heard.entries,
            "sub_agents": heard.sub_agents,
        }));
    }
    match end {
        TurnEnd::Done | TurnEnd::Limit => {}
        // It is in the text already, and the code says it to scripts.
        TurnEnd::Interrupted => answer.ends = Some(Exit::Interrupted),
        TurnEnd::Failed { .. } => answer.ends = Some(Exit::Failed),
    }
    answer
}

fn how_to_answer(ask: &AskView, session: &str, ascii: bool) -> String {
    match &ask.asking {
        AskingView::Permission { tool, input, .. } => {
            let given = harmless_command(&given(input), ascii);
            words::waits_for_answer(session, &words::asks_permission(tool, &given))
        }
        AskingView::Question { .. } => words::waits_for_choice(session),
    }
}

/// What the agent would change in its own settings, each with how to allow it.
fn suggestions(ask: &AskView) -> Vec<String> {
    let AskingView::Permission { suggestions, .. } = &ask.asking else { return Vec::new() };
    let told = suggestions.iter().enumerate();
    told.map(|(at, suggestion)| scripts::suggestion(at + 1, &suggested(suggestion))).collect()
}
