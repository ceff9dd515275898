//! Making a long branch short.

use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::request::{self, IfRunning};
use offshoot_api::views::{ContextView, EntryView, PromptView};
use offshoot_api::{Request, Response};
use offshoot_session::compaction::{
    CompactionPreparation, CompactionSettings, compacted, prepare_compaction, should_compact,
};
use offshoot_session::guard::{Action, AgentState};
use offshoot_session::handoff::{HandoffAgent, has_own_session};
use offshoot_session::plan::Plan;
use offshoot_session::render::prompts::{COMPACTION, TURN_PREFIX, UPDATE, summary_request};
use offshoot_session::render::serialize_for_summary;
use offshoot_session::tokens::context_window;
use offshoot_session::{Body, Compaction, Entry, HeadMove, HeadName, Model, Record};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::agents::model_of;
use super::changed::{answered, chosen_ids};
use super::halt::{Halt, nothing_to_do, refused};
use super::turns::Ended;
use super::{Brought, Call, Message, SessionActor};
use crate::hooks::HookEvent;
use crate::view::settings_of;

impl SessionActor {
    pub(super) async fn compact(
        &mut self,
        compact: &request::Compact,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        self.may(Action::Change, AgentState::Reachable, compact.if_running)?;
        let path = self.tree.path_to(self.tree.main_head());
        let preparation = prepare_compaction(&path, &self.settings.compaction);
        if let Some(prompt) = self.compaction_by_agent(compact.instructions.as_deref()) {
            if brought.is_by_itself() {
                return Err(nothing_to_do("the agent makes its context shorter by itself"));
            }
            // A hook may still supply the summary.
            let supplied = match &preparation {
                Some(preparation) => {
                    self.ask_hooks(HookEvent::SessionBeforeCompact, brought, || {
                        told(preparation, compact.instructions.as_deref())
                    })?;
                    self.summary_by_hook(brought, true)?
                }
                None => None,
            };
            if supplied.is_none() {
                return self.send(said_to_agent(compact, prompt), brought).await;
            }
        }
        let preparation = preparation.ok_or_else(|| nothing_to_do("there is nothing to make shorter"))?;
        if preparation.messages_to_summarize.is_empty() && preparation.turn_prefix.is_empty() {
            return Err(nothing_to_do(&too_short(&preparation, &self.settings.compaction)));
        }
        self.ask_hooks(HookEvent::SessionBeforeCompact, brought, || {
            told(&preparation, compact.instructions.as_deref())
        })?;
        let compaction = match self.summary_by_hook(brought, true)? {
            Some(supplied) => Compaction {
                details: supplied.details,
                from_extension: true,
                ..compacted(&preparation, &supplied.summary, None)
            },
            None => {
                self.writer().map_err(refused)?;
                let requests = requests(&preparation, compact.instructions.as_deref());
                let texts = self.written(brought, requests);
                if let Err(Halt::Errand(_)) = &texts {
                    let payload = || told(&preparation, compact.instructions.as_deref());
                    self.tell_hooks(HookEvent::SessionCompacting, payload);
                }
                let texts = texts?;
                let summary = texts.first().map(String::as_str).unwrap_or_default();
                compacted(&preparation, summary, texts.get(1).map(String::as_str))
            }
        };
        self.write_compaction(compaction, compact.client_id.as_deref()).await
    }

    /// What the agent at the head is asked instead, where it answers in a session of its own and makes that shorter itself:
    /// a summary of ours would be news to it, and cost it the session.
    fn compaction_by_agent(&self, instructions: Option<&str>) -> Option<String> {
        let head = self.tree.main_head();
        let agent = self.agent_at(head).ok()?;
        let prompt = agent.compaction_prompt(instructions)?;
        let abilities = agent.abilities(model_of(&settings_of(&self.tree, head)));
        let at_hand =
            HandoffAgent { name: agent.name(), abilities: &abilities, live: None, new_session: None };
        has_own_session(&self.tree, head, &at_hand).then_some(prompt)
    }

    async fn write_compaction(
        &mut self,
        compaction: Compaction,
        client_id: Option<&str>,
    ) -> Result<Response, Halt> {
        let from_extension = compaction.from_extension;
        let (id, from) = (self.stamps.entry_id(), self.tree.main_head().cloned());
        let mut plan = Plan::named("compact", &mut chosen_ids(self.stamps.as_mut(), client_id));
        let (parent, written_at, body) = (from.clone(), self.stamps.now(), Body::Compaction(compaction));
        let entry = Entry { id: id.clone(), parent, written_at, turn: None, body };
        let view = EntryView::from(&entry);
        plan.push(Record::entry(entry));
        let (moved_at, to) = (self.stamps.now(), Some(id));
        plan.push(Record::head_moved(HeadMove { head: HeadName::main(), moved_at, from, to }));
        let changed = self.take(Some(plan)).await?;
        self.tell_hooks(
            HookEvent::SessionCompact,
            || json!({ "compactionEntry": view, "fromExtension": from_extension }),
        );
        Ok(answered(changed))
    }

    /// After a turn: where the window of whoever answered is nearly full, its branch is made shorter by itself. The head
    /// has to stand there: another branch is not touched.
    pub(super) fn compact_if_full(&mut self, ended: &Ended) {
        let how_full = ended.context.and_then(|context| self.how_full(context));
        if !self.settings.compaction.enabled || how_full.is_none() {
            return;
        }
        let (session, instructions, if_running) = (self.id.to_string(), None, IfRunning::Wait);
        let request =
            Request::Compact(request::Compact { session, instructions, if_running, client_id: None });
        let (reply, _) = oneshot::channel();
        let (brought, context) = (Brought::by_itself(), self.context.clone());
        let call = Call { request, reply, brought, context };
        self.afterwards.push_back(Message::Call(call));
    }

    /// Where nobody makes it shorter by itself, whoever talks is told before the turn is over.
    pub(super) fn tell_if_full(&mut self, ended: &Ended) {
        if self.settings.compaction.enabled {
            return;
        }
        if let Some(percent) = ended.context.and_then(|context| self.how_full(context)) {
            let text = format!("context is full ({percent} %): compact now, or fork from an earlier turn");
            self.publish(Some(&ended.turn), EventKind::Notice { text });
        }
    }

    /// In percent, where the window is nearly full.
    fn how_full(&self, context: ContextView) -> Option<i64> {
        let ContextView { tokens, window } = context;
        let window = window?;
        let settings = CompactionSettings { enabled: true, ..self.settings.compaction };
        should_compact(tokens, window, &settings).then(|| tokens.saturating_mul(100) / window.max(1))
    }

    /// What was set, else what the agent says, else what is known of the model.
    pub(super) fn window(&self, agent: Option<&str>, model: Option<&Model>) -> Option<i64> {
        let settings = &self.settings;
        let of_connection = || self.window_of_connection(agent?, model?);
        let agents = &self.shared.agents;
        let of_agent = || {
            agent.and_then(|agent| agents.get(agent)).and_then(|agent| agent.abilities(model).context_window)
        };
        settings
            .context_window
            .or_else(of_connection)
            .or_else(of_agent)
            .or_else(|| model.and_then(context_window))
    }

    /// What an agent that is connected says of this model. It may call it otherwise than the reply: `name[1m]`.
    fn window_of_connection(&self, agent: &str, model: &Model) -> Option<i64> {
        let is_it = |known: &Model| {
            known.name == model.name
                || known.name.strip_prefix(&model.name).is_some_and(|rest| rest.starts_with('['))
        };
        let connections = self.connections.values().filter(|connection| connection.agent == agent);
        let mut infos = connections.map(|connection| &connection.info);
        infos.find(|info| info.model.as_ref().is_some_and(is_it))?.context_window
    }
}

fn said_to_agent(compact: &request::Compact, prompt: String) -> request::Send {
    request::Send {
        session: compact.session.clone(),
        prompt: PromptView { text: prompt, ..PromptView::default() },
        if_running: compact.if_running,
        client_id: compact.client_id.clone(),
        ..request::Send::default()
    }
}

fn too_short(preparation: &CompactionPreparation, settings: &CompactionSettings) -> String {
    let (tokens, kept) = (preparation.tokens_before, settings.keep_recent_tokens);
    format!(
        "there is too little to make shorter: about {tokens} tokens, and the last {kept} stay word for word"
    )
}

/// One request for what is forgotten, and one for the beginning of a turn whose end is kept.
fn requests(preparation: &CompactionPreparation, instructions: Option<&str>) -> Vec<String> {
    let previous = preparation.previous_summary.as_deref();
    let task = if previous.is_some() { UPDATE } else { COMPACTION };
    let history = serialize_for_summary(&preparation.messages_to_summarize);
    let mut requests = vec![summary_request(&history, previous, task, instructions)];
    if preparation.is_split_turn && !preparation.turn_prefix.is_empty() {
        let prefix = serialize_for_summary(&preparation.turn_prefix);
        requests.push(summary_request(&prefix, None, TURN_PREFIX, None));
    }
    requests
}

fn told(preparation: &CompactionPreparation, instructions: Option<&str>) -> Value {
    let entries: Vec<EntryView> = preparation
        .messages_to_summarize
        .iter()
        .chain(&preparation.turn_prefix)
        .map(|message| EntryView::from(Arc::as_ref(&message.entry)))
        .collect();
    json!({
        "preparation": {
            "firstKeptEntryId": preparation.first_kept.as_str(),
            "tokensBefore": preparation.tokens_before,
            "isSplitTurn": preparation.is_split_turn,
            "previousSummary": preparation.previous_summary,
            "entriesToSummarize": entries,
        },
        "customInstructions": instructions,
    })
}
