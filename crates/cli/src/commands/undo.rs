//! `offshoot undo` and `offshoot redo [SESSION]`: one step back, or forward again. Nothing leaves the journal.
//!
//! To begin a session is a step too. One that came out of another session is recorded in both; whichever is named, both
//! go the same way.

use offshoot_api::request::History;
use offshoot_api::response::Changed;
use offshoot_api::views::OperationView;
use offshoot_api::{ApiError, Request};
use offshoot_session::{SessionId, Stamps};
use serde_json::json;

use super::head::{self, Told, head_line, session_line, wants_json, with_session};
use crate::args::UndoArgs;
use crate::change::{asked, if_running};
use crate::failure::Failure;
use crate::here::Here;
use crate::numbers::moment_after;
use crate::refusals::explained;
use crate::steps::told_of_step;
use crate::text::harmless_line;
use crate::which::{Among, short, stored_among};
use crate::{Answer, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Back,
    Forward,
}

pub(crate) fn run(args: &UndoArgs, direction: Direction, here: &Here) -> Result<Answer, Failure> {
    let (session, []) = args.words.split("")?;
    // What is taken back can only be brought back; without a name it is not meant.
    let among = if direction == Direction::Back && session.is_none() { Among::Standing } else { Among::All };
    let id = stored_among(here, session, among)?;
    let history = History {
        session: id.to_string(),
        if_running: if_running(args.running.abort_first),
        client_id: Some(here.client_id()),
    };
    let request = match direction {
        Direction::Back => Request::Undo(history),
        Direction::Forward => Request::Redo(history),
    };
    let changed = asked(here, request)?.map_err(|error| refusal(here, &id, &error))?;
    let Some(step) = &changed.operation else { return Ok(Answer::default()) };
    if wants_json(args.json.json) {
        let operation = json!({"id": step.id, "name": step.kind, "at": step.at.to_string()});
        return Ok(head::as_json(&changed, json!({"operation": operation})));
    }
    Ok(told(here, session, &id, &changed, step, direction))
}

/// A session that has gone on since it was forked is not removed with all that was done in it.
fn refusal(here: &Here, id: &SessionId, error: &ApiError) -> Failure {
    let Some(child) = &error.data.other else { return explained(here, id, error) };
    let child = short(here, &child.as_str().into());
    Failure::refused(words::has_gone_on(&child)).hint(words::has_gone_on_hint(&child))
}

fn told(
    here: &Here,
    session: Option<&str>,
    id: &SessionId,
    changed: &Changed,
    step: &OperationView,
    direction: Direction,
) -> Answer {
    let look = &here.look;
    let what = harmless_line(&told_of_step(step), look.ascii);
    let when = moment_after(step.at, Some(here.stamps().now()), look);
    let mut rest = head_line(changed, look) + &session_line(here, &changed.session);
    if let Some(other) = &changed.other_session {
        let name = short(here, &other.id.as_str().into());
        rest.push_str(&match direction {
            Direction::Back => words::is_not_there_now(&name),
            Direction::Forward => words::is_there_again(&name),
        });
    }
    let with = |command| with_session(here, command, session, id);
    let (first, hint) = match direction {
        Direction::Back => (words::undid(&what, &when), words::undo_hint(&with("redo"), &with("ops"))),
        Direction::Forward => (words::redid(&what, &when), words::take_back(&with("undo"))),
    };
    Told { first, rest, hint }.answer(look)
}
