//! Saying something: send, edit, retry.

use std::sync::Arc;

use offshoot_agents::Agent;
use offshoot_api::request::{self, ConfigBranching, IfRunning, VersionTo};
use offshoot_api::response::Changed;
use offshoot_api::views::{HeadView, ModelView, OperationView, PromptView, VersionBrief};
use offshoot_api::{ApiError, ErrorCode, Response};
use offshoot_session::address::Want;
use offshoot_session::guard::{Action, AgentState, Allowed, Place, Refusal};
use offshoot_session::pending::{Landing, PendingTurn};
use offshoot_session::plan::{
    Child, ConfigChangeWay, Difference, Plan, Sent, plan_edit, plan_edit_with_files, plan_retry,
    plan_send_aside, plan_send_at, prompt_with_new_text, replace_unanswered,
};
use offshoot_session::queue::Queued;
use offshoot_session::versions::turn_prompt;
use offshoot_session::{
    Block, Body, ChosenIds, Entry, EntryId, HeadName, Prompt, Record, Setting, Stamps, TurnId, text_of,
};

use super::agents::Delivered;
use super::changed::answered;
use super::halt::{Halt, nothing_to_do, refused};
use super::pending::{MessageIds, Outgoing};
use super::{Brought, SessionActor};
use crate::images;
use crate::usual::begins_with;
use crate::view::settings_of;

/// What a prompt does to the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    Goes,
    Stays,
}

/// What is said in the place of a prompt.
#[derive(Clone, Copy, Debug)]
struct Words<'a> {
    text: &'a str,
    /// Those of the prompt come along where none are named.
    attachments: Option<&'a [String]>,
    begins_session: bool,
}

impl<'a> Words<'a> {
    fn alone(text: &'a str) -> Self {
        Self { text, attachments: None, begins_session: false }
    }
}

/// Where a message goes.
enum Destination {
    /// Now.
    Below(Option<EntryId>),
    /// Into the queue, behind this turn.
    Behind(TurnId),
    /// Into the queue, behind a message that is held and is sent now.
    After(Box<Queued>),
}

impl SessionActor {
    pub(super) async fn send(&mut self, send: request::Send, brought: &Brought) -> Result<Response, Halt> {
        if let Some(said) = self.said_before(send.client_id.as_deref(), brought).await? {
            return Ok(said);
        }
        images::check(&send.prompt.images).map_err(refused)?;
        let chosen = chosen(send.agent.as_ref(), send.model.as_ref());
        let way = self.way_of_message(&send, &chosen, brought)?;
        let landing = match (self.accepted_landing(brought)?, way) {
            (Some(landing), _) => landing,
            (None, ConfigChangeWay::File) => Landing::Below(self.branch_point_of(&send)?),
            (None, ConfigChangeWay::Entry) => match self.place_for(&send)? {
                Destination::Below(below) => Landing::Below(below),
                Destination::Behind(turn) => return self.enqueue(send, turn).await,
                Destination::After(held) => return self.say_after(send, &held).await,
            },
        };
        let below = landing.below(&self.tree).cloned();
        let agent = self.agent_for(&chosen, below.as_ref()).map_err(refused)?;
        let (client_id, PromptView { text, attachments, .. }) = (send.client_id.as_deref(), &send.prompt);
        let message = Outgoing {
            landing: &landing,
            at: None,
            client_id,
            text,
            attachments,
            agent: &agent,
            begins_session: way == ConfigChangeWay::File,
        };
        self.prepare(&message, brought)?;
        let ids = MessageIds::of(client_id, brought).for_agent(Some(&agent));
        let prompt = send.prompt.clone().into_prompt();
        if way == ConfigChangeWay::File {
            let settings = begins_with(settings_of(&self.tree, below.as_ref()), chosen, &self.settings);
            let (difference, above) = (Difference::Settings, below.as_ref());
            let message = Some(Body::Prompt(prompt));
            return self.begin_child(Child { difference, above, settings, message }, ids, false).await;
        }
        let landing = self.catch_up_with_agent(landing, &agent).await?;
        let below = landing.below(&self.tree).cloned();
        let sent = self.plan_saying(below.as_ref(), prompt, chosen, ids, Head::Goes)?;
        self.say(sent, agent).await
    }

    /// Whether a message goes into this session or begins one.
    fn way_of_message(
        &self,
        send: &request::Send,
        chosen: &[Setting],
        brought: &Brought,
    ) -> Result<ConfigChangeWay, Halt> {
        let below = match (self.accepted_landing(brought)?, &send.at) {
            (Some(landing), _) => landing.below(&self.tree).cloned(),
            (None, Some(at)) => Some(self.point(at, Want::End)?),
            (None, None) => self.tree.main_head().cloned(),
        };
        if let Ok(agent) = self.agent_for(chosen, below.as_ref()) {
            Self::must_take(&agent, &send.prompt.text)?;
        }
        self.way_of_settings(below.as_ref(), chosen, send.branching, brought)
    }

    /// Where a message goes that was not accepted before.
    fn place_for(&self, send: &request::Send) -> Result<Destination, Halt> {
        let at = match &send.at {
            Some(at) => Some(self.point(at, Want::End)?),
            None => None,
        };
        let below = at.clone().or_else(|| self.tree.main_head().cloned());
        let chosen = chosen(send.agent.as_ref(), send.model.as_ref());
        let agent_state = match self.agent_for(&chosen, below.as_ref()) {
            Ok(_) => AgentState::Reachable,
            Err(_) => AgentState::Missing,
        };
        let place =
            if send.if_running == IfRunning::Beside || at.is_some() { Place::Beside } else { Place::Here };
        let action = Action::Send { words: telling(&send.prompt), place };
        let allowed = self.may(action, agent_state, send.if_running)?;
        if let (Some(at), IfRunning::Wait) = (&at, send.if_running)
            && let Some(behind) = self.turn_above(at)
        {
            return Ok(Destination::Behind(behind));
        }
        if let Some(at) = &at {
            self.may(Action::Retry { at, place: place_of(send.if_running) }, agent_state, send.if_running)?;
        }
        match allowed {
            Allowed::Queued { behind } => Ok(Destination::Behind(behind)),
            Allowed::Now if place == Place::Here => match self.held_here() {
                Some(held) => Ok(Destination::After(Box::new(held))),
                None => Ok(Destination::Below(below)),
            },
            Allowed::Now if at.is_none() => Ok(Destination::Below(self.beside_running(below))),
            Allowed::Now => Ok(Destination::Below(below)),
        }
    }

    /// Below this entry; below the prompt above it where a turn is being answered there.
    fn beside_running(&self, below: Option<EntryId>) -> Option<EntryId> {
        let at = below?;
        let running = self.turns.values().filter(|running| !running.turn.is_over());
        let running = running.map(|running| running.turn.prompt().clone());
        let pending = self.pending_turns().into_iter().filter_map(|pending| match pending.landing() {
            Landing::Answer(prompt) => Some(prompt.clone()),
            Landing::Below(_) | Landing::Version { .. } => None,
        });
        let busy = running.chain(pending).find(|prompt| self.tree.is_ancestor(prompt, &at));
        match busy {
            Some(prompt) => self.tree.parent(&prompt).map(|parent| parent.id.clone()),
            None => Some(at),
        }
    }

    /// A prompt, and above it what was chosen for it, as one step.
    pub(super) fn plan_saying(
        &mut self,
        below: Option<&EntryId>,
        prompt: Prompt,
        chosen: Vec<Setting>,
        ids: MessageIds<'_>,
        head: Head,
    ) -> Result<Sent, Halt> {
        let changes = begins_with(settings_of(&self.tree, below), chosen, &self.settings);
        let stamps = &mut ids.stamps(self.stamps.as_mut());
        let mut above = below.cloned();
        let mut records = Vec::with_capacity(changes.len());
        for setting in changes {
            let (id, written_at) = (stamps.entry_id(), stamps.now());
            let (parent, body) = (above.replace(id.clone()), Body::Setting(setting));
            records.push(Record::entry(Entry { id, parent, written_at, turn: None, body }));
        }
        let sent = match head {
            Head::Goes => plan_send_at(&self.tree, &HeadName::main(), above.as_ref(), prompt, stamps),
            Head::Stays => plan_send_aside(above.as_ref(), prompt, stamps),
        };
        let mut sent = sent.map_err(refused)?;
        // Behind the name of the step, above the prompt.
        let behind_name = sent.plan.records.len().min(1);
        let operation = sent.plan.operation.clone();
        let records = records.into_iter().map(|record| record.in_operation(operation.clone()));
        sent.plan.records.splice(behind_name..behind_name, records);
        Ok(sent)
    }

    pub(super) async fn edit(&mut self, edit: &request::Edit, brought: &Brought) -> Result<Response, Halt> {
        if edit.files == request::Files::AsOfThen {
            return Err(refused(no_checkpoints()));
        }
        if !edit.only_write
            && let Some(said) = self.said_before(edit.client_id.as_deref(), brought).await?
        {
            return Ok(said);
        }
        images::check(edit.images.as_deref().unwrap_or_default()).map_err(refused)?;
        let accepted = self.accepted_at(brought)?;
        let at = match &accepted {
            Some(at) => at.clone(),
            None => self.point(&edit.at, Want::Selection)?,
        };
        if self.tree.entry(&at).is_some_and(|entry| !entry.body.is_prompt()) {
            return self.edit_message(edit, &at, brought).await;
        }
        let chosen = self.changing(&at, chosen(edit.agent.as_ref(), edit.model.as_ref()));
        self.must_support(Some(&at), &chosen, brought)?;
        let is_child = self.goes_into_child(&chosen, edit.to, edit.branching)?;
        // Nothing is written on the path of a turn that runs here.
        let place = if is_child { Place::Beside } else { place_of(edit.if_running) };
        let words = edit.text.as_str();
        let brings_files = edit.attachments.is_some() || edit.images.is_some();
        let action = match (chosen.is_empty() && !brings_files) || words.trim().is_empty() {
            true => Action::Edit { at: &at, words, place },
            // The same words to somebody else, or with other files, are something else.
            false => Action::Retry { at: &at, place },
        };
        if accepted.is_none() {
            self.may(action, AgentState::Reachable, edit.if_running)?;
        }
        let client_id = edit.client_id.as_deref();
        let ids = MessageIds::of(client_id, brought);
        let agent = match edit.only_write {
            true if is_child => self.before_branch(self.above_prompt_of(&at), brought).map(|()| None)?,
            true => {
                self.after_aborting(&at, brought)?;
                None
            }
            false => {
                let (attachments, begins_session) = (edit.attachments.as_deref(), is_child);
                let words = Words { text: words, attachments, begins_session };
                Some(self.agent_saying_again(&at, words, &chosen, client_id, brought).await?)
            }
        };
        let ids = ids.for_agent(agent.as_ref());
        let sent = match self.tree.entry(&at).map(|entry| &entry.body) {
            Some(Body::Prompt(prompt)) if is_child => {
                let (difference, prompt) = (difference(prompt, &at, edit), edited(prompt, edit));
                return self.say_in_child(&at, difference, prompt, chosen, ids, edit.only_write).await;
            }
            Some(Body::Prompt(prompt)) if !chosen.is_empty() => {
                self.plan_saying_otherwise(&at, edited(prompt, edit), chosen, ids)?
            }
            Some(Body::Prompt(prompt)) if brings_files => {
                let prompt = edited(prompt, edit);
                let ids = &mut ids_of_version(self.stamps.as_mut(), ids, edit.only_write);
                plan_edit_with_files(&self.tree, &HeadName::main(), &at, prompt, ids).map_err(refused)?
            }
            Some(_) | None => {
                let ids = &mut ids_of_version(self.stamps.as_mut(), ids, edit.only_write);
                plan_edit(&self.tree, &HeadName::main(), &at, words, ids).map_err(refused)?
            }
        };
        self.say_or_write(sent, agent).await
    }

    /// In the place of a prompt, with what was chosen for it above it: a branch of its own.
    fn plan_saying_otherwise(
        &mut self,
        at: &EntryId,
        prompt: Prompt,
        chosen: Vec<Setting>,
        ids: MessageIds<'_>,
    ) -> Result<Sent, Halt> {
        let above = self.tree.parent(at).map(|above| above.id.clone());
        self.plan_saying(above.as_ref(), prompt, chosen, ids, Head::Goes)
    }

    /// Whether an edit or a retry begins a session: it is wanted so, or brings settings that go into one.
    fn goes_into_child(
        &self,
        chosen: &[Setting],
        to: VersionTo,
        branching: Option<ConfigBranching>,
    ) -> Result<bool, Halt> {
        match to {
            VersionTo::NewSession => Ok(true),
            VersionTo::Version if chosen.is_empty() => Ok(false),
            VersionTo::Version => Ok(self.way_of_change(branching)? == ConfigChangeWay::File),
        }
    }

    fn above_prompt_of(&self, at: &EntryId) -> Option<&EntryId> {
        let prompt = turn_prompt(&self.tree, at).map(|prompt| &prompt.id);
        prompt.and_then(|prompt| self.tree.parent(prompt)).map(|above| &above.id)
    }

    /// In a session that begins with what is above a prompt.
    async fn say_in_child(
        &mut self,
        at: &EntryId,
        difference: Difference<'_>,
        prompt: Prompt,
        chosen: Vec<Setting>,
        ids: MessageIds<'_>,
        only_write: bool,
    ) -> Result<Response, Halt> {
        let above = self.above_prompt_of(at).cloned();
        let settings = begins_with(settings_of(&self.tree, above.as_ref()), chosen, &self.settings);
        let message = Some(Body::Prompt(prompt));
        let child = Child { difference, above: above.as_ref(), settings, message };
        self.begin_child(child, ids, only_write).await
    }

    /// Lets the same prompt replace the old one, unless that has an answer or is about to get one.
    fn replacing(&mut self, old: &EntryId, sent: Sent) -> Sent {
        let runs = self.turns.values().any(|running| running.turn.prompt() == old);
        let is_next = |turn: &PendingTurn| matches!(turn.landing(), Landing::Answer(prompt) if prompt == old);
        if runs || self.pending_turns().iter().any(is_next) {
            return sent;
        }
        replace_unanswered(&self.tree, &HeadName::main(), old, sent, self.stamps.as_mut())
    }

    /// What was chosen for what is said in the place of a prompt, without what is in force there.
    fn changing(&self, at: &EntryId, chosen: Vec<Setting>) -> Vec<Setting> {
        let known = settings_of(&self.tree, self.above_prompt_of(at));
        chosen.into_iter().filter(|setting| !known.contains(setting)).collect()
    }

    pub(super) async fn retry(
        &mut self,
        retry: &request::Retry,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        if !retry.only_write
            && let Some(said) = self.said_before(retry.client_id.as_deref(), brought).await?
        {
            return Ok(said);
        }
        let accepted = self.accepted_at(brought)?;
        let at = match &accepted {
            Some(at) => at.clone(),
            None => self.point(&retry.at, Want::Turn)?,
        };
        let chosen = self.changing(&at, chosen(retry.agent.as_ref(), retry.model.as_ref()));
        self.must_support(Some(&at), &chosen, brought)?;
        let is_child = self.goes_into_child(&chosen, retry.to, retry.branching)?;
        let place = if is_child { Place::Beside } else { place_of(retry.if_running) };
        let action = Action::Retry { at: &at, place };
        if accepted.is_none() {
            self.may(action, AgentState::Reachable, retry.if_running)?;
        }
        let client_id = retry.client_id.as_deref();
        let ids = MessageIds::of(client_id, brought);
        let agent = match retry.only_write {
            true if is_child => self.before_branch(self.above_prompt_of(&at), brought).map(|()| None)?,
            true => {
                self.after_aborting(&at, brought)?;
                None
            }
            false => {
                let words = turn_prompt(&self.tree, &at).map(|prompt| prompt.body.text()).unwrap_or_default();
                let words = Words { begins_session: is_child, ..Words::alone(&words) };
                Some(self.agent_saying_again(&at, words, &chosen, client_id, brought).await?)
            }
        };
        let ids = ids.for_agent(agent.as_ref());
        let prompt = turn_prompt(&self.tree, &at).cloned();
        let sent = match prompt.as_ref().map(|prompt| (&prompt.id, &prompt.body)) {
            Some((of, Body::Prompt(prompt))) if is_child => {
                let difference = match retry.to {
                    VersionTo::NewSession => Difference::Retry { of },
                    VersionTo::Version => Difference::Settings,
                };
                return self
                    .say_in_child(of, difference, prompt.clone(), chosen, ids, retry.only_write)
                    .await;
            }
            Some((at, Body::Prompt(prompt))) if !chosen.is_empty() => {
                self.plan_saying_otherwise(at, prompt.clone(), chosen, ids)?
            }
            Some(_) | None => {
                let ids = &mut ids_of_version(self.stamps.as_mut(), ids, retry.only_write);
                plan_retry(&self.tree, &HeadName::main(), &at, ids).map_err(refused)?
            }
        };
        // A version that is only written is wanted for itself.
        let sent = match &prompt {
            Some(prompt) if !retry.only_write => self.replacing(&prompt.id, sent),
            Some(_) | None => sent,
        };
        self.say_or_write(sent, agent).await
    }

    /// What only writes needs no hooks, but waits for the turn that was interrupted for it.
    pub(super) fn after_aborting(&self, at: &EntryId, brought: &Brought) -> Result<(), Halt> {
        match brought.aborted().filter(|turn| self.turns.contains_key(*turn)) {
            Some(turn) => Err(Halt::After(turn.clone())),
            None => self.after_stopping(Some(at)),
        }
    }

    /// Who answers what is said in the place of a prompt, where hooks let it be said.
    async fn agent_saying_again(
        &mut self,
        at: &EntryId,
        words: Words<'_>,
        chosen: &[Setting],
        client_id: Option<&str>,
        brought: &Brought,
    ) -> Result<Arc<dyn Agent>, Halt> {
        let prompt = turn_prompt(&self.tree, at).map_or(at, |prompt| &prompt.id).clone();
        let landing = Landing::version(&self.tree, &prompt);
        let agent = self.agent_for(chosen, landing.below(&self.tree)).map_err(refused)?;
        Self::must_take(&agent, words.text)?;
        let begins_session = words.begins_session;
        self.prepare_again(at, &landing, words, client_id, &agent, brought)?;
        if !begins_session {
            self.catch_up_with_agent(landing, &agent).await?;
        }
        Ok(agent)
    }

    /// What is said in the place of a prompt is said by the same leave as the prompt was.
    fn prepare_again(
        &mut self,
        at: &EntryId,
        landing: &Landing,
        words: Words<'_>,
        client_id: Option<&str>,
        agent: &Arc<dyn Agent>,
        brought: &Brought,
    ) -> Result<(), Halt> {
        let prompt = match landing {
            Landing::Version { of, .. } | Landing::Answer(of) => self.tree.entry(of),
            Landing::Below(_) => None,
        };
        let attachments = match prompt.map(|prompt| &prompt.body) {
            Some(Body::Prompt(prompt)) => prompt.attachments.clone(),
            _ => Vec::new(),
        };
        let attachments = words.attachments.unwrap_or(&attachments);
        let Words { text, begins_session, .. } = words;
        let at = Some(at);
        let message = Outgoing { landing, at, client_id, text, attachments, agent, begins_session };
        self.prepare(&message, brought)
    }

    /// Answers a prompt without an answer, such as one that a crash left alone. The head stays where it is. Settings
    /// that were changed below the prompt are meant for its answer: it is replaced by the same prompt below them
    /// ([`replace_unanswered`]). So is one that belongs to no turn, because it was appended or another program wrote it.
    pub(super) async fn resume(
        &mut self,
        resume: &request::Resume,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        match self.said_before(resume.client_id.as_deref(), brought).await? {
            Some(said) => Ok(said),
            None => self.answer_prompt(resume, brought).await,
        }
    }

    pub(super) async fn answer_prompt(
        &mut self,
        resume: &request::Resume,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let client_id = resume.client_id.as_deref();
        let accepted = self.accepted_at(brought)?;
        let at = match (&accepted, &resume.at) {
            (Some(at), _) => Some(at.clone()),
            (None, Some(at)) => Some(self.point(at, Want::Selection)?),
            (None, None) => self.tree.main_head().cloned(),
        };
        let at = at.ok_or_else(|| nothing_to_do("there is no prompt to answer"))?;
        if let (Some(_), Some(Landing::Version { of, .. })) = (&accepted, self.accepted_landing(brought)?) {
            return self.say_with_settings_of(&at, &of, client_id, brought).await;
        }
        let unanswered = self.unanswered(&at).map(|prompt| (prompt.id.clone(), prompt.turn.clone()));
        let (prompt, turn) =
            unanswered.ok_or_else(|| nothing_to_do("the prompt has been answered: ask again instead"))?;
        let Some(turn) = turn.filter(|_| prompt == at) else {
            return self.say_with_settings_of(&at, &prompt, client_id, brought).await;
        };
        let agent = self.agent_at(Some(&at)).map_err(refused)?;
        let words = self.tree.entry(&at).map(|entry| entry.body.text()).unwrap_or_default();
        let landing = Landing::Answer(at.clone());
        self.prepare_again(&at, &landing, Words::alone(&words), client_id, &agent, brought)?;
        self.catch_up_with_agent(landing, &agent).await?;
        if self.turns.is_empty() {
            self.hold_the_book().await?;
        }
        let before = self.head_now();
        self.begin_turn(turn.clone(), at.clone(), agent, Delivered::Perhaps).await;
        self.queue_behind(&turn, &at).await;
        Ok(answered(self.sent(before, Some(&at), Some(&turn))))
    }

    /// The prompt that a branch ends in, settings behind it aside, where nobody has answered it.
    fn unanswered(&self, at: &EntryId) -> Option<&Arc<Entry>> {
        let is_setting = |entry: &Entry| matches!(entry.body, Body::Setting(_));
        let mut up = std::iter::successors(self.tree.entry(at), |entry| self.tree.parent(&entry.id));
        let prompt = up.find(|entry| !is_setting(entry)).filter(|entry| entry.body.is_prompt())?;
        let is_over = |turn: &TurnId| self.tree.turn_ended(turn) || self.turns.contains_key(turn);
        let is_answered = prompt.turn.as_ref().is_some_and(is_over)
            || self.tree.children(Some(&prompt.id)).iter().any(|below| !is_setting(below));
        (!is_answered && !self.tree.has_children(at)).then_some(prompt)
    }

    async fn say_with_settings_of(
        &mut self,
        at: &EntryId,
        prompt: &EntryId,
        client_id: Option<&str>,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        let Some(Body::Prompt(said)) = self.tree.entry(prompt).map(|entry| entry.body.clone()) else {
            return Err(nothing_to_do("there is no prompt to answer"));
        };
        if brought.pending().is_none() {
            let action = Action::Retry { at: prompt, place: Place::Here };
            self.may(action, AgentState::Reachable, IfRunning::Wait)?;
        }
        let chosen = self.changing(prompt, settings_of(&self.tree, Some(at)));
        let words = text_of(&said.blocks);
        let landing = Landing::version(&self.tree, prompt);
        let agent = self.agent_for(&chosen, landing.below(&self.tree)).map_err(refused)?;
        self.prepare_again(at, &landing, Words::alone(&words), client_id, &agent, brought)?;
        self.catch_up_with_agent(landing, &agent).await?;
        let ids = MessageIds::of(client_id, brought).for_agent(Some(&agent));
        let sent = match chosen.is_empty() {
            true => {
                let stamps = &mut ids.stamps(self.stamps.as_mut());
                plan_retry(&self.tree, &HeadName::main(), prompt, stamps).map_err(refused)?
            }
            false => self.plan_saying_otherwise(prompt, said, chosen, ids)?,
        };
        let sent = self.replacing(prompt, sent);
        self.say(sent, agent).await
    }

    /// Who was chosen; else the agent in force at a point.
    pub(super) fn agent_for(
        &self,
        chosen: &[Setting],
        at: Option<&EntryId>,
    ) -> Result<Arc<dyn Agent>, Refusal> {
        let named = chosen.iter().find_map(|setting| match setting {
            Setting::Agent(name) => Some(name),
            _ => None,
        });
        match named {
            Some(name) => self.shared.agents.get(name).cloned().ok_or(Refusal::NoAgent),
            None => self.agent_at(at),
        }
    }

    /// Without an agent the prompt is only written.
    async fn say_or_write(&mut self, sent: Sent, agent: Option<Arc<dyn Agent>>) -> Result<Response, Halt> {
        let Some(agent) = agent else {
            let before = self.head_now();
            let Sent { plan: Plan { operation, records }, prompt, .. } = sent;
            self.commit(records).await?;
            let changed = self.sent(before, Some(&prompt), None);
            let operation = OperationView::latest(&self.tree, &operation);
            return Ok(answered(Changed { operation, ..changed }));
        };
        self.say(sent, agent).await
    }

    /// Writes the prompt and begins its turn.
    pub(super) async fn say(&mut self, sent: Sent, agent: Arc<dyn Agent>) -> Result<Response, Halt> {
        let Sent { plan: Plan { operation, records }, prompt, turn } = sent;
        let (is_first, before) = (self.turns.is_empty(), self.head_now());
        if is_first {
            self.hold_the_book().await?;
        }
        if let Err(halt) = self.commit(records).await {
            if is_first {
                self.let_go_of_the_book().await;
            }
            return Err(halt);
        }
        let operation = OperationView::latest(&self.tree, &operation);
        self.begin_turn(turn.clone(), prompt.clone(), agent, Delivered::Never).await;
        self.queue_behind(&turn, &prompt).await;
        Ok(answered(Changed { operation, ..self.sent(before, Some(&prompt), Some(&turn)) }))
    }

    /// A prompt that was written, or waits.
    pub(super) fn sent(&self, before: HeadView, prompt: Option<&EntryId>, turn: Option<&TurnId>) -> Changed {
        Changed {
            changed: true,
            place: self.place(prompt),
            version: prompt.and_then(|prompt| VersionBrief::of(&self.tree, prompt)),
            prompt: prompt.map(ToString::to_string),
            entries: prompt.map(ToString::to_string).into_iter().collect(),
            turn: turn.map(ToString::to_string),
            ..self.changed(before, None)
        }
    }
}

/// A version that nobody is asked to answer yet begins no turn, so its turn does not have the id of the request.
pub(super) fn ids_of_version<'s>(
    stamps: &'s mut (dyn Stamps + Send),
    ids: MessageIds<'_>,
    only_write: bool,
) -> ChosenIds<'s> {
    let ids = ids.stamps(stamps);
    if only_write { ids.turn(None) } else { ids }
}

/// What was said with a prompt about who shall answer it.
pub(super) fn chosen(agent: Option<&String>, model: Option<&ModelView>) -> Vec<Setting> {
    let model = model.map(|model| Setting::Model { role: None, model: model.clone().into() });
    agent.cloned().map(Setting::Agent).into_iter().chain(model).collect()
}

/// The same words under other settings are no edit.
fn difference<'e>(old: &Prompt, at: &'e EntryId, edit: &request::Edit) -> Difference<'e> {
    let is_same = text_of(&old.blocks) == edit.text && edit.attachments.is_none() && edit.images.is_none();
    match edit.to {
        VersionTo::Version if is_same => Difference::Settings,
        VersionTo::Version | VersionTo::NewSession => Difference::Edit { of: at },
    }
}

/// The new words, with the files that were named for them or else those of the old ones.
fn edited(prompt: &Prompt, edit: &request::Edit) -> Prompt {
    if edit.attachments.is_none() && edit.images.is_none() {
        return prompt_with_new_text(prompt, &edit.text);
    }
    let attachments = edit.attachments.clone().unwrap_or_else(|| prompt.attachments.clone());
    let images = edit.images.clone().unwrap_or_default();
    let mut edited = PromptView { text: edit.text.clone(), attachments, images }.into_prompt();
    if edit.images.is_none() {
        let is_image = |block: &&Block| matches!(block, Block::Image { .. });
        edited.blocks.extend(prompt.blocks.iter().filter(is_image).cloned());
    }
    edited
}

pub(super) fn place_of(if_running: IfRunning) -> Place {
    match if_running {
        IfRunning::Beside => Place::Beside,
        IfRunning::Wait | IfRunning::AbortFirst => Place::Here,
    }
}

/// What guards look at: who sends only a file says something too.
pub(super) fn telling(prompt: &PromptView) -> &str {
    match (prompt.attachments.first(), prompt.images.is_empty()) {
        (Some(attachment), _) if prompt.text.trim().is_empty() => attachment,
        (None, false) if prompt.text.trim().is_empty() => "image",
        _ => &prompt.text,
    }
}

pub(super) fn no_checkpoints() -> ApiError {
    ApiError::new(ErrorCode::NoCheckpoint, "no checkpoints of files are kept")
}
