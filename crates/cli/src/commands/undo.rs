//! `offshoot undo` and `offshoot redo [SESSION]`: one step back, or forward again. Nothing leaves the journal.
//!
//! To begin a session is a step too. One that came out of another session is told in both; whichever is named, both
//! go the same way.

use offshoot_api::Request;
use offshoot_api::request::History;
use offshoot_session::plan::{
    BeginningRefused, OtherSide, other_side, plan_redo, plan_undo, plan_undo_beginning,
};
use offshoot_session::{Change, Fact, Operation, OperationId, Record, SessionId, SessionTree, Stamps};
use serde_json::json;

use super::head::{self, Told, head_line, wants_json, with_session};
use crate::args::UndoArgs;
use crate::doing::{Asked, asked, has_engine, if_running, tell_of_news};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::last_used::Whose;
use crate::numbers::moment_after;
use crate::steps::Steps;
use crate::stored::{Changed, change_records, is_written_last, read_even_if_taken_back};
use crate::talk::refused;
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
    let id = stored_among(here, session, among, Whose::Ours)?;
    let turned = match turned_by_engine(here, &id, direction, args)? {
        Some(turned) => turned,
        None => turned_alone(here, &id, direction)?,
    };
    is_written_last(here, &id);
    let Turned { changed, child, notes } = turned;
    let Some(step) = turned_step(&changed, direction) else { return Ok(Answer::default()) };
    let answer = match wants_json(args.json.json) {
        true => {
            let operation = json!({"id": step.id.as_str(), "name": step.name, "at": step.at.to_string()});
            head::as_json(&id, &changed, json!({"operation": operation}))
        }
        false => told(here, session, &id, &changed, step, child.as_ref(), direction),
    };
    Ok(Answer { notes, ..answer })
}

struct Turned {
    changed: Changed,
    /// The session that is there no more, or again.
    child: Option<SessionId>,
    /// What a person should know of the other side.
    notes: Vec<String>,
}

/// The side that was named is written last: it stays the one that commands without SESSION are about.
fn turned_alone(here: &Here, id: &SessionId, direction: Direction) -> Result<Turned, Failure> {
    let OtherTurned { child, notes } = turn_other_side(here, id, direction)?;
    let changed = change_records(here, id, |tree, stamps| planned(tree, direction, stamps))?;
    tell_of_news(here, id);
    Ok(Turned { changed, child, notes })
}

/// `None`: there is no engine.
fn turned_by_engine(
    here: &Here,
    id: &SessionId,
    direction: Direction,
    args: &UndoArgs,
) -> Result<Option<Turned>, Failure> {
    if !has_engine(here, id) {
        return Ok(None);
    }
    let before = read_even_if_taken_back(here, id)?.tree;
    let child = expected_child(here, &before, direction)?;
    let asks = History { session: id.to_string(), if_running: if_running(args.running.abort_first) };
    let request = match direction {
        Direction::Back => Request::Undo(asks),
        Direction::Forward => Request::Redo(asks),
    };
    match asked(here, request)? {
        Asked::Nobody => Ok(None),
        Asked::Lost(error) => Err(refused(&error)),
        Asked::Answered(_) => {
            let after = read_even_if_taken_back(here, id)?.tree;
            let changed = Changed { before, after, is_change: true };
            Ok(Some(Turned { changed, child, notes: Vec::new() }))
        }
    }
}

/// The session that will be there no more, or again. It is told here why one that has gone on stays.
fn expected_child(
    here: &Here,
    tree: &SessionTree,
    direction: Direction,
) -> Result<Option<SessionId>, Failure> {
    let mut stamps = here.stamps();
    let records = planned(tree, direction, &mut stamps)?;
    let Some(operation) = records.iter().find_map(operation_of) else { return Ok(None) };
    let Some(OtherSide::Child(child)) = other_side(tree, operation) else { return Ok(None) };
    match read_even_if_taken_back(here, &child) {
        // It may have been removed by hand.
        Err(failure) if failure.exit == Exit::NotFound => return Ok(None),
        read if direction == Direction::Back => {
            plan_undo_beginning(&read?.tree, operation, &mut stamps).map_err(|why| gone_on(here, &why))?;
        }
        _ => {}
    }
    Ok(Some(child))
}

/// The step that the two differ in.
fn turned_step(changed: &Changed, direction: Direction) -> Option<&Operation> {
    let is_undone = direction == Direction::Back;
    let was = |step: &Operation| changed.before.operation(&step.id).is_some_and(|step| step.undone);
    changed.after.operations().rev().find(|step| step.undone == is_undone && was(step) != is_undone)
}

fn planned(
    tree: &SessionTree,
    direction: Direction,
    stamps: &mut dyn Stamps,
) -> Result<Vec<Record>, Failure> {
    match direction {
        Direction::Back => plan_undo(tree, stamps).map_err(|none| Failure::refused(none.to_string())),
        Direction::Forward => plan_redo(tree, stamps).map_err(|none| Failure::refused(none.to_string())),
    }
}

#[derive(Debug, Default)]
struct OtherTurned {
    /// The session that is there no more, or again.
    child: Option<SessionId>,
    /// What a person should know of the other side.
    notes: Vec<String>,
}

/// Takes the step back, or again, in the other session that it is told in.
fn turn_other_side(here: &Here, id: &SessionId, direction: Direction) -> Result<OtherTurned, Failure> {
    let tree = read_even_if_taken_back(here, id)?.tree;
    let records = planned(&tree, direction, &mut here.stamps())?;
    let side = records.iter().find_map(operation_of).and_then(|step| Some((step, other_side(&tree, step)?)));
    let Some((operation, side)) = side else { return Ok(OtherTurned::default()) };
    let (OtherSide::Child(other) | OtherSide::Origin(other)) = &side;
    let turned = change_records(here, other, |tree, stamps| match (direction, &side) {
        (Direction::Back, OtherSide::Child(_)) => {
            plan_undo_beginning(tree, operation, stamps).map_err(|refused| gone_on(here, &refused))
        }
        _ => Ok(turned(tree, operation, direction, stamps)),
    });
    match (turned, &side) {
        (Ok(_), OtherSide::Child(child)) => {
            Ok(OtherTurned { child: Some(child.clone()), ..OtherTurned::default() })
        }
        (Ok(_), OtherSide::Origin(_)) => Ok(OtherTurned::default()),
        // An origin may be a file elsewhere, and a child may have been removed by hand.
        (Err(failure), _) if failure.exit == Exit::NotFound => Ok(OtherTurned::default()),
        (Err(failure), OtherSide::Child(_)) => Err(failure),
        (Err(failure), OtherSide::Origin(_)) => {
            let notes = vec![words::other_side_not_told(other, failure.message())];
            Ok(OtherTurned { notes, ..OtherTurned::default() })
        }
    }
}

fn turned(
    tree: &SessionTree,
    operation: &OperationId,
    direction: Direction,
    stamps: &mut dyn Stamps,
) -> Vec<Record> {
    let is_back = direction == Direction::Back;
    if tree.operation(operation).is_none_or(|step| step.undone == is_back) {
        return Vec::new();
    }
    let operation = operation.clone();
    let fact = if is_back { Fact::Undone { operation } } else { Fact::Redone { operation } };
    vec![Record::marked(stamps.now(), fact)]
}

fn gone_on(here: &Here, refused: &BeginningRefused) -> Failure {
    let BeginningRefused::HasGoneOn(child) = refused;
    let child = short(here, child);
    Failure::refused(words::has_gone_on(&child)).hint(words::has_gone_on_hint(&child))
}

fn told(
    here: &Here,
    session: Option<&str>,
    id: &SessionId,
    changed: &Changed,
    step: &Operation,
    child: Option<&SessionId>,
    direction: Direction,
) -> Answer {
    let look = &here.look;
    let what = harmless_line(&Steps::of(&changed.after).told(step), look.ascii);
    let when = moment_after(step.at, Some(here.stamps().now()), look);
    let mut rest = head_line(changed, look);
    let is_own = changed.after.is_taken_back() != changed.before.is_taken_back();
    if let Some(appeared) = child.or(is_own.then_some(id)) {
        let name = short(here, appeared);
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

fn operation_of(record: &Record) -> Option<&OperationId> {
    match &record.change {
        Change::Marked(mark) => match &mark.fact {
            Fact::Undone { operation } | Fact::Redone { operation } => Some(operation),
            _ => None,
        },
        _ => None,
    }
}
