//! `offshoot send [SESSION] TEXT`: one message and its answer.
//!
//! The answer is printed as it comes. Whoever is asked something is told how to answer from another terminal.

use futures_util::StreamExt;
use offshoot_api::event::{EventKind, TurnEnd};
use offshoot_api::request::{Edit, IfRunning, Send};
use offshoot_api::response::Sent;
use offshoot_api::views::{AskView, AskingView, BlockView, BodyView, PromptView};
use offshoot_api::{ApiError, ErrorCode, Event, Request, Response};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::json::{printed_line, printed_object};
use crate::Answer;
use crate::args::{JsonShape, SendArgs};
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
    wait_for(async {
        let reached = reach(here).await?;
        let answer = speak(&reached, &session, text, args, here).await;
        reached.leave().await;
        answer
    })
}

async fn speak(
    reached: &Reached,
    session: &str,
    text: String,
    args: &SendArgs,
    here: &Here,
) -> Result<Answer, Failure> {
    let mut ctrl_c =
        signal(SignalKind::interrupt()).map_err(|error| Failure::failed(words::cannot_wait(&error)))?;
    let seq = open(reached, session, Some(0)).await.map_err(|error| refused(&error))?.seq;
    let mut events = reached.follow(session, seq).await.map_err(|error| refused(&error))?;
    let sent = match reached.call(request(session, text, args)).await.map_err(|error| refused(&error))? {
        Response::Sent(sent) => sent,
        other => return Err(unexpected(other)),
    };
    let mut ours = Ours::of(&sent);
    let mut heard = Heard::default();
    let mut telling = Telling::new(&here.look);
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            _ = ctrl_c.recv() => {
                give_up(reached, session, &ours).await.map_err(|error| refused(&error))?;
                continue;
            }
        };
        let gone = || ApiError::new(ErrorCode::Disconnected, words::ENGINE_GONE);
        let event = event.unwrap_or_else(|| Err(gone())).map_err(|error| refused(&error))?;
        if !ours.is_about(&event) {
            continue;
        }
        heard.take(&event);
        match args.json.json {
            Some(JsonShape::Lines) => print_now(&printed_line(&json!(event)))?,
            Some(JsonShape::Object) => {}
            None => print_now(&telling.tell(&event.kind, Prompts::Seen))?,
        }
        match &event.kind {
            // What is printed shows what is asked; this is for whoever can answer.
            EventKind::Asked { ask } => note_now(&how_to_answer(ask, &short(here, &session.into()))),
            EventKind::TurnEnded { end } => return Ok(ended(end, &heard, session, args)),
            EventKind::Closed => return Err(refused(&gone())),
            _ => {}
        }
    }
}

fn request(session: &str, text: String, args: &SendArgs) -> Request {
    let session = session.to_owned();
    let if_running = if args.abort_first { IfRunning::AbortFirst } else { IfRunning::Wait };
    match &args.edit {
        Some(at) => {
            Request::Edit(Edit { session, at: at.clone(), text, files: Default::default(), if_running })
        }
        None => Request::Send(Send {
            session,
            prompt: PromptView::text(text),
            at: args.at.clone(),
            agent: args.agent.clone(),
            if_running,
        }),
    }
}

/// Which turn is the answer to what was said.
#[derive(Debug, PartialEq, Eq)]
enum Ours {
    /// It waits behind another turn; the last turn that began is remembered, because that is told first.
    Waits {
        queued: String,
        last_started: Option<String>,
    },
    Turn(String),
}

impl Ours {
    fn of(sent: &Sent) -> Self {
        match (&sent.turn, &sent.queued) {
            (Some(turn), _) => Self::Turn(turn.clone()),
            (None, queued) => Self::Waits { queued: queued.clone().unwrap_or_default(), last_started: None },
        }
    }

    fn is_about(&mut self, event: &Event) -> bool {
        match (&mut *self, &event.kind) {
            (_, EventKind::Closed) => true,
            (Self::Turn(turn), _) => event.turn.as_ref() == Some(turn),
            (Self::Waits { last_started, .. }, EventKind::TurnStarted { .. }) => {
                last_started.clone_from(&event.turn);
                false
            }
            (Self::Waits { queued, last_started: Some(turn) }, EventKind::Queue { queue })
                if queue.iter().all(|waits| waits.id != *queued) =>
            {
                *self = Self::Turn(turn.clone());
                false
            }
            (Self::Waits { .. }, _) => false,
        }
    }
}

async fn give_up(reached: &Reached, session: &str, ours: &Ours) -> Result<(), ApiError> {
    use offshoot_api::request::{CancelQueued, Interrupt};
    let session = session.to_owned();
    let request = match ours {
        Ours::Turn(turn) => Request::Interrupt(Interrupt { session, turn: Some(turn.clone()) }),
        Ours::Waits { queued, .. } => Request::CancelQueued(CancelQueued { session, queued: queued.clone() }),
    };
    reached.call(request).await.map(|_| ())
}

/// What scripts want to know of an answer.
#[derive(Debug, Default)]
struct Heard {
    turn: Option<String>,
    prompt: Option<String>,
    entries: Vec<Value>,
    text: String,
}

impl Heard {
    fn take(&mut self, event: &Event) {
        let EventKind::Entry { entry } = &event.kind else { return };
        self.turn.clone_from(&event.turn);
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
