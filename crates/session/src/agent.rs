//! The interface between us and a live agent, the same for every agent.
//!
//! A driver translates what its agent does into events ([`FromAgent`]) and gives the agent its [`AgentInput`]s. It
//! decides nothing: what an event means for the conversation is decided by [`crate::turn::Turn`]. Where an agent lacks
//! something its driver lowers an ability ([`Abilities`]); no event exists for one agent only.
//!
//! Every event of a turn names the turn. An agent that was interrupted may report for a while; after the end of the turn
//! such events change nothing.

mod abilities;
mod connection;
mod environment;
mod event;
mod failure;
mod input;
mod name;
mod provider;

pub use abilities::{Abilities, SettingSupport, SettingsSupport, Unsupported, list};
pub use connection::{
    AgentInfo, AgentNotice, BackgroundKind, BackgroundTask, ConnectionEvent, ExitStatus, SessionChange,
};
pub use environment::Environment;
pub use event::{
    AgentEvent, AgentEventKind, AgentTurn, AgentTurnEnd, DeltaField, FromAgent, ModelUsage, Speaker,
    TurnCause,
};
pub use failure::{AgentFailure, FailureKind};
pub use input::{AgentInput, AgentStart, EntryIter, Host, Lease, PathSource, TreePath, Unseen, Waits};
pub use name::canonical_name;
pub use provider::{Provider, ProviderKind};

/// How much an agent may be told to think.
pub const THINKING_LEVELS: [&str; 6] = ["off", "minimal", "low", "medium", "high", "xhigh"];
