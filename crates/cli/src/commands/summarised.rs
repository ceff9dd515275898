//! Going somewhere with a summary of what is left behind. A model writes it, so the engine does all of it: one that runs,
//! or this process. Ctrl-C calls it off, and then nothing has moved.

use offshoot_api::request::{self, Navigate, Summary};
use offshoot_api::response::Moved;
use offshoot_api::{ApiError, ErrorCode, Request, Response};
use offshoot_session::{EntryId, SessionId};
use tokio::signal::unix::{SignalKind, signal};

use crate::doing::exactly;
use crate::engine::{Reached, reach};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::refusals::explained;
use crate::talk::{unexpected, wait_for};
use crate::words::{scripts, talking};

/// `words`: what matters, as the person says it; blank leaves it to the model.
pub(super) fn go_with_summary(
    here: &Here,
    session: &SessionId,
    to: &EntryId,
    words: &str,
    if_running: request::IfRunning,
) -> Result<Moved, Failure> {
    let summary = match words.trim() {
        "" => Summary::Default,
        words => Summary::With { instructions: words.to_owned() },
    };
    let navigate = Navigate { session: session.to_string(), to: exactly(to), summary, if_running };
    let answer = wait_for(async {
        let reached = reach(here).await?;
        let answer = unless_called_off(&reached, navigate).await;
        reached.leave().await;
        answer
    })?;
    match answer {
        Ok(Response::Moved(moved)) => Ok(moved),
        Ok(other) => Err(unexpected(other)),
        Err(error) => Err(explained(here, session, &error)),
    }
}

async fn unless_called_off(
    reached: &Reached,
    navigate: Navigate,
) -> Result<Result<Response, ApiError>, Failure> {
    let mut ctrl_c =
        signal(SignalKind::interrupt()).map_err(|error| Failure::failed(talking::cannot_wait(&error)))?;
    let session = navigate.session.clone();
    let mut going = std::pin::pin!(reached.call(Request::Navigate(navigate)));
    let mut is_called_off = false;
    loop {
        tokio::select! {
            answer = &mut going => {
                let was_in_time = answer.as_ref().is_err_and(|error| error.code == ErrorCode::Cancelled);
                if is_called_off && was_in_time {
                    let mut called_off = Failure::refused(scripts::CALLED_OFF);
                    called_off.exit = Exit::Interrupted;
                    return Err(called_off);
                }
                return Ok(answer);
            }
            _ = ctrl_c.recv() => {
                is_called_off = true;
                let cancel = Request::CancelSummary(request::Session { session: session.clone() });
                // It may be written by now; then the answer above says so.
                drop(reached.call(cancel).await);
            }
        }
    }
}
