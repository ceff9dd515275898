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
    /// It changes nothing, so it may run in parallel with others.
    Parallel,
    AtOnce,
    IfAllowed,
    /// The model reads why.
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

    /// The tools in the requests.
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
            Some(Access::ReadOnly) => May::Parallel,
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

#[cfg(test)]
mod tests {
    use super::*;

    fn may(settings: &[Setting], tool: &str) -> May {
        Limits::of(settings).may(tool)
    }

    #[test]
    fn the_permission_mode_decides_what_is_asked_for() {
        let mode = |mode: &str| [Setting::PermissionMode(mode.to_owned())];
        for (settings, write, shell) in [
            (&[][..], May::IfAllowed, May::IfAllowed),
            (&mode(DEFAULT_MODE), May::IfAllowed, May::IfAllowed),
            (&mode(ACCEPT_EDITS_MODE), May::AtOnce, May::IfAllowed),
        ] {
            assert_eq!((may(settings, "write"), may(settings, "shell")), (write, shell), "{settings:?}");
            assert_eq!(may(settings, "read"), May::Parallel);
        }
        assert!(matches!(may(&mode(PLAN_MODE), "edit"), May::No(why) if why.contains("`plan`")));
        assert_eq!(may(&mode(PLAN_MODE), "search"), May::Parallel);
    }

    #[test]
    fn only_the_tools_of_the_branch_are_there() {
        let settings = [Setting::Tools(vec!["read".to_owned()])];
        assert_eq!(Limits::of(&settings).tools().iter().map(|tool| tool.name).collect::<Vec<_>>(), ["read"]);
        assert!(matches!(may(&settings, "list"), May::No(_)));
        assert_eq!(may(&[], "fly"), May::No("There is no tool `fly`.".to_owned()));
    }
}
