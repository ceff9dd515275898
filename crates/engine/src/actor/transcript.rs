//! What an agent's own transcript has, before a prompt continues it.
//!
//! The session may have been continued in the agent's own program. What was said there comes first: its turns become
//! turns of the branch, and the prompt lands below them. As long as another process runs the session, nothing is written.

use std::path::Path;
use std::sync::Arc;

use offshoot_agents::{Agent, Elsewhere, Look, ReadTranscript, Seen};
use offshoot_api::{ApiError, ErrorCode, ErrorData, Hint};
use offshoot_session::handoff::{ContinuedSession, HandoffAgent, continued_session};
use offshoot_session::pending::Landing;
use offshoot_session::turn::{CaughtUp, TranscriptOf, plan_catch_up};
use offshoot_session::{AgentSessionId, EntryId, Record};

use super::SessionActor;
use super::agents::model_of;
use super::halt::{Halt, refused};
use crate::failure::internal;
use crate::view::settings_of;

impl SessionActor {
    /// Before the prompt of a message is written: the place where it lands, below what was caught up.
    pub(super) async fn catch_up_with_agent(
        &mut self,
        landing: Landing,
        agent: &Arc<dyn Agent>,
    ) -> Result<Landing, Halt> {
        let below = landing.below(&self.tree).cloned();
        let settings = settings_of(&self.tree, below.as_ref());
        let abilities = agent.abilities(model_of(&settings));
        let at_hand =
            HandoffAgent { name: agent.name(), abilities: &abilities, live: None, new_session: None };
        let Some(ContinuedSession { session, last, has_unseen }) =
            continued_session(&self.tree, below.as_ref(), &at_hand)
        else {
            return Ok(landing);
        };
        let waiting = self.free_connection(agent.name(), &session);
        let is_at_work = waiting.is_none() && self.shared.agent_sessions.is_in_use(agent.name(), &session);
        // A process of ours that is at work in it reports everything itself, and this message gets another session.
        if !abilities.entry_ids || is_at_work {
            return Ok(landing);
        }
        let transcript = match waiting {
            Some(_) => ReadTranscript::UnlessEndIsKnown,
            None => ReadTranscript::Whole,
        };
        let mut seen = self.look_at(agent, &session, last, transcript).await?;
        if let Some(elsewhere) = seen.elsewhere {
            return Err(refused(runs_elsewhere(agent.as_ref(), &session, &elsewhere)));
        }
        if let Some(waiting) = waiting {
            match seen.has_left || has_prompt(&seen.caught_up) {
                // It does not know what was said elsewhere, and would continue its own end of the session.
                true => drop(self.connections.remove(&waiting)),
                // What else is new, such as the output of a command, it has written itself.
                false => seen.caught_up = CaughtUp::default(),
            }
        }
        match (&landing, &below) {
            (Landing::Below(_), Some(at)) if !has_unseen => {
                let of = TranscriptOf { agent: agent.name(), session: &session };
                let records = plan_catch_up(&self.tree, at, &seen.caught_up, of, self.stamps.as_mut());
                let tip = last_entry(&records).unwrap_or_else(|| at.clone());
                if !records.is_empty() {
                    self.commit(records).await?;
                }
                Ok(Landing::Below(Some(tip)))
            }
            // Where the session has continued, the message does not land there: the session is forked.
            (Landing::Below(_) | Landing::Version { .. } | Landing::Answer(_), _) => Ok(landing),
        }
    }

    /// On a thread that may block.
    async fn look_at(
        &mut self,
        agent: &Arc<dyn Agent>,
        session: &AgentSessionId,
        after: Option<EntryId>,
        transcript: ReadTranscript,
    ) -> Result<Seen, Halt> {
        let (tree, environment) = (self.tree.clone(), self.scope().environment());
        let (agent, session) = (agent.clone(), session.clone());
        let workspace = self.project().map(str::to_owned);
        let looking = tokio::task::spawn_blocking(move || {
            agent.look(&Look {
                session: &session,
                workspace: workspace.as_deref().map(Path::new),
                environment: &environment,
                after: after.as_ref(),
                is_known: &|id| tree.is_id_taken(id),
                transcript,
            })
        });
        looking.await.map_err(|_| refused(internal("the transcript of the agent could not be read")))
    }
}

/// Prompts of ours are known, whichever process has sent them.
fn has_prompt(caught_up: &CaughtUp) -> bool {
    caught_up.entries.iter().any(|entry| entry.body.is_prompt())
}

fn last_entry(records: &[Record]) -> Option<EntryId> {
    records.iter().rev().find_map(Record::as_entry).map(|entry| entry.id.clone())
}

fn runs_elsewhere(agent: &dyn Agent, session: &AgentSessionId, elsewhere: &Elsewhere) -> ApiError {
    let Elsewhere { pid, since } = elsewhere;
    let since_when = since.map(|since| format!(" since {since:.0}")).unwrap_or_default();
    let text = format!("{} runs this conversation in another process ({pid}){since_when}", agent.title());
    let data = ErrorData {
        agent: Some(agent.name().to_owned()),
        agent_session: Some(session.to_string()),
        pid: Some(*pid),
        ..ErrorData::default()
    };
    let error = ApiError::new(ErrorCode::AgentElsewhere, text).about(data);
    ApiError { since: *since, hint: Some(Hint::FollowOrFork), ..error }
}
