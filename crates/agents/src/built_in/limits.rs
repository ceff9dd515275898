//! What the settings in force keep this agent from doing.

use offshoot_session::Setting;

use super::reply::Step;
use super::{PLAN_MODE, words};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Limits {
    /// `None`: all tools.
    tools: Option<Vec<String>>,
    only_plans: bool,
}

impl Limits {
    /// The last setting of each kind is in force.
    pub(super) fn set(&mut self, settings: &[Setting]) {
        for setting in settings {
            match setting {
                Setting::Tools(tools) => self.tools = Some(tools.clone()),
                Setting::PermissionMode(mode) => self.only_plans = mode == PLAN_MODE,
                Setting::Agent(_)
                | Setting::Model { .. }
                | Setting::Thinking(_)
                | Setting::Mode { .. }
                | Setting::ServiceTier(_)
                | Setting::Config(_) => {}
            }
        }
    }

    /// Why a step is not taken.
    pub(super) fn refuse(&self, step: &Step) -> Option<String> {
        let (tool, changes) = match step {
            Step::Write { .. } => ("write", true),
            Step::Append { .. } => ("append", true),
            Step::Run { .. } => ("shell", true),
            Step::Read { .. } => ("read", false),
            Step::Delegate { .. } => ("agent", false),
            Step::Think(_) | Step::Say(_) | Step::Ask(_) | Step::Fail(_) => return None,
        };
        let is_off = self.tools.as_ref().is_some_and(|tools| !tools.iter().any(|known| known == tool));
        match () {
            () if is_off => Some(words::tool_is_off(tool)),
            () if changes && self.only_plans => Some(words::plans_only(tool)),
            () => None,
        }
    }
}
