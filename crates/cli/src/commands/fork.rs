//! `offshoot fork [SESSION] [--at POINT]`: another branch from here, in this session or in one of its own.

use offshoot_api::request::{self, ForkTo};
use offshoot_api::{Request, Response};
use offshoot_session::plan::{NewSession, SwitchRefused, born, branched_session, plan_fork, plan_forked};
use offshoot_session::{EntryId, Fact, HeadName, Record, SessionId, SessionTree, Stamps, TitleSource};
use serde_json::json;

use super::head::{self, Told, destination, head_line, place, turn_number, wants_json, with_session};
use super::json::printed_object;
use crate::args::ForkArgs;
use crate::doing::{Asked, Done, Step, asked, exactly, has_engine, if_running, take};
use crate::failure::Failure;
use crate::here::Here;
use crate::stored::{change, create, is_written_last, read};
use crate::talk::{refused, unexpected};
use crate::which::{short, stored};
use crate::{Answer, words};

pub(crate) fn run(args: &ForkArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, []) = args.words.split("")?;
    let id = stored(here, session)?;
    if args.new_session { to_a_new_session(args, &id, here) } else { within(args, session, &id, here) }
}

/// The head goes to where the branch starts; the branch is there with the next message.
fn within(args: &ForkArgs, session: Option<&str>, id: &SessionId, here: &Here) -> Result<Answer, Failure> {
    let Done { changed, .. } = take(here, id, |tree, stamps| {
        let Some(at) = args.at.as_deref() else { return Ok(None) };
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
        hint: match (changed.is_change, &args.at) {
            (true, _) => words::take_back(&with_session(here, "undo", session, id)),
            (false, None) => words::FORK_ELSEWHERE.to_owned(),
            (false, Some(_)) => String::new(),
        },
    };
    Ok(told.answer(&here.look))
}

fn to_a_new_session(args: &ForkArgs, origin: &SessionId, here: &Here) -> Result<Answer, Failure> {
    let tree = read(here, origin)?.tree;
    let at = match args.at.as_deref() {
        Some(at) => Some(destination(&tree, at)?),
        None => tree.main_head().cloned(),
    };
    let forked = match forked_by_engine(args, origin, at.as_ref(), here)? {
        Some(forked) => forked,
        None => forked_alone(args, origin, &tree, at.as_ref(), here)?,
    };
    // Commands without SESSION are about the one written last.
    is_written_last(here, &forked.id);
    Ok(told_of_fork(args, origin, &tree, forked, here))
}

/// A session out of another one.
struct Forked {
    id: SessionId,
    head: Option<EntryId>,
    notes: Vec<String>,
}

/// `None`: there is no engine, or nothing to begin at.
fn forked_by_engine(
    args: &ForkArgs,
    origin: &SessionId,
    at: Option<&EntryId>,
    here: &Here,
) -> Result<Option<Forked>, Failure> {
    let Some(at) = at.filter(|_| has_engine(here, origin)) else { return Ok(None) };
    let fork = request::Fork {
        session: origin.to_string(),
        at: exactly(at),
        to: ForkTo::NewSession,
        title: args.title.clone(),
        ..request::Fork::default()
    };
    match asked(here, Request::Fork(fork))? {
        Asked::Nobody => Ok(None),
        Asked::Answered(Response::Moved(moved)) => Ok(Some(Forked {
            id: moved.session.as_str().into(),
            head: moved.to.as_deref().map(EntryId::from),
            notes: Vec::new(),
        })),
        Asked::Answered(other) => Err(unexpected(other)),
        Asked::Lost(error) => Err(refused(&error)),
    }
}

fn forked_alone(
    args: &ForkArgs,
    origin: &SessionId,
    tree: &SessionTree,
    at: Option<&EntryId>,
    here: &Here,
) -> Result<Forked, Failure> {
    let mut stamps = here.stamps();
    let forked = branched_session(tree, at, &mut stamps);
    let NewSession { id, mut records, head } =
        forked.map_err(|refused| Failure::not_found(refused.to_string()))?;
    if let Some(title) = args.title.as_deref().map(str::trim).filter(|title| !title.is_empty()) {
        let fact = Fact::Title { title: Some(title.to_owned()), source: TitleSource::User };
        records.push(Record::marked(stamps.now(), fact));
    }
    let step = plan_forked(&id, &mut stamps);
    born(&mut records, &words::fork_step(&short(here, origin)), step.operation.clone(), &mut stamps);
    // The new session stands by itself: what the old one knows of it only helps to take it back.
    let told = change(here, origin, |_, _| Ok(Some(step.clone())));
    let notes: Vec<String> =
        told.err().map(|failure| words::other_side_not_told(origin, failure.message())).into_iter().collect();
    create(here, &records)?;
    Ok(Forked { id, head, notes })
}

fn told_of_fork(
    args: &ForkArgs,
    origin: &SessionId,
    tree: &SessionTree,
    forked: Forked,
    here: &Here,
) -> Answer {
    let Forked { id, head, notes } = forked;
    if wants_json(args.json.json) {
        let text = printed_object(json!({
            "id": id.as_str(),
            "parent": origin.as_str(),
            "head": head.as_ref().map(|head| head.as_str()),
        }));
        return Answer { text, notes, ..Answer::default() };
    }
    let turns = head.as_ref().and_then(|head| turn_number(tree, head));
    let first = words::forked_session(&short(here, &id), &short(here, origin), turns);
    let is_of_folder = stored(here, None).is_ok_and(|found| found == id);
    let mut hint = words::take_back(&with_session(here, "undo", (!is_of_folder).then_some(""), &id));
    if is_of_folder {
        hint = format!("{}\n{hint}", words::session_of_folder(&short(here, origin)));
    }
    Answer { notes, ..Told { first, hint, ..Told::default() }.answer(&here.look) }
}
