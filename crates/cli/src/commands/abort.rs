//! `offshoot abort [SESSION]`: interrupts the turn that runs, of several the one of the head's branch, or that of a point, in
//! whichever process it runs.

use offshoot_api::request::Interrupt;
use offshoot_api::{ApiError, ErrorCode, Request, Response};
use offshoot_session::address::Want;
use offshoot_session::versions::turn_prompt;
use offshoot_session::{EntryId, SessionId};

use super::head::said_of;
use crate::Answer;
use crate::args::AbortArgs;
use crate::engine::{Reached, running};
use crate::failure::{Exit, Failure};
use crate::here::Here;
use crate::last_used;
use crate::living::seen;
use crate::opened::point;
use crate::talk::{refused, unexpected, wait_for};
use crate::which::stored;
use crate::words::talking as words;

pub(crate) fn run(args: &AbortArgs, here: &Here) -> Result<Answer, Failure> {
    let session = stored(here, args.words.only_session()?)?;
    let prompt = args.at.as_deref().map(|at| prompt_at(here, &session, at)).transpose()?;
    wait_for(async {
        let reached = running(here).await?.ok_or_else(|| Failure::refused(words::NOTHING_RUNS_HERE))?;
        let turn = match prompt {
            Some(prompt) => Some(turn_of(&reached, session.as_str(), &prompt).await?),
            None => None,
        };
        let interrupt = Request::Interrupt(Interrupt { session: session.to_string(), turn });
        reached.call(interrupt).await.map_err(|error| not_interrupted(&error))?;
        reached.leave().await;
        last_used::record_stored(here, &session);
        Ok(said_of(here, &session, words::ABORTED))
    })
}

/// Where several run it could be any of them: that is refused, and nothing was looked for in vain.
fn not_interrupted(error: &ApiError) -> Failure {
    let mut failure = refused(error);
    if error.code == ErrorCode::Ambiguous {
        failure.exit = Exit::Refused;
    }
    failure
}

fn prompt_at(here: &Here, session: &SessionId, at: &str) -> Result<EntryId, Failure> {
    let tree = seen(here, session)?.tree;
    let entry = point(&tree, &at.into(), Want::Turn)?;
    Ok(turn_prompt(&tree, &entry).map_or(entry, |prompt| prompt.id.clone()))
}

/// Only a turn that runs can be interrupted.
async fn turn_of(reached: &Reached, session: &str, prompt: &EntryId) -> Result<String, Failure> {
    let rows = match reached.call(Request::Status).await.map_err(|error| refused(&error))? {
        Response::Status { rows } => rows,
        other => return Err(unexpected(other)),
    };
    let row = rows.into_iter().find(|row| row.session == session && row.prompt == prompt.as_str());
    row.map(|row| row.turn).ok_or_else(|| Failure::refused(words::NOTHING_RUNS_HERE))
}
