//! The conversation as one person sees it: which session, what runs in it, what it asks.

use std::collections::{HashSet, VecDeque};
use std::io::Write;

use offshoot_api::event::EventKind;
use offshoot_api::request::{
    Answer, Begin, Clear, Compact, Configure, Edit, Fork, ForkTo, History, IfRunning, Interrupt, Label,
    Rename, Retry, Send, Version,
};
use offshoot_api::views::{AskView, BodyView, EntryView, PromptView};
use offshoot_api::{ApiError, ErrorCode, Event, EventStream, Hint, Request, Response};
use offshoot_store::SessionStore;

use super::Goes;
use super::after::{After, refused_here};
use super::typed::{Typed, answer, typed};
use crate::args::{BranchArgs, JsonArgs, SessionArg, TreeArgs, Words};
use crate::commands::{branch, tree};
use crate::engine::{Reached, reach};
use crate::failure::Failure;
use crate::here::Here;
use crate::look::Ink;
use crate::talk::telling::{Prompts, Telling};
use crate::talk::{open, print_now as print, refused};
use crate::which::short;
use crate::words::talking as words;

/// So much of what was said before is shown to whoever comes back.
const TURNS_SHOWN: usize = 2;

/// What became of a request.
enum Called {
    Told,
    /// It was a message to a conversation that is not there any more.
    TakenBack,
}

pub(super) struct Chat<'h> {
    pub(super) here: &'h Here,
    reached: Option<Reached>,
    /// Who answers, in a session that is not begun yet.
    agent: Option<String>,
    /// It begins with the first message.
    session: Option<String>,
    pub(super) events: Option<EventStream>,
    telling: Telling<'h>,
    turns: HashSet<String>,
    asks: VecDeque<AskView>,
    /// What was said here last.
    own_prompt: Option<String>,
    is_terminal: bool,
    /// Whether the person was told that it is their turn.
    is_invited: bool,
    /// The next Ctrl-C leaves.
    is_leaving: bool,
    /// A change of which the person is to say where it goes.
    pub(super) undecided: Option<Configure>,
}

impl<'h> Chat<'h> {
    pub(super) fn new(here: &'h Here, reached: Reached, agent: Option<String>, is_terminal: bool) -> Self {
        Self {
            here,
            reached: Some(reached),
            agent,
            session: None,
            events: None,
            telling: Telling::new(&here.look),
            turns: HashSet::new(),
            asks: VecDeque::new(),
            own_prompt: None,
            is_terminal,
            is_invited: false,
            is_leaving: false,
            undecided: None,
        }
    }

    /// Opens the session, or greets where there is none yet.
    pub(super) async fn enter(&mut self, session: Option<String>) -> Result<(), Failure> {
        if let Some(session) = session {
            return self.open(&session, Some(TURNS_SHOWN)).await.map_err(|error| refused(&error));
        }
        if self.is_terminal && !self.here.look.quiet {
            self.tell(Ink::Plain, words::WELCOME)?;
        }
        let sessions = self.here.store().ok().and_then(|store| store.list().ok());
        let is_first = sessions.is_some_and(|sessions| sessions.is_empty());
        if is_first && !self.here.look.quiet {
            self.tell(Ink::Plain, words::FIRST_RUN)?;
        }
        Ok(())
    }

    pub(super) async fn leave(&mut self) {
        self.events = None;
        if let Some(reached) = self.reached.take() {
            if let Some(session) = self.session.clone().filter(|_| !self.turns.is_empty()) {
                // A turn that has ended by itself meanwhile need not be interrupted.
                let _ = reached.call(Request::Interrupt(Interrupt { session, turn: None })).await;
            }
            reached.leave().await;
        }
        if self.is_terminal && self.is_invited {
            // The sign that invites stands on this line.
            let _ = print("\n");
        }
        if let Some(session) = self.session.take().filter(|_| self.is_terminal && !self.here.look.quiet) {
            let name = short(self.here, &session.as_str().into());
            // Who cannot read it any more does not miss it.
            let _ = self.tell(Ink::Faint, &words::go_on_with(&name));
        }
    }

    /// Whether an answer is on its way. Somebody who is asked something is not kept waiting.
    pub(super) fn is_busy(&self) -> bool {
        !self.turns.is_empty() && self.asks.is_empty()
    }

    /// Tells the person at a terminal that it is their turn.
    pub(super) fn invite(&mut self) -> Result<(), Failure> {
        if self.is_invited || !self.is_terminal || self.is_busy() {
            return Ok(());
        }
        self.is_invited = true;
        print("> ")
    }

    pub(super) async fn take(&mut self, line: &str) -> Result<Goes, Failure> {
        (self.is_invited, self.is_leaving) = (false, false);
        if self.is_terminal {
            self.telling.is_at_line_start();
        }
        let is_command = line.trim_start().starts_with('/');
        if let Some(ask) = self.asks.front().filter(|_| !is_command && !line.trim().is_empty()) {
            match answer(line, &ask.asking) {
                Ok(answer) => {
                    let (session, ask) = (self.session.clone().unwrap_or_default(), ask.id.clone());
                    self.asks.pop_front();
                    self.do_this(Request::Answer(Answer { session, ask, answer })).await?;
                }
                Err(why) => self.complain(&Failure::usage(why)),
            }
            return Ok(Goes::On);
        }
        if let Some(change) = self.undecided.take().filter(|_| !is_command) {
            return self.decide(change, line).await;
        }
        match typed(line) {
            Ok(Typed::Quit) => return Ok(Goes::Away),
            Ok(typed) => self.perform(typed).await?,
            Err(why) => self.complain(&Failure::usage(why)),
        }
        Ok(Goes::On)
    }

    pub(super) async fn interrupt(&mut self) -> Result<Goes, Failure> {
        self.is_invited = false;
        self.telling.is_at_line_start();
        print("\n")?;
        if std::mem::replace(&mut self.is_leaving, true) {
            return Ok(Goes::Away);
        }
        let Some(session) = self.session.clone().filter(|_| !self.turns.is_empty()) else {
            self.tell(Ink::Faint, words::CTRL_C_AGAIN)?;
            return Ok(Goes::On);
        };
        self.tell(Ink::Faint, words::INTERRUPTING)?;
        self.do_this(Request::Interrupt(Interrupt { session, turn: None })).await?;
        Ok(Goes::On)
    }

    pub(super) async fn hear(&mut self, event: Result<Event, ApiError>) -> Result<(), Failure> {
        let event = match event {
            Ok(event) => event,
            Err(error) if error.code == ErrorCode::Gone => return self.follow_anew().await,
            Err(error) if error.code == ErrorCode::Disconnected => return self.reconnect().await,
            Err(error) => return Err(refused(&error)),
        };
        let mut prompts = Prompts::Told;
        match &event.kind {
            EventKind::TurnStarted { .. } => self.turns.extend(event.turn.clone()),
            EventKind::TurnEnded { .. } => {
                if let Some(turn) = &event.turn {
                    self.turns.remove(turn);
                    self.asks.retain(|ask| ask.turn != *turn);
                }
            }
            EventKind::Asked { ask } => {
                self.asks.push_back(ask.clone());
                self.is_invited = false;
            }
            EventKind::Answered { ask } | EventKind::NoLongerAsked { ask } => {
                self.asks.retain(|asked| asked.id != *ask);
            }
            EventKind::Entry { entry } => {
                if matches!(entry.body, BodyView::Interrupted) {
                    // From here on nobody hears an answer; the next line is a message again.
                    self.asks.retain(|ask| Some(&ask.turn) != event.turn.as_ref());
                }
                if matches!(entry.body, BodyView::Prompt(_)) && event.sub_agent.is_none() {
                    // What was typed at this terminal stands there already.
                    let is_ours = self.own_prompt.as_deref() == Some(entry.id.as_str());
                    if is_ours && self.is_terminal {
                        prompts = Prompts::Seen;
                    }
                }
            }
            EventKind::Queue { queue } if queue.iter().any(|queued| queued.held) => {
                self.tell(Ink::Faint, words::HELD)?;
            }
            EventKind::Closed => return self.follow_anew().await,
            _ => {}
        }
        let text = self.telling.tell(&event, prompts);
        if !text.is_empty() && self.is_invited {
            // The sign that invites stands on this line.
            self.is_invited = false;
            print("\n")?;
        }
        print(&text)
    }

    /// The session was closed, or too much has happened in it to be told one by one: the engine is there all the same.
    async fn follow_anew(&mut self) -> Result<(), Failure> {
        self.events = None;
        let Some(session) = self.session.clone() else { return Ok(()) };
        match self.open(&session, Some(1)).await {
            Ok(()) => Ok(()),
            Err(error) if error.code == ErrorCode::Disconnected => self.reconnect().await,
            Err(error) => Err(refused(&error)),
        }
    }

    /// The engine is gone: finds the next one, or becomes it. What was missed is told.
    pub(super) async fn reconnect(&mut self) -> Result<(), Failure> {
        self.events = None;
        if let Some(old) = self.reached.take() {
            old.leave().await;
        }
        self.reached = Some(reach(self.here).await?);
        self.turns.clear();
        self.asks.clear();
        self.tell(Ink::Faint, words::RECONNECTED)?;
        match self.session.clone() {
            Some(session) => self.open(&session, Some(1)).await.map_err(|error| refused(&error)),
            None => Ok(()),
        }
    }

    /// Opens a session, tells its last turns and follows it from there.
    pub(super) async fn open(&mut self, session: &str, turns: Option<usize>) -> Result<(), ApiError> {
        let view = open(self.reached()?, session, turns).await?;
        let is_new = view.branch.entries.is_empty();
        if turns == Some(TURNS_SHOWN) && !is_new {
            let name = short(self.here, &session.into());
            let _ = self.tell(Ink::Bold, &words::session_line(&name, view.title.as_deref()));
        }
        for entry in &view.branch.entries {
            let text = self.telling.entry(entry, Prompts::Told);
            let _ = print(&text);
            for sub_agent in view.branch.sub_agents.iter().filter(|it| it.entry == entry.id) {
                let _ = print(&self.telling.sub_agent(sub_agent));
            }
        }
        let _ = print(&self.telling.line_end());
        // A turn on another branch keeps nobody waiting here.
        let is_here = |prompt: &str| view.branch.entries.iter().any(|entry| entry.id == prompt);
        self.turns = view.turns.iter().filter(|it| is_here(&it.prompt)).map(|it| it.turn.clone()).collect();
        for ask in &view.asks {
            let _ = print(&self.telling.asked(ask));
        }
        self.asks = view.asks.into();
        self.events = Some(self.reached()?.follow(session, view.seq).await?);
        self.session = Some(session.to_owned());
        Ok(())
    }

    async fn perform(&mut self, typed: Typed) -> Result<(), Failure> {
        let picture = |text: Result<crate::Answer, Failure>| text.map(|answer| answer.text);
        let request = match typed {
            Typed::Nothing | Typed::Quit => return Ok(()),
            Typed::Help => return print(words::CHAT_HELP),
            typed if self.session.is_none() && !typed.begins() => {
                return self.tell(Ink::Faint, words::NOTHING_YET);
            }
            Typed::Settings { usage } => return self.tell_settings(usage).await,
            Typed::Tree => {
                let session = SessionArg::of(self.session.as_deref().unwrap_or_default());
                let args = TreeArgs { session, filter: None, search: None, json: JsonArgs { json: None } };
                return self.draw(picture(tree::run(&args, &self.here.as_wide_as_now())));
            }
            Typed::Branches => {
                let session = self.session.clone().unwrap_or_default();
                let args = BranchArgs {
                    command: None,
                    words: Words::about(&session),
                    all: false,
                    json: JsonArgs { json: None },
                };
                return self.draw(picture(branch::run(&args, &self.here.as_wide_as_now())));
            }
            typed => match self.begun().await {
                Ok(session) => self.request(session, typed).await,
                Err(error) => Err(error),
            },
        };
        match request {
            Ok(Request::Configure(change)) => self.change(change).await,
            Ok(request) => self.do_this(request).await,
            Err(error) => {
                self.complain(&refused_here(&error));
                Ok(())
            }
        }
    }

    /// What is in force where the next message goes.
    async fn tell_settings(&mut self, usage: &str) -> Result<(), Failure> {
        let session = self.session.clone().unwrap_or_default();
        let view = match self.reached() {
            Ok(reached) => open(reached, &session, Some(0)).await,
            Err(error) => Err(error),
        };
        match view {
            Ok(view) => self.tell(Ink::Plain, &words::in_force(&view, usage)),
            Err(error) => {
                self.complain(&refused_here(&error));
                Ok(())
            }
        }
    }

    /// The point that is named, else the last prompt on the way to the head.
    async fn or_last(&self, session: &str, at: Option<String>) -> Result<String, ApiError> {
        if let Some(at) = at {
            return Ok(at);
        }
        let view = open(self.reached()?, session, Some(1)).await?;
        let is_prompt = |entry: &&EntryView| matches!(entry.body, BodyView::Prompt(_));
        let last = view.branch.entries.iter().rfind(is_prompt).map(|entry| entry.id.clone());
        last.ok_or_else(|| ApiError::new(ErrorCode::NothingToDo, words::NOTHING_YET))
    }

    async fn request(&self, session: String, typed: Typed) -> Result<Request, ApiError> {
        let if_running = IfRunning::default();
        let set = Configure { session: session.clone(), ..Configure::default() };
        Ok(match typed {
            Typed::Say(text) => {
                let prompt = PromptView::text(text);
                Request::Send(Send { session, prompt, if_running, ..Send::default() })
            }
            Typed::BranchAt(at) => {
                Request::Fork(Fork { session, at, to: ForkTo::Here, title: None, if_running })
            }
            Typed::Edit { at, text } => {
                Request::Edit(Edit { session, at, text, if_running, ..Edit::default() })
            }
            Typed::Retry(at) => {
                let at = self.or_last(&session, at).await?;
                Request::Retry(Retry { session, at, if_running, ..Retry::default() })
            }
            Typed::Version { at, step } => Request::Version(Version { session, at, step, if_running }),
            Typed::Label { at, text } => {
                let at = self.or_last(&session, at).await?;
                Request::Label(Label { session, at, label: Some(text) })
            }
            Typed::Rename(title) => Request::Rename(Rename { session, title: Some(title) }),
            Typed::Model(model) => Request::Configure(Configure { model: Some(model), ..set }),
            Typed::Thinking(level) => Request::Configure(Configure { thinking: Some(level), ..set }),
            Typed::Tools(tools) => Request::Configure(Configure { tools: Some(tools), ..set }),
            Typed::Mode(mode) => Request::Configure(Configure { permission_mode: Some(mode), ..set }),
            Typed::Compact(instructions) => Request::Compact(Compact { session, instructions, if_running }),
            Typed::Clear => Request::Clear(Clear { session, if_running }),
            Typed::Undo => Request::Undo(History { session, if_running }),
            Typed::Redo => Request::Redo(History { session, if_running }),
            Typed::Nothing
            | Typed::Help
            | Typed::Quit
            | Typed::Tree
            | Typed::Branches
            | Typed::Settings { .. } => {
                return Err(ApiError::new(ErrorCode::NothingToDo, words::NOTHING_YET));
            }
        })
    }

    /// A message to a conversation that was taken back begins another one: nobody would find it there.
    async fn do_this(&mut self, request: Request) -> Result<(), Failure> {
        let said = if let Request::Send(send) = &request { Some(send.clone()) } else { None };
        match (self.called(request).await?, said) {
            (Called::TakenBack, Some(send)) => {
                self.tell(Ink::Faint, words::BEGINS_ANOTHER)?;
                (self.session, self.events) = (None, None);
                match self.begun().await {
                    Ok(session) => {
                        self.called(Request::Send(Send { session, ..send })).await?;
                    }
                    Err(error) => self.complain(&refused_here(&error)),
                }
                Ok(())
            }
            (Called::TakenBack | Called::Told, _) => Ok(()),
        }
    }

    /// What is refused is told, and the conversation goes on.
    async fn called(&mut self, request: Request) -> Result<Called, Failure> {
        let is_said = matches!(request, Request::Send(_));
        let after = After::of(&request);
        let answer = match self.reached() {
            Ok(reached) => reached.call(request).await,
            Err(error) => Err(error),
        };
        let told = match answer {
            Ok(Response::Sent(sent)) => {
                self.turns.extend(sent.turn);
                if sent.prompt.is_some() {
                    self.own_prompt = sent.prompt;
                }
                if sent.queued.is_some() {
                    self.tell(Ink::Faint, words::QUEUED)?;
                }
                match sent.version {
                    Some((number, of)) if of > 1 => self.tell(Ink::Faint, &words::version_line(number, of)),
                    _ => Ok(()),
                }
            }
            Ok(response) => match after.says(&response) {
                Some(text) => self.tell(Ink::Faint, &text),
                None => Ok(()),
            },
            Err(error) if error.hint == Some(Hint::Redo) && is_said => return Ok(Called::TakenBack),
            Err(error) if error.code == ErrorCode::Disconnected => {
                self.complain(&refused_here(&error));
                self.reconnect().await
            }
            Err(error) => {
                self.complain(&refused_here(&error));
                Ok(())
            }
        };
        told.map(|()| Called::Told)
    }

    /// The session, begun where there is none yet.
    async fn begun(&mut self) -> Result<String, ApiError> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let project = Some(self.here.folder.to_string_lossy().into_owned());
        let begin = Begin { project, agent: self.agent.clone(), ..Begin::default() };
        match self.reached()?.call(Request::Begin(begin)).await? {
            Response::Session(view) => {
                self.open(&view.id, None).await?;
                Ok(view.id)
            }
            _ => Err(ApiError::new(ErrorCode::UnsupportedMessage, words::OTHER_VERSION)),
        }
    }

    pub(super) fn reached(&self) -> Result<&Reached, ApiError> {
        let gone = || ApiError::new(ErrorCode::Disconnected, words::NOTHING_RUNS_HERE);
        self.reached.as_ref().ok_or_else(gone)
    }

    pub(super) fn tell(&mut self, ink: Ink, text: &str) -> Result<(), Failure> {
        print(&self.telling.line(ink, text))
    }

    fn draw(&mut self, picture: Result<String, Failure>) -> Result<(), Failure> {
        match picture {
            Ok(picture) => print(&picture),
            Err(failure) => {
                self.complain(&failure);
                Ok(())
            }
        }
    }

    pub(super) fn complain(&mut self, failure: &Failure) {
        let _ = print(&self.telling.line_end());
        // Who cannot read it any more does not miss it.
        let _ = std::io::stderr().lock().write_all(failure.told(&self.here.look).as_bytes());
    }
}
