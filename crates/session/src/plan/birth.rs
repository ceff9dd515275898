//! A session as a step: to begin one can be undone too.
//!
//! The step is told in the session that began. A session that came out of another one is told there as well, under
//! the same id, so that whoever takes a step back in one of the two finds the other side.
//!
//! ```text
//! origin    …  op7 "fork to a new session", forked: child
//! child     open, began in op7 "fork", …
//! ```

use thiserror::Error;

use super::Plan;
use crate::{Change, Fact, OperationId, Record, SessionId, SessionTree, Stamps};

/// Puts the step behind the header of a session that is about to be written.
pub fn born(records: &mut Vec<Record>, name: &str, operation: OperationId, stamps: &mut dyn Stamps) {
    let fact = Fact::Began { name: name.to_owned() };
    let at = records.len().min(1);
    records.insert(at, Record::marked(stamps.now(), fact).in_operation(operation));
}

/// The same step in the session that the new one came from.
pub fn plan_forked(child: &SessionId, stamps: &mut dyn Stamps) -> Plan {
    let mut plan = Plan::named("fork to a new session", stamps);
    plan.push(Record::marked(stamps.now(), Fact::Forked { session: child.clone() }));
    plan
}

/// The other session of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherSide {
    /// Began with this step.
    Child(SessionId),
    /// Had the new session come out of it.
    Origin(SessionId),
}

pub fn other_side(tree: &SessionTree, operation: &OperationId) -> Option<OtherSide> {
    let facts = tree.log().filter(|record| record.operation.as_ref() == Some(operation));
    facts.into_iter().find_map(|record| match &record.change {
        Change::Marked(mark) => match &mark.fact {
            Fact::Forked { session } => Some(OtherSide::Child(session.clone())),
            Fact::Began { .. } => {
                let lineage = tree.header()?.lineage.as_ref()?;
                Some(OtherSide::Origin(lineage.parent.as_str().into()))
            }
            _ => None,
        },
        Change::Opened(_) | Change::Entry(_) | Change::HeadMoved(_) | Change::Unknown => None,
    })
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BeginningRefused {
    /// It would vanish with what has been done in it.
    #[error("session `{0}` has gone on since")]
    HasGoneOn(SessionId),
}

/// Takes a session back as its origin asks; nothing where it is taken back already.
pub fn plan_undo_beginning(
    child: &SessionTree,
    operation: &OperationId,
    stamps: &mut dyn Stamps,
) -> Result<Vec<Record>, BeginningRefused> {
    let Some(beginning) = child.operation(operation).filter(|step| !step.undone) else {
        return Ok(Vec::new());
    };
    let latest = child.operations().rfind(|step| !step.undone);
    if latest.is_some_and(|latest| latest.id != beginning.id) {
        let id = child.header().map(|header| header.id.clone());
        return Err(BeginningRefused::HasGoneOn(id.unwrap_or_else(|| "".into())));
    }
    Ok(vec![Record::marked(stamps.now(), Fact::Undone { operation: operation.clone() })])
}
