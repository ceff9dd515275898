//! `offshoot switch [SESSION] POINT`: the head goes to another point. Nothing is written below it, nothing is lost.

use offshoot_api::{Request, request};
use offshoot_session::HeadName;
use offshoot_session::plan::plan_switch;
use serde_json::json;

use super::head::{self, Told, destination, head_line, place, turn_line, wants_json, with_session};
use crate::args::SwitchArgs;
use crate::doing::{Done, Step, exactly, if_running, take};
use crate::failure::Failure;
use crate::here::Here;
use crate::which::stored;
use crate::{Answer, words};

pub(crate) fn run(args: &SwitchArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, at) = match args.before_first {
        true => (args.words.split::<0>("--before-first")?.0, None),
        false => {
            let (session, [at]) = args.words.split("POINT")?;
            (session, Some(at))
        }
    };
    let id = stored(here, session)?;
    let Done { changed, .. } = take(here, &id, |tree, stamps| {
        let at = at.map(|at| destination(tree, at)).transpose()?;
        let plan = plan_switch(tree, &HeadName::main(), at.as_ref(), stamps)
            .map_err(|refused| Failure::not_found(refused.to_string()))?;
        let (session, to) = (id.to_string(), at.as_ref().map(exactly));
        let if_running = if_running(args.running.abort_first);
        Ok(Step::of(plan, Request::Switch(request::Switch { session, to, if_running })))
    })?;
    if wants_json(args.json.json) {
        return Ok(head::as_json(&id, &changed, json!({})));
    }
    if !changed.is_change {
        return Ok(Answer { text: words::head_is_there(&place(&changed.after)), ..Answer::default() });
    }
    let told = Told {
        first: match at {
            Some(_) => words::switched_to(&turn_line(&changed.after, &here.look)),
            None => words::SWITCHED_BEFORE_FIRST.to_owned(),
        },
        rest: head_line(&changed, &here.look),
        hint: words::take_back(&with_session(here, "undo", session, &id)),
    };
    Ok(told.answer(&here.look))
}
