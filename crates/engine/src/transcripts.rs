//! What agents' own transcripts have and a session does not.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use offshoot_agents::{Agent, Look, ReadTranscript};
use offshoot_api::CallerContext;
use offshoot_session::agent::Environment;
use offshoot_session::turn::{CaughtUp, CaughtUpTurns, Unfinished, unfinished_turns};
use offshoot_session::{Entry, EntryId, SessionTree, TurnId};

use crate::environment::environment_for;
use crate::settings::Settings;

/// The transcripts that can be read on behalf of a caller.
#[derive(Clone)]
pub struct Transcripts {
    agents: Arc<BTreeMap<String, Arc<dyn Agent>>>,
    environment: Environment,
}

impl Transcripts {
    pub(crate) fn new(agents: Arc<BTreeMap<String, Arc<dyn Agent>>>, environment: Environment) -> Self {
        Self { agents, environment }
    }

    /// Those of all agents, as a caller with these settings sees them.
    pub fn of(agents: Vec<Arc<dyn Agent>>, context: &CallerContext, settings: &Settings) -> Self {
        let agents = agents.into_iter().map(|agent| (agent.name().to_owned(), agent)).collect();
        Self::new(Arc::new(agents), environment_for(context, settings))
    }

    /// What they have of the unfinished turns of a session. `left` is what drafts have kept. May block.
    pub fn catch_up(&self, tree: &SessionTree, left: &[Entry]) -> CaughtUpTurns {
        let unfinished = unfinished_turns(tree, left).into_iter().filter(|one| !one.is_sub_agent);
        let caught_up = unfinished.filter_map(|Unfinished { turn, .. }| {
            let prompt = prompt_of(tree, &turn)?;
            let binding = tree.binding(prompt)?;
            let (agent, session) =
                (self.agents.get(binding.agent.as_deref()?)?, binding.agent_session.as_ref()?);
            let look = Look {
                session,
                workspace: tree.header().and_then(|header| header.project.as_deref()).map(Path::new),
                environment: &self.environment,
                after: Some(tree.delivered_as(prompt)),
                is_known: &|id| tree.is_id_taken(id),
                transcript: ReadTranscript::Whole,
            };
            let seen = agent.look(&look);
            Some((turn, CaughtUp { is_running: seen.elsewhere.is_some(), ..seen.caught_up }))
        });
        caught_up.collect()
    }
}

impl std::fmt::Debug for Transcripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transcripts").field("agents", &self.agents.keys()).finish_non_exhaustive()
    }
}

/// The entry that a turn was bound at.
fn prompt_of<'t>(tree: &'t SessionTree, turn: &TurnId) -> Option<&'t EntryId> {
    let is_of_turn = |id: &&EntryId| tree.entry(id).is_some_and(|entry| entry.turn.as_ref() == Some(turn));
    tree.bindings().map(|(at, _)| at).find(is_of_turn)
}
