//! Which settings hold at a point of a tree: agent, model, thinking, tools, permissions, mode.
//!
//! [`InForce`] is the only answer to that question. The agent is told its choices, and the view of a session, `/model`,
//! `show --context` and the exports print them, so they cannot disagree. A choice is a setting on the path, or what the
//! header says, and it wins over the model that a reply names: a fallback model is not a choice. A reply counts only
//! where nobody ever chose.

use crate::context::USUAL_MODEL;
use crate::{Body, Entry, EntryId, Model, SessionHeader, SessionTree, Setting};

/// What oh-my-pi writes when a rule interrupts a reply: the rules it has told the model.
pub const INJECTED_RULES: &str = "ttsr_injection";

/// The settings at a point, and what the replies above it say where nothing was chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InForce {
    chosen: Vec<Setting>,
    /// Of the latest reply that names one.
    replied: Option<Model>,
    /// Of the latest setting or reply that names one.
    latest: Option<Model>,
    injected_rules: Vec<String>,
}

impl InForce {
    /// At an entry; `None` is before the first one.
    pub fn at(tree: &SessionTree, at: Option<&EntryId>) -> Self {
        Self::on(tree.header(), tree.path_to(at).into_iter().map(AsRef::as_ref))
    }

    /// At the end of a path, given root first. Entries that say nothing about settings may be left out of it.
    pub fn on<'e>(header: Option<&SessionHeader>, path: impl IntoIterator<Item = &'e Entry>) -> Self {
        let mut in_force = Self::default();
        if let Some(header) = header {
            header.agent.clone().map(Setting::Agent).into_iter().for_each(|agent| in_force.choose(agent));
            let model = header.model.clone().map(|model| Setting::Model { role: None, model });
            model.into_iter().for_each(|model| in_force.choose(model));
        }
        path.into_iter().for_each(|entry| in_force.pass(&entry.body));
        in_force
    }

    /// Goes down one entry.
    pub fn pass(&mut self, body: &Body) {
        match body {
            Body::Setting(setting) => self.choose(setting.clone()),
            Body::Reply(reply) => {
                if let Some(model) = &reply.model {
                    self.replied = Some(model.clone());
                    self.latest = Some(model.clone());
                }
            }
            Body::Foreign(foreign) if foreign.kind == INJECTED_RULES => {
                let rules = foreign.text.as_deref().unwrap_or_default().lines();
                for rule in rules.filter(|rule| !rule.is_empty()) {
                    if !self.injected_rules.iter().any(|known| known == rule) {
                        self.injected_rules.push(rule.to_owned());
                    }
                }
            }
            Body::Prompt(_)
            | Body::ToolResult(_)
            | Body::Shell(_)
            | Body::Interrupted(_)
            | Body::BranchSummary(_)
            | Body::Compaction(_)
            | Body::Merge(_)
            | Body::CustomMessage(_)
            | Body::Note(_)
            | Body::System(_)
            | Body::Cleared
            | Body::ContextEdit(_)
            | Body::Foreign(_) => {}
        }
    }

    /// Puts a setting in the place of the one of its kind.
    pub fn choose(&mut self, setting: Setting) {
        let setting = in_usual_role(setting);
        if let Setting::Model { role: None, model } = &setting {
            self.latest = Some(model.clone());
        }
        self.chosen.retain(|other| !other.is_same_kind(&setting));
        self.chosen.push(setting);
    }

    /// Takes settings and returns those that change something, the last of each kind.
    pub fn choose_all(&mut self, settings: Vec<Setting>) -> Vec<Setting> {
        let mut changes: Vec<Setting> = Vec::new();
        for setting in settings {
            changes.retain(|other| !other.is_same_kind(&setting));
            if !self.holds(&setting) {
                changes.push(setting);
            }
        }
        changes.iter().for_each(|setting| self.choose(setting.clone()));
        changes
    }

    /// Whether choosing it would change nothing.
    pub fn holds(&self, setting: &Setting) -> bool {
        let setting = &in_usual_role(setting.clone());
        match (self.chosen.iter().find(|other| other.is_same_kind(setting)), setting) {
            (Some(found), setting) => found == setting,
            (None, Setting::Model { role: None, model }) => self.replied.as_ref() == Some(model),
            (None, _) => false,
        }
    }

    /// The latest choice of each kind, in the order in which they were made.
    pub fn chosen(&self) -> &[Setting] {
        &self.chosen
    }

    pub fn into_chosen(self) -> Vec<Setting> {
        self.chosen
    }

    pub fn agent(&self) -> Option<&str> {
        self.chosen.iter().find_map(|setting| match setting {
            Setting::Agent(agent) => Some(agent.as_str()),
            _ => None,
        })
    }

    /// The usual model. Returns `None` if nobody chose one and no reply names one.
    pub fn model(&self) -> Option<&Model> {
        self.chosen_model().or(self.replied.as_ref())
    }

    /// The usual model as pi sees it: whichever setting or reply named one last.
    pub fn latest_model(&self) -> Option<&Model> {
        self.latest.as_ref()
    }

    /// Returns `None` if nobody chose one, whatever replies name.
    pub fn chosen_model(&self) -> Option<&Model> {
        self.chosen.iter().find_map(|setting| match setting {
            Setting::Model { role: None, model } => Some(model),
            _ => None,
        })
    }

    /// The rules that oh-my-pi has told the model on this path (its TTSR state), in the order of their first time.
    pub fn injected_rules(&self) -> &[String] {
        &self.injected_rules
    }
}

/// The usual model has a role in some formats.
fn in_usual_role(setting: Setting) -> Setting {
    match setting {
        Setting::Model { role: Some(role), model } if role == USUAL_MODEL => {
            Setting::Model { role: None, model }
        }
        other => other,
    }
}
