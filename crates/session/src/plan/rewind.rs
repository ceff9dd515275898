//! What going back to a prompt means for an agent that keeps its own session.
//!
//! In our tree a rewind moves a head and loses nothing ([`super::plan_rewind_conversation`]). An agent has one line: one
//! that knows messages is forked at the message above ([`crate::handoff`]), another is told how many turns to forget.
//!
//! # Limitations
//!
//! No driver calls these yet: Codex, which forgets turns, has none. They hold what its rewind has to do.

use thiserror::Error;

use crate::agent::Abilities;
use crate::{Entry, EntryId, SessionTree};

/// A rewind in the words of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRewind {
    pub kept_turns: usize,
    pub dropped_turns: usize,
}

/// What shall go back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindScope {
    Conversation,
    Files,
    Both,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum RewindRefused {
    #[error("entry `{0}` does not exist")]
    NotFound(EntryId),
    #[error("entry `{0}` is not a prompt of this branch")]
    NotAPrompt(EntryId),
    #[error("{agent} only supports conversation rewind")]
    FilesNotKept { agent: String },
    #[error("{agent} rewind does not restore files")]
    NothingToPreview { agent: String },
}

/// To the place before a prompt on the way to `tip`.
pub fn agent_rewind(
    tree: &SessionTree,
    tip: &EntryId,
    prompt: &EntryId,
) -> Result<AgentRewind, RewindRefused> {
    if !tree.contains(prompt) {
        return Err(RewindRefused::NotFound(prompt.clone()));
    }
    let path = tree.path_to(Some(tip));
    let at = path.iter().position(|entry| entry.id == *prompt && entry.body.is_prompt());
    let at = at.ok_or_else(|| RewindRefused::NotAPrompt(prompt.clone()))?;
    let prompts =
        |entries: &[&std::sync::Arc<Entry>]| entries.iter().filter(|entry| entry.body.is_prompt()).count();
    let (kept, dropped) = path.split_at(at);
    Ok(AgentRewind { kept_turns: prompts(kept), dropped_turns: prompts(dropped) })
}

/// Whether an agent can bring the files back by itself.
pub fn agent_may_rewind(agent: &str, can: &Abilities, scope: RewindScope) -> Result<(), RewindRefused> {
    match scope {
        RewindScope::Conversation => Ok(()),
        RewindScope::Files | RewindScope::Both if can.file_checkpoints => Ok(()),
        RewindScope::Files | RewindScope::Both => {
            Err(RewindRefused::FilesNotKept { agent: agent.to_owned() })
        }
    }
}

/// Whether an agent can say beforehand which files a rewind would change.
pub fn agent_may_preview(agent: &str, can: &Abilities) -> Result<(), RewindRefused> {
    if can.file_checkpoints {
        Ok(())
    } else {
        Err(RewindRefused::NothingToPreview { agent: agent.to_owned() })
    }
}
