//! What was said elsewhere, written down here. Nobody is asked to answer it; an agent that knows the branch has not heard
//! it, and is told with the next prompt.

use offshoot_api::{ApiError, ErrorCode, Response, request, response};
use offshoot_session::guard::{Action, AgentState};
use offshoot_session::handoff::branch_session;
use offshoot_session::plan::{AppendSteps, ManyAppended, plan_append};
use offshoot_session::said::Said;
use offshoot_session::{Change, EntryId, Record};
use serde_json::Value;

use super::SessionActor;
use super::halt::{Halt, refused};

impl SessionActor {
    pub(super) async fn append(&mut self, append: request::Append) -> Result<Response, Halt> {
        let said = understood(append.entries).map_err(refused)?;
        let steps = if append.each { AppendSteps::Each } else { AppendSteps::One };
        let planned = plan_append(&self.tree, said, steps, self.stamps.as_mut());
        let ManyAppended { records, entries } = planned.map_err(refused)?;
        for below in self.touched(&records) {
            self.may(Action::Append { below: below.as_ref() }, AgentState::Reachable, append.if_running)?;
            self.after_stopping(below.as_ref())?;
        }
        if !records.is_empty() {
            self.commit(records).await?;
        }
        let agent_session = branch_session(&self.tree, self.tree.main_head());
        Ok(Response::Appended(response::Appended {
            session: self.id.to_string(),
            entries: entries.iter().map(ToString::to_string).collect(),
            agent_session: agent_session.map(|session| session.to_string()),
        }))
    }

    /// Places that are there already and get something below them; `None` is before the first entry.
    fn touched(&self, records: &[Record]) -> Vec<Option<EntryId>> {
        let parents = records.iter().filter_map(|record| match &record.change {
            Change::Entry(entry) => Some(entry.parent.clone()),
            _ => None,
        });
        parents.filter(|parent| parent.as_ref().is_none_or(|parent| self.tree.contains(parent))).collect()
    }
}

fn understood(entries: Vec<Value>) -> Result<Vec<Said>, ApiError> {
    let said = entries.into_iter().enumerate().map(|(index, entry)| {
        Said::from_value(entry)
            .map_err(|reason| ApiError::new(ErrorCode::Invalid, format!("entry {}: {reason}", index + 1)))
    });
    said.collect()
}
