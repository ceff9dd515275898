//! `offshoot fork [SESSION] [POINT]`: another branch from here, in this session or in one of its own.

use offshoot_api::request::{self, ForkTo};
use offshoot_api::{Request, Response};
use offshoot_session::plan::{
    BranchedSession, ForkRefused, NewSession, SwitchRefused, born, branched_session, plan_branch_session,
    plan_fork, plan_forked,
};
use offshoot_session::{EntryId, Fact, HeadName, Record, SessionId, Stamps, TitleSource};
use serde_json::json;

use super::edit::not_a_prompt;
use super::head::{
    self, Told, destination, head_line, place, turn_number, wants_json, with_session, words_back,
};
use super::json::printed_object;
use crate::args::ForkArgs;
use crate::doing::{Asked, Done, Step, asked_where_it_must, exactly, if_running, take, tell_of_news};
use crate::failure::Failure;
use crate::here::Here;
use crate::opened::point;
use crate::stored::{change, create, is_written_last, read};
use crate::talk::{refused, unexpected};
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
        (false, at) => within(args, session, &id, at, here),
        (true, Some(at)) if args.before => before_a_prompt(args, &id, at, here),
        (true, None) if args.before => Err(Failure::usage(words::words_missing("POINT"))),
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
    let Done { changed, .. } = take(here, id, |tree, stamps| {
        let Some(at) = at else { return Ok(None) };
        let at = destination(tree, at)?;
        let plan = plan_fork(tree, &HeadName::main(), &at, stamps)
            .map_err(|refused: SwitchRefused| Failure::not_found(refused.to_string()))?;
        let (session, at, to) = (id.to_string(), exactly(&at), ForkTo::Here);
        let if_running = if_running(args.running.abort_first);
        Ok(Step::of(plan, Request::Fork(request::Fork { session, at, to, title: None, if_running })))
    })?;
    if wants_json(args.json.json) {
        return Ok(head::as_json(id, &changed, json!({})));
    }
    let tree = &changed.after;
    let goes_on = tree.main_head().is_some_and(|at| tree.has_children(at));
    let told = Told {
        first: words::next_message(&place(tree), goes_on),
        rest: head_line(&changed, &here.look),
        hint: match (changed.is_change, at) {
            (true, _) => words::take_back(&with_session(here, "undo", session, id)),
            (false, None) => words::FORK_ELSEWHERE.to_owned(),
            (false, Some(_)) => String::new(),
        },
    };
    Ok(told.answer(&here.look))
}

fn to_a_new_session(
    args: &ForkArgs,
    origin: &SessionId,
    at: Option<&str>,
    here: &Here,
) -> Result<Answer, Failure> {
    let tree = read(here, origin)?.tree;
    let at = match at {
        Some(at) => Some(destination(&tree, at)?),
        None => tree.main_head().cloned(),
    };
    let by_engine = match &at {
        Some(at) => by_engine(args, origin, at, ForkTo::NewSession, here)?,
        // There is nothing to begin at.
        None => None,
    };
    let forked = match by_engine {
        Some(forked) => forked,
        None => {
            let mut stamps = here.stamps();
            let session = branched_session(&tree, at.as_ref(), &mut stamps);
            let session = session.map_err(|refused| Failure::not_found(refused.to_string()))?;
            alone(args, origin, session, &mut stamps, here)?
        }
    };
    // Commands without SESSION are about the one written last.
    is_written_last(here, &forked.id);
    let turns = forked.head.as_ref().and_then(|head| turn_number(&tree, head));
    let first = words::forked_session(&short(here, &forked.id), &short(here, origin), turns);
    Ok(told_of_fork(args, origin, first, forked, here))
}

/// A session with what stands above a prompt. The words of the prompt come back.
fn before_a_prompt(args: &ForkArgs, origin: &SessionId, at: &str, here: &Here) -> Result<Answer, Failure> {
    let tree = read(here, origin)?.tree;
    let at = point(&tree, at)?;
    let mut stamps = here.stamps();
    let BranchedSession { session, editor_text } =
        plan_branch_session(&tree, &at, &mut stamps).map_err(|refused| match refused {
            ForkRefused::NotAPrompt(at) => not_a_prompt(&tree, &at),
            ForkRefused::NotFound(_) | ForkRefused::NotAMessage(_) => Failure::not_found(refused.to_string()),
        })?;
    let mut forked = match by_engine(args, origin, &at, ForkTo::NewSessionBefore, here)? {
        Some(forked) => forked,
        None => alone(args, origin, session, &mut stamps, here)?,
    };
    forked.words = Some(editor_text);
    is_written_last(here, &forked.id);
    let number = turn_number(&tree, &at).unwrap_or_default();
    let first = words::scripts::forked_before(&short(here, &forked.id), &short(here, origin), number);
    Ok(told_of_fork(args, origin, first, forked, here))
}

/// A session out of another one.
struct Forked {
    id: SessionId,
    head: Option<EntryId>,
    /// Of the prompt that it begins before.
    words: Option<String>,
    notes: Vec<String>,
}

/// `None`: there is no engine, and nobody who wants to be asked.
fn by_engine(
    args: &ForkArgs,
    origin: &SessionId,
    at: &EntryId,
    to: ForkTo,
    here: &Here,
) -> Result<Option<Forked>, Failure> {
    let fork = request::Fork {
        session: origin.to_string(),
        at: exactly(at),
        to,
        title: args.title.clone(),
        ..request::Fork::default()
    };
    match asked_where_it_must(here, origin, Request::Fork(fork))? {
        Asked::Nobody => Ok(None),
        Asked::Answered(Response::Moved(moved)) => Ok(Some(Forked {
            id: moved.session.as_str().into(),
            head: moved.to.as_deref().map(EntryId::from),
            words: None,
            notes: Vec::new(),
        })),
        Asked::Answered(other) => Err(unexpected(other)),
        Asked::Lost(error) => Err(refused(&error)),
    }
}

fn alone(
    args: &ForkArgs,
    origin: &SessionId,
    session: NewSession,
    stamps: &mut dyn Stamps,
    here: &Here,
) -> Result<Forked, Failure> {
    let NewSession { id, mut records, head } = session;
    if let Some(title) = args.title.as_deref().map(str::trim).filter(|title| !title.is_empty()) {
        let fact = Fact::Title { title: Some(title.to_owned()), source: TitleSource::User };
        records.push(Record::marked(stamps.now(), fact));
    }
    let step = plan_forked(&id, stamps);
    born(&mut records, &words::fork_step(&short(here, origin)), step.operation.clone(), stamps);
    // The new session stands by itself: what the old one knows of it only helps to take it back.
    let told = change(here, origin, |_, _| Ok(Some(step.clone())));
    let notes: Vec<String> =
        told.err().map(|failure| words::other_side_not_told(origin, failure.message())).into_iter().collect();
    tell_of_news(here, origin);
    create(here, &records)?;
    Ok(Forked { id, head, words: None, notes })
}

fn told_of_fork(args: &ForkArgs, origin: &SessionId, first: String, forked: Forked, here: &Here) -> Answer {
    let Forked { id, head, words: said, notes } = forked;
    if wants_json(args.json.json) {
        let mut object = json!({
            "id": id.as_str(),
            "parent": origin.as_str(),
            "head": head.as_ref().map(|head| head.as_str()),
        });
        if let (Some(object), Some(said)) = (object.as_object_mut(), said) {
            object.insert("text".to_owned(), json!(said));
        }
        return Answer { text: printed_object(object), notes, ..Answer::default() };
    }
    let is_of_folder = stored(here, None).is_ok_and(|found| found == id);
    let mut hint = words::take_back(&with_session(here, "undo", (!is_of_folder).then_some(""), &id));
    if is_of_folder {
        hint = format!("{}\n{hint}", words::session_of_folder(&short(here, origin)));
    }
    let rest = words_back(said.as_deref(), &here.look);
    Answer { notes, ..Told { first, rest, hint }.answer(&here.look) }
}
