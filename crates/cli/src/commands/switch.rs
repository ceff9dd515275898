//! `offshoot switch [SESSION] POINT`: the head goes to another point. Nothing is written below it, nothing is lost. With
//! `--summary` what is left behind is summed up there.

use offshoot_api::request::{Summary, Switch};
use offshoot_api::{Request, request};
use serde_json::json;

use super::head::{
    self, Told, head_line, place, session_line, turn_line, wants_json, with_session, words_back,
};
use crate::args::SwitchArgs;
use crate::change::{change, if_running};
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
    let request = Switch {
        session: id.to_string(),
        to: at.map(|at| args.exact.point(at)),
        summary: summary(args.summary.as_deref().filter(|_| at.is_some())),
        if_running: if_running(args.running.abort_first),
        client_id: Some(here.client_id()),
    };
    let changed = change(here, &id, Request::Switch(request))?;
    let text = changed.editor_text.as_deref();
    if wants_json(args.json.json) {
        let more = text.map_or_else(|| json!({}), |text| json!({ "text": text }));
        return Ok(head::as_json(&changed, more));
    }
    if !changed.changed {
        let place = place(changed.head.place.as_ref());
        return Ok(Answer { text: words::head_is_there(&place), ..Answer::default() });
    }
    let mut rest = head_line(&changed, &here.look) + &session_line(here, &changed.session);
    if args.summary.is_some() {
        rest.push_str(words::scripts::SUMMARY_STANDS_THERE);
    }
    rest.push_str(&words_back(text, &here.look));
    let told = Told {
        first: match at {
            Some(_) => words::switched_to(&turn_line(changed.head.place.as_ref(), &here.look)),
            None => words::SWITCHED_BEFORE_FIRST.to_owned(),
        },
        rest,
        hint: words::take_back(&with_session(here, "undo", session, &id)),
    };
    Ok(told.answer(&here.look))
}

/// What matters in it, as the person says it; blank leaves that to the model.
fn summary(asked: Option<&str>) -> request::Summary {
    match asked.map(str::trim) {
        None => Summary::None,
        Some("") => Summary::Default,
        Some(instructions) => Summary::With { instructions: instructions.to_owned() },
    }
}
