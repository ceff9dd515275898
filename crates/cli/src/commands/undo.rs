//! `offshoot undo` and `offshoot redo [SESSION]`: one step back, or forward again. Nothing leaves the journal.

use offshoot_session::plan::{plan_redo, plan_undo};
use offshoot_session::{Change, Fact, OperationId, Record, Stamps};
use serde_json::json;

use super::head::{self, Told, head_line, wants_json, with_session};
use crate::args::UndoArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::numbers::moment_after;
use crate::steps::Steps;
use crate::stored::change_records;
use crate::text::harmless_line;
use crate::which::stored;
use crate::{Answer, words};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Back,
    Forward,
}

pub(crate) fn run(args: &UndoArgs, direction: Direction, here: &Here) -> Result<Answer, Failure> {
    let (session, []) = args.words.split("")?;
    let id = stored(here, session)?;
    let mut written = Vec::new();
    let changed = change_records(here, &id, |tree, stamps| {
        written = match direction {
            Direction::Back => plan_undo(tree, stamps).map_err(|none| Failure::refused(none.to_string()))?,
            Direction::Forward => {
                plan_redo(tree, stamps).map_err(|none| Failure::refused(none.to_string()))?
            }
        };
        Ok(written.clone())
    })?;
    let step = written.iter().find_map(operation_of).and_then(|id| changed.after.operation(id));
    let Some(step) = step else { return Ok(Answer::default()) };
    if wants_json(args.json.json) {
        let operation = json!({"id": step.id.as_str(), "name": step.name, "at": step.at.to_string()});
        return Ok(head::as_json(&id, &changed, json!({"operation": operation})));
    }
    let look = &here.look;
    let what = harmless_line(&Steps::of(&changed.after).told(step), look.ascii);
    let when = moment_after(step.at, Some(here.stamps().now()), look);
    let (first, hint) = match direction {
        Direction::Back => (
            words::undid(&what, &when),
            words::undo_hint(
                &with_session(here, "redo", session, &id),
                &with_session(here, "ops", session, &id),
            ),
        ),
        Direction::Forward => {
            (words::redid(&what, &when), words::take_back(&with_session(here, "undo", session, &id)))
        }
    };
    Ok(Told { first, rest: head_line(&changed, look), hint }.answer(look))
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
