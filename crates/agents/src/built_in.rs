//! The agent that is always there: small, offline, the same every time.
//!
//! It is a demonstration and says so. On plain requests (`requests`) it does what real agents do: it streams, thinks,
//! writes files in the workspace, runs a command after it was allowed to, asks, starts a sub-agent, fails. To anything
//! else it answers with what it has heard on the branch, so that branches can be told apart.
//!
//! What it answers is decided by [`reply_to`], which is pure; `perform` does it, at the pace it is given.

mod heard;
mod limits;
mod perform;
mod reply;
mod requests;
mod speech;
mod words;
mod workspace;

use std::sync::Arc;
use std::time::Duration;

use offshoot_session::Model;
use offshoot_session::agent::{Abilities, AgentStart, Environment, Host, list};
use tokio::sync::Semaphore;

pub use heard::Heard;
pub use reply::{Step, reply_to};
pub use requests::{REQUESTS, Request};

use crate::{Agent, AgentConnection, Connecting, Probe, Probing};

pub const NAME: &str = "built_in";
pub const TITLE: &str = "the built-in agent";

/// What the person says for the tour to begin.
pub const TOUR: &str = "Show me around";

/// It would remember more; a small window lets people see what happens when one is full.
const WINDOW: i64 = 64_000;

/// Its own, and names to try model changes with: the answers are the same.
const MODELS: [&str; 2] = ["offshoot/built-in", "demo/*"];

const TOOLS: [&str; 5] = ["read", "write", "append", "shell", "agent"];

/// Commands are asked for, and so is what replaces a file.
const DEFAULT_MODE: &str = "default";
/// Nothing is changed.
const PLAN_MODE: &str = "plan";

/// How fast it speaks.
#[derive(Clone, Debug)]
pub enum Pace {
    /// As fast as it is heard.
    AtOnce,
    /// One word, then so much silence, where a person watches; else as fast as it is heard.
    Every(Duration),
    /// One word for each permit.
    Gated(Arc<Semaphore>),
}

#[derive(Clone, Debug)]
pub struct BuiltIn {
    pub pace: Pace,
}

impl Agent for BuiltIn {
    fn name(&self) -> &str {
        NAME
    }

    fn title(&self) -> &str {
        TITLE
    }

    /// It comes with this program.
    fn probe<'a>(&'a self, _host: &'a Host, _environment: &'a Environment) -> Probing<'a> {
        let version = Some(env!("CARGO_PKG_VERSION").to_owned());
        Box::pin(async { Ok(Probe { version, models: Some(vec![speech::model()]), ..Probe::default() }) })
    }

    /// It reads the whole branch when it is connected, so it can continue anywhere.
    fn abilities(&self, _model: Option<&Model>) -> Abilities {
        Abilities {
            many_turns: true,
            resume: true,
            fork_at_tip: true,
            fork_at_message: true,
            interrupt: true,
            permissions: true,
            questions: true,
            sub_agents: true,
            context_window: Some(WINDOW),
            models: list(&MODELS),
            tools: list(&TOOLS),
            permission_modes: list(&[DEFAULT_MODE, PLAN_MODE]),
            ..Abilities::default()
        }
    }

    fn connect(&self, start: AgentStart) -> Connecting<'_> {
        let pace = match &self.pace {
            Pace::Every(_) if !start.is_watched => Pace::AtOnce,
            pace => pace.clone(),
        };
        Box::pin(async move {
            Ok(AgentConnection::served_by(move |inputs, events| {
                perform::converse(start, pace, inputs, events)
            }))
        })
    }
}
