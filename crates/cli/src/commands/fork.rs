//! `offshoot fork [SESSION] [POINT]`: another branch from here, in this session or in one of its own.

use offshoot_api::Request;
use offshoot_api::request::{Fork, ForkTo};
use offshoot_api::response::Changed;
use offshoot_session::{SessionId, Stamps};
use serde_json::json;

use super::head::{self, Told, head_line, place, session_line, wants_json, with_session, words_back};
use super::json::printed_object;
use crate::args::ForkArgs;
use crate::change::{change, if_running};
use crate::failure::Failure;
use crate::here::Here;
use crate::which::{names_one, short, stored};
use crate::{Answer, words};

pub(crate) fn run(args: &ForkArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, point) = args.words.session_and_point(|word| names_one(here, word))?;
    if point.is_some() && args.at.is_some() {
        return Err(Failure::usage(words::too_many_words("[POINT]")));
    }
    let at = point.or(args.at.as_deref());
    let id = stored(here, session)?;
    match (args.new_session, at) {
        (_, None) if args.before => Err(Failure::usage(words::words_missing("POINT"))),
        (false, at) => within(args, session, &id, at, here),
        (true, at) => to_a_new_session(args, &id, at, here),
    }
}

/// The head goes to where the branch starts; the branch is there with the next message.
fn within(
    args: &ForkArgs,
    session: Option<&str>,
    id: &SessionId,
    at: Option<&str>,
    here: &Here,
) -> Result<Answer, Failure> {
    let request = Fork {
        session: id.to_string(),
        at: at.map(|at| args.exact.point(at)),
        before: args.before,
        if_running: if_running(args.running.abort_first),
        client_id: Some(here.client_id()),
        ..Fork::default()
    };
    let changed = change(here, id, Request::Fork(request))?;
    if wants_json(args.json.json) {
        let text = changed.editor_text.as_deref();
        return Ok(head::as_json(&changed, text.map_or_else(|| json!({}), |text| json!({ "text": text }))));
    }
    let head = changed.head.place.as_ref();
    let told = Told {
        first: words::next_message(&place(head), head.is_some_and(|head| head.continues)),
        rest: [
            head_line(&changed, &here.look),
            words_back(changed.editor_text.as_deref(), &here.look),
            session_line(here, &changed.session),
        ]
        .concat(),
        hint: match (changed.changed, at) {
            (true, _) => words::take_back(&with_session(here, "undo", session, id)),
            (false, None) => words::FORK_ELSEWHERE.to_owned(),
            (false, Some(_)) => String::new(),
        },
    };
    Ok(told.answer(&here.look))
}

/// With everything up to a point, or with what stands above a prompt: then its text comes back.
fn to_a_new_session(
    args: &ForkArgs,
    origin: &SessionId,
    at: Option<&str>,
    here: &Here,
) -> Result<Answer, Failure> {
    let request = Fork {
        session: origin.to_string(),
        at: at.map(|at| args.exact.point(at)),
        to: ForkTo::NewSession,
        before: args.before,
        title: args.title.clone(),
        client_id: Some(here.stamps().session_id().to_string()),
        ..Fork::default()
    };
    let changed = change(here, origin, Request::Fork(request))?;
    let id = SessionId::from(changed.continues_in());
    let number = changed.place.as_ref().map(|place| place.number);
    let (name, from) = (short(here, &id), short(here, origin));
    let first = match args.before {
        true => words::scripts::forked_before(&name, &from, number.unwrap_or_default()),
        false => words::forked_session(&name, &from, number.filter(|number| *number > 0)),
    };
    Ok(told_of_fork(args, origin, first, &id, &changed, here))
}

fn told_of_fork(
    args: &ForkArgs,
    origin: &SessionId,
    first: String,
    id: &SessionId,
    changed: &Changed,
    here: &Here,
) -> Answer {
    let said = changed.editor_text.as_deref();
    if wants_json(args.json.json) {
        let mut object = json!({
            "id": id.as_str(),
            "parent": origin.as_str(),
            "head": changed.new_head,
        });
        if let (Some(object), Some(said)) = (object.as_object_mut(), said) {
            object.insert("text".to_owned(), json!(said));
        }
        return Answer { text: printed_object(object), ..Answer::default() };
    }
    let back = words::session_of_folder(&short(here, origin));
    let hint = format!("{back}\n{}", words::take_back(&with_session(here, "undo", None, id)));
    let rest = words_back(said, &here.look);
    Told { first, rest, hint }.answer(&here.look)
}
