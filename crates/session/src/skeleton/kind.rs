//! What an entry is, in one byte.

use crate::in_force::INJECTED_RULES;
use crate::{Body, Setting};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $number:literal,)*) => {
        /// The kind of a body. Settings are told apart, so that only the latest of each needs to be read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $kind = $number,)* }

        impl Kind {
            /// The kind with this number, if there is one.
            pub fn numbered(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    Prompt = 0,
    Reply = 1,
    ToolResult = 2,
    Shell = 3,
    Interrupted = 4,
    BranchSummary = 5,
    Compaction = 6,
    Merge = 7,
    CustomMessage = 8,
    Note = 9,
    System = 10,
    Cleared = 11,
    Foreign = 12,
    AgentSetting = 13,
    ModelSetting = 14,
    /// Of a role beside the usual one; several may be in force at once.
    RoleModelSetting = 15,
    ThinkingSetting = 16,
    ToolsSetting = 17,
    PermissionSetting = 18,
    ModeSetting = 19,
    ServiceTierSetting = 20,
    ConfigSetting = 21,
    /// Rules that oh-my-pi has told the model; all of a path count.
    InjectedRules = 22,
    ContextEdit = 23,
}

impl Kind {
    pub fn of(body: &Body) -> Self {
        match body {
            Body::Prompt(_) => Self::Prompt,
            Body::Reply(_) => Self::Reply,
            Body::ToolResult(_) => Self::ToolResult,
            Body::Shell(_) => Self::Shell,
            Body::Interrupted(_) => Self::Interrupted,
            Body::BranchSummary(_) => Self::BranchSummary,
            Body::Compaction(_) => Self::Compaction,
            Body::Merge(_) => Self::Merge,
            Body::CustomMessage(_) => Self::CustomMessage,
            Body::Note(_) => Self::Note,
            Body::System(_) => Self::System,
            Body::Cleared => Self::Cleared,
            Body::ContextEdit(_) => Self::ContextEdit,
            Body::Foreign(foreign) if foreign.kind == INJECTED_RULES => Self::InjectedRules,
            Body::Foreign(_) => Self::Foreign,
            Body::Setting(setting) => match setting {
                Setting::Agent(_) => Self::AgentSetting,
                Setting::Model { role: None, .. } => Self::ModelSetting,
                Setting::Model { role: Some(_), .. } => Self::RoleModelSetting,
                Setting::Thinking(_) => Self::ThinkingSetting,
                Setting::Tools(_) => Self::ToolsSetting,
                Setting::PermissionMode(_) => Self::PermissionSetting,
                Setting::Mode { .. } => Self::ModeSetting,
                Setting::ServiceTier(_) => Self::ServiceTierSetting,
                Setting::Config(_) => Self::ConfigSetting,
            },
        }
    }

    /// It says how the agent runs from there on.
    pub fn is_setting(self) -> bool {
        (Self::AgentSetting..=Self::InjectedRules).contains(&self)
    }

    /// Nothing above it is read by a model, but for what a compaction keeps.
    pub fn is_boundary(self) -> bool {
        matches!(self, Self::Compaction | Self::Cleared)
    }

    /// Whether several of the kind hold at once, rather than the latest alone.
    pub fn adds_up(self) -> bool {
        matches!(self, Self::RoleModelSetting | Self::InjectedRules)
    }

    /// It may be a message of a context: a summary without words is none.
    pub fn may_speak(self) -> bool {
        match self {
            Self::Prompt
            | Self::Reply
            | Self::ToolResult
            | Self::Shell
            | Self::BranchSummary
            | Self::Compaction
            | Self::Merge
            | Self::CustomMessage
            | Self::System => true,
            Self::Interrupted | Self::Note | Self::Cleared | Self::Foreign | Self::ContextEdit => false,
            Self::AgentSetting
            | Self::ModelSetting
            | Self::RoleModelSetting
            | Self::ThinkingSetting
            | Self::ToolsSetting
            | Self::PermissionSetting
            | Self::ModeSetting
            | Self::ServiceTierSetting
            | Self::ConfigSetting
            | Self::InjectedRules => false,
        }
    }

    /// Said by the person, the agent or a tool.
    pub fn is_said(self) -> bool {
        matches!(self, Self::Prompt | Self::Reply | Self::ToolResult | Self::Shell)
    }
}
