//! The latest setting of each kind on a path.

use std::sync::Arc;

use super::{Context, ModelRule, NO_THINKING, USUAL_MODEL};
use crate::{Body, Entry, Model, Setting};

/// A context without messages. Settings reach over compactions: those shorten what is read, not how it is run.
pub(super) fn latest(path: &[&Arc<Entry>], rule: ModelRule) -> Context {
    let mut context = Context::default();
    let mut usual: Option<&Model> = None;
    let mut chosen = false;
    for entry in path {
        match &entry.body {
            Body::Setting(Setting::Model { role, model }) => match role.as_deref() {
                None | Some(USUAL_MODEL) => {
                    usual = Some(model);
                    chosen = true;
                }
                Some(role) => {
                    context.models.insert(role.to_owned(), model.clone());
                }
            },
            Body::Setting(setting) => apply(setting, &mut context),
            Body::Reply(reply) => {
                if rule == ModelRule::LatestWins || !chosen {
                    usual = reply.model.as_ref().or(usual);
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
            | Body::Foreign(_) => {}
        }
    }
    if let Some(model) = usual {
        context.set_usual_model(model.clone());
    }
    context
}

fn apply(setting: &Setting, context: &mut Context) {
    match setting {
        Setting::Agent(agent) => context.agent = Some(agent.clone()),
        Setting::Thinking(level) => {
            context.thinking = level.clone().unwrap_or_else(|| NO_THINKING.to_owned());
        }
        Setting::Tools(tools) => context.tools = Some(tools.clone()),
        Setting::PermissionMode(mode) => context.permission_mode = Some(mode.clone()),
        Setting::Mode { mode, data } => {
            context.mode = Some(mode.clone());
            context.mode_data = data.clone();
        }
        Setting::ServiceTier(tier) => context.service_tier = tier.clone(),
        Setting::Config(config) => context.config = Some(config.clone()),
        Setting::Model { .. } => {} // read with the replies, which can name a model too
    }
}
