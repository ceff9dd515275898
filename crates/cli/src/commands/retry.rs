//! `offshoot retry [SESSION] [POINT]`: the same prompt again, for another answer.

use offshoot_api::{ErrorCode, Request, request};

use super::answered::{Chosen, Message, Saying, answered};
use super::edit::new_version;
use crate::args::RetryArgs;
use crate::change::{asked, if_running};
use crate::failure::Failure;
use crate::here::Here;
use crate::refusals::explained;
use crate::which::{names_one, stored};
use crate::{Answer, words};

pub(crate) fn run(args: &RetryArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, at) = args.words.session_and_point(|word| names_one(here, word))?;
    let id = stored(here, session)?;
    let (at, if_running) = (at.unwrap_or("head").into(), if_running(args.running.abort_first));
    if args.send {
        let saying = Saying::Again { at, chosen: Chosen::of(&args.chosen), to: args.version.to() };
        return answered(Message { session: id, saying, if_running, json: args.json.json }, here);
    }
    let request = request::Retry {
        session: id.to_string(),
        at,
        to: args.version.to(),
        agent: args.chosen.agent.clone(),
        model: args.chosen.model.clone(),
        if_running,
        only_write: true,
        client_id: Some(here.client_id()),
        ..request::Retry::default()
    };
    let changed = asked(here, Request::Retry(request))?.map_err(|error| match error.code {
        ErrorCode::NothingToDo => Failure::refused(words::NOTHING_TO_RETRY),
        _ => explained(here, &id, &error),
    })?;
    Ok(new_version(here, session, &id, &changed, args.json.json))
}
