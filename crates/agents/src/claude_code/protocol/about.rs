//! What the CLI says about itself.

use offshoot_session::agent::AgentInfo;
use serde_json::Value;

use super::json::{Map, list, object, text};
use super::usage::model;

/// The answer to `initialize`.
#[derive(Debug, Default)]
pub(super) struct About {
    pub(super) is_signed_in: bool,
    pub(super) version: Option<String>,
    pub(super) permission_mode: Option<String>,
    pub(super) account: Option<String>,
    /// Names under which a model can be selected; an alias is followed by the model it means.
    models: Vec<String>,
}

impl About {
    pub(super) fn of(answer: &Map) -> Self {
        let account = object(answer, "account");
        let field =
            |key: &str| account.and_then(|account| text(account, key)).filter(|value| *value != "none");
        let token = field("tokenSource").or(field("apiKeySource"));
        let is_first_party = field("apiProvider").is_none_or(|provider| provider == "firstParty");
        let mut models: Vec<String> = Vec::new();
        for known in list(answer, "models").iter().filter_map(Value::as_object) {
            for name in [text(known, "value"), text(known, "resolvedModel")].into_iter().flatten() {
                if !models.iter().any(|model| model == name) {
                    models.push(name.to_owned());
                }
            }
        }
        Self {
            // An answer that says nothing of accounts is not taken for a refusal.
            is_signed_in: account.is_none() || token.is_some() || !is_first_party,
            version: text(answer, "claude_code_version").map(str::to_owned),
            permission_mode: text(answer, "current_permission_mode").map(str::to_owned),
            account: field("email").or(field("organization")).or(token).map(str::to_owned),
            models,
        }
    }

    /// Unknown names are accepted by the CLI and fail at the next request, so they are checked here.
    pub(super) fn has_model(&self, name: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|model| model == name)
    }

    pub(super) fn complete(&self, info: &mut AgentInfo) {
        info.models = self.models.iter().filter_map(|name| model(name)).collect();
        info.account.clone_from(&self.account);
        if self.version.is_some() {
            info.version.clone_from(&self.version);
        }
        if self.permission_mode.is_some() {
            info.permission_mode.clone_from(&self.permission_mode);
        }
    }
}
