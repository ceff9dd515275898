//! What can be set. Whoever builds the engine reads it from wherever settings are kept.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use offshoot_api::CallerContext;
use offshoot_session::Model;
use offshoot_session::agent::{Host, Provider, Waits};
use offshoot_session::compaction::CompactionSettings;
use offshoot_session::cost::Prices;
pub use offshoot_session::plan::ConfigChangeBranching;

use crate::blocking::Blocking;
use crate::hooks::Hook;

#[derive(Clone, Debug)]
pub struct Settings {
    /// Answers where a session names no agent.
    pub default_agent: Option<String>,
    /// What the default agent begins with. Another agent begins with what is its own.
    pub default_model: Option<Model>,
    pub default_thinking: Option<String>,
    pub default_tools: Option<Vec<String>>,
    pub default_permission_mode: Option<String>,
    pub config_change_branching: ConfigChangeBranching,
    /// How long an interrupted agent may take to stop before it is ended.
    pub interrupt_wait: Duration,
    /// Words that were shown are kept at the latest after so much time …
    pub draft_every: Duration,
    /// … or so many pieces.
    pub draft_pieces: usize,
    /// Events of a session that are kept for who comes back.
    pub kept_events: usize,
    /// Agents that wait for a further prompt, in all sessions.
    pub idle_agents: usize,
    /// A session that nobody follows or asks, and in which nothing runs, is closed after so much time.
    pub idle_close: Duration,
    /// Who writes summaries, where it shall not be the agent of the branch.
    pub summary_agent: Option<String>,
    /// With which model, where it shall not be that of the branch.
    pub summary_model: Option<Model>,
    /// How long one summary may take.
    pub summary_wait: Duration,
    /// About so many tokens of a branch that is left are summarised; 0 sets no limit.
    pub summary_budget: i64,
    /// Whether a model writes a title for a session that has none.
    pub titles: bool,
    pub compaction: CompactionSettings,
    /// What a model can read, in tokens. Where it is not known nothing is made shorter by itself.
    pub context_window: Option<i64>,
    pub hooks: Vec<Hook>,
    /// Patterns of variables that agents and hooks do not inherit from their caller; `*` stands for anything.
    pub agent_environment: Vec<String>,
    /// Where the programs of agents are, by agent, for those that the person has set.
    pub agent_programs: BTreeMap<String, PathBuf>,
    /// How long these programs may take, by agent, where the person has set it.
    pub agent_waits: BTreeMap<String, Waits>,
    /// Servers of models that the person has set, by name.
    pub providers: BTreeMap<String, Provider>,
    /// What tokens cost where nobody says it.
    pub prices: Prices,
    /// How long an agent may take to be there.
    pub reach_wait: Duration,
    /// How often a lost agent is reached again within a turn.
    pub reach_again: usize,
}

impl Default for Settings {
    fn default() -> Self {
        let claude_code = offshoot_agents::claude_code::Limits::default();
        let waits = Waits { start: Some(claude_code.opening), silence: Some(claude_code.silence) };
        Self {
            default_agent: None,
            default_model: None,
            default_thinking: None,
            default_tools: None,
            default_permission_mode: None,
            config_change_branching: ConfigChangeBranching::Entry,
            interrupt_wait: Duration::from_secs(5),
            draft_every: Duration::from_millis(250),
            draft_pieces: 64,
            kept_events: 4096,
            idle_agents: 3,
            idle_close: Duration::from_secs(600),
            summary_agent: None,
            summary_model: None,
            summary_wait: Duration::from_secs(120),
            summary_budget: 100_000,
            titles: true,
            compaction: CompactionSettings::default(),
            context_window: None,
            hooks: Vec::new(),
            agent_environment: Vec::new(),
            agent_programs: BTreeMap::new(),
            agent_waits: BTreeMap::from([(offshoot_agents::claude_code::NAME.to_owned(), waits)]),
            providers: BTreeMap::new(),
            prices: Prices::listed(),
            reach_wait: Duration::from_secs(60),
            reach_again: 3,
        }
    }
}

impl Settings {
    /// How an agent is run here: `host` is what the engine knows, and the person may have set its program.
    pub(crate) fn host_for(&self, agent: &str, host: &Host) -> Host {
        let program = self.agent_programs.get(agent).cloned();
        let waits = self.agent_waits.get(agent).copied().unwrap_or_default();
        Host { program, waits, providers: self.providers.clone(), ..host.clone() }
    }
}

/// Where settings come from: the same for all, or read for the project that a session is about and the caller that asks.
/// They are read with every request, so a change counts from the next one on.
#[derive(Clone)]
pub struct SettingsSource(Source);

#[derive(Clone)]
enum Source {
    Fixed(Arc<Settings>),
    Read(Arc<ReadSettings>),
}

/// The message says what is wrong with them, and where.
type ReadSettings = dyn Fn(Option<&str>, &CallerContext) -> Result<Arc<Settings>, String> + Send + Sync;

impl SettingsSource {
    /// Reads them for a project and a caller. It may look at files; those that have not changed it should not read again.
    pub fn read_by(
        read: impl Fn(Option<&str>, &CallerContext) -> Result<Arc<Settings>, String> + Send + Sync + 'static,
    ) -> Self {
        Self(Source::Read(Arc::new(read)))
    }

    pub(crate) async fn about(
        &self,
        project: Option<&str>,
        context: &Arc<CallerContext>,
        blocking: Blocking,
    ) -> Result<Arc<Settings>, String> {
        match &self.0 {
            Source::Fixed(settings) => Ok(settings.clone()),
            Source::Read(read) => {
                let (read, project, context) = (read.clone(), project.map(str::to_owned), context.clone());
                let read = blocking.run(move || read(project.as_deref(), &context));
                read.await.map_err(|_| "the settings could not be read".to_owned())?
            }
        }
    }
}

impl From<Settings> for SettingsSource {
    fn from(settings: Settings) -> Self {
        Self(Source::Fixed(Arc::new(settings)))
    }
}

impl fmt::Debug for SettingsSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Fixed(settings) => settings.fmt(f),
            Source::Read(_) => f.write_str("read for each project and caller"),
        }
    }
}
