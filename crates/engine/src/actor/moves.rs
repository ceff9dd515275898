//! Going somewhere: arrows, navigation, rewind, branches, steps back and forth.

use std::sync::Arc;

use offshoot_api::request::{self, ForkTo, IfRunning, RewindScope, RewindSource, Summary};
use offshoot_api::response::Changed;
use offshoot_api::views::{EntryView, HeadView, OperationView, SessionBrief, VersionBrief};
use offshoot_api::{ApiError, ErrorCode, ErrorData, Hint, Response, response};
use offshoot_session::address::Want;
use offshoot_session::branch_summary::{LeftBehind, collect_left_behind, prepare_branch_summary};
use offshoot_session::guard::{Action, AgentState};
use offshoot_session::pending::PendingTurn;
use offshoot_session::plan::{
    Navigation, Plan, SummaryChoice, SwitchRefused, VersionStep, WrittenSummary, before_prompt,
    branch_with_summary, branched_session, plan_fork, plan_navigation, plan_navigation_to, plan_redo,
    plan_rewind_conversation, plan_switch, plan_undo, plan_version, step_of,
};
use offshoot_session::render::prompts::{BRANCH, summary_request, with_files};
use offshoot_session::render::serialize_for_summary;
use offshoot_session::versions::{active_version, last_with_versions, slot_place, turn_prompt, versions_of};
use offshoot_session::{Entry, EntryId, HeadName, OperationId, Record, SessionTree, Stamps, TurnId};
use serde_json::json;

use super::changed::{answered, chosen_ids};
use super::errands::Taken;
use super::halt::{Halt, nothing_to_do, refused};
use super::talk::no_checkpoints;
use super::{Brought, SessionActor};
use crate::failure::internal;
use crate::hooks::{HookEvent, Supplied};

impl SessionActor {
    pub(super) async fn version(&mut self, version: &request::Version) -> Result<Response, Halt> {
        let at = match &version.at {
            Some(at) => self.point(at, Want::Turn)?,
            None => last_with_versions(&self.tree).ok_or_else(|| {
                refused(ApiError::new(ErrorCode::NoSuchVersion, "no turn on this branch has another version"))
            })?,
        };
        self.may(Action::Version { at: &at }, AgentState::Reachable, version.if_running)?;
        let step = match version.step {
            request::Step::Previous => VersionStep::Previous,
            request::Step::Next => VersionStep::Next,
        };
        let ids = &mut chosen_ids(self.stamps.as_mut(), version.client_id.as_deref());
        let plan = plan_version(&self.tree, &HeadName::main(), &at, step, ids).map_err(refused)?;
        let plan = plan.ok_or_else(|| refused(self.no_other_version(&at)))?;
        let changed = self.take(Some(plan)).await?;
        let shown = active_version(&self.tree, &HeadName::main(), &at).map_or(at, |shown| shown.id.clone());
        let version = VersionBrief::of(&self.tree, &shown);
        Ok(answered(Changed { version, place: self.place(Some(&shown)), ..changed }))
    }

    fn no_other_version(&self, at: &EntryId) -> ApiError {
        let versions = versions_of(&self.tree, at);
        let index = versions.iter().position(|version| version.id == *at).map(|index| index + 1);
        let (place, head) = (self.place(Some(at)), Some(self.head_now()));
        let data = ErrorData { index, total: Some(versions.len()), place, head, ..ErrorData::default() };
        ApiError::new(ErrorCode::NoSuchVersion, "there is no other version on this side").about(data)
    }

    pub(super) async fn switch(
        &mut self,
        switch: &request::Switch,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let to = switch.to.as_ref().map(|to| self.point(to, Want::End)).transpose()?;
        match (&to, &switch.summary) {
            (Some(to), Summary::Default | Summary::With { .. }) if self.tree.main_head() != Some(to) => {
                return self.select(to, Selecting::from(switch), brought).await;
            }
            (Some(_), Summary::None | Summary::Default | Summary::With { .. }) | (None, _) => {}
        }
        self.may(Action::MoveHead, AgentState::Reachable, switch.if_running)?;
        let summary = self.before_going(to.as_ref(), brought)?;
        Ok(answered(self.go(to.as_ref(), summary, switch.client_id.as_deref(), plan_switch).await?))
    }

    /// Asks the hooks about a move to another place, for which no summary is wanted. Gives the summary that one of them
    /// insists on.
    fn before_going(&self, to: Option<&EntryId>, brought: &Brought) -> Result<Option<WrittenSummary>, Halt> {
        let old = self.tree.main_head();
        if old == to {
            return Ok(None);
        }
        self.ask_hooks(HookEvent::SessionBeforeTree, brought, || {
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
        })?;
        Ok(self.summary_by_hook(brought, false)?.map(written_by_hook))
    }

    /// Moves the head as [`Self::before_going`] allowed: with the summary that a hook insists on, else by `plan`.
    async fn go(
        &mut self,
        to: Option<&EntryId>,
        summary: Option<WrittenSummary>,
        client_id: Option<&str>,
        plan: PlanMove,
    ) -> Result<Changed, Halt> {
        let (old, head) = (self.tree.main_head().cloned(), HeadName::main());
        let is_summarised = summary.is_some();
        let ids = &mut chosen_ids(self.stamps.as_mut(), client_id);
        let plan = match summary {
            Some(summary) => branch_with_summary(&self.tree, &head, to, summary, ids).map(Some),
            None => plan(&self.tree, &head, to, ids),
        };
        let changed = self.take(plan.map_err(refused)?).await?;
        if old.as_ref() != self.tree.main_head() {
            self.tell_hooks_of_move(old, is_summarised, is_summarised);
        }
        Ok(changed)
    }

    pub(super) async fn navigate(
        &mut self,
        navigate: &request::Navigate,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let to = self.point(&navigate.to, Want::Selection)?;
        self.select(&to, Selecting::from(navigate), brought).await
    }

    /// Goes to an entry, with a summary of what is left where one is wanted. A prompt that is selected is to be edited: the
    /// head goes above it, and its text comes back.
    async fn select(
        &mut self,
        to: &EntryId,
        selecting: Selecting<'_>,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        self.may(Action::MoveHead, AgentState::Reachable, selecting.if_running)?;
        let choice = match selecting.summary {
            Summary::None => SummaryChoice::NoSummary,
            Summary::Default | Summary::With { .. } => SummaryChoice::Summarize,
        };
        // A hook may write the summary, so whether there is a model is asked when one is needed.
        let navigation = match selecting.reading {
            Reading::Selection => plan_navigation(&self.tree, &HeadName::main(), to, choice, true),
            Reading::Exact => plan_navigation_to(&self.tree, &HeadName::main(), to, choice, true),
        };
        let navigation = navigation.map_err(refused)?;
        let Navigation::Move { editor_text, common_ancestor, to_summarize, wants_summary, .. } =
            navigation.clone()
        else {
            return Ok(answered(self.take(None).await?));
        };
        let old = self.tree.main_head().cloned();
        let left: Vec<Arc<Entry>> =
            to_summarize.iter().filter_map(|id| self.tree.entry(id)).cloned().collect();
        self.ask_hooks(HookEvent::SessionBeforeTree, brought, || {
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
        let summary = match self.summary_by_hook(brought, choice == SummaryChoice::Summarize)? {
            Some(supplied) => Some(written_by_hook(supplied)),
            None if wants_summary => Some(self.summary_of(&left, selecting.summary, brought)?),
            None => None,
        };
        let from_extension = summary.as_ref().is_some_and(|summary| summary.from_extension);
        let is_summarised = summary.is_some();
        let ids = &mut chosen_ids(self.stamps.as_mut(), selecting.client_id);
        let plan = navigation.into_plan(&self.tree, &HeadName::main(), summary, ids);
        let changed = self.take(plan).await?;
        self.tell_hooks_of_move(old, is_summarised, from_extension);
        Ok(answered(Changed { editor_text, ..changed }))
    }

    /// What is left behind in a few words, by the model of the branch that is left.
    fn summary_of(
        &self,
        left: &[Arc<Entry>],
        summary: &Summary,
        brought: &Brought,
    ) -> Result<WrittenSummary, Halt> {
        self.writer().map_err(refused)?;
        let left: Vec<&Arc<Entry>> = left.iter().collect();
        let preparation = prepare_branch_summary(&left, self.settings.summary_budget);
        let focus = match summary {
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
        let prompt = self.point(&rewind.to, Want::Turn)?;
        let prompt = turn_prompt(&self.tree, &prompt).cloned();
        let prompt = prompt.ok_or_else(|| nothing_to_do("there is no turn at this point"))?;
        let to = match rewind.before {
            true => slot_place(&self.tree, &prompt.id),
            false => Some(self.point(&rewind.to, Want::End)?),
        };
        let editor_text = rewind.before.then(|| prompt.body.text());
        if rewind.dry_run {
            let preview = self.rewind_preview(&prompt, to.as_ref(), editor_text, rewind.scope);
            return Ok(Response::RewindPreview(Box::new(preview)));
        }
        if rewind.scope != RewindScope::Conversation {
            return Err(refused(no_checkpoints()));
        }
        self.may(Action::MoveHead, AgentState::Reachable, rewind.if_running)?;
        let summary = self.before_going(to.as_ref(), brought)?;
        let by_agent = rewind.source == RewindSource::Agent;
        if by_agent
            && !brought.has_resumed()
            && let Some(errand) = self.resuming_at(to.as_ref())?
        {
            return Err(Halt::Errand(errand));
        }
        let resumed = if by_agent { self.resumed_view(to.as_ref()) } else { None };
        let turns_left_behind = Some(self.turns_left_behind(to.as_ref()));
        let client_id = rewind.client_id.as_deref();
        let changed = self.go(to.as_ref(), summary, client_id, plan_rewind_conversation).await?;
        let place = self.place(Some(&prompt.id));
        Ok(answered(Changed { place, editor_text, turns_left_behind, resumed, ..changed }))
    }

    fn rewind_preview(
        &self,
        prompt: &Entry,
        at: Option<&EntryId>,
        editor_text: Option<String>,
        scope: RewindScope,
    ) -> response::RewindPreview {
        let can_rewind = scope == RewindScope::Conversation;
        let to = HeadView {
            name: HeadName::main().to_string(),
            at: at.map(ToString::to_string),
            place: self.place(at),
        };
        response::RewindPreview {
            session: self.brief(),
            can_rewind,
            head_before: self.head_now(),
            head: to,
            to: self.place(Some(&prompt.id)),
            editor_text,
            error: (!can_rewind).then(|| no_checkpoints().message),
            turns_left_behind: self.turns_left_behind(at),
            ..response::RewindPreview::default()
        }
    }

    /// How many turns on the way to the head the way to another entry does not have.
    fn turns_left_behind(&self, to: Option<&EntryId>) -> usize {
        let path = self.tree.path_to(self.tree.main_head());
        let stays = self.tree.path_to(to);
        let shared = path.iter().zip(&stays).take_while(|(one, other)| one.id == other.id).count();
        path.iter().skip(shared).filter(|entry| entry.body.is_prompt()).count()
    }

    pub(super) async fn fork(&mut self, fork: &request::Fork, brought: &Brought) -> Result<Response, Halt> {
        let client_id = fork.client_id.as_deref();
        let before = match (fork.before, &fork.at) {
            (false, _) => None,
            (true, Some(at)) => {
                let at = self.point(at, Want::Selection)?;
                Some(before_prompt(&self.tree, &at).map_err(refused)?)
            }
            (true, None) => return Err(nothing_to_do("there is no prompt at the head")),
        };
        let at = match (&before, &fork.at) {
            (Some(before), _) => before.place.clone(),
            (None, Some(at)) => Some(self.point(at, Want::End)?),
            (None, None) => self.tree.main_head().cloned(),
        };
        let changed = match fork.to {
            ForkTo::Here => {
                self.may(Action::MoveHead, AgentState::Reachable, fork.if_running)?;
                let summary = self.before_going(at.as_ref(), brought)?;
                self.go(at.as_ref(), summary, client_id, plan_fork).await?
            }
            ForkTo::NewSession => {
                let ids = &mut chosen_ids(self.stamps.as_mut(), client_id);
                let session = branched_session(&self.tree, at.as_ref(), ids).map_err(refused)?;
                let named = before.as_ref().map(|before| &before.prompt).or(at.as_ref());
                self.before_branch(named, brought)?;
                self.fork_to_new_session(session, fork).await?
            }
        };
        Ok(answered(match before {
            Some(before) => {
                let place = self.place(Some(&before.prompt));
                Changed { place, editor_text: Some(before.editor_text), ..changed }
            }
            None => changed,
        }))
    }

    pub(super) fn before_branch(&self, at: Option<&EntryId>, brought: &Brought) -> Result<(), Halt> {
        let payload = || json!({ "entryId": at.map(|at| at.as_str()) });
        self.ask_hooks(HookEvent::SessionBeforeBranch, brought, payload)
    }

    pub(super) async fn undo(
        &mut self,
        undo: &request::History,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        self.may(Action::MoveHead, AgentState::Reachable, undo.if_running)?;
        self.after_stopping(self.tree.main_head())?;
        let records = plan_undo(&self.tree, self.stamps.as_mut());
        let records = records.map_err(|nothing| nothing_to_do(&nothing.to_string()))?;
        self.rearrange(records, undo, brought).await
    }

    pub(super) async fn redo(
        &mut self,
        redo: &request::History,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        self.may(Action::MoveHead, AgentState::Reachable, redo.if_running)?;
        self.after_stopping(self.tree.main_head())?;
        let records = plan_redo(&self.tree, self.stamps.as_mut());
        let records = records.map_err(|nothing| nothing_to_do(&nothing.to_string()))?;
        self.rearrange(records, redo, brought).await
    }

    /// A step back or forth may not take the ground from under a turn that runs elsewhere. The beginning of a session out
    /// of another one is a step in both.
    async fn rearrange(
        &mut self,
        mut records: Vec<Record>,
        asked: &request::History,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        // The mark has the id of the request, so that it is recognised when it comes twice. That does not make it a step.
        if let Some(client_id) = &asked.client_id {
            records = records.into_iter().map(|mark| mark.in_operation(client_id.as_str().into())).collect();
        }
        let step =
            step_of(&records).cloned().ok_or_else(|| refused(internal("nothing is undone or redone")))?;
        match self.turn_lost_by(&records)? {
            None => {}
            Some(turn) if asked.if_running == IfRunning::AbortFirst => return Err(Halt::AbortFirst(turn)),
            Some(turn) => return Err(Halt::Refused(would_be_undone(&turn))),
        }
        self.other_side_first(&records, brought)?;
        let (before, was_there) = (self.head_now(), !self.tree.is_taken_back());
        self.commit(records).await?;
        let is_own_beginning = was_there == self.tree.is_taken_back();
        Ok(self.rearranged_by(&step, before, is_own_beginning, brought.taken_there()))
    }

    /// A step that was taken back or again, in both sessions where two have it.
    pub(super) fn rearranged_by(
        &self,
        step: &OperationId,
        head_before: HeadView,
        is_own_beginning: bool,
        taken: Option<&Taken>,
    ) -> Response {
        let child =
            taken.and_then(|taken| taken.child()).map(|id| SessionBrief { id: id.to_string(), title: None });
        answered(Changed {
            changed: true,
            operation: OperationView::of(&self.tree, step),
            other_session: child.or_else(|| is_own_beginning.then(|| self.brief())),
            notices: taken.and_then(|taken| taken.notice.clone()).into_iter().collect(),
            ..self.changed(head_before, None)
        })
    }

    /// A turn that runs and whose prompt would not be there any more, or a message that would lose its place.
    pub(super) fn turn_lost_by(&self, records: &[Record]) -> Result<Option<TurnId>, Halt> {
        let after = self.tree.extended(records);
        let after = after.map_err(|why| refused(ApiError::new(ErrorCode::Internal, why.to_string())))?;
        let lost = self.turns.values().find(|running| !after.contains(running.turn.prompt()));
        let lost = lost.map(|running| running.turn.id().clone());
        let pending = self.pending_turns();
        let loses_place = |pending: &&PendingTurn| pending.landing().check(&after).is_err();
        Ok(lost.or_else(|| pending.iter().find(loses_place).map(|pending| pending.id().clone())))
    }
}

/// A move of the head under a name of its own: switch, rewind or fork.
type PlanMove =
    fn(&SessionTree, &HeadName, Option<&EntryId>, &mut dyn Stamps) -> Result<Option<Plan>, SwitchRefused>;

fn written_by_hook(supplied: Supplied) -> WrittenSummary {
    let Supplied { summary, details, .. } = supplied;
    WrittenSummary { summary, details, from_extension: true, ..WrittenSummary::default() }
}

/// What going to a prompt means.
#[derive(Clone, Copy)]
enum Reading {
    /// Above it, to say it differently.
    Selection,
    Exact,
}

/// How an entry is gone to: by `switch` with a summary, or by `navigate`.
#[derive(Clone, Copy)]
struct Selecting<'r> {
    reading: Reading,
    summary: &'r Summary,
    if_running: IfRunning,
    client_id: Option<&'r str>,
}

impl<'r> From<&'r request::Switch> for Selecting<'r> {
    fn from(switch: &'r request::Switch) -> Self {
        let request::Switch { summary, if_running, client_id, .. } = switch;
        Self { reading: Reading::Exact, summary, if_running: *if_running, client_id: client_id.as_deref() }
    }
}

impl<'r> From<&'r request::Navigate> for Selecting<'r> {
    fn from(navigate: &'r request::Navigate) -> Self {
        let request::Navigate { summary, if_running, client_id, .. } = navigate;
        Self {
            reading: Reading::Selection,
            summary,
            if_running: *if_running,
            client_id: client_id.as_deref(),
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
