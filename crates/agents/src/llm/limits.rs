//! What the settings of a branch let the model do.

use offshoot_session::Setting;

use super::tools::{Access, ToolDefinition, access, definitions};

/// Changes are asked for.
pub(crate) const DEFAULT_MODE: &str = "default";
/// Files are changed without asking, commands are asked for.
pub(crate) const ACCEPT_EDITS_MODE: &str = "acceptEdits";
/// Nothing is changed.
pub(crate) const PLAN_MODE: &str = "plan";

pub(crate) const MODES: [&str; 3] = [DEFAULT_MODE, ACCEPT_EDITS_MODE, PLAN_MODE];

#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// `None`: all.
    tools: Option<Vec<String>>,
    mode: Option<String>,
    pub(crate) thinking: Option<String>,
}

/// Whether a call may be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum May {
    /// It changes nothing, so it may run beside others.
    Beside,
    AtOnce,
    IfAllowed,
    /// The model is told why.
    No(String),
}

impl Limits {
    pub(crate) fn of(settings: &[Setting]) -> Self {
        let mut limits = Self::default();
        limits.set(settings);
        limits
    }

    pub(crate) fn set(&mut self, settings: &[Setting]) {
        for setting in settings {
            match setting {
                Setting::Tools(tools) => self.tools = Some(tools.clone()),
                Setting::PermissionMode(mode) => self.mode = Some(mode.clone()),
                Setting::Thinking(level) => self.thinking = level.clone(),
                Setting::Agent(_)
                | Setting::Model { .. }
                | Setting::Mode { .. }
                | Setting::ServiceTier(_)
                | Setting::Config(_) => {}
            }
        }
    }

    /// The tools that the model is told of.
    pub(crate) fn tools(&self) -> Vec<ToolDefinition> {
        definitions().into_iter().filter(|tool| self.has(tool.name)).collect()
    }

    pub(crate) fn may(&self, tool: &str) -> May {
        let mode = self.mode.as_deref().unwrap_or(DEFAULT_MODE);
        match access(tool) {
            None => May::No(format!("There is no tool `{tool}`.")),
            Some(_) if !self.has(tool) => {
                May::No(format!("The tool `{tool}` may not be used on this branch."))
            }
            Some(Access::ReadOnly) => May::Beside,
            Some(Access::NeedsPermission) if mode == PLAN_MODE => May::No(
                "Nothing is changed in the permission mode `plan`: describe the change instead.".to_owned(),
            ),
            Some(Access::NeedsPermission) if mode == ACCEPT_EDITS_MODE && tool != "shell" => May::AtOnce,
            Some(Access::NeedsPermission) => May::IfAllowed,
        }
    }

    fn has(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|allowed| allowed == tool))
    }
}
