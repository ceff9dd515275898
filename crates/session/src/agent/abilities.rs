//! What an agent can do with a certain model, as data: [`crate::handoff::plan_handoff`] chooses a handoff from it, and
//! front ends show from it what is possible.

use thiserror::Error;

use crate::Setting;

/// A driver claims each ability; the default is none of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Takes a second prompt after its first answer.
    pub many_turns: bool,
    /// Keeps no session of its own: it reads the branch from its [`super::PathSource`] for every prompt.
    pub stateless: bool,
    /// Continues a session of its own after its process has ended.
    pub resume: bool,
    /// Continues from the end of one of its sessions in a new one.
    pub fork_at_tip: bool,
    /// Continues from any message of one of its sessions in a new one.
    pub fork_at_message: bool,
    /// Takes a session file that was written for it.
    pub rebuilt_transcript: bool,
    /// Takes entries it has not seen together with a prompt, without answering them.
    pub inject: bool,
    /// Gives its entries ids of its own and uses the id of the prompt that it is sent. Prompts get a UUID as id.
    pub entry_ids: bool,
    /// Takes the id of a new session from us.
    pub session_ids: bool,
    /// Keeps the state of files and can restore it.
    pub file_checkpoints: bool,
    pub interrupt: bool,
    pub permissions: bool,
    pub questions: bool,
    pub images: bool,
    pub sub_agents: bool,
    pub compaction: bool,
    /// Keeps a title that can be changed.
    pub rename: bool,
    /// Runs tasks that outlive a turn, and can stop them.
    pub background_tasks: bool,
    /// How many tokens it reads at most; `None` where that is not known.
    pub context_window: Option<i64>,
    /// The models that can be selected, as `PROVIDER/NAME`; `*` at the end matches any name. `None`: not known.
    pub models: Option<Vec<String>>,
    /// The tools it has. `None`: not known.
    pub tools: Option<Vec<String>>,
    /// Its ways to ask for permissions. `None`: not known.
    pub permission_modes: Option<Vec<String>>,
    /// Those of them that it takes only when it starts.
    pub launch_modes: Vec<String>,
    pub settings: SettingsSupport,
}

/// When a changed setting is in force, for each kind of setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SettingsSupport {
    pub model: SettingSupport,
    pub thinking: SettingSupport,
    pub tools: SettingSupport,
    pub permission_mode: SettingSupport,
    pub mode: SettingSupport,
    pub service_tier: SettingSupport,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SettingSupport {
    /// At once, also within a turn.
    Live,
    #[default]
    NextPrompt,
    /// The agent is restarted before the next prompt.
    Restart,
    No {
        reason: &'static str,
    },
}

/// A setting that the agent does not have, or cannot change.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Unsupported {
    #[error("{agent} has no {kind} `{value}`; it has {}", .known.join(", "))]
    Value {
        /// As people call it.
        agent: String,
        kind: &'static str,
        value: String,
        known: Vec<String>,
    },
    #[error("{agent} cannot change its {kind}: {reason}")]
    Kind { agent: String, kind: &'static str, reason: &'static str },
}

impl Abilities {
    /// Checks settings before they are written: one that the agent would ignore is refused. `agent` is its title.
    pub fn support(&self, agent: &str, settings: &[Setting]) -> Result<(), Unsupported> {
        settings.iter().try_for_each(|setting| self.supports(agent, setting))
    }

    /// When a change of this setting is in force. The rest of a setting's life is ours: it never reaches the agent.
    pub fn setting(&self, setting: &Setting) -> SettingSupport {
        match setting {
            Setting::Model { .. } => self.settings.model,
            Setting::Thinking(_) => self.settings.thinking,
            Setting::Tools(_) => self.settings.tools,
            Setting::PermissionMode(mode) if self.launch_modes.contains(mode) => SettingSupport::Restart,
            Setting::PermissionMode(_) => self.settings.permission_mode,
            Setting::Mode { .. } => self.settings.mode,
            Setting::ServiceTier(_) => self.settings.service_tier,
            Setting::Agent(_) | Setting::Config(_) => SettingSupport::NextPrompt,
        }
    }

    fn supports(&self, agent: &str, setting: &Setting) -> Result<(), Unsupported> {
        if let SettingSupport::No { reason } = self.setting(setting) {
            let (agent, kind) = (agent.to_owned(), kind_of(setting));
            return Err(Unsupported::Kind { agent, kind, reason });
        }
        let check = |known: Option<&Vec<String>>, value: &str, is_it: fn(&str, &str) -> bool| match known {
            Some(known) if !known.iter().any(|one| is_it(one, value)) => Err(Unsupported::Value {
                agent: agent.to_owned(),
                kind: kind_of(setting),
                value: value.to_owned(),
                known: known.clone(),
            }),
            Some(_) | None => Ok(()),
        };
        let is_same = |known: &str, value: &str| known == value;
        match setting {
            Setting::Model { model, .. } => {
                let name = match model.provider.as_str() {
                    "" => model.name.clone(),
                    provider => format!("{provider}/{}", model.name),
                };
                check(self.models.as_ref(), &name, is_model)
            }
            Setting::Tools(tools) => {
                tools.iter().try_for_each(|tool| check(self.tools.as_ref(), tool, is_same))
            }
            Setting::PermissionMode(mode) => check(self.permission_modes.as_ref(), mode, is_same),
            Setting::Agent(_)
            | Setting::Thinking(_)
            | Setting::Mode { .. }
            | Setting::ServiceTier(_)
            | Setting::Config(_) => Ok(()),
        }
    }
}

/// As people call it.
fn kind_of(setting: &Setting) -> &'static str {
    match setting {
        Setting::Agent(_) => "agent",
        Setting::Model { .. } => "model",
        Setting::Thinking(_) => "thinking level",
        Setting::Tools(_) => "tool",
        Setting::PermissionMode(_) => "permission mode",
        Setting::Mode { .. } => "mode",
        Setting::ServiceTier(_) => "service tier",
        Setting::Config(_) => "configuration",
    }
}

/// A name without a provider leaves the provider to the agent.
fn is_model(known: &str, value: &str) -> bool {
    match known.strip_suffix('*') {
        Some(start) => value.strip_prefix(start).is_some_and(|name| !name.is_empty()),
        // The name may have slashes of its own.
        None => known.strip_suffix(value).is_some_and(|above| above.is_empty() || above.ends_with('/')),
    }
}

/// A list as [`Abilities`] holds it.
pub fn list(names: &[&str]) -> Option<Vec<String>> {
    Some(names.iter().map(|&name| name.to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Model;

    fn abilities() -> Abilities {
        Abilities {
            models: list(&["own/one", "own/large[1m]", "own/a/b", "demo/*"]),
            tools: list(&["read", "write"]),
            permission_modes: list(&["default", "plan"]),
            settings: SettingsSupport {
                thinking: SettingSupport::No { reason: "it does not think" },
                ..SettingsSupport::default()
            },
            ..Abilities::default()
        }
    }

    fn check(setting: Setting, refused: Option<&str>) {
        let told = abilities().support("It", &[setting]).err().map(|refused| refused.to_string());
        assert_eq!(told.as_deref(), refused);
    }

    fn model(provider: &str, name: &str) -> Setting {
        Setting::Model { role: None, model: Model { provider: provider.into(), name: name.into() } }
    }

    #[test]
    fn a_mode_that_is_taken_only_at_the_start_needs_a_restart() {
        let can = Abilities {
            launch_modes: vec!["bypass".to_owned()],
            settings: SettingsSupport { permission_mode: SettingSupport::Live, ..SettingsSupport::default() },
            ..Abilities::default()
        };
        let support = |mode: &str| can.setting(&Setting::PermissionMode(mode.to_owned()));
        assert_eq!((support("plan"), support("bypass")), (SettingSupport::Live, SettingSupport::Restart));
    }

    #[test]
    fn a_value_that_the_agent_does_not_have_is_refused() {
        check(model("own", "one"), None);
        check(model("", "one"), None);
        check(model("demo", "any"), None);
        check(model("", "large[1m]"), None);
        check(model("a", "b"), None);
        let known = "it has own/one, own/large[1m], own/a/b, demo/*";
        check(model("foo", "bar"), Some(&format!("It has no model `foo/bar`; {known}")));
        check(model("", "large"), Some(&format!("It has no model `large`; {known}")));
        check(model("", "ne"), Some(&format!("It has no model `ne`; {known}")));
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
        check(Setting::Thinking(None), Some("It cannot change its thinking level: it does not think"));
        // An agent that has not said what it has takes anything.
        assert_eq!(Abilities::default().support("It", &[model("foo", "bar")]), Ok(()));
    }
}
