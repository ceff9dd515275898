//! Going somewhere: arrows, navigation, rewind, branches, steps back and forth.

use std::sync::Arc;

use offshoot_api::request::{self, ForkTo, IfRunning, RewindScope, Summary};
use offshoot_api::views::EntryView;
use offshoot_api::{ApiError, ErrorCode, Hint, Response, response};
use offshoot_session::address::{destination, resolve};
use offshoot_session::branch_summary::{LeftBehind, collect_left_behind, prepare_branch_summary};
use offshoot_session::guard::{Action, AgentState};
use offshoot_session::handoff::branch_session;
use offshoot_session::outline::version_of;
use offshoot_session::plan::{
    BranchedSession, Navigation, Plan, SummaryChoice, VersionStep, WrittenSummary, branched_session,
    plan_branch_session, plan_fork, plan_navigation, plan_redo, plan_rewind_conversation, plan_switch,
    plan_undo, plan_version,
};
use offshoot_session::render::prompts::{BRANCH, summary_request, with_files};
use offshoot_session::render::serialize_for_summary;
use offshoot_session::versions::{active_version, last_with_versions, turn_prompt};
use offshoot_session::{Entry, EntryId, HeadName, Record, TurnId};
use serde_json::json;

use super::halt::{Halt, nothing_to_do, refused};
use super::talk::no_checkpoints;
use super::{Brought, SessionActor};
use crate::hooks::{HookEvent, Supplied};

impl SessionActor {
    pub(super) async fn version(&mut self, version: &request::Version) -> Result<Response, Halt> {
        let at = match &version.at {
            Some(at) => resolve(&self.tree, at).map_err(refused)?,
            None => last_with_versions(&self.tree).ok_or_else(|| {
                refused(ApiError::new(ErrorCode::NoSuchVersion, "no turn on this branch has another version"))
            })?,
        };
        let at = turn_prompt(&self.tree, &at).map_or(at.clone(), |prompt| prompt.id.clone());
        self.may(Action::Version { at: &at }, AgentState::Reachable, version.if_running)?;
        let step = match version.step {
            request::Step::Previous => VersionStep::Previous,
            request::Step::Next => VersionStep::Next,
        };
        let plan = plan_version(&self.tree, &HeadName::main(), &at, step, self.stamps.as_mut());
        let plan = plan.map_err(refused)?;
        let plan = plan.ok_or_else(|| {
            refused(ApiError::new(ErrorCode::NoSuchVersion, "there is no other version on this side"))
        })?;
        let from = self.tree.main_head().cloned();
        self.commit(plan.records).await?;
        let mut moved = self.moved(from);
        moved.version = self.version_at(&at);
        Ok(Response::Moved(moved))
    }

    /// The number of the version that is shown at a place, and of how many.
    fn version_at(&self, at: &EntryId) -> Option<(usize, usize)> {
        let shown = active_version(&self.tree, &HeadName::main(), at)?;
        version_of(&self.tree, &shown.id).map(|version| (version.number, version.of))
    }

    pub(super) async fn switch(
        &mut self,
        switch: &request::Switch,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let to = switch.to.as_deref().map(|to| resolve(&self.tree, to)).transpose().map_err(refused)?;
        self.may(Action::MoveHead, AgentState::Reachable, switch.if_running)?;
        self.before_going(to.as_ref(), brought)?;
        let plan = plan_switch(&self.tree, &HeadName::main(), to.as_ref(), self.stamps.as_mut());
        let moved = self.go(plan.map_err(refused)?).await?;
        Ok(Response::Moved(moved))
    }

    /// Hooks have a say in every move to another place, also where nobody wants a summary.
    fn before_going(&self, to: Option<&EntryId>, brought: &Brought) -> Result<(), Halt> {
        let old = self.tree.main_head();
        if old == to {
            return Ok(());
        }
        let verdict = self.verdict(HookEvent::SessionBeforeTree, brought, || {
            let left = match to {
                Some(to) => collect_left_behind(&self.tree, old, to),
                None => LeftBehind { entries: self.tree.path_to(old), common_ancestor: None },
            };
            json!({
                "preparation": {
                    "targetId": to.map(|to| to.as_str()),
                    "oldLeafId": old.map(|old| old.as_str()),
                    "commonAncestorId": left.common_ancestor.as_ref().map(|common| common.as_str()),
                    "entriesToSummarize": left.entries.iter().map(|entry| EntryView::from(&***entry)).collect::<Vec<_>>(),
                    "userWantsSummary": false,
                },
            })
        });
        verdict.map(|_| ())
    }

    /// A move that hooks were asked about.
    async fn go(&mut self, plan: Option<Plan>) -> Result<response::Moved, Halt> {
        let old = self.tree.main_head().cloned();
        let moved = self.take(plan).await?;
        if old.as_ref() != self.tree.main_head() {
            self.tell_hooks_of_move(old, false, false);
        }
        Ok(moved)
    }

    pub(super) async fn navigate(
        &mut self,
        navigate: &request::Navigate,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let to = resolve(&self.tree, &navigate.to).map_err(refused)?;
        self.may(Action::MoveHead, AgentState::Reachable, navigate.if_running)?;
        let choice = match &navigate.summary {
            Summary::None => SummaryChoice::NoSummary,
            Summary::Default | Summary::With { .. } => SummaryChoice::Summarize,
        };
        // A hook may write the summary, so whether there is a model is asked when one is needed.
        let navigation = plan_navigation(&self.tree, &HeadName::main(), &to, choice, true);
        let navigation = navigation.map_err(refused)?;
        let Navigation::Move { editor_text, common_ancestor, to_summarize, wants_summary, .. } =
            navigation.clone()
        else {
            return Ok(Response::Moved(self.moved(self.tree.main_head().cloned())));
        };
        let old = self.tree.main_head().cloned();
        let left: Vec<Arc<Entry>> =
            to_summarize.iter().filter_map(|id| self.tree.entry(id)).cloned().collect();
        let verdict = self.verdict(HookEvent::SessionBeforeTree, brought, || {
            json!({
                "preparation": {
                    "targetId": to.as_str(),
                    "oldLeafId": old.as_ref().map(|old| old.as_str()),
                    "commonAncestorId": common_ancestor.as_ref().map(|common| common.as_str()),
                    "entriesToSummarize": left.iter().map(|entry| EntryView::from(&**entry)).collect::<Vec<_>>(),
                    "userWantsSummary": wants_summary,
                },
            })
        })?;
        let summary = match verdict.summary {
            Some(Supplied { summary, details }) => {
                Some(WrittenSummary { summary, details, from_extension: true, ..WrittenSummary::default() })
            }
            None if wants_summary => Some(self.summary_of(&left, navigate, brought)?),
            None => None,
        };
        let from_extension = summary.as_ref().is_some_and(|summary| summary.from_extension);
        let is_summarised = summary.is_some();
        let plan = navigation.into_plan(&self.tree, &HeadName::main(), summary, self.stamps.as_mut());
        let mut moved = self.take(plan).await?;
        moved.editor_text = editor_text;
        self.tell_hooks_of_move(old, is_summarised, from_extension);
        Ok(Response::Moved(moved))
    }

    /// What is left behind in a few words, by the model of the branch that is left.
    fn summary_of(
        &self,
        left: &[Arc<Entry>],
        navigate: &request::Navigate,
        brought: &Brought,
    ) -> Result<WrittenSummary, Halt> {
        self.writer().map_err(refused)?;
        let left: Vec<&Arc<Entry>> = left.iter().collect();
        let preparation = prepare_branch_summary(&left, self.settings.summary_budget);
        let focus = match &navigate.summary {
            Summary::With { instructions } => Some(instructions.as_str()),
            Summary::None | Summary::Default => None,
        };
        let request = summary_request(&serialize_for_summary(&preparation.messages), None, BRANCH, focus);
        let text = self.written(brought, vec![request])?.into_iter().next().unwrap_or_default();
        let files = preparation.files;
        Ok(WrittenSummary { summary: with_files(&text, &files), files, ..WrittenSummary::default() })
    }

    fn tell_hooks_of_move(&mut self, old: Option<EntryId>, is_summarised: bool, from_extension: bool) {
        let new = self.tree.main_head().cloned();
        let summary = new.as_ref().filter(|_| is_summarised).and_then(|new| self.tree.entry(new));
        let summary = summary.map(|entry| EntryView::from(&**entry));
        self.tell_hooks(HookEvent::SessionTree, || {
            let mut told = json!({
                "newLeafId": new.as_ref().map(|new| new.as_str()),
                "oldLeafId": old.as_ref().map(|old| old.as_str()),
                "fromExtension": from_extension,
            });
            if let (Some(told), Some(summary)) = (told.as_object_mut(), summary) {
                told.insert("summaryEntry".to_owned(), json!(summary));
            }
            told
        });
    }

    pub(super) async fn rewind(
        &mut self,
        rewind: &request::Rewind,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let to = resolve(&self.tree, &rewind.to).map_err(refused)?;
        let prompt = turn_prompt(&self.tree, &to).cloned();
        let prompt = prompt.ok_or_else(|| nothing_to_do("there is no prompt at this point"))?;
        if rewind.dry_run {
            return Ok(Response::RewindPreview(self.rewind_preview(&prompt.id, rewind.scope)));
        }
        if rewind.scope != RewindScope::Conversation {
            return Err(refused(no_checkpoints()));
        }
        self.may(Action::MoveHead, AgentState::Reachable, rewind.if_running)?;
        let above = self.tree.parent(&prompt.id).map(|above| above.id.clone());
        self.before_going(above.as_ref(), brought)?;
        let stamps = self.stamps.as_mut();
        let plan = plan_rewind_conversation(&self.tree, &HeadName::main(), above.as_ref(), stamps);
        let mut moved = self.go(plan.map_err(refused)?).await?;
        moved.editor_text = Some(prompt.body.text());
        Ok(Response::Moved(moved))
    }

    fn rewind_preview(&self, prompt: &EntryId, scope: RewindScope) -> response::RewindPreview {
        // Where the prompt is on another branch, all is left that the two branches do not share.
        let path = self.tree.path_to(self.tree.main_head());
        let stays = self.tree.path_to(self.tree.parent(prompt).map(|above| &above.id));
        let shared = path.iter().zip(&stays).take_while(|(one, other)| one.id == other.id).count();
        let left = path.get(shared..).unwrap_or_default();
        let can_rewind = scope == RewindScope::Conversation;
        response::RewindPreview {
            can_rewind,
            error: (!can_rewind).then(|| no_checkpoints().message),
            turns_left_behind: left.iter().filter(|entry| entry.body.is_prompt()).count(),
            ..response::RewindPreview::default()
        }
    }

    pub(super) async fn fork(&mut self, fork: &request::Fork, brought: &Brought) -> Result<Response, Halt> {
        match fork.to {
            ForkTo::Here => {
                let at = destination(&self.tree, &fork.at).map_err(refused)?;
                self.may(Action::MoveHead, AgentState::Reachable, fork.if_running)?;
                self.before_going(Some(&at), brought)?;
                let plan = plan_fork(&self.tree, &HeadName::main(), &at, self.stamps.as_mut());
                let moved = self.go(plan.map_err(refused)?).await?;
                Ok(Response::Moved(moved))
            }
            ForkTo::NewSession => {
                let at = destination(&self.tree, &fork.at).map_err(refused)?;
                let session = branched_session(&self.tree, Some(&at), self.stamps.as_mut());
                let session = session.map_err(refused)?;
                self.before_branch(Some(&at), brought)?;
                let moved = self.fork_to_new_session(session, fork.title.as_deref()).await?;
                Ok(Response::Moved(moved))
            }
            ForkTo::NewSessionBefore => {
                let at = resolve(&self.tree, &fork.at).map_err(refused)?;
                let branched = plan_branch_session(&self.tree, &at, self.stamps.as_mut());
                let BranchedSession { session, editor_text } = branched.map_err(refused)?;
                self.before_branch(Some(&at), brought)?;
                let mut moved = self.fork_to_new_session(session, fork.title.as_deref()).await?;
                moved.editor_text = Some(editor_text);
                Ok(Response::Moved(moved))
            }
        }
    }

    pub(super) fn before_branch(&self, at: Option<&EntryId>, brought: &Brought) -> Result<(), Halt> {
        let payload = || json!({ "entryId": at.map(|at| at.as_str()) });
        self.verdict(HookEvent::SessionBeforeBranch, brought, payload).map(|_| ())
    }

    pub(super) async fn undo(&mut self, if_running: IfRunning, brought: &Brought) -> Result<Response, Halt> {
        self.may(Action::MoveHead, AgentState::Reachable, if_running)?;
        self.after_stopping(self.tree.main_head())?;
        let records = plan_undo(&self.tree, self.stamps.as_mut());
        let records = records.map_err(|nothing| nothing_to_do(&nothing.to_string()))?;
        self.rearrange(records, if_running, brought).await
    }

    pub(super) async fn redo(&mut self, if_running: IfRunning, brought: &Brought) -> Result<Response, Halt> {
        self.may(Action::MoveHead, AgentState::Reachable, if_running)?;
        self.after_stopping(self.tree.main_head())?;
        let records = plan_redo(&self.tree, self.stamps.as_mut());
        let records = records.map_err(|nothing| nothing_to_do(&nothing.to_string()))?;
        self.rearrange(records, if_running, brought).await
    }

    /// A step back or forth may not take the ground from under a turn that runs elsewhere. The beginning of a session out
    /// of another one is a step in both.
    async fn rearrange(
        &mut self,
        records: Vec<Record>,
        if_running: IfRunning,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        match self.turn_lost_by(&records)? {
            None => {}
            Some(turn) if if_running == IfRunning::AbortFirst => return Err(Halt::AbortFirst(turn)),
            Some(turn) => return Err(Halt::Refused(would_be_undone(&turn))),
        }
        self.other_side_first(&records, brought)?;
        let from = self.tree.main_head().cloned();
        self.commit(records).await?;
        Ok(Response::Moved(self.moved(from)))
    }

    /// A turn that runs and whose prompt would not be there any more.
    pub(super) fn turn_lost_by(&self, records: &[Record]) -> Result<Option<TurnId>, Halt> {
        let after = self.tree.extended(records);
        let after = after.map_err(|why| refused(ApiError::new(ErrorCode::Internal, why.to_string())))?;
        let lost = self.turns.values().find(|running| !after.contains(running.turn.prompt()));
        Ok(lost.map(|running| running.turn.id().clone()))
    }

    /// One step, where there is something to do.
    pub(super) async fn take(&mut self, plan: Option<Plan>) -> Result<response::Moved, Halt> {
        let from = self.tree.main_head().cloned();
        if let Some(plan) = plan {
            self.commit(plan.records).await?;
        }
        Ok(self.moved(from))
    }

    pub(super) fn moved(&self, from: Option<EntryId>) -> response::Moved {
        let head = self.tree.main_head();
        response::Moved {
            session: self.id.to_string(),
            from: from.map(|from| from.to_string()),
            to: head.map(ToString::to_string),
            agent_session: branch_session(&self.tree, head).map(|session| session.to_string()),
            ..response::Moved::default()
        }
    }
}

pub(super) fn would_be_undone(turn: &TurnId) -> ApiError {
    ApiError {
        hint: Some(Hint::AbortFirst),
        turn: Some(turn.to_string()),
        ..ApiError::new(ErrorCode::Running, "the agent is still answering what would be undone")
    }
}
