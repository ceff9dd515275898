//! A setting that was changed: from what to what, and whether the next message starts a branch with it. The event tells
//! only what is new; the journal knows the rest.

use offshoot_api::views::{EntryView, ModelView, SettingView};
use offshoot_session::context::{Context, ContextOptions, context_of};
use offshoot_session::{Body, EntryId, SessionTree};

use super::session::Chat;
use crate::failure::Failure;
use crate::look::{Ink, Sign};
use crate::talk::telling::setting_told;
use crate::words::chatting as words;
use crate::words::talking::model_name;

impl Chat<'_> {
    pub(super) fn tell_setting(&mut self, entry: &EntryView, setting: &SettingView) -> Result<(), Failure> {
        let session = self.session.as_deref().map(Into::into);
        // What cannot be read is told without it.
        let tree = session.and_then(|session| self.storage.read(self.here, &session).ok());
        let line = tree.map_or_else(|| setting_told(setting), |tree| self.change_told(&tree, entry, setting));
        self.interrupt_invitation()?;
        self.tell(Ink::Faint, &line)
    }

    fn change_told(&self, tree: &SessionTree, entry: &EntryView, setting: &SettingView) -> String {
        let id = EntryId::from(entry.id.as_str());
        let above = tree.parent(&id).map(|parent| &parent.id);
        let before = context_of(tree, above, &ContextOptions::default());
        let told = match (name(setting), was(setting, &before), is(setting)) {
            (Some(what), Some(old), Some(new)) => {
                words::changes_here(what, &old, self.here.look.sign(Sign::GoesTo), &new)
            }
            _ => format!("{}.", setting_told(setting)),
        };
        match name(setting).filter(|_| starts_a_branch(tree, &id)) {
            Some(what) => format!("{told} {}", words::starts_branch(what)),
            None => told,
        }
    }
}

fn name(setting: &SettingView) -> Option<&'static str> {
    match setting {
        SettingView::Agent(_) => Some("Agent"),
        SettingView::Model { role: None, .. } => Some("Model"),
        SettingView::Thinking(_) => Some("Thinking"),
        SettingView::Tools(_) => Some("Tools"),
        SettingView::PermissionMode(_) => Some("Permission mode"),
        SettingView::Model { role: Some(_), .. }
        | SettingView::Mode { .. }
        | SettingView::ServiceTier(_)
        | SettingView::Config(_) => None,
    }
}

fn is(setting: &SettingView) -> Option<String> {
    match setting {
        SettingView::Agent(name) | SettingView::PermissionMode(name) => Some(name.clone()),
        SettingView::Model { model, .. } => Some(model_name(model)),
        SettingView::Thinking(level) => Some(level.clone().unwrap_or_else(|| "off".to_owned())),
        SettingView::Tools(tools) => Some(tools.join(", ")),
        SettingView::Mode { .. } | SettingView::ServiceTier(_) | SettingView::Config(_) => None,
    }
}

/// `None` where nobody has said it.
fn was(setting: &SettingView, before: &Context) -> Option<String> {
    match setting {
        SettingView::Agent(_) => before.agent.clone(),
        SettingView::Model { .. } => before.model.as_ref().map(|model| model_name(&ModelView::from(model))),
        SettingView::Thinking(_) => Some(before.thinking.clone()),
        SettingView::Tools(_) => before.tools.as_ref().map(|tools| tools.join(", ")),
        SettingView::PermissionMode(_) => before.permission_mode.clone(),
        SettingView::Mode { .. } | SettingView::ServiceTier(_) | SettingView::Config(_) => None,
    }
}

/// Something else goes on from where it was changed. Several changes at once stand below each other.
fn starts_a_branch(tree: &SessionTree, id: &EntryId) -> bool {
    let mut first = id;
    while let Some(above) = tree.parent(first).filter(|above| matches!(above.body, Body::Setting(_))) {
        if tree.children(Some(&above.id)).len() > 1 {
            return true;
        }
        first = &above.id;
    }
    tree.children(tree.parent(first).map(|parent| &parent.id)).len() > 1
}
