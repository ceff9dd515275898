//! What is being said: events in their order, and an ear for whoever interrupts.

use std::collections::VecDeque;

use offshoot_session::agent::{
    AgentEvent, AgentEventKind, AgentInput, AgentTurn, AgentTurnEnd, DeltaField, FromAgent, Speaker,
};
use offshoot_session::asks::{Answer, Asking};
use offshoot_session::{
    Block, Body, MessageKey, Model, Reply, Stop, ToolCallId, ToolResult, ToolUse, TurnId, Usage,
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::Pace;
use crate::meanwhile::{Meanwhile, meanwhile};

/// Why nothing more is said.
pub(super) enum Stopped {
    /// Somebody has interrupted.
    Interrupted,
    /// Nobody listens any more.
    Alone,
}

pub(super) struct Speech<'c> {
    pub(super) turn: TurnId,
    pub(super) inputs: &'c mut mpsc::Receiver<AgentInput>,
    pub(super) events: &'c mpsc::Sender<FromAgent>,
    pub(super) pace: &'c Pace,
    /// What came in the middle of a turn and belongs behind it.
    pub(super) later: &'c mut VecDeque<AgentInput>,
    /// Questions of the connection so far.
    asks: &'c mut usize,
    /// Tokens that the model would have read.
    pub(super) read_tokens: i64,
    /// Characters of the answer, which belong to what the next turn reads.
    pub(super) answered: usize,
    speaker: Speaker,
    blocks: Vec<Block>,
    messages: usize,
    calls: usize,
}

impl<'c> Speech<'c> {
    pub(super) fn new(
        turn: TurnId,
        inputs: &'c mut mpsc::Receiver<AgentInput>,
        events: &'c mpsc::Sender<FromAgent>,
        pace: &'c Pace,
        later: &'c mut VecDeque<AgentInput>,
        asks: &'c mut usize,
        read_tokens: i64,
    ) -> Self {
        let speaker = Speaker::Agent;
        let blocks = Vec::new();
        let (answered, messages, calls) = (0, 0, 0);
        Self {
            turn,
            inputs,
            events,
            pace,
            later,
            asks,
            read_tokens,
            answered,
            speaker,
            blocks,
            messages,
            calls,
        }
    }

    pub(super) async fn tell(&mut self, kind: AgentEventKind) -> Result<(), Stopped> {
        let turn = AgentTurn::Prompted(self.turn.clone());
        let event = AgentEvent { turn, speaker: self.speaker.clone(), kind };
        self.events.send(FromAgent::Turn(event)).await.map_err(|_| Stopped::Alone)
    }

    pub(super) async fn say(&mut self, text: &str) -> Result<(), Stopped> {
        for piece in pieces(text) {
            self.pause().await?;
            self.grow(DeltaField::Text, piece).await?;
            if self.speaker == Speaker::Agent {
                self.answered += piece.chars().count();
            }
        }
        self.blocks.push(Block::Text(text.to_owned()));
        Ok(())
    }

    pub(super) async fn think(&mut self, text: &str) -> Result<(), Stopped> {
        for piece in pieces(text) {
            self.pause().await?;
            self.grow(DeltaField::Thinking, piece).await?;
        }
        self.blocks.push(Block::Thinking(text.to_owned()));
        Ok(())
    }

    async fn grow(&mut self, field: DeltaField, text: &str) -> Result<(), Stopped> {
        let part = u32::try_from(self.blocks.len()).unwrap_or(u32::MAX);
        self.tell(AgentEventKind::Delta { message: self.message(), part, field, text: text.to_owned() }).await
    }

    /// A call ends the message it stands in.
    pub(super) async fn call(&mut self, name: &str, input: Value) -> Result<ToolCallId, Stopped> {
        self.pause().await?;
        self.calls += 1;
        let id = ToolCallId::from(format!("{}-call{}", self.turn, self.calls));
        let tool_use = ToolUse { id: id.clone(), name: name.to_owned(), input };
        self.blocks.push(Block::ToolUse(tool_use));
        self.end_message(Stop::ToolUse).await?;
        Ok(id)
    }

    pub(super) async fn result(
        &mut self,
        call: ToolCallId,
        tool: &str,
        outcome: &Result<String, String>,
    ) -> Result<(), Stopped> {
        let (text, failed) = match outcome {
            Ok(text) => (text, false),
            Err(text) => (text, true),
        };
        let blocks = vec![Block::Text(text.clone())];
        let result =
            ToolResult { call, tool: tool.to_owned(), blocks, failed, usage: None, changed_input: None };
        self.tell(AgentEventKind::Entry { id: None, message: None, body: Body::ToolResult(result) }).await
    }

    /// The message is whole; nothing where nothing was said.
    pub(super) async fn end_message(&mut self, stop: Stop) -> Result<(), Stopped> {
        if self.blocks.is_empty() {
            return Ok(());
        }
        let blocks = std::mem::take(&mut self.blocks);
        let written: usize = blocks.iter().map(characters).sum();
        let output = i64::try_from(written / 4).unwrap_or(i64::MAX);
        let usage = Usage { input: self.read_tokens, output, ..Usage::default() };
        let message = self.message();
        self.messages += 1;
        let (model, usage, stop) = (Some(model()), Some(usage), Some(stop));
        let reply = Reply { blocks, model, usage, stop, ..Reply::default() };
        self.tell(AgentEventKind::entry(message, Body::Reply(reply))).await
    }

    /// What a second agent says belongs to the call that started it.
    pub(super) async fn as_sub_agent(&mut self, call: &ToolCallId, says: &str) -> Result<(), Stopped> {
        self.speaker = Speaker::SubAgent(call.clone());
        let said = self.say(says).await;
        let ended = if said.is_ok() { self.end_sub_agent().await } else { said };
        self.speaker = Speaker::Agent;
        ended
    }

    async fn end_sub_agent(&mut self) -> Result<(), Stopped> {
        self.end_message(Stop::EndTurn).await?;
        self.tell(AgentEventKind::Ended(AgentTurnEnd::Done)).await
    }

    /// Waits for the answer, and confirms it.
    pub(super) async fn ask(&mut self, ask: Asking) -> Result<Answer, Stopped> {
        *self.asks += 1;
        let request = format!("ask{}", self.asks);
        self.tell(AgentEventKind::Ask { request: request.clone(), ask }).await?;
        loop {
            match self.inputs.recv().await {
                None => return Err(Stopped::Alone),
                Some(AgentInput::Answer { turn, request: answered, answer })
                    if turn == self.turn && answered == request =>
                {
                    self.tell(AgentEventKind::AskConfirmed { request: request.clone() }).await?;
                    return Ok(answer);
                }
                Some(input) => self.take(input).await?,
            }
        }
    }

    /// Runs something that takes time, unless somebody interrupts.
    pub(super) async fn unless_interrupted<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> Result<T, Stopped> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => return Ok(done),
                input = self.inputs.recv() => match input {
                    None => return Err(Stopped::Alone),
                    Some(input) => self.take(input).await?,
                },
            }
        }
    }

    /// The silence between two words, in which it listens.
    async fn pause(&mut self) -> Result<(), Stopped> {
        while let Ok(input) = self.inputs.try_recv() {
            self.take(input).await?;
        }
        let pace = self.pace.clone();
        self.unless_interrupted(async move {
            match pace {
                Pace::AtOnce => {}
                Pace::Every(silence) => tokio::time::sleep(silence).await,
                // A gate that is closed for good lets everything pass.
                Pace::Gated(gate) => {
                    if let Ok(permit) = gate.acquire().await {
                        permit.forget();
                    }
                }
            }
        })
        .await
    }

    /// What comes in the middle of a turn.
    async fn take(&mut self, input: AgentInput) -> Result<(), Stopped> {
        match meanwhile(&self.turn, input) {
            Meanwhile::Interrupted => return Err(Stopped::Interrupted),
            Meanwhile::Nothing => {}
            Meanwhile::Confirm(event) => self.events.send(event).await.map_err(|_| Stopped::Alone)?,
            Meanwhile::Later(input) => self.later.push_back(input),
        }
        Ok(())
    }

    /// Unique in the session, because the turn is.
    fn message(&self) -> MessageKey {
        format!("{}-message{}", self.turn, self.messages + 1).into()
    }
}

pub(super) fn model() -> Model {
    Model { provider: "offshoot".to_owned(), name: "built-in".to_owned() }
}

/// Words with the space behind them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive([' ', '\n'])
}

fn characters(block: &Block) -> usize {
    match block {
        Block::Text(text) | Block::Thinking(text) => text.chars().count(),
        Block::ToolUse(call) => call.input.to_string().chars().count(),
        Block::Image { .. } | Block::Other { .. } => 0,
    }
}
