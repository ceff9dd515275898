//! `offshoot label [SESSION] POINT TEXT`: a note on a point. Empty text takes it away.

use offshoot_session::address::short_id;
use offshoot_session::plan::plan_label;

use crate::args::LabelArgs;
use crate::failure::Failure;
use crate::here::Here;
use crate::opened::point;
use crate::stored::{Changed, change};
use crate::which::stored;
use crate::{Answer, words};

pub(crate) fn run(args: &LabelArgs, here: &Here) -> Result<Answer, Failure> {
    let (session, [at, label]) = args.words.split("POINT TEXT")?;
    let id = stored(here, session)?;
    let mut labelled = String::new();
    let Changed { before, after } = change(here, &id, |tree, stamps| {
        let at = point(tree, at)?;
        labelled = short_id(tree, &at);
        plan_label(tree, &at, Some(label), stamps).map_err(|refused| Failure::failed(refused.to_string()))
    })?;
    let text = match (before.log().count() == after.log().count(), label.trim()) {
        (true, _) => words::nothing_to_change(),
        (false, "") => words::label_gone(&labelled),
        (false, label) => words::labelled(&labelled, label),
    };
    Ok(Answer { text, ..Answer::default() })
}
