//! `offshoot retry [SESSION] [POINT]`: the same prompt again, for another answer.

use offshoot_api::{Request, request};
use offshoot_session::HeadName;
use offshoot_session::plan::{RetryRefused, Sent, plan_retry};

use super::answered::{Message, Saying, answered};
use super::edit::{new_prompt, new_version_json, told_of_version};
use super::head::wants_json;
use crate::args::RetryArgs;
use crate::doing::{Step, exactly, if_running, take};
use crate::failure::Failure;
use crate::here::Here;
use crate::opened::point;
use crate::which::{names_one, stored};
use crate::{Answer, words};

pub(crate) fn run(args: &RetryArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, at) = args.words.session_and_point(|word| names_one(here, word))?;
    let id = stored(here, session)?;
    if args.send {
        let saying = Saying::Again { at: at.unwrap_or("head").to_owned() };
        let if_running = if_running(args.running.abort_first);
        return answered(Message { session: id, saying, if_running, json: args.json.json }, here);
    }
    let mut written = None;
    let done = take(here, &id, |tree, stamps| {
        let at = point(tree, at.unwrap_or("head"))?;
        let sent = plan_retry(tree, &HeadName::main(), &at, stamps).map_err(|refused| match refused {
            RetryRefused::NoPrompt(_) => Failure::refused(words::NOTHING_TO_RETRY),
            RetryRefused::NotFound(_) | RetryRefused::UnknownHead(_) => {
                Failure::not_found(refused.to_string())
            }
        });
        let Sent { plan, prompt, .. } = sent?;
        written = Some(prompt);
        let request = Request::Retry(request::Retry {
            session: id.to_string(),
            at: exactly(&at),
            if_running: if_running(args.running.abort_first),
            only_write: true,
            ..request::Retry::default()
        });
        Ok(Some(Step { plan, request }))
    })?;
    let Some(prompt) = new_prompt(&done).or(written) else { return Ok(Answer::default()) };
    let changed = done.changed;
    if wants_json(args.json.json) {
        return Ok(new_version_json(&id, &changed, &prompt));
    }
    Ok(told_of_version(here, session, &id, &changed, &prompt))
}
