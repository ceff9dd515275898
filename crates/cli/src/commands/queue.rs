//! `offshoot queue [SESSION]`: what waits to be said, and what can still be done about it.

use offshoot_api::request::{CancelQueued, ChangeQueued, IfRunning, Session};
use offshoot_api::views::{PromptView, QueuedView};
use offshoot_api::{ApiError, ErrorCode, Request, Response};
use offshoot_session::SessionId;
use serde_json::{Value, json};

use super::answered::{Message, Saying, answered};
use super::head::{said_of, with_session};
use super::json::printed;
use crate::args::{JsonShape, QueueArgs, QueueCommand};
use crate::change::answered as answered_by_engine;
use crate::columns::{Cell, Column, Room, Side, drawn};
use crate::engine::{Reached, reach};
use crate::failure::Failure;
use crate::here::Here;
use crate::last_used;
use crate::look::Ink;
use crate::refusals::explained;
use crate::talk::looking_on::LookingOn;
use crate::talk::{unexpected, wait_for};
use crate::text::harmless_line;
use crate::which::stored;
use crate::words::scripts as words;
use crate::{Answer, numbers};

const COLUMNS: [Column; 5] = [
    Column { title: "", side: Side::Left, room: Room::Lead },
    Column { title: "", side: Side::Left, room: Room::Fixed },
    Column { title: "", side: Side::Left, room: Room::Fixed },
    Column { title: "", side: Side::Left, room: Room::Text(20) },
    Column { title: "", side: Side::Left, room: Room::GivesWay(6) },
];

pub(crate) fn run(args: &QueueArgs, here: &Here) -> Result<Answer, Failure> {
    match &args.command {
        None => {
            let named = args.words.only_session().map_err(|failure| failure.hint(words::QUEUE_USAGE_HINT))?;
            let session = stored(here, named)?;
            let queue = listed(here, &session)?;
            Ok(told(&queue, args.json.json, here, &with_session(here, "queue send", named, &session)))
        }
        Some(QueueCommand::Change(change)) => {
            let (session, [number, text]) = change.words.split("N TEXT")?;
            let session = stored(here, session)?;
            let changed = |session, queued: &QueuedView| {
                // What went with it still does.
                let prompt = PromptView { text: text.to_owned(), ..queued.prompt.clone() };
                Request::ChangeQueued(ChangeQueued { session, queued: queued.id.clone(), prompt })
            };
            done(here, &session, number, changed)?;
            last_used::record_stored(here, &session);
            Ok(said_of(here, &session, words::QUEUE_CHANGED))
        }
        Some(QueueCommand::Cancel(cancel)) => {
            let (session, [number]) = cancel.words.split("N")?;
            let session = stored(here, session)?;
            let cancelled = |session, queued: &QueuedView| {
                Request::CancelQueued(CancelQueued { session, queued: queued.id.clone() })
            };
            done(here, &session, number, cancelled)?;
            last_used::record_stored(here, &session);
            Ok(said_of(here, &session, words::QUEUE_CANCELLED))
        }
        Some(QueueCommand::Send(send)) => {
            let (session, number) = send.words.session_and_point(|_| Ok(true))?;
            let session = stored(here, session)?;
            let queue = listed(here, &session)?;
            let queued = match number {
                Some(number) => Some(found(&queue, number)?.id.clone()),
                None => queue.iter().find(|queued| queued.held).map(|queued| queued.id.clone()),
            };
            let queued = queued.ok_or_else(|| Failure::refused(words::NOTHING_HELD))?;
            let saying = Saying::Queued { id: queued };
            answered(Message { session, saying, if_running: IfRunning::Wait, json: send.json.json }, here)
        }
    }
}

fn listed(here: &Here, session: &SessionId) -> Result<Vec<QueuedView>, Failure> {
    let request = Request::Queue(Session { session: session.to_string() });
    as_queue(here, session, answered_by_engine(here, request)?)
}

async fn queue_of(reached: &Reached, here: &Here, session: &SessionId) -> Result<Vec<QueuedView>, Failure> {
    let request = Request::Queue(Session { session: session.to_string() });
    as_queue(here, session, reached.call(request).await)
}

fn as_queue(
    here: &Here,
    session: &SessionId,
    answer: Result<Response, ApiError>,
) -> Result<Vec<QueuedView>, Failure> {
    match answer.map_err(|error| explained(here, session, &error))? {
        Response::Queue { queue } => Ok(queue),
        other => Err(unexpected(other)),
    }
}

/// Does something about one of those that wait.
fn done(
    here: &Here,
    session: &SessionId,
    number: &str,
    request: impl FnOnce(String, &QueuedView) -> Request,
) -> Result<(), Failure> {
    wait_for(async {
        let reached = reach(here).await?;
        let looking_on = LookingOn::begin(&reached, session.as_str(), here.look.ascii).await;
        let done = async {
            let queue = queue_of(&reached, here, session).await?;
            let queued = found(&queue, number)?;
            let answer = reached.call(request(session.to_string(), queued)).await;
            answer.map(|_| ()).map_err(|error| match error.code {
                ErrorCode::NotFound => nothing_waits_as(number),
                ErrorCode::Blank => Failure::refused(crate::words::BLANK_PROMPT),
                _ => explained(here, session, &error),
            })
        };
        let done = done.await;
        match looking_on {
            Some(looking_on) => looking_on.catch_up_and_leave(reached).await,
            None => reached.leave().await,
        }
        done
    })
}

/// By its number in the list, or by its id.
fn found<'q>(queue: &'q [QueuedView], word: &str) -> Result<&'q QueuedView, Failure> {
    let numbered =
        word.trim_start_matches('#').parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let numbered = numbered.and_then(|at| queue.get(at));
    let found = queue.iter().find(|queued| queued.id == word).or(numbered);
    found.ok_or_else(|| nothing_waits_as(word))
}

fn nothing_waits_as(word: &str) -> Failure {
    Failure::not_found(words::not_in_queue(word)).hint(words::QUEUE_HINT)
}

fn told(queue: &[QueuedView], json: Option<JsonShape>, here: &Here, send: &str) -> Answer {
    let text = match json {
        Some(shape) => {
            let rows: Vec<Value> =
                queue.iter().zip(1..).map(|(queued, number)| as_json(queued, number)).collect();
            printed(json!({ "queue": rows }), "queue", shape)
        }
        None if queue.is_empty() => words::NOTHING_WAITS.to_owned(),
        None => table(queue, here, send),
    };
    Answer { text, ..Answer::default() }
}

fn table(queue: &[QueuedView], here: &Here, send: &str) -> String {
    let look = &here.look;
    let rows: Vec<Vec<Cell>> = queue
        .iter()
        .enumerate()
        .map(|(at, queued)| {
            let text = queued.prompt.text.split_whitespace().collect::<Vec<_>>().join(" ");
            let state = if queued.held { words::HELD } else { words::WAITS };
            // A person names it by its number, a script by its id.
            let id = if look.for_a_person { "" } else { queued.id.as_str() };
            vec![
                Cell::plain((at + 1).to_string()),
                Cell::new(if queued.held { Ink::Error } else { Ink::Plain }, state),
                Cell::faint(numbers::moment(queued.at, look)),
                Cell::plain(harmless_line(&text, look.ascii)),
                Cell::faint(harmless_line(id, look.ascii)),
            ]
        })
        .collect();
    let mut text = drawn(&COLUMNS, &rows, look);
    if look.for_a_person && !look.quiet && queue.iter().any(|queued| queued.held) {
        text.push_str(&words::held_hint(send));
        text.push('\n');
    }
    text
}

fn as_json(queued: &QueuedView, number: usize) -> Value {
    let QueuedView { id, behind, held, prompt, at, .. } = queued;
    json!({
        "number": number,
        "id": id,
        "text": prompt.text,
        "attachments": prompt.attachments,
        "behind": behind,
        "held": held,
        "at": at.to_string(),
    })
}
