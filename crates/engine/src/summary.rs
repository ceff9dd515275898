//! Texts that an agent writes for us, beside the conversation.
//!
//! Any agent can do it: it is reached without a path, asked once, and let go. What it would ask is denied.
//!
//! Limitation: an agent that keeps sessions of its own keeps one for each summary.

use std::sync::Arc;
use std::time::Duration;

use offshoot_agents::{Agent, Conversation};
use offshoot_api::{ApiError, ErrorCode};
use offshoot_session::agent::{AgentInput, Ending, Environment, Said, Speaker, Start};
use offshoot_session::asks::Answer;
use offshoot_session::handoff::Handoff;
use offshoot_session::render::prompts::SUMMARIZER;
use offshoot_session::{Block, Prompt, SessionId, Setting, TurnId, text_of};

use crate::failure::not_reached;

/// How long an agent may take to end by itself.
const END_WAIT: Duration = Duration::from_secs(2);

/// Who writes, and under which settings.
#[derive(Clone)]
pub(crate) struct Writer {
    pub(crate) agent: Arc<dyn Agent>,
    pub(crate) session: SessionId,
    pub(crate) settings: Vec<Setting>,
    pub(crate) environment: Environment,
    pub(crate) is_watched: bool,
    pub(crate) wait: Duration,
}

impl Writer {
    /// One text for each request, in their order. Dropping this gives it up.
    pub(crate) async fn write(self, requests: Vec<String>) -> Result<Vec<String>, ApiError> {
        let mut written = Vec::with_capacity(requests.len());
        for request in requests {
            let one = tokio::time::timeout(self.wait, self.write_one(request)).await;
            written.push(one.map_err(|_| failed("the summary took too long"))??);
        }
        Ok(written)
    }

    async fn write_one(&self, request: String) -> Result<String, ApiError> {
        let start = Start {
            session: self.session.clone(),
            workspace: None,
            handoff: Handoff::Continue { session: None },
            path: Vec::new(),
            settings: self.settings.clone(),
            environment: self.environment.clone(),
            is_watched: self.is_watched,
        };
        let reached = self.agent.connect(start).await;
        let mut conversation = reached.map_err(|error| failed(not_reached(&error)))?;
        let turn = TurnId::from("summary");
        let words = Block::Text(format!("{SUMMARIZER}\n\n{request}"));
        let prompt = Prompt { blocks: vec![words], attachments: Vec::new(), said_at: None };
        let asked = conversation.inputs.send(AgentInput::Prompt { turn, prompt }).await;
        asked.map_err(|_| failed("the agent is gone"))?;
        let text = listen(&mut conversation).await?;
        // How it ends concerns nobody: the text is there.
        let _ = conversation.close_within(END_WAIT).await;
        if text.trim().is_empty() { Err(failed("the agent wrote no summary")) } else { Ok(text) }
    }
}

/// The words of all its messages. A whole message takes the place of the words that came of it.
async fn listen(conversation: &mut Conversation) -> Result<String, ApiError> {
    let (mut whole, mut coming) = (Vec::new(), String::new());
    while let Some(event) = conversation.events.recv().await {
        if event.speaker != Speaker::Agent {
            continue;
        }
        match event.said {
            Said::Words { text, .. } => coming.push_str(&text),
            Said::Message { reply, .. } => {
                coming.clear();
                whole.push(text_of(&reply.blocks));
            }
            Said::Asks { request, .. } => {
                let answer = Answer::Deny { message: Some("only a summary is wanted".to_owned()) };
                let denied = AgentInput::Answer { turn: event.turn, request, answer };
                conversation.inputs.send(denied).await.map_err(|_| failed("the agent is gone"))?;
            }
            Said::Failed { message } => return Err(failed(message)),
            Said::Ended(Ending::Interrupted) => return Err(failed("the agent stopped")),
            Said::Ended(Ending::Done | Ending::Limit) => {
                whole.push(coming);
                whole.retain(|text| !text.trim().is_empty());
                return Ok(whole.join("\n\n"));
            }
            Said::Started { .. }
            | Said::Thinking { .. }
            | Said::ToolUse { .. }
            | Said::ToolResult(_)
            | Said::Confirms { .. }
            | Said::Withdraws { .. }
            | Said::Used(_)
            | Said::Compacting
            | Said::Compacted { .. }
            | Said::Notice(_) => {}
        }
    }
    Err(failed("the agent is gone"))
}

fn failed(message: impl Into<String>) -> ApiError {
    ApiError::new(ErrorCode::AgentFailed, message)
}
