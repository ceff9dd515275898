//! Changing how the agent runs: settings below the head, in force from there on.
//!
//! A setting is a node of the tree. Going back above it and asking again makes two branches that differ in their
//! settings, so nothing more is needed to compare models. Who wants one session for each configuration takes
//! [`plan_config_session`].

use serde_json::{Value, json};
use thiserror::Error;

use super::Plan;
use super::fork::{Copied, NewSession, copy_path};
use crate::{
    Body, BranchReason, Entry, HeadMove, HeadName, Model, Record, Reply, SessionTree, Setting, Stamps,
};

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ConfigRefused {
    #[error("head `{0}` does not exist")]
    UnknownHead(HeadName),
}

/// Settings that are in force already are dropped; `None` where none is left.
pub fn plan_config_change(
    tree: &SessionTree,
    head: &HeadName,
    settings: Vec<Setting>,
    stamps: &mut dyn Stamps,
) -> Result<Option<Plan>, ConfigRefused> {
    let changes = InForce::at(tree, head)?.changed_by(settings);
    if changes.is_empty() {
        return Ok(None);
    }
    let mut plan = Plan::named("change settings", stamps);
    let mut tip = tree.head(head).cloned();
    for setting in changes {
        tip = Some(plan.write(tip, None, Body::Setting(setting), stamps));
    }
    plan.move_head(tree, head, tip, stamps);
    Ok(Some(plan))
}

/// The same change in a session of its own, which begins with all that was said up to the head.
pub fn plan_config_session(
    tree: &SessionTree,
    head: &HeadName,
    settings: Vec<Setting>,
    stamps: &mut dyn Stamps,
) -> Result<Option<NewSession>, ConfigRefused> {
    let mut in_force = InForce::at(tree, head)?;
    let old_model = in_force.model().map(model_name);
    let before = in_force.settings.clone();
    let changes = in_force.changed_by(settings);
    if changes.is_empty() {
        return Ok(None);
    }
    let new_model = in_force.model().map(model_name);
    let mut metadata = json!({ "old_model": old_model, "new_model": new_model });
    if let Some(metadata) = metadata.as_object_mut() {
        // The model is told above, under the names it always had.
        let others = changes.iter().filter(|change| !matches!(change, Setting::Model { role: None, .. }));
        for (name, new) in others.map(told) {
            let old = before.iter().map(told).find(|(other, _)| *other == name).map(|(_, old)| old);
            metadata.insert(format!("old_{name}"), old.unwrap_or(Value::Null));
            metadata.insert(format!("new_{name}"), new);
        }
    }
    let copied = Copied { reason: BranchReason::ConfigChange, metadata: Some(metadata) };
    let mut session = copy_path(tree, tree.head(head), copied, stamps);
    let from = session.head.clone();
    for setting in changes {
        let id = stamps.entry_id();
        session.records.push(Record::entry(Entry {
            id: id.clone(),
            parent: session.head.replace(id),
            written_at: stamps.now(),
            turn: None,
            body: Body::Setting(setting),
        }));
    }
    let to = session.head.clone();
    let head_move = HeadMove { head: HeadName::main(), moved_at: stamps.now(), from, to };
    session.records.push(Record::head_moved(head_move));
    Ok(Some(session))
}

/// The latest setting of each kind on a path.
struct InForce {
    settings: Vec<Setting>,
    /// Of the replies, where no setting says it.
    last_used: Option<Model>,
}

impl InForce {
    fn at(tree: &SessionTree, head: &HeadName) -> Result<Self, ConfigRefused> {
        if !tree.has_head(head) {
            return Err(ConfigRefused::UnknownHead(head.clone()));
        }
        let mut in_force = Self { settings: Vec::new(), last_used: None };
        if let Some(header) = tree.header() {
            in_force.take_all(header.agent.clone().map(Setting::Agent));
            in_force.take_all(header.model.clone().map(|model| Setting::Model { role: None, model }));
        }
        for entry in tree.path_to(tree.head(head)) {
            if let Body::Setting(setting) = &entry.body {
                in_force.take_all([setting.clone()]);
            } else if let Body::Reply(Reply { model: Some(model), .. }) = &entry.body {
                in_force.last_used = Some(model.clone());
            }
        }
        Ok(in_force)
    }

    fn take_all(&mut self, settings: impl IntoIterator<Item = Setting>) {
        for setting in settings {
            self.settings.retain(|other| !same_kind(other, &setting));
            self.settings.push(setting);
        }
    }

    /// Takes the settings and gives those that change something.
    fn changed_by(&mut self, settings: Vec<Setting>) -> Vec<Setting> {
        let mut changes: Vec<Setting> = Vec::new();
        let before = self.settings.clone();
        for setting in settings {
            changes.retain(|other| !same_kind(other, &setting));
            if !is_in_force(&before, self.last_used.as_ref(), &setting) {
                changes.push(setting);
            }
        }
        self.take_all(changes.clone());
        changes
    }

    fn model(&self) -> Option<&Model> {
        self.settings
            .iter()
            .find_map(
                |setting| {
                    if let Setting::Model { role: None, model } = setting { Some(model) } else { None }
                },
            )
            .or(self.last_used.as_ref())
    }
}

fn is_in_force(in_force: &[Setting], last_used: Option<&Model>, setting: &Setting) -> bool {
    match (in_force.iter().find(|other| same_kind(other, setting)), setting) {
        (Some(found), setting) => found == setting,
        (None, Setting::Model { role: None, model }) => last_used == Some(model),
        (None, _) => false,
    }
}

/// Whether the later one takes the place of the earlier one.
fn same_kind(one: &Setting, other: &Setting) -> bool {
    match (one, other) {
        (Setting::Model { role: one, .. }, Setting::Model { role: other, .. }) => one == other,
        _ => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// The name of a setting, and its value.
fn told(setting: &Setting) -> (String, Value) {
    let (name, value) = match setting {
        Setting::Agent(agent) => ("agent", json!(agent)),
        Setting::Model { role: None, model } => ("model", json!(model_name(model))),
        Setting::Model { role: Some(role), model } => {
            return (format!("model_{role}"), json!(model_name(model)));
        }
        Setting::Thinking(level) => ("thinking", json!(level)),
        Setting::Tools(tools) => ("tools", json!(tools)),
        Setting::PermissionMode(mode) => ("permission_mode", json!(mode)),
        Setting::Mode { mode, data: _ } => ("mode", json!(mode)),
        Setting::ServiceTier(tier) => ("service_tier", json!(tier)),
        Setting::Config(value) => ("config", value.clone()),
    };
    (name.to_owned(), value)
}

fn model_name(model: &Model) -> String {
    format!("{}/{}", model.provider, model.name)
}
