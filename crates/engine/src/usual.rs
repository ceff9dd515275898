//! With what a conversation begins where nobody has chosen.

use offshoot_session::Setting;

use crate::settings::Settings;

/// What is written down above a prompt: what was chosen for it, and what is usual where the way to it says nothing. What
/// is usual may change later; with what was spoken does not. The model and the others are those of the usual agent.
pub(crate) fn begins_with(known: Vec<Setting>, chosen: Vec<Setting>, settings: &Settings) -> Vec<Setting> {
    let usual_agent = settings.default_agent.clone().map(Setting::Agent);
    let named =
        |settings: &[Setting]| settings.iter().find(|setting| matches!(setting, Setting::Agent(_))).cloned();
    let agent = named(&chosen).or_else(|| named(&known)).or_else(|| usual_agent.clone());
    let mut usual: Vec<Setting> = agent.clone().into_iter().collect();
    if agent == usual_agent {
        let model = settings.default_model.clone().map(|model| Setting::Model { role: None, model });
        let thinking = settings.default_thinking.clone().map(|level| Setting::Thinking(Some(level)));
        let tools = settings.default_tools.clone().map(Setting::Tools);
        let mode = settings.default_permission_mode.clone().map(Setting::PermissionMode);
        let unsaid = [model, thinking, tools, mode].into_iter().flatten();
        usual.extend(unsaid.filter(|setting| !known.iter().any(|other| other.is_same_kind(setting))));
    }
    for setting in chosen {
        usual.retain(|other| !other.is_same_kind(&setting));
        usual.push(setting);
    }
    usual.retain(|setting| !known.contains(setting));
    usual
}

#[cfg(test)]
mod tests {
    use offshoot_session::Model;

    use super::*;

    fn usual() -> Settings {
        Settings {
            default_agent: Some("usual".to_owned()),
            default_model: Some(Model { provider: "p".to_owned(), name: "m".to_owned() }),
            default_thinking: Some("high".to_owned()),
            ..Settings::default()
        }
    }

    fn agent(name: &str) -> Setting {
        Setting::Agent(name.to_owned())
    }

    fn thinking(level: &str) -> Setting {
        Setting::Thinking(Some(level.to_owned()))
    }

    #[test]
    fn what_is_usual_is_written_down_once() {
        let first = begins_with(Vec::new(), Vec::new(), &usual());
        assert_eq!(first.len(), 3, "{first:?}");
        assert_eq!((first.first(), first.last()), (Some(&agent("usual")), Some(&thinking("high"))));
        assert_eq!(begins_with(first, Vec::new(), &usual()), []);
        assert_eq!(begins_with(Vec::new(), Vec::new(), &Settings::default()), []);
    }

    #[test]
    fn what_was_said_on_the_way_stays() {
        let known = vec![agent("usual"), thinking("low")];
        let more = begins_with(known, Vec::new(), &usual());
        assert!(matches!(more.as_slice(), [Setting::Model { role: None, .. }]), "{more:?}");
    }

    #[test]
    fn another_agent_begins_with_what_is_its_own() {
        assert_eq!(begins_with(Vec::new(), vec![agent("other")], &usual()), [agent("other")]);
        assert_eq!(begins_with(vec![agent("other")], Vec::new(), &usual()), []);
        let back = begins_with(vec![agent("other")], vec![agent("usual")], &usual());
        assert_eq!(back.len(), 3, "{back:?}");
    }
    #[test]
    fn what_was_chosen_counts_more_than_what_is_usual() {
        let begun = begins_with(Vec::new(), vec![thinking("low")], &usual());
        assert_eq!((begun.len(), begun.last()), (3, Some(&thinking("low"))), "{begun:?}");
        assert_eq!(begins_with(begun, vec![thinking("low")], &usual()), []);
    }
}
