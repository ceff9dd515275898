//! How the agent runs. Every turn tells all of it; only what differs from before is worth an entry.

use offshoot_session::{Model, Setting};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::{Map, text};
use crate::nested::object;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Settings {
    model: Option<String>,
    provider: Option<String>,
    /// The outer `None`: not told.
    effort: Option<Option<String>>,
    approval: Option<String>,
    sandbox: Option<Value>,
    mode: Option<String>,
    tier: Option<Option<String>>,
}

/// `turn_context`
pub(super) fn of_turn(payload: &Map) -> Settings {
    let mode = object(payload, "collaboration_mode");
    let inner = mode.and_then(|mode| object(mode, "settings"));
    Settings {
        model: text(payload, "model").map(str::to_owned),
        provider: None,
        effort: optional(payload, "effort").or_else(|| optional(inner?, "reasoning_effort")),
        approval: text(payload, "approval_policy").map(str::to_owned),
        sandbox: payload.get("sandbox_policy").filter(|policy| !policy.is_null()).cloned(),
        mode: mode.and_then(|mode| text(mode, "mode")).map(str::to_owned),
        tier: None,
    }
}

/// `thread_settings_applied`
pub(super) fn of_thread(payload: &Map) -> Settings {
    let Some(settings) = object(payload, "thread_settings") else { return Settings::default() };
    Settings {
        provider: text(settings, "model_provider_id").map(str::to_owned),
        effort: optional(settings, "reasoning_effort").or_else(|| of_turn(settings).effort),
        sandbox: None,
        tier: optional(settings, "service_tier").map(|tier| tier.filter(|tier| tier != "default")),
        ..of_turn(settings)
    }
}

fn optional(map: &Map, key: &str) -> Option<Option<String>> {
    match map.get(key)? {
        Value::String(text) => Some(Some(text.clone())),
        Value::Null => Some(None),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Settings {
    /// The provider is told once, in the header.
    pub(super) fn with_provider(provider: Option<String>) -> Self {
        Self { provider, ..Self::default() }
    }

    pub(super) fn model(&self) -> Option<Model> {
        let provider = self.provider.clone().unwrap_or_default();
        self.model.clone().map(|name| Model { provider, name })
    }

    /// Takes what is told and names each change; the names are stable parts of ids.
    pub(super) fn change_to(&mut self, told: Settings) -> Vec<(&'static str, Setting)> {
        let before = self.model();
        let mut changes = Vec::new();
        replace(&mut self.provider, told.provider);
        replace(&mut self.model, told.model);
        if let Some(model) = self.model().filter(|model| before.as_ref() != Some(model)) {
            changes.push(("model", Setting::Model { role: None, model }));
        }
        let had_effort = self.effort.clone().flatten();
        if replace(&mut self.effort, told.effort) && self.effort.clone().flatten() != had_effort {
            changes.push(("effort", Setting::Thinking(self.effort.clone().flatten())));
        }
        if let Some(approval) = told.approval
            && replace(&mut self.approval, Some(approval.clone()))
        {
            changes.push(("approval", Setting::PermissionMode(approval)));
        }
        if let Some(sandbox) = told.sandbox
            && replace(&mut self.sandbox, Some(sandbox.clone()))
        {
            let mut config = Map::new();
            config.insert("sandbox_policy".into(), sandbox);
            changes.push(("sandbox", Setting::Config(Value::Object(config))));
        }
        let had_mode = self.mode.is_some();
        if let Some(mode) = told.mode
            && replace(&mut self.mode, Some(mode.clone()))
            && (had_mode || mode != "default")
        {
            changes.push(("mode", Setting::Mode { mode, data: None }));
        }
        let had_tier = self.tier.clone().flatten();
        if replace(&mut self.tier, told.tier) && self.tier.clone().flatten() != had_tier {
            changes.push(("tier", Setting::ServiceTier(self.tier.clone().flatten())));
        }
        changes
    }
}

/// Whether something new was told.
fn replace<T: PartialEq>(old: &mut Option<T>, told: Option<T>) -> bool {
    let is_new = told.is_some() && *old != told;
    if is_new {
        *old = told;
    }
    is_new
}
