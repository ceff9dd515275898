//! Opening a session, to look at it: nothing is written. And the settings that count in it.

use std::sync::Arc;

use offshoot_api::ApiError;
use offshoot_api::event::EventKind;
use offshoot_session::SessionId;
use offshoot_session::queue::SendQueue;

use super::SessionActor;
use super::waiting::left_waiting;
use crate::engine::Shared;
use crate::failure::{bad_settings, internal, not_read};
use crate::settings::Settings;
use crate::shelf::Book;

/// A session in hand, what waits to be said in it, and what is set for it.
pub(super) struct Opened {
    pub(super) book: Box<dyn Book>,
    pub(super) waiting: SendQueue,
    pub(super) settings: Arc<Settings>,
}

pub(super) async fn open(id: &SessionId, shared: &Arc<Shared>) -> Result<Opened, ApiError> {
    let (id, store) = (id.clone(), shared.clone());
    let opened = tokio::task::spawn_blocking(move || {
        let book = store.shelf.open(&id).map_err(|error| not_read(&error))?;
        let book = book.ok_or_else(|| ApiError::session_not_found(id.as_str()))?;
        let waiting = left_waiting(book.as_ref());
        Ok::<_, ApiError>((book, waiting))
    });
    let (book, waiting) = opened.await.map_err(|_| internal("the session could not be opened"))??;
    let project = book.tree().header().and_then(|header| header.project.clone());
    let settings = shared.settings.about(project.as_deref()).await.map_err(bad_settings)?;
    Ok(Opened { book, waiting, settings })
}

impl SessionActor {
    /// What was set since the last request counts from this one on. Settings that somebody has broken meanwhile stay as
    /// they were, so that no hook is left out because of it; that is said once.
    pub(super) async fn read_settings(&mut self) {
        let read = self.shared.settings.about(self.project()).await;
        let wrong = match read {
            Ok(settings) => {
                self.settings = settings;
                None
            }
            Err(why) => Some(why),
        };
        if let Some(why) = wrong.clone().filter(|_| wrong != self.bad_settings) {
            let text = format!("{why}; the settings stay as they were");
            self.publish(None, EventKind::Notice { text });
        }
        self.bad_settings = wrong;
    }
}
