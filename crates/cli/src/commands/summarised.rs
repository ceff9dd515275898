//! Going somewhere with a summary of what is left behind. A model writes it, so the engine does all of it: one that runs,
//! or this process. Ctrl-C calls it off, and then nothing has moved.

use offshoot_api::request::{self, Navigate, Summary};
use offshoot_api::response::Moved;
use offshoot_api::{Request, Response};
use offshoot_session::{EntryId, SessionId};

use crate::doing::{asked_looking_on, exactly};
use crate::engine::reach;
use crate::failure::Failure;
use crate::here::Here;
use crate::refusals::explained;
use crate::talk::{unexpected, wait_for};

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
        let answer = asked_looking_on(here, reached, Request::Navigate(navigate)).await;
        answer.map(|answered| answered.answer)
    })?;
    match answer {
        Ok(Response::Moved(moved)) => Ok(moved),
        Ok(other) => Err(unexpected(other)),
        Err(error) => Err(explained(here, session, &error)),
    }
}
