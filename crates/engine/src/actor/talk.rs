//! Saying something: send, edit, retry, and what waits to be said.

use std::sync::Arc;

use offshoot_agents::Agent;
use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::views::{PromptView, QueuedView};
use offshoot_api::{ApiError, ErrorCode, Response, response};
use offshoot_session::address::resolve;
use offshoot_session::guard::{Action, AgentState, Allowed, Place, Refusal};
use offshoot_session::outline::version_of;
use offshoot_session::plan::{Sent, plan_edit, plan_retry, plan_send_at};
use offshoot_session::queue::{NotQueued, Queued, QueuedId};
use offshoot_session::versions::turn_prompt;
use offshoot_session::{Body, Entry, EntryId, HeadName, Prompt, Record, SessionTree, Setting, TurnId};
use serde_json::json;

use super::halt::{Halt, nothing_to_do, refused};
use super::{Brought, SessionActor};
use crate::hooks::HookEvent;
use crate::view::settings_of;

impl SessionActor {
    pub(super) async fn send(&mut self, send: request::Send, brought: &Brought) -> Result<Response, Halt> {
        let at = match &send.at {
            Some(at) => Some(end_of_turn(&self.tree, &resolve(&self.tree, at).map_err(refused)?)),
            None => None,
        };
        let below = at.clone().or_else(|| self.tree.main_head().cloned());
        let chosen = send.agent.clone().map(Setting::Agent);
        let agent = match &send.agent {
            Some(name) => self.shared.agents.get(name).cloned().ok_or(Refusal::NoAgent),
            None => self.agent_at(below.as_ref()),
        };
        let (agent, agent_state) = match agent {
            Ok(agent) => (Some(agent), AgentState::Reachable),
            Err(_) => (None, AgentState::Missing),
        };
        let place =
            if send.if_running == IfRunning::Beside || at.is_some() { Place::Beside } else { Place::Here };
        let action = Action::Send { words: telling(&send.prompt), place };
        let allowed = self.may(action, agent_state, send.if_running)?;
        if let Some(at) = &at {
            self.may(Action::Retry { at, place: place_of(send.if_running) }, agent_state, send.if_running)?;
        }
        let agent = agent.ok_or_else(|| refused(Refusal::NoAgent))?;
        self.verdict(HookEvent::BeforeSend, brought, || {
            let below = below.as_ref().map(|below| below.as_str());
            json!({ "text": send.prompt.text, "attachments": send.prompt.attachments, "below": below })
        })?;
        match allowed {
            Allowed::Queued { behind } => Ok(self.enqueue(send.prompt, behind)),
            Allowed::Now => {
                let below = if at.is_none() { self.beside_running(below) } else { below };
                self.after_stopping(below.as_ref())?;
                let sent = self.plan_saying(below.as_ref(), send.prompt.into_prompt(), chosen)?;
                self.say(sent, agent).await
            }
        }
    }

    /// Below this entry; below the prompt above it where a turn is being answered there.
    fn beside_running(&self, below: Option<EntryId>) -> Option<EntryId> {
        let at = below?;
        let running = self.turns.values().filter(|running| !running.turn.is_over());
        let busy =
            running.map(|running| running.turn.prompt()).find(|prompt| self.tree.is_ancestor(prompt, &at));
        match busy {
            Some(prompt) => self.tree.parent(prompt).map(|parent| parent.id.clone()),
            None => Some(at),
        }
    }

    /// A prompt, and above it the agent that was chosen for it, as one step.
    fn plan_saying(
        &mut self,
        below: Option<&EntryId>,
        prompt: Prompt,
        chosen: Option<Setting>,
    ) -> Result<Sent, Halt> {
        let head = HeadName::main();
        let chosen = chosen.or_else(|| self.usual_agent(below));
        let stamps = self.stamps.as_mut();
        let change = chosen.filter(|chosen| !settings_of(&self.tree, below).contains(chosen));
        let Some(setting) = change else {
            return plan_send_at(&self.tree, &head, below, prompt, stamps).map_err(refused);
        };
        let (id, written_at) = (stamps.entry_id(), stamps.now());
        let (parent, body) = (below.cloned(), Body::Setting(setting));
        let setting = Record::entry(Entry { id: id.clone(), parent, written_at, turn: None, body });
        let mut sent = plan_send_at(&self.tree, &head, Some(&id), prompt, stamps).map_err(refused)?;
        // Behind the name of the step, above the prompt.
        let setting = setting.in_operation(sent.plan.operation.clone());
        sent.plan.records.insert(sent.plan.records.len().min(1), setting);
        Ok(sent)
    }

    /// Where nobody has named an agent, the one that answers is written down: which one is the usual may change.
    fn usual_agent(&self, at: Option<&EntryId>) -> Option<Setting> {
        let is_named = settings_of(&self.tree, at).iter().any(|setting| matches!(setting, Setting::Agent(_)));
        if is_named { None } else { self.shared.settings.default_agent.clone().map(Setting::Agent) }
    }

    pub(super) async fn edit(&mut self, edit: &request::Edit, brought: &Brought) -> Result<Response, Halt> {
        if edit.files == request::Files::AsOfThen {
            return Err(refused(no_checkpoints()));
        }
        let at = resolve(&self.tree, &edit.at).map_err(refused)?;
        let place = place_of(edit.if_running);
        let action = Action::Edit { at: &at, words: &edit.text, place };
        self.may(action, AgentState::Reachable, edit.if_running)?;
        self.after_stopping(Some(&at))?;
        let agent = self.agent_above(&at)?;
        self.before_saying_again(&at, &edit.text, brought)?;
        let sent = plan_edit(&self.tree, &HeadName::main(), &at, &edit.text, self.stamps.as_mut());
        self.say(sent.map_err(refused)?, agent).await
    }

    pub(super) async fn retry(
        &mut self,
        retry: &request::Retry,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let at = resolve(&self.tree, &retry.at).map_err(refused)?;
        let action = Action::Retry { at: &at, place: place_of(retry.if_running) };
        self.may(action, AgentState::Reachable, retry.if_running)?;
        self.after_stopping(Some(&at))?;
        let agent = self.agent_above(&at)?;
        let words = turn_prompt(&self.tree, &at).map(|prompt| prompt.body.text()).unwrap_or_default();
        self.before_saying_again(&at, &words, brought)?;
        let sent = plan_retry(&self.tree, &HeadName::main(), &at, self.stamps.as_mut());
        self.say(sent.map_err(refused)?, agent).await
    }

    /// What is said in the place of a prompt is said by the same leave as the prompt was.
    fn before_saying_again(&self, at: &EntryId, words: &str, brought: &Brought) -> Result<(), Halt> {
        let prompt = turn_prompt(&self.tree, at);
        let verdict = self.verdict(HookEvent::BeforeSend, brought, || {
            let below = prompt.and_then(|prompt| prompt.parent.as_ref()).map(|below| below.as_str());
            let attachments = match prompt.map(|prompt| &prompt.body) {
                Some(Body::Prompt(prompt)) => prompt.attachments.clone(),
                _ => Vec::new(),
            };
            json!({ "text": words, "attachments": attachments, "below": below })
        });
        verdict.map(|_| ())
    }

    /// A prompt that nobody has begun to answer, such as one that a crash left alone.
    pub(super) async fn resume(&mut self, resume: &request::Resume) -> Result<Response, Halt> {
        let at = match &resume.at {
            Some(at) => Some(resolve(&self.tree, at).map_err(refused)?),
            None => self.tree.main_head().cloned(),
        };
        let at = at.ok_or_else(|| nothing_to_do("there is no prompt to answer"))?;
        let unanswered = self.tree.entry(&at).filter(|entry| entry.body.is_prompt());
        let turn = unanswered.and_then(|entry| entry.turn.clone()).filter(|turn| {
            !self.tree.turn_ended(turn) && !self.turns.contains_key(turn) && !self.tree.has_children(&at)
        });
        let turn = turn.ok_or_else(|| nothing_to_do("the prompt has been answered: ask again instead"))?;
        if self.tree.main_head() != Some(&at) {
            return Err(nothing_to_do("the head is not at this prompt: go there first"));
        }
        let agent = self.agent_at(Some(&at)).map_err(refused)?;
        self.hold_the_book().await.map_err(Halt::Refused)?;
        self.begin_turn(turn.clone(), at.clone(), agent);
        Ok(Response::Sent(self.sent(Some(&at), Some(&turn))))
    }

    fn agent_above(&self, at: &EntryId) -> Result<Arc<dyn Agent>, Halt> {
        let prompt = turn_prompt(&self.tree, at).map(|prompt| &prompt.id);
        let above = prompt.and_then(|prompt| self.tree.parent(prompt)).map(|above| &above.id);
        self.agent_at(above).map_err(refused)
    }

    /// Writes the prompt and begins its turn.
    async fn say(&mut self, sent: Sent, agent: Arc<dyn Agent>) -> Result<Response, Halt> {
        let Sent { plan, prompt, turn } = sent;
        let is_first = self.turns.is_empty();
        if is_first {
            self.hold_the_book().await.map_err(Halt::Refused)?;
        }
        if let Err(error) = self.commit(plan.records).await {
            if is_first {
                self.let_go_of_the_book().await;
            }
            return Err(Halt::Refused(error));
        }
        self.begin_turn(turn.clone(), prompt.clone(), agent);
        self.queue_behind(&turn);
        Ok(Response::Sent(self.sent(Some(&prompt), Some(&turn))))
    }

    fn sent(&self, prompt: Option<&EntryId>, turn: Option<&TurnId>) -> response::Sent {
        response::Sent {
            session: self.id.to_string(),
            prompt: prompt.map(ToString::to_string),
            turn: turn.map(ToString::to_string),
            queued: None,
            version: prompt
                .and_then(|prompt| version_of(&self.tree, prompt))
                .map(|version| (version.number, version.of)),
        }
    }

    fn enqueue(&mut self, prompt: PromptView, behind: TurnId) -> Response {
        let id = QueuedId::named(self.stamps.operation_id().as_str());
        let (queued_at, head) = (self.stamps.now(), HeadName::main());
        self.queue.add(Queued { id: id.clone(), behind, head, prompt: prompt.into_prompt(), queued_at });
        self.tell_queue();
        Response::Sent(response::Sent { queued: Some(id.to_string()), ..self.sent(None, None) })
    }

    /// What waited for a turn that did not end well waits for the next one.
    fn queue_behind(&mut self, turn: &TurnId) {
        let waits_for_nobody = |queued: &&Queued| !self.turns.contains_key(&queued.behind);
        let left: Vec<TurnId> =
            self.queue.iter().filter(waits_for_nobody).map(|queued| queued.behind.clone()).collect();
        for behind in left {
            self.queue.wait_for(&behind, turn);
        }
    }

    /// The turn is done: the first that waited for it is said. `false`: nothing waited.
    pub(super) async fn say_next(&mut self, turn: &TurnId) -> bool {
        let Some(next) = self.queue.next_after(turn) else { return false };
        let said = self.say_queued(&next).await;
        if let Err(Halt::Refused(error)) = said {
            let text = format!("what waited could not be sent: {error}");
            self.publish(None, EventKind::Notice { text });
        }
        self.tell_queue();
        true
    }

    async fn say_queued(&mut self, queued: &Queued) -> Result<(), Halt> {
        let below = self.tree.head(&queued.head).cloned();
        let agent = self.agent_at(below.as_ref()).map_err(refused)?;
        let sent = self.plan_saying(below.as_ref(), queued.prompt.clone(), None)?;
        let turn = sent.turn.clone();
        self.say(sent, agent).await?;
        self.queue.wait_for(&queued.behind, &turn);
        Ok(())
    }

    fn tell_queue(&mut self) {
        let queue = self.queue.iter().map(QueuedView::from).collect();
        self.publish(None, EventKind::Queue { queue });
    }

    pub(super) fn queue_view(&self) -> Response {
        Response::Queue { queue: self.queue.iter().map(QueuedView::from).collect() }
    }

    pub(super) fn change_queued(&mut self, change: request::ChangeQueued) -> Result<Response, Halt> {
        if telling(&change.prompt).trim().is_empty() {
            return Err(refused(Refusal::Blank));
        }
        let id = QueuedId::named(change.queued);
        self.queue.change(&id, change.prompt.into_prompt()).map_err(refused)?;
        self.tell_queue();
        Ok(Response::Done { changed: true })
    }

    pub(super) fn cancel_queued(&mut self, cancel: request::CancelQueued) -> Result<Response, Halt> {
        let id = QueuedId::named(cancel.queued);
        self.queue.cancel(&id).map_err(|gone: NotQueued| refused(gone))?;
        self.tell_queue();
        Ok(Response::Done { changed: true })
    }
}

fn place_of(if_running: IfRunning) -> Place {
    match if_running {
        IfRunning::Beside => Place::Beside,
        IfRunning::Wait | IfRunning::AbortFirst => Place::Here,
    }
}

/// What guards look at: who sends only a file says something too.
fn telling(prompt: &PromptView) -> &str {
    match (prompt.attachments.first(), prompt.images.is_empty()) {
        (Some(attachment), _) if prompt.text.trim().is_empty() => attachment,
        (None, false) if prompt.text.trim().is_empty() => "image",
        _ => &prompt.text,
    }
}

/// Below a prompt means below its answer.
fn end_of_turn(tree: &SessionTree, at: &EntryId) -> EntryId {
    let mut end = at.clone();
    if !tree.entry(at).is_some_and(|entry| entry.body.is_prompt()) {
        return end;
    }
    while let Some(next) = tree.remembered_child(Some(&end)).filter(|next| !next.body.is_prompt()) {
        end = next.id.clone();
    }
    end
}

pub(super) fn no_checkpoints() -> ApiError {
    ApiError::new(ErrorCode::NoCheckpoint, "no checkpoints of files are kept")
}
