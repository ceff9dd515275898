//! Texts that an agent writes for us, beside the connection.
//!
//! Any agent can do it: it is reached without a path, asked once, and let go. What it would ask is denied.
//!
//! Limitation: an agent that keeps sessions of its own keeps one for each summary.

use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::{Agent, AgentConnection};
use offshoot_api::{ApiError, ErrorCode};
use offshoot_session::agent::{
    AgentEventKind, AgentInput, AgentStart, AgentTurnEnd, ConnectionEvent, DeltaField, Environment,
    FromAgent, Host, Lease, ModelUsage, Speaker,
};
use offshoot_session::asks::Answer;
use offshoot_session::handoff::Handoff;
use offshoot_session::render::prompts::SUMMARIZER;
use offshoot_session::{Block, Body, Prompt, SessionId, Setting, TurnId, text_of};

use crate::failure::not_reached;

/// How long an agent may take to end by itself.
const END_WAIT: Duration = Duration::from_secs(2);

/// The turn, and its prompt.
const SUMMARY: &str = "summary";

/// Who writes, and under which settings.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) session: SessionId,
    pub(crate) settings: Vec<Setting>,
    pub(crate) environment: Environment,
    pub(crate) host: Host,
    pub(crate) is_watched: bool,
    pub(crate) wait: Duration,
}

/// What was written, and what that used.
#[derive(Debug, Default)]
pub(crate) struct Texts {
    pub(crate) texts: Vec<String>,
    pub(crate) spent: Vec<ModelUsage>,
}

/// A session waits for it when it is closed.
const TITLE_WAIT: Duration = Duration::from_secs(30);

impl Writer {
    /// A title needs no thought.
    pub(crate) fn for_title(mut self) -> Self {
        self.settings.retain(|setting| !matches!(setting, Setting::Thinking(_)));
        Self { wait: self.wait.min(TITLE_WAIT), ..self }
    }

    /// One text for each request, in their order. Dropping this gives it up.
    pub(crate) async fn write(self, requests: Vec<String>) -> Result<Texts, ApiError> {
        let mut written = Texts::default();
        for request in requests {
            let one = tokio::time::timeout(self.wait, self.write_one(request, &mut written.spent)).await;
            written.texts.push(one.map_err(|_| failed("the summary took too long"))??);
        }
        Ok(written)
    }

    async fn write_one(&self, request: String, spent: &mut Vec<ModelUsage>) -> Result<String, ApiError> {
        let start = AgentStart {
            session: self.session.clone(),
            workspace: None,
            handoff: Handoff::New { session: None },
            context: Arc::new(Vec::new()),
            settings: self.settings.clone(),
            environment: self.environment.clone(),
            host: self.host.clone(),
            is_watched: self.is_watched,
            lease: Lease::default(),
        };
        let reached = self.agent.connect(start).await;
        let mut connection = reached.map_err(|error| failed(not_reached(&error).text))?;
        let turn = TurnId::from(SUMMARY);
        let words = Block::Text(format!("{SUMMARIZER}\n\n{request}"));
        let prompt = Prompt { blocks: vec![words], attachments: Vec::new(), said_at: None };
        let asked = connection
            .inputs
            .send(AgentInput::Prompt {
                turn,
                entry: SUMMARY.into(),
                delivered_as: SUMMARY.into(),
                prompt,
                before: Vec::new(),
            })
            .await;
        asked.map_err(|_| failed("the agent is gone"))?;
        let text = listen(&mut connection, spent).await?;
        // How it ends concerns nobody: the text is there.
        let _ = connection.close_within(END_WAIT).await;
        if text.trim().is_empty() { Err(failed("the agent wrote no summary")) } else { Ok(text) }
    }
}

/// The text of all its messages. A final reply replaces the live text of its message.
async fn listen(connection: &mut AgentConnection, spent: &mut Vec<ModelUsage>) -> Result<String, ApiError> {
    let (mut whole, mut growing) = (Vec::new(), String::new());
    while let Some(event) = connection.events.recv().await {
        let event = match event {
            FromAgent::Turn(event) if event.speaker == Speaker::Agent => event,
            FromAgent::Turn(_) => continue,
            FromAgent::Connection(ConnectionEvent::Exited { .. }) => break,
            FromAgent::Connection(_) => continue,
        };
        match event.kind {
            AgentEventKind::Delta { field: DeltaField::Text, text, .. } => growing.push_str(&text),
            AgentEventKind::Entry { body: Body::Reply(reply), .. } => {
                growing.clear();
                whole.push(text_of(&reply.blocks));
            }
            AgentEventKind::MessageEnded { .. } => whole.push(std::mem::take(&mut growing)),
            AgentEventKind::Discarded { .. } => growing.clear(),
            AgentEventKind::Ask { request, .. } => {
                let answer = Answer::Deny { message: Some("only a summary is wanted".to_owned()) };
                let denied = AgentInput::Answer { turn: SUMMARY.into(), request, answer };
                connection.inputs.send(denied).await.map_err(|_| failed("the agent is gone"))?;
            }
            AgentEventKind::Spent(sums) => spent.extend(sums),
            AgentEventKind::Failed(failure) => return Err(failed(failure.text)),
            AgentEventKind::Ended(AgentTurnEnd::Interrupted) => return Err(failed("the agent stopped")),
            AgentEventKind::Ended(AgentTurnEnd::Done | AgentTurnEnd::Limit) => {
                whole.push(growing);
                whole.retain(|text| !text.trim().is_empty());
                return Ok(whole.join("\n\n"));
            }
            AgentEventKind::Started { .. }
            | AgentEventKind::Delta { .. }
            | AgentEventKind::Entry { .. }
            | AgentEventKind::AskConfirmed { .. }
            | AgentEventKind::AskWithdrawn { .. }
            | AgentEventKind::Retrying { .. }
            | AgentEventKind::Compacting
            | AgentEventKind::Compacted { .. } => {}
        }
    }
    Err(failed("the agent is gone"))
}

fn failed(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::AgentFailed, message)
}
