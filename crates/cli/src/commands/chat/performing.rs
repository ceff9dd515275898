//! What is typed, done.

use offshoot_api::request::{
    Answer, Clear, Compact, Configure, Edit, Fork, ForkTo, History, IfRunning, Label, Navigate, Rename,
    Resume, Retry, Rewind, RewindScope, RewindSource, SayQueued, Send, Show, Switch, Version,
};
use offshoot_api::views::{BodyView, EntryView};
use offshoot_api::{ApiError, Changed, ErrorCode, Hint, Request, Response};
use offshoot_session::Stamps;

use super::after::After;
use super::answers::answer;
use super::hearing::exit_of;
use super::input::LONGEST_LINE;
use super::session::Chat;
use super::typed::{LabelAt, Thoughts, Typed, typed};
use crate::commands::edit::Wording;
use crate::failure::{Exit, Failure};
use crate::living::Running;
use crate::look::Ink;
use crate::text::{width, wrapped};
use crate::words::chatting as words;

/// What became of a request.
enum Called {
    Told,
    /// It was a message to a conversation that is not there any more.
    TakenBack,
    /// The engine ended before it answered.
    Lost,
    /// No agent can answer it, because it edits a message that is not a prompt.
    NotAPrompt,
}

impl Chat<'_> {
    pub(super) async fn take(&mut self, line: &str) -> Result<(), Failure> {
        self.goes_on();
        self.stopped_at = None;
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
            return Ok(());
        }
        if let Some(change) = self.undecided.take().filter(|_| !is_command) {
            return self.decide(change, line).await;
        }
        match typed(line) {
            Ok(Typed::Quit) => self.leaves_by_wish(),
            Ok(typed) => self.perform(typed).await?,
            Err(why) => self.complain(&Failure::usage(why)),
        }
        Ok(())
    }

    /// A line was typed: the next words begin one.
    pub(super) fn goes_on(&mut self) {
        self.is_invited = false;
        // Words of an answer that comes may stand on this line by now.
        if self.is_terminal && !self.is_busy() {
            self.telling.is_at_line_start();
        }
    }

    /// Of a last line without an end the cursor is still behind it.
    fn goes_on_behind(&mut self, last_is_open: bool) -> Result<(), Failure> {
        self.goes_on();
        if last_is_open { self.out.print("\n") } else { Ok(()) }
    }

    pub(super) fn was_pasted(&mut self, lines: usize, last_is_open: bool) -> Result<(), Failure> {
        self.goes_on_behind(last_is_open)?;
        self.tell(Ink::Faint, &words::pasted(lines))
    }

    pub(super) fn line_was_cut(&mut self, last_is_open: bool) -> Result<(), Failure> {
        self.goes_on_behind(last_is_open)?;
        let session = self.session.as_deref().map(|session| self.storage.short(self.here, &session.into()));
        let hint = words::line_cut_hint(session.as_deref());
        self.complain(&Failure::usage(words::line_cut(LONGEST_LINE)).hint(hint));
        Ok(())
    }

    pub(super) fn drop_block(&mut self) -> Result<(), Failure> {
        self.goes_on();
        self.out.print("\n")?;
        self.tell(Ink::Faint, words::DROPPED)
    }

    async fn perform(&mut self, typed: Typed) -> Result<(), Failure> {
        let request = match typed {
            Typed::Nothing | Typed::Quit => return Ok(()),
            Typed::Help => return self.help(),
            Typed::Thoughts(thoughts) => return self.show_thoughts(thoughts),
            Typed::Attach(attach) => return self.attach(attach),
            typed if self.session.is_none() && !typed.begins() => {
                return self.tell(Ink::Faint, words::NOTHING_YET);
            }
            Typed::Settings { usage } => return self.tell_settings(usage).await,
            Typed::Queue(queue) => return self.about_queue(queue).await,
            Typed::Tree => {
                let session = self.session.as_deref().unwrap_or_default().into();
                let running = match self.reached() {
                    Ok(reached) => Running::told_by(reached).await,
                    Err(_) => Running::default(),
                };
                let here = self.here.as_wide_as_now();
                return self.draw(self.storage.tree_drawn(&here, &session, &running));
            }
            Typed::Branches => {
                let session = self.session.as_deref().unwrap_or_default().into();
                return self.draw(self.storage.branches_drawn(&self.here.as_wide_as_now(), &session));
            }
            Typed::Agent(name) => {
                if let Err(failure) = self.must_exist(&name).await {
                    self.complain(&failure);
                    return Ok(());
                }
                self.begun().await.map(|session| {
                    Request::Configure(Configure { session, agent: Some(name), ..Configure::default() })
                })
            }
            typed => match self.begun().await {
                Ok(session) => self.request(session, typed).await,
                Err(error) => Err(error),
            },
        };
        match request {
            Ok(request) if acts_on_head(&request) && !self.brings_head_here().await => Ok(()),
            Ok(Request::Configure(change)) => self.change(change).await,
            Ok(request) => self.do_this(request).await,
            Err(error) => {
                self.is_refused(&error);
                Ok(())
            }
        }
    }

    async fn request(&mut self, session: String, typed: Typed) -> Result<Request, ApiError> {
        let if_running = IfRunning::default();
        let client_id = Some(self.message_id());
        let set = Configure { session: session.clone(), client_id, ..Configure::default() };
        Ok(match typed {
            Typed::Say(text) => {
                let (prompt, client_id) = (self.attachments().with(text), Some(self.message_id()));
                let at = self.point_here();
                // A turn of another branch may begin above this one; only the turn that is shown here is waited for.
                let is_free = at.is_some() && !self.turns.any_here();
                let if_running = if is_free { IfRunning::Beside } else { if_running };
                Request::Send(Send { session, prompt, at, if_running, client_id, ..Send::default() })
            }
            Typed::Beside(text) => {
                let (prompt, client_id) = (self.attachments().with(text), Some(self.message_id()));
                let (at, if_running) = (self.point_here(), IfRunning::Beside);
                Request::Send(Send { session, prompt, at, if_running, client_id, ..Send::default() })
            }
            Typed::Answer => {
                let client_id = Some(self.message_id());
                Request::Resume(Resume { session, at: self.point_here(), client_id })
            }
            Typed::Go { to, summary } => {
                let client_id = Some(self.message_id());
                Request::Navigate(Navigate { session, to: to.into(), summary, if_running, client_id })
            }
            Typed::BranchAt { at, to } => {
                let (at, client_id) = (Some(at.into()), Some(self.message_id()));
                let before = to == ForkTo::NewSession;
                Request::Fork(Fork { session, at, to, before, if_running, client_id, ..Fork::default() })
            }
            Typed::Rewind(to) => {
                let scope = RewindScope::Conversation;
                let (to, client_id) = (to.into(), Some(self.message_id()));
                let (before, dry_run) = (true, false);
                let source = RewindSource::Offshoot;
                Request::Rewind(Rewind { session, to, before, scope, source, dry_run, if_running, client_id })
            }
            Typed::Edit { at, text } => {
                let client_id = Some(self.message_id());
                let wording = Wording { text, files: self.own_attachments() };
                Request::Edit(Edit { session, at: at.into(), if_running, client_id, ..wording.edit() })
            }
            Typed::Retry(at) => {
                let (at, client_id) = (self.or_last(&session, at).await?.into(), Some(self.message_id()));
                Request::Retry(Retry { session, at, if_running, client_id, ..Retry::default() })
            }
            Typed::Version { at, step } => {
                let client_id = Some(self.message_id());
                Request::Version(Version { session, at: at.map(Into::into), step, if_running, client_id })
            }
            Typed::Label { at, text } => {
                let (at, text) = match at {
                    LabelAt::Last => (self.or_last(&session, None).await?, text),
                    LabelAt::Point(at) => (at, text),
                    LabelAt::PointOrLast { word, all } => match self.names_point(&session, &word).await? {
                        true => (word, text),
                        false => (self.or_last(&session, None).await?, Some(all)),
                    },
                };
                let (at, client_id) = (at.into(), Some(self.message_id()));
                Request::Label(Label { session, at, label: text, client_id })
            }
            Typed::Rename(title) => {
                Request::Rename(Rename { session, title, client_id: Some(self.message_id()) })
            }
            Typed::Model(model) => Request::Configure(Configure { model: Some(model), ..set }),
            Typed::Thinking(level) => Request::Configure(Configure { thinking: Some(level), ..set }),
            Typed::Tools(tools) => Request::Configure(Configure { tools: Some(tools), ..set }),
            Typed::Mode(mode) => Request::Configure(Configure { permission_mode: Some(mode), ..set }),
            Typed::Compact(instructions) => {
                let client_id = Some(self.message_id());
                Request::Compact(Compact { session, instructions, if_running, client_id })
            }
            Typed::Clear => Request::Clear(Clear { session, if_running, client_id: Some(self.message_id()) }),
            Typed::Undo => Request::Undo(History { session, if_running, client_id: Some(self.message_id()) }),
            Typed::Redo => Request::Redo(History { session, if_running, client_id: Some(self.message_id()) }),
            Typed::Nothing
            | Typed::Help
            | Typed::Quit
            | Typed::Tree
            | Typed::Attach(_)
            | Typed::Branches
            | Typed::Agent(_)
            | Typed::Queue(_)
            | Typed::Thoughts(_)
            | Typed::Settings { .. } => {
                return Err(ApiError::new(ErrorCode::NothingToDo, words::NOTHING_YET));
            }
        })
    }

    /// The point that is named, else the last prompt of the branch that is shown here.
    async fn or_last(&self, session: &str, at: Option<String>) -> Result<String, ApiError> {
        if let Some(at) = at {
            return Ok(at);
        }
        let show = Show { session: session.to_owned(), at: self.point_here(), turns: Some(1) };
        let entries = match self.reached()?.call(Request::Show(show)).await? {
            Response::Branch(branch) => branch.entries,
            _ => Vec::new(),
        };
        let is_prompt = |entry: &&EntryView| matches!(entry.body, BodyView::Prompt(_));
        let last = entries.iter().rfind(is_prompt).map(|entry| entry.id.clone());
        last.ok_or_else(|| ApiError::new(ErrorCode::NothingToDo, words::NOTHING_YET))
    }

    /// Settings, compaction and clearing apply where the head is, so the head comes here first. `false` if that is refused,
    /// which is told.
    async fn brings_head_here(&mut self) -> bool {
        let (Some(session), Some(to)) = (self.session.clone(), self.point_here()) else { return true };
        let client_id = Some(self.message_id());
        let switch = Switch { session, to: Some(to), client_id, ..Switch::default() };
        match self.call(Request::Switch(switch)).await {
            Ok(_) => {
                self.head.clone_from(&self.place);
                true
            }
            Err(error) => {
                self.is_refused(&error);
                false
            }
        }
    }

    /// One that could be several is named: the refusal says so.
    async fn names_point(&self, session: &str, word: &str) -> Result<bool, ApiError> {
        let show = Show { session: session.to_owned(), at: Some(word.into()), turns: Some(0) };
        match self.reached()?.call(Request::Show(show)).await {
            Err(error) if error.code == ErrorCode::PointNotFound => Ok(false),
            answer => answer.map(|_| true),
        }
    }

    /// Said again to the next engine a message counts once.
    fn message_id(&mut self) -> String {
        format!("said-{}", self.stamps.turn_id())
    }

    /// A message to a conversation that was taken back begins another one: nobody would find it there. One that was lost
    /// on its way is said again, once.
    pub(super) async fn do_this(&mut self, request: Request) -> Result<(), Failure> {
        let said = if let Request::Send(send) = &request { Some(send.clone()) } else { None };
        let again = said_again(&request);
        match (self.called(request).await?, said) {
            (Called::Lost, _) => {
                let Some(again) = again else {
                    self.complain(&Failure::failed(words::LOST));
                    return self.reconnect().await;
                };
                self.reconnect().await?;
                if let Called::Lost = self.called(again).await? {
                    self.complain(&Failure::failed(words::NOT_SENT).hint(words::NOT_SENT_HINT));
                    self.reconnect().await?;
                }
                Ok(())
            }
            (Called::TakenBack, Some(send)) => {
                self.tell(Ink::Faint, words::BEGINS_ANOTHER)?;
                (self.session, self.events) = (None, None);
                match self.begun().await {
                    Ok(session) => {
                        self.called(Request::Send(Send { session, ..send })).await?;
                    }
                    Err(error) => self.is_refused(&error),
                }
                Ok(())
            }
            // Whether a point is a prompt is for the engine to decide, so it is asked first as if it were one.
            (Called::NotAPrompt, _) => match again {
                Some(Request::Edit(edit)) => {
                    self.called(Request::Edit(Edit { only_write: true, ..edit })).await.map(|_| ())
                }
                Some(_) | None => Ok(()),
            },
            (Called::TakenBack | Called::Told, _) => Ok(()),
        }
    }

    /// What is refused is told, and the conversation goes on.
    async fn called(&mut self, request: Request) -> Result<Called, Failure> {
        let is_said = matches!(request, Request::Send(_));
        // What is let go was typed a while ago.
        let is_typed_now = !matches!(request, Request::SayQueued(_));
        let brings_attached = matches!(request, Request::Send(_) | Request::Edit(_));
        let is_message = match &request {
            Request::Edit(edit) => !edit.only_write,
            Request::Send(_) | Request::Retry(_) | Request::Resume(_) | Request::SayQueued(_) => true,
            _ => false,
        };
        let is_edit = matches!(request, Request::Edit(_));
        let after = After::of(&request);
        let told = match self.call(request).await {
            Ok(Response::Changed(sent)) if is_message => {
                self.own_prompt = sent.prompt.clone().filter(|_| is_typed_now);
                if brings_attached {
                    self.attached.clear();
                }
                self.was_sent(&sent)
            }
            Ok(response) => self.tell_after(after, response).await,
            Err(_) if self.is_left() => Ok(()),
            Err(error) if self.takes_calling_off(&error) => {
                if is_said {
                    self.ended = Some(Exit::Interrupted);
                }
                self.tell(Ink::Faint, words::CALLED_OFF)
            }
            Err(error) if error.hint == Some(Hint::Redo) && is_said => return Ok(Called::TakenBack),
            Err(error) if error.code == ErrorCode::Disconnected => return Ok(Called::Lost),
            Err(error) if error.code == ErrorCode::NotAPrompt && is_edit && is_message => {
                return Ok(Called::NotAPrompt);
            }
            Err(error) => {
                let refusal = self.refusal(&error);
                self.complain(&refusal);
                if is_said {
                    self.ended = Some(refusal.exit);
                }
                Ok(())
            }
        };
        told.map(|()| Called::Told)
    }

    fn was_sent(&mut self, sent: &Changed) -> Result<(), Failure> {
        self.ended = None;
        // It was said before, and its answer was told with the rest.
        if let Some(end) = &sent.end {
            self.ended = exit_of(end);
            return Ok(());
        }
        if let Some(turn) = &sent.turn {
            self.turns.is_own(turn);
            self.turns.begins_here(turn);
        }
        if let Some(queued) = &sent.queued {
            self.turns.is_own(queued);
            self.tell(Ink::Faint, words::QUEUED)?;
        }
        match &sent.version {
            Some(version) if version.total > 1 => {
                self.tell(Ink::Faint, &words::version_line(version.index, version.total))
            }
            _ => Ok(()),
        }
    }

    fn show_thoughts(&mut self, thoughts: Thoughts) -> Result<(), Failure> {
        let is_shown = thoughts == Thoughts::Shown;
        self.telling.show_thoughts(is_shown);
        self.tell(Ink::Faint, if is_shown { words::THOUGHTS_SHOWN } else { words::THOUGHTS_HIDDEN })
    }

    /// What explains a command stays in its column, also where that is narrow.
    fn help(&mut self) -> Result<(), Failure> {
        self.measure();
        let columns = self.here.look.as_wide_as_now().width;
        let lines = words::CHAT_HELP.lines().flat_map(|line| explained(line, columns));
        self.out.print(&lines.map(|line| line + "\n").collect::<String>())
    }

    fn draw(&mut self, picture: Result<String, Failure>) -> Result<(), Failure> {
        match picture {
            Ok(picture) => self.out.print(&picture),
            Err(failure) => {
                self.complain(&failure);
                Ok(())
            }
        }
    }
}

/// Whether a request has no point of its own.
fn acts_on_head(request: &Request) -> bool {
    matches!(request, Request::Configure(_) | Request::Compact(_) | Request::Clear(_))
}

/// The same for the next engine, which recognises it by its id. `None`: nobody could tell whether it was done.
fn said_again(request: &Request) -> Option<Request> {
    match request {
        // What waits has the id that its turn will have.
        Request::SayQueued(SayQueued { session, queued: Some(queued) }) => {
            let (session, client_id) = (session.clone(), Some(queued.clone()));
            Some(Request::Send(Send { session, client_id, ..Send::default() }))
        }
        request => request.client_id().map(|_| request.clone()),
    }
}

/// A line of two columns, as many lines as it needs.
fn explained(line: &str, columns: Option<usize>) -> Vec<String> {
    let is_full = columns.is_some_and(|columns| width(line) > columns);
    let (command, about) = match line.strip_prefix("  ").and_then(|line| line.split_once("  ")) {
        Some((command, about)) if is_full => (command, about.trim_start()),
        _ => return wrapped(line, columns),
    };
    let mut lines = wrapped(&format!("  {command}"), columns);
    lines.extend(wrapped(&format!("      {about}"), columns));
    lines
}
