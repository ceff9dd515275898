//! A conversation that has become too long for the model: a summary takes the place of its beginning.

use std::sync::Arc;

use offshoot_session::agent::{AgentEventKind, AgentFailure};
use offshoot_session::compaction::{
    CompactionPreparation, CompactionSettings, compacted, prepare_compaction,
};
use offshoot_session::context::{ContextOptions, context_of_path};
use offshoot_session::render::prompts::{COMPACTION, SUMMARIZER, TURN_PREFIX, UPDATE, summary_request};
use offshoot_session::render::serialize_for_summary;
use offshoot_session::tokens::{context_tokens_of_path, context_window, estimate_text};
use offshoot_session::{Body, Compaction, Entry, EntryId, text_of};

use super::{Stopped, Turn, add, full};
use crate::llm::answer::Answer;
use crate::llm::conversation::{Conversation, Message, UserPart};
use crate::llm::wire::ModelRequest;

/// About so much stays word for word where the window is large, in tokens.
const KEPT: i64 = 20_000;

/// Where the window is small, this part of it.
const KEPT_PART: i64 = 4;

/// From here on the window counts as full, in percent.
const FULL: i64 = 95;

/// Where the window is not known.
const USUAL_WINDOW: i64 = 128_000;

impl Turn<'_> {
    /// Whether the next request may not fit. Where the window is not known, the server says when it is full.
    pub(super) fn is_nearly_full(&self) -> bool {
        let Some(window) = context_window(&self.place.model) else { return false };
        let path: Vec<&Arc<Entry>> = self.path.iter().collect();
        let counted = context_tokens_of_path(&path);
        // What a server has counted includes its instructions.
        let own = if counted.usage_tokens > 0 { 0 } else { estimate_text(&self.place.system) };
        counted.tokens.saturating_add(own).saturating_mul(100) >= window.saturating_mul(FULL)
    }

    /// Writes a summary of the beginning and goes on with it. `Err(None)`: there is nothing to summarise.
    pub(super) async fn compact(&mut self) -> Result<Result<(), Option<AgentFailure>>, Stopped> {
        let window = context_window(&self.place.model).unwrap_or(USUAL_WINDOW);
        // Where a single message is longer than what is kept, only the prompt is.
        let kept = [KEPT.min(window / KEPT_PART), 1];
        let prepared = kept.into_iter().find_map(|tokens| self.prepare(tokens));
        let Some((preparation, is_in_tree)) = prepared else { return Ok(Err(None)) };
        self.report(AgentEventKind::Compacting).await?;
        let previous = preparation.previous_summary.as_deref();
        let task = if previous.is_some() { UPDATE } else { COMPACTION };
        let history = serialize_for_summary(&preparation.messages_to_summarize);
        let summary = match self.summary(summary_request(&history, previous, task, None)).await? {
            Ok(summary) => summary,
            Err(failure) => return Ok(Err(Some(failure))),
        };
        let mut prefix = None;
        if preparation.is_split_turn && !preparation.turn_prefix.is_empty() {
            let begun = serialize_for_summary(&preparation.turn_prefix);
            match self.summary(summary_request(&begun, None, TURN_PREFIX, None)).await? {
                Ok(summary) => prefix = Some(summary),
                Err(failure) => return Ok(Err(Some(failure))),
            }
        }
        let mut compaction = compacted(&preparation, &summary, prefix.as_deref());
        compaction.first_kept = compaction.first_kept.filter(|_| is_in_tree);
        let Compaction { summary, tokens_before, first_kept, .. } = compaction.clone();
        self.remember(Body::Compaction(compaction));
        self.report(AgentEventKind::Compacted { summary, tokens_before, first_kept }).await?;
        Ok(Ok(()))
    }

    /// `None`: there is nothing to summarise. The flag says whether what is kept has a name in the tree.
    fn prepare(&self, keep_recent_tokens: i64) -> Option<(CompactionPreparation, bool)> {
        let settings = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
        let path: Vec<&Arc<Entry>> = self.path.iter().collect();
        let mut preparation = prepare_compaction(&path, &settings)?;
        let is_in_tree = self.is_in_tree(&preparation.first_kept);
        if !is_in_tree {
            summarise_everything(&mut preparation, &path);
        }
        let has_work = !preparation.messages_to_summarize.is_empty() || !preparation.turn_prefix.is_empty();
        has_work.then_some((preparation, is_in_tree))
    }

    /// Entries of this turn have other ids in the tree than here.
    fn is_in_tree(&self, id: &EntryId) -> bool {
        let prompt = self.path.iter().position(|entry| entry.id == self.prompt);
        let at = self.path.iter().position(|entry| entry.id == *id);
        at.is_some_and(|at| prompt.is_some_and(|prompt| at <= prompt))
    }

    async fn summary(&mut self, request: String) -> Result<Result<String, AgentFailure>, Stopped> {
        let messages = vec![Message::User(vec![UserPart::Text(request)])];
        let conversation = Conversation { system: SUMMARIZER.to_owned(), messages };
        let model = &self.place.model;
        let request =
            ModelRequest { model: &model.name, conversation: &conversation, tools: &[], thinking: None };
        for attempt in 1.. {
            let mut answer = Answer::default();
            let asked = self.place.asking.stream(&request, &mut answer, None);
            let asked = self.listener.unless_interrupted(&self.reporter, asked).await?;
            add(&mut self.spent, answer.usage());
            let Err(trouble) = asked else {
                let summary = text_of(&answer.reply(model, |_| String::new().into()).blocks);
                let is_empty = summary.trim().is_empty();
                return Ok(if is_empty { Err(full(model, "no summary was written")) } else { Ok(summary) });
            };
            if let Err(failure) = self.wait_to_retry(attempt, trouble).await? {
                return Ok(Err(failure));
            }
        }
        Ok(Err(full(model, "no summary was written")))
    }
}

/// The end of the turn cannot be kept word for word: it has no name in the tree yet.
fn summarise_everything(preparation: &mut CompactionPreparation, path: &[&Arc<Entry>]) {
    let mut messages = context_of_path(path, &ContextOptions::default()).messages;
    messages.retain(|message| !matches!(message.entry.body, Body::Compaction(_)));
    preparation.messages_to_summarize = messages;
    preparation.turn_prefix.clear();
    preparation.is_split_turn = false;
}
