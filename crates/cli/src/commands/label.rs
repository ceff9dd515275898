//! `offshoot label [SESSION] POINT TEXT`: a note on a point. Empty text takes it away.

use offshoot_api::{Request, request};
use offshoot_session::address::short_id;
use offshoot_session::plan::plan_label;

use crate::args::LabelArgs;
use crate::doing::{Done, Step, exactly, take};
use crate::failure::Failure;
use crate::here::Here;
use crate::opened::point;
use crate::which::stored;
use crate::{Answer, words};

pub(crate) fn run(args: &LabelArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [at, label]) = args.words.split("POINT TEXT")?;
    let id = stored(here, session)?;
    let mut labelled = String::new();
    let Done { changed, .. } = take(here, &id, |tree, stamps| {
        let at = point(tree, at)?;
        labelled = short_id(tree, &at);
        let plan = plan_label(tree, &at, Some(label), stamps)
            .map_err(|refused| Failure::failed(refused.to_string()))?;
        let (session, label) = (id.to_string(), Some(label.to_owned()));
        Ok(Step::of(plan, Request::Label(request::Label { session, at: exactly(&at), label })))
    })?;
    let text = match (changed.is_change, label.trim()) {
        (false, _) => words::nothing_to_change(),
        (true, "") => words::label_gone(&labelled),
        (true, label) => words::labelled(&labelled, label),
    };
    Ok(Answer { text, ..Answer::default() })
}
