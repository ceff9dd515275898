//! Opening a session, to look at it: nothing is written. And the settings that count in it.

use std::sync::Arc;

use offshoot_api::event::EventKind;
use offshoot_api::{ApiError, CallerContext, Request};
use offshoot_session::SessionId;
use offshoot_session::queue::SendQueue;

use super::SessionActor;
use super::scope::Scope;
use super::waiting::left_waiting;
use crate::engine::Shared;
use crate::failure::{bad_settings, internal, not_read};
use crate::hooks::works_without_settings;
use crate::settings::Settings;
use crate::shelf::Book;

/// A session in hand, what waits to be said in it, and what is set for it.
pub(super) struct Opened {
    pub(super) book: Box<dyn Book>,
    pub(super) waiting: SendQueue,
    /// `None`: they cannot be read.
    pub(super) settings: Option<Arc<Settings>>,
}

pub(super) async fn open(
    id: &SessionId,
    shared: &Arc<Shared>,
    context: &Arc<CallerContext>,
) -> Result<Opened, ApiError> {
    let (id, store) = (id.clone(), shared.clone());
    let blocking = shared.for_opening(&id);
    let opened = blocking.run(move || {
        let book = store.shelf.open(&id).map_err(|error| not_read(&error))?;
        let book = book.ok_or_else(|| ApiError::session_not_found(id.as_str()))?;
        let waiting = left_waiting(book.as_ref());
        Ok::<_, ApiError>((book, waiting))
    });
    let (book, waiting) = opened.await.map_err(|_| internal("the session could not be opened"))??;
    let project = book.tree().header().and_then(|header| header.project.clone());
    // Whether the request can do without good settings is asked when it is answered.
    let settings = shared.settings_about(project.as_deref(), context).await.ok();
    Ok(Opened { book, waiting, settings })
}

impl SessionActor {
    /// Puts the caller's scope in force, with its settings as they are now. Settings that somebody has broken meanwhile
    /// stay as they were, so that no hook is left out because of it; that is said once. Another caller is refused, unless
    /// its request needs no settings: nobody works with the settings of somebody else.
    pub(super) async fn enter_call(
        &mut self,
        context: &Arc<CallerContext>,
        request: &Request,
    ) -> Result<(), ApiError> {
        let read = self.shared.settings_about(self.project(), context).await;
        let wrong = match read {
            Ok(settings) => {
                self.enter(Scope { context: context.clone(), settings });
                self.has_settings = true;
                None
            }
            Err(why) if self.has_settings && Arc::ptr_eq(&self.context, context) => Some(why),
            Err(_) if works_without_settings(request) => {
                let settings = Arc::new(Settings::default());
                self.enter(Scope { context: context.clone(), settings });
                self.has_settings = false;
                return Ok(());
            }
            Err(why) => return Err(bad_settings(why)),
        };
        if let Some(why) = wrong.clone().filter(|_| wrong != self.bad_settings) {
            let text = format!("{why}; the settings stay as they were");
            self.publish(None, EventKind::Notice { text });
        }
        self.bad_settings = wrong;
        Ok(())
    }
}
