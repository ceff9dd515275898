//! Why a session or a branch differs from its parent: old and new values as data, and in a few words.
//!
//! [`changed_settings`] and [`edited_message`] write the `metadata` of a [`Lineage`], for child sessions and for exports.
//! [`Lineage::describe`] turns a lineage into text for lists: `retry of #2`, `model a/x → a/y`. Sessions of other
//! programs carry any metadata, so what is not understood is left out of the text.

use serde_json::{Map, Value, json};

use crate::in_force::InForce;
use crate::{Body, BranchReason, Lineage, Model, Setting};

/// The number of the turn that was edited or asked again, in the metadata.
pub const TURN: &str = "turn";

/// The role of an edited message that is not a prompt, in the metadata.
const ROLE: &str = "role";

/// Longer texts are cut in the metadata.
const TEXT_IN_METADATA: usize = 200;

/// More changed settings than these are counted, not listed.
const DESCRIBED: usize = 2;

impl Lineage {
    /// The reason in a few words, such as `retry of #2` or `model a/x → a/y`. Returns `None` if no reason is known.
    pub fn describe(&self) -> Option<String> {
        let metadata = self.metadata.as_ref().and_then(Value::as_object);
        let turn = metadata.and_then(|metadata| metadata.get(TURN)?.as_u64());
        let of_turn = |word: &str| turn.map_or_else(|| word.to_owned(), |turn| format!("{word} of #{turn}"));
        let changes = metadata.map(described_changes).unwrap_or_default();
        let with_changes = |reason: String| [&[reason], changes.as_slice()].concat().join(", ");
        Some(match self.reason.as_ref()? {
            BranchReason::ConfigChange if changes.is_empty() => "settings".to_owned(),
            BranchReason::ConfigChange => changes.join(", "),
            BranchReason::MessageEdit => with_changes(of_turn(edited_role(metadata))),
            BranchReason::Retry => with_changes(of_turn("retry")),
            BranchReason::Fork => "fork".to_owned(),
            BranchReason::Other(word) => word.clone(),
        })
    }
}

/// `edit`, or which message of a turn was edited.
fn edited_role(metadata: Option<&Map<String, Value>>) -> &'static str {
    match metadata.and_then(|metadata| metadata.get(ROLE)?.as_str()) {
        Some("assistant") => "edited reply",
        Some("tool") => "edited tool result",
        Some(_) | None => "edit",
    }
}

/// `model a/x → a/y` for every setting that has another value, the model first.
fn described_changes(metadata: &Map<String, Value>) -> Vec<String> {
    let changes = metadata.iter().filter_map(|(key, new)| {
        let name = key.strip_prefix("new_").filter(|name| *name != "text")?;
        let old = metadata.get(&format!("old_{name}")).unwrap_or(&Value::Null);
        (old != new).then(|| (name != "model", described_change(name, old, new)))
    });
    let mut changes: Vec<(bool, String)> = changes.collect();
    changes.sort_by_key(|(is_other, _)| *is_other);
    let more = changes.len().saturating_sub(DESCRIBED);
    changes.truncate(DESCRIBED);
    let more = (more > 0).then(|| format!("{more} more"));
    changes.into_iter().map(|(_, change)| change).chain(more).collect()
}

/// Values that are not one word, such as lists of tools, are left out.
fn described_change(name: &str, old: &Value, new: &Value) -> String {
    let name = name.replace('_', " ");
    match (old.as_str(), new.as_str()) {
        (Some(old), Some(new)) => format!("{name} {old} → {new}"),
        (None, Some(new)) if old.is_null() => format!("{name} {new}"),
        (Some(_) | None, Some(_) | None) => name,
    }
}

/// The settings of one point that another one does not have.
pub fn changes_between(before: &InForce, after: &InForce) -> Vec<Setting> {
    after.chosen().iter().filter(|setting| !before.holds(setting)).cloned().collect()
}

/// `old_` and `new_` of the model and of every other setting in `changes`. The model is included even if it stays.
pub fn changed_settings(before: &InForce, after: &InForce, changes: &[Setting]) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("old_model".into(), json!(before.model().map(model_name)));
    metadata.insert("new_model".into(), json!(after.model().map(model_name)));
    let others = changes.iter().filter(|change| !matches!(change, Setting::Model { role: None, .. }));
    for (name, new) in others.map(name_and_value) {
        let old = before.chosen().iter().map(name_and_value).find(|(other, _)| *other == name);
        metadata.insert(format!("old_{name}"), old.map_or(Value::Null, |(_, old)| old));
        metadata.insert(format!("new_{name}"), new);
    }
    metadata
}

/// `old_text` and `new_text` of a message, the first line of each, and its role unless it is a prompt.
pub fn edited_message(old: &Body, new: &Body) -> Map<String, Value> {
    let text = |body: &Body| Value::from(beginning(&body.text(), TEXT_IN_METADATA));
    let role = role_of(old).map(|role| (ROLE.to_owned(), Value::from(role)));
    let texts = [("old_text".to_owned(), text(old)), ("new_text".to_owned(), text(new))];
    texts.into_iter().chain(role).collect()
}

/// As other programs name it. Returns `None` for prompts and for what is not a message.
fn role_of(body: &Body) -> Option<&'static str> {
    match body {
        Body::Reply(_) => Some("assistant"),
        Body::ToolResult(_) => Some("tool"),
        Body::System(_) => Some("system"),
        Body::CustomMessage(_) => Some("custom"),
        Body::Prompt(_)
        | Body::Shell(_)
        | Body::Interrupted(_)
        | Body::BranchSummary(_)
        | Body::Compaction(_)
        | Body::Setting(_)
        | Body::Merge(_)
        | Body::Note(_)
        | Body::ContextEdit(_)
        | Body::Cleared
        | Body::Foreign(_) => None,
    }
}

/// A setting as metadata names it, behind `old_` and `new_`.
pub fn name_and_value(setting: &Setting) -> (String, Value) {
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

/// Some formats know no provider.
fn model_name(model: &Model) -> String {
    if model.provider.is_empty() { model.name.clone() } else { format!("{}/{}", model.provider, model.name) }
}

/// The first line, cut if it is longer.
pub(crate) fn beginning(text: &str, longest: usize) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default().trim_end();
    let cut: String = line.chars().take(longest).collect();
    if cut.len() < text.len() { format!("{}…", cut.trim_end()) } else { cut }
}
