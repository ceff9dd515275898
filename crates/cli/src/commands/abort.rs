//! `offshoot abort [SESSION]`: interrupts the turn of the head's branch, in whichever process it runs.

use offshoot_api::Request;
use offshoot_api::request::Interrupt;

use crate::Answer;
use crate::args::AbortArgs;
use crate::engine::running;
use crate::failure::Failure;
use crate::here::Here;
use crate::talk::{refused, wait_for};
use crate::which::stored_here;
use crate::words::talking as words;

pub(crate) fn run(args: &AbortArgs, here: &Here) -> Result<Answer, Failure> {
    let session = stored_here(here, args.words.only_session()?)?.to_string();
    wait_for(async {
        let reached = running(here).await?.ok_or_else(|| Failure::refused(words::NOTHING_RUNS_HERE))?;
        let interrupt = Request::Interrupt(Interrupt { session, turn: None });
        reached.call(interrupt).await.map_err(|error| refused(&error))?;
        reached.leave().await;
        Ok(Answer { text: words::ABORTED.to_owned(), ..Answer::default() })
    })
}
