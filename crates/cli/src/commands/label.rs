//! `offshoot label [SESSION] POINT TEXT`: a note on a point. Empty text takes it away.

use offshoot_api::{Request, request};
use offshoot_session::address::short_id;
use offshoot_session::plan::plan_label;

use crate::args::LabelArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::opened::point;
use crate::stored::{Changed, change_through_engine};
use crate::which::stored;
use crate::{Answer, words};

pub(crate) fn run(args: &LabelArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [at, label]) = args.words.split("POINT TEXT")?;
    let id = stored(here, session)?;
    let asked = request::Label { session: id.to_string(), at: at.to_owned(), label: Some(label.to_owned()) };
    let Changed { before, after } =
        change_through_engine(here, &id, Request::Label(asked), |tree, stamps| {
            let at = point(tree, at)?;
            plan_label(tree, &at, Some(label), stamps).map_err(|refused| Failure::failed(refused.to_string()))
        })?;
    let labelled = short_id(&before, &point(&before, at)?);
    let text = match (before.log().count() == after.log().count(), label.trim()) {
        (true, _) => words::nothing_to_change(),
        (false, "") => words::label_gone(&labelled),
        (false, label) => words::labelled(&labelled, label),
    };
    Ok(Answer { text, ..Answer::default() })
}
