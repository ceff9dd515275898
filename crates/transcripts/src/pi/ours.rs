//! Entries that pi has no kind for, as `custom` lines under our own name, so that reading the file back gives
//! them again. pi itself shows and sends nothing of them.

use offshoot_session::{
    Body, CustomMessage, EntryId, Foreign, Interruption, Merge, Model, Note, Setting, text_of,
};
use serde_json::{Value, json};

use crate::Loss;
use crate::json::{Map, string, strings, text};

pub(super) const MERGE: &str = "offshoot.merge";
const INTERRUPTED: &str = "offshoot.interrupted";
const CLEARED: &str = "offshoot.cleared";
const SETTING: &str = "offshoot.setting";
const FOREIGN: &str = "offshoot.foreign";

/// Kind and data of the `custom` line, and what pi does not do with it.
pub(super) struct Custom {
    pub(super) kind: &'static str,
    pub(super) data: Value,
    pub(super) loss: Loss,
}

pub(super) fn interrupted(why: Interruption) -> Custom {
    let data = match why {
        Interruption::Wanted => json!({}),
        Interruption::Crash => json!({ "crash": true }),
    };
    Custom { kind: INTERRUPTED, data, loss: Loss::Interruptions }
}

pub(super) fn cleared() -> Custom {
    Custom { kind: CLEARED, data: json!({}), loss: Loss::Clearings }
}

pub(super) fn foreign(foreign: &Foreign) -> Custom {
    let data = json!({ "kind": foreign.kind, "text": foreign.text });
    Custom { kind: FOREIGN, data, loss: Loss::ForeignEntries }
}

pub(super) fn merge_without_words(merge: &Merge) -> Custom {
    Custom { kind: MERGE, data: json!({ "from": merge.from.as_str() }), loss: Loss::MergeSides }
}

pub(super) fn setting(setting: &Setting) -> Custom {
    let data = match setting {
        Setting::Agent(agent) => json!({ "agent": agent }),
        Setting::Model { role, model } => {
            json!({ "role": role, "provider": model.provider, "model": model.name })
        }
        Setting::Thinking(level) => json!({ "thinking": level }),
        Setting::Tools(tools) => json!({ "tools": tools }),
        Setting::PermissionMode(mode) => json!({ "permissionMode": mode }),
        Setting::Mode { mode, data } => json!({ "mode": mode, "data": data }),
        Setting::ServiceTier(tier) => json!({ "serviceTier": tier }),
        Setting::Config(config) => json!({ "config": config }),
    };
    Custom { kind: SETTING, data, loss: Loss::Settings }
}

/// A `custom` line: one of ours, or a note of an extension.
pub(super) fn body_of_custom(line: &Map) -> Body {
    let kind = string(line, "customType");
    let data = line.get("data").cloned();
    let ours = data.as_ref().and_then(Value::as_object).and_then(|data| body_of_ours(&kind, data));
    ours.unwrap_or(Body::Note(Note { kind, data }))
}

/// A `custom_message` line: a merge of ours, or words of an extension.
pub(super) fn body_of_custom_message(line: &Map, message: CustomMessage) -> Body {
    let details = line.get("details").and_then(Value::as_object);
    match details.and_then(|details| text(details, "from")) {
        Some(from) if message.kind == MERGE => {
            Body::Merge(Merge { from: EntryId::from(from), summary: Some(text_of(&message.blocks)) })
        }
        Some(_) | None => Body::CustomMessage(message),
    }
}

fn body_of_ours(kind: &str, data: &Map) -> Option<Body> {
    match kind {
        INTERRUPTED => Some(Body::Interrupted(match data.get("crash") {
            Some(Value::Bool(true)) => Interruption::Crash,
            Some(_) | None => Interruption::Wanted,
        })),
        CLEARED => Some(Body::Cleared),
        MERGE => text(data, "from").map(|from| Body::Merge(Merge { from: from.into(), summary: None })),
        FOREIGN => Some(Body::Foreign(Foreign {
            kind: string(data, "kind"),
            text: text(data, "text").map(str::to_owned),
        })),
        SETTING => setting_of(data).map(Body::Setting),
        _ => None,
    }
}

fn setting_of(data: &Map) -> Option<Setting> {
    let optional = |key| text(data, key).map(str::to_owned);
    if let Some(name) = optional("model") {
        let model = Model { provider: string(data, "provider"), name };
        Some(Setting::Model { role: optional("role"), model })
    } else if let Some(mode) = optional("mode") {
        Some(Setting::Mode { mode, data: data.get("data").filter(|data| !data.is_null()).cloned() })
    } else if data.contains_key("thinking") {
        Some(Setting::Thinking(optional("thinking")))
    } else if data.contains_key("tools") {
        Some(Setting::Tools(strings(data, "tools")))
    } else if data.contains_key("serviceTier") {
        Some(Setting::ServiceTier(optional("serviceTier")))
    } else if let Some(config) = data.get("config") {
        Some(Setting::Config(config.clone()))
    } else {
        optional("agent")
            .map(Setting::Agent)
            .or_else(|| optional("permissionMode").map(Setting::PermissionMode))
    }
}
