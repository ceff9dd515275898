//! What happens in the session, as far as it is told.

use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::request::Show;
use offshoot_api::views::{AnswerView, BodyView, EntryView, SpentView};
use offshoot_api::{ApiError, ErrorCode, Event, Point, Request};

use super::after::After;
use super::session::{Chat, end_of};
use super::turns::Ended;
use crate::failure::{Exit, Failure};
use crate::look::{Ink, Sign};
use crate::numbers::moment_after;
use crate::talk::refused;
use crate::talk::telling::Prompts;
use crate::text::cut;
use crate::words::chatting as words;

/// So much of a message is repeated to speak of it, in columns.
const MENTIONED: usize = 40;

impl Chat<'_> {
    pub(super) async fn hear(&mut self, event: Result<Event, ApiError>) -> Result<(), Failure> {
        let event = match event {
            Ok(event) => event,
            Err(error) if error.code == ErrorCode::Gone => return self.follow_anew().await,
            Err(error) if error.code == ErrorCode::Disconnected => return self.reconnect().await,
            Err(error) => return Err(refused(&error)),
        };
        if let EventKind::Entry { entry, .. } = &event.kind {
            self.written.insert(entry.id.clone());
            self.follow(&event, entry);
        }
        match &event.kind {
            EventKind::TurnStarted { prompt } => return self.turn_begins(&event, prompt),
            EventKind::TurnEnded { end, cost } => return self.turn_ends(&event, end, cost.as_ref()),
            EventKind::Measured { context } => {
                self.measured.context_is(*context);
                return Ok(());
            }
            EventKind::Status { status } => return self.background_is(status.background),
            EventKind::SignIn { lines, done, .. } => return self.tell_sign_in(lines, *done),
            EventKind::HeadMoved { head } if head.name == MAIN => {
                return self.head_moved(head.at.as_deref()).await;
            }
            EventKind::Entry { entry, .. } if is_prompt(entry) && event.sub_agent.is_none() => {
                return self.prompt_was_said(&event, entry);
            }
            EventKind::Asked { ask } => {
                self.asks.push_back(ask.clone());
                self.interrupt_invitation()?;
                if let Some(text) = self.mentioned_elsewhere(&event) {
                    self.tell(Ink::Faint, &words::asks_elsewhere(&text))?;
                }
                return self.print_told(&event, Prompts::Told);
            }
            EventKind::Answered { ask, answer } => return self.was_answered(&event, ask, answer.as_ref()),
            EventKind::NoLongerAsked { ask } => {
                let before = self.asks.len();
                self.asks.retain(|asked| asked.id != *ask);
                if self.asks.len() == before {
                    // Whoever interrupted it knows.
                    return Ok(());
                }
            }
            EventKind::Queue { queue } => return self.queue_changed(queue),
            EventKind::Branched { into, reason } => {
                let name = self.storage.short(self.here, &into.as_str().into());
                self.interrupt_invitation()?;
                let told = match reason == GOES_ON_ELSEWHERE {
                    true => words::somebody_goes_on_in(&name),
                    false => words::somebody_forked(&name),
                };
                return self.tell(Ink::Faint, &told);
            }
            EventKind::Rearranged if self.point_here().is_some() && !self.has_place().await => {
                self.interrupt_invitation()?;
                self.tell(Ink::Faint, words::SOMEBODY_MOVED)?;
                return self.tell_place(&After::Moved).await;
            }
            EventKind::Closed => return self.follow_anew().await,
            _ => {}
        }
        if let EventKind::Entry { entry, .. } = &event.kind
            && matches!(entry.body, BodyView::Interrupted { .. })
        {
            // From here on nobody hears an answer; the next line is a message again, and the next Ctrl-C about that.
            self.asks.retain(|ask| Some(&ask.turn) != event.turn.as_ref());
            if !self.is_elsewhere(&event) {
                (self.is_interrupted, self.stopped_at) = (true, None);
            }
        }
        if self.is_elsewhere(&event) && is_of_an_answer(&event.kind) {
            return Ok(());
        }
        if let (EventKind::Entry { entry, .. }, None) = (&event.kind, &event.turn)
            && self.place.as_ref() != Some(&entry.id)
        {
            // A setting, or what was appended, on another branch.
            return Ok(());
        }
        if let EventKind::Entry { entry, .. } = &event.kind
            && !self.told.insert(entry.id.clone())
        {
            return Ok(());
        }
        if let EventKind::Entry { entry, .. } = &event.kind
            && let BodyView::Setting(setting) = &entry.body
        {
            return self.tell_setting(entry, setting);
        }
        self.print_told(&event, Prompts::Told)?;
        // The end of its turn ends the line of an answer; what was appended has none.
        match (&event.kind, &event.turn) {
            (EventKind::Entry { .. }, None) => self.out.print(&self.telling.line_end()),
            _ => Ok(()),
        }
    }

    /// An entry that continues the branch shown here is where the next message goes. The head follows a turn that it is on.
    fn follow(&mut self, event: &Event, entry: &EntryView) {
        if event.turn.is_some() && entry.parent.is_some() && self.head == entry.parent {
            self.head = Some(entry.id.clone());
        }
        if event.sub_agent.is_some() || matches!(entry.body, BodyView::Note { .. }) {
            return;
        }
        let is_here = match &event.turn {
            // An agent that begins by itself says why before its turn is known.
            Some(turn) if !is_prompt(entry) && self.turns.knows(turn) => {
                self.turns.here() == Some(turn.as_str())
            }
            _ => self.place == entry.parent || self.own_prompt.as_deref() == Some(entry.id.as_str()),
        };
        if is_here {
            self.place = Some(entry.id.clone());
        }
    }

    /// A chat keeps its place when another one moves the head; it follows only if the place was undone. A move from here
    /// was told with its response.
    async fn head_moved(&mut self, at: Option<&str>) -> Result<(), Failure> {
        let written = std::mem::take(&mut self.written);
        let is_here = [&self.head, &self.place].iter().any(|known| known.as_deref() == at);
        let is_known = is_here || at.is_some_and(|at| written.contains(at));
        self.head = at.map(str::to_owned);
        if is_known {
            return Ok(());
        }
        self.interrupt_invitation()?;
        if self.has_place().await {
            return self.tell(Ink::Faint, words::MOVED_ELSEWHERE);
        }
        self.tell(Ink::Faint, words::SOMEBODY_MOVED)?;
        self.tell_place(&After::Moved).await
    }

    /// Whether the branch that is shown here still exists.
    async fn has_place(&self) -> bool {
        let (Some(session), Some(place), Ok(reached)) = (&self.session, &self.place, self.reached()) else {
            return false;
        };
        let at = Some(Point::exactly(place.as_str()));
        let show = Show { session: session.clone(), at, turns: Some(0) };
        reached.call(Request::Show(show)).await.is_ok()
    }

    /// A prompt below what is shown here is told; another one is mentioned when its turn begins.
    fn prompt_was_said(&mut self, event: &Event, entry: &EntryView) -> Result<(), Failure> {
        if let (Some(turn), BodyView::Prompt(prompt)) = (&event.turn, &entry.body) {
            self.turns.asked(turn, &prompt.text);
        }
        match (&self.place, &event.turn) {
            (Some(place), _) if *place == entry.id => self.tell_said(entry),
            (_, Some(_)) => {
                self.said = Some(entry.clone());
                Ok(())
            }
            (_, None) => Ok(()),
        }
    }

    pub(super) fn tell_said(&mut self, entry: &EntryView) -> Result<(), Failure> {
        if !self.told.insert(entry.id.clone()) {
            return Ok(());
        }
        // What was typed at this terminal stands there already.
        let is_ours = self.own_prompt.as_deref() == Some(entry.id.as_str());
        let prompts = if is_ours && self.is_terminal { Prompts::Seen } else { Prompts::Told };
        let text = self.telling.entry(entry, prompts);
        self.print(&text)
    }

    fn turn_begins(&mut self, event: &Event, prompt: &str) -> Result<(), Failure> {
        let Some(turn) = &event.turn else { return Ok(()) };
        self.measured.begins(turn, event.at);
        if self.place.as_deref() == Some(prompt) || self.own_prompt.as_deref() == Some(prompt) {
            self.turns.begins_here(turn);
            return Ok(());
        }
        self.turns.begins_elsewhere(turn);
        match self.said.take().map(|entry| entry.body) {
            Some(BodyView::Prompt(prompt)) => {
                let text = words::runs_elsewhere(&self.mentioned(&prompt.text));
                self.interrupt_invitation()?;
                self.tell(Ink::Faint, &text)
            }
            _ => Ok(()),
        }
    }

    fn turn_ends(&mut self, event: &Event, end: &TurnEnd, cost: Option<&SpentView>) -> Result<(), Failure> {
        let Some(turn) = &event.turn else { return Ok(()) };
        self.asks.retain(|ask| ask.turn != *turn);
        let is_last = self.turns.is_last_of_own(turn);
        match self.turns.end(turn) {
            Some(Ended::Elsewhere(words)) => {
                if is_last {
                    self.ended = exit_of(end);
                }
                let text = words::ended_elsewhere(&self.mentioned(&words), end);
                self.interrupt_invitation()?;
                self.tell(Ink::Faint, &text)
            }
            Some(Ended::Here) | None => {
                // The next Ctrl-C is about something else.
                (self.is_interrupted, self.stopped_at) = (false, None);
                self.ended = exit_of(end);
                self.told.insert(end_of(turn));
                self.print_told(event, Prompts::Told)?;
                self.tell_measured(event, cost)
            }
        }
    }

    /// What was answered from here is not asked any more; whatever still is was answered by somebody else.
    fn was_answered(&mut self, event: &Event, ask: &str, answer: Option<&AnswerView>) -> Result<(), Failure> {
        let before = self.asks.len();
        self.asks.retain(|asked| asked.id != ask);
        if self.asks.len() == before {
            return Ok(());
        }
        let when = moment_after(event.at, Some(event.at), &self.here.look);
        self.interrupt_invitation()?;
        self.tell(Ink::Faint, &words::answered_elsewhere(answer, &when))
    }

    fn print_told(&mut self, event: &Event, prompts: Prompts) -> Result<(), Failure> {
        self.measure();
        let text = self.telling.tell(event, prompts);
        self.print(&text)
    }

    pub(super) fn print(&mut self, text: &str) -> Result<(), Failure> {
        if !text.is_empty() {
            self.interrupt_invitation()?;
        }
        self.out.print(text)
    }

    /// Something is told while the person is invited: the sign that invites stands on this line.
    pub(super) fn interrupt_invitation(&mut self) -> Result<(), Failure> {
        match std::mem::take(&mut self.is_invited) {
            true => self.out.print("\n"),
            false => Ok(()),
        }
    }

    fn is_elsewhere(&self, event: &Event) -> bool {
        event.turn.as_deref().is_some_and(|turn| self.turns.is_elsewhere(turn))
    }

    fn mentioned_elsewhere(&self, event: &Event) -> Option<String> {
        let turn = event.turn.as_deref().filter(|_| self.is_elsewhere(event))?;
        Some(self.mentioned(self.turns.words(turn)))
    }

    /// The beginning of a message, to speak of it.
    pub(super) fn mentioned(&self, text: &str) -> String {
        let first = text.trim().lines().next().unwrap_or_default();
        cut(first, MENTIONED, self.here.look.sign(Sign::Cut))
    }
}

/// Of a session that began because settings were changed; else this one was copied, and goes on as well.
const GOES_ON_ELSEWHERE: &str = "config_change";

/// The head that conversations are about.
pub(super) const MAIN: &str = "main";

fn is_prompt(entry: &EntryView) -> bool {
    matches!(entry.body, BodyView::Prompt(_))
}

/// What only the one reads who follows that answer.
fn is_of_an_answer(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Words { .. }
            | EventKind::Thinking { .. }
            | EventKind::Live { .. }
            | EventKind::Retrying { .. }
            | EventKind::Entry { .. }
            | EventKind::Bound { .. }
    )
}

pub(super) fn exit_of(end: &TurnEnd) -> Option<Exit> {
    match end {
        TurnEnd::Done | TurnEnd::Limit => None,
        TurnEnd::Interrupted => Some(Exit::Interrupted),
        TurnEnd::Failed { .. } => Some(Exit::Failed),
    }
}
