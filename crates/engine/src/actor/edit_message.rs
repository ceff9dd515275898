//! Editing a message that is not a prompt: another answer to the same prompt, in this session or in a child.
//!
//! No agent is asked and no turn begins, so the request has to say `only_write`: a client that waits for an answer would
//! wait in vain.

use offshoot_api::Response;
use offshoot_api::request::{self, VersionTo};
use offshoot_api::response::Changed;
use offshoot_session::guard::{Action, AgentState, Place};
use offshoot_session::plan::{
    Child, Difference, EditRefused, EditedMessage, edited_message, plan_edit_message,
};
use offshoot_session::{EntryId, HeadName};

use super::changed::answered;
use super::halt::{Halt, refused};
use super::pending::MessageIds;
use super::talk::{ids_of_version, place_of};
use super::{Brought, SessionActor};

impl SessionActor {
    pub(super) async fn edit_message(
        &mut self,
        edit: &request::Edit,
        at: &EntryId,
        brought: &Brought,
    ) -> Result<Response, Halt> {
        if !edit.only_write {
            return Err(refused(EditRefused::NotAPrompt(at.clone())));
        }
        if edit.agent.is_some() || edit.model.is_some() || edit.attachments.is_some() || edit.images.is_some()
        {
            return Err(refused(EditRefused::OnlyText(at.clone())));
        }
        let message = edited_message(&self.tree, at, &edit.text).map_err(refused)?;
        // A child begins with a part of the turn, so the turn has to be over.
        let place = match edit.to {
            VersionTo::Version => place_of(edit.if_running),
            VersionTo::NewSession => Place::Here,
        };
        self.may(Action::Retry { at, place }, AgentState::Reachable, edit.if_running)?;
        self.after_aborting(at, brought)?;
        let ids = MessageIds::of(edit.client_id.as_deref(), brought);
        match edit.to {
            VersionTo::Version => {
                let stamps = &mut ids_of_version(self.stamps.as_mut(), ids, true);
                let planned = plan_edit_message(&self.tree, &HeadName::main(), at, &edit.text, stamps);
                let EditedMessage { plan, entry } = planned.map_err(refused)?;
                let changed = self.take(Some(plan)).await?;
                Ok(answered(Changed { place: self.place(Some(&entry)), ..changed }))
            }
            VersionTo::NewSession => {
                let above = self.tree.parent(at).map(|above| above.id.clone());
                self.before_branch(above.as_ref(), brought)?;
                let (difference, above, settings) = (Difference::Edit { of: at }, above.as_ref(), Vec::new());
                let child = Child { difference, above, settings, message: Some(message) };
                self.begin_child(child, ids, true).await
            }
        }
    }
}
