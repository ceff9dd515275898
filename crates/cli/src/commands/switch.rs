//! `offshoot switch [SESSION] POINT`: the head goes to another point. Nothing is written below it, nothing is lost. With
//! `--summary` what is left behind is summed up there.

use offshoot_api::{Request, request};
use offshoot_session::plan::plan_switch;
use offshoot_session::{HeadName, SessionId};
use serde_json::json;

use super::head::{
    self, Told, destination, head_line, place, turn_line, wants_json, with_session, words_back,
};
use super::summarised::go_with_summary;
use crate::args::SwitchArgs;
use crate::doing::{Done, Step, exactly, if_running, take};
use crate::failure::Failure;
use crate::here::Here;
use crate::stored::{Changed, read};
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
    let (changed, words_back) = match (&args.summary, at) {
        (Some(summary), Some(at)) => summarised(args, here, &id, at, summary)?,
        _ => (switched(args, here, &id, at)?, None),
    };
    if wants_json(args.json.json) {
        let more = words_back.map_or_else(|| json!({}), |text| json!({ "text": text }));
        return Ok(head::as_json(&id, &changed, more));
    }
    if !changed.is_change {
        return Ok(Answer { text: words::head_is_there(&place(&changed.after)), ..Answer::default() });
    }
    let mut rest = head_line(&changed, &here.look);
    if args.summary.is_some() {
        rest.push_str(words::scripts::SUMMARY_STANDS_THERE);
    }
    rest.push_str(&self::words_back(words_back.as_deref(), &here.look));
    let told = Told {
        first: match at {
            Some(_) => words::switched_to(&turn_line(&changed.after, &here.look)),
            None => words::SWITCHED_BEFORE_FIRST.to_owned(),
        },
        rest,
        hint: words::take_back(&with_session(here, "undo", session, &id)),
    };
    Ok(told.answer(&here.look))
}

fn switched(args: &SwitchArgs, here: &Here, id: &SessionId, at: Option<&str>) -> Result<Changed, Failure> {
    let Done { changed, .. } = take(here, id, |tree, stamps| {
        let at = at.map(|at| destination(tree, at)).transpose()?;
        let plan = plan_switch(tree, &HeadName::main(), at.as_ref(), stamps)
            .map_err(|refused| Failure::not_found(refused.to_string()))?;
        let (session, to) = (id.to_string(), at.as_ref().map(exactly));
        let if_running = if_running(args.running.abort_first);
        Ok(Step::of(plan, Request::Switch(request::Switch { session, to, if_running })))
    })?;
    Ok(changed)
}

/// And the words of the prompt, where one was picked that nobody has answered: it is gone before, to be said again.
fn summarised(
    args: &SwitchArgs,
    here: &Here,
    id: &SessionId,
    at: &str,
    summary: &str,
) -> Result<(Changed, Option<String>), Failure> {
    let before = read(here, id)?.tree;
    let to = destination(&before, at)?;
    if before.main_head() == Some(&to) {
        return Ok((Changed::nothing(before), None));
    }
    let moved = go_with_summary(here, id, &to, summary, if_running(args.running.abort_first))?;
    let after = read(here, id)?.tree;
    Ok((Changed { is_change: before.main_head() != after.main_head(), before, after }, moved.editor_text))
}
