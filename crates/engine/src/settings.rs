//! What can be set. Whoever builds the engine reads it from wherever settings are kept.

use std::time::Duration;

use offshoot_session::Model;
use offshoot_session::compaction::CompactionSettings;
use offshoot_session::plan::ConfigChangeBranching;

use crate::hooks::Hook;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Answers where a session names no agent.
    pub default_agent: Option<String>,
    pub config_change_branching: ConfigChangeBranching,
    /// How long an interrupted agent may take to stop before it is ended.
    pub interrupt_wait: Duration,
    /// Words that were shown are kept at the latest after so much time …
    pub draft_every: Duration,
    /// … or so many pieces.
    pub draft_pieces: usize,
    /// Events of a session that are kept for who comes back.
    pub kept_events: usize,
    /// Agents that wait for a further prompt, for each session.
    pub idle_agents: usize,
    /// Who writes summaries, where it shall not be the agent of the branch.
    pub summary_agent: Option<String>,
    /// With which model, where it shall not be that of the branch.
    pub summary_model: Option<Model>,
    /// How long one summary may take.
    pub summary_wait: Duration,
    /// About so many tokens of a branch that is left are summarised; 0 sets no limit.
    pub summary_budget: i64,
    pub compaction: CompactionSettings,
    /// What a model can read, in tokens. Where it is not known nothing is made shorter by itself.
    pub context_window: Option<i64>,
    pub hooks: Vec<Hook>,
    /// How long an agent may take to be there.
    pub reach_wait: Duration,
    /// How often a lost agent is reached again within a turn.
    pub reach_again: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            default_agent: None,
            config_change_branching: ConfigChangeBranching::Entry,
            interrupt_wait: Duration::from_secs(5),
            draft_every: Duration::from_millis(250),
            draft_pieces: 64,
            kept_events: 4096,
            idle_agents: 4,
            summary_agent: None,
            summary_model: None,
            summary_wait: Duration::from_secs(120),
            summary_budget: 100_000,
            compaction: CompactionSettings::default(),
            context_window: None,
            hooks: Vec::new(),
            reach_wait: Duration::from_secs(60),
            reach_again: 3,
        }
    }
}
