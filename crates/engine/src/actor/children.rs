//! Messages and settings that begin a session of their own: a configuration for each session
//! (`config_change_branching`), and edits and retries that are wanted as sessions.
//!
//! The child is written with its prompt, as one step of this session. Hooks are asked before, here; so its prompt is
//! answered there without asking them again, when the engine has the answer of this session.

use std::sync::Arc;

use offshoot_agents::Agent;
use offshoot_api::request::{self, ConfigBranching, IfRunning};
use offshoot_api::response::Changed;
use offshoot_api::{ApiError, ErrorCode, Hint, Response};
use offshoot_session::address::Want;
use offshoot_session::guard::{Action, AgentState, Place, Refusal, RunningTurn};
use offshoot_session::plan::{
    Child, ConfigChangeWay, Difference, NewChild, plan_child, splits_configuration,
};
use offshoot_session::{EntryId, Setting};

use super::agents::model_of;
use super::changed::answered;
use super::errands::Errand;
use super::halt::{Halt, refused};
use super::pending::MessageIds;
use super::talk::{ids_of_version, telling};
use super::{Brought, SessionActor};

impl SessionActor {
    /// Where settings go that are chosen for what comes below an entry. What changes nothing, and the first choice in a
    /// session without messages, divides nothing, so nobody has to be asked about it.
    pub(super) fn way_of_settings(
        &self,
        above: Option<&EntryId>,
        chosen: &[Setting],
        this_once: Option<ConfigBranching>,
        brought: &Brought,
    ) -> Result<ConfigChangeWay, Halt> {
        self.must_support(above, chosen, brought)?;
        let is_needless = this_once.is_none() && !splits_configuration(&self.tree, above, chosen);
        if is_needless { Ok(ConfigChangeWay::Entry) } else { self.way_of_change(this_once) }
    }

    /// Refuses what the agent in force there would ignore. One that has not said which models it has is asked first. A
    /// session whose agent cannot be run may have any settings.
    pub(super) fn must_support(
        &self,
        above: Option<&EntryId>,
        chosen: &[Setting],
        brought: &Brought,
    ) -> Result<(), Halt> {
        let Ok(agent) = self.agent_for(chosen, above) else { return Ok(()) };
        let has_model = chosen.iter().any(|setting| matches!(setting, Setting::Model { .. }));
        let host = self.settings.host_for(agent.name(), &self.shared.host);
        let is_unknown = has_model && agent.needs_probe(&host, &self.scope().environment());
        if is_unknown && !brought.has_probed() {
            return Err(Halt::Errand(Errand::Probe { agent }));
        }
        agent.abilities(model_of(chosen)).support(agent.title(), chosen).map_err(refused)
    }

    /// Refuses a message that its agent must not get, before anything is written.
    pub(super) fn must_take(agent: &Arc<dyn Agent>, text: &str) -> Result<(), Halt> {
        let refusal = agent.refuses(text).map(|why| refused(ApiError::new(ErrorCode::Invalid, why)));
        refusal.map_or(Ok(()), Err)
    }

    /// Where a change of settings goes.
    pub(super) fn way_of_change(&self, this_once: Option<ConfigBranching>) -> Result<ConfigChangeWay, Halt> {
        let this_once = this_once.map(|branching| match branching {
            ConfigBranching::Entry => ConfigChangeWay::Entry,
            ConfigBranching::File => ConfigChangeWay::File,
        });
        self.settings.config_change_branching.way(this_once).ok_or_else(say_where)
    }

    /// Where a message that begins a session branches off. Nothing is written here, but what the session begins with
    /// has to be complete.
    pub(super) fn branch_point_of(&self, send: &request::Send) -> Result<Option<EntryId>, Halt> {
        let words = telling(&send.prompt);
        self.may(Action::Send { words, place: Place::Beside }, AgentState::Reachable, send.if_running)?;
        let Some(at) = &send.at else {
            self.may(Action::Change, AgentState::Reachable, send.if_running)?;
            return Ok(self.tree.main_head().cloned());
        };
        let at = self.point(at, Want::End)?;
        let mut running = self.running_turns().into_iter();
        let unfinished = running.find(|running| self.tree.is_ancestor(&running.prompt, &at));
        match unfinished {
            Some(RunningTurn { turn, .. }) if send.if_running == IfRunning::AbortFirst => {
                Err(Halt::AbortFirst(turn))
            }
            Some(RunningTurn { turn, prompt, .. }) => Err(refused(Refusal::Running { turn, prompt })),
            None => Ok(Some(at)),
        }
    }

    /// Writes the child. If its message is a prompt, that has no answer yet; the response names the turn that is to answer
    /// it, unless it is only written.
    pub(super) async fn begin_child(
        &mut self,
        child: Child<'_>,
        ids: MessageIds<'_>,
        only_write: bool,
    ) -> Result<Response, Halt> {
        let (reason, step) = (child.difference.reason(), step_of(&child));
        let place = match child.difference {
            Difference::Edit { of } | Difference::Retry { of } => self.place(Some(of)),
            Difference::Settings => self.place(child.above),
        };
        let stamps = &mut ids_of_version(self.stamps.as_mut(), ids, only_write);
        let NewChild { session, message, turn } = plan_child(&self.tree, child, stamps);
        let changed = self.begin_another(session, step, reason, ids.client_id).await?;
        let message = message.map(|message| message.to_string());
        let entries = message.clone().into_iter().collect();
        let prompt = message.filter(|_| turn.is_some());
        let turn = turn.filter(|_| !only_write).map(|turn| turn.to_string());
        Ok(answered(Changed { place, prompt, entries, turn, ..changed }))
    }
}

/// As the list of steps names the beginning of the child.
fn step_of(child: &Child<'_>) -> &'static str {
    match child.difference {
        Difference::Settings => "change settings",
        Difference::Edit { .. } => "edit",
        Difference::Retry { .. } => "retry",
    }
}

fn say_where() -> Halt {
    let mut error = ApiError::new(
        ErrorCode::Invalid,
        "say whether the change goes into this session (`entry`) or into one of its own (`file`)",
    );
    error.hint = Some(Hint::SayBranching);
    refused(error)
}
