//! Settings, names, clearing, and sessions that come out of this one.

use offshoot_api::Response;
use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::response::Changed;
use offshoot_api::views::SessionBrief;
use offshoot_session::address::Want;
use offshoot_session::guard::{Action, AgentState, Refusal};
use offshoot_session::plan::{
    ConfigChangeWay, NewSession, Plan, born, plan_archive, plan_branch_name, plan_config_change,
    plan_config_session, plan_forked, plan_label, plan_rename,
};
use offshoot_session::{
    Body, BranchReason, Change, Entry, EntryId, Fact, HeadMove, HeadName, OperationId, Record, SessionId,
    Setting, TitleSource,
};
use offshoot_store::CreateError;
use serde_json::json;

use super::changed::{answered, chosen_ids};
use super::halt::{Halt, refused};
use super::{Brought, SessionActor};
use crate::failure::{internal, not_appended, not_created};
use crate::hooks::HookEvent;

/// Six characters of an id tell most sessions apart.
const SHORT_NAME: usize = 6;

impl SessionActor {
    /// In force from the next prompt on, never inside a turn.
    pub(super) async fn configure(
        &mut self,
        configure: request::Configure,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        if configure.agent.as_ref().is_some_and(|agent| !self.shared.agents.contains_key(agent)) {
            return Err(refused(Refusal::NoAgent));
        }
        let (this_once, if_running) = (configure.branching, configure.if_running);
        let client_id = configure.client_id.clone();
        let client_id = client_id.as_deref();
        let settings = settings(configure);
        let way = self.way_of_settings(self.tree.main_head(), &settings, this_once, brought)?;
        self.may(Action::Change, AgentState::Reachable, if_running)?;
        let (head, ids) = (HeadName::main(), &mut chosen_ids(self.stamps.as_mut(), client_id));
        match way {
            ConfigChangeWay::Entry => {
                let plan = plan_config_change(&self.tree, &head, settings, ids);
                let changed = self.take(plan.map_err(refused)?).await?;
                self.configure_agent();
                Ok(answered(changed))
            }
            ConfigChangeWay::File => {
                let session = plan_config_session(&self.tree, &head, settings, ids);
                let Some(session) = session.map_err(refused)? else {
                    return Ok(answered(self.take(None).await?));
                };
                self.before_branch(self.tree.main_head(), brought)?;
                let reason = BranchReason::ConfigChange;
                Ok(answered(self.begin_another(session, "change settings", reason, client_id).await?))
            }
        }
    }

    pub(super) async fn fork_to_new_session(
        &mut self,
        mut session: NewSession,
        fork: &request::Fork,
    ) -> Result<Changed, Halt> {
        if let Some(title) = fork.title.as_deref().map(str::trim).filter(|title| !title.is_empty()) {
            let fact = Fact::Title { title: Some(title.to_owned()), source: TitleSource::User };
            session.records.push(Record::marked(self.stamps.now(), fact));
        }
        let step = format!("fork from {}", short_name(&self.id));
        self.begin_another(session, &step, BranchReason::Fork, fork.client_id.as_deref()).await
    }

    /// A session out of this one. It stands by itself; what this one knows of it only helps to take it back.
    pub(super) async fn begin_another(
        &mut self,
        session: NewSession,
        step: &str,
        reason: BranchReason,
        client_id: Option<&str>,
    ) -> Result<Changed, Halt> {
        let before = self.head_now();
        let NewSession { id, mut records, head } = session;
        let title = title_in(&records);
        let told = plan_forked(&id, &mut chosen_ids(self.stamps.as_mut(), client_id));
        born(&mut records, step, told.operation.clone(), self.stamps.as_mut());
        // Both sides are written under the lock of this one, so that the copy is of what the step comes behind.
        self.lock_plan().await?;
        let operation = told.operation.clone();
        let (shelf, to_create) = (self.shared.shelf.clone(), records.clone());
        let created = tokio::task::spawn_blocking(move || shelf.create(&to_create)).await;
        match created.map_err(|_| Halt::Refused(internal("the store broke down")))? {
            // The same request has begun it before, and did not come to record it here.
            Err(CreateError::Exists(_)) if client_id.is_some() && self.is_begun_by(&id, &operation).await => {
            }
            created => created.map_err(|error| Halt::Refused(not_created(&error)))?,
        }
        if let Err(halt) = self.commit(told.records).await {
            self.remove_child(&id, records).await;
            return Err(halt);
        }
        // Whoever looks at this session would wait here for what is said there.
        self.publish(None, EventKind::Branched { into: id.to_string(), reason: reason.word().to_owned() });
        let origin = self.id.to_string();
        self.tell_hooks(
            HookEvent::SessionBranch,
            || json!({ "previousSession": origin, "newSession": id.as_str() }),
        );
        let place = head.as_ref().and_then(|head| self.place(Some(head)));
        Ok(Changed {
            place,
            new_session: Some(SessionBrief { id: id.to_string(), title }),
            new_head: head.map(|head| head.to_string()),
            // The agent's session belongs to the origin.
            agent_session: None,
            ..self.changed(before, Some(&operation))
        })
    }

    /// Whether a session came out of this one in a step.
    async fn is_begun_by(&mut self, id: &SessionId, operation: &OperationId) -> bool {
        let (shelf, id, origin) = (self.shared.shelf.clone(), id.clone(), self.id.clone());
        let read = tokio::task::spawn_blocking(move || Some(shelf.open(&id).ok()??.tree().clone()));
        let Ok(Some(child)) = read.await else { return false };
        let parent = child.header().and_then(|header| header.lineage.as_ref()).map(|lineage| &lineage.parent);
        parent.is_some_and(|parent| *parent == origin.as_str()) && child.began() == Some(operation)
    }

    /// The step could not be recorded here, so there shall be no child of it either.
    async fn remove_child(&mut self, id: &SessionId, records: Vec<Record>) {
        let shelf = self.shared.shelf.clone();
        let removed = tokio::task::spawn_blocking(move || shelf.remove_created(&records)).await;
        let why = match removed {
            Ok(Ok(true)) => return,
            Ok(Ok(false)) => "something has been written to it already".to_owned(),
            Ok(Err(error)) => not_appended(&error).message,
            Err(_) => "the store broke down".to_owned(),
        };
        let text = format!("session `{id}` came out of this one and could not be removed again: {why}");
        self.publish(None, EventKind::Notice { text });
    }

    pub(super) async fn rename(&mut self, rename: &request::Rename) -> Result<Response, Halt> {
        let ids = &mut chosen_ids(self.stamps.as_mut(), rename.client_id.as_deref());
        let plan = plan_rename(&self.tree, rename.title.as_deref(), TitleSource::User, ids);
        let changed = self.take(plan).await?;
        if changed.changed {
            self.rename_agent_sessions().await;
        }
        Ok(answered(changed))
    }

    pub(super) async fn label(&mut self, label: &request::Label) -> Result<Response, Halt> {
        let at = self.point(&label.at, Want::Selection)?;
        let ids = &mut chosen_ids(self.stamps.as_mut(), label.client_id.as_deref());
        let plan = plan_label(&self.tree, &at, label.label.as_deref(), ids);
        self.mark(plan.map_err(refused)?, &at).await
    }

    pub(super) async fn name_branch(&mut self, name: &request::NameBranch) -> Result<Response, Halt> {
        let at = self.point(&name.at, Want::Branch)?;
        let ids = &mut chosen_ids(self.stamps.as_mut(), name.client_id.as_deref());
        let plan = plan_branch_name(&self.tree, &at, name.name.as_deref(), ids);
        self.mark(plan.map_err(refused)?, &at).await
    }

    pub(super) async fn archive(&mut self, archive: &request::Archive) -> Result<Response, Halt> {
        let at = self.point(&archive.at, Want::Branch)?;
        let ids = &mut chosen_ids(self.stamps.as_mut(), archive.client_id.as_deref());
        let plan = plan_archive(&self.tree, &at, archive.archived, ids);
        self.mark(plan.map_err(refused)?, &at).await
    }

    /// The agents forget; the conversation, the model and the permissions stay.
    pub(super) async fn clear(&mut self, clear: &request::Clear) -> Result<Response, Halt> {
        self.when_nothing_runs(clear.if_running)?;
        let from = self.tree.main_head().cloned();
        let (id, written_at) = (self.stamps.entry_id(), self.stamps.now());
        let mut plan =
            Plan::named("clear", &mut chosen_ids(self.stamps.as_mut(), clear.client_id.as_deref()));
        let (parent, body) = (from.clone(), Body::Cleared);
        plan.push(Record::entry(Entry { id: id.clone(), parent, written_at, turn: None, body }));
        let moved_at = self.stamps.now();
        let to = Some(id);
        plan.push(Record::head_moved(HeadMove { head: HeadName::main(), moved_at, from, to }));
        let changed = self.take(Some(plan)).await?;
        self.close_idle_agents();
        Ok(answered(changed))
    }

    /// Agents that answer elsewhere in the tree would have to go too.
    fn when_nothing_runs(&self, if_running: IfRunning) -> Result<(), Halt> {
        let Some(running) = self.turns.values().next() else {
            return self.when_nothing_is_pending(if_running);
        };
        let (turn, prompt) = (running.turn.id().clone(), running.turn.prompt().clone());
        match if_running {
            _ if running.turn.is_over() => Err(Halt::After(turn)),
            IfRunning::AbortFirst => Err(Halt::AbortFirst(turn)),
            IfRunning::Wait | IfRunning::Beside => Err(refused(Refusal::Running { turn, prompt })),
        }
    }

    /// A fact about one entry.
    async fn mark(&mut self, plan: Option<Plan>, at: &EntryId) -> Result<Response, Halt> {
        let changed = self.take(plan).await?;
        Ok(answered(Changed { place: self.place(Some(at)), ..changed }))
    }
}

/// The title of a session that is about to begin.
fn title_in(records: &[Record]) -> Option<String> {
    let given_by = |wanted: TitleSource| {
        records.iter().rev().find_map(|record| match &record.change {
            Change::Marked(mark) => match &mark.fact {
                Fact::Title { title, source } if *source == wanted => title.clone(),
                _ => None,
            },
            _ => None,
        })
    };
    given_by(TitleSource::User).or_else(|| given_by(TitleSource::Auto))
}

fn settings(configure: request::Configure) -> Vec<Setting> {
    let request::Configure { agent, model, thinking, tools, permission_mode, .. } = configure;
    let model = model.map(|model| Setting::Model { role: None, model: model.into() });
    [
        agent.map(Setting::Agent),
        model,
        thinking.map(|level| Setting::Thinking(Some(level))),
        tools.map(Setting::Tools),
        permission_mode.map(Setting::PermissionMode),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// As much of an id as a list of steps shows.
fn short_name(id: &SessionId) -> &str {
    id.as_str()
        .char_indices()
        .nth(SHORT_NAME)
        .map_or(id.as_str(), |(end, _)| id.as_str().get(..end).unwrap_or_default())
}
