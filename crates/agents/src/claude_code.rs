//! Claude Code, driven through its `stream-json` protocol.
//!
//! | idea | module |
//! |---|---|
//! | which program is installed, in which version | `probe` |
//! | its options and variables | `launch` |
//! | how it comes to know a branch | `ladder` |
//! | its files: transcripts, titles, status | `sessions` |
//! | lines and inputs in, acts out | `protocol` |
//! | the task that serves a connection | `driver` |

mod driver;
mod ladder;
mod launch;
mod outbox;
mod probe;
mod protocol;
mod sessions;

use std::time::Duration;

use offshoot_session::Model;
use offshoot_session::agent::{
    Abilities, AgentStart, Environment, Host, SettingSupport, SettingsSupport, list,
};

#[cfg(feature = "laws")]
pub use protocol::laws::broken_laws;

use crate::{Agent, Connecting, Look, NotRenamed, Probing, Rename, Seen, process};
use sessions::ClaudeHome;

pub const NAME: &str = "claude-code";
pub const TITLE: &str = "Claude Code";

/// The ways to ask for permissions that its command line takes.
const PERMISSION_MODES: [&str; 6] =
    ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

const DEFAULT_MODE: &str = "default";

/// Claude Code on this machine.
#[derive(Debug, Default)]
pub struct ClaudeCode {
    pub limits: Limits,
    probes: probe::Probes,
}

/// How long its process may take for things.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From its start to the answer to `initialize`.
    pub opening: Duration,
    /// To end by itself when it is asked to.
    pub end: Duration,
    /// To state its version.
    pub version: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            opening: Duration::from_secs(20),
            end: Duration::from_secs(3),
            version: Duration::from_secs(3),
        }
    }
}

impl Agent for ClaudeCode {
    fn name(&self) -> &str {
        NAME
    }

    fn title(&self) -> &str {
        TITLE
    }

    fn probe<'a>(&'a self, host: &'a Host, environment: &'a Environment) -> Probing<'a> {
        Box::pin(async move {
            let installed = self.probes.installed(host, environment, self.limits.version).await?;
            Ok(crate::Probe { version: installed.stated, ..crate::Probe::default() })
        })
    }

    /// The same for all of its models; it says itself which there are.
    fn abilities(&self, _model: Option<&Model>) -> Abilities {
        Abilities {
            many_turns: true,
            resume: true,
            fork_at_tip: true,
            fork_at_message: true,
            rebuilt_transcript: true,
            inject: true,
            entry_ids: true,
            session_ids: true,
            interrupt: true,
            permissions: true,
            questions: true,
            images: true,
            sub_agents: true,
            compaction: true,
            rename: true,
            background_tasks: true,
            permission_modes: list(&PERMISSION_MODES),
            settings: SettingsSupport {
                model: SettingSupport::Live,
                thinking: SettingSupport::Live,
                permission_mode: SettingSupport::Live,
                tools: SettingSupport::No { reason: "its own settings and permission rules decide" },
                mode: SettingSupport::No { reason: "it has permission modes instead" },
                service_tier: SettingSupport::No { reason: "its account decides" },
            },
            ..Abilities::default()
        }
    }

    fn look(&self, look: &Look<'_>) -> Seen {
        ClaudeHome::of(look.environment).map(|home| home.look(look, &process::is_ours)).unwrap_or_default()
    }

    fn rename(&self, rename: &Rename<'_>) -> Result<bool, NotRenamed> {
        let Some(home) = ClaudeHome::of(rename.environment) else { return Ok(false) };
        home.set_title(rename.session, rename.title).map_err(|error| NotRenamed {
            agent: TITLE.to_owned(),
            session: rename.session.clone(),
            reason: error.to_string(),
        })
    }

    /// It is asked to end, interrupted, and killed with its tools.
    fn end_wait(&self) -> Duration {
        self.limits.end + Duration::from_secs(5)
    }

    fn connect(&self, start: AgentStart) -> Connecting<'_> {
        Box::pin(async move {
            let installed =
                self.probes.installed(&start.host, &start.environment, self.limits.version).await?;
            let version = installed.supported()?;
            ladder::connect(start, installed.program, version, self.limits).await
        })
    }
}
