//! `offshoot send [SESSION] TEXT`: one message and its answer.
//!
//! The answer is printed as it comes. Whoever is asked something is told how to answer from another terminal. Where the
//! engine ends in the middle the next one is found, or this process becomes it, and the message is said again under the
//! same id.

use std::collections::HashSet;

use futures_util::StreamExt;
use jiff::Timestamp;
use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::request::{CancelQueued, Edit, Interrupt, Send};
use offshoot_api::views::{AskView, AskingView, BlockView, BodyView, EntryView, PromptView};
use offshoot_api::{ApiError, ErrorCode, Event, Request, Response};
use offshoot_session::Stamps;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::json::{printed_line, printed_object};
use crate::Answer;
use crate::args::{JsonShape, SendArgs};
use crate::doing::if_running;
use crate::engine::{Reached, reach};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::stdin;
use crate::talk::telling::{Prompts, Telling, given};
use crate::talk::{note_now, open, print_now, refused, unexpected, wait_for};
use crate::which::{short, stored};
use crate::words::talking as words;

pub(crate) fn run(args: &SendArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [text]) = args.words.split("TEXT")?;
    let session = stored(here, session)?.to_string();
    let text = if text == "-" {
        stdin::say_that_it_is_read(&here.look);
        stdin::text()?
    } else {
        text.to_owned()
    };
    let id = here.stamps().turn_id().to_string();
    let mut sending =
        Sending { session, text, id, args, here, heard: Heard::default(), telling: Telling::new(&here.look) };
    wait_for(async {
        for again in 0..=TRIES {
            let reached = reach(here).await?;
            let spoken = sending.speak(&reached, again > 0).await;
            reached.leave().await;
            match spoken {
                Ok(answer) => return Ok(answer),
                Err(Stopped::Failed(failure)) => return Err(failure),
                Err(Stopped::Lost) => note_now(words::SENT_AGAIN),
            }
        }
        Err(refused(&ApiError::new(ErrorCode::Disconnected, words::ENGINE_GONE)))
    })
}

/// So often the next engine is looked for.
const TRIES: u32 = 5;

/// One message on its way. Its id is that of its turn: said again to the next engine, it counts once.
struct Sending<'a> {
    session: String,
    text: String,
    id: String,
    args: &'a SendArgs,
    here: &'a Here,
    heard: Heard,
    telling: Telling<'a>,
}

enum Stopped {
    /// The engine is not there any more.
    Lost,
    Failed(Failure),
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<ApiError> for Stopped {
    fn from(error: ApiError) -> Self {
        match error.code {
            ErrorCode::Disconnected | ErrorCode::Gone => Self::Lost,
            _ => Self::Failed(refused(&error)),
        }
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
    async fn speak(&mut self, reached: &Reached, is_again: bool) -> Result<Answer, Stopped> {
        let mut ctrl_c =
            signal(SignalKind::interrupt()).map_err(|error| Failure::failed(words::cannot_wait(&error)))?;
        let view = open(reached, &self.session, (!is_again).then_some(0)).await?;
        let mut events = reached.follow(&self.session, view.seq).await?;
        for entry in view.branch.entries {
            self.catch_up(entry)?;
        }
        let sent = match reached.call(self.request()).await? {
            Response::Sent(sent) => sent,
            other => return Err(unexpected(other).into()),
        };
        if let Some(end) = sent.end {
            return Ok(self.ended_meanwhile(&end)?);
        }
        let mut goes = if sent.queued.is_some() { Goes::Waits } else { Goes::IsAnswered };
        loop {
            let event = tokio::select! {
                event = events.next() => event,
                _ = ctrl_c.recv() => {
                    self.give_up(reached, goes).await?;
                    match goes {
                        Goes::Waits => return Ok(Answer { ends: Some(Exit::Interrupted), ..Answer::default() }),
                        Goes::IsAnswered => continue,
                    }
                }
            };
            let event = event.ok_or(Stopped::Lost)??;
            if let (EventKind::Queue { queue }, Goes::Waits) = (&event.kind, goes)
                && queue.iter().all(|waits| waits.id != self.id)
            {
                return Err(Failure::refused(words::TAKEN_OUT).into());
            }
            if let (EventKind::Queue { queue }, Goes::Waits) = (&event.kind, goes)
                && queue.iter().any(|waits| waits.id == self.id && waits.held)
                && self.give_up(reached, goes).await.is_ok()
            {
                return Err(Failure::refused(words::NOT_SENT).into());
            }
            if matches!(event.kind, EventKind::Closed) {
                return Err(Stopped::Lost);
            }
            if event.turn.as_ref() != Some(&self.id) {
                continue;
            }
            goes = Goes::IsAnswered;
            self.hear(&event)?;
            if let EventKind::TurnEnded { end } = &event.kind {
                return Ok(ended(end, &self.heard, &self.session, self.args));
            }
        }
    }

    fn hear(&mut self, event: &Event) -> Result<(), Failure> {
        self.heard.take(event);
        match self.args.json.json {
            Some(JsonShape::Lines) => print_now(&printed_line(&json!(event)))?,
            Some(JsonShape::Object) => {}
            None => print_now(&self.telling.tell(event, Prompts::Seen))?,
        }
        // What is printed shows what is asked; this is for whoever can answer.
        if let EventKind::Asked { ask } = &event.kind {
            note_now(&how_to_answer(ask, &short(self.here, &self.session.as_str().into())));
        }
        Ok(())
    }

    /// What was said of the answer while nobody listened.
    fn catch_up(&mut self, entry: EntryView) -> Result<(), Failure> {
        if entry.turn.as_ref() != Some(&self.id) || self.heard.knows(&entry.id) {
            return Ok(());
        }
        let at = entry.at;
        self.hear(&self.event(at, EventKind::Entry { entry }))
    }

    /// The turn did not outlive its engine, or ended before the next one was found.
    fn ended_meanwhile(&mut self, end: &TurnEnd) -> Result<Answer, Failure> {
        let now = self.here.stamps().now();
        self.hear(&self.event(now, EventKind::TurnEnded { end: end.clone() }))?;
        Ok(ended(end, &self.heard, &self.session, self.args))
    }

    /// As if it were heard now.
    fn event(&self, at: Timestamp, kind: EventKind) -> Event {
        let (session, turn) = (self.session.clone(), Some(self.id.clone()));
        Event { seq: 0, session, turn, sub_agent: None, at, kind }
    }

    fn request(&self) -> Request {
        let (session, client_id) = (self.session.clone(), Some(self.id.clone()));
        let if_running = if_running(self.args.abort_first);
        match &self.args.edit {
            Some(at) => Request::Edit(Edit {
                session,
                at: at.clone(),
                text: self.text.clone(),
                if_running,
                client_id,
                ..Edit::default()
            }),
            None => Request::Send(Send {
                session,
                prompt: PromptView::text(self.text.clone()),
                at: self.args.at.clone(),
                agent: self.args.agent.clone(),
                if_running,
                client_id,
                ..Send::default()
            }),
        }
    }

    async fn give_up(&self, reached: &Reached, goes: Goes) -> Result<(), ApiError> {
        let session = self.session.clone();
        let request = match goes {
            Goes::IsAnswered => Request::Interrupt(Interrupt { session, turn: Some(self.id.clone()) }),
            Goes::Waits => Request::CancelQueued(CancelQueued { session, queued: self.id.clone() }),
        };
        reached.call(request).await.map(|_| ())
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
}

impl Heard {
    fn knows(&self, entry: &str) -> bool {
        self.known.contains(entry)
    }

    fn take(&mut self, event: &Event) {
        let EventKind::Entry { entry } = &event.kind else { return };
        self.turn.clone_from(&event.turn);
        self.known.insert(entry.id.clone());
        if let Some(call) = &event.sub_agent {
            self.sub_agents.push(json!({ "call": call, "entry": entry }));
            return;
        }
        match &entry.body {
            BodyView::Prompt(_) => self.prompt = Some(entry.id.clone()),
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

fn ended(end: &TurnEnd, heard: &Heard, session: &str, args: &SendArgs) -> Answer {
    let mut answer = Answer::default();
    if args.json.json == Some(JsonShape::Object) {
        answer.text = printed_object(json!({
            "session": session,
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

fn how_to_answer(ask: &AskView, session: &str) -> String {
    match &ask.asking {
        AskingView::Permission { tool, input, .. } => {
            words::waits_for_answer(session, &words::asks_permission(tool, &given(input)))
        }
        AskingView::Question { .. } => words::waits_for_choice(session),
    }
}
