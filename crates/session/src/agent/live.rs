//! The interface of decision 0014, until it replaces the older one of the module above.

pub use super::abilities::{Abilities, SettingSupport, SettingsSupport, Unsupported, list};
pub use super::connection::{
    AgentInfo, AgentNotice, BackgroundKind, BackgroundTask, ConnectionEvent, ExitStatus, SessionChange,
};
pub use super::environment::Environment;
pub use super::event::{
    AgentEvent, AgentEventKind, AgentTurn, AgentTurnEnd, DeltaField, FromAgent, ModelUsage, Speaker,
    TurnCause,
};
pub use super::failure::{AgentFailure, FailureKind};
pub use super::input::{AgentInput, AgentStart, EntryIter, PathSource};
