//! What was said elsewhere, written down here. Nobody is asked to answer it; an agent that knows the branch has not heard
//! it, and is told with the next prompt.

use offshoot_api::response::Changed;
use offshoot_api::{ApiError, ErrorCode, ErrorData, Response, request};
use offshoot_session::guard::{Action, AgentState};
use offshoot_session::plan::{AppendSteps, ManyAppended, plan_append};
use offshoot_session::said::Said;
use offshoot_session::{Change, EntryId, Record};
use serde_json::Value;

use super::SessionActor;
use super::changed::{answered, chosen_ids};
use super::halt::{Halt, refused};

impl SessionActor {
    pub(super) async fn append(&mut self, append: &request::Append) -> Result<Response, Halt> {
        let said = understood(&append.entries).map_err(refused)?;
        let steps = if append.each { AppendSteps::Each } else { AppendSteps::One };
        let mut ids = chosen_ids(self.stamps.as_mut(), append.client_id.as_deref());
        if append.each {
            ids = ids.each_numbered();
        }
        let planned = plan_append(&self.tree, said, steps, &mut ids);
        let ManyAppended { records, entries } = planned.map_err(refused)?;
        for below in self.touched(&records) {
            self.may(Action::Append { below: below.as_ref() }, AgentState::Reachable, append.if_running)?;
            self.after_stopping(below.as_ref())?;
        }
        let before = self.head_now();
        let operation = records.last().and_then(|record| record.operation.clone());
        if !records.is_empty() {
            self.commit(records).await?;
        }
        let entries = entries.iter().map(ToString::to_string).collect();
        Ok(answered(Changed { entries, ..self.changed(before, operation.as_ref()) }))
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

fn understood(entries: &[Value]) -> Result<Vec<Said>, ApiError> {
    let said = entries.iter().enumerate().map(|(index, entry)| {
        Said::from_value(entry.clone()).map_err(|reason| {
            let data =
                ErrorData { index: Some(index), problem: Some(reason.to_string()), ..ErrorData::default() };
            ApiError::new(ErrorCode::Invalid, format!("entry {}: {reason}", index + 1)).about(data)
        })
    });
    said.collect()
}
