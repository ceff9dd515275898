//! What an agent can do, by ability and by setting.

use std::collections::BTreeMap;

use offshoot_session::agent::{Abilities, SettingSupport};
use serde::{Deserialize, Serialize};

use super::ModelView;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbilityView {
    pub can: bool,
    /// When a change is in force: `live`, `next_prompt` or `restart`. Only settings have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub how: Option<String>,
    /// Why it cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

pub type AbilitiesView = BTreeMap<String, AbilityView>;

/// A model of an agent, with the abilities that differ from those of the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentModelView {
    pub model: ModelView,
    /// How many tokens it reads at most.
    pub window: Option<i64>,
    pub abilities: AbilitiesView,
}

/// The abilities that people know, in the order in which they are told.
pub(super) fn words(can: &Abilities) -> [(&'static str, bool); 14] {
    [
        ("many_turns", can.many_turns),
        ("resume", can.resume),
        ("fork_at_tip", can.fork_at_tip),
        ("fork_at_message", can.fork_at_message),
        ("rebuilt_transcript", can.rebuilt_transcript),
        ("file_checkpoints", can.file_checkpoints),
        ("interrupt", can.interrupt),
        ("permissions", can.permissions),
        ("questions", can.questions),
        ("images", can.images),
        ("sub_agents", can.sub_agents),
        ("background_tasks", can.background_tasks),
        ("compaction", can.compaction),
        ("rename", can.rename),
    ]
}

/// All of them, settings included.
pub fn abilities_by_name(can: &Abilities) -> AbilitiesView {
    let abilities = words(can).map(|(name, can)| (name, AbilityView { can, how: None, reason: None }));
    let settings = [
        ("set_model", can.settings.model),
        ("thinking", can.settings.thinking),
        ("set_tools", can.settings.tools),
        ("set_permission_mode", can.settings.permission_mode),
        ("set_mode", can.settings.mode),
        ("set_service_tier", can.settings.service_tier),
    ];
    let settings = settings.map(|(name, support)| (name, AbilityView::from(support)));
    abilities.into_iter().chain(settings).map(|(name, view)| (name.to_owned(), view)).collect()
}

/// What is different with another model.
pub fn differing(of_model: &Abilities, usual: &AbilitiesView) -> AbilitiesView {
    let mut abilities = abilities_by_name(of_model);
    abilities.retain(|name, view| usual.get(name) != Some(view));
    abilities
}

impl From<SettingSupport> for AbilityView {
    fn from(support: SettingSupport) -> Self {
        let how = |how: &str| Self { can: true, how: Some(how.to_owned()), reason: None };
        match support {
            SettingSupport::Live => how("live"),
            SettingSupport::NextPrompt => how("next_prompt"),
            SettingSupport::Restart => how("restart"),
            SettingSupport::No { reason } => Self { can: false, how: None, reason: Some(reason.to_owned()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use offshoot_session::agent::SettingsSupport;

    use super::*;

    #[test]
    fn a_setting_says_when_it_is_in_force_or_why_not() {
        let settings = SettingsSupport {
            model: SettingSupport::Live,
            tools: SettingSupport::Restart,
            service_tier: SettingSupport::No { reason: "it has none" },
            ..SettingsSupport::default()
        };
        let can = Abilities { resume: true, settings, ..Abilities::default() };
        let view = abilities_by_name(&can);
        let how = |name: &str| view.get(name).and_then(|view| view.how.as_deref());
        assert_eq!((how("set_model"), how("thinking")), (Some("live"), Some("next_prompt")));
        assert_eq!((how("set_tools"), how("resume")), (Some("restart"), None));
        let tier = view.get("set_service_tier").expect("told");
        assert_eq!((tier.can, tier.reason.as_deref()), (false, Some("it has none")));
        let smaller = Abilities { images: true, ..can.clone() };
        assert_eq!(differing(&smaller, &view).into_keys().collect::<Vec<_>>(), ["images"]);
        assert!(differing(&can, &view).is_empty());
    }
}
