//! Back and forward through the list of steps.
//!
//! Undo and redo are records too, but not steps: no step has their id, so they cannot be undone themselves. The id that a
//! mark carries is the caller's, so that a request that arrives twice is recognised.

use std::collections::HashSet;

use thiserror::Error;

use crate::{Change, Fact, OperationId, Record, SessionTree, Stamps};

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("there is no step to undo")]
pub struct NothingToUndo;

#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("there is no step to redo")]
pub struct NothingToRedo;

/// Undoes the latest step that stands.
pub fn plan_undo(tree: &SessionTree, stamps: &mut dyn Stamps) -> Result<Vec<Record>, NothingToUndo> {
    let latest = tree.operations().rfind(|operation| !operation.undone).ok_or(NothingToUndo)?;
    Ok(vec![Record::marked(stamps.now(), Fact::Undone { operation: latest.id.clone() })])
}

/// Redoes the step that was undone last, unless a new step has been taken since.
pub fn plan_redo(tree: &SessionTree, stamps: &mut dyn Stamps) -> Result<Vec<Record>, NothingToRedo> {
    let operation = undone_since_last_step(tree).pop().ok_or(NothingToRedo)?;
    Ok(vec![Record::marked(stamps.now(), Fact::Redone { operation })])
}

/// The step that these records undo or redo.
pub fn step_of(records: &[Record]) -> Option<&OperationId> {
    records.iter().find_map(|record| match &record.change {
        Change::Marked(mark) => match &mark.fact {
            Fact::Undone { operation } | Fact::Redone { operation } => Some(operation),
            _ => None,
        },
        Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => None,
    })
}

/// Steps that can be taken again, the one undone last at the end.
fn undone_since_last_step(tree: &SessionTree) -> Vec<OperationId> {
    let mut undone: Vec<&OperationId> = Vec::new();
    for record in tree.log() {
        let Change::Marked(mark) = &record.change else { continue };
        match &mark.fact {
            Fact::Operation { .. } | Fact::Began { .. } => undone.clear(),
            Fact::Undone { operation } => undone.push(operation),
            Fact::Redone { operation } => {
                if undone.pop_if(|last| *last == operation).is_none() {
                    undone.retain(|other| *other != operation);
                }
            }
            Fact::Label { .. }
            | Fact::Title { .. }
            | Fact::BranchName { .. }
            | Fact::Checkpoint { .. }
            | Fact::Bound { .. }
            | Fact::TurnEnded { .. }
            | Fact::Archived { .. }
            | Fact::Forked { .. }
            | Fact::Delivered { .. }
            | Fact::Spent { .. } => {}
        }
    }
    let known: HashSet<&OperationId> =
        tree.operations().filter(|operation| operation.undone).map(|operation| &operation.id).collect();
    undone.into_iter().filter(|operation| known.contains(operation)).cloned().collect()
}
