//! Settings that change while the process runs.

use offshoot_session::Setting;
use serde_json::{Value, json};

use super::about::About;
use super::requests::Purpose;
use crate::claude_code::BYPASS;

/// What to do about a setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Change {
    Send(Purpose, Value),
    /// Why it does not change.
    Refuse(String),
    /// Not the CLI's, or changed by a restart.
    Nothing,
}

/// `launched_with` is the permission mode of the launch.
pub(super) fn change(setting: &Setting, about: Option<&About>, launched_with: &str) -> Change {
    match setting {
        Setting::Model { role: Some(_), .. } => Change::Nothing,
        Setting::Model { role: None, model } => {
            if about.is_some_and(|about| !about.has_model(&model.name)) {
                return Change::Refuse(format!("Claude Code has no model `{}`", model.name));
            }
            send("model", &model.name, json!({ "subtype": "set_model", "model": model.name }))
        }
        Setting::PermissionMode(mode) if mode == BYPASS && launched_with != BYPASS => {
            Change::Refuse(format!("Claude Code takes the permission mode `{BYPASS}` only when it starts"))
        }
        Setting::PermissionMode(mode) => {
            send("permission mode", mode, json!({ "subtype": "set_permission_mode", "mode": mode }))
        }
        Setting::Thinking(level) => {
            let effort = level.as_deref().map(effort_of);
            let settings = json!({ "effortLevel": effort });
            send(
                "thinking level",
                effort.unwrap_or("default"),
                json!({ "subtype": "apply_flag_settings", "settings": settings }),
            )
        }
        Setting::Agent(_)
        | Setting::Tools(_)
        | Setting::Mode { .. }
        | Setting::ServiceTier(_)
        | Setting::Config(_) => Change::Nothing,
    }
}

fn send(what: &'static str, value: &str, request: Value) -> Change {
    Change::Send(Purpose::Set { what, value: value.to_owned() }, request)
}

/// The CLI knows `low` to `max`; a model that adapts its thinking cannot be told not to think.
fn effort_of(level: &str) -> &str {
    match level {
        "off" | "minimal" => "low",
        level => level,
    }
}
