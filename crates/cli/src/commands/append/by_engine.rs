//! Lines that the engine of the home writes: it may have the session in hand, and whoever looks on listens to it.
//!
//! Ids are chosen here. So where the engine ends before it answers, the journal tells whether it has written.

use offshoot_api::frame::MAX_LINE;
use offshoot_api::{ApiError, ErrorCode, Request, Response, request};
use offshoot_session::plan::{AppendSteps, ManyAppended};
use offshoot_session::{Change, EntryId};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::input::Line;
use crate::engine::{self, Reached};
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::runtime;

/// A line to the engine holds them, whatever has to be escaped in it.
const MOST_BYTES: usize = MAX_LINE / 4;

/// An engine that is spoken to again and again, by a command that waits for nothing else.
pub(super) struct Engine {
    runtime: Runtime,
    reached: Reached,
}

impl Engine {
    /// `None`: none runs.
    pub(super) fn running(here: &Here) -> Result<Option<Self>, Failure> {
        if !engine::is_there(here) {
            return Ok(None);
        }
        let runtime = runtime()?;
        let reached = runtime.block_on(engine::running(here))?;
        Ok(reached.map(|reached| Self { runtime, reached }))
    }

    /// `None`: it has ended, and may have written them before.
    pub(super) fn append(&self, append: request::Append) -> Result<Option<Response>, ApiError> {
        match self.runtime.block_on(self.reached.call(Request::Append(append))) {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.code == ErrorCode::Disconnected => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(super) fn leave(self) {
        self.runtime.block_on(self.reached.leave());
    }
}

/// Whether an engine could be given them at once.
pub(super) fn fit(lines: &[Line]) -> bool {
    lines.iter().map(|line| line.bytes.len()).sum::<usize>() <= MOST_BYTES
}

/// The same lines in words for an engine, with the ids that were chosen for them and the places that they have named.
pub(super) fn request(
    session: String,
    lines: &[Line],
    planned: &ManyAppended,
    steps: AppendSteps,
    if_running: request::IfRunning,
) -> request::Append {
    let parents = planned.records.iter().filter_map(|record| match &record.change {
        Change::Entry(entry) => Some(entry.parent.as_ref()),
        _ => None,
    });
    let entries = lines.iter().zip(&planned.entries).zip(parents);
    let entries = entries.filter_map(|((line, id), parent)| exactly(line, id, parent)).collect();
    request::Append { session, entries, each: steps == AppendSteps::Each, if_running }
}

/// `None` for what is no object, which is none of the lines that were planned.
fn exactly(line: &Line, id: &EntryId, parent: Option<&EntryId>) -> Option<Value> {
    let Ok(Value::Object(mut object)) = serde_json::from_slice(&line.bytes) else { return None };
    object.insert("id".to_owned(), Value::from(id.as_str()));
    // Below the head is below wherever it is by then.
    if let (Some(named), Some(parent)) = (object.get_mut("parent").filter(|named| !named.is_null()), parent) {
        *named = Value::from(format!("id:{parent}"));
    }
    Some(Value::Object(object))
}
