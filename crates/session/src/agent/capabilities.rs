//! What an agent can do, as data: one function picks the way from it ([`crate::handoff::plan_handoff`]), and front
//! ends say from it what is possible.

use thiserror::Error;

use crate::Setting;

/// Nothing is assumed: what a driver does not claim, its agent cannot do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Takes a second prompt after its first answer.
    pub many_turns: bool,
    /// Takes up a session of its own after its process has ended.
    pub resume: bool,
    /// Goes on from the end of one of its sessions in a new one.
    pub fork_at_tip: bool,
    /// Goes on from any message of one of its sessions in a new one.
    pub fork_at_message: bool,
    /// Takes a session file that was written for it.
    pub rebuilt_transcript: bool,
    /// Keeps the state of files and can go back to it.
    pub file_checkpoints: bool,
    pub interrupt: bool,
    pub permissions: bool,
    pub questions: bool,
    pub images: bool,
    pub sub_agents: bool,
    pub compaction: bool,
    /// So many tokens it reads at most; `None` where that depends on the model.
    pub context_window: Option<i64>,
    /// The models it can be told to use, as `PROVIDER/NAME`; `*` at the end stands for any name. `None`: it has not said.
    pub models: Option<&'static [&'static str]>,
    /// The tools it has. `None`: it has not said.
    pub tools: Option<&'static [&'static str]>,
    /// Its ways to ask for permissions. `None`: it has not said.
    pub permission_modes: Option<&'static [&'static str]>,
}

/// A setting that the agent has no such value for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{agent} has no {kind} `{value}`; it has {}", .known.join(", "))]
pub struct Unsupported {
    /// As people call it.
    pub agent: String,
    pub kind: &'static str,
    pub value: String,
    pub known: &'static [&'static str],
}

impl Capabilities {
    /// Checks settings before they are written: one that the agent would ignore is refused. `agent` is its title.
    pub fn support(&self, agent: &str, settings: &[Setting]) -> Result<(), Unsupported> {
        settings.iter().try_for_each(|setting| self.supports(agent, setting))
    }

    fn supports(&self, agent: &str, setting: &Setting) -> Result<(), Unsupported> {
        let check =
            |kind, known: Option<&'static [&'static str]>, value: &str, is_it: fn(&str, &str) -> bool| {
                match known {
                    Some(known) if !known.iter().any(|one| is_it(one, value)) => {
                        Err(Unsupported { agent: agent.to_owned(), kind, value: value.to_owned(), known })
                    }
                    Some(_) | None => Ok(()),
                }
            };
        let is_same = |known: &str, value: &str| known == value;
        match setting {
            Setting::Model { model, .. } => {
                let name = match model.provider.as_str() {
                    "" => model.name.clone(),
                    provider => format!("{provider}/{}", model.name),
                };
                check("model", self.models, &name, is_model)
            }
            Setting::Tools(tools) => {
                tools.iter().try_for_each(|tool| check("tool", self.tools, tool, is_same))
            }
            Setting::PermissionMode(mode) => check("permission mode", self.permission_modes, mode, is_same),
            Setting::Agent(_)
            | Setting::Thinking(_)
            | Setting::Mode { .. }
            | Setting::ServiceTier(_)
            | Setting::Config(_) => Ok(()),
        }
    }
}

/// A name without a provider leaves the provider to the agent.
fn is_model(known: &str, value: &str) -> bool {
    match known.strip_suffix('*') {
        Some(start) => value.strip_prefix(start).is_some_and(|name| !name.is_empty()),
        None => known == value || known.rsplit('/').next() == Some(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    const CAN: Capabilities = Capabilities {
        many_turns: false,
        resume: false,
        fork_at_tip: false,
        fork_at_message: false,
        rebuilt_transcript: false,
        file_checkpoints: false,
        interrupt: false,
        permissions: false,
        questions: false,
        images: false,
        sub_agents: false,
        compaction: false,
        context_window: None,
        models: Some(&["own/one", "demo/*"]),
        tools: Some(&["read", "write"]),
        permission_modes: Some(&["default", "plan"]),
    };

    fn check(setting: Setting, refused: Option<&str>) {
        let told = CAN.support("It", &[setting]).err().map(|refused| refused.to_string());
        assert_eq!(told.as_deref(), refused);
    }

    fn model(provider: &str, name: &str) -> Setting {
        Setting::Model { role: None, model: Model { provider: provider.into(), name: name.into() } }
    }

    #[test]
    fn a_value_that_the_agent_does_not_have_is_refused() {
        check(model("own", "one"), None);
        check(model("", "one"), None);
        check(model("demo", "any"), None);
        check(model("foo", "bar"), Some("It has no model `foo/bar`; it has own/one, demo/*"));
        check(Setting::Tools(vec!["read".into(), "write".into()]), None);
        check(
            Setting::Tools(vec!["read".into(), "bash".into()]),
            Some("It has no tool `bash`; it has read, write"),
        );
        check(Setting::PermissionMode("plan".into()), None);
        check(
            Setting::PermissionMode("yolo".into()),
            Some("It has no permission mode `yolo`; it has default, plan"),
        );
        // An agent that has not said what it has takes anything.
        assert_eq!(Capabilities::default().support("It", &[model("foo", "bar")]), Ok(()));
    }
}
