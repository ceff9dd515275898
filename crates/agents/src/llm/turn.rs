//! A turn: requests and tools until the model has answered.

mod calls;
mod compacting;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use offshoot_session::agent::{
    AgentEventKind, AgentFailure, AgentTurnEnd, Environment, FailureKind, ModelUsage,
};
use offshoot_session::{
    Body, Entry, EntryId, MessageKey, Model, Prompt, Reply, Stop, ToolCallId, ToolUse, Usage,
};

use super::answer::{Answer, Kept};
use super::channel::{Listener, Reporter, Stopped};
use super::conversation::{Conversation, messages_of};
use super::failure::Trouble;
use super::limits::Limits;
use super::request::Asking;
use super::retry::wait_after;
use super::tools::{ToolDefinition, Workspace};
use super::wire::ModelRequest;

/// A turn that asks more often than this goes round in circles.
const MOST_REQUESTS: usize = 100;

/// What stays the same in all turns of a connection.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) model: Model,
    pub(crate) asking: Asking,
    pub(crate) system: String,
    /// `None`: there is no folder, and so there are no tools.
    pub(crate) workspace: Option<Workspace>,
    /// For tools: without keys.
    pub(crate) environment: Environment,
}

pub(crate) struct Turn<'c> {
    place: &'c Place,
    limits: &'c Limits,
    reporter: Reporter,
    listener: Listener<'c>,
    tools: Vec<ToolDefinition>,
    /// What the model reads, root first. Entries of this turn have names of our own, which nothing else knows.
    path: &'c mut Vec<Arc<Entry>>,
    /// The prompt of this turn: everything up to here is in the tree.
    prompt: EntryId,
    messages: usize,
    calls: usize,
    entries: usize,
    /// The answer that is being streamed.
    growing: Option<(MessageKey, Answer)>,
    /// Calls of the last answer that have no result yet.
    open_calls: Vec<ToolUse>,
    spent: Usage,
}

/// How a turn ends that was not interrupted.
type Outcome = Result<AgentTurnEnd, AgentFailure>;

impl<'c> Turn<'c> {
    pub(crate) fn new(
        place: &'c Place,
        limits: &'c Limits,
        reporter: Reporter,
        listener: Listener<'c>,
        path: &'c mut Vec<Arc<Entry>>,
        prompt: (EntryId, Prompt),
    ) -> Self {
        let tools = if place.workspace.is_some() { limits.tools() } else { Vec::new() };
        let (id, prompt) = prompt;
        let parent = path.last().map(|entry| entry.id.clone());
        let (written_at, turn, body) = (Timestamp::UNIX_EPOCH, None, Body::Prompt(prompt));
        path.push(Arc::new(Entry { id: id.clone(), parent, written_at, turn, body }));
        Self {
            place,
            limits,
            reporter,
            listener,
            tools,
            path,
            prompt: id,
            messages: 0,
            calls: 0,
            entries: 0,
            growing: None,
            open_calls: Vec::new(),
            spent: Usage::default(),
        }
    }

    /// Answers the prompt, and reports how it ended.
    pub(crate) async fn run(mut self) -> Result<(), Stopped> {
        self.report(AgentEventKind::STARTED).await?;
        let outcome = match self.rounds().await {
            Ok(outcome) => outcome,
            Err(Stopped::Interrupted) => {
                self.close_what_is_open().await?;
                Ok(AgentTurnEnd::Interrupted)
            }
            Err(Stopped::Closed) => return Err(Stopped::Closed),
        };
        if self.spent != Usage::default() {
            let usage = ModelUsage { model: Some(self.place.model.clone()), usage: self.spent };
            self.report(AgentEventKind::Spent(vec![usage])).await?;
        }
        self.report(match outcome {
            Ok(end) => AgentEventKind::Ended(end),
            Err(failure) => AgentEventKind::Failed(failure),
        })
        .await
    }

    async fn rounds(&mut self) -> Result<Outcome, Stopped> {
        for round in 0..MOST_REQUESTS {
            let reply = match self.reply().await? {
                Ok(reply) => reply,
                Err(failure) => return Ok(Err(failure)),
            };
            let calls: Vec<ToolUse> = reply.tool_uses().cloned().collect();
            let (stop, is_empty) = (reply.stop.clone(), !reply.shows_something());
            if let Some(reason) = stop.as_ref().and_then(declined) {
                return self.declined(reply, &calls, reason).await;
            }
            if is_empty && round == 0 {
                let failure = self.place.asking.about(&self.place.model.name).empty();
                return Ok(Err(failure));
            }
            self.write_reply(reply).await?;
            if calls.is_empty() {
                let is_cut = stop == Some(Stop::Length);
                return Ok(Ok(if is_cut { AgentTurnEnd::Limit } else { AgentTurnEnd::Done }));
            }
            self.open_calls = calls;
            self.make_calls().await?;
        }
        Ok(Ok(AgentTurnEnd::Limit))
    }

    /// What was said before the model declined stays, and no call of it is made.
    async fn declined(&mut self, reply: Reply, calls: &[ToolUse], reason: &str) -> Result<Outcome, Stopped> {
        if reply.shows_something() {
            self.write_reply(reply).await?;
        }
        for call in calls {
            self.write_result(call, calls::not_made()).await?;
        }
        Ok(Err(self.place.asking.about(&self.place.model.name).declined(reason)))
    }

    /// One complete answer, however often it has to be asked for.
    async fn reply(&mut self) -> Result<Result<Reply, AgentFailure>, Stopped> {
        let (mut attempt, mut has_compacted) = (0, false);
        loop {
            if !has_compacted && self.is_nearly_full() {
                has_compacted = true;
                // Where it cannot be made shorter, the server decides whether it is too long.
                let _ = self.compact().await?;
            }
            attempt += 1;
            let trouble = match self.stream().await? {
                Ok(()) => {
                    let answer = self.growing.take().map(|(_, answer)| answer).unwrap_or_default();
                    return Ok(Ok(self.completed(answer)));
                }
                Err(trouble) => trouble,
            };
            if trouble.is_context_full() && !has_compacted {
                has_compacted = true;
                self.drop_growing(&trouble).await?;
                if let Err(failure) = self.compact().await? {
                    return Ok(Err(failure.unwrap_or(trouble.failure)));
                }
                attempt = 0;
                continue;
            }
            if self.wait_before_retry(attempt, &trouble).is_none() {
                self.count_growing();
                return Ok(Err(trouble.failure));
            }
            self.drop_growing(&trouble).await?;
            if let Err(failure) = self.wait_to_retry(attempt, trouble).await? {
                return Ok(Err(failure));
            }
        }
    }

    fn wait_before_retry(&self, attempt: u32, trouble: &Trouble) -> Option<Duration> {
        let may_retry = trouble.may_pass && attempt < self.place.asking.server.attempts;
        may_retry.then(|| wait_after(attempt, trouble.retry_after, chance())).flatten()
    }

    /// Waits until the request can be sent again; an error if it is not to be.
    async fn wait_to_retry(
        &mut self,
        attempt: u32,
        trouble: Trouble,
    ) -> Result<Result<(), AgentFailure>, Stopped> {
        let Some(wait) = self.wait_before_retry(attempt, &trouble) else { return Ok(Err(trouble.failure)) };
        let (of, cause) = (self.place.asking.server.attempts, trouble.failure);
        self.report(AgentEventKind::Retrying { attempt, of, wait, cause }).await?;
        self.listener.unless_interrupted(&self.reporter, tokio::time::sleep(wait)).await?;
        Ok(Ok(()))
    }

    async fn stream(&mut self) -> Result<Result<(), Trouble>, Stopped> {
        self.messages += 1;
        // Unique in the session, because the turn is.
        let message = MessageKey::from(format!("{}-message{}", self.reporter.turn, self.messages));
        let path: Vec<&Arc<Entry>> = self.path.iter().collect();
        let messages = messages_of(&path, &self.place.model);
        let conversation = Conversation { system: self.place.system.clone(), messages };
        let request = ModelRequest {
            model: &self.place.model.name,
            conversation: &conversation,
            tools: &self.tools,
            thinking: self.limits.thinking.as_deref(),
        };
        let (key, answer) = self.growing.insert((message, Answer::default()));
        let asked = self.place.asking.stream(&request, answer, Some((&self.reporter, key)));
        self.listener.unless_interrupted(&self.reporter, asked).await
    }

    fn completed(&mut self, answer: Answer) -> Reply {
        add(&mut self.spent, answer.usage());
        let (turn, before) = (&self.reporter.turn, self.calls);
        let mut reply = answer.reply(&self.place.model, |number| {
            ToolCallId::from(format!("{turn}-call{}", before + number + 1))
        });
        self.place.asking.secrets.clean(&mut reply);
        self.calls += reply.tool_uses().count();
        reply
    }

    /// The answer is asked for again. Blocks of which nothing more would have come stay; what was begun is void.
    async fn drop_growing(&mut self, trouble: &Trouble) -> Result<(), Stopped> {
        let Some((message, answer)) = self.growing.take() else { return Ok(()) };
        add(&mut self.spent, answer.usage());
        if !answer.is_shown() {
            return Ok(());
        }
        let stop = Some(Stop::Error(trouble.failure.text.clone()));
        let kept = answer.partial(Kept::Finished, &self.place.model, stop);
        if kept.blocks.is_empty() {
            return self.report(AgentEventKind::Discarded { message }).await;
        }
        self.report(AgentEventKind::entry(message, Body::Reply(kept))).await
    }

    /// The turn fails: everything that was shown stays, and the turn says why it ended.
    fn count_growing(&mut self) {
        if let Some((_, answer)) = self.growing.take() {
            add(&mut self.spent, answer.usage());
        }
    }

    async fn write_reply(&mut self, reply: Reply) -> Result<(), Stopped> {
        let message = MessageKey::from(format!("{}-message{}", self.reporter.turn, self.messages));
        let body = Body::Reply(reply);
        self.remember(body.clone());
        self.report(AgentEventKind::entry(message, body)).await
    }

    /// The person has interrupted: what was shown is kept, and every call gets a result.
    async fn close_what_is_open(&mut self) -> Result<(), Stopped> {
        if let Some((message, answer)) = self.growing.take() {
            add(&mut self.spent, answer.usage());
            if answer.is_shown() {
                let reply = answer.partial(Kept::Shown, &self.place.model, None);
                self.report(AgentEventKind::entry(message, Body::Reply(reply))).await?;
            }
        }
        for call in std::mem::take(&mut self.open_calls) {
            self.write_result(&call, calls::interrupted()).await?;
        }
        Ok(())
    }

    /// The model reads it with the next request.
    fn remember(&mut self, body: Body) {
        self.entries += 1;
        let id = EntryId::from(format!("{}-entry{}", self.reporter.turn, self.entries));
        let parent = self.path.last().map(|entry| entry.id.clone());
        let (written_at, turn) = (Timestamp::UNIX_EPOCH, None);
        self.path.push(Arc::new(Entry { id, parent, written_at, turn, body }));
    }

    async fn report(&self, kind: AgentEventKind) -> Result<(), Stopped> {
        self.reporter.report(kind).await
    }
}

/// How providers say that an answer was refused or filtered.
fn declined(stop: &Stop) -> Option<&'static str> {
    match stop {
        Stop::Other(reason) => ["refusal", "content_filter"].into_iter().find(|known| known == reason),
        Stop::EndTurn | Stop::ToolUse | Stop::Length | Stop::Aborted | Stop::Error(_) => None,
    }
}

fn add(sum: &mut Usage, more: Usage) {
    sum.input += more.input;
    sum.output += more.output;
    sum.cache_read += more.cache_read;
    sum.cache_write += more.cache_write;
}

/// Without chance all clients come back in the same moment, which is no reason to fail.
fn chance() -> u8 {
    let mut byte = [128];
    let _ = getrandom::fill(&mut byte);
    let [byte] = byte;
    byte
}

/// Nothing more can be said in this conversation.
pub(crate) fn full(model: &Model, why: &str) -> AgentFailure {
    let text = format!("the conversation is too long for `{}/{}`: {why}", model.provider, model.name);
    AgentFailure::new(FailureKind::ContextFull, text)
}
