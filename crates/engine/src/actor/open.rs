//! Opening a session: read, and end what a crash has cut off.

use std::sync::Arc;

use offshoot_api::ApiError;
use offshoot_session::SessionId;
use offshoot_session::turn::plan_recovery;

use crate::engine::Shared;
use crate::failure::{internal, not_appended, not_drafted, not_read};
use crate::shelf::Book;

pub(super) async fn open(id: &SessionId, shared: &Arc<Shared>) -> Result<Box<dyn Book>, ApiError> {
    let (id, shared) = (id.clone(), shared.clone());
    let opened = tokio::task::spawn_blocking(move || {
        let book = shared.shelf.open(&id).map_err(|error| not_read(&error))?;
        let mut book = book.ok_or_else(|| ApiError::session_not_found(id.as_str()))?;
        recover(book.as_mut(), &shared)?;
        Ok(book)
    });
    opened.await.map_err(|_| internal("the session could not be opened"))?
}

/// While another process writes the session its turns are not cut off: then it is only looked at.
fn recover(book: &mut dyn Book, shared: &Shared) -> Result<(), ApiError> {
    if book.hold().is_err() {
        return Ok(());
    }
    let recovered = end_unfinished_turns(book, shared);
    book.release();
    recovered
}

fn end_unfinished_turns(book: &mut dyn Book, shared: &Shared) -> Result<(), ApiError> {
    book.refresh().map_err(|error| not_read(&error))?;
    let left = book.drafts_left().map_err(|error| not_drafted(&error))?;
    let records = plan_recovery(book.tree(), &left, (shared.stamps)().as_mut());
    if !records.is_empty() {
        book.append(&records).map_err(|error| not_appended(&error))?;
    }
    if left.is_empty() {
        return Ok(());
    }
    book.clear_drafts().map_err(|error| not_drafted(&error))
}
