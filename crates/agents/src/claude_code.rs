//! Claude Code, driven through its `stream-json` protocol.
//!
//! | idea | module |
//! |---|---|
//! | which program is installed, in which version | `probe` |
//! | which models it has | `models` |
//! | its options and variables | `launch` |
//! | how it comes to know a branch | `ladder` |
//! | its files: transcripts, titles, status | `sessions` |
//! | lines and inputs in, acts out | `protocol` |
//! | the task that serves a connection | `driver` |

mod driver;
mod ladder;
mod launch;
mod models;
mod outbox;
mod probe;
mod protocol;
mod sessions;

use std::io;
use std::path::Path;
use std::time::Duration;

use offshoot_session::agent::{
    Abilities, AgentStart, Environment, Host, SettingSupport, SettingsSupport, Waits, list,
};
use offshoot_session::{AgentSessionId, Model};

#[cfg(feature = "laws")]
pub use protocol::laws::broken_laws;

use crate::{Agent, Connecting, Look, NotRenamed, Probing, Rename, Seen, process};
use models::Origin;
use sessions::ClaudeHome;

pub const NAME: &str = "claude-code";
pub const TITLE: &str = "Claude Code";

/// The ways to ask for permissions that its command line takes.
const PERMISSION_MODES: [&str; 6] =
    ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

/// It takes this one only when it is started with it.
const BYPASS: &str = "bypassPermissions";

const DEFAULT_MODE: &str = "default";

/// Claude Code on this machine.
#[derive(Debug, Default)]
pub struct ClaudeCode {
    pub limits: Limits,
    probes: probe::Probes,
    models: models::KnownModels,
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
    /// From its start to the list of its models, where only that is wanted.
    pub listing: Duration,
    /// Without output while the model answers, until the person is told.
    pub silence: Duration,
}

impl Limits {
    /// With those that the person has set.
    fn with(self, set: Waits) -> Self {
        Self {
            opening: set.start.unwrap_or(self.opening),
            silence: set.silence.unwrap_or(self.silence),
            ..self
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            opening: Duration::from_secs(20),
            end: Duration::from_secs(3),
            version: Duration::from_secs(3),
            listing: Duration::from_secs(5),
            silence: Duration::from_secs(60),
        }
    }
}

/// Appends a title to a transcript of Claude Code, wherever it is, and puts it into the list of sessions beside it. An empty
/// title takes the name away. Returns whether anything was written.
pub fn write_title(file: &Path, session: &AgentSessionId, title: &str) -> io::Result<bool> {
    sessions::write_title(file, session, title).map_err(|error| match error {
        sessions::NotWritten::File { source, .. } => source,
        other => io::Error::other(other.to_string()),
    })
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
            let origin = Origin::of(&installed.program, environment);
            if let (Ok(version), true) = (installed.supported(), self.models.are_unknown(origin)) {
                let program = installed.program.clone();
                self.models.ask(host, environment, program, version, self.limits).await;
            }
            Ok(crate::Probe {
                version: installed.version().map(str::to_owned),
                models: self.models.all(),
                ..crate::Probe::default()
            })
        })
    }

    fn needs_probe(&self, host: &Host, environment: &Environment) -> bool {
        let program = probe::found(host, environment);
        program.is_none_or(|program| self.models.are_unknown(Origin::of(&program, environment)))
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
            models: self.models.names(),
            permission_modes: list(&PERMISSION_MODES),
            launch_modes: vec![BYPASS.to_owned()],
            settings: SettingsSupport {
                model: SettingSupport::Live,
                thinking: SettingSupport::Live,
                permission_mode: SettingSupport::Live,
                tools: SettingSupport::Restart,
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

    fn refuses(&self, text: &str) -> Option<String> {
        protocol::refusal(text)
    }

    /// A command of its own. What follows on the line is what its summary shall heed.
    fn compaction_prompt(&self, instructions: Option<&str>) -> Option<String> {
        let instructions = instructions.unwrap_or_default().split_whitespace();
        Some(std::iter::once("/compact").chain(instructions).collect::<Vec<_>>().join(" "))
    }

    /// It is asked to end, interrupted, and killed with its tools.
    fn end_wait(&self) -> Duration {
        self.limits.end + Duration::from_secs(5)
    }

    fn connect(&self, start: AgentStart) -> Connecting<'_> {
        Box::pin(async move {
            let limits = self.limits.with(start.host.waits);
            // A busy machine is no reason to refuse a prompt, so it gets as long as `initialize`.
            let installed = self.probes.installed(&start.host, &start.environment, limits.opening).await?;
            let version = installed.supported()?;
            ladder::connect(start, installed.program, version, limits, &self.models).await
        })
    }
}
